//! Subscription: the wish to have an operator installed and kept up to date.
use super::conditions::{
    ConditionStatus, SubscriptionConditionType, SubscriptionReason, SubscriptionState,
};
use super::install_plan::Approval;
use super::lenient::{empty, lenient};
use super::open_enum::open_enum;
use super::pod_part::PodPart;
use super::schema;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

open_enum! {
    /// What happens to the operators that the wanted one needs.
    pub enum DependencyPolicy {
        /// They are installed too.
        Install = "Install",
        /// They have to be there already, or nothing is installed.
        Require = "Require",
    }
}

open_enum! {
    /// Which InstallPlans of a Subscription go ahead without anybody's approval.
    pub enum ApprovalPolicy {
        /// All of them.
        Automatic = "Automatic",
        /// First installations, and upgrades that keep the major and the minor version.
        Patch = "Patch",
        /// First installations, and upgrades that keep the major version.
        Minor = "Minor",
        /// None of them.
        Manual = "Manual",
    }
}

open_enum! {
    /// What goes with a Subscription when it is deleted.
    pub enum RemovalPolicy {
        /// Nothing: the operator runs on.
        Keep = "Keep",
        /// The operator and all that it has, but for CRDs and custom resources.
        Operator = "Operator",
        /// The operator, its CRDs but for those that have objects, and dependencies that nobody else needs.
        Everything = "Everything",
    }
}

/// Which operator is wanted, and how it shall run.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1alpha1",
    kind = "Subscription",
    plural = "subscriptions",
    singular = "subscription",
    shortname = "sub",
    shortname = "subs",
    category = "olm",
    namespaced,
    status = "SubscriptionStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Asks for an operator: installs it from a catalog and keeps it up to date.",
    printcolumn(
        name = "Package",
        type_ = "string",
        json_path = ".spec.name",
        description = "Package of the operator"
    ),
    printcolumn(
        name = "Source",
        type_ = "string",
        json_path = ".spec.source",
        description = "Catalog the package comes from"
    ),
    printcolumn(
        name = "Channel",
        type_ = "string",
        json_path = ".spec.channel",
        description = "Channel that upgrades are taken from"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionSpec {
    /// Name of the CatalogSource the package comes from.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub source: String,
    /// Namespace of the CatalogSource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub source_namespace: String,
    /// Name of the package.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Channel that versions are taken from. Without it any channel may serve, the default channel
    /// of the package before the others.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub channel: String,
    /// Name of the ClusterServiceVersion to install first; without it, the newest of the channel.
    #[serde(rename = "startingCSV")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub starting_csv: String,
    /// `Automatic` installs and upgrades at once; `Manual` waits each time until somebody sets
    /// `spec.approved` of the InstallPlan. The default is `Automatic`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub install_plan_approval: Approval,
    /// Only these versions are installed: one, such as `1.2.3`, or a range, such as `>=1.2 <2`,
    /// `^1.2` or `1.4.x || 1.6.x`. It holds for as long as it is there. Pre-releases are left out
    /// unless the range names one. If the installed version is not in the range, the operator moves
    /// to one that is, to an older one if need be. Without it, any version of the channel may serve.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub version: String,
    /// What may be done on behalf of the Subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<SubscriptionPolicy>,
    /// Adjusts the Pods of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<SubscriptionConfig>,
}

impl SubscriptionSpec {
    /// Which InstallPlans go ahead by themselves. `policy.approval` beats `installPlanApproval`, of
    /// which anything but `Manual` means all.
    pub fn approval(&self) -> ApprovalPolicy {
        let policy = self.policy.as_ref().map(|policy| &policy.approval);
        match policy {
            Some(policy) if *policy != ApprovalPolicy::Unset => policy.clone(),
            _ if self.install_plan_approval == Approval::Manual => ApprovalPolicy::Manual,
            _ => ApprovalPolicy::Automatic,
        }
    }

    /// What goes with the Subscription. What is not understood removes nothing.
    pub fn removal(&self) -> RemovalPolicy {
        match self.policy.as_ref().map(|policy| &policy.removal) {
            Some(policy @ (RemovalPolicy::Operator | RemovalPolicy::Everything)) => policy.clone(),
            _ => RemovalPolicy::Keep,
        }
    }
}

/// What may be done on behalf of a Subscription.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionPolicy {
    /// `Install` installs the operators that this one needs, and keeps them up to date. `Require`
    /// only checks that they are there: if one is missing, nothing is installed and the Subscription
    /// says what is missing. The default is `Install`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("enum" = DependencyPolicy::KNOWN))]
    pub dependencies: DependencyPolicy,
    /// Which InstallPlans go ahead by themselves: `Automatic` all, `Manual` none, `Patch` first
    /// installations and upgrades that keep the major and the minor version, `Minor` first
    /// installations and upgrades that keep the major version. The others wait until somebody sets
    /// `spec.approved` of the InstallPlan, downgrades among them. The default is what
    /// `installPlanApproval` says, which has no effect beside this.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("enum" = ApprovalPolicy::KNOWN))]
    pub approval: ApprovalPolicy,
    /// What goes when the Subscription is deleted. `Keep` removes nothing, as OLM. `Operator` removes
    /// the ClusterServiceVersion with all that it has, and keeps CRDs, custom resources and
    /// dependencies. `Everything` removes the operator, then its CRDs that have no objects, and dependencies
    /// that were installed for it; what another operator needs stays, and so does a CRD that was there
    /// before. CRDs that have objects go only by name; those of the operator that the annotation
    /// `chandler.delete-crds` lists, joined by commas, go with all their objects, and these first, while the
    /// operator still runs. Only who may delete a CRD may name it.
    /// With one of the latter two the Subscription stays until all that is gone, and says in its
    /// condition `Removing` what it waits for; changed to `Keep` it goes at once, and what is left
    /// stays. When the whole namespace is deleted, `Everything` does what `Operator` does. The default is
    /// `Keep`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("enum" = RemovalPolicy::KNOWN))]
    pub removal: RemovalPolicy,
}

