//! Advice that is taken helps: every change that an explanation names is made, and the Subscriptions are met.

use chandler::resolver::{Change, Component, Resolution, Solution, resolve, solve};

use crate::support::random::{Taste, input};
use crate::support::scenario::{Input, SubscriptionInput, World};

const CASES: u64 = 4_000;

#[test]
fn advice_that_is_taken_helps_and_gives_what_it_says() {
    let mut taken = 0;
    for seed in 0..CASES {
        let input = input(seed, Taste::Everything);
        let before = resolve(&World::new(input.clone()).request());
        for component in &before.components {
            let Component::Unsolvable(explanation) = component else {
                continue;
            };
            for advice in &explanation.nearest {
                let changed = follow(&input, &advice.change);
                let after = solve(&World::new(changed).request());
                let context = format!("seed {seed}: {:?}: {advice:?}", explanation.requests);
                helps(&explanation.requests, advice, &after)
                    .unwrap_or_else(|why| panic!("{context}: {why}"));
                for other in unmet(&after) {
                    assert!(unmet(&before).contains(&other), "{context}: harms {other}");
                }
                taken += 1;
            }
        }
    }
    assert!(taken > 500, "only {taken} pieces of advice");
}

fn helps(requests: &[String], advice: &Change, after: &Resolution) -> Result<(), String> {
    let is_removed = |name: &String| advice.change == format!("remove Subscription {name}");
    let mut given: Vec<String> = Vec::new();
    for name in requests.iter().filter(|name| !is_removed(name)) {
        let solution = solution_for(after, name).ok_or(format!("{name} is not met"))?;
        let new = solution.install.iter();
        let new = new.filter(|install| install.requested_by.contains(name));
        given.extend(new.map(|install| format!("{} {}", install.package, install.version)));
        let kept = solution
            .kept
            .iter()
            .filter(|kept| kept.subscription == *name);
        given.extend(kept.map(|kept| format!("{} as it is", kept.csv)));
    }
    given.sort();
    given.dedup();
    if given == advice.gives {
        Ok(())
    } else {
        Err(format!("it gives {given:?}"))
    }
}

fn solution_for<'a>(resolution: &'a Resolution, name: &String) -> Option<&'a Solution> {
    let mut components = resolution.components.iter();
    components.find_map(|component| match component {
        Component::Solved(solution) if solution.requests.contains(name) => Some(solution),
        _ => None,
    })
}

fn unmet(resolution: &Resolution) -> Vec<String> {
    let components = resolution.components.iter();
    let unsolvable = components.filter(|component| matches!(component, Component::Unsolvable(_)));
    unsolvable
        .flat_map(|component| component.subscriptions().to_vec())
        .collect()
}

/// Does what a person would who reads the advice.
fn follow(input: &Input, advice: &str) -> Input {
    let mut input = input.clone();
    let words: Vec<&str> = advice.split(' ').collect();
    match words[..] {
        ["let", "Subscription", name, "follow", "channel", channel] => {
            channel.clone_into(&mut subscription(&mut input, name).channel);
        }
        [
            "let",
            "Subscription",
            name,
            "use",
            "catalog",
            catalog,
            ref rest @ ..,
        ] => {
            let subscription = subscription(&mut input, name);
            let (_, catalog) = catalog.split_once('/').unwrap();
            subscription.catalog = Some(catalog.to_owned());
            match *rest {
                [] => {}
                ["and", "channel", channel] => channel.clone_into(&mut subscription.channel),
                _ => panic!("{advice}"),
            }
        }
        [
            "change",
            "the",
            "package",
            "of",
            "Subscription",
            name,
            "to",
            package,
        ] => {
            subscription(&mut input, name).package = Some(package.to_owned());
        }
        ["take", "version", _, "out", "of", "Subscription", name] => {
            subscription(&mut input, name).version = None;
        }
        ["take", "startingCSV", _, "out", "of", "Subscription", name] => {
            subscription(&mut input, name).starting_csv.clear();
        }
        [
            "set",
            "policy.dependencies",
            "of",
            "Subscription",
            name,
            "to",
            "Install",
        ] => subscription(&mut input, name).dependencies = None,
        [
            "update",
            "the",
            "cluster",
            "to",
            "Kubernetes",
            version,
            "or",
            "newer",
        ] => {
            input.kube_version = Some(version.to_owned());
        }
        ["uninstall", package, version] => {
            let of_package = |csv: &Option<String>| csv.as_deref() == Some(package);
            input
                .installed
                .retain(|csv| !(of_package(&csv.package) && csv.version == version));
        }
        ["remove", "Subscription", name] => {
            input.subscriptions.retain(|one| one.name != name);
        }
        _ => panic!("nobody can follow this: {advice}"),
    }
    input
}

fn subscription<'a>(input: &'a mut Input, name: &str) -> &'a mut SubscriptionInput {
    let mut all = input.subscriptions.iter_mut();
    all.find(|one| one.name == name).unwrap()
}
