//! The resolver against one that tries everything, on random problems.
//!
//! `SEED=7 cargo test --test it resolver_oracle` shows a single case, `CASES=…` tries that many.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use chandler::resolver::{Component, Install, Resolution, resolve, solve};

use crate::support::oracle::{Item, Operator, Oracle, matches};
use crate::support::random::{Taste, input, shuffled};
use crate::support::scenario::{Input, SubscriptionInput, World};

const CASES: u64 = 100_000;

/// What cases were like. Cases that are all alike would show nothing.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    solvable: usize,
    /// Solvable, although not with the first candidates.
    tried_again: usize,
    unsolvable: usize,
    /// What is installed contradicts itself, and there is no single right answer.
    contradictory: usize,
    /// With a Subscription that holds a version, only checks needs, or takes any catalog.
    wishing: usize,
}

#[test]
fn the_answer_is_that_of_trying_everything() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    if let Some(seed) = number("SEED") {
        let input = input(seed, Taste::Everything);
        let mut err = std::io::stderr();
        writeln!(err, "{}", serde_json::to_string_pretty(&input).unwrap()).unwrap();
        let resolution = resolve(&World::new(input).request());
        writeln!(
            err,
            "{}",
            serde_json::to_string_pretty(&resolution).unwrap()
        )
        .unwrap();
        check(seed, &mut Tally::default()).unwrap();
        return;
    }
    let cases = number("CASES").unwrap_or(CASES);
    let next = AtomicU64::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let work = || {
        let (mut tally, mut failed) = (Tally::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= cases || failed.len() > 5 {
                return (tally, failed);
            }
            failed.extend(check(seed, &mut tally).err());
        }
    };
    let mut whole = Tally::default();
    let mut failed: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (tally, some) = worker.join().unwrap();
            failed.extend(some);
            whole.cases += tally.cases;
            whole.solvable += tally.solvable;
            whole.tried_again += tally.tried_again;
            whole.unsolvable += tally.unsolvable;
            whole.contradictory += tally.contradictory;
            whole.wishing += tally.wishing;
        }
    });
    writeln!(std::io::stderr(), "{whole:?}").unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    let enough = |some: usize, percent: usize| some * 100 >= whole.cases * percent;
    let varied = enough(whole.solvable, 40)
        && enough(whole.unsolvable, 20)
        && enough(whole.tried_again, 5)
        && enough(whole.wishing, 30);
    assert!(varied, "the cases are too much alike: {whole:?}");
}

fn check(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let input = input(seed, Taste::Everything);
    let resolution = solve(&World::new(input.clone()).request());
    let wrong = compare(&input, &resolution, tally)
        .and_then(|()| is_repeatable(seed, &input))
        .err();
    match wrong {
        Some(wrong) => Err(format!("SEED={seed}: {wrong}")),
        None => Ok(()),
    }
}

/// The whole answer, with all its words, is the same again and from the same in another order.
/// Words take most of the time, so that not every case has to find them.
fn is_repeatable(seed: u64, input: &Input) -> Result<(), String> {
    if !seed.is_multiple_of(19) {
        return Ok(());
    }
    let bytes = |resolution: &Resolution| serde_json::to_string_pretty(resolution).unwrap();
    let first = bytes(&resolve(&World::new(input.clone()).request()));
    for (how, other) in [
        ("again", input.clone()),
        ("shuffled", shuffled(input, seed)),
    ] {
        let other = bytes(&resolve(&World::new(other).request()));
        if first != other {
            let mut lines = first.lines().zip(other.lines());
            let differing = lines.find(|(one, another)| one != another);
            return Err(format!("{how}, it says something else: {differing:?}"));
        }
    }
    Ok(())
}

