//! What a Subscription gets, from which channel of which catalog, and why from there.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::sync::Arc;

use super::version::{edge, version};
use crate::cli::situation::{Open, Situation};
use crate::cli::{outcome, printer};
use crate::resolver::{CatalogKey, Install, Kept, Package, Solution, Subscription};

/// What a Subscription gets.
pub(super) enum Answer<'a> {
    Install(&'a Install),
    Kept(&'a Kept),
}

impl<'a> Answer<'a> {
    pub(super) fn find(subscription: &Subscription, solution: &'a Solution) -> Option<Self> {
        let mut installs = solution.install.iter();
        let install = installs.find(|install| {
            install.package == subscription.package
                && install.requested_by.contains(&subscription.name)
        });
        let mut kept = solution.kept.iter();
        let kept = kept.find(|kept| kept.subscription == subscription.name);
        install.map(Self::Install).or(kept.map(Self::Kept))
    }

    pub(super) fn bundle(&self) -> &str {
        match self {
            Self::Install(install) => &install.bundle,
            Self::Kept(kept) => &kept.csv,
        }
    }

    /// `etcd 0.9.4`
    pub(super) fn words(&self, situation: &Situation) -> String {
        match self {
            Self::Install(install) => format!("{} {}", install.package, install.version),
            Self::Kept(kept) => {
                let csv = situation.installed(&kept.csv);
                let version = csv.and_then(|csv| csv.version.as_ref());
                let package = csv.and_then(|csv| csv.package.as_ref());
                match (package, version) {
                    (Some(package), Some(version)) => format!("{package} {version}"),
                    _ => kept.csv.clone(),
                }
            }
        }
    }
}

/// The whole answer.
pub(super) fn told(
    situation: &Situation,
    subscription: &Subscription,
    answer: &Answer<'_>,
    solution: &Solution,
) -> String {
    let mut text = String::new();
    let mut say = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", printer::visible(&line));
    };
    let name = answer.words(situation);
    match answer {
        Answer::Install(install) if install.replaces.is_empty() => {
            say(format!("{name} would be installed ({})", install.bundle));
        }
        Answer::Install(install) => say(format!(
            "{name} would be installed ({}) in place of {}",
            install.bundle, install.replaces
        )),
        Answer::Kept(kept) if kept.adopted => {
            say(format!(
                "{name} is there and would be adopted ({})",
                kept.csv
            ));
        }
        Answer::Kept(kept) => say(format!("{name} stays as it is ({})", kept.csv)),
    }
    if let Answer::Install(install) = answer {
        say(format!(
            "  catalog: {}",
            catalog(situation, subscription, install)
        ));
        say(format!(
            "  channel: {}",
            channel(situation, subscription, install)
        ));
    }
    for reason in version(situation, subscription, answer) {
        say(format!("  version: {reason}"));
    }
    if let Answer::Install(install) = answer
        && !install.replaces.is_empty()
    {
        say(format!("  upgrade: {}", edge(situation, install)));
    }
    for other in &solution.install {
        if other.bundle != answer.bundle() {
            say(format!(
                "with it: {} {} ({}) from channel {} of {}{}",
                other.package,
                other.version,
                other.bundle,
                other.channel,
                outcome::place(&other.catalog_namespace, &other.catalog),
                needs(situation, solution, other)
            ));
        }
    }
    for other in &solution.subscriptions {
        say(format!(
            "subscribe {}: keeps {} up to date in channel {}",
            other.name, other.package, other.channel
        ));
    }
    for note in &solution.notes {
        say(format!("note: {note}"));
    }
    text
}

