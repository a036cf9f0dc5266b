//! The copy of a ClusterServiceVersion in a namespace that its operator serves.

use std::collections::BTreeSet;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::lifecycle::targets::Targets;

/// What is kept of a copy that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copy {
    /// Its namespace.
    pub namespace: String,
    /// Its name, which is the original's.
    pub name: String,
    /// Where the original is.
    pub copied_from: String,
    /// The OperatorGroup that its annotation names.
    pub group: String,
    /// Hash of what was copied, by its annotation.
    pub content_hash: String,
    /// Hash of its status as it is.
    pub status_hash: String,
}

impl Copy {
    /// What is kept of a copy; the rest of it need not be held in memory.
    pub fn of(csv: &ClusterServiceVersion) -> Self {
        let _ = csv;
        todo!()
    }
}

/// What is to be done about the copies of one ClusterServiceVersion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Namespaces whose copy is missing or outdated, without regard to its status.
    pub write: Vec<String>,
    /// Namespaces whose copy has an outdated status; those of `write` are among them if need be.
    pub write_status: Vec<String>,
    /// Namespaces whose copy is not wanted.
    pub delete: Vec<String>,
}

/// The copy of a ClusterServiceVersion for a namespace, with its status.
pub fn copy(csv: &ClusterServiceVersion, namespace: &str) -> ClusterServiceVersion {
    let _ = (csv, namespace);
    todo!()
}

/// Whether a ClusterServiceVersion is in a state to be copied.
pub fn is_copyable(csv: &ClusterServiceVersion) -> bool {
    let _ = csv;
    todo!()
}

/// What is to be done about the copies of a ClusterServiceVersion. `namespaces` are those of the cluster
/// that are not about to go, `copies` those seen of this CSV, `everywhere` whether an operator that serves
/// all namespaces is copied into each of them (OLMConfig).
pub fn plan(
    csv: &ClusterServiceVersion,
    targets: &Targets,
    namespaces: &BTreeSet<String>,
    copies: &[Copy],
    everywhere: bool,
) -> CopyPlan {
    let _ = (csv, targets, namespaces, copies, everywhere);
    todo!()
}

/// Whether a copy has to go because nothing it is a copy of stands for it any more. `original` is the
/// ClusterServiceVersion of its name where it says it comes from.
pub fn is_dangling(copy: &Copy, original: Option<&ClusterServiceVersion>) -> bool {
    let _ = (copy, original);
    todo!()
}
