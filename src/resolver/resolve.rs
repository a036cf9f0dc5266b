//! From a request to its outcomes: every group for itself, and what cannot be solved set aside.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use super::budget::Effort;
use super::explain;
use super::group::split;
use super::held_back::held_back;
use super::market::{Cache, Patiences};
use super::nearest::Tries;
use super::problem::{ChoiceId, Group, NeedId, Problem};
use super::proof::{Proof, Verdict, prove, refute};
use super::request::Request;
use super::search::{Answer, Selection, Task, search};
use super::solution::{Component, Resolution, Solution};

/// Resolves the Subscriptions of a namespace.
///
/// The same request always gives the same answer, byte by byte.
pub fn resolve(request: &Request<'_>) -> Resolution {
    resolve_with(request, &Rc::default(), How::Explaining)
}

/// As [`resolve`], for those who only want to know what would be installed: what cannot be met is
/// not explained, and upgrades that are held back are not told.
pub fn solve(request: &Request<'_>) -> Resolution {
    resolve_with(request, &Rc::default(), How::Solving)
}

/// How a request is resolved.
#[derive(Clone, Copy)]
pub(super) enum How<'e> {
    /// With all reasons.
    Explaining,
    /// Without reasons.
    Solving,
    /// Without reasons, to see whether a change helps.
    Trying(Try<'e>),
}

/// What all groups of all tries together may take.
#[derive(Clone, Copy)]
pub(super) struct Try<'e> {
    pub(super) effort: &'e Effort,
    pub(super) patience: &'e Rc<Patiences>,
}

impl How<'_> {
    /// The patience with packages. What is thrown away costs nothing of what counts in the end.
    fn patience(self) -> Rc<Patiences> {
        match self {
            How::Trying(shared) => shared.patience.clone(),
            How::Explaining | How::Solving => Patiences::for_answers(1),
        }
    }
}

/// How often all is solved again because Subscriptions turned out to get nothing that held a package to
/// versions of their own. Once is nearly always enough.
const ROUNDS: usize = 4;

/// As [`resolve`], with packages that were read before. Looking for the nearest change that works
/// resolves changed requests, whose own failures nobody reads.
pub(super) fn resolve_with(request: &Request<'_>, cache: &Rc<Cache>, how: How<'_>) -> Resolution {
    let components = match how {
        // Reasons and advice are looked for once, when it is known who gets nothing: looking for them costs
        // more than anything else.
        How::Explaining => {
            let given_up = if may_hold_others_up(request) {
                solve_in_rounds(request, cache, How::Solving).1
            } else {
                BTreeSet::new()
            };
            solve_groups(request, cache, how, &given_up).components
        }
        How::Solving | How::Trying(_) => solve_in_rounds(request, cache, how).0,
    };
    Resolution {
        namespace: request.namespace.clone(),
        components,
    }
}

/// Whether a Subscription holds a package to versions of its own.
fn may_hold_others_up(request: &Request<'_>) -> bool {
    let mut subscriptions = request.subscriptions.iter();
    subscriptions.any(|subscription| subscription.version.is_some())
}

/// How often is looked whether a Subscription that was given up with others gets something beside them.
const TAKEN_BACK: usize = 16;

/// What came of one round.
struct Round {
    components: Vec<Component>,
    /// The Subscriptions that got nothing.
    aside: BTreeSet<usize>,
    /// Those of them that held others up who can go on without them.
    in_vain: BTreeSet<usize>,
}

/// Solves all groups, and again without what Subscriptions ask for that hold others up and get nothing. These
/// are told beside what comes of it.
fn solve_in_rounds(
    request: &Request<'_>,
    cache: &Rc<Cache>,
    how: How<'_>,
) -> (Vec<Component>, BTreeSet<usize>) {
    let mut given_up = BTreeSet::new();
    let mut round = solve_groups(request, cache, how, &given_up);
    let mut rounds = 1;
    while !round.in_vain.is_empty() && rounds < ROUNDS {
        given_up.extend(&round.in_vain);
        round = solve_groups(request, cache, how, &given_up);
        rounds += 1;
    }
    let mut solve = |given_up: &BTreeSet<usize>| solve_groups(request, cache, how, given_up);
    take_back(request, round, given_up, &mut solve)
}

/// Of Subscriptions that were given up together, one may have got nothing only because of another. It counts again.
fn take_back(
    request: &Request<'_>,
    mut round: Round,
    mut given_up: BTreeSet<usize>,
    solve: &mut dyn FnMut(&BTreeSet<usize>) -> Round,
) -> (Vec<Component>, BTreeSet<usize>) {
    let mut by_name: Vec<usize> = given_up.iter().copied().collect();
    by_name.sort_by_key(|&at| &request.subscriptions[at].name);
    let mut tries = TAKEN_BACK;
    loop {
        let before = given_up.len();
        for &at in &by_name {
            // Who is given up alone was so because of nobody else.
            if given_up.len() < 2 || tries == 0 {
                return (round.components, given_up);
            }
            let mut fewer = given_up.clone();
            if !fewer.remove(&at) {
                continue;
            }
            tries -= 1;
            let with_it = solve(&fewer);
            if with_it.in_vain.is_empty() && !with_it.aside.contains(&at) {
                (round, given_up) = (with_it, fewer);
            }
        }
        if given_up.len() == before {
            return (round.components, given_up);
        }
    }
}

