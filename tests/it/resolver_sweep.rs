//! Every package and every bundle of OperatorHub.io: each can be installed and brought to the head
//! of its channel, or it is said why not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use chandler::resolver::{Component, resolve};

use crate::support::data::skipped;
use crate::support::real::{installed, packages};
use crate::support::scenario::{
    CatalogInput, ChannelInput, Input, InstalledInput, PackageInput, SubscriptionInput, World,
};

type Counts = BTreeMap<&'static str, usize>;

/// What a resolution does with one Subscription.
enum Next {
    Installs(String),
    Stays(Vec<String>),
    Refused(String),
}

/// The catalog without Subscriptions.
fn world(packages: Vec<PackageInput>) -> World {
    World::new(Input {
        catalogs: vec![CatalogInput {
            name: "hub".into(),
            packages,
            ..CatalogInput::default()
        }],
        ..Input::default()
    })
}

fn next(world: &World, package: &str, channel: &str, current: Option<InstalledInput>) -> Next {
    let question = World::new(Input {
        catalogs: vec![CatalogInput {
            name: "hub".into(),
            ..CatalogInput::default()
        }],
        subscriptions: vec![SubscriptionInput {
            name: package.into(),
            channel: channel.into(),
            installed_csv: current
                .as_ref()
                .map(|csv| csv.name.clone())
                .unwrap_or_default(),
            ..SubscriptionInput::default()
        }],
        installed: current.into_iter().collect(),
        ..Input::default()
    });
    let asked = question.request();
    let mut request = world.request();
    request.subscriptions = asked.subscriptions;
    request.installed = asked.installed;
    let resolution = resolve(&request);
    match resolution.components.as_slice() {
        [Component::Solved(solution)] => {
            let own = solution
                .install
                .iter()
                .find(|install| install.package == package);
            let stays = || {
                let held_back = solution.held_back.iter();
                let held_back = held_back.map(|upgrade| upgrade.because.clone());
                Next::Stays(solution.notes.iter().cloned().chain(held_back).collect())
            };
            own.map_or_else(stays, |install| Next::Installs(install.bundle.clone()))
        }
        [Component::Unsolvable(explanation)] => Next::Refused(explanation.summary.clone()),
        others => panic!("{} outcomes for {package}", others.len()),
    }
}

/// Why something is refused, by what the explanation says.
fn cause(summary: &str) -> &'static str {
    if summary.contains("offers it") {
        "a need that nothing offers"
    } else if summary.contains("clash") {
        "a clash"
    } else if summary.contains("chain") || summary.contains("head") || summary.contains("circle") {
        "a channel without order"
    } else {
        "another reason"
    }
}

#[test]
fn every_package_can_be_installed_or_it_is_said_why_not() {
    let Some(packages) = packages().unwrap() else {
        skipped(
            "the sweep of all packages",
            "community-index.jsonl.zst is not there (see CONTRIBUTING.md, test data)",
        );
        return;
    };
    let world = world(packages);
    let mut counts = Counts::new();
    for package in &world.input().catalogs[0].packages {
        let counted = match next(&world, &package.name, &package.default_channel, None) {
            Next::Installs(_) => "installed",
            Next::Stays(notes) => panic!("{} stays without being there: {notes:?}", package.name),
            Next::Refused(summary) => {
                assert!(
                    !summary.is_empty(),
                    "{} is refused without a word",
                    package.name
                );
                cause(&summary)
            }
        };
        *counts.entry(counted).or_default() += 1;
    }
    writeln!(std::io::stderr(), "packages: {counts:?}").unwrap();
    // Refusing is the exception: of these catalogs nearly everything can be installed.
    let all = world.input().catalogs[0].packages.len();
    assert!(counts["installed"] * 100 >= all * 98, "{counts:?} of {all}");
    assert_eq!(counts.get("another reason"), None);
}

#[test]
fn every_bundle_comes_to_the_head_of_its_channel_or_it_is_said_why_not() {
    let Some(packages) = packages().unwrap() else {
        skipped(
            "the sweep of all bundles",
            "community-index.jsonl.zst is not there (see CONTRIBUTING.md, test data)",
        );
        return;
    };
    let world = world(packages);
    let packages = &world.input().catalogs[0].packages;
    let at = AtomicUsize::new(0);
    let work = || {
        let (mut counts, mut unexplained) = (Counts::new(), Vec::new());
        while let Some(package) = packages.get(at.fetch_add(1, Ordering::Relaxed)) {
            for channel in &package.channels {
                sweep(&world, package, channel, &mut counts, &mut unexplained);
            }
        }
        (counts, unexplained)
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let mut whole = Counts::new();
    let mut unexplained: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (counts, some) = worker.join().unwrap();
            for (what, count) in counts {
                *whole.entry(what).or_default() += count;
            }
            unexplained.extend(some);
        }
    });
    writeln!(std::io::stderr(), "bundles: {whole:?}").unwrap();
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let hops = whole.remove("hops").unwrap_or_default();
    let all: usize = whole.values().sum();
    assert!(whole["head"] * 100 >= all * 98, "{whole:?} of {all}");
    assert!(hops > all, "{hops} hops of {all} bundles");
}

fn sweep(
    world: &World,
    package: &PackageInput,
    channel: &ChannelInput,
    counts: &mut Counts,
    unexplained: &mut Vec<String>,
) {
    let mut steps: BTreeMap<&str, Next> = BTreeMap::new();
    for entry in &channel.entries {
        let bundle = package
            .bundles
            .iter()
            .find(|bundle| bundle.name == entry.name);
        let Some(bundle) = bundle else { continue };
        let csv = installed(&package.name, bundle);
        let step = next(world, &package.name, &channel.name, Some(csv));
        steps.insert(&bundle.name, step);
    }
    for &start in steps.keys() {
        let mut seen = BTreeSet::new();
        let mut here = start;
        let (mut hops, end) = (
            0,
            loop {
                if !seen.insert(here) {
                    unexplained.push(format!("{start} goes in a circle in {}", channel.name));
                    break "a circle";
                }
                match steps.get(here) {
                    Some(Next::Installs(bundle)) => here = bundle,
                    Some(Next::Refused(summary)) => break cause(summary),
                    Some(Next::Stays(notes)) => break end(channel, here, notes, unexplained),
                    None => break "a bundle that the channel does not list",
                }
            },
        );
        hops += seen.len() - 1;
        *counts.entry(end).or_default() += 1;
        *counts.entry("hops").or_default() += hops;
    }
}

/// Why a walk ends.
fn end(
    channel: &ChannelInput,
    here: &str,
    notes: &[String],
    unexplained: &mut Vec<String>,
) -> &'static str {
    let mut others = channel.entries.iter().filter(|entry| entry.name != here);
    let follows = others
        .any(|entry| entry.replaces == here || entry.skips.iter().any(|skipped| skipped == here));
    if !follows {
        // Nothing in the channel follows it: its head, or one of several.
        return if notes.is_empty() {
            "head"
        } else {
            "head, with a note"
        };
    }
    if notes.is_empty() {
        unexplained.push(format!("{here} stays in {} without a word", channel.name));
    }
    "stays, with a note"
}
