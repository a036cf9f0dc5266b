//! What the page of a package shows.

use serde::Serialize;
use utoipa::ToSchema;

use super::{InstallModeName, Installation, PackageCard};

/// A package, with all that is known without looking at a single version.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackagePage {
    /// What lists show of it.
    pub card: PackageCard,
    /// What the head of the default channel says of itself.
    pub about: About,
    /// Its channels: the default channel first, then by name.
    pub channels: Vec<ChannelView>,
    /// Channels that nobody can follow because something is wrong with them, by name.
    pub broken_channels: Vec<BrokenChannelView>,
    /// Its versions, the newest first.
    pub versions: Vec<VersionSummary>,
    /// All that should no longer be used.
    pub deprecations: Vec<DeprecationView>,
    /// Other catalogs that have a package of this name.
    pub also_in: Vec<String>,
    /// Where it is installed. Nothing if there is no cluster.
    pub installations: Option<Vec<Installation>>,
}

/// A channel that is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenChannelView {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// What an operator says of itself to people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Its name for people.
    pub display_name: String,
    /// What it does, in Markdown. These are the words of strangers: never show them as HTML
    /// without cleaning.
    pub description: String,
    /// One or two sentences, plain.
    pub summary: String,
    /// Who makes it.
    pub provider: LinkView,
    /// Places to read more. Only `http`, `https` and `mailto` get this far.
    pub links: Vec<LinkView>,
    /// Who maintains it.
    pub maintainers: Vec<MaintainerView>,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Where it belongs.
    pub categories: Vec<String>,
    /// What it can do, from `Basic Install` to `Auto Pilot`; may be empty.
    pub capability_level: String,
    /// How ready for use it is, in the words of its publisher; may be empty.
    pub maturity: String,
    /// The repository of its source; may be empty.
    pub repository: String,
    /// The image of the operator; may be empty.
    pub container_image: String,
    /// Who supports it; may be empty.
    pub support: String,
    /// Its licence; may be empty.
    pub license: String,
    /// When it was made, as its author says; may be empty.
    pub created_at: String,
    /// Whether it says to be certified.
    pub certified: bool,
    /// The namespace its publisher suggests; may be empty.
    pub suggested_namespace: String,
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct LinkView {
    /// Its text.
    pub name: String,
    /// Where it leads: `http`, `https` or `mailto`, or nothing.
    pub url: String,
}

/// Somebody who maintains an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct MaintainerView {
    /// The person or team.
    pub name: String,
    /// A mail address; may be empty.
    pub email: String,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelView {
    /// Its name.
    pub name: String,
    /// Whether it is followed when none is chosen.
    pub is_default: bool,
    /// The bundle that is installed first by whoever follows it; may be empty.
    pub head: String,
    /// The version of that bundle; may be empty.
    pub version: String,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// Its bundles, the newest first.
    pub entries: Vec<ChannelEntryView>,
}

/// A bundle in a channel.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelEntryView {
    /// The bundle.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
    /// The bundle it follows; may be empty.
    pub replaces: String,
    /// Bundles it makes superfluous.
    pub skips: Vec<String>,
    /// Versions from which it is reached directly; may be empty.
    pub skip_range: String,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
}

/// A version, as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionSummary {
    /// The bundle, which is the name of the ClusterServiceVersion.
    pub name: String,
    /// The version; may be empty.
    pub version: String,
    /// The channels it is in.
    pub channels: Vec<String>,
    /// The channels whose head it is.
    pub head_of: Vec<String>,
    /// Whether the version is a pre-release.
    pub is_prerelease: bool,
    /// The oldest Kubernetes it runs on; may be empty.
    pub min_kube_version: String,
    /// Which choices of namespaces it supports.
    pub install_modes: Vec<InstallModeName>,
    /// The image with its manifests; may be empty.
    pub image: String,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
}

/// A version.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionView {
    /// What lists show of it.
    pub summary: VersionSummary,
    /// What it says of itself.
    pub about: About,
    /// The APIs it brings.
    pub provides: Vec<ApiView>,
    /// What it needs, in words.
    pub requires: Vec<String>,
    /// The images it uses.
    pub related_images: Vec<ImageView>,
    /// The bundles it can be upgraded to directly.
    pub upgrades_to: Vec<String>,
    /// The bundles that can be upgraded to it directly.
    pub upgrades_from: Vec<String>,
}

/// An API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiView {
    /// Its group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// The name of its CRD; empty if that is not known.
    pub crd: String,
    /// Its name for people; may be empty.
    pub display_name: String,
    /// What it is for; may be empty.
    pub description: String,
}

/// An image that a version uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageView {
    /// What it is for; may be empty.
    pub name: String,
    /// Its reference.
    pub image: String,
    /// Whether the reference is by digest, and so always means the same.
    pub is_pinned: bool,
}

/// Something that should no longer be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecationView {
    /// What kind of thing.
    pub kind: DeprecatedKind,
    /// Its name: of the package, channel or bundle.
    pub name: String,
    /// Why, and what to use instead.
    pub message: String,
}

/// What can be deprecated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeprecatedKind {
    /// The whole package.
    Package,
    /// A channel.
    Channel,
    /// A version.
    Version,
}
