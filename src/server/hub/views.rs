//! What the hub shows: plain data, the same for the API and for the page.
//!
//! Nothing here computes. Texts are the words of catalogs, which are strangers: whoever shows them
//! escapes them. Fields are always there; what is not known is empty or `null`.

mod card;
mod contents;
mod graph;
mod install;
mod package;

use serde::Serialize;
use utoipa::ToSchema;

pub use card::{
    CatalogView, FacetCount, Facets, InstallModeName, LeftOutView, PackageCard, PackageList,
};
pub use contents::{
    ChangeKind, CrdChange, CrdDetail, CrdVersionView, CrdView, Crds, Danger, ExampleView,
    FieldView, Knowledge, Permission, Permissions, Reach, RelatedImages, VersionDiff,
};
pub use graph::{
    Dependency, DependencyGraph, DependencyKind, Dependent, PackageReference, UpgradeEdge,
    UpgradeGraph, UpgradeKind, UpgradeNode,
};
pub use install::{Health, InstallCommand, InstallManifests, Installation, InstalledState};
pub use package::{
    About, ApiView, BrokenChannelView, ChannelEntryView, ChannelView, DeprecatedKind,
    DeprecationView, ImageView, LinkView, MaintainerView, PackagePage, VersionSummary, VersionView,
};

/// The name of an API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct ApiName {
    /// Its group; empty for Kubernetes' core group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its kind.
    pub kind: String,
}