/// Solves all groups, with what Subscriptions ask for that are given up not counting for others.
fn solve_groups(
    request: &Request<'_>,
    cache: &Rc<Cache>,
    how: How<'_>,
    given_up: &BTreeSet<usize>,
) -> Round {
    let tries = matches!(how, How::Explaining).then(Tries::new);
    let mut problem = Problem::new(request, cache.clone(), how.patience(), given_up);
    let mut components = Vec::new();
    let mut all_aside = BTreeSet::new();
    let everyone: Vec<usize> = (0..request.subscriptions.len()).collect();
    let mut open = VecDeque::from(split(&problem, &everyone, &problem.present.facts()));
    while let Some(group) = open.pop_front() {
        // Each group may take as much: a hard one must not use up what another needs.
        let own = Effort::new();
        let effort = match how {
            How::Trying(shared) => shared.effort,
            How::Explaining | How::Solving => &own,
        };
        match settle(&problem, &group, effort, how) {
            Settled::Solved(selection, ignored) => {
                let mut solution = Solution::new(&problem, &group, &selection, &ignored);
                if tries.is_some() {
                    let settled = Outcome {
                        selection: &selection,
                        ignored: &ignored,
                    };
                    solution.held_back = held_back(&mut problem, &group, settled, effort);
                }
                // Facts that nobody asks about, and that need nothing, are not worth a word.
                if !group.subscriptions.is_empty() || !solution.install.is_empty() {
                    components.push(Component::Solved(solution));
                }
            }
            // Only facts are left, and whether they go together is too hard to say. Nobody asks, and
            // they stay as they are: looking at them again would never end.
            Settled::Stuck(stuck) if stuck.aside.is_empty() => {}
            Settled::Stuck(stuck) => {
                let aside: BTreeSet<usize> = stuck.aside.iter().copied().collect();
                let explanation = explain::explain(&problem, &stuck, tries.as_ref());
                components.push(Component::Unsolvable(Box::new(explanation)));
                let rest: Vec<usize> = group
                    .subscriptions
                    .iter()
                    .copied()
                    .filter(|at| !aside.contains(at))
                    .collect();
                problem.set_aside(&aside);
                all_aside.extend(&aside);
                // What is set aside keeps what it has.
                let kept = aside
                    .iter()
                    .filter_map(|&at| problem.present.current.get(at).copied().flatten());
                let facts: BTreeSet<usize> = group.facts.iter().copied().chain(kept).collect();
                open.extend(split(&problem, &rest, &facts));
            }
        }
    }
    components.sort_by(|a, b| a.subscriptions().cmp(b.subscriptions()));
    Round {
        components,
        in_vain: problem.hold_in_vain(&all_aside),
        aside: all_aside,
    }
}

/// Why a group has no solution.
pub(super) struct Stuck {
    /// The Subscriptions that cannot all be met, by name.
    pub(super) core: Vec<usize>,
    /// Those of them that are set aside.
    pub(super) aside: Vec<usize>,
    /// `None` if it could not be found out in reasonable time, or nobody wants to know.
    pub(super) proof: Option<Box<Proof>>,
}

/// Of so many Subscriptions those that cannot be met are found faster by leaving them out one after
/// the other than by a proof.
const FEW: usize = 16;

/// What a group gets.
#[derive(Clone, Copy)]
pub(super) struct Outcome<'s> {
    pub(super) selection: &'s Selection,
    /// The needs of facts that were not looked at.
    pub(super) ignored: &'s [(ChoiceId, NeedId)],
}

