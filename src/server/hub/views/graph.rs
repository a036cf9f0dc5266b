//! What is drawn: how versions lead to each other, and who needs whom.

use serde::Serialize;
use utoipa::ToSchema;

/// How the versions of a package, or of one of its channels, lead to each other.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeGraph {
    /// The package.
    pub package: String,
    /// The channel, if it is about one only.
    pub channel: Option<String>,
    /// The bundles, the oldest first.
    pub nodes: Vec<UpgradeNode>,
    /// From which bundle an upgrade leads to which.
    pub edges: Vec<UpgradeEdge>,
    /// Bundles that replace or skip each other in a circle.
    pub cycles: Vec<Vec<String>>,
    /// Bundles from which no upgrade leads to a head.
    pub stuck: Vec<String>,
    /// Whether edges by skip range were left out because there are too many to draw.
    pub is_thinned: bool,
}

/// A bundle in the graph.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeNode {
    /// The bundle.
    pub name: String,
    /// Its version; empty if the bundle is only named by others.
    pub version: String,
    /// The channels that list it; none if it is only named by others.
    pub channels: Vec<String>,
    /// Whether none replaces or skips it.
    pub is_head: bool,
    /// Whether it should no longer be used.
    pub is_deprecated: bool,
    /// Whether it runs in the cluster.
    pub is_installed: bool,
}

/// An upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeEdge {
    /// The bundle that is installed before.
    pub from: String,
    /// The bundle that is installed after.
    pub to: String,
    /// Why that is possible.
    pub kind: UpgradeKind,
    /// The channels that allow it.
    pub channels: Vec<String>,
}

/// Why an upgrade is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum UpgradeKind {
    /// The newer bundle replaces the older.
    Replaces,
    /// The newer bundle skips the older.
    Skips,
    /// The version of the older bundle is in the skip range of the newer.
    SkipRange,
}

/// What a version needs, and who needs the package.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyGraph {
    /// The package.
    pub package: String,
    /// The bundle whose needs these are.
    pub bundle: String,
    /// What it needs.
    pub dependencies: Vec<Dependency>,
    /// The packages whose newest version needs this package or one of its APIs.
    pub dependents: Vec<Dependent>,
}

/// Something that a version needs.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// What is needed, in words.
    pub needs: String,
    /// What kind of need.
    pub kind: DependencyKind,
    /// The package, if one is needed by name; empty otherwise.
    pub package: String,
    /// The versions of it; may be empty.
    pub range: String,
    /// The API, if one is needed.
    pub api: Option<super::ApiName>,
    /// The packages that can meet it.
    pub met_by: Vec<PackageReference>,
}

/// What kind of need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum DependencyKind {
    /// A package, in certain versions.
    Package,
    /// An API, whoever brings it.
    Api,
    /// Something else: a constraint of several parts, or a label.
    Constraint,
}

/// Somebody who needs the package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dependent {
    /// The package that has the need.
    pub package: String,
    /// Its catalog.
    pub catalog: String,
    /// The bundle that has it: the head of its default channel.
    pub bundle: String,
    /// What it needs, in words.
    pub needs: String,
}

/// A package of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct PackageReference {
    /// The package.
    pub package: String,
    /// Its catalog.
    pub catalog: String,
}
