//! OperatorGroup: which namespaces the operators of a namespace serve.
use super::conditions::Condition;
use super::labels;
use super::lenient::{absent_is_default, empty, lenient};
use super::open_enum::open_enum;
use super::schema;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::{CustomResource, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

open_enum! {
    /// When an operator may be replaced by a newer version.
    pub enum UpgradeStrategy {
        /// Only when it works.
        Default = "Default",
        /// Also when it failed.
        UnsafeFailForward = "TechPreviewUnsafeFailForward",
    }
}

/// Which namespaces the group covers.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1",
    kind = "OperatorGroup",
    plural = "operatorgroups",
    singular = "operatorgroup",
    shortname = "og",
    category = "olm",
    namespaced,
    status = "OperatorGroupStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Chooses the namespaces that the operators of this namespace serve. A namespace needs \
           exactly one before operators can be installed in it."
)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(extend("default" = { "upgradeStrategy": "Default" }))]
pub struct OperatorGroupSpec {
    /// Selects the namespaces by their labels. Ignored when `targetNamespaces` is set; with neither
    /// of the two, the group covers all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub selector: Option<LabelSelector>,
    /// Names of the namespaces.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub target_namespaces: Vec<String>,
    /// ServiceAccount of this namespace that operators are installed as, so that they get no more
    /// permissions than it has. Without it, they are installed with all permissions they ask for.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub service_account_name: String,
    /// Leaves the annotation `olm.providedAPIs` as it is, instead of filling it with the APIs of
    /// the installed operators.
    #[serde(rename = "staticProvidedAPIs")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub static_provided_apis: bool,
    /// When an operator may be replaced by a newer version. `Default`: only when it works, so a
    /// failed installation or upgrade blocks the next one. `TechPreviewUnsafeFailForward`: also
    /// when it failed, which can lose data if the operator is not prepared for it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("default" = "Default", "enum" = UpgradeStrategy::KNOWN))]
    pub upgrade_strategy: UpgradeStrategy,
}

absent_is_default!(OperatorGroupSpec);

impl OperatorGroupSpec {
    /// Whether a failed operator may be replaced by a newer version.
    pub fn fails_forward(&self) -> bool {
        self.upgrade_strategy == UpgradeStrategy::UnsafeFailForward
    }
}

impl OperatorGroup {
    /// Whether the catalogs of global namespaces are kept out of its namespace.
    pub fn excludes_global(&self) -> bool {
        let value = self.annotations().get(labels::EXCLUDE_GLOBAL_NAMESPACE);
        value.is_some_and(|value| value == "true")
    }
}

/// The namespaces that were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorGroupStatus {
    /// The namespaces the group covers; one empty name stands for all namespaces.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub namespaces: Vec<String>,
    /// The ServiceAccount that operators are installed as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub service_account_ref: Option<ObjectReference>,
    /// When this status was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required, !default)]
    pub last_updated: Option<Time>,
    /// What is wrong with the group.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<Condition>,
}

/// The older version of the kind, kept for clients that still ask for it. Objects are stored as
/// v1, and Chandler itself only reads v1.
pub mod v1alpha2 {
    use super::{
        CustomResource, Deserialize, JsonSchema, LabelSelector, ObjectReference, Serialize, Time,
        absent_is_default, empty, lenient, schema,
    };

    /// Which namespaces the group covers.
    #[derive(
        CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema,
    )]
    #[kube(
        group = "operators.coreos.com",
        version = "v1alpha2",
        kind = "OperatorGroup",
        plural = "operatorgroups",
        singular = "operatorgroup",
        shortname = "og",
        category = "olm",
        namespaced,
        storage = false,
        status = "OperatorGroupStatus",
        derive = "Default",
        derive = "PartialEq",
        doc = "Chooses the namespaces that the operators of this namespace serve. A namespace \
               needs exactly one before operators can be installed in it."
    )]
    #[serde(rename_all = "camelCase", remote = "Self")]
    pub struct OperatorGroupSpec {
        /// Selects the namespaces by their labels. Ignored when `targetNamespaces` is set; with
        /// neither of the two, the group covers all namespaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "schema::label_selector")]
        pub selector: Option<LabelSelector>,
        /// Names of the namespaces.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        pub target_namespaces: Vec<String>,
        /// ServiceAccount of this namespace that operators are installed as, so that they get no
        /// more permissions than it has.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        pub service_account_name: String,
        /// Leaves the annotation `olm.providedAPIs` as it is, instead of filling it with the APIs
        /// of the installed operators.
        #[serde(rename = "staticProvidedAPIs")]
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        pub static_provided_apis: bool,
    }

    absent_is_default!(OperatorGroupSpec);

    /// The namespaces that were chosen.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct OperatorGroupStatus {
        /// The namespaces the group covers; one empty name stands for all namespaces.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        pub namespaces: Vec<String>,
        /// The ServiceAccount that operators are installed as.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        pub service_account_ref: Option<ObjectReference>,
        /// When this status was last written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(required, !default)]
        pub last_updated: Option<Time>,
    }
}
