//! How an operator is installed: its Deployments, its permissions and the namespaces it serves.
use crate::api::lenient::{empty, lenient};
use crate::api::open_enum::open_enum;
use crate::api::pod_part::PodPart;
use crate::api::schema;
use k8s_openapi::api::rbac::v1::PolicyRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The only install strategy there is.
pub const STRATEGY_DEPLOYMENT: &str = "deployment";

open_enum! {
    /// A choice of namespaces that an operator can serve.
    pub enum InstallModeType {
        /// The namespace it runs in.
        OwnNamespace = "OwnNamespace",
        /// One other namespace.
        SingleNamespace = "SingleNamespace",
        /// Several namespaces.
        MultiNamespace = "MultiNamespace",
        /// All namespaces.
        AllNamespaces = "AllNamespaces",
    }
}

/// Whether an operator supports a choice of namespaces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstallMode {
    /// OwnNamespace, SingleNamespace, MultiNamespace or AllNamespaces.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub type_: InstallModeType,
    /// Whether the operator supports it.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub supported: bool,
}

/// How an operator is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstallStrategy {
    /// Always `deployment`.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub strategy: String,
    /// What is installed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub spec: InstallSpec,
}

/// What is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallSpec {
    /// Deployments of the operator.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub deployments: Vec<DeploymentTemplate>,
    /// Permissions in the namespaces the operator serves.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub permissions: Vec<Permissions>,
    /// Permissions in the whole cluster.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub cluster_permissions: Vec<Permissions>,
}

/// A Deployment of an operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentTemplate {
    /// Name of the Deployment.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Spec of the Deployment, as in `apps/v1`.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, schema_with = "schema::deployment_spec")]
    pub spec: PodPart,
    /// Labels of the Deployment.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub label: BTreeMap<String, String>,
}

/// Permissions of a ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Name of the ServiceAccount.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub service_account_name: String,
    /// What the ServiceAccount may do.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, schema_with = "schema::policy_rules")]
    pub rules: Vec<PolicyRule>,
}