enum Settled {
    /// With the needs of facts that were not looked at.
    Solved(Selection, Vec<(ChoiceId, NeedId)>),
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

fn settle(problem: &Problem<'_>, group: &Group, effort: &Effort, how: How<'_>) -> Settled {
    let mut task = task(problem, &group.subscriptions, &group.facts);
    // Whom it is due to is found out with an effort of its own: however hard it was to see that there is no
    // solution, nobody is set aside who has nothing to do with that.
    let own = Effort::new();
    let second = match how {
        How::Trying(shared) => shared.effort,
        How::Explaining | How::Solving => &own,
    };
    loop {
        let suspects = match search(problem, &task, effort) {
            Answer::Solution(selection) => {
                return Settled::Solved(selection, task.ignored.into_iter().collect());
            }
            Answer::Impossible if is_quick_to_thin_out(group, effort) => {
                group.subscriptions.clone()
            }
            Answer::Impossible => match refute(problem, &task, second) {
                Verdict::Impossible(proof) => in_proof(problem, group, &task, &proof, second),
                Verdict::Possible(_) | Verdict::TooHard => group.subscriptions.clone(),
            },
            Answer::TooHard => match prove(problem, &task, effort) {
                Verdict::Possible(choices) => {
                    let selection = Selection::of(problem, &task, choices);
                    return Settled::Solved(selection, task.ignored.into_iter().collect());
                }
                // It is about all candidates, and so holds for those that it names.
                Verdict::Impossible(proof) => named_in(problem, group, &proof),
                Verdict::TooHard => {
                    let everyone = group.subscriptions.clone();
                    return Settled::Stuck(Stuck {
                        core: everyone.clone(),
                        aside: everyone,
                        proof: None,
                    });
                }
            },
        };
        let core = core(problem, &task, suspects, second);
        if core.is_empty() && ignore(problem, &mut task, second) {
            continue;
        }
        let core = if core.is_empty() {
            group.subscriptions.clone()
        } else {
            core
        };
        let explains = matches!(how, How::Explaining);
        return Settled::Stuck(stuck(problem, &task, core, explains.then_some(second)));
    }
}

/// Whether those who cannot be met are found by leaving them out one after the other, each of which takes
/// about as long as it took to see that there is no solution.
fn is_quick_to_thin_out(group: &Group, effort: &Effort) -> bool {
    let subscriptions = group.subscriptions.len();
    subscriptions <= FEW && effort.search.affords(subscriptions)
}

/// The task of these Subscriptions beside the same facts.
fn only(problem: &Problem<'_>, whole: &Task, subscriptions: &[usize]) -> Task {
    Task {
        needs: task(problem, subscriptions, &[]).needs,
        ..whole.clone()
    }
}

fn is_impossible(
    problem: &Problem<'_>,
    whole: &Task,
    subscriptions: &[usize],
    effort: &Effort,
) -> bool {
    search(problem, &only(problem, whole, subscriptions), effort) == Answer::Impossible
}

/// The Subscriptions that a proof speaks of.
fn named_in(problem: &Problem<'_>, group: &Group, proof: &Proof) -> Vec<usize> {
    let involved = |at: &usize| proof.roots.contains(&problem.roots[*at]);
    let subscriptions = group.subscriptions.iter().copied();
    subscriptions.filter(involved).collect()
}

/// The Subscriptions that a proof speaks of; all of them if it does not hold for these alone: one
/// about the best candidates does not always hold for all of them.
fn in_proof(
    problem: &Problem<'_>,
    group: &Group,
    whole: &Task,
    proof: &Proof,
    effort: &Effort,
) -> Vec<usize> {
    let named = named_in(problem, group, proof);
    if is_impossible(problem, whole, &named, effort) {
        named
    } else {
        group.subscriptions.clone()
    }
}

/// Takes out of Subscriptions, one by one from the last, those without which there still is no
/// solution.
fn core(problem: &Problem<'_>, whole: &Task, mut core: Vec<usize>, effort: &Effort) -> Vec<usize> {
    let mut next = core.len();
    while next > 0 {
        next -= 1;
        let mut fewer = core.clone();
        fewer.remove(next);
        if is_impossible(problem, whole, &fewer, effort) {
            core = fewer;
        }
    }
    core
}

/// What is installed contradicts itself. That is how it is; the rest goes on without the needs of
/// facts that cannot be met. Says whether there were any.
fn ignore(problem: &Problem<'_>, task: &mut Task, effort: &Effort) -> bool {
    let alone = only(problem, task, &[]);
    let Verdict::Impossible(proof) = refute(problem, &alone, effort) else {
        return false;
    };
    let facts: BTreeSet<ChoiceId> = task.facts.iter().copied().collect();
    let before = task.ignored.len();
    let needs = proof
        .needs
        .iter()
        .filter(|(choice, _)| facts.contains(choice));
    task.ignored.extend(needs);
    task.ignored.len() > before
}

/// `effort` is what the reason may take, if anybody wants to know it.
fn stuck(problem: &Problem<'_>, whole: &Task, core: Vec<usize>, effort: Option<&Effort>) -> Stuck {
    // A proof about the core alone has nothing in it that does not matter.
    let proof = effort.map(|effort| refute(problem, &only(problem, whole, &core), effort));
    let proof = proof.and_then(|verdict| match verdict {
        Verdict::Impossible(proof) => Some(proof),
        Verdict::Possible(_) | Verdict::TooHard => None,
    });
    // An operator that runs is not to suffer from one that comes.
    let is_new = |at: &usize| {
        problem
            .present
            .current
            .get(*at)
            .copied()
            .flatten()
            .is_none()
    };
    let newcomers: Vec<usize> = core.iter().copied().filter(is_new).collect();
    let aside = if newcomers.is_empty() {
        core.clone()
    } else {
        newcomers
    };
    Stuck { core, aside, proof }
}
