//! A channel: its entries, and the way from its head to its tail.

use std::collections::BTreeSet;

use super::problem::{At, Findings, Rule, names};
use crate::catalog::fbc::{Channel, PackageBlobs};
use crate::catalog::graph::Chain;
use crate::version::Range;

pub(super) fn check(channel: &Channel, blobs: &PackageBlobs, findings: &mut Findings) {
    let at = At::channel(&channel.name);
    if channel.name.is_empty() {
        let advice = "give it a `name`";
        findings.add(Rule::ChannelName, at, "the channel has no name", advice);
    }
    let first = blobs.channel(&channel.name);
    if first.is_some_and(|first| !std::ptr::eq(first, channel)) {
        findings.add(
            Rule::ChannelName,
            at,
            "there is more than one channel of this name",
            "put all entries into one of them",
        );
    }
    if channel.entries.is_empty() {
        let advice = "list at least one bundle in `entries`, or remove the channel";
        findings.add(Rule::ChannelEntries, at, "the channel is empty", advice);
        return;
    }
    entries(channel, blobs, findings);
    chain(channel, findings);
}

fn entries(channel: &Channel, blobs: &PackageBlobs, findings: &mut Findings) {
    let bundles: BTreeSet<&str> = blobs.bundles.iter().map(|bundle| &*bundle.name).collect();
    let mut seen = BTreeSet::new();
    for (index, entry) in channel.entries.iter().enumerate() {
        let at = At {
            channel: Some(&channel.name),
            bundle: Some(&entry.name),
        };
        if entry.name.is_empty() {
            let words = format!("entry {index} has no name");
            findings.add(Rule::EntryName, at, words, "name the bundle in `name`");
        } else if !bundles.contains(entry.name.as_str()) {
            findings.add(
                Rule::EntryBundle,
                at,
                "there is no such olm.bundle",
                "add the bundle, or remove the entry",
            );
        }
        if !seen.insert(&entry.name) {
            let advice = "keep one of the entries";
            findings.add(Rule::EntryName, at, "it is in the channel twice", advice);
        }
        for (index, _) in entry
            .skips
            .iter()
            .enumerate()
            .filter(|(_, skip)| skip.is_empty())
        {
            findings.add(
                Rule::Skip,
                at,
                format!("skips[{index}] is empty"),
                "name a bundle there, or remove it",
            );
        }
        if !entry.skip_range.is_empty()
            && let Err(error) = Range::parse(&entry.skip_range)
        {
            let advice = error.hint().unwrap_or("write it like `>=1.0.0 <1.4.2`");
            let words = format!("its skipRange cannot be read: {error}");
            findings.add(Rule::SkipRange, at, words, advice);
        }
    }
}

fn chain(channel: &Channel, findings: &mut Findings) {
    let at = At::channel(&channel.name);
    let chain = Chain::of(channel);
    match chain.heads.as_slice() {
        [_] => {}
        [] => findings.add(
            Rule::OneHead,
            at,
            format!(
                "the channel has no head: each of its entries is replaced or skipped by another, in a \
                 circle through {}",
                names(&chain.cycle)
            ),
            "let the newest bundle be replaced and skipped by none",
        ),
        heads => findings.add(
            Rule::OneHead,
            at,
            format!("the channel has {} heads: {}", heads.len(), names(heads)),
            "let one of them replace or skip the others",
        ),
    }
    if chain.heads.len() != 1 {
        return;
    }
    if !chain.cycle.is_empty() {
        findings.add(
            Rule::NoCycle,
            at,
            format!(
                "the chain of replacements goes in a circle: {}",
                chain.cycle.join(" → ")
            ),
            "remove one `replaces` of that circle",
        );
    } else if !chain.stranded.is_empty() {
        let head = chain.heads.first().copied().unwrap_or_default();
        findings.add(
            Rule::NotStranded,
            at,
            format!(
                "no chain of replacements from the head {head:?} reaches {}",
                names(&chain.stranded)
            ),
            "let an entry replace or skip them, or remove them from the channel",
        );
    }
}
