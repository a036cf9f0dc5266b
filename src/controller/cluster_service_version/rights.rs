//! The rights of an operator in the namespaces that it serves.

use kube::ResourceExt as _;
use serde_json::Value;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::lifecycle::copied_csvs::Copy;
use crate::lifecycle::install::{Seen, observe, target_rbac};
use crate::plan::apply::{How, Writer};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Lifts the rights of an operator that serves all namespaces, before it begins to run.
pub(super) async fn lift(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let rbac = own(context, csv).await?;
    bring_to(context, target_rbac::lifted(csv, &rbac)).await
}

/// Copies the rights of an operator to a namespace that it serves and that has a copy of it.
pub(super) async fn copy(
    context: &Context,
    csv: &ClusterServiceVersion,
    rbac: &[Value],
    copy: &Copy,
) -> Result<(), Error> {
    let copied = target_rbac::copied(csv, rbac, &copy.namespace, &copy.uid);
    bring_to(context, copied).await
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
