//! Whether an upgrade leads from here to there, and over which bundles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;
use serde::Serialize;

use super::{Graph, Kind, OrderError, order};
use crate::catalog::fbc::{Channel, Entry};
use crate::version::{Range, Version};

/// One upgrade on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The bundle that is installed before.
    pub from: String,
    /// The bundle that is installed after.
    pub to: String,
    /// Why that is possible.
    pub kind: Kind,
    /// The channels that allow it.
    pub channels: Vec<String>,
}

impl Graph {
    /// The bundles that this one can be upgraded to directly.
    pub fn upgrades(&self, from: &str) -> Vec<Step> {
        let Some(&from) = self.by_name.get(from) else {
            return Vec::new();
        };
        let mut steps: Vec<(NodeIndex, Step)> = self
            .bundles
            .edges(from)
            .map(|edge| {
                let weight = edge.weight();
                let step = Step {
                    from: self.name(from).to_owned(),
                    to: self.name(edge.target()).to_owned(),
                    kind: weight.kind,
                    channels: weight.channels.iter().cloned().collect(),
                };
                (edge.target(), step)
            })
            .collect();
        // The newest first, and of several reasons the plainest.
        steps.sort_by_key(|(target, step)| (std::cmp::Reverse(*target), step.kind));
        steps.into_iter().map(|(_, step)| step).collect()
    }

    /// The fewest upgrades from one bundle to another. None if there is no way; no steps if both
    /// are the same.
    pub fn shortest_path(&self, from: &str, to: &str) -> Option<Vec<Step>> {
        self.shortest(from, &BTreeSet::from([to]))
    }

    /// The fewest upgrades from a bundle to a head.
    pub fn path_to_head(&self, from: &str) -> Option<Vec<Step>> {
        self.shortest(from, &self.heads().into_iter().collect())
    }

    fn shortest(&self, from: &str, goals: &BTreeSet<&str>) -> Option<Vec<Step>> {
        self.by_name.get(from)?;
        let mut came_by: BTreeMap<String, Step> = BTreeMap::new();
        let mut open = VecDeque::from([from.to_owned()]);
        while let Some(current) = open.pop_front() {
            if goals.contains(current.as_str()) {
                return Some(way_back(from, &current, &came_by));
            }
            for step in self.upgrades(&current) {
                if step.to != from && !came_by.contains_key(&step.to) {
                    open.push_back(step.to.clone());
                    came_by.insert(step.to.clone(), step);
                }
            }
        }
        None
    }
}

fn way_back(from: &str, to: &str, came_by: &BTreeMap<String, Step>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut current = to;
    while current != from {
        let Some(step) = came_by.get(current) else {
            break;
        };
        steps.push(step.clone());
        current = &step.from;
    }
    steps.reverse();
    steps
}

/// The upgrades that OLM makes one after the other for a Subscription to this channel: each time the
/// newest entry that takes the installed bundle, until none does.
pub fn walk(
    channel: &Channel,
    versions: &BTreeMap<String, Version>,
    from: &str,
) -> Result<Vec<Step>, OrderError> {
    let order = order(channel)?;
    let candidates: Vec<(&Entry, Option<Range>)> = order
        .iter()
        .filter_map(|name| channel.entries.iter().find(|entry| entry.name == *name))
        .map(|entry| (entry, Range::parse(&entry.skip_range).ok()))
        .collect();
    let mut steps = Vec::new();
    let mut visited = BTreeSet::from([from]);
    let mut current = from;
    loop {
        let version = versions.get(current);
        let next = candidates.iter().find_map(|(entry, range)| {
            Some((*entry, takes(entry, range.as_ref(), current, version)?))
        });
        let Some((entry, kind)) = next.filter(|(entry, _)| visited.insert(&entry.name)) else {
            return Ok(steps);
        };
        steps.push(Step {
            from: current.to_owned(),
            to: entry.name.clone(),
            kind,
            channels: vec![channel.name.clone()],
        });
        current = &entry.name;
    }
}

/// Why this entry can follow the bundle, if it can.
fn takes(
    entry: &Entry,
    range: Option<&Range>,
    bundle: &str,
    version: Option<&Version>,
) -> Option<Kind> {
    if entry.replaces == bundle {
        return Some(Kind::Replaces);
    }
    if entry.skips.iter().any(|skip| skip == bundle) {
        return Some(Kind::Skips);
    }
    range?.contains(version?).then_some(Kind::SkipRange)
}
