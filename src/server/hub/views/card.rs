//! What lists show: cards, and how many there are of each kind.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::InstalledState;

/// A package of a catalog, as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageCard {
    /// The package.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// The catalog it is of: what `catalog=` takes.
    pub catalog: String,
    /// Who makes it; may be empty.
    pub provider: String,
    /// One or two sentences.
    pub description: String,
    /// Where it belongs, for example `Database`.
    pub categories: Vec<String>,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// What it can do, from `Basic Install` to `Auto Pilot`; may be empty.
    pub capability_level: String,
    /// The channel that is followed when none is chosen.
    pub default_channel: String,
    /// All its channels.
    pub channels: Vec<String>,
    /// The newest version of the default channel; may be empty.
    pub version: String,
    /// The bundle of that version; may be empty.
    pub head: String,
    /// How many versions there are.
    pub versions: u32,
    /// When that version was made, as its author says; may be empty.
    pub created_at: String,
    /// Which choices of namespaces it supports.
    pub install_modes: Vec<InstallModeName>,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// Where its picture is, if it has one: a path on this server.
    pub icon: Option<String>,
    /// How it stands in the cluster. Nothing if it is not installed, or there is no cluster.
    pub installed: Option<InstalledState>,
}

/// A choice of namespaces that an operator can serve.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
pub enum InstallModeName {
    /// The namespace it runs in.
    OwnNamespace,
    /// One other namespace.
    SingleNamespace,
    /// Several namespaces.
    MultiNamespace,
    /// The whole cluster.
    AllNamespaces,
}

impl InstallModeName {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::OwnNamespace,
        Self::SingleNamespace,
        Self::MultiNamespace,
        Self::AllNamespaces,
    ];

    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnNamespace => "OwnNamespace",
            Self::SingleNamespace => "SingleNamespace",
            Self::MultiNamespace => "MultiNamespace",
            Self::AllNamespaces => "AllNamespaces",
        }
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageList {
    /// How many packages there are in all parts together.
    pub total: usize,
    /// The packages of this part.
    pub packages: Vec<PackageCard>,
    /// What there is to filter by, with how many packages each choice would show.
    pub facets: Facets,
    /// What `cursor=` takes for the next part; nothing at the end.
    pub next: Option<String>,
}

/// What a list can be filtered by. The counts of one facet regard all other filters but its own,
/// so that they tell what choosing would show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facets {
    /// By category.
    pub categories: Vec<FacetCount>,
    /// By provider.
    pub providers: Vec<FacetCount>,
    /// By capability level, from the least to the most.
    pub capability_levels: Vec<FacetCount>,
    /// By catalog.
    pub catalogs: Vec<FacetCount>,
    /// By supported install mode.
    pub install_modes: Vec<FacetCount>,
    /// `installed`, `upgradable` and `deprecated`; the first two only with a cluster.
    pub states: Vec<FacetCount>,
}

/// A choice, and how many packages it would show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FacetCount {
    /// What the filter takes.
    pub value: String,
    /// How many packages.
    pub count: usize,
    /// Whether it is chosen.
    pub selected: bool,
}

/// A catalog that the hub shows.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogView {
    /// What `catalog=` takes: `NAMESPACE/NAME`, or `NAME` where there is no cluster.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its namespace; may be empty.
    pub namespace: String,
    /// Its name for people.
    pub display_name: String,
    /// Who publishes it; may be empty.
    pub publisher: String,
    /// What is served: a digest. Empty if nothing is.
    pub digest: String,
    /// How many packages it has.
    pub packages: usize,
    /// Why newer content cannot be read, if that is so.
    pub problem: Option<String>,
    /// How many of its packages, or parts of them, are left out because something is wrong with them.
    pub left_out: usize,
    /// The first of what is left out.
    #[schema(max_items = 20)]
    pub left_out_first: Vec<LeftOutView>,
}

/// Something that a catalog has and the hub does not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutView {
    /// The package; empty if that is not known.
    pub package: String,
    /// What is wrong with it.
    pub why: String,
}
