//! What groups that are gone left behind.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use kube::core::PartialObjectMeta;

use super::relabel;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::lifecycle::aggregate_roles;
use crate::lifecycle::namespace_labels::LabelChanges;

/// Removes the labels and roles of groups that are gone.
///
/// Labels and roles are looked at before the groups, and these are asked for anew and everywhere:
/// whose label was seen is among them or is gone, also if this process only cares for some
/// namespaces.
pub(super) async fn sweep(context: &Context) -> Result<(), Error> {
    let namespaces = context.caches.namespaces.all();
    let roles = context.caches.cluster_roles.all();
    let api = Api::<PartialObjectMeta<OperatorGroup>>::all(context.client.clone());
    let groups = api
        .list(&ListParams::default())
        .await
        .map_err(Error::while_("listing OperatorGroups"))?;
    let alive: BTreeSet<String> = groups
        .iter()
        .filter_map(kube::ResourceExt::uid)
        .map(|uid| labels::operator_group_member(&uid))
        .collect();
    for namespace in namespaces {
        let remove: Vec<String> = namespace
            .labels()
            .keys()
            .filter(|key| key.starts_with(labels::OPERATOR_GROUP_PREFIX) && !alive.contains(*key))
            .cloned()
            .collect();
        let changes = LabelChanges {
            add: Vec::new(),
            remove,
        };
        relabel(context, &namespace.name_any(), &changes).await?;
    }
    let names: Vec<(String, String)> = groups
        .iter()
        .map(|group| (group.namespace().unwrap_or_default(), group.name_any()))
        .collect();
    let names = names
        .iter()
        .map(|(namespace, name)| (namespace.as_str(), name.as_str()));
    for role in aggregate_roles::orphans(roles.iter().map(|role| &role.metadata), names) {
        delete(context, &role).await?;
    }
    Ok(())
}

async fn delete(context: &Context, role: &str) -> Result<(), Error> {
    let api = Api::<ClusterRole>::all(context.client.clone());
    match api.delete(role, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        // Somebody else was quicker.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Error::while_(format!("deleting ClusterRole {role}"))(error)),
    }
}
