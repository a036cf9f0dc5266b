//! The APIs an operator offers and needs.
//!
//! Names and versions decide what is installed; descriptors only help consoles to draw forms.
use crate::api::lenient::{empty, lenient};
use crate::api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Custom resources an operator offers and needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CustomResourceDefinitions {
    /// Custom resources the operator offers.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub owned: Vec<CrdDescription>,
    /// Custom resources the operator needs from others.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub required: Vec<CrdDescription>,
}

/// Aggregated APIs an operator offers and needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApiServiceDefinitions {
    /// Aggregated APIs the operator offers.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub owned: Vec<ApiServiceDescription>,
    /// Aggregated APIs the operator needs from others.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub required: Vec<ApiServiceDescription>,
}

/// One version of a custom resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdDescription {
    /// Name of the CustomResourceDefinition: the plural name and the group, joined by a dot.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Version of the custom resource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub version: String,
    /// Kind of the custom resource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// Name of the custom resource for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub display_name: String,
    /// What the custom resource is for.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub description: String,
    /// Objects the operator makes for a custom resource.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub resources: Vec<ApiResourceReference>,
    /// Describes fields of the status.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub status_descriptors: Vec<Descriptor>,
    /// Describes fields of the spec.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub spec_descriptors: Vec<Descriptor>,
    /// Describes actions on a custom resource.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub action_descriptors: Vec<Descriptor>,
}

impl CrdDescription {
    /// API group of the custom resource: the name of the CRD without the plural name.
    pub fn group(&self) -> &str {
        self.name.split_once('.').map_or("", |(_, group)| group)
    }

    /// Plural name of the custom resource.
    pub fn plural(&self) -> &str {
        self.name
            .split_once('.')
            .map_or(self.name.as_str(), |(plural, _)| plural)
    }
}

/// One kind of an aggregated API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServiceDescription {
    /// Plural name of the kind.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// API group.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub group: String,
    /// API version.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub version: String,
    /// Kind.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// Deployment of the operator that serves the API.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub deployment_name: String,
    /// Port of the container that serves the API; the default is 443.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_port: Option<i32>,
    /// Name of the kind for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub display_name: String,
    /// What the kind is for.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub description: String,
    /// Objects the operator makes for an object of the kind.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub resources: Vec<ApiResourceReference>,
    /// Describes fields of the status.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub status_descriptors: Vec<Descriptor>,
    /// Describes fields of the spec.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub spec_descriptors: Vec<Descriptor>,
    /// Describes actions on an object of the kind.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub action_descriptors: Vec<Descriptor>,
}

impl ApiServiceDescription {
    /// Name of the APIService object.
    pub fn api_service_name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }
}

/// A kind of objects that an operator makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApiResourceReference {
    /// Name of the CustomResourceDefinition; empty if the kind is not a custom resource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Kind.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
    /// API version.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub version: String,
}

/// Describes a field or an action for consoles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Path of the field, with dots between the names.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub path: String,
    /// Name of the field for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub display_name: String,
    /// What the field is for.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub description: String,
    /// How consoles show the field, as names that they agreed on.
    #[serde(rename = "x-descriptors")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub x_descriptors: Vec<String>,
    /// A fixed value of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::base64")]
    pub value: Option<Value>,
}
