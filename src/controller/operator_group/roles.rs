//! The ClusterRoles of a group and of the APIs of its operators.

use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::operator_group::OperatorGroup;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::controller::run::{MANAGER, patching};
use crate::lifecycle::aggregate_roles::{self, Definition, DefinitionKind};
use crate::lifecycle::provided_apis::{self, Apis};

/// Makes the roles as they should be.
pub(super) async fn apply(
    context: &Context,
    group: &OperatorGroup,
    members: &[&ClusterServiceVersion],
) -> Result<(), Error> {
    let mut apis: Apis = provided_apis::annotated(group);
    let provided = members
        .iter()
        .filter_map(|csv| provided_apis::provided_by(csv).ok());
    apis.extend(provided.flatten());
    for role in aggregate_roles::group_roles(group, &apis) {
        of_group(context, &role).await?;
    }
    let running = members.iter().filter(|csv| {
        let phase = csv.status.as_ref().map(|status| &status.phase);
        phase == Some(&CsvPhase::Succeeded)
    });
    for csv in running {
        of_apis(context, csv).await?;
    }
    Ok(())
}

async fn of_group(context: &Context, wanted: &ClusterRole) -> Result<(), Error> {
    let present = present(context, wanted);
    if let Some(present) = &present {
        let labels = present.labels();
        let labelled = wanted
            .labels()
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value));
        if labelled && present.aggregation_rule == wanted.aggregation_rule {
            return Ok(());
        }
    }
    write(context, wanted).await
}

/// The roles of an API are the same for ever: they are written when one is missing, or was changed.
async fn of_apis(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let roles = &context.caches.cluster_roles;
    let present = |name: &str| roles.get(&ObjectKey::new("", name));
    let mut definitions = Vec::new();
    for (kind, name) in aggregate_roles::without_roles(csv, present) {
        if let Some(uid) = uid(context, kind, &name).await? {
            definitions.push(Definition { kind, name, uid });
        }
    }
    for role in aggregate_roles::api_roles(csv, &definitions) {
        write(context, &role).await?;
    }
    Ok(())
}

async fn uid(context: &Context, kind: DefinitionKind, name: &str) -> Result<Option<String>, Error> {
    let client = context.client.clone();
    let found = match kind {
        DefinitionKind::Crd => {
            let api = Api::<CustomResourceDefinition>::all(client);
            api.get_metadata_opt(name)
                .await
                .map(|it| it.map(|it| it.metadata))
        }
        DefinitionKind::ApiService => {
            let api = Api::<APIService>::all(client);
            api.get_metadata_opt(name)
                .await
                .map(|it| it.map(|it| it.metadata))
        }
    };
    let metadata = found.map_err(Error::while_(format!("looking for {name}")))?;
    Ok(metadata.and_then(|metadata| metadata.uid))
}

fn present(context: &Context, wanted: &ClusterRole) -> Option<std::sync::Arc<ClusterRole>> {
    let key = ObjectKey::new("", wanted.name_any());
    context.caches.cluster_roles.get(&key)
}

async fn write(context: &Context, role: &ClusterRole) -> Result<(), Error> {
    let name = role.name_any();
    let api = Api::<ClusterRole>::all(context.client.clone());
    let collects = |role: &ClusterRole| role.aggregation_rule.is_some();
    if present(context, role).is_some_and(|present| collects(&present)) && !collects(role) {
        // What was collected has to go as well, whoever wrote it.
        let nothing = json!({"aggregationRule": Value::Null, "rules": []});
        api.patch(&name, &patching(), &Patch::Merge(nothing))
            .await
            .map_err(Error::while_(format!("emptying ClusterRole {name}")))?;
    }
    api.patch(
        &name,
        &PatchParams::apply(MANAGER).force(),
        &Patch::Apply(role),
    )
    .await
    .map_err(Error::while_(format!("writing ClusterRole {name}")))?;
    Ok(())
}
