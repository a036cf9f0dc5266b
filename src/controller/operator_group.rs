//! OperatorGroup: which namespaces it covers, which APIs it has, and by which roles users get at
//! them.
//!
//! What it leaves behind in other places (labels on namespaces, ClusterRoles) cannot be owned by
//! it. There is no finalizer, as there is none in OLM: what belongs to no group is swept away when
//! one goes, and when a process begins to lead.

mod roles;
mod sweep;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount as ServiceAccountObject};
use kube::ResourceExt as _;
use kube::api::{Api, Patch};
use serde_json::{Value, json};

use super::context::Context;
use super::error::{Error, Failures};
use super::key::ObjectKey;
use super::queue::Next;
use super::run::patching;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::operator_group::{OperatorGroup, OperatorGroupStatus};
use crate::lifecycle::group_status::{self, ServiceAccount};
use crate::lifecycle::namespace_labels::{self, LabelChanges};
use crate::lifecycle::provided_apis::{self, Surface};
use crate::lifecycle::targets::{Namespaces, Targets};

/// How soon a missing ServiceAccount is looked for again, and a present one.
const MISSING_ACCOUNT: Duration = Duration::from_secs(2);
const PRESENT_ACCOUNT: Duration = Duration::from_mins(1);

/// A group that never was: looking at it sweeps up behind all that were.
pub(super) fn nobody() -> ObjectKey {
    ObjectKey::new("", "")
}

/// Looks at one OperatorGroup.
pub(super) async fn reconcile(context: &Context, key: &ObjectKey) -> Result<Next, Error> {
    let Some(group) = context.caches.operator_groups.get(key) else {
        sweep::sweep(context).await?;
        look_at_others(context, key);
        return Ok(Next::Wait);
    };
    let account = account(context, &group).await?;
    let groups = context.caches.operator_groups.in_namespace(&key.namespace);
    let names: Vec<String> = groups.iter().map(|group| group.name_any()).collect();
    let siblings: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| *name != key.name)
        .collect();
    let namespaces = context.caches.namespaces.all();
    let by_name: Namespaces<'_> = namespaces
        .iter()
        .map(|it| {
            let name = it.metadata.name.as_deref().unwrap_or_default();
            (name, it.labels())
        })
        .collect();
    let targets = Targets::of(&group.spec, &by_name);
    let missing = targets.as_ref().map(|targets| targets.missing(&by_name));
    let missing = missing.unwrap_or_default();
    let now = context.now();
    let status = |refused: Option<&str>| {
        group_status::status(
            &group, &siblings, &targets, &missing, refused, &account, &now,
        )
    };
    // A namespace that refuses keeps neither others from being labelled nor operators from running.
    let covered = Targets::from_status(&status(None).namespaces);
    let mut failures = label_namespaces(context, &group, &covered).await;
    let refused = failures.first().map(ToString::to_string);
    let status = status(refused.as_deref());
    let mut group = (*group).clone();
    let mut is_news = false;
    if group.status.as_ref() != Some(&status) {
        group = write(context, group, status).await?;
        is_news = true;
    }
    let csvs = context.caches.csvs.in_namespace(&key.namespace);
    let members: Vec<&ClusterServiceVersion> = csvs
        .iter()
        .map(|csv| &**csv)
        .filter(|csv| !csv.is_copied())
        .collect();
    // Of several groups in a namespace, none has members.
    if siblings.is_empty() {
        is_news |= annotate(context, &mut group, &members).await?;
    }
    failures.note(roles::apply(context, &group, &members).await);
    if is_news {
        look_at_others(context, key);
    }
    failures.outcome()?;
    Ok(match account {
        ServiceAccount::NotAsked => Next::Wait,
        ServiceAccount::Missing => Next::After(MISSING_ACCOUNT),
        ServiceAccount::Found { .. } => Next::After(PRESENT_ACCOUNT),
    })
}

/// What one group has, another cannot.
fn look_at_others(context: &Context, key: &ObjectKey) {
    for other in context.caches.operator_groups.all() {
        let other = ObjectKey::of(&*other);
        if other != *key {
            context.queues.operator_groups.add(other);
        }
    }
}

async fn account(context: &Context, group: &OperatorGroup) -> Result<ServiceAccount, Error> {
    let name = &group.spec.service_account_name;
    if name.is_empty() {
        return Ok(ServiceAccount::NotAsked);
    }
    let namespace = group.namespace().unwrap_or_default();
    let api = Api::<ServiceAccountObject>::namespaced(context.client.clone(), &namespace);
    let found = api
        .get_metadata_opt(name)
        .await
        .map_err(Error::while_(format!("looking for ServiceAccount {name}")))?;
    Ok(match found {
        Some(account) => ServiceAccount::Found {
            uid: account.metadata.uid.unwrap_or_default(),
        },
        None => ServiceAccount::Missing,
    })
}

async fn write(
    context: &Context,
    mut group: OperatorGroup,
    status: OperatorGroupStatus,
) -> Result<OperatorGroup, Error> {
    group.status = Some(status);
    context.write_status(&group).await
}

/// Labels the namespaces that the group covers, and no others.
async fn label_namespaces(context: &Context, group: &OperatorGroup, targets: &Targets) -> Failures {
    let uid = group.uid().unwrap_or_default();
    let label = labels::operator_group_member(&uid);
    let mut failures = Failures::default();
    for namespace in context.caches.namespaces.all() {
        let present: BTreeMap<String, String> = namespace
            .labels()
            .get_key_value(&label)
            .map(|(key, value)| (key.clone(), value.clone()))
            .into_iter()
            .collect();
        let name = namespace.name_any();
        let changes = namespace_labels::changes(&name, &present, [(uid.as_str(), targets)]);
        failures.note(relabel(context, &name, &changes).await);
    }
    failures
}

/// Changes the labels of a namespace, if there is something to change.
async fn relabel(context: &Context, namespace: &str, changes: &LabelChanges) -> Result<(), Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let add = changes.add.iter().map(|key| (key.clone(), json!("")));
    let remove = changes.remove.iter().map(|key| (key.clone(), Value::Null));
    let labels: serde_json::Map<String, Value> = add.chain(remove).collect();
    let patch = json!({"metadata": {"labels": labels}});
    let api = Api::<Namespace>::all(context.client.clone());
    match api
        .patch_metadata(namespace, &patching(), &Patch::Merge(patch))
        .await
    {
        Ok(_) => Ok(()),
        // It went meanwhile.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Error::while_(format!("labelling namespace {namespace}"))(
            error,
        )),
    }
}

/// Writes down which APIs the group has, if that changed.
async fn annotate(
    context: &Context,
    group: &mut OperatorGroup,
    members: &[&ClusterServiceVersion],
) -> Result<bool, Error> {
    let others: Vec<Surface> = context
        .caches
        .operator_groups
        .all()
        .iter()
        .map(|other: &Arc<OperatorGroup>| Surface::of(other))
        .collect();
    let Some(value) = provided_apis::annotation(group, members, &others) else {
        return Ok(false);
    };
    // The last operator leaves the group as it was without one.
    let value = (!value.is_empty()).then_some(value);
    let patch = json!({"metadata": {"annotations": {labels::PROVIDED_APIS: value}}});
    let namespace = group.namespace().unwrap_or_default();
    let api = Api::<OperatorGroup>::namespaced(context.client.clone(), &namespace);
    *group = api
        .patch(&group.name_any(), &patching(), &Patch::Merge(patch))
        .await
        .map_err(Error::while_("annotating the group with its APIs"))?;
    Ok(true)
}
