//! The upgrade graph: from which bundle an upgrade leads to which.
//!
//! A node is a bundle. An edge goes from the bundle that is installed to the one it can be upgraded
//! to, because that one replaces it, skips it, or has a skip range with its version. Names that are
//! replaced or skipped without being listed are nodes as well: whoever has such a bundle installed
//! can still get on. [`Marks`] tell what somebody has installed, and which way it goes.
//!
//! [`Chain`] is the stricter view of opm, and [`order`] that of OLM's resolver.

mod chain;
mod marks;
mod path;
mod render;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{EdgeFiltered, EdgeRef as _};
use serde::Serialize;

use super::fbc::{Channel, PackageBlobs};
use crate::version::{Range, Version};

pub use chain::{Chain, OrderError, order};
pub use marks::{Leg, Marks};
pub use path::{Step, walk};

/// Why an upgrade is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// The newer bundle replaces the older.
    Replaces,
    /// The newer bundle skips the older.
    Skips,
    /// The version of the older bundle is in the skip range of the newer.
    SkipRange,
}

impl Kind {
    /// What the newer bundle does to the older: "replaced by" and so on.
    pub fn words(self) -> &'static str {
        match self {
            Self::Replaces => "replaced by",
            Self::Skips => "skipped by",
            Self::SkipRange => "in the skipRange of",
        }
    }
}

/// A bundle in the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its version, if the bundle is known.
    pub version: Option<Version>,
    /// The channels it is listed in; none if it is only named by others.
    pub channels: BTreeSet<String>,
}

impl Node {
    /// Whether a channel lists it.
    pub fn is_listed(&self) -> bool {
        !self.channels.is_empty()
    }
}

#[derive(Debug, Clone)]
struct Edge {
    kind: Kind,
    channels: BTreeSet<String>,
}

/// How many edges by skip ranges a graph has at most. Ten thousand entries that each skip all others would
/// have more than fit into memory; of the largest package there is, all of them are here.
const MOST_IN_RANGES: usize = 500_000;

/// The upgrade graph of a channel or of a package.
#[derive(Debug, Clone)]
pub struct Graph {
    package: String,
    bundles: DiGraph<Node, Edge>,
    by_name: BTreeMap<String, NodeIndex>,
    marks: Marks,
}

impl Graph {
    /// The graph of one channel. `versions` are those of the package's bundles.
    pub fn of_channel(channel: &Channel, versions: &BTreeMap<String, Version>) -> Self {
        Self::of_channels(&channel.package, std::slice::from_ref(channel), versions)
    }

    /// The graph of all channels of a package.
    pub fn of_package(name: &str, blobs: &PackageBlobs) -> Self {
        Self::of_channels(name, &blobs.channels, &blobs.versions())
    }

    /// The graph of these channels of a package. `versions` are those of its bundles.
    pub fn of_channels(
        package: &str,
        channels: &[Channel],
        versions: &BTreeMap<String, Version>,
    ) -> Self {
        Self::marked(package, channels, versions, Marks::default())
    }

    /// As [`Self::of_channels`], with what is installed: that is in the graph also if the catalog does not
    /// know it, because a skip range may lead on from its version.
    pub fn marked(
        package: &str,
        channels: &[Channel],
        versions: &BTreeMap<String, Version>,
        marks: Marks,
    ) -> Self {
        let mut graph = Self {
            package: package.to_owned(),
            bundles: DiGraph::new(),
            by_name: BTreeMap::new(),
            marks,
        };
        graph.add_nodes(channels, versions);
        let mut edges: BTreeMap<(NodeIndex, NodeIndex, Kind), BTreeSet<String>> = BTreeMap::new();
        let mut left = MOST_IN_RANGES;
        for channel in channels {
            for (older, newer, kind) in graph.edges_of(channel, &mut left) {
                let channels = edges.entry((older, newer, kind)).or_default();
                channels.insert(channel.name.clone());
            }
        }
        for ((older, newer, kind), channels) in edges {
            graph
                .bundles
                .add_edge(older, newer, Edge { kind, channels });
        }
        graph
    }

