//! What is different between two catalogs.

mod words;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fbc::{Bundle, Catalog, Channel, Deprecation, Entry, PackageBlobs};
use super::graph::Chain;
use crate::bundle::Property;

/// The differences between two catalogs, by package. Packages without any are not in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Diff {
    /// By name of the package.
    pub packages: BTreeMap<String, PackageDiff>,
}

/// What became of a package.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum PackageDiff {
    /// It is new.
    Added(Summary),
    /// It is gone.
    Removed(Summary),
    /// It is different.
    Changed(Box<PackageChange>),
}

/// What a package is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Its default channel.
    pub default_channel: String,
    /// Its channels.
    pub channels: Vec<String>,
    /// Its bundles.
    pub bundles: Vec<String>,
}

/// What was, and what is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// What was.
    pub from: T,
    /// What is.
    pub to: T,
}

/// What is different in a package.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageChange {
    /// Another default channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_channel: Option<Change<String>>,
    /// What else of the package itself is different: `description`, `icon`, `properties`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub fields: BTreeSet<&'static str>,
    /// What became of its channels.
    #[serde(skip_serializing_if = "Changes::is_empty")]
    pub channels: Changes<ChannelChange>,
    /// What became of its bundles.
    #[serde(skip_serializing_if = "Changes::is_empty")]
    pub bundles: Changes<BundleChange>,
    /// What became of its deprecations. They are named like `olm.bundle name`.
    #[serde(skip_serializing_if = "Changes::is_empty")]
    pub deprecations: Changes<Change<String>>,
    /// The blobs of other schemas are different.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
}

/// What became of things with names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changes<T> {
    /// New ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Those that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Those that are different.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, T>,
}

/// What is different in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelChange {
    /// Another head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Change<String>>,
    /// What became of its entries.
    #[serde(skip_serializing_if = "Changes::is_empty")]
    pub entries: Changes<Change<Entry>>,
    /// Its properties are different.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub properties: bool,
}

/// What is different in a bundle of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleChange {
    /// Another version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Change<String>>,
    /// Another image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Change<String>>,
    /// The types of the properties that are different.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub properties: BTreeSet<String>,
    /// The related images are different.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub related_images: bool,
}

impl<T> Default for Changes<T> {
    fn default() -> Self {
        Self {
            added: Vec::new(),
            removed: Vec::new(),
            changed: BTreeMap::new(),
        }
    }
}

impl<T> Changes<T> {
    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// Compares what has the same name.
    fn between<V>(
        from: &BTreeMap<String, V>,
        to: &BTreeMap<String, V>,
        compare: impl Fn(&V, &V) -> Option<T>,
    ) -> Self {
        let without = |these: &BTreeMap<String, V>, those: &BTreeMap<String, V>| {
            let names = these.keys().filter(|name| !those.contains_key(*name));
            names.cloned().collect()
        };
        Self {
            added: without(to, from),
            removed: without(from, to),
            changed: from
                .iter()
                .filter_map(|(name, old)| Some((name.clone(), compare(old, to.get(name)?)?)))
                .collect(),
        }
    }
}

/// Compares two catalogs. Order counts for nothing.
pub fn diff(from: &Catalog, to: &Catalog) -> Diff {
    let changes = Changes::between(&from.packages, &to.packages, compare_packages);
    let mut packages: BTreeMap<String, PackageDiff> = BTreeMap::new();
    for name in changes.added {
        let summary = summary(to.packages.get(&name));
        packages.insert(name, PackageDiff::Added(summary));
    }
    for name in changes.removed {
        let summary = summary(from.packages.get(&name));
        packages.insert(name, PackageDiff::Removed(summary));
    }
    for (name, change) in changes.changed {
        packages.insert(name, PackageDiff::Changed(Box::new(change)));
    }
    Diff { packages }
}

impl Diff {
    /// Whether the catalogs say the same.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty()
    }
}

