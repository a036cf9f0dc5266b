//! A package and its versions.

use std::collections::{BTreeMap, BTreeSet};

use super::about::{self, CsvFacts};
use super::error::Error;
use super::installed::States;
use super::list::{card, install_modes};
use super::supply::Catalog;
use super::upgrades;
use super::views::{
    BrokenChannelView, ChannelEntryView, ChannelView, DeprecatedKind, DeprecationView,
    Installation, PackagePage, VersionSummary, VersionView,
};
use super::{Found, dependencies};
use crate::catalog::graph;
use crate::catalog::index::{BundleRecord, ChannelRecord};
use crate::catalog::search::within_distance;
use crate::catalog::text;
use crate::version::Version;

/// What to do when nothing is called nearly like what was asked for.
pub const SEARCH_HINT: &str = "search for a part of its name";

/// Finds a package: in the catalog that is named, or in the first that has it.
pub(super) fn find(
    catalogs: Vec<Catalog>,
    name: &str,
    wanted: Option<&str>,
) -> Result<Found, Error> {
    let ids: Vec<String> = catalogs.iter().map(Catalog::id).collect();
    let mut names = BTreeSet::new();
    let mut is_any = false;
    for catalog in catalogs {
        if wanted.is_some_and(|wanted| !catalog.is_called(wanted)) {
            continue;
        }
        is_any = true;
        let Some(content) = catalog.content.clone() else {
            continue;
        };
        let summary = content.index.summary(name).cloned();
        let summary = summary.filter(|_| catalog.curation.allows(name));
        if let Some(summary) = summary
            && let Some(record) = content.index.package(name)?
        {
            return Ok(Found {
                catalog,
                content,
                summary,
                record,
            });
        }
        let near = content.index.packages().iter().filter(|other| {
            within_distance(name, &other.name, 2) && catalog.curation.allows(&other.name)
        });
        names.extend(near.map(|other| other.name.clone()));
    }
    if let (false, Some(wanted)) = (is_any, wanted) {
        return Err(Error::not_found(format!("there is no catalog `{wanted}`"))
            .hint(format!("there are {}", ids.join(", "))));
    }
    let place = wanted.map_or_else(String::new, |wanted| format!(" in catalog `{wanted}`"));
    let error = Error::not_found(format!("there is no package `{name}`{place}"));
    if names.is_empty() {
        return Err(error.hint(SEARCH_HINT));
    }
    let names: Vec<String> = names.into_iter().take(5).collect();
    Err(error.hint(format!("is it {}?", names.join(" or "))))
}

/// A bundle by its name or version. Where several have the same version, the last one is meant.
pub(super) fn bundle<'f>(found: &'f Found, version: &str) -> Result<&'f BundleRecord, Error> {
    let bundles = &found.record.bundles;
    let by_name = bundles.iter().find(|bundle| bundle.name == version);
    let by_version = || {
        bundles
            .iter()
            .rev()
            .find(|bundle| bundle.version == version)
    };
    by_name.or_else(by_version).ok_or_else(|| {
        let error = Error::not_found(format!(
            "package `{}` has no version `{version}`",
            found.record.name
        ));
        let newest: Vec<&str> = bundles
            .iter()
            .rev()
            .take(5)
            .map(|bundle| bundle.version.as_str())
            .collect();
        error.hint(format!("the newest are {}", newest.join(", ")))
    })
}

/// All that is known without looking at a single version.
pub(super) fn page(
    found: &Found,
    catalogs: &[Catalog],
    installations: Option<&[Installation]>,
) -> Result<PackagePage, Error> {
    let states = States::new(installations);
    let id = found.catalog.id();
    let own = states.of_package(&found.record.name, &id);
    let own: Vec<Installation> = own.cloned().collect();
    let about = match found.record.bundle(&found.summary.head) {
        Some(head) => CsvFacts::of_blob(&found.blob(head)?).about(),
        None => CsvFacts::default().about(),
    };
    let has_it = |other: &&Catalog| {
        let index = other.content.as_ref().map(|content| &content.index);
        let name = &found.record.name;
        other.id() != id
            && other.curation.allows(name)
            && index.is_some_and(|index| index.summary(name).is_some())
    };
    Ok(PackagePage {
        card: card(&found.catalog, &found.summary, &states),
        about,
        channels: channels(found),
        broken_channels: broken_channels(found),
        versions: versions(found),
        deprecations: deprecations(found),
        also_in: catalogs.iter().filter(has_it).map(Catalog::id).collect(),
        installations: installations.is_some().then_some(own),
    })
}

/// The channels: the default channel first, then by name.
fn channels(found: &Found) -> Vec<ChannelView> {
    let record = &found.record;
    let mut channels: Vec<ChannelView> = record
        .channels
        .iter()
        .map(|channel| {
            let entries = ordered(found, channel);
            let head = entries.first();
            ChannelView {
                name: channel.name.clone(),
                is_default: channel.name == record.default_channel,
                head: head.map(|head| head.name.clone()).unwrap_or_default(),
                version: head.map(|head| head.version.clone()).unwrap_or_default(),
                deprecation: channel.deprecation.clone(),
                entries,
            }
        })
        .collect();
    channels.sort_by(|a, b| (!a.is_default, &a.name).cmp(&(!b.is_default, &b.name)));
    channels
}

