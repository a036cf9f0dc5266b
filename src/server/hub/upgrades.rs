//! How the versions of a package lead to each other.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use super::error::Error;
use super::views::{Installation, UpgradeEdge, UpgradeGraph, UpgradeKind, UpgradeNode};
use crate::catalog::fbc;
use crate::catalog::graph::{Graph, Kind, Node};
use crate::catalog::index::{ChannelRecord, PackageRecord};
use crate::version::{Range, Version};

/// How many edges by skip range are worth looking for, and worth drawing. A package with hundreds
/// of versions, each with a range over all before it, has tens of thousands.
const MOST_PAIRS: usize = 250_000;
const MOST_EDGES: usize = 2_000;

/// The graph of a package, or of one of its channels.
pub(super) fn graph(
    found: &Found,
    channel: Option<&str>,
    installations: Option<&[Installation]>,
) -> Result<UpgradeGraph, Error> {
    let record = &found.record;
    let mut channels: Vec<fbc::Channel> = match channel {
        None => {
            let all = record.channels.iter();
            all.map(|channel| listed(record, channel)).collect()
        }
        Some(name) => vec![listed(record, self::channel(found, name)?)],
    };
    let is_cut = thin(&mut channels, record.bundles.len());
    let graph = Graph::of_channels(&record.name, &channels, &versions(record));
    let heads: BTreeSet<&str> = graph.heads().into_iter().collect();
    let is_installed = |name: &str| {
        let all = installations.unwrap_or_default();
        all.iter().any(|installation| installation.csv == name)
    };
    let is_deprecated = |name: &str| {
        let bundle = record.bundle(name);
        bundle.is_some_and(|bundle| bundle.deprecation.is_some())
    };
    let node = |node: &Node| UpgradeNode {
        name: node.name.clone(),
        version: version_of(record, &node.name),
        channels: node.channels.iter().cloned().collect(),
        is_head: heads.contains(node.name.as_str()),
        is_deprecated: is_deprecated(&node.name),
        is_installed: is_installed(&node.name),
    };
    let mut edges: Vec<UpgradeEdge> = graph
        .nodes()
        .flat_map(|node| graph.upgrades(&node.name))
        .map(|step| UpgradeEdge {
            from: step.from,
            to: step.to,
            kind: kind(step.kind),
            channels: step.channels,
        })
        .collect();
    let is_thinned = is_cut || edges.len() > MOST_EDGES;
    if edges.len() > MOST_EDGES {
        edges.retain(|edge| edge.kind != UpgradeKind::SkipRange);
    }
    let texts = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Ok(UpgradeGraph {
        package: record.name.clone(),
        channel: channel.map(str::to_owned),
        nodes: graph.nodes().map(node).collect(),
        edges,
        cycles: graph.cycles().into_iter().map(texts).collect(),
        // Without all edges nobody can tell.
        stuck: if is_cut {
            Vec::new()
        } else {
            texts(graph.stuck())
        },
        is_thinned,
    })
}

/// A channel of a package.
pub(super) fn channel<'f>(found: &'f Found, name: &str) -> Result<&'f ChannelRecord, Error> {
    let record = &found.record;
    record.channel(name).ok_or_else(|| {
        let all: Vec<&str> = record
            .channels
            .iter()
            .map(|own| own.name.as_str())
            .collect();
        let error = format!("package `{}` has no channel `{name}`", record.name);
        Error::not_found(error).hint(format!("there are {}", all.join(", ")))
    })
}

/// A channel as a catalog lists it.
pub(super) fn listed(record: &PackageRecord, channel: &ChannelRecord) -> fbc::Channel {
    let entries = channel.entries.iter().filter_map(|entry| {
        let bundle = record.bundles.get(entry.bundle as usize)?;
        Some(fbc::Entry {
            name: bundle.name.clone(),
            replaces: entry.replaces.clone(),
            skips: entry.skips.clone(),
            skip_range: entry.skip_range.clone(),
        })
    });
    fbc::Channel {
        package: record.name.clone(),
        name: channel.name.clone(),
        entries: entries.collect(),
        properties: Vec::new(),
    }
}

/// Drops skip ranges when there are too many pairs of versions to look at.
fn thin(channels: &mut [fbc::Channel], bundles: usize) -> bool {
    let entries = channels.iter().flat_map(|channel| &channel.entries);
    let ranges = entries.filter(|entry| !entry.skip_range.is_empty()).count();
    if ranges.saturating_mul(bundles) <= MOST_PAIRS {
        return false;
    }
    for entry in channels.iter_mut().flat_map(|channel| &mut channel.entries) {
        entry.skip_range.clear();
    }
    true
}

fn versions(record: &PackageRecord) -> BTreeMap<String, Version> {
    let bundles = record.bundles.iter();
    bundles
        .filter_map(|bundle| {
            let version = Version::parse_tolerant(&bundle.version).ok()?;
            Some((bundle.name.clone(), version))
        })
        .collect()
}

fn version_of(record: &PackageRecord, name: &str) -> String {
    let bundle = record.bundle(name);
    bundle
        .map(|bundle| bundle.version.clone())
        .unwrap_or_default()
}

fn kind(kind: Kind) -> UpgradeKind {
    match kind {
        Kind::Replaces => UpgradeKind::Replaces,
        Kind::Skips => UpgradeKind::Skips,
        Kind::SkipRange => UpgradeKind::SkipRange,
    }
}

/// The bundles from which an upgrade leads to this one, and those to which one leads from it; the
/// oldest first.
pub(super) fn around(found: &Found, name: &str) -> (Vec<String>, Vec<String>) {
    let record = &found.record;
    let versions = versions(record);
    let own = versions.get(name);
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    for entry in record.channels.iter().flat_map(|channel| &channel.entries) {
        let Some(bundle) = record.bundles.get(entry.bundle as usize) else {
            continue;
        };
        let range = Range::parse(&entry.skip_range).ok();
        let range = range.filter(|_| !entry.skip_range.is_empty());
        if bundle.name == name {
            let named = entry.skips.iter().chain([&entry.replaces]);
            before.extend(named.filter(|name| !name.is_empty()).cloned());
            if let Some(range) = &range {
                let inside = versions
                    .iter()
                    .filter(|(_, version)| range.contains(version));
                before.extend(inside.map(|(name, _)| name.clone()));
            }
        } else {
            let is_inside = range.is_some_and(|range| own.is_some_and(|own| range.contains(own)));
            if entry.replaces == name || entry.skips.iter().any(|skip| skip == name) || is_inside {
                after.insert(bundle.name.clone());
            }
        }
    }
    before.remove(name);
    let in_order = |names: BTreeSet<String>| {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_by_key(|name| versions.get(name));
        names
    };
    (in_order(before), in_order(after))
}
