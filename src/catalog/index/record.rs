//! What the index holds of a package.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Where a piece of the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u32,
}

/// The card of a package: what lists, filters and search results show. Kept in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The package.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// Who makes it.
    pub provider: String,
    /// One or two sentences.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Where it belongs, for example `Database`.
    pub categories: Vec<String>,
    /// What it can do, from `Basic Install` to `Auto Pilot`; may be empty.
    pub capability_level: String,
    /// The channel a Subscription without one follows.
    pub default_channel: String,
    /// All its channels.
    pub channels: Vec<String>,
    /// The bundle at the head of the default channel.
    pub head: String,
    /// That bundle's version.
    pub version: String,
    /// When that bundle was made, as its author says.
    pub created_at: String,
    /// Where it can be installed.
    pub install_modes: InstallModes,
    /// Why the package should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// How many bundles it has.
    pub bundles: u32,
    /// Whether there is a picture.
    pub has_icon: bool,
    /// Where the [`PackageRecord`] is.
    pub(super) record: Span,
}

/// The four ways of choosing namespaces, and which of them a bundle supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "there are four, and each is on or off"
)]
pub struct InstallModes {
    /// The operator's own namespace.
    pub own_namespace: bool,
    /// One other namespace.
    pub single_namespace: bool,
    /// Several namespaces.
    pub multi_namespace: bool,
    /// The whole cluster.
    pub all_namespaces: bool,
}

/// A package with all its channels and bundles: what the resolver and the package page need.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PackageRecord {
    /// Its name.
    pub name: String,
    /// The channel a Subscription without one follows.
    pub default_channel: String,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// Its channels, by name.
    pub channels: Vec<ChannelRecord>,
    /// Channels that are left out because something is wrong with them, by name. Bundles that only they
    /// list are left out as well.
    pub broken_channels: Vec<BrokenChannel>,
    /// Its bundles, by version and then name.
    pub bundles: Vec<BundleRecord>,
    /// The properties of its bundles but for those that are large, each with its value as JSON, and
    /// each once: the versions of an operator differ in few of them.
    pub properties: Vec<(String, String)>,
    /// The blob `olm.package`.
    pub(super) package_blob: Span,
    /// All other blobs that are not bundles: channels, deprecations, unknown schemas.
    pub(super) other_blobs: Vec<Span>,
}

impl PackageRecord {
    /// A channel by its name.
    pub fn channel(&self, name: &str) -> Option<&ChannelRecord> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// A bundle by its name.
    pub fn bundle(&self, name: &str) -> Option<&BundleRecord> {
        self.bundles.iter().find(|bundle| bundle.name == name)
    }

    /// How many blobs it has.
    pub fn blobs(&self) -> usize {
        1 + self.other_blobs.len() + self.bundles.len()
    }

    /// The bundle that one of its blobs is, if it is one.
    pub fn bundle_of_blob(&self, at: usize) -> Option<&BundleRecord> {
        self.bundles
            .get(at.checked_sub(1 + self.other_blobs.len())?)
    }

    /// Where one of its blobs is: itself, then channels and the like, then its bundles.
    pub(super) fn span(&self, at: usize) -> Option<Span> {
        match at.checked_sub(1) {
            None => Some(self.package_blob),
            Some(other) if other < self.other_blobs.len() => self.other_blobs.get(other).copied(),
            Some(_) => self.bundle_of_blob(at).map(|bundle| bundle.blob),
        }
    }

    /// The newest bundle of a channel: the one that no other of the channel replaces or skips.
    pub fn head(&self, channel: &ChannelRecord) -> Option<&BundleRecord> {
        let entries = channel.entries.iter();
        let left: BTreeSet<&str> = entries
            .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]))
            .map(String::as_str)
            .collect();
        let members = channel.entries.iter().map(|entry| entry.bundle);
        // Bundles are in the order of their versions, should there be more than one.
        members
            .filter_map(|at| Some((at, self.bundles.get(at as usize)?)))
            .filter(|(_, bundle)| !left.contains(bundle.name.as_str()))
            .max_by_key(|(at, _)| *at)
            .map(|(_, bundle)| bundle)
    }

    /// The properties of one of its bundles, in the bundle's order.
    pub fn properties_of(&self, bundle: &BundleRecord) -> impl Iterator<Item = &(String, String)> {
        let positions = bundle.properties.iter();
        positions.filter_map(|&at| self.properties.get(at as usize))
    }
}

/// A channel of a package.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChannelRecord {
    /// Its name.
    pub name: String,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// Its bundles, and from where each is reached.
    pub entries: Vec<EntryRecord>,
}

/// A channel that is left out of a package.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BrokenChannel {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A bundle in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EntryRecord {
    /// Which of the package's bundles: its position in [`PackageRecord::bundles`].
    pub bundle: u32,
    /// The bundle it follows; may be outside of the channel, or empty.
    pub replaces: String,
    /// Bundles it makes superfluous.
    pub skips: Vec<String>,
    /// Versions from which it is reached directly; may be empty.
    pub skip_range: String,
}

/// A bundle of a package.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BundleRecord {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where its manifests are.
    pub image: String,
    /// The oldest Kubernetes it runs on; may be empty.
    pub min_kube_version: String,
    /// Where it can be installed.
    pub install_modes: InstallModes,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// Which of the package's properties it has: positions in [`PackageRecord::properties`].
    pub properties: Vec<u32>,
    /// The blob `olm.bundle`.
    pub(super) blob: Span,
}

/// APIs as tuples: `GroupVersionKind` reads JSON leniently, which a binary form cannot follow.
pub(super) mod plain {
    use crate::api::gvk::GroupVersionKind;

    /// Group, version, kind.
    pub(in crate::catalog::index) type Tuple = (String, String, String);

    pub(in crate::catalog::index) fn tuple(api: &GroupVersionKind) -> Tuple {
        (api.group.clone(), api.version.clone(), api.kind.clone())
    }
}
