//! The blobs a file-based catalog is made of.
//!
//! Fields are in the order in which they are written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bundle::{Property, RelatedImage, Rendered, property};
use crate::version::Version;

/// `olm.package`: an operator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Package {
    /// Its name, unique in the catalog.
    pub name: String,
    /// The channel that a Subscription without one follows.
    pub default_channel: String,
    /// A picture for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<Icon>,
    /// A text for people, in Markdown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Icon {
    /// Its bytes in base64.
    pub base64data: String,
    /// What kind of picture.
    pub mediatype: String,
}

/// `olm.channel`: a line of versions of one package.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Channel {
    /// The package it belongs to.
    pub package: String,
    /// Its name, unique in the package.
    pub name: String,
    /// Its bundles and how each is reached.
    pub entries: Vec<Entry>,
    /// Anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

/// A bundle in a channel: from which others it can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Entry {
    /// The bundle.
    pub name: String,
    /// The bundle that it follows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replaces: String,
    /// Bundles that it makes superfluous.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<String>,
    /// Versions from which it can be reached directly.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub skip_range: String,
}

/// `olm.bundle`: one version of an operator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bundle {
    /// Its name, which is that of its `ClusterServiceVersion`.
    pub name: String,
    /// The package it belongs to.
    pub package: String,
    /// Where its manifests are.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// What it says about itself.
    pub properties: Vec<Property>,
    /// The images it uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_images: Vec<RelatedImage>,
}

impl From<Rendered> for Bundle {
    fn from(rendered: Rendered) -> Self {
        Self {
            name: rendered.name,
            package: rendered.package,
            image: rendered.image,
            properties: rendered.properties,
            related_images: rendered.related_images,
        }
    }
}

/// `olm.deprecations`: what of a package should no longer be used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Deprecations {
    /// The package.
    pub package: String,
    /// What of it, and why.
    pub entries: Vec<Deprecation>,
}

/// A package, channel or bundle that should no longer be used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Deprecation {
    /// What should no longer be used.
    pub reference: DeprecatedReference,
    /// Why, and what to do instead.
    pub message: String,
}

/// Names a package, channel or bundle of the package at hand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeprecatedReference {
    /// `olm.package`, `olm.channel` or `olm.bundle`.
    pub schema: String,
    /// Which; empty for the package itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A blob of a schema that we do not know: kept and passed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Other {
    /// Its schema.
    pub schema: String,
    /// The package it belongs to; may be empty.
    pub package: String,
    /// Its name; may be empty.
    pub name: String,
    /// All of it.
    pub blob: Value,
}

/// Any blob.
#[derive(Debug, Clone, PartialEq)]
pub enum Meta {
    /// `olm.package`
    Package(Package),
    /// `olm.channel`
    Channel(Channel),
    /// `olm.bundle`
    Bundle(Bundle),
    /// `olm.deprecations`
    Deprecations(Deprecations),
    /// Anything else.
    Other(Other),
}

impl Meta {
    /// The schema of the blob.
    pub fn schema(&self) -> &str {
        match self {
            Self::Package(_) => "olm.package",
            Self::Channel(_) => "olm.channel",
            Self::Bundle(_) => "olm.bundle",
            Self::Deprecations(_) => "olm.deprecations",
            Self::Other(other) => &other.schema,
        }
    }

    /// The package that the blob belongs to; may be empty.
    pub fn package(&self) -> &str {
        match self {
            Self::Package(package) => &package.name,
            Self::Channel(channel) => &channel.package,
            Self::Bundle(bundle) => &bundle.package,
            Self::Deprecations(deprecations) => &deprecations.package,
            Self::Other(other) => &other.package,
        }
    }

    /// The name of the blob; may be empty.
    pub fn name(&self) -> &str {
        match self {
            Self::Package(package) => &package.name,
            Self::Channel(channel) => &channel.name,
            Self::Bundle(bundle) => &bundle.name,
            Self::Deprecations(_) => "",
            Self::Other(other) => &other.name,
        }
    }
}

impl Bundle {
    /// The version in its first `olm.package` property, if that is one.
    pub fn version(&self) -> Option<Version> {
        let property = self
            .properties
            .iter()
            .find(|property| property.kind == property::PACKAGE)?;
        let Value::Object(map) = &property.value else {
            return None;
        };
        let (_, version) = map
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case("version"))?;
        Version::parse(version.as_str()?).ok()
    }
}
