//! Copies of a ClusterServiceVersion, by which the namespaces that it serves know of it.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};

use super::{removal, rights};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::olm_config;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::controller::queue::Next;
use crate::controller::run::{MANAGER, as_manager};
use crate::lifecycle::copied_csvs::{self, Copy};
use crate::lifecycle::targets::Targets;

/// Brings the copies of a ClusterServiceVersion to what they should be.
pub(super) async fn apply(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let key = ObjectKey::of(csv);
    let groups = context.caches.operator_groups.in_namespace(&key.namespace);
    let [group] = groups.as_slice() else {
        return Ok(());
    };
    let Some(status) = group.status.as_ref() else {
        return Ok(());
    };
    let targets = Targets::from_status(&status.namespaces);
    let seen: Vec<Copy> = context
        .caches
        .csvs
        .all()
        .iter()
        .filter(|it| {
            it.name_any() == key.name
                && it.labels().get(labels::COPIED_FROM) == Some(&key.namespace)
        })
        .map(|it| Copy::of(it))
        .collect();
    let namespaces: BTreeSet<String> = context
        .caches
        .namespaces
        .all()
        .iter()
        .filter(|it| it.metadata.deletion_timestamp.is_none())
        .filter(|it| context.settings.cares_for(&it.name_any()))
        .map(|it| it.name_any())
        .collect();
    let config = context
        .caches
        .olm_configs
        .get(&ObjectKey::new("", olm_config::NAME));
    let everywhere = config.is_some_and(|config| config.spec.copies_csvs());
    let plan = copied_csvs::plan(csv, &targets, &namespaces, &seen, everywhere);
    for namespace in &plan.write {
        write(context, csv, namespace).await?;
    }
    for namespace in &plan.write_status {
        write_status(context, csv, namespace).await?;
    }
    for namespace in &plan.delete {
        let key = ObjectKey::new(namespace, &key.name);
        if let Some(copy) = context.caches.csvs.get(&key) {
            removal::delete(context, &copy).await?;
        }
    }
    if targets != Targets::All && !seen.is_empty() && copied_csvs::is_copyable(csv) {
        let rbac = rights::own(context, csv).await?;
        for namespace in seen.iter().map(|copy| &copy.namespace) {
            let key = ObjectKey::new(namespace, &key.name);
            if let Some(copy) = context.caches.csvs.get(&key) {
                rights::copy(context, csv, &rbac, &copy).await?;
            }
        }
    }
    Ok(())
}

fn api(context: &Context, namespace: &str) -> Api<ClusterServiceVersion> {
    Api::namespaced(context.client.clone(), namespace)
}

async fn write(
    context: &Context,
    csv: &ClusterServiceVersion,
    namespace: &str,
) -> Result<(), Error> {
    let mut copy = copied_csvs::copy(csv, namespace);
    copy.status = None;
    let applied = api(context, namespace)
        .patch(
            &copy.name_any(),
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(&copy),
        )
        .await;
    applied.map_err(Error::while_(format!(
        "copying it to namespace {namespace}"
    )))?;
    Ok(())
}

async fn write_status(
    context: &Context,
    csv: &ClusterServiceVersion,
    namespace: &str,
) -> Result<(), Error> {
    let api = api(context, namespace);
    let name = csv.name_any();
    let Some(mut live) = api
        .get_opt(&name)
        .await
        .map_err(Error::while_("reading a copy"))?
    else {
        return Ok(());
    };
    live.status = copied_csvs::copy(csv, namespace).status;
    let written = api.replace_status(&name, &as_manager(), &live).await;
    written.map_err(Error::while_(format!(
        "writing the status in namespace {namespace}"
    )))?;
    Ok(())
}

/// Deletes a copy that nothing stands behind.
pub(super) async fn check(context: &Context, copy: &ClusterServiceVersion) -> Result<Next, Error> {
    let home = copy.labels().get(labels::COPIED_FROM);
    let home = home.cloned().unwrap_or_default();
    if !home.is_empty() && !context.settings.cares_for(&home) {
        return Ok(Next::Wait);
    }
    let original = context
        .caches
        .csvs
        .get(&ObjectKey::new(home, copy.name_any()));
    let original = original.as_deref().filter(|it| !it.is_copied());
    if copied_csvs::is_dangling(&Copy::of(copy), original) {
        removal::delete(context, copy).await?;
    }
    Ok(Next::Wait)
}
