//! How the versions of a package lead to each other.
//!
//! | mode | a channel |
//! |---|---|
//! | replaces | its highest version, what that one replaces, what that one replaces, and so on; and what these skip |
//! | semver | all versions that name the channel, each replacing the one before it |
//! | semver-skippatch | the same, but the last patch of a minor version skips the patches before it |
//!
//! In replaces mode a version may so come into a channel that it does not name, and one that names
//! a channel may be unreachable in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::catalog::fbc::Entry;
use crate::version::Version;

/// How the edges between versions come about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpdateGraph {
    /// A version says itself what it replaces.
    #[default]
    Replaces,
    /// A version replaces the one before it.
    Semver,
    /// The last patch of each minor version replaces that of the one before it.
    SemverSkipPatch,
}

impl UpdateGraph {
    /// Reads the word of `ci.yaml`, and tells whether it is a legal one.
    pub(super) fn parse(word: &str) -> (Self, bool) {
        match word.trim() {
            "" | "replaces-mode" => (Self::Replaces, true),
            "semver-mode" => (Self::Semver, true),
            "semver-skippatch" | "semver-skippatch-mode" => (Self::SemverSkipPatch, true),
            "semver" => (Self::Semver, false),
            _ => (Self::Replaces, false),
        }
    }
}

impl fmt::Display for UpdateGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replaces => "replaces-mode",
            Self::Semver => "semver-mode",
            Self::SemverSkipPatch => "semver-skippatch",
        })
    }
}

/// What counts of a version.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) channels: Vec<String>,
    pub(super) default_channel: String,
    pub(super) replaces: String,
    pub(super) skips: Vec<String>,
    pub(super) skip_range: String,
}

/// The heads of channels, where somebody has named them.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads {
    pub(super) default_channel: String,
    pub(super) channels: BTreeMap<String, String>,
}

/// The channels of a package.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) default_channel: String,
    pub(super) channels: BTreeMap<String, Found>,
    /// What looks like a mistake: the version it is about, or nothing, and why.
    pub(super) problems: Vec<(String, String)>,
}

/// A channel.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) head: String,
    /// In the order of versions.
    pub(super) entries: Vec<Entry>,
}

/// The channels of versions in ascending order.
pub(super) fn of_versions(nodes: &[&Node], mode: UpdateGraph) -> Graph {
    let mut members: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        for channel in node.channels.iter().collect::<BTreeSet<_>>() {
            members.entry(channel).or_default().push(node);
        }
    }
    let default_channel = wanted_default(nodes, mode);
    if mode == UpdateGraph::Replaces {
        let heads = members.iter().filter_map(|(channel, nodes)| {
            Some(((*channel).to_owned(), nodes.last()?.name.clone()))
        });
        let channels = heads.collect();
        return of_heads(
            nodes,
            Heads {
                default_channel,
                channels,
            },
        );
    }
    let mut graph = Graph::default();
    for (channel, members) in members {
        let entries = if mode == UpdateGraph::Semver {
            in_a_row(&members)
        } else {
            by_minor(&members)
        };
        if let Some(head) = members.last() {
            let found = Found {
                head: head.name.clone(),
                entries,
            };
            graph.channels.insert(channel.to_owned(), found);
        }
    }
    choose_default(&mut graph, default_channel, nodes);
    graph
}

/// The channels that lead from heads to all that they replace and skip.
pub(super) fn of_heads(nodes: &[&Node], heads: Heads) -> Graph {
    let by_name: BTreeMap<&str, &Node> = nodes.iter().map(|n| (n.name.as_str(), *n)).collect();
    let mut graph = Graph::default();
    let mut problems = BTreeSet::new();
    for (channel, head) in heads.channels {
        let Some(node) = by_name.get(head.as_str()) else {
            let why = format!("channel `{channel}` has `{head}` as its head, which is not there");
            problems.insert((String::new(), why));
            continue;
        };
        let entries = chain(node, &by_name, &mut problems);
        graph.channels.insert(channel, Found { head, entries });
    }
    graph.problems.extend(problems);
    choose_default(&mut graph, heads.default_channel, nodes);
    graph
}

