//! The rights of an operator in the namespaces that it serves.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use super::status;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::install_plan::account::{self, Access};
use crate::lifecycle::copied_csvs::Copy;
use crate::lifecycle::install::{Seen, observe, target_rbac};
use crate::lifecycle::targets::{Namespaces, Targets};
use crate::plan::apply::{self, How, Writer};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Whether the OperatorGroup of a namespace covers all of them, as far as that is known. Before rights are given for
/// that, the group is asked for ([`write`]).
pub(super) fn serves_all(context: &Context, namespace: &str) -> Option<bool> {
    let groups = context.caches.operator_groups.in_namespace(namespace);
    let [group] = groups.as_slice() else {
        return None;
    };
    let status = group.status.as_ref()?;
    Some(Targets::from_status(&status.namespaces) == Targets::All)
}

/// Brings the rights of an operator that runs to what they should be: in the whole cluster if it serves
/// all namespaces, and not any longer if it does not.
pub(super) async fn keep(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let namespace = csv.namespace().unwrap_or_default();
    let phase = csv.status.as_ref().map(|status| &status.phase);
    let is_running = matches!(phase, Some(CsvPhase::Succeeded | CsvPhase::Replacing));
    match serves_all(context, &namespace) {
        Some(true) if is_running => {
            let lifted = lift(context, csv).await;
            if let Err(
                error @ (Error::Object(apply::Error::Forbidden { .. }) | Error::NotAllowed(_)),
            ) = &lifted
            {
                let reason = CsvReason::InstallComponentFailed.to_string();
                let message = format!("its rights in all namespaces cannot be written: {error}");
                status::tell(context, csv, true, &reason, &message).await;
            }
            lifted
        }
        Some(false) if is_bound_in_cluster(context, csv) => bring_down(context, csv).await,
        _ => Ok(()),
    }
}

/// Lifts the rights of an operator that serves all namespaces, with the rights of the OperatorGroup's
/// ServiceAccount if it names one: an account cannot pass on what it does not have.
pub(super) async fn lift(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let rbac = own(context, csv).await?;
    let wanted = target_rbac::lifted(csv, &rbac);
    let lifted = in_cluster(context, csv).await?;
    let fallen = target_rbac::fallen(csv, &rbac, &wanted, &lifted).into_iter();
    let (ours, olms): (Vec<_>, Vec<_>) = fallen.partition(|object| target_rbac::is_ours(object));
    // What is no right of it any more goes, also where what is cannot be written.
    for object in ours {
        context.applier.delete(object).await?;
    }
    if !write(context, csv, &wanted, &lifted, Place::Everywhere).await? {
        return Ok(());
    }
    // In place of what OLM lifted there is ours now.
    for object in olms {
        context.applier.delete(object).await?;
    }
    Ok(())
}

/// Writes those that are missing or differ from what is there, as whoever may, if the OperatorGroup as it is now
/// covers where they are for; says whether it does. If not, the cache is behind, and whoever hears of the change
/// looks again.
async fn write(
    context: &Context,
    csv: &ClusterServiceVersion,
    wanted: &[Value],
    there: &[Value],
    place: Place<'_>,
) -> Result<bool, Error> {
    let seen = Seen::new(there.iter().cloned());
    let differs = |object: &&Value| observe::differs(object, &seen).is_some();
    let due: Vec<&Value> = wanted.iter().filter(differs).collect();
    if due.is_empty() {
        return Ok(true);
    }
    let group = account::group(context, &csv.namespace().unwrap_or_default()).await?;
    let group = group.map_err(Error::NotAllowed)?;
    if !covers(context, &group, place).await? {
        tracing::debug!(csv = %csv.name_any(), "the group covers less by now");
        return Ok(false);
    }
    let ours = context.applier.writing_for(Writer::Lifecycle);
    let applier = match account::of_group(context, &group).await? {
        Access::Own => ours,
        Access::As(account) => ours.acting_as(&account.namespace, &account.name),
        Access::None(why) => return Err(Error::NotAllowed(why)),
    };
    for object in due {
        applier.apply(object, How::ServerSideApply).await?;
    }
    Ok(true)
}

/// Where rights are for.
#[derive(Clone, Copy)]
enum Place<'a> {
    Everywhere,
    In(&'a str),
}

