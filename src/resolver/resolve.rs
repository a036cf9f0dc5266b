//! From a request to its outcomes: every group for itself, and what cannot be solved set aside.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use super::explain;
use super::held_back::held_back;
use super::market::Cache;
use super::problem::{ChoiceId, Group, Problem};
use super::proof::{Proof, Verdict, prove, refute};
use super::request::Request;
use super::search::{Answer, Selection, Task, search};
use super::solution::{Component, Resolution, Solution};

/// Resolves the Subscriptions of a namespace.
///
/// The same request always gives the same answer, byte by byte.
pub fn resolve(request: &Request<'_>) -> Resolution {
    resolve_with(request, &Rc::default(), true)
}

/// As [`resolve`], with packages that were read before. Looking for the nearest change that works
/// resolves changed requests, whose own failures nobody reads.
pub(super) fn resolve_with(request: &Request<'_>, cache: &Rc<Cache>, explains: bool) -> Resolution {
    let mut problem = Problem::new(request, cache.clone());
    let mut components = Vec::new();
    let everyone: Vec<usize> = (0..request.subscriptions.len()).collect();
    let mut open = VecDeque::from(problem.groups(&everyone, &problem.present.facts()));
    while let Some(group) = open.pop_front() {
        match settle(&problem, &group) {
            Settled::Solved(selection, ignored) => {
                let mut solution = Solution::new(&problem, &group, &selection, &ignored);
                if explains {
                    solution.held_back = held_back(&mut problem, &group, &selection);
                }
                // Facts that nobody asks about, and that need nothing, are not worth a word.
                if !group.subscriptions.is_empty() || !solution.install.is_empty() {
                    components.push(Component::Solved(solution));
                }
            }
            Settled::Stuck(stuck) => {
                let aside: BTreeSet<usize> = stuck.aside.iter().copied().collect();
                let explanation = explain::explain(&problem, &group, &stuck, explains);
                components.push(Component::Unsolvable(Box::new(explanation)));
                let rest: Vec<usize> = group
                    .subscriptions
                    .iter()
                    .copied()
                    .filter(|at| !aside.contains(at))
                    .collect();
                // What is set aside keeps what it has.
                let kept = aside
                    .iter()
                    .filter_map(|&at| problem.present.current.get(at).copied().flatten());
                let facts: BTreeSet<usize> = group.facts.iter().copied().chain(kept).collect();
                open.extend(problem.groups(&rest, &facts));
            }
        }
    }
    components.sort_by(|a, b| a.subscriptions().cmp(b.subscriptions()));
    Resolution {
        namespace: request.namespace.clone(),
        components,
    }
}

/// Why a group has no solution.
pub(super) struct Stuck {
    /// The Subscriptions that cannot all be met, by name.
    pub(super) core: Vec<usize>,
    /// Those of them that are set aside.
    pub(super) aside: Vec<usize>,
    /// `None` if it could not be found out in reasonable time.
    pub(super) proof: Option<Box<Proof>>,
}

enum Settled {
    /// With the needs of facts that were not looked at.
    Solved(Selection, Vec<(ChoiceId, usize)>),
    Stuck(Stuck),
}

pub(super) fn task(problem: &Problem<'_>, subscriptions: &[usize], facts: &[usize]) -> Task {
    Task {
        needs: subscriptions.iter().map(|&at| problem.roots[at]).collect(),
        facts: facts
            .iter()
            .filter_map(|at| problem.installed.get(at))
            .copied()
            .collect(),
        ignored: BTreeSet::new(),
    }
}

fn settle(problem: &Problem<'_>, group: &Group) -> Settled {
    let mut task = task(problem, &group.subscriptions, &group.facts);
    loop {
        let verdict = match search(problem, &task) {
            Answer::Solution(selection) => {
                return Settled::Solved(selection, task.ignored.into_iter().collect());
            }
            Answer::Impossible => refute(problem, &task),
            Answer::TooHard => prove(problem, &task),
        };
        let proof = match verdict {
            Verdict::Possible(choices) => {
                let selection = Selection::of(problem, &task, choices);
                return Settled::Solved(selection, task.ignored.into_iter().collect());
            }
            Verdict::Impossible(proof) => proof,
            Verdict::TooHard => {
                let everyone = group.subscriptions.clone();
                return Settled::Stuck(Stuck {
                    core: everyone.clone(),
                    aside: everyone,
                    proof: None,
                });
            }
        };
        let core = core(problem, group, &task, &proof);
        if core.is_empty() {
            // What is installed contradicts itself. That is how it is; the rest goes on without
            // the needs that cannot be met.
            let before = task.ignored.len();
            let facts: BTreeSet<ChoiceId> = task.facts.iter().copied().collect();
            task.ignored.extend(
                proof
                    .needs
                    .iter()
                    .filter(|(choice, _)| facts.contains(choice)),
            );
            if task.ignored.len() > before {
                continue;
            }
        }
        return Settled::Stuck(stuck(problem, group, &task, core, proof));
    }
}

/// The Subscriptions of a proof, without those without which there still would be no solution. They
/// are taken out one by one.
fn core(problem: &Problem<'_>, group: &Group, whole: &Task, proof: &Proof) -> Vec<usize> {
    let is_impossible = |subscriptions: &[usize]| {
        let task = Task {
            needs: task(problem, subscriptions, &[]).needs,
            ..whole.clone()
        };
        search(problem, &task) == Answer::Impossible
    };
    let involved = |at: &usize| proof.roots.contains(&problem.roots[*at]);
    let subscriptions = group.subscriptions.iter().copied();
    let mut core: Vec<usize> = subscriptions.filter(involved).collect();
    // A proof about the best candidates does not always hold for all of them.
    if !is_impossible(&core) {
        core.clone_from(&group.subscriptions);
    }
    let mut next = core.len();
    while next > 0 {
        next -= 1;
        let mut fewer = core.clone();
        fewer.remove(next);
        if is_impossible(&fewer) {
            core = fewer;
        }
    }
    core
}

fn stuck(
    problem: &Problem<'_>,
    group: &Group,
    whole: &Task,
    core: Vec<usize>,
    proof: Box<Proof>,
) -> Stuck {
    let core = if core.is_empty() {
        group.subscriptions.clone()
    } else {
        core
    };
    // A proof about the core alone has nothing in it that does not matter.
    let smaller = Task {
        needs: task(problem, &core, &[]).needs,
        ..whole.clone()
    };
    let proof = match refute(problem, &smaller) {
        Verdict::Impossible(smaller) => smaller,
        Verdict::Possible(_) | Verdict::TooHard => proof,
    };
    // An operator that runs is not to suffer from one that comes.
    let newcomers: Vec<usize> = core
        .iter()
        .copied()
        .filter(|&at| problem.present.current.get(at).copied().flatten().is_none())
        .collect();
    let aside = if newcomers.is_empty() {
        core.clone()
    } else {
        newcomers
    };
    Stuck {
        core,
        aside,
        proof: Some(proof),
    }
}
