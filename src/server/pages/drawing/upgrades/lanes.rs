//! Which channels share a lane.

use std::collections::{BTreeMap, BTreeSet};

use crate::server::hub::views::{UpgradeGraph, UpgradeKind};

/// Channels that list the same bundles with the same edges between them.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) channels: Vec<String>,
    pub(super) bundles: BTreeSet<String>,
    /// The rows of its bundles, and where it is drawn; [`packed`] says that.
    pub(super) rows: BTreeSet<usize>,
    pub(super) column: usize,
}

impl Lane {
    /// Whether it passes a row.
    pub(super) fn spans(&self, row: usize) -> bool {
        self.rows.first().is_some_and(|top| *top <= row)
            && self.rows.last().is_some_and(|bottom| row <= *bottom)
    }
}

/// What makes two channels equal.
type Content<'a> = (BTreeSet<&'a str>, BTreeSet<(&'a str, &'a str, UpgradeKind)>);

/// The lanes: that of the default channel first, then those with the newest bundles.
pub(super) fn lanes(graph: &UpgradeGraph, default_channel: &str) -> Vec<Lane> {
    let mut contents: BTreeMap<&str, Content> = BTreeMap::new();
    let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        for channel in &node.channels {
            contents.entry(channel).or_default().0.insert(&node.name);
            newest.insert(channel, at);
        }
    }
    // A bundle that no channel lists stands where others name it.
    let unlisted: BTreeSet<&str> = graph
        .nodes
        .iter()
        .filter(|node| node.channels.is_empty())
        .map(|node| node.name.as_str())
        .collect();
    for edge in &graph.edges {
        for channel in &edge.channels {
            let content = contents.entry(channel).or_default();
            if unlisted.contains(edge.from.as_str()) {
                content.0.insert(&edge.from);
            }
            content.1.insert((&edge.from, &edge.to, edge.kind));
        }
    }
    let mut shared: BTreeMap<Content, Vec<&str>> = BTreeMap::new();
    for (channel, content) in contents {
        shared.entry(content).or_default().push(channel);
    }
    let mut lanes: Vec<(usize, Lane)> = shared
        .into_iter()
        .map(|(content, channels)| {
            let at = channels
                .iter()
                .filter_map(|channel| newest.get(channel))
                .max();
            let lane = Lane {
                channels: channels.into_iter().map(str::to_owned).collect(),
                bundles: content.0.into_iter().map(str::to_owned).collect(),
                rows: BTreeSet::new(),
                column: 0,
            };
            (at.copied().unwrap_or_default(), lane)
        })
        .collect();
    lanes.sort_by_key(|(newest, lane)| {
        let is_default = lane
            .channels
            .iter()
            .any(|channel| channel == default_channel);
        (
            !is_default,
            std::cmp::Reverse(*newest),
            lane.channels.clone(),
        )
    });
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

/// Gives each lane the first column that is free in all its rows, and says how many columns there are:
/// an operator with a channel for each of its releases needs few of them.
pub(super) fn packed(lanes: &mut [Lane], places: &BTreeMap<&str, usize>) -> usize {
    let mut columns: Vec<Vec<(usize, usize)>> = Vec::new();
    for lane in lanes {
        let rows = lane.bundles.iter();
        lane.rows = rows
            .filter_map(|name| places.get(name.as_str()).copied())
            .collect();
        let (Some(&top), Some(&bottom)) = (lane.rows.first(), lane.rows.last()) else {
            continue;
        };
        let is_free = |taken: &Vec<(usize, usize)>| {
            taken
                .iter()
                .all(|(first, last)| bottom < *first || *last < top)
        };
        lane.column = columns.iter().position(is_free).unwrap_or(columns.len());
        if lane.column == columns.len() {
            columns.push(Vec::new());
        }
        columns[lane.column].push((top, bottom));
    }
    columns.len().max(1)
}
