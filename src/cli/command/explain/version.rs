//! Why it is this version and no other.

use std::sync::Arc;

use super::why::{Answer, package_of, read};
use super::{component_for, cost, unmet};
use crate::cli::situation::Situation;
use crate::resolver::{Bundle, Channel, Component, Install, Package, Subscription};
use crate::version::{Range, UserRange, Version};

/// How many versions are tried to find out what is wrong with them.
const TRIED: usize = 3;

/// By what an upgrade is possible.
pub(super) fn edge(situation: &Situation, install: &Install) -> String {
    let replaced = &install.replaces;
    let package = package_of(situation, install);
    let channel = package.as_ref().and_then(|package| {
        let mut channels = package.channels.iter();
        channels.find(|channel| channel.name() == install.channel)
    });
    let entry = channel.and_then(|channel| {
        let mut entries = channel.entries().iter();
        entries.find(|entry| entry.name == install.bundle)
    });
    let version = situation
        .installed(replaced)
        .and_then(|csv| csv.version.as_ref());
    match entry {
        Some(entry) if entry.replaces == *replaced => {
            format!("{} replaces {replaced}", install.bundle)
        }
        Some(entry) if entry.skips.contains(replaced) => {
            format!("{} skips {replaced}", install.bundle)
        }
        Some(entry)
            if version.is_some_and(|version| {
                let range = Range::parse(&entry.skip_range);
                range.is_ok_and(|range| range.contains(version))
            }) =>
        {
            format!(
                "{replaced} is in the skipRange `{}` of {}",
                entry.skip_range, install.bundle
            )
        }
        _ => format!("no upgrade leads there from {replaced}; the version asked for does"),
    }
}

/// Why it is this version and none that is newer in its channel.
pub(super) fn version(
    situation: &Situation,
    subscription: &Subscription,
    answer: &Answer<'_>,
) -> Vec<String> {
    let Some((package, channel)) = followed(situation, subscription, answer) else {
        return Vec::new();
    };
    // The function above gives positions of the package's own channels.
    let Some(channel) = package.channels.get(channel) else {
        return Vec::new();
    };
    let order = match channel.order() {
        Ok(order) => order,
        Err(error) => return vec![error.to_string()],
    };
    let entries = channel.entries();
    let name = |at: &usize| entries.get(*at).map_or("", |entry| entry.name.as_str());
    let Some(chosen) = order.iter().position(|at| name(at) == answer.bundle()) else {
        return vec![format!(
            "it is not among what channel {} offers",
            channel.name()
        )];
    };
    if chosen == 0 {
        return vec![format!("the newest of channel {}", channel.name())];
    }
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let mut tries = TRIED;
    for at in order.iter().take(chosen) {
        let Some((_, bundle)) = package.bundle(name(at)) else {
            continue;
        };
        let known = obstacle(situation, subscription, answer, channel, *at, bundle);
        let reason = match known {
            Some(reason) => reason,
            None if tries > 0 => {
                tries -= 1;
                tried(situation, subscription, bundle)
            }
            None => continue,
        };
        let shown = bundle
            .version
            .as_ref()
            .map_or_else(|| bundle.name.clone(), ToString::to_string);
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, versions)) => versions.push(shown),
            None => reasons.push((reason, vec![shown])),
        }
    }
    let reasons = reasons.into_iter();
    reasons
        .map(|(reason, versions)| {
            let versions = match versions.as_slice() {
                [first, .., last] if versions.len() > 3 => {
                    format!("{first} to {last} ({} versions)", versions.len())
                }
                few => few.join(", "),
            };
            format!("not {versions}: {reason}")
        })
        .collect()
}

