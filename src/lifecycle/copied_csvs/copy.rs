//! The copy of a ClusterServiceVersion in a namespace that its operator serves.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use kube::core::ObjectMeta;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Reach;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::hash::base62_sha224;
use crate::api::labels;
use crate::lifecycle::targets::Targets;

/// What `kubectl apply` left on the original is of no use on a copy, and long.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is kept of a copy that was seen. There may be one of every operator in every namespace, so it is little.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copy {
    /// Its namespace.
    pub namespace: String,
    /// Its name, which is the original's.
    pub name: String,
    /// Its identity, so that nothing else of that name is deleted.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// Where the original is, by the label `olm.copiedFrom`.
    pub copied_from: String,
    /// Whether it says by the annotation `olm.operatorNamespace` that the original is in another namespace.
    pub has_home: bool,
    /// Hash of what was copied, by its annotation.
    pub content: Hash,
    /// Hash of its status as it is: a status is written apart from the rest, and being killed in between
    /// must not go unnoticed.
    pub status: Hash,
    /// Whether it was deleted and waits for our finalizer. None that we make has it, but one that somebody made
    /// by hand, or an original that somebody marked as a copy.
    pub awaits_cleanup: bool,
}

impl Copy {
    /// What is kept of a copy; the rest of it need not be held in memory, however many namespaces there
    /// are.
    pub fn of(csv: &ClusterServiceVersion) -> Self {
        let annotation = |key: &str| csv.annotations().get(key).map_or("", String::as_str);
        let copied_from = csv.labels().get(labels::COPIED_FROM);
        let namespace = csv.namespace().unwrap_or_default();
        let home = annotation(labels::OPERATOR_NAMESPACE);
        let is_deleted = csv.metadata.deletion_timestamp.is_some();
        let mut finalizers = csv.finalizers().iter();
        Self {
            has_home: !home.is_empty() && home != namespace,
            namespace,
            name: csv.name_any(),
            uid: csv.uid().unwrap_or_default(),
            version: csv.resource_version().unwrap_or_default(),
            copied_from: copied_from.cloned().unwrap_or_default(),
            content: Hash::of(annotation(labels::COPY_HASH)),
            status: Hash::of(&csv.status),
            awaits_cleanup: is_deleted && finalizers.any(|it| it == labels::CSV_CLEANUP_FINALIZER),
        }
    }
}

/// A hash that is kept of something, and compared with that of what it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hash([u8; 8]);

impl Hash {
    fn of(value: &(impl Serialize + ?Sized)) -> Self {
        let digest = Sha256::digest(json!(value).to_string());
        let mut hash = Self::default();
        // Too short for those who look for two that have the same, and nobody gains anything by it.
        hash.0
            .iter_mut()
            .zip(digest)
            .for_each(|(to, from)| *to = from);
        hash
    }
}

/// What is to be done about the copies of one ClusterServiceVersion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Namespaces whose copy is missing or outdated, without regard to its status.
    pub write: Vec<String>,
    /// Namespaces whose copy's status is missing or outdated; to be written after the copy itself.
    pub write_status: Vec<String>,
    /// Namespaces whose copy is not wanted.
    pub delete: Vec<String>,
}

impl CopyPlan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.write.is_empty() && self.write_status.is_empty() && self.delete.is_empty()
    }
}

/// The copy of a ClusterServiceVersion for a namespace, with its status. It is the same for all namespaces
/// but for the namespace.
pub fn copy(csv: &ClusterServiceVersion, namespace: &str) -> ClusterServiceVersion {
    let home = csv.namespace().unwrap_or_default();
    let annotations = csv.annotations().iter().filter(|(key, _)| {
        // Which namespaces an operator serves is nothing that each of them should know.
        ![labels::TARGET_NAMESPACES, LAST_APPLIED, labels::COPY_HASH].contains(&key.as_str())
    });
    let own = csv.labels().iter();
    // A copy is no component of the operator: it would keep the Operator object from going.
    let own = own.filter(|(key, _)| !key.starts_with(labels::COMPONENT_PREFIX));
    let mut metadata = ObjectMeta {
        name: Some(csv.name_any()),
        namespace: Some(namespace.to_owned()),
        annotations: Some(
            annotations
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ),
        labels: Some(
            own.map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ),
        ..ObjectMeta::default()
    };
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(labels::COPIED_FROM.to_owned(), home.clone());
    labels.insert(labels::MANAGED.to_owned(), "true".to_owned());
    let annotations = metadata.annotations.get_or_insert_default();
    let content = json!([labels, annotations, csv.spec]).to_string();
    let hash = base62_sha224(content.as_bytes());
    annotations.insert(labels::COPY_HASH.to_owned(), hash);
    let mut status = csv.status.clone().unwrap_or_default();
    status.reason = CsvReason::Copied;
    status.message = format!("The operator is running in {home} but is managing this namespace");
    ClusterServiceVersion {
        metadata,
        spec: csv.spec.clone(),
        status: Some(status),
    }
}

