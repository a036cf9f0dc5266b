//! A channel as a chain: from its head, always on to what the bundle replaces.

use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use crate::catalog::fbc::{Channel, Entry};

/// A channel as opm looks at it.
///
/// The chain begins at the head and ends where nothing more is replaced, where what is replaced is
/// not listed, or where it is skipped by any entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain<'a> {
    /// Entries that none replaces or skips, by name; a sound channel has one.
    pub heads: Vec<&'a str>,
    /// From the head to the tail; empty unless there is exactly one head.
    pub entries: Vec<&'a str>,
    /// The bundles of a circle: in the order of replacement if the chain runs into it, by name if
    /// there is no head at all.
    pub cycle: Vec<&'a str>,
    /// Entries that are neither in the chain nor skipped.
    pub stranded: Vec<&'a str>,
}

impl<'a> Chain<'a> {
    /// Looks at a channel.
    pub fn of(channel: &'a Channel) -> Self {
        let entries = by_name(channel);
        let skipped: BTreeSet<&str> = skips(&entries).collect();
        let heads = heads(&entries);
        let mut chain = Self {
            heads,
            ..Self::default()
        };
        let [head] = chain.heads.as_slice() else {
            if chain.heads.is_empty() {
                chain.cycle = first_cycle(channel, &entries);
            }
            return chain;
        };
        let mut current = entries.get(head).copied();
        let mut reached: BTreeSet<&str> = BTreeSet::from([*head]);
        while let Some(entry) = current {
            chain.entries.push(&entry.name);
            let next = entry.replaces.as_str();
            if next.is_empty() || skipped.contains(next) {
                break;
            }
            if !reached.insert(next) {
                let circle = chain.entries.iter().skip_while(|name| **name != next);
                chain.cycle = circle.copied().chain([next]).collect();
                return chain;
            }
            current = entries.get(next).copied();
        }
        chain.stranded = entries
            .keys()
            .filter(|name| !reached.contains(*name) && !skipped.contains(*name))
            .copied()
            .collect();
        chain
    }

    /// The end of the chain.
    pub fn tail(&self) -> Option<&'a str> {
        self.entries.last().copied()
    }
}

/// Why the entries of a channel have no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Every entry is replaced or skipped by another.
    #[error(
        "channel {channel:?} of package {package:?} has no head: every entry is replaced or skipped by another"
    )]
    NoHead {
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
    },
    /// The chain of replacements has no end.
    #[error(
        "in channel {channel:?} of package {package:?} the replacements that begin with {head:?} go in a circle"
    )]
    Cycle {
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
        /// Where the chain begins.
        head: String,
    },
    /// There is more than one chain.
    #[error("channel {channel:?} of package {package:?} has {count} chains of replacements, {}: only one chain tells which entry is newer", some(chains, *count))]
    SeveralChains {
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
        /// How many there are.
        count: usize,
        /// Some of them, each as its first and last bundle.
        chains: Vec<String>,
    },
}

/// How many chains of a channel that has several are looked at and named.
const NAMED_CHAINS: usize = 8;

fn some(chains: &[String], count: usize) -> String {
    let named = chains.join(", ");
    match count.saturating_sub(chains.len()) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The entries of a channel from the newest to the oldest as OLM's resolver has them: the chain of
/// replacements from the head on, without the skipped entries. What a bundle replaces may be
/// missing from the channel; entries that the chain does not reach are left out.
pub fn order(channel: &Channel) -> Result<Vec<&str>, OrderError> {
    let entries = by_name(channel);
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let place = || (channel.name.clone(), channel.package.clone());
    let skipped: BTreeSet<&str> = skips(&entries).collect();
    let mut chains: Vec<Vec<&str>> = Vec::new();
    let heads = heads(&entries);
    // Thousands of heads before one long chain would be walked for hours, and nobody reads them all.
    for &head in heads.iter().take(NAMED_CHAINS) {
        let mut chain = Vec::new();
        let mut visited = BTreeSet::new();
        let mut current = entries.get(head).copied();
        while let Some(entry) = current {
            if !visited.insert(entry.name.as_str()) {
                let (channel, package) = place();
                let head = head.to_owned();
                return Err(OrderError::Cycle {
                    channel,
                    package,
                    head,
                });
            }
            if !skipped.contains(entry.name.as_str()) {
                chain.push(entry.name.as_str());
            }
            current = entries.get(entry.replaces.as_str()).copied();
        }
        chains.push(chain);
    }
    let (name, package) = place();
    match chains.len() {
        0 => Err(OrderError::NoHead {
            channel: name,
            package,
        }),
        1 => Ok(chains.remove(0)),
        _ => Err(OrderError::SeveralChains {
            channel: name,
            package,
            count: heads.len(),
            chains: chains.iter().map(|chain| ends(chain)).collect(),
        }),
    }
}

fn ends(chain: &[&str]) -> String {
    match chain {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [first, .., last] => format!("{first}…{last}"),
    }
}

/// The first of entries with the same name counts.
fn by_name(channel: &Channel) -> BTreeMap<&str, &Entry> {
    let mut entries = BTreeMap::new();
    for entry in &channel.entries {
        entries.entry(entry.name.as_str()).or_insert(entry);
    }
    entries
}

fn skips<'a>(entries: &BTreeMap<&str, &'a Entry>) -> impl Iterator<Item = &'a str> {
    entries
        .values()
        .flat_map(|entry| entry.skips.iter().map(String::as_str))
}

fn heads<'a>(entries: &BTreeMap<&'a str, &'a Entry>) -> Vec<&'a str> {
    let mut superseded: BTreeSet<&str> = skips(entries).collect();
    superseded.extend(entries.values().map(|entry| entry.replaces.as_str()));
    entries
        .keys()
        .filter(|name| !superseded.contains(*name))
        .copied()
        .collect()
}

fn first_cycle<'a>(channel: &Channel, entries: &BTreeMap<&'a str, &'a Entry>) -> Vec<&'a str> {
    let graph = Graph::of_channel(channel, &BTreeMap::new());
    let first = graph.cycles().into_iter().next().unwrap_or_default();
    let first: BTreeSet<&str> = first.into_iter().collect();
    entries
        .keys()
        .filter(|name| first.contains(*name))
        .copied()
        .collect()
}
