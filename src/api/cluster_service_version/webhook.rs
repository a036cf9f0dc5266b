//! The webhooks of an operator.
use crate::api::lenient::{empty, lenient};
use crate::api::open_enum::open_enum;
use crate::api::schema;
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Port of a webhook that names none.
pub const DEFAULT_CONTAINER_PORT: i32 = 443;

open_enum! {
    /// What a webhook is asked.
    pub enum WebhookType {
        /// Whether a change is allowed.
        Validating = "ValidatingAdmissionWebhook",
        /// Whether a change has to be adjusted.
        Mutating = "MutatingAdmissionWebhook",
        /// What an object looks like in another version.
        Conversion = "ConversionWebhook",
    }
}

/// A webhook of an operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDefinition {
    /// Name of the webhook, and start of the name of its configuration.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub generate_name: String,
    /// What the webhook is asked: whether a change is allowed (ValidatingAdmissionWebhook), whether
    /// it has to be adjusted (MutatingAdmissionWebhook), or what an object looks like in another
    /// version (ConversionWebhook).
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    #[schemars(required, !default, extend("enum" = WebhookType::KNOWN))]
    pub type_: WebhookType,
    /// Deployment of the operator that answers.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub deployment_name: String,
    /// Port of the Service in front of the Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535), extend("default" = DEFAULT_CONTAINER_PORT))]
    pub container_port: Option<i32>,
    /// Port of the container, if it differs from `containerPort`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_port: Option<IntOrString>,
    /// Requests the webhook is asked about.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::webhook_rules")]
    pub rules: Vec<RuleWithOperations>,
    /// What happens when the webhook does not answer: Ignore or Fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<String>,
    /// Whether requests for other versions of a resource count: Exact or Equivalent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<String>,
    /// Limits the webhook to objects with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub object_selector: Option<LabelSelector>,
    /// Whether the webhook changes other things: None or NoneOnDryRun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required, !default)]
    pub side_effects: Option<String>,
    /// How long the API server waits for an answer, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
    /// Versions of the question the webhook understands.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub admission_review_versions: Vec<String>,
    /// Whether the webhook is asked again after another one changed the object: Never or IfNeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<String>,
    /// Path of the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_path: Option<String>,
    /// Names of the CustomResourceDefinitions the webhook converts.
    #[serde(rename = "conversionCRDs")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conversion_crds: Vec<String>,
}

impl WebhookDefinition {
    /// Port of the Service, which the API server fills in when an object is stored.
    pub fn service_port(&self) -> i32 {
        self.container_port.unwrap_or(DEFAULT_CONTAINER_PORT)
    }
}
