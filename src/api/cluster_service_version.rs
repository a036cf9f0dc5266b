//! ClusterServiceVersion: one version of an operator, with all that is needed to run it.
//!
//! ```text
//! spec ─┬─ what people read      cluster_service_version/about.rs
//!       ├─ APIs it offers, needs cluster_service_version/apis.rs
//!       ├─ webhooks              cluster_service_version/webhook.rs
//!       └─ how it is installed   cluster_service_version/install.rs
//! status                         cluster_service_version/status.rs
//! ```
pub mod about;
pub mod apis;
pub mod install;
pub mod status;
pub mod webhook;

use super::catalog_source::Icon;
use super::conditions::CsvReason;
use super::gvk::GroupVersionKind;
use super::labels;
use super::lenient::{empty, lenient};
use super::schema;
use about::{Link, Maintainer, RelatedImage};
use apis::{ApiServiceDefinitions, CustomResourceDefinitions};
use install::{InstallMode, InstallModeType, InstallStrategy};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use status::ClusterServiceVersionStatus;
use std::collections::{BTreeMap, BTreeSet};
use webhook::WebhookDefinition;

/// The operator: what it is, what it offers and needs, and how it is installed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1alpha1",
    kind = "ClusterServiceVersion",
    plural = "clusterserviceversions",
    singular = "clusterserviceversion",
    shortname = "csv",
    shortname = "csvs",
    category = "olm",
    namespaced,
    status = "ClusterServiceVersionStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "One version of an operator, with all that is needed to run it.",
    printcolumn(
        name = "Display",
        type_ = "string",
        json_path = ".spec.displayName",
        description = "Name of the operator for people"
    ),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".spec.version",
        description = "Version of the operator"
    ),
    printcolumn(
        name = "Release",
        type_ = "string",
        json_path = ".spec.release",
        description = "Which packaging of that version this is"
    ),
    printcolumn(
        name = "Replaces",
        type_ = "string",
        json_path = ".spec.replaces",
        description = "ClusterServiceVersion this one replaces"
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterServiceVersionSpec {
    /// How the operator is installed.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub install: InstallStrategy,
    /// Version of the operator, in semantic versioning.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub version: String,
    /// Tells apart several packagings of the same version, for example one with a corrected
    /// description. Identifiers of letters, digits and hyphens, joined by dots.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(
        length(max = 20),
        extend("x-kubernetes-validations" = release_rules())
    )]
    pub release: String,
    /// How ready for use the operator is, in the words of its publisher.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub maturity: String,
    /// Custom resources the operator offers and needs.
    #[serde(rename = "customresourcedefinitions")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub custom_resource_definitions: CustomResourceDefinitions,
    /// Aggregated APIs the operator offers and needs.
    #[serde(rename = "apiservicedefinitions")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub api_service_definitions: ApiServiceDefinitions,
    /// Webhooks of the operator.
    #[serde(rename = "webhookdefinitions")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub webhook_definitions: Vec<WebhookDefinition>,
    /// APIs the cluster must serve, without regard to who brings them.
    #[serde(rename = "nativeAPIs")]
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub native_apis: Vec<GroupVersionKind>,
    /// Oldest version of Kubernetes the operator works with.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub min_kube_version: String,
    /// Name of the operator for people.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub display_name: String,
    /// What the operator does, in Markdown.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub description: String,
    /// Words to find the operator by.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub keywords: Vec<String>,
    /// Who maintains the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub maintainers: Vec<Maintainer>,
    /// Who publishes the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub provider: Link,
    /// Places to read more.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub links: Vec<Link>,
    /// Picture of the operator; only the first is used.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub icon: Vec<Icon>,
    /// Which choices of namespaces the operator supports.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub install_modes: Vec<InstallMode>,
    /// Name of the ClusterServiceVersion this one replaces.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub replaces: String,
    /// Labels that describe the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations that describe the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub annotations: BTreeMap<String, String>,
    /// Selects objects that belong to the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub selector: Option<LabelSelector>,
    /// What happens to custom resources when the operator is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<Cleanup>,
    /// Names of ClusterServiceVersions that an upgrade to this one may leave out. Only read when a
    /// catalog is made.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub skips: Vec<String>,
    /// Every image the operator may need, best by digest. Only read when a catalog is made.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub related_images: Vec<RelatedImage>,
}

/// What happens to custom resources when the operator is removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cleanup {
    /// Whether the custom resources are removed, too.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub enabled: bool,
}

/// What the API server checks about a release.
fn release_rules() -> serde_json::Value {
    json!([
        {
            "rule": r"self.matches('^[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*$')",
            "message": "a release consists of letters, digits and hyphens, joined by dots",
        },
        {
            "rule": "!self.split('.').exists(x, x.matches('^0[0-9]+$'))",
            "message": "a number in a release must not start with a zero",
        },
    ])
}

impl ClusterServiceVersionSpec {
    /// Whether the operator supports an install mode. A mode that is not listed is not supported,
    /// and the last entry for a mode counts.
    pub fn supports(&self, mode: &InstallModeType) -> bool {
        self.install_modes
            .iter()
            .rev()
            .find(|entry| entry.type_ == *mode)
            .is_some_and(|entry| entry.supported)
    }

    /// Whether the operator needs serving certificates, for its webhooks or aggregated APIs.
    pub fn needs_certificates(&self) -> bool {
        !self.api_service_definitions.owned.is_empty() || !self.webhook_definitions.is_empty()
    }
}

impl ClusterServiceVersion {
    /// Whether this is a copy that only shows that an operator of another namespace serves this
    /// one.
    pub fn is_copied(&self) -> bool {
        let reason = self.status.as_ref().map(|status| &status.reason);
        let home = self.annotations().get(labels::OPERATOR_NAMESPACE);
        reason == Some(&CsvReason::Copied)
            || home.is_some_and(|home| *home != self.namespace().unwrap_or_default())
            || self.labels().contains_key(labels::COPIED_FROM)
    }

    /// The one whose place this one takes, of those of its namespace, which are looked up by name; nothing if it is gone.
    ///
    /// Each names it, and such names may lead back to where they began: who goes back to an older version has one that
    /// replaces what once replaced it. Then whoever came last counts, and the one that was there first replaces nobody.
    pub fn predecessor<'a>(&self, get: impl Fn(&str) -> Option<&'a Self>) -> Option<&'a Self> {
        let age = |csv: &Self| (csv.creation_timestamp(), csv.name_any());
        let own = age(self);
        let replaced = get(&self.spec.replaces)?;
        let mut is_first = true;
        let mut seen = BTreeSet::new();
        let mut next = Some(replaced);
        while let Some(csv) = next.filter(|csv| seen.insert(csv.name_any())) {
            let other = age(csv);
            if other == own {
                return (!is_first).then_some(replaced);
            }
            is_first &= own < other;
            next = get(&csv.spec.replaces);
        }
        Some(replaced)
    }

    /// Whether a newer version is taking over or has taken over.
    pub fn is_obsolete(&self) -> bool {
        let history = self
            .status
            .as_ref()
            .map(|status| status.conditions.as_slice());
        history.unwrap_or_default().iter().any(|condition| {
            matches!(
                condition.reason,
                CsvReason::Replaced | CsvReason::BeingReplaced
            )
        })
    }
}