fn broken_channels(found: &Found) -> Vec<BrokenChannelView> {
    let broken = found.record.broken_channels.iter();
    broken
        .map(|channel| BrokenChannelView {
            name: text::name(&channel.name),
            why: text::label(&channel.problem, WHY),
        })
        .collect()
}

/// How much of what is wrong with a channel is shown.
const WHY: usize = 300;

/// The entries of a channel in the order in which OLM prefers them; by version if they have none.
fn ordered(found: &Found, channel: &ChannelRecord) -> Vec<ChannelEntryView> {
    let mut entries: Vec<ChannelEntryView> = channel
        .entries
        .iter()
        .filter_map(|entry| {
            let bundle = found.record.bundles.get(entry.bundle as usize)?;
            Some(ChannelEntryView {
                name: bundle.name.clone(),
                version: bundle.version.clone(),
                replaces: entry.replaces.clone(),
                skips: entry.skips.clone(),
                skip_range: entry.skip_range.clone(),
                deprecation: bundle.deprecation.clone(),
            })
        })
        .collect();
    let listed = upgrades::listed(&found.record, channel);
    let places: BTreeMap<String, usize> = match graph::order(&listed) {
        Ok(order) => order.iter().map(ToString::to_string).zip(0..).collect(),
        Err(_) => BTreeMap::new(),
    };
    entries.sort_by_cached_key(|entry| {
        let place = places.get(&entry.name).copied().unwrap_or(usize::MAX);
        let version = Version::parse_tolerant(&entry.version).ok();
        (place, std::cmp::Reverse(version), entry.name.clone())
    });
    entries
}

/// The versions, the newest first.
fn versions(found: &Found) -> Vec<VersionSummary> {
    let heads = heads(found);
    let bundles = found.record.bundles.iter().rev();
    bundles
        .map(|bundle| summary(found, bundle, &heads))
        .collect()
}

/// The head of each channel.
fn heads(found: &Found) -> BTreeMap<String, Vec<String>> {
    let mut heads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for channel in &found.record.channels {
        if let Some(head) = ordered(found, channel).first() {
            let channels = heads.entry(head.name.clone()).or_default();
            channels.push(channel.name.clone());
        }
    }
    heads
}

fn summary(
    found: &Found,
    bundle: &BundleRecord,
    heads: &BTreeMap<String, Vec<String>>,
) -> VersionSummary {
    let record = &found.record;
    let lists = |channel: &&ChannelRecord| {
        let names = channel.entries.iter();
        let mut bundles = names.filter_map(|entry| record.bundles.get(entry.bundle as usize));
        bundles.any(|listed| listed.name == bundle.name)
    };
    let channels = record.channels.iter().filter(lists);
    let version = Version::parse_tolerant(&bundle.version).ok();
    VersionSummary {
        name: bundle.name.clone(),
        version: bundle.version.clone(),
        channels: channels.map(|channel| channel.name.clone()).collect(),
        head_of: heads.get(&bundle.name).cloned().unwrap_or_default(),
        is_prerelease: version.is_some_and(|version| !version.pre_release().is_empty()),
        min_kube_version: bundle.min_kube_version.clone(),
        install_modes: install_modes(bundle.install_modes),
        image: bundle.image.clone(),
        deprecation: bundle.deprecation.clone(),
    }
}

fn deprecations(found: &Found) -> Vec<DeprecationView> {
    let record = &found.record;
    let view = |kind, name: &str, message: &Option<String>| {
        message.as_ref().map(|message| DeprecationView {
            kind,
            name: name.to_owned(),
            message: message.clone(),
        })
    };
    let package = view(DeprecatedKind::Package, &record.name, &record.deprecation);
    let channels = record.channels.iter();
    let channels = channels
        .filter_map(|channel| view(DeprecatedKind::Channel, &channel.name, &channel.deprecation));
    let versions = record.bundles.iter().rev();
    let versions = versions
        .filter_map(|bundle| view(DeprecatedKind::Version, &bundle.name, &bundle.deprecation));
    package
        .into_iter()
        .chain(channels)
        .chain(versions)
        .collect()
}

/// A version.
pub(super) fn version(found: &Found, bundle: &BundleRecord) -> Result<VersionView, Error> {
    let blob = found.blob(bundle)?;
    let facts = CsvFacts::of_blob(&blob);
    let (upgrades_from, upgrades_to) = upgrades::around(found, &bundle.name);
    Ok(VersionView {
        summary: summary(found, bundle, &heads(found)),
        about: facts.about(),
        provides: about::provides(&blob, &facts),
        requires: dependencies::in_words(&found.record, bundle),
        related_images: about::related_images(&blob),
        upgrades_to,
        upgrades_from,
    })
}