/// Who needs a bundle, and for what.
fn needs(situation: &Situation, solution: &Solution, install: &Install) -> String {
    let mut parts = Vec::new();
    for name in &install.requested_by {
        let mut needers = solution.install.iter();
        let needer = needers.find(|other| other.bundle == *name);
        let needs = needer.map_or_else(Vec::new, |needer| met_needs(situation, needer, install));
        parts.push(if needs.is_empty() {
            format!("{name} asks for it")
        } else {
            format!("{name} needs {}", needs.join(" and "))
        });
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(", because {}", parts.join("; "))
}

/// Those needs of one bundle that another one meets, in words.
fn met_needs(situation: &Situation, needer: &Install, by: &Install) -> Vec<String> {
    let found = package_of(situation, needer).zip(package_of(situation, by));
    let Some((needers, providers)) = found else {
        return Vec::new();
    };
    let bundles = needers
        .bundle(&needer.bundle)
        .zip(providers.bundle(&by.bundle));
    let Some(((_, needer), (_, by))) = bundles else {
        return Vec::new();
    };
    let requirements = needer.requirements().unwrap_or_default();
    let met = requirements
        .iter()
        .filter(|need| need.matches(&by.features));
    met.map(ToString::to_string).collect()
}

/// The package that something is installed from.
pub(in crate::cli::command) fn package_of(
    situation: &Situation,
    install: &Install,
) -> Option<Arc<Package>> {
    let key = CatalogKey::new(&install.catalog_namespace, &install.catalog);
    read(situation.catalog(&key)?, &install.package)
}

/// A package of a catalog, if that has it and can be read.
pub(in crate::cli::command) fn read(catalog: &Open, package: &str) -> Option<Arc<Package>> {
    catalog.snapshot()?.package(package).ok().flatten()
}

fn catalog(situation: &Situation, subscription: &Subscription, install: &Install) -> String {
    let chosen = CatalogKey::new(&install.catalog_namespace, &install.catalog);
    if situation.catalogs.len() == 1 {
        return format!("{chosen}, the only one");
    }
    if !subscription.catalog.is_empty() {
        return format!("{chosen}, which Subscription {} names", subscription.name);
    }
    let mut having: Vec<&Open> = situation
        .catalogs
        .iter()
        .filter(|catalog| {
            let snapshot = catalog.snapshot();
            let has =
                |package: &str| snapshot.is_some_and(|s| s.names().iter().any(|n| n == package));
            catalog.listing.curation.allows(&install.package) && has(&install.package)
        })
        .collect();
    having.sort_by_key(|catalog| {
        let key = &catalog.listing.key;
        let is_elsewhere = key.namespace != situation.namespace;
        (
            Reverse(catalog.listing.priority),
            is_elsewhere,
            key.name.clone(),
            key.namespace.clone(),
        )
    });
    let own = having
        .iter()
        .position(|catalog| catalog.listing.key == chosen);
    let place = |catalog: &Open| catalog.listing.key.to_string();
    match (having.as_slice(), own) {
        ([_], _) => format!(
            "{chosen}, the only one of {} catalogs that has the package",
            situation.catalogs.len()
        ),
        ([first, second, ..], Some(0)) => {
            let (a, b) = (&first.listing, &second.listing);
            let by = if a.priority != b.priority {
                format!("its priority is {}, not {}", a.priority, b.priority)
            } else if a.key.namespace == situation.namespace && b.key.namespace != a.key.namespace {
                "it is of this namespace".to_owned()
            } else {
                "it comes first by name".to_owned()
            };
            format!("{chosen}, not {}: {by}", place(second))
        }
        ([first, ..], _) => format!("{chosen}, because nothing fits in {}", place(first)),
        ([], _) => chosen.to_string(),
    }
}

fn channel(situation: &Situation, subscription: &Subscription, install: &Install) -> String {
    let chosen = &install.channel;
    if !subscription.channel.is_empty() {
        return format!("{chosen}, as asked");
    }
    match package_of(situation, install) {
        Some(package) if package.channels.len() == 1 => format!("{chosen}, the only one"),
        Some(package) if package.default_channel == *chosen => {
            format!("{chosen}, the default channel")
        }
        Some(package) if package.broken_default().is_some() => format!(
            "{chosen}, because the default channel {} is broken",
            package.default_channel
        ),
        Some(package) => format!(
            "{chosen}, because nothing fits in the default channel {}",
            package.default_channel
        ),
        None => chosen.clone(),
    }
}
