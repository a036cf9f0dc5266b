//! OperatorCondition: what an installed operator says about itself, and what an administrator
//! says instead.
use super::conditions::Condition;
use super::lenient::{absent_is_default, empty, lenient};
use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// What the operator and the administrator say.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v2",
    kind = "OperatorCondition",
    plural = "operatorconditions",
    singular = "operatorcondition",
    shortname = "condition",
    category = "olm",
    namespaced,
    status = "OperatorConditionStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Lets an installed operator say whether it may be upgraded, and lets an administrator \
           overrule it. One is made for each ClusterServiceVersion, with the same name."
)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct OperatorConditionSpec {
    /// ServiceAccounts of the operator, which may write this object.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub service_accounts: Vec<String>,
    /// Deployments of the operator, which are told the name of this object.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub deployments: Vec<String>,
    /// What the administrator says; it wins over what the operator says.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(transform = time_is_optional)]
    pub overrides: Vec<Condition>,
    /// What the operator says. Upgradeable set to False holds back upgrades.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<Condition>,
}

absent_is_default!(OperatorConditionSpec);

/// What was taken note of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorConditionStatus {
    /// The conditions of the operator that were taken note of.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<Condition>,
}

/// Lets the conditions of a list do without `lastTransitionTime`.
fn time_is_optional(list: &mut Schema) {
    let required = list
        .pointer_mut("/items/required")
        .and_then(|it| it.as_array_mut());
    if let Some(required) = required {
        required.retain(|name| name != "lastTransitionTime");
    }
}

/// The older version of the kind, in which the operator writes the status. Objects are stored as
/// v2, and Chandler itself only reads v2.
pub mod v1 {
    use super::{
        Condition, CustomResource, Deserialize, JsonSchema, OperatorConditionStatus, Serialize,
        absent_is_default, empty, lenient, time_is_optional,
    };

    /// What the administrator says.
    #[derive(
        CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema,
    )]
    #[kube(
        group = "operators.coreos.com",
        version = "v1",
        kind = "OperatorCondition",
        plural = "operatorconditions",
        singular = "operatorcondition",
        shortname = "condition",
        category = "olm",
        namespaced,
        storage = false,
        status = "OperatorConditionStatus",
        derive = "Default",
        derive = "PartialEq",
        doc = "Lets an installed operator say whether it may be upgraded, and lets an \
               administrator overrule it. One is made for each ClusterServiceVersion, with the \
               same name."
    )]
    #[serde(rename_all = "camelCase", remote = "Self")]
    pub struct OperatorConditionSpec {
        /// ServiceAccounts of the operator, which may write the status of this object.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        pub service_accounts: Vec<String>,
        /// Deployments of the operator, which are told the name of this object.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        pub deployments: Vec<String>,
        /// What the administrator says; it wins over what the operator says.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
        #[schemars(transform = time_is_optional)]
        pub overrides: Vec<Condition>,
    }

    absent_is_default!(OperatorConditionSpec);
}
