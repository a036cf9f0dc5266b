//! Independent parts of a problem.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::unionfind::UnionFind;

use super::problem::{ChoiceId, Group, NeedId, Origin, Problem};

/// Splits Subscriptions and facts into groups that share no package, API or need.
pub(super) fn split(problem: &Problem<'_>, roots: &[usize], facts: &BTreeSet<usize>) -> Vec<Group> {
    let (choices, needs) = (problem.choices.len(), problem.needs.len());
    let need_at = |need: usize| choices + need;
    let slot_at = |slot: usize| choices + needs + slot;
    let mut together = UnionFind::<usize>::new(choices + needs + problem.slots.len());
    let reached = reach(problem, roots, facts);
    for &choice in &reached.choices {
        for &slot in &problem.choices[choice].slots {
            together.union(choice, slot_at(slot));
        }
        for &need in &problem.choices[choice].needs {
            together.union(choice, need_at(need));
        }
    }
    for &need in &reached.needs {
        for &candidate in &problem.needs[need].candidates {
            together.union(need_at(need), candidate);
        }
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for &subscription in roots {
        let root = problem.roots[subscription];
        let has = has(problem, subscription);
        for candidate in problem.needs[root].candidates.iter().copied().chain(has) {
            together.union(need_at(root), candidate);
        }
    }
    for &subscription in roots {
        let at = together.find_mut(need_at(problem.roots[subscription]));
        groups
            .entry(at)
            .or_default()
            .subscriptions
            .push(subscription);
    }
    for &fact in facts {
        if let Some(&choice) = problem.installed.get(&fact) {
            let at = together.find_mut(choice);
            groups.entry(at).or_default().facts.push(fact);
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    for group in &mut groups {
        group
            .subscriptions
            .sort_by_key(|&at| &problem.subscription(at).name);
        group.facts.sort_by_key(|&at| &problem.installed(at).name);
    }
    groups.sort_by_cached_key(|group| {
        let subscriptions = group
            .subscriptions
            .iter()
            .map(|&at| problem.subscription(at).name.clone());
        let facts = group
            .facts
            .iter()
            .map(|&at| problem.installed(at).name.clone());
        (
            group.subscriptions.is_empty(),
            subscriptions.chain(facts).next(),
        )
    });
    groups
}

/// What a Subscription has. It stays if the Subscription is set aside, and then it is in the way of
/// others even where the Subscription itself could not keep it.
fn has(problem: &Problem<'_>, subscription: usize) -> Option<usize> {
    let current = problem.present.current.get(subscription).copied()??;
    problem.installed.get(&current).copied()
}

/// What has anything to do with Subscriptions and facts, each once.
struct Reached {
    choices: Vec<ChoiceId>,
    needs: Vec<NeedId>,
}

fn reach(problem: &Problem<'_>, roots: &[usize], facts: &BTreeSet<usize>) -> Reached {
    let mut open: Vec<ChoiceId> = facts
        .iter()
        .filter_map(|at| problem.installed.get(at))
        .copied()
        .collect();
    for &subscription in roots {
        let root = problem.roots[subscription];
        open.extend(&problem.needs[root].candidates);
        open.extend(has(problem, subscription));
    }
    let mut reached = Reached {
        choices: Vec::new(),
        needs: Vec::new(),
    };
    let mut is_reached = vec![false; problem.choices.len()];
    // Thousands of bundles may have the same need.
    let mut is_asked = vec![false; problem.needs.len()];
    while let Some(choice) = open.pop() {
        if std::mem::replace(&mut is_reached[choice], true) {
            continue;
        }
        reached.choices.push(choice);
        for &need in &problem.choices[choice].needs {
            if !std::mem::replace(&mut is_asked[need], true) {
                reached.needs.push(need);
                open.extend(&problem.needs[need].candidates);
            }
        }
        // What is replaced belongs to whoever replaces it.
        if let (Origin::Offered(_), Some(replaced)) = (
            &problem.choices[choice].origin,
            problem.choices[choice].replaces,
        ) {
            open.extend(problem.installed.get(&replaced));
        }
    }
    reached
}
