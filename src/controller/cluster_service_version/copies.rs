//! Copies of a ClusterServiceVersion, by which the namespaces that it serves know of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::{Api, PartialObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::{removal, rights, status};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::ClusterServiceVersionStatus;
use crate::api::conditions::olm_config::DISABLED_COPIED_CSVS;
use crate::api::labels;
use crate::api::olm_config::{self, OlmConfig};
use crate::controller::context::Context;
use crate::controller::error::{Error, Failures};
use crate::controller::key::ObjectKey;
use crate::controller::queue::Next;
use crate::controller::run::{MANAGER, patching};
use crate::lifecycle::copied_csvs::{self, Copy, Reach};
use crate::lifecycle::targets::Targets;

/// The reason of the Event that tells of a copy that could not be written.
const REFUSED: &str = "CopyFailed";

/// Brings the copies of a ClusterServiceVersion to what they should be. Where nothing is copied,
/// nobody is asked for anything.
pub(in crate::controller) async fn reconcile(
    context: &Context,
    key: &ObjectKey,
) -> Result<Next, Error> {
    let seen = copies_of(context, key);
    let Some(known) = context.caches.csvs.get(key).filter(|it| !it.is_copied()) else {
        delete_orphans(context, key, &seen).await?;
        return Ok(Next::Wait);
    };
    let groups = context.caches.operator_groups.in_namespace(&key.namespace);
    let status = match groups.as_slice() {
        [group] => group.status.as_ref(),
        _ => None,
    };
    let Some(status) = status else {
        return Ok(Next::Wait);
    };
    let targets = Targets::from_status(&status.namespaces);
    let namespaces = namespaces(context, &key.name);
    let reach = match config(context) {
        Some(config) if config.spec.copies_csvs() => Reach::Everywhere,
        _ => Reach::Protected(&context.settings.protected_copies),
    };
    let is_wanted = || !copied_csvs::plan(&known, &targets, &namespaces, [], reach).is_empty();
    if seen.is_empty() && !is_wanted() {
        return Ok(Next::Wait);
    }
    // The cache holds no descriptions, and few annotations.
    let found = api(context, &key.namespace).get_opt(&key.name).await;
    let found = found.map_err(Error::while_("reading the ClusterServiceVersion"))?;
    let Some(csv) = found.filter(|it| it.metadata.deletion_timestamp.is_none()) else {
        return Ok(Next::Wait);
    };
    let copies = seen.iter().map(|it| &**it);
    let plan = copied_csvs::plan(&csv, &targets, &namespaces, copies, reach);
    // A namespace that refuses, such as by a quota, keeps no other from having its copy.
    let mut failures = Failures::default();
    let mut refusing = BTreeSet::new();
    // They are the same but for their namespace.
    let mut copy = copied_csvs::copy(&csv, &key.namespace);
    let status = copy.status.take();
    for namespace in &plan.write {
        copy.metadata.namespace = Some(namespace.clone());
        if !failures.note(write(context, &copy).await) {
            refusing.insert(namespace);
        }
    }
    let statuses = plan.write_status.iter();
    for namespace in statuses.filter(|it| !refusing.contains(it)) {
        let copy = ObjectKey::new(namespace, &key.name);
        failures.note(write_status(context, &copy, &key.namespace, status.as_ref()).await);
    }
    let (unwanted, staying): (Vec<_>, Vec<_>) = seen
        .into_iter()
        .partition(|it| plan.delete.contains(&it.namespace));
    if !unwanted.is_empty() {
        tell_if_disabled(context, &csv).await;
    }
    for copy in &unwanted {
        failures.note(delete(context, copy).await);
    }
    if targets != Targets::All && copied_csvs::is_copyable(&csv) && !staying.is_empty() {
        let rbac = rights::own(context, &csv).await?;
        for copy in &staying {
            // A namespace in which the group's account may not pass on rights is in the way of no other.
            failures.note(rights::copy(context, &csv, &rbac, copy).await);
        }
    }
    if let Some(error) = failures.first().filter(|error| !error.is_stale()) {
        status::tell(context, &csv, true, REFUSED, &error.to_string()).await;
    }
    failures.outcome()?;
    Ok(Next::After(super::rest(context, key)))
}

fn config(context: &Context) -> Option<Arc<OlmConfig>> {
    let key = ObjectKey::new("", olm_config::NAME);
    context.caches.olm_configs.get(&key)
}

