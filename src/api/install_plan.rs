//! InstallPlan: the steps that install a set of operators, open to inspection and approval.
use super::conditions::{
    ConditionStatus, InstallPlanConditionType, InstallPlanPhase, InstallPlanReason,
    LegacyCondition, StepStatus,
};
use super::lenient::{empty, lenient};
use super::open_enum::open_enum;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

open_enum! {
    /// Whether somebody has to approve an InstallPlan.
    pub enum Approval {
        /// Nobody has to.
        Automatic = "Automatic",
        /// Somebody has to set `spec.approved`.
        Manual = "Manual",
    }
}

/// What is to be installed, and whether it may be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1alpha1",
    kind = "InstallPlan",
    plural = "installplans",
    singular = "installplan",
    shortname = "ip",
    category = "olm",
    namespaced,
    status = "InstallPlanStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "The steps that install or upgrade a set of operators. Made for Subscriptions; \
           set spec.approved to let one that waits for approval go ahead.",
    printcolumn(
        name = "CSV",
        type_ = "string",
        json_path = ".spec.clusterServiceVersionNames[0]",
        description = "First of the ClusterServiceVersions to install"
    ),
    printcolumn(
        name = "Approval",
        type_ = "string",
        json_path = ".spec.approval",
        description = "Whether somebody has to approve the plan"
    ),
    printcolumn(name = "Approved", type_ = "boolean", json_path = ".spec.approved")
)]
#[serde(rename_all = "camelCase")]
pub struct InstallPlanSpec {
    /// Has no effect; each step names its catalog.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub source: String,
    /// Has no effect; each step names its catalog.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub source_namespace: String,
    /// Names of the ClusterServiceVersions to install.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub cluster_service_version_names: Vec<String>,
    /// `Automatic`, or `Manual` if somebody has to approve the plan.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub approval: Approval,
    /// Whether the plan may be carried out. Set it to true to approve the plan.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub approved: bool,
    /// Counts the plans of the namespace.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub generation: i64,
}

/// The steps, and how far they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallPlanStatus {
    /// How far the plan is: RequiresApproval, Installing, Complete or Failed.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub phase: InstallPlanPhase,
    /// Whether the steps are known, and whether they are applied.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<InstallPlanCondition>,
    /// Names of the catalogs that were used.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub catalog_sources: Vec<String>,
    /// The steps, one for each object.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub plan: Vec<Step>,
    /// Bundles that have to be fetched before their steps are known.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub bundle_lookups: Vec<BundleLookup>,
    /// ServiceAccount the steps are applied as, if the OperatorGroup names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub attenuated_service_account_ref: Option<ObjectReference>,
    /// When the first step was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Explains the phase to people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
}

impl InstallPlanStatus {
    /// The condition of this type, if there is one.
    pub fn condition(&self, type_: &InstallPlanConditionType) -> Option<&InstallPlanCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.type_ == *type_)
    }
}

/// One aspect of the state of an InstallPlan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallPlanCondition {
    /// Resolved or Installed.
    #[serde(rename = "type")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub type_: InstallPlanConditionType,
    /// True, False or Unknown.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub status: ConditionStatus,
    /// When the condition was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// One word that says why the status last changed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: InstallPlanReason,
    /// An explanation for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
}

/// One object of an InstallPlan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The ClusterServiceVersion that needs the object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub resolving: String,
    /// The object.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub resource: StepResource,
    /// Whether the plan may succeed without the object.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub optional: bool,
    /// How far the step is: Unknown, NotPresent, Present, Created, NotCreated, WaitingForApi or
    /// UnsupportedResource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub status: StepStatus,
}

/// The object of a step, and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepResource {
    /// Name of the CatalogSource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub source_name: String,
    /// Namespace of the CatalogSource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub source_namespace: String,
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
    /// The object as text, or a reference to the ConfigMap that holds it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub manifest: String,
}

/// A bundle that has to be fetched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleLookup {
    /// Image of the bundle.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub path: String,
    /// Name of the ClusterServiceVersion in the bundle.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub identifier: String,
    /// Name of the ClusterServiceVersion that the one in the bundle replaces.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub replaces: String,
    /// The CatalogSource the bundle was found in.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, extend("x-kubernetes-map-type" = "atomic"))]
    pub catalog_source_ref: ObjectReference,
    /// Whether the bundle is fetched.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<LegacyCondition>,
    /// Properties of the bundle, as JSON.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub properties: String,
}