/// Whether a group that was just asked for covers a place. If it chooses by labels, those of the namespace are
/// asked for too.
async fn covers(context: &Context, group: &OperatorGroup, place: Place<'_>) -> Result<bool, Error> {
    let Place::In(name) = place else {
        // Which namespaces there are does not matter to a group for all of them.
        return Ok(Targets::of(&group.spec, &Namespaces::new()) == Ok(Targets::All));
    };
    let api = Api::<Namespace>::all(context.client.clone());
    let found = api.get_metadata_opt(name).await;
    let found = found.map_err(Error::while_(format!("reading namespace {name}")))?;
    let known: Namespaces<'_> = found.iter().map(|it| (name, it.labels())).collect();
    Ok(Targets::of(&group.spec, &known).is_ok_and(|it| it.contains(name)))
}

/// Removes what was lifted for an operator that does not serve all namespaces any more.
async fn bring_down(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let rbac = own(context, csv).await?;
    let lifted = in_cluster(context, csv).await?;
    for object in target_rbac::fallen(csv, &rbac, &[], &lifted) {
        context.applier.delete(object).await?;
    }
    Ok(())
}

/// Whether it is worth asking for what is bound in the cluster: most operators have nothing there.
fn is_bound_in_cluster(context: &Context, csv: &ClusterServiceVersion) -> bool {
    let name = labels::owner_value(&csv.name_any());
    let namespace = csv.namespace().unwrap_or_default();
    let bindings = context.components.filter(|it| {
        it.kind == "ClusterRoleBinding"
            && it.labels.get(labels::OWNER) == Some(&name)
            && it.labels.get(labels::OWNER_NAMESPACE) == Some(&namespace)
    });
    !bindings.is_empty()
}

/// The rights that an operator has in the whole cluster.
async fn in_cluster(context: &Context, csv: &ClusterServiceVersion) -> Result<Vec<Value>, Error> {
    let selector = format!(
        "{}={},{}={}",
        labels::OWNER,
        labels::owner_value(&csv.name_any()),
        labels::OWNER_NAMESPACE,
        csv.namespace().unwrap_or_default(),
    );
    let mut rbac = Vec::new();
    for kind in ["ClusterRole", "ClusterRoleBinding"] {
        let some = context.applier.list(RBAC, kind, None, &selector);
        rbac.extend(some.await?);
    }
    Ok(rbac)
}

/// Copies the rights of an operator to a namespace that it serves and that has a copy of it, and takes away
/// copies of what is not its right any more.
pub(super) async fn copy(
    context: &Context,
    csv: &ClusterServiceVersion,
    rbac: &[Value],
    copy: &Copy,
) -> Result<(), Error> {
    let wanted = target_rbac::copied(csv, rbac, &copy.namespace, &copy.uid);
    let selector = format!(
        "{}={},{}={}",
        labels::OWNER,
        labels::owner_value(&csv.name_any()),
        labels::COPIED_FROM,
        csv.namespace().unwrap_or_default(),
    );
    let mut there = Vec::new();
    // Without its Role a binding gives nothing, but nobody could tell of it what it was.
    for kind in ["RoleBinding", "Role"] {
        let namespace = Some(copy.namespace.as_str());
        let some = context.applier.list(RBAC, kind, namespace, &selector);
        there.extend(some.await?);
    }
    for object in target_rbac::stray(&wanted, &there) {
        context.applier.delete(object).await?;
    }
    write(context, csv, &wanted, &there, Place::In(&copy.namespace)).await?;
    Ok(())
}

/// The Roles and RoleBindings of the operator's namespace.
pub(super) async fn own(
    context: &Context,
    csv: &ClusterServiceVersion,
) -> Result<Vec<Value>, Error> {
    let namespace = csv.namespace().unwrap_or_default();
    let mut rbac = Vec::new();
    for kind in ["Role", "RoleBinding"] {
        let some = context.applier.list(RBAC, kind, Some(&namespace), "");
        rbac.extend(some.await?);
    }
    Ok(rbac)
}

/// Writes those that are missing or differ.
pub(in crate::controller) async fn bring_to(
    context: &Context,
    wanted: impl IntoIterator<Item = Value>,
) -> Result<(), Error> {
    let applier = context.applier.writing_for(Writer::Lifecycle);
    for object in wanted {
        let seen = Seen::new(applier.get(&object).await?);
        if observe::differs(&object, &seen).is_some() {
            applier.apply(&object, How::ServerSideApply).await?;
        }
    }
    Ok(())
}