/// Tells those who wonder where the copies are of an operator that serves all namespaces, if the
/// OLMConfig says that there are none. It is told when it begins to be so, not time and again.
pub(super) async fn tell_if_disabled(context: &Context, csv: &ClusterServiceVersion) {
    let is_disabled = config(context).is_some_and(|config| config.spec.forbids_copies());
    // An empty name stands for all of them.
    let targets = csv.annotations().get(labels::TARGET_NAMESPACES);
    if !is_disabled || targets.is_none_or(|targets| !targets.is_empty()) {
        return;
    }
    let (namespace, name) = (csv.namespace().unwrap_or_default(), csv.name_any());
    let message = format!(
        "CSV copying disabled for {namespace}/{name}: the operator serves all namespaces, and \
         spec.features.disableCopiedCSVs of the OLMConfig is true"
    );
    status::tell(context, csv, true, DISABLED_COPIED_CSVS, &message).await;
}

fn api(context: &Context, namespace: &str) -> Api<ClusterServiceVersion> {
    Api::namespaced(context.client.clone(), namespace)
}

/// Writes a copy but for its status.
async fn write(context: &Context, copy: &ClusterServiceVersion) -> Result<(), Error> {
    let namespace = copy.namespace().unwrap_or_default();
    let parameters = PatchParams::apply(MANAGER).force();
    let applied = api(context, &namespace)
        .patch_metadata(&copy.name_any(), &parameters, &Patch::Apply(copy))
        .await;
    applied.map_err(Error::while_(format!(
        "copying it to namespace {namespace}"
    )))?;
    Ok(())
}

/// Writes the status of a copy as a whole, without reading the copy first: there may be one in every namespace,
/// and whenever the original's changes, all of theirs do.
async fn write_status(
    context: &Context,
    copy: &ObjectKey,
    home: &str,
    status: Option<&ClusterServiceVersionStatus>,
) -> Result<(), Error> {
    let label = format!("/metadata/labels/{}", labels::COPIED_FROM);
    let change = json!([
        // Somebody may have put an operator of that name there meanwhile. Then this is refused as a whole.
        {"op": "test", "path": label, "value": home},
        {"op": "add", "path": "/status", "value": status},
    ]);
    // It is one, and so can be read as one.
    let patch = Patch::Json::<()>(serde_json::from_value(change).unwrap_or_default());
    // Nobody reads the answer, in which the whole of it is.
    let api = Api::<PartialObjectMeta<ClusterServiceVersion>>::namespaced(
        context.client.clone(),
        &copy.namespace,
    );
    match api.patch_status(&copy.name, &patching(), &patch).await {
        Ok(_) => Ok(()),
        // It went meanwhile, or is none any more, and the watch will tell.
        Err(kube::Error::Api(status)) if [404, 422].contains(&status.code) => Ok(()),
        Err(error) => Err(Error::while_(format!(
            "writing the status in namespace {}",
            copy.namespace
        ))(error)),
    }
}

/// Nothing stands behind copies whose original is gone.
async fn delete_orphans(
    context: &Context,
    key: &ObjectKey,
    copies: &[Arc<Copy>],
) -> Result<(), Error> {
    // Of namespaces that others care for, nothing is known here.
    if copies.is_empty() || !context.settings.cares_for(&key.namespace) {
        return Ok(());
    }
    let found = api(context, &key.namespace).get_opt(&key.name).await;
    let found = found.map_err(Error::while_("reading the ClusterServiceVersion"))?;
    if found.is_some_and(|it| !it.is_copied()) {
        // The cache is behind, and will tell.
        return Ok(());
    }
    for copy in copies {
        delete(context, copy).await?;
    }
    Ok(())
}

async fn delete(context: &Context, copy: &Copy) -> Result<(), Error> {
    let key = ObjectKey::new(&copy.namespace, &copy.name);
    removal::delete(context, &key, &copy.uid).await
}

/// The copies of a ClusterServiceVersion, by namespace.
fn copies_of(context: &Context, key: &ObjectKey) -> Vec<Arc<Copy>> {
    let copies = &context.caches.copies;
    copies.filter(|it| it.name == key.name && it.copied_from == key.namespace)
}

/// Namespaces that a copy can be in: where there is an operator of that name itself, it stays.
fn namespaces(context: &Context, name: &str) -> BTreeSet<String> {
    let namespaces = context.caches.namespaces.all();
    let staying = namespaces
        .iter()
        .filter(|it| it.metadata.deletion_timestamp.is_none());
    let names = staying.map(|it| it.name_any());
    let has_one = |namespace: &String| {
        let key = ObjectKey::new(namespace, name);
        context.caches.csvs.get(&key).is_some()
    };
    names
        .filter(|namespace| context.settings.cares_for(namespace) && !has_one(namespace))
        .collect()
}