fn summary(blobs: Option<&PackageBlobs>) -> Summary {
    let Some(blobs) = blobs else {
        return Summary {
            default_channel: String::new(),
            channels: Vec::new(),
            bundles: Vec::new(),
        };
    };
    Summary {
        default_channel: default_channel(blobs),
        channels: sorted(blobs.channels.iter().map(|channel| &channel.name)),
        bundles: sorted(blobs.bundles.iter().map(|bundle| &bundle.name)),
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names: Vec<String> = names.cloned().collect();
    names.sort();
    names
}

fn default_channel(blobs: &PackageBlobs) -> String {
    let definition = blobs.definition();
    definition.map_or_else(String::new, |package| package.default_channel.clone())
}

fn compare_packages(from: &PackageBlobs, to: &PackageBlobs) -> Option<PackageChange> {
    let mut fields = BTreeSet::new();
    let (old, new) = (from.definition(), to.definition());
    let mut field = |name, different: bool| {
        if different {
            fields.insert(name);
        }
    };
    field(
        "description",
        old.map(|package| &package.description) != new.map(|package| &package.description),
    );
    let icon = |package: Option<&super::fbc::Package>| package.and_then(|p| p.icon.clone());
    field("icon", icon(old) != icon(new));
    field(
        "properties",
        !same_properties(
            old.map_or(&[], |package| &package.properties),
            new.map_or(&[], |package| &package.properties),
        ),
    );
    let by_name = |channels: &[Channel]| -> BTreeMap<String, Channel> {
        let channels = channels.iter();
        channels
            .map(|channel| (channel.name.clone(), channel.clone()))
            .collect()
    };
    let change = PackageChange {
        default_channel: changed(&default_channel(from), &default_channel(to)),
        fields,
        channels: Changes::between(
            &by_name(&from.channels),
            &by_name(&to.channels),
            compare_channels,
        ),
        bundles: Changes::between(&bundles(from), &bundles(to), |a, b| compare_bundles(a, b)),
        deprecations: Changes::between(&deprecations(from), &deprecations(to), |a, b| {
            changed(&a.message, &b.message)
        }),
        others: !same(&from.others, &to.others),
    };
    (change != PackageChange::default()).then_some(change)
}

fn bundles(blobs: &PackageBlobs) -> BTreeMap<String, &Bundle> {
    let bundles = blobs.bundles.iter();
    bundles
        .map(|bundle| (bundle.name.clone(), bundle))
        .collect()
}

fn deprecations(blobs: &PackageBlobs) -> BTreeMap<String, &Deprecation> {
    blobs
        .deprecations
        .iter()
        .flat_map(|deprecations| &deprecations.entries)
        .map(|entry| {
            let name = format!("{} {}", entry.reference.schema, entry.reference.name);
            (name.trim_end().to_owned(), entry)
        })
        .collect()
}

fn compare_channels(from: &Channel, to: &Channel) -> Option<ChannelChange> {
    let by_name = |channel: &Channel| -> BTreeMap<String, Entry> {
        let entries = channel.entries.iter();
        entries
            .map(|entry| (entry.name.clone(), normal(entry)))
            .collect()
    };
    let head = |channel: &Channel| Chain::of(channel).heads.join(", ");
    let change = ChannelChange {
        head: changed(&head(from), &head(to)),
        entries: Changes::between(&by_name(from), &by_name(to), changed),
        properties: !same_properties(&from.properties, &to.properties),
    };
    let same = change.head.is_none() && change.entries.is_empty() && !change.properties;
    (!same).then_some(change)
}

/// The order of skips says nothing.
fn normal(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    entry.skips.sort();
    entry
}

fn compare_bundles(from: &Bundle, to: &Bundle) -> Option<BundleChange> {
    let types: BTreeSet<&str> = from
        .properties
        .iter()
        .chain(&to.properties)
        .map(|property| property.kind.as_str())
        .collect();
    let of_type = |bundle: &Bundle, kind: &str| -> Vec<Property> {
        let properties = bundle.properties.iter();
        properties
            .filter(|property| property.kind == kind)
            .cloned()
            .collect()
    };
    let version = |bundle: &Bundle| bundle.version().map(|version| version.to_string());
    let change = BundleChange {
        version: changed(
            &version(from).unwrap_or_default(),
            &version(to).unwrap_or_default(),
        ),
        image: changed(&from.image, &to.image),
        properties: types
            .into_iter()
            .filter(|kind| !same_properties(&of_type(from, kind), &of_type(to, kind)))
            .map(str::to_owned)
            .collect(),
        related_images: !same(&from.related_images, &to.related_images),
    };
    let same = change.version.is_none()
        && change.image.is_none()
        && change.properties.is_empty()
        && !change.related_images;
    (!same).then_some(change)
}

fn changed<T: PartialEq + Clone>(from: &T, to: &T) -> Option<Change<T>> {
    (from != to).then(|| Change {
        from: from.clone(),
        to: to.clone(),
    })
}

fn same_properties(from: &[Property], to: &[Property]) -> bool {
    same(from, to)
}

/// Whether both hold the same, in whatever order.
fn same<T: PartialEq>(from: &[T], to: &[T]) -> bool {
    if from == to {
        return true;
    }
    if from.len() != to.len() {
        return false;
    }
    let mut left: Vec<&T> = to.iter().collect();
    from.iter().all(|item| {
        let found = left.iter().position(|other| *other == item);
        found.map(|index| left.swap_remove(index)).is_some()
    })
}
