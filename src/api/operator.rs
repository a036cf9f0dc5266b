//! Operator: everything in the cluster that belongs to one installed package.
use super::conditions::LegacyCondition;
use super::lenient::{absent_is_default, empty, lenient};
use super::schema;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Empty: an Operator is a view, there is nothing to ask for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1",
    kind = "Operator",
    plural = "operators",
    singular = "operator",
    category = "olm",
    status = "OperatorStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Lists everything in the cluster that belongs to one installed package. Made \
           automatically, and made again as long as anything of the package is left."
)]
#[serde(remote = "Self")]
pub struct OperatorSpec {}

absent_is_default!(OperatorSpec);

/// What belongs to the package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorStatus {
    /// The objects of the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Components>,
}

/// The objects of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Components {
    /// Selects the objects by their labels.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, schema_with = "schema::label_selector")]
    pub label_selector: LabelSelector,
    /// The objects that were found.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub refs: Vec<ComponentReference>,
}

/// One object of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ComponentReference {
    /// The object.
    #[serde(flatten)]
    pub reference: ObjectReference,
    /// State of the object, as it reports it itself.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<LegacyCondition>,
}