    /// Nodes are in the order of their versions, so that whatever goes through them is as well.
    fn add_nodes(&mut self, channels: &[Channel], versions: &BTreeMap<String, Version>) {
        let mut listed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for channel in channels {
            for entry in &channel.entries {
                let listed_in = listed.entry(&entry.name).or_default();
                listed_in.insert(channel.name.clone());
                let named = entry.skips.iter().chain([&entry.replaces]);
                for name in named.filter(|name| !name.is_empty()) {
                    listed.entry(name).or_default();
                }
            }
        }
        let marked = &self.marks.installed;
        for name in marked.keys() {
            listed.entry(name).or_default();
        }
        let version = |name: &str| {
            let known = versions.get(name);
            known.or_else(|| marked.get(name)?.as_ref()).cloned()
        };
        let mut nodes: Vec<Node> = listed
            .into_iter()
            .map(|(name, channels)| Node {
                name: name.to_owned(),
                version: version(name),
                channels,
            })
            .collect();
        nodes.sort_by(|a, b| (&a.version, &a.name).cmp(&(&b.version, &b.name)));
        for node in nodes {
            let name = node.name.clone();
            let index = self.bundles.add_node(node);
            self.by_name.insert(name, index);
        }
    }

    /// Of edges by skip ranges no more than are left.
    fn edges_of(&self, channel: &Channel, left: &mut usize) -> Vec<(NodeIndex, NodeIndex, Kind)> {
        let mut edges = Vec::new();
        for entry in &channel.entries {
            let Some(&newer) = self.by_name.get(&entry.name) else {
                continue;
            };
            let named = |name: &String| self.by_name.get(name).copied();
            edges.extend(named(&entry.replaces).map(|older| (older, newer, Kind::Replaces)));
            let skipped = entry.skips.iter().filter_map(named);
            edges.extend(skipped.map(|older| (older, newer, Kind::Skips)));
            let Ok(range) = Range::parse(&entry.skip_range) else {
                continue;
            };
            let inside = self.bundles.node_indices().filter(|&older| {
                let version = self.bundles[older].version.as_ref();
                older != newer && version.is_some_and(|version| range.contains(version))
            });
            let before = edges.len();
            let inside = inside.take(*left);
            edges.extend(inside.map(|older| (older, newer, Kind::SkipRange)));
            *left -= edges.len() - before;
        }
        edges
    }

    /// The package of the graph.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// All bundles, in the order of their versions.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.bundles.node_weights()
    }

    /// The bundle of this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        let index = self.by_name.get(name)?;
        self.bundles.node_weight(*index)
    }

    /// The listed bundles that none replaces or skips.
    pub fn heads(&self) -> Vec<&str> {
        self.listed(|index| {
            self.bundles
                .edges(index)
                .all(|edge| edge.weight().kind == Kind::SkipRange)
        })
    }

    /// The listed bundles that replace no listed one.
    pub fn tails(&self) -> Vec<&str> {
        self.listed(|index| {
            self.bundles
                .edges_directed(index, Direction::Incoming)
                .filter(|edge| edge.weight().kind == Kind::Replaces)
                .all(|edge| !self.bundles[edge.source()].is_listed())
        })
    }

    /// Groups of bundles that replace or skip each other in a circle.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let by_name =
            EdgeFiltered::from_fn(&self.bundles, |edge| edge.weight().kind != Kind::SkipRange);
        // Not Tarjan's: that one recurses, and a catalog may list tens of thousands in a row.
        let mut cycles: Vec<Vec<&str>> = kosaraju_scc(&by_name)
            .into_iter()
            .filter(|group| match group.as_slice() {
                [one] => self
                    .bundles
                    .edges_connecting(*one, *one)
                    .any(|edge| edge.weight().kind != Kind::SkipRange),
                _ => true,
            })
            .map(|group| {
                let mut names: Vec<&str> =
                    group.into_iter().map(|index| self.name(index)).collect();
                names.sort_unstable();
                names
            })
            .collect();
        cycles.sort();
        cycles
    }

    /// The listed bundles from which no upgrade leads to a head, by whatever edges.
    pub fn stuck(&self) -> Vec<&str> {
        let mut reached: BTreeSet<NodeIndex> = BTreeSet::new();
        let heads = self.heads();
        let mut open: Vec<NodeIndex> = heads.iter().map(|head| self.by_name[*head]).collect();
        while let Some(index) = open.pop() {
            if reached.insert(index) {
                open.extend(self.bundles.neighbors_directed(index, Direction::Incoming));
            }
        }
        self.listed(|index| !reached.contains(&index))
    }

    fn listed(&self, wanted: impl Fn(NodeIndex) -> bool) -> Vec<&str> {
        self.bundles
            .node_indices()
            .filter(|&index| self.bundles[index].is_listed() && wanted(index))
            .map(|index| self.name(index))
            .collect()
    }

    fn name(&self, index: NodeIndex) -> &str {
        &self.bundles[index].name
    }
}
