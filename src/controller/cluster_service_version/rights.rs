//! The rights of an operator in the namespaces that it serves.

use kube::ResourceExt as _;
use serde_json::Value;

use super::status;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::labels;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::install_plan::account::{self, Access};
use crate::lifecycle::copied_csvs::Copy;
use crate::lifecycle::install::{Seen, observe, target_rbac};
use crate::lifecycle::targets::Targets;
use crate::plan::apply::{self, How, Writer};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Whether the OperatorGroup of a namespace covers all of them, as far as that is known.
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
    write(context, csv, &wanted, &lifted).await?;
    // In place of what OLM lifted there is ours now.
    for object in olms {
        context.applier.delete(object).await?;
    }
    Ok(())
}

/// Writes those that are missing or differ from what is there, as whoever may.
async fn write(
    context: &Context,
    csv: &ClusterServiceVersion,
    wanted: &[Value],
    there: &[Value],
) -> Result<(), Error> {
    let seen = Seen::new(there.iter().cloned());
    let differs = |object: &&Value| observe::differs(object, &seen).is_some();
    let due: Vec<&Value> = wanted.iter().filter(differs).collect();
    if due.is_empty() {
        return Ok(());
    }
    let ours = context.applier.writing_for(Writer::Lifecycle);
    let applier = match account::of(context, &csv.namespace().unwrap_or_default()).await? {
        Access::Own => ours,
        Access::As(account) => ours.acting_as(&account.namespace, &account.name),
        Access::None(why) => return Err(Error::NotAllowed(why)),
    };
    for object in due {
        applier.apply(object, How::ServerSideApply).await?;
    }
    Ok(())
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
    write(context, csv, &wanted, &there).await
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