fn compare(input: &Input, resolution: &Resolution, tally: &mut Tally) -> Result<(), String> {
    let oracle = Oracle::new(input);
    let everyone: Vec<&SubscriptionInput> = input.subscriptions.iter().collect();
    let (mut solved, mut aside) = (Vec::new(), Vec::new());
    let mut installs = Vec::new();
    for component in &resolution.components {
        let about = component.subscriptions();
        let named = everyone
            .iter()
            .copied()
            .filter(|one| about.contains(&one.name));
        match component {
            Component::Solved(solution) => {
                solved.extend(named);
                installs.extend(solution.install.iter().map(|install| found(input, install)));
            }
            Component::Unsolvable(_) => aside.push(named.collect::<Vec<_>>()),
        }
    }
    let all_aside = aside.concat();
    if solved.len() + all_aside.len() != everyone.len() {
        return Err("a Subscription has no outcome, or two".into());
    }
    installs.sort();
    is_valid(&oracle, &installs)?;

    tally.cases += 1;
    let wishes = |one: &&SubscriptionInput| {
        one.version.is_some() || one.dependencies.is_some() || one.catalog.as_deref() == Some("")
    };
    tally.wishing += usize::from(everyone.iter().any(wishes));
    if oracle.solve(&[], &all_aside).is_none() {
        tally.contradictory += 1;
        return Ok(());
    }
    let dead_ends = oracle.dead_ends.get();
    let whole = oracle.solve(&everyone, &[]);
    if whole.is_some() != aside.is_empty() {
        return Err(format!(
            "the oracle says {whole:?}, and these are set aside: {all_aside:?}"
        ));
    }
    let right = oracle.solve(&solved, &all_aside).map(|items| new(&items));
    if right.as_ref() != Some(&installs) {
        return Err(format!("it is {installs:?} instead of {right:?}"));
    }
    if whole.is_some() {
        tally.solvable += 1;
        tally.tried_again += usize::from(oracle.dead_ends.get() > dead_ends);
        return Ok(());
    }
    tally.unsolvable += 1;
    let is_new = |one: &&SubscriptionInput| oracle.current(one).is_none();
    // What counts only together with Subscriptions that were set aside before does not count.
    let others = |these: &[&SubscriptionInput]| -> Vec<&SubscriptionInput> {
        let mut others = all_aside.clone();
        others.retain(|other| these.iter().all(|one| one.name != other.name));
        others
    };
    if all_aside.iter().all(is_new) {
        for these in &aside {
            let whole = [&solved[..], these].concat();
            if oracle.solve(&whole, &others(these)).is_some() {
                return Err(format!("{these:?} were set aside for nothing"));
            }
        }
    }
    let is_plain = |one: &&SubscriptionInput| one.version.is_none() && one.dependencies.is_none();
    if everyone.iter().all(is_plain) {
        for these in aside.iter().filter(|these| these.len() > 1) {
            let works = |one: &&&SubscriptionInput| {
                let with_it = [&solved[..], &[**one]].concat();
                oracle.solve(&with_it, &others(&[**one])).is_some()
            };
            let works: Vec<_> = these.iter().filter(works).collect();
            if let [only] = works[..] {
                return Err(format!(
                    "of {these:?} only {only:?} could be had, and is not"
                ));
            }
        }
    }
    if everyone.iter().all(is_new) && everyone.iter().all(is_plain) {
        for these in &aside {
            // Those that go together without the others are in the way of these, as was seen above.
            if oracle.solve(these, &others(these)).is_some() {
                continue;
            }
            for without in 0..these.len() {
                let mut fewer = these.clone();
                fewer.remove(without);
                if oracle.solve(&fewer, &[]).is_none() {
                    return Err(format!(
                        "{these:?} is not the least: {fewer:?} has no solution either"
                    ));
                }
            }
        }
    }
    Ok(())
}

fn new(items: &[Item]) -> Vec<Item> {
    let mut new = items.to_vec();
    new.retain(|item| matches!(item, Item::Offered(..)));
    new.sort();
    new
}

/// What is to be installed, as the oracle names it.
fn found(input: &Input, install: &Install) -> Item {
    let catalog = input
        .catalogs
        .iter()
        .position(|one| one.name == install.catalog)
        .unwrap();
    let packages = &input.catalogs[catalog].packages;
    let package = packages
        .iter()
        .position(|one| one.name == install.package)
        .unwrap();
    let channels = packages[package].channels.iter();
    let channel = channels
        .clone()
        .position(|one| one.name == install.channel)
        .unwrap();
    let mut bundles = packages[package].bundles.iter();
    let bundle = bundles.position(|one| one.name == install.bundle).unwrap();
    Item::Offered(catalog, package, channel, bundle)
}

/// Everything new has what it needs, and shares nothing that only one can have.
fn is_valid(oracle: &Oracle<'_>, installs: &[Item]) -> Result<(), String> {
    let taken: BTreeSet<String> = installs
        .iter()
        .flat_map(|&item| oracle.slots(item))
        .collect();
    let stays = |at: &usize| !taken.contains(&format!("csv {}", oracle.input.installed[*at].name));
    let stay: Vec<Item> = oracle
        .counting()
        .into_iter()
        .filter(stays)
        .map(Item::Installed)
        .collect();
    let all: Vec<Item> = installs.iter().copied().chain(stay).collect();
    let operators: Vec<Operator<'_>> = all.iter().map(|&item| oracle.operator(item)).collect();
    for (at, &item) in installs.iter().enumerate() {
        let operator = oracle.operator(item);
        for need in operator.requires {
            if !operators.iter().any(|other| matches(need, other)) {
                return Err(format!("{} misses {need:?}", operator.name));
            }
        }
        for (other_at, &other) in all.iter().enumerate() {
            let shared: Vec<String> = oracle
                .slots(item)
                .intersection(&oracle.slots(other))
                .cloned()
                .collect();
            if other_at != at && !shared.is_empty() {
                return Err(format!("{item:?} and {other:?} share {shared:?}"));
            }
        }
    }
    Ok(())
}