/// The package and the position of the channel that the answer is from.
fn followed(
    situation: &Situation,
    subscription: &Subscription,
    answer: &Answer<'_>,
) -> Option<(Arc<Package>, usize)> {
    let (package, wanted) = match answer {
        Answer::Install(install) => (package_of(situation, install)?, install.channel.as_str()),
        Answer::Kept(_) => {
            let mut catalogs = situation.catalogs.iter().filter(|catalog| {
                subscription.catalog.is_empty() || catalog.listing.key == subscription.catalog
            });
            let package = catalogs.find_map(|catalog| read(catalog, &subscription.package))?;
            (package, subscription.channel.as_str())
        }
    };
    let is_followed = |channel: &Channel| wanted.is_empty() || channel.name() == wanted;
    // Who names no channel follows all of them; what it has may be of another than the first.
    let lists = |channel: &Channel| {
        let mut entries = channel.entries().iter();
        entries.any(|entry| entry.name == answer.bundle())
    };
    let channels = &package.channels;
    let listing = channels.iter().position(|it| is_followed(it) && lists(it));
    let at = listing.or_else(|| channels.iter().position(is_followed))?;
    Some((package, at))
}

/// What is wrong with a newer bundle, as far as it can be seen from itself.
fn obstacle(
    situation: &Situation,
    subscription: &Subscription,
    answer: &Answer<'_>,
    channel: &Channel,
    entry: usize,
    bundle: &Bundle,
) -> Option<String> {
    let range = subscription.version.as_ref();
    if let (Some(range), Some(version)) = (range, &bundle.version)
        && !range.contains(version)
    {
        return Some(format!("not within `{}`", range.as_str()));
    }
    if let Some(wanted) = &bundle.unreadable_kube_version {
        return Some(format!("needs Kubernetes {wanted:?}, which is no version"));
    }
    if let (Some(needed), Some(there)) = (&bundle.min_kube_version, &situation.kube_version)
        && !bundle.runs_on(there)
    {
        return Some(format!("needs Kubernetes {needed}, and here is {there}"));
    }
    let installed = match answer {
        Answer::Install(install) if install.replaces.is_empty() => None,
        Answer::Install(install) => Some(install.replaces.as_str()),
        Answer::Kept(kept) => Some(kept.csv.as_str()),
    };
    if let Some(installed) = installed {
        let version = situation
            .installed(installed)
            .and_then(|csv| csv.version.as_ref());
        if !channel.upgrades(entry, installed, version) {
            return Some(format!("no upgrade leads there directly from {installed}"));
        }
    } else if !subscription.starting_csv.is_empty() && subscription.starting_csv != bundle.name {
        return Some(format!("startingCSV is {}", subscription.starting_csv));
    }
    let error = bundle.requirements().err()?;
    Some(error.to_string())
}

/// What happens when somebody insists on a bundle.
fn tried(situation: &Situation, subscription: &Subscription, bundle: &Bundle) -> String {
    let pin = bundle.version.as_ref().map(ToString::to_string);
    let Some(pin) = pin.and_then(|text| UserRange::parse(&text).ok()) else {
        return "its version cannot be asked for".to_owned();
    };
    let pinned = Subscription {
        version: Some(pin.clone()),
        ..subscription.clone()
    };
    let before = match &component_for(situation, &pinned) {
        Some(Component::Unsolvable(explanation)) => return explanation.summary.clone(),
        Some(Component::Solved(solution)) => Answer::find(&pinned, solution)
            .and_then(|answer| comes_before(situation, &pinned, &answer)),
        None => None,
    };
    if let Some(before) = before {
        return before;
    }
    match cost(situation, subscription, &pinned).first() {
        Some(lost) => format!("with it {}", unmet(lost)),
        None => format!(
            "other choices come first; `version: {}` asks for it",
            pin.as_str()
        ),
    }
}

/// What has to come before the version that a Subscription asks for, if it does not get that at once.
pub(super) fn comes_before(
    situation: &Situation,
    pinned: &Subscription,
    answer: &Answer<'_>,
) -> Option<String> {
    let is_asked_for = |version: Option<&Version>| {
        let range = pinned.version.as_ref();
        range
            .zip(version)
            .is_none_or(|(range, version)| range.contains(version))
    };
    match answer {
        Answer::Install(install) => {
            let version = Version::parse_tolerant(&install.version).ok();
            let before = || format!("{} comes first on the way there", answer.words(situation));
            (!is_asked_for(version.as_ref())).then(before)
        }
        Answer::Kept(kept) => {
            let csv = situation.installed(&kept.csv);
            // Nobody keeps what was not asked for but to wait for it.
            (!is_asked_for(csv.and_then(|csv| csv.version.as_ref())))
                .then(|| format!("it waits until {} runs", kept.csv))
        }
    }
}