/// Adjusts the Pods of an operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionConfig {
    /// Limits the adjustments to those Deployments of the operator whose Pods have these labels.
    /// Without it they apply to every Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub selector: Option<LabelSelector>,
    /// Labels a node must have, instead of those the operator asks for. An empty object removes
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Taints of nodes that the Pods tolerate, in addition to the operator's own.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::tolerations")]
    pub tolerations: Vec<PodPart>,
    /// Compute resources of every container, instead of the operator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::resources")]
    pub resources: Option<PodPart>,
    /// ConfigMaps and Secrets whose entries become environment variables of every container. A
    /// later source wins over an earlier one, and `env` wins over all of them.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::env_from")]
    pub env_from: Vec<PodPart>,
    /// Environment variables of every container; they win over the operator's own.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::env")]
    pub env: Vec<PodPart>,
    /// Further volumes of the Pods, as in a Pod's `spec.volumes`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::volumes")]
    pub volumes: Vec<PodPart>,
    /// Where volumes appear in every container.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::volume_mounts")]
    pub volume_mounts: Vec<PodPart>,
    /// Where the Pods prefer to run, as in a Pod's `spec.affinity`. Each part that is present
    /// replaces the operator's own, an empty one (`{}`) removes it, an absent one leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<PodPart>,
    /// Annotations of every Deployment, Pod and APIService of the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub annotations: BTreeMap<String, String>,
}

/// State of the operator that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionStatus {
    /// The ClusterServiceVersion that is being installed, or is installed.
    #[serde(rename = "currentCSV")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub current_csv: String,
    /// The ClusterServiceVersion that is installed.
    #[serde(rename = "installedCSV")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub installed_csv: String,
    /// The latest InstallPlan. Superseded by `installPlanRef`.
    #[serde(rename = "installplan")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_plan: Option<InstallPlanReference>,
    /// How far the Subscription is: UpgradePending, AtLatestKnown or UpgradeFailed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub state: SubscriptionState,
    /// One word that says why the Subscription is in its state.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: SubscriptionReason,
    /// Generation of the latest InstallPlan.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub install_plan_generation: i64,
    /// The latest InstallPlan that contains `currentCSV`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub install_plan_ref: Option<ObjectReference>,
    /// Health of the catalogs that can serve the Subscription.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub catalog_health: Vec<CatalogHealth>,
    /// How the Subscription is. Resolved, Installed and Healthy are True when all is well; any other
    /// condition that is True names a problem.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<SubscriptionCondition>,
    /// When this status was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required, !default)]
    pub last_updated: Option<Time>,
}

impl SubscriptionStatus {
    /// The condition of this type, if there is one.
    pub fn condition(&self, type_: &SubscriptionConditionType) -> Option<&SubscriptionCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.type_ == *type_)
    }
}

/// One aspect of the state of a Subscription.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionCondition {
    /// What it is about, such as Healthy, ResolutionFailed or CatalogSourcesUnhealthy.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub type_: SubscriptionConditionType,
    /// True if it holds, False if not, Unknown if nobody can tell.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub status: ConditionStatus,
    /// One word that says why the status last changed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: String,
    /// An explanation for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
    /// When the condition was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_time: Option<Time>,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// The older form of a reference to an InstallPlan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallPlanReference {
    /// API version of the InstallPlan.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub api_version: String,
    /// Always InstallPlan.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// Name of the InstallPlan.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Uid of the InstallPlan.
    #[serde(rename = "uuid", default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub uid: String,
}

/// Health of one catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogHealth {
    /// The CatalogSource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, extend("x-kubernetes-map-type" = "atomic"))]
    pub catalog_source_ref: ObjectReference,
    /// When its health last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required, !default)]
    pub last_updated: Option<Time>,
    /// Whether it can be used.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub healthy: bool,
}