/// From a head along what is replaced, and what is skipped on the way.
fn chain(
    head: &Node,
    by_name: &BTreeMap<&str, &Node>,
    problems: &mut BTreeSet<(String, String)>,
) -> Vec<Entry> {
    let mut replacing: Vec<&Node> = vec![head];
    let mut seen = BTreeSet::from([head.name.as_str()]);
    let mut current = head;
    while !current.replaces.is_empty() {
        let Some(next) = by_name.get(current.replaces.as_str()) else {
            let why = format!(
                "spec.replaces: `{}` is not in the package; the channel ends here",
                current.replaces
            );
            problems.insert((current.name.clone(), why));
            break;
        };
        if !seen.insert(&next.name) {
            let why = format!("spec.replaces: `{}` leads back here", current.replaces);
            problems.insert((current.name.clone(), why));
            break;
        }
        replacing.push(next);
        current = next;
    }
    let mut entries: BTreeMap<&Version, Entry> = BTreeMap::new();
    for node in &replacing {
        for skipped in node.skips.iter().filter_map(|s| by_name.get(s.as_str())) {
            if !seen.contains(skipped.name.as_str()) {
                entries.insert(&skipped.version, alone(skipped));
            }
        }
    }
    for node in replacing {
        // What is skipped ends the chain for opm, and what lies behind it would be stranded.
        let (again, skips): (Vec<&String>, Vec<&String>) = node
            .skips
            .iter()
            .filter(|s| !s.is_empty())
            .partition(|s| seen.contains(s.as_str()));
        for again in again {
            let why =
                format!("spec.skips: `{again}` is replaced on the way too, and is not skipped");
            problems.insert((node.name.clone(), why));
        }
        let entry = Entry {
            replaces: node.replaces.clone(),
            skips: skips.into_iter().cloned().collect(),
            ..alone(node)
        };
        entries.insert(&node.version, entry);
    }
    entries.into_values().collect()
}

fn in_a_row(members: &[&Node]) -> Vec<Entry> {
    let before = std::iter::once("").chain(members.iter().map(|node| node.name.as_str()));
    members
        .iter()
        .zip(before)
        .map(|(node, before)| Entry {
            replaces: before.to_owned(),
            ..alone(node)
        })
        .collect()
}

fn by_minor(members: &[&Node]) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(members.len());
    let mut before = String::new();
    let minor = |node: &Node| (node.version.major(), node.version.minor());
    for patches in members.chunk_by(|a, b| minor(a) == minor(b)) {
        let Some((last, earlier)) = patches.split_last() else {
            continue;
        };
        entries.extend(earlier.iter().map(|node| alone(node)));
        entries.push(Entry {
            replaces: std::mem::replace(&mut before, last.name.clone()),
            skips: earlier.iter().map(|node| node.name.clone()).collect(),
            ..alone(last)
        });
    }
    entries
}

/// An entry without edges to others.
fn alone(node: &Node) -> Entry {
    Entry {
        name: node.name.clone(),
        skip_range: node.skip_range.clone(),
        ..Entry::default()
    }
}

/// The default channel that the versions ask for: the highest that asks is heard.
fn wanted_default(nodes: &[&Node], mode: UpdateGraph) -> String {
    let mut default = "";
    for node in nodes {
        if !node.default_channel.is_empty() {
            default = &node.default_channel;
        } else if default.is_empty() && mode != UpdateGraph::Replaces {
            default = node.channels.iter().min().map_or("", String::as_str);
        }
    }
    default.to_owned()
}

/// Takes the default channel that is wanted, or another one if there is no such channel.
fn choose_default(graph: &mut Graph, wanted: String, nodes: &[&Node]) {
    if graph.channels.contains_key(&wanted) {
        graph.default_channel = wanted;
        return;
    }
    let mut names = graph.channels.keys();
    let chosen = match (names.next(), names.next()) {
        (Some(only), None) => only.clone(),
        _ => nodes
            .iter()
            .rev()
            .flat_map(|node| node.channels.iter().collect::<BTreeSet<_>>())
            .find(|channel| graph.channels.contains_key(*channel))
            .cloned()
            .unwrap_or_default(),
    };
    if !wanted.is_empty() {
        let why = format!("the default channel `{wanted}` does not exist; taking `{chosen}`");
        graph.problems.push((String::new(), why));
    } else if graph.channels.len() > 1 {
        let why = format!("no version names a default channel; taking `{chosen}`");
        graph.problems.push((String::new(), why));
    }
    graph.default_channel = chosen;
}