/// Whether a ClusterServiceVersion is in a state to be copied: one that was not looked at yet, is no
/// member of its group, or cannot be, serves nobody.
pub fn is_copyable(csv: &ClusterServiceVersion) -> bool {
    let Some(status) = csv.status.as_ref() else {
        return false;
    };
    !csv.is_copied()
        && status.phase != CsvPhase::default()
        && !matches!(
            status.reason,
            CsvReason::Copied
                | CsvReason::InvalidInstallModes
                | CsvReason::NoTargetNamespaces
                | CsvReason::UnsupportedOperatorGroup
                | CsvReason::NoOperatorGroup
                | CsvReason::TooManyOperatorGroups
                | CsvReason::InterOperatorGroupOwnerConflict
                | CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs
        )
}

/// What is to be done about the copies of a ClusterServiceVersion. `namespaces` are those of the cluster
/// that are not about to go, `copies` those seen of this CSV, `reach` those of them that have a copy of an operator
/// which serves all.
pub fn plan<'a>(
    csv: &ClusterServiceVersion,
    targets: &Targets,
    namespaces: &BTreeSet<String>,
    copies: impl IntoIterator<Item = &'a Copy>,
    reach: Reach<'_>,
) -> CopyPlan {
    let home = csv.namespace().unwrap_or_default();
    let is_served = |namespace: &str| {
        let all = matches!(targets, Targets::All);
        namespace != home && targets.contains(namespace) && (!all || reach.has(namespace))
    };
    let copies = copies.into_iter();
    let copies: BTreeMap<&str, &Copy> = copies.map(|it| (it.namespace.as_str(), it)).collect();
    // By what the group says, and not by the marks of the original, which may be behind.
    let is_unwanted = |copy: &Copy| !is_served(&copy.namespace) || is_dangling(copy, csv);
    let unwanted = copies.values().filter(|copy| is_unwanted(copy));
    let mut plan = CopyPlan {
        delete: unwanted.map(|copy| copy.namespace.clone()).collect(),
        ..CopyPlan::default()
    };
    // Nothing of it depends on the namespace.
    let wanted = Copy::of(&copy(csv, ""));
    // One that does not carry the marks of its group yet would be copied without them, and that goes.
    if !is_copyable(csv) || !wanted.has_home {
        return plan;
    }
    for namespace in namespaces.iter().filter(|name| is_served(name)) {
        let seen = copies.get(namespace.as_str());
        // It is made anew once it is gone.
        if seen.is_some_and(|seen| is_unwanted(seen)) {
            continue;
        }
        if seen.is_none_or(|seen| seen.content != wanted.content) {
            plan.write.push(namespace.clone());
        }
        if seen.is_none_or(|seen| seen.status != wanted.status) {
            plan.write_status.push(namespace.clone());
        }
    }
    plan
}

/// Whether a ClusterServiceVersion does not stand for a copy of it, whichever namespaces it serves.
fn is_dangling(copy: &Copy, original: &ClusterServiceVersion) -> bool {
    !copy.has_home || original.is_copied() || is_in_conflict(original)
}

/// Whether another group has the operator's APIs: then it serves nobody until that is settled.
fn is_in_conflict(csv: &ClusterServiceVersion) -> bool {
    csv.status.as_ref().is_some_and(|status| {
        status.phase == CsvPhase::Failed
            && status.reason == CsvReason::InterOperatorGroupOwnerConflict
    })
}
