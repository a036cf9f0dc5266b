//! From a package of a catalog to the object that the API shows.

use std::collections::BTreeMap;

use kube::ResourceExt as _;

use super::catalogs::Catalog;
use super::csv::Csv;
use crate::api::labels;
use crate::api::package_manifest::{
    ChannelEntry, Deprecation, PackageChannel, PackageManifest, PackageManifestSpec,
    PackageManifestStatus,
};
use crate::catalog::index::{BundleRecord, ChannelRecord, PackageRecord};

/// A bundle with this property is not to be chosen any more, in the words of older catalogs.
const DEPRECATED: &str = "olm.deprecated";

/// The heads of a package's channels, by the names of their bundles.
pub(super) type Heads = BTreeMap<String, Csv>;

/// A package as it is shown in a namespace. Pictures are left out: the `icon` subresource has them.
pub(super) fn manifest(
    catalog: &Catalog,
    record: &PackageRecord,
    heads: &Heads,
    namespace: &str,
) -> PackageManifest {
    let nothing = Csv::default();
    let default = default_head(record).and_then(|head| heads.get(&head.name));
    let default = default.unwrap_or(&nothing);
    let source = &catalog.object;
    let mut object = PackageManifest::new(&record.name, PackageManifestSpec {});
    object.metadata.namespace = Some(namespace.to_owned());
    let since = &source.metadata.creation_timestamp;
    object.metadata.creation_timestamp.clone_from(since);
    object.metadata.labels = Some(marks(catalog, default));
    object.status = Some(PackageManifestStatus {
        catalog_source: source.name_any(),
        catalog_source_display_name: source.spec.display_name.clone(),
        catalog_source_publisher: source.spec.publisher.clone(),
        catalog_source_namespace: source.namespace().unwrap_or_default(),
        provider: default.description.provider.clone(),
        package_name: record.name.clone(),
        deprecation: record.deprecation.as_deref().map(deprecation),
        channels: record
            .channels
            .iter()
            .map(|it| channel(record, it, heads))
            .collect(),
        default_channel: default_channel(record).map_or(String::new(), |it| it.name.clone()),
    });
    object
}

/// The labels of a package: those of its catalog, who made it, and those of its
/// ClusterServiceVersion, which also say what it runs on.
fn marks(catalog: &Catalog, default: &Csv) -> BTreeMap<String, String> {
    let source = &catalog.object;
    let mut marks = source.labels().clone();
    let provider = &default.description.provider;
    let own = [
        (labels::PACKAGE_CATALOG, source.name_any()),
        (
            labels::PACKAGE_CATALOG_NAMESPACE,
            source.namespace().unwrap_or_default(),
        ),
        (labels::PACKAGE_PROVIDER, provider.name.clone()),
        (labels::PACKAGE_PROVIDER_URL, provider.url.clone()),
    ];
    marks.extend(own.map(|(key, value)| (key.to_owned(), value)));
    marks.extend(default.labels.clone());
    // Whoever says nothing means what nearly everybody has.
    for (prefix, usual) in [(labels::OS_PREFIX, "linux"), (labels::ARCH_PREFIX, "amd64")] {
        if !default.labels.keys().any(|key| key.starts_with(prefix)) {
            marks.insert(format!("{prefix}{usual}"), labels::SUPPORTED.to_owned());
        }
    }
    marks
}

fn channel(record: &PackageRecord, channel: &ChannelRecord, heads: &Heads) -> PackageChannel {
    let head = record.head(channel);
    let described = head.and_then(|head| heads.get(&head.name));
    PackageChannel {
        name: channel.name.clone(),
        current_csv: head.map_or(String::new(), |head| head.name.clone()),
        current_csv_desc: described.map_or_else(Default::default, |it| it.description.clone()),
        deprecation: channel.deprecation.as_deref().map(deprecation),
        entries: entries(record, channel),
    }
}

/// The newest first.
fn entries(record: &PackageRecord, channel: &ChannelRecord) -> Vec<ChannelEntry> {
    let mut positions: Vec<u32> = channel.entries.iter().map(|entry| entry.bundle).collect();
    // Bundles are in the order of their versions.
    positions.sort_unstable();
    positions.dedup();
    let newest_first = positions.into_iter().rev();
    let bundles = newest_first.filter_map(|at| record.bundles.get(at as usize));
    let chosen = bundles.filter(|bundle| {
        let mut properties = record.properties_of(bundle);
        !properties.any(|(kind, _)| kind == DEPRECATED)
    });
    let entry = |bundle: &BundleRecord| ChannelEntry {
        name: bundle.name.clone(),
        version: bundle.version.clone(),
        deprecation: bundle.deprecation.as_deref().map(deprecation),
    };
    chosen.map(entry).collect()
}

/// The channel to use when none is chosen: the declared one, or the only one.
fn default_channel(record: &PackageRecord) -> Option<&ChannelRecord> {
    match record.channels.as_slice() {
        [only] if record.default_channel.is_empty() => Some(only),
        _ => record.channel(&record.default_channel),
    }
}

/// The bundle that stands for the package: the newest of its default channel, or of all channels if that one
/// is left out.
pub(super) fn default_head(record: &PackageRecord) -> Option<&BundleRecord> {
    let heads = || record.channels.iter().filter_map(|it| record.head(it));
    match default_channel(record) {
        Some(channel) => record.head(channel),
        // Bundles are in the order of their versions.
        None => record
            .bundles
            .iter()
            .rev()
            .find(|newest| heads().any(|head| head == *newest)),
    }
}

fn deprecation(message: &str) -> Deprecation {
    Deprecation {
        message: message.to_owned(),
    }
}
