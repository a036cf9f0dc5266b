//! How far a ClusterServiceVersion is, and what it still lacks.
use crate::api::conditions::{CsvPhase, CsvReason, RequirementState};
use crate::api::lenient::{empty, lenient};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterServiceVersionStatus {
    /// How far the operator is: Pending, InstallReady, Installing, Succeeded, Failed, Unknown,
    /// Replacing or Deleting.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub phase: CsvPhase,
    /// Explains the reason to people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
    /// One word that says why the operator is in its phase, such as RequirementsNotMet.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: CsvReason,
    /// When this status was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// When the phase last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Earlier phases, the oldest first.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<CsvCondition>,
    /// What the operator needs, and whether it is there.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub requirement_status: Vec<RequirementStatus>,
    /// When the serving certificates were last renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certs_last_updated: Option<Time>,
    /// When the serving certificates will be renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certs_rotate_at: Option<Time>,
    /// Custom resources that are still being removed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub cleanup: CleanupStatus,
}

/// One entry of the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CsvCondition {
    /// The phase.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub phase: CsvPhase,
    /// Explains the reason to people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
    /// One word that says why the operator was in this phase.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: CsvReason,
    /// When the entry was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// When the phase began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// Something the operator needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementStatus {
    /// API group of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub group: String,
    /// API version of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub version: String,
    /// Kind of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// Name of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Whether it is there: Present, NotPresent, PresentNotSatisfied or PresentNotAvailable.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub status: RequirementState,
    /// An explanation for people.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub message: String,
    /// Uid of the object.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub uuid: String,
    /// What the object needs in turn, such as the permissions of a ServiceAccount.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub dependents: Vec<DependentStatus>,
}

/// Something a requirement needs in turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DependentStatus {
    /// API group of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub group: String,
    /// API version of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub version: String,
    /// Kind of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// Satisfied or NotSatisfied.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub status: RequirementState,
    /// Uid of the object.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub uuid: String,
    /// An explanation for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
}

/// Custom resources that are still being removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupStatus {
    /// Custom resources that wait for their finalizers.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub pending_deletion: Vec<ResourceList>,
}

/// Objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceList {
    /// API group of the objects.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub group: String,
    /// Kind of the objects.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// The objects.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub instances: Vec<ResourceInstance>,
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceInstance {
    /// Name of the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Namespace of the object; empty if it is cluster-scoped.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub namespace: String,
}
