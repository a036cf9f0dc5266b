//! PackageManifest: a package of a catalog, as the aggregated API shows it.
//!
//! Nothing of this kind is stored, so there is no CRD: the objects are computed from the catalogs.
use super::catalog_source::Icon;
use super::cluster_service_version::about::{Link, Maintainer};
use super::cluster_service_version::apis::{ApiServiceDefinitions, CustomResourceDefinitions};
use super::cluster_service_version::install::InstallMode;
use super::gvk::GroupVersionKind;
use super::lenient::{absent_is_default, empty, lenient};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Empty: a PackageManifest is a view, there is nothing to ask for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "packages.operators.coreos.com",
    version = "v1",
    kind = "PackageManifest",
    plural = "packagemanifests",
    singular = "packagemanifest",
    namespaced,
    status = "PackageManifestStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A package of a catalog, with its channels."
)]
#[serde(remote = "Self")]
pub struct PackageManifestSpec {}

absent_is_default!(PackageManifestSpec);

/// The package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageManifestStatus {
    /// Name of the CatalogSource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub catalog_source: String,
    /// Name of the catalog for people.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub catalog_source_display_name: String,
    /// Who publishes the catalog.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub catalog_source_publisher: String,
    /// Namespace of the CatalogSource.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub catalog_source_namespace: String,
    /// Who publishes the package.
    #[serde(default, deserialize_with = "lenient")]
    pub provider: Link,
    /// Name of the package.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub package_name: String,
    /// Present if the package is deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
    /// Channels of the package.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub channels: Vec<PackageChannel>,
    /// Name of the channel to use when none is chosen.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub default_channel: String,
}

impl PackageManifestStatus {
    /// The channel to use when none is chosen: the declared one, or the only one.
    pub fn default_channel(&self) -> Option<&PackageChannel> {
        match self.channels.as_slice() {
            [only] if self.default_channel.is_empty() => Some(only),
            channels => channels
                .iter()
                .find(|channel| channel.name == self.default_channel),
        }
    }
}

/// Says that something should not be used any more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deprecation {
    /// Why, and what to use instead.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub message: String,
}

/// A channel of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageChannel {
    /// Name of the channel.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Name of the newest ClusterServiceVersion of the channel.
    #[serde(rename = "currentCSV", default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub current_csv: String,
    /// Describes the newest ClusterServiceVersion of the channel.
    #[serde(rename = "currentCSVDesc", default, deserialize_with = "lenient")]
    pub current_csv_desc: CsvDescription,
    /// Present if the channel is deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
    /// The versions in the channel, the newest first.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub entries: Vec<ChannelEntry>,
}

/// A version in a channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelEntry {
    /// Name of the ClusterServiceVersion.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Its version.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub version: String,
    /// Present if the version is deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
}

/// What people read about a ClusterServiceVersion before they install it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CsvDescription {
    /// Name of the operator for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub display_name: String,
    /// Picture of the operator. Lists leave it out; ask the `icon` subresource for it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub icon: Vec<Icon>,
    /// Version of the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub version: String,
    /// Who publishes the operator.
    #[serde(default, deserialize_with = "lenient")]
    pub provider: Link,
    /// Annotations of the ClusterServiceVersion.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub annotations: BTreeMap<String, String>,
    /// Words to find the operator by.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub keywords: Vec<String>,
    /// Places to read more.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub links: Vec<Link>,
    /// Who maintains the operator.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub maintainers: Vec<Maintainer>,
    /// How ready for use the operator is, in the words of its publisher.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub maturity: String,
    /// What the operator does, in Markdown.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub description: String,
    /// Which choices of namespaces the operator supports.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub install_modes: Vec<InstallMode>,
    /// Custom resources the operator offers and needs.
    #[serde(rename = "customresourcedefinitions")]
    #[serde(default, deserialize_with = "lenient")]
    pub custom_resource_definitions: CustomResourceDefinitions,
    /// Aggregated APIs the operator offers and needs.
    #[serde(rename = "apiservicedefinitions")]
    #[serde(default, deserialize_with = "lenient")]
    pub api_service_definitions: ApiServiceDefinitions,
    /// APIs the cluster must serve.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub native_apis: Vec<GroupVersionKind>,
    /// Oldest version of Kubernetes the operator works with.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub min_kube_version: String,
    /// Every image the operator may need.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub related_images: Vec<String>,
}
