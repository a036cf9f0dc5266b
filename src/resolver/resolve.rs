//! From a request to its outcomes: every group for itself, and what cannot be solved set aside.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::rc::Rc;

use super::budget::Effort;
use super::explain;
use super::group::split;
use super::held_back::held_back;
use super::market::{Cache, Patiences};
use super::nearest::Tries;
use super::notes;
use super::problem::{ChoiceId, Group, NeedId, Problem};
use super::proof::{Proof, Verdict, prove, refute};
use super::request::{Dependencies, Request};
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
    let (components, lacking) = match how {
        // Reasons and advice are looked for once, when it is known who gets nothing: looking for them costs
        // more than anything else.
        How::Explaining => explain_all(request, cache),
        How::Solving | How::Trying(_) => solve_in_rounds(request, cache, how).0.told(),
    };
    Resolution {
        namespace: request.namespace.clone(),
        components,
        lacking,
    }
}

fn explain_all(request: &Request<'_>, cache: &Rc<Cache>) -> (Vec<Component>, Vec<String>) {
    if !may_hold_others_up(request) {
        let round = solve_groups(request, cache, How::Explaining, &Known::default());
        if round.spared.is_empty() {
            return round.told();
        }
    }
    let known = solve_in_rounds(request, cache, How::Solving).1;
    solve_groups(request, cache, How::Explaining, &known).told()
}

/// Whether a Subscription holds a package to versions of its own, or forbids to install what is needed.
fn may_hold_others_up(request: &Request<'_>) -> bool {
    let mut subscriptions = request.subscriptions.iter();
    subscriptions.any(|it| it.version.is_some() || it.dependencies == Dependencies::Require)
}

/// What is known of Subscriptions, by their positions in the request, after all was solved once.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// Those that get nothing: what they hold a package to counts no longer for what others get.
    pub(super) given_up: BTreeSet<usize>,
    /// Those that get something whoever else does not: they are not set aside for the sake of others.
    firm: BTreeSet<usize>,
}

/// How often is looked whether a Subscription that was given up with others gets something beside them.
const TAKEN_BACK: usize = 16;

/// What came of one round.
struct Round {
    components: Vec<Component>,
    /// What installed operators lack.
    lacking: Vec<String>,
    /// The Subscriptions that got nothing.
    aside: BTreeSet<usize>,
    /// Those of them that held others up who can go on without them.
    in_vain: BTreeSet<usize>,
    /// Those of them that get something beside all others, once it is known who else gets nothing.
    spared: BTreeSet<usize>,
}

impl Round {
    /// What is told of it.
    fn told(self) -> (Vec<Component>, Vec<String>) {
        (self.components, self.lacking)
    }
}

/// Solves all groups, and again with what is known then: without what Subscriptions ask for that hold others up and get
/// nothing, and with those firm that were set aside for nothing. That is told beside what comes of it.
fn solve_in_rounds(request: &Request<'_>, cache: &Rc<Cache>, how: How<'_>) -> (Round, Known) {
    let mut solve = |known: &mut Known| {
        let mut round = solve_groups(request, cache, how, known);
        for _ in 1..ROUNDS {
            if round.spared.is_empty() {
                break;
            }
            known.firm.extend(&round.spared);
            round = solve_groups(request, cache, how, known);
        }
        round
    };
    let mut known = Known::default();
    let mut round = solve(&mut known);
    for _ in 1..ROUNDS {
        if round.in_vain.is_empty() {
            break;
        }
        known.given_up.extend(&round.in_vain);
        round = solve(&mut known);
    }
    take_back(request, round, known, &mut solve)
}

/// Of Subscriptions that were given up together, one may have got nothing only because of another. It counts again.
fn take_back(
    request: &Request<'_>,
    mut round: Round,
    mut known: Known,
    solve: &mut dyn FnMut(&mut Known) -> Round,
) -> (Round, Known) {
    let mut by_name: Vec<usize> = known.given_up.iter().copied().collect();
    by_name.sort_by_key(|&at| &request.subscriptions[at].name);
    let mut tries = TAKEN_BACK;
    loop {
        let before = known.given_up.len();
        for &at in &by_name {
            // Who is given up alone was so because of nobody else.
            if known.given_up.len() < 2 || tries == 0 {
                return (round, known);
            }
            let mut fewer = known.clone();
            if !fewer.given_up.remove(&at) {
                continue;
            }
            tries -= 1;
            let with_it = solve(&mut fewer);
            if with_it.in_vain.is_empty() && !with_it.aside.contains(&at) {
                (round, known) = (with_it, fewer);
            }
        }
        if known.given_up.len() == before {
            return (round, known);
        }
    }
}

/// Solves all groups, with what Subscriptions ask for that are given up not counting for others.
fn solve_groups(request: &Request<'_>, cache: &Rc<Cache>, how: How<'_>, known: &Known) -> Round {
    let tries = matches!(how, How::Explaining).then(Tries::new);
    let mut problem = Problem::new(request, cache.clone(), how.patience(), &known.given_up);
    let mut components = Vec::new();
    let mut all_aside = BTreeSet::new();
    let mut together = Vec::new();
    let mut chosen = HashSet::new();
    let mut lacking = Vec::new();
    let everyone: Vec<usize> = (0..request.subscriptions.len()).collect();
    let mut open = VecDeque::from(split(&problem, &everyone, &problem.present.facts()));
    while let Some(group) = open.pop_front() {
        // Each group may take as much: a hard one must not use up what another needs.
        let own = Effort::new();
        let effort = match how {
            How::Trying(shared) => shared.effort,
            How::Explaining | How::Solving => &own,
        };
        match settle(&problem, &group, &known.firm, effort, how) {
            Settled::Solved(selection, ignored) => {
                chosen.extend(selection.choices.iter().copied());
                lacking.extend(notes::lacking(&problem, &selection.choices, &ignored));
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
                together.push(stuck.aside);
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
    let spared = spared(&problem, &together, &all_aside, &chosen, how);
    let mut in_vain = problem.hold_in_vain(&all_aside);
    in_vain.retain(|at| !spared.contains(at));
    Round {
        components,
        lacking,
        in_vain,
        aside: all_aside,
        spared,
    }
}

/// How many Subscriptions that were set aside are tried once more.
const SECOND_CHANCES: usize = 32;

/// Of Subscriptions that were set aside together, those that get something beside all others, now that it is known who
/// does not: what they want is there anyway, or they are the only one of them that can have it. Where several could, which
/// of them is to go is not ours to decide.
fn spared(
    problem: &Problem<'_>,
    together: &[Vec<usize>],
    aside: &BTreeSet<usize>,
    chosen: &HashSet<ChoiceId>,
    how: How<'_>,
) -> BTreeSet<usize> {
    let mut spared = BTreeSet::new();
    let mut left = SECOND_CHANCES;
    for these in together.iter().filter(|these| these.len() > 1) {
        let is_there = |at: &usize| {
            let mut wanted = problem.needs[problem.roots[*at]].candidates.iter();
            wanted.any(|choice| chosen.contains(choice))
        };
        let there: Vec<usize> = these.iter().copied().filter(is_there).collect();
        if !there.is_empty() {
            spared.extend(there);
            continue;
        }
        if these.len() > left {
            break;
        }
        left -= these.len();
        let gets_something = |at: &usize| works_beside_others(problem, *at, aside, how);
        let mut works = these.iter().copied().filter(gets_something);
        if let (Some(only), None) = (works.next(), works.next()) {
            spared.insert(only);
        }
    }
    spared
}

/// Whether a Subscription that is set aside gets something beside all that are not.
fn works_beside_others(
    problem: &Problem<'_>,
    at: usize,
    aside: &BTreeSet<usize>,
    how: How<'_>,
) -> bool {
    let everyone = 0..problem.request().subscriptions.len();
    let with_it: Vec<usize> = everyone
        .filter(|other| *other == at || !aside.contains(other))
        .collect();
    let current = |at: &usize| problem.present.current.get(*at).copied().flatten();
    let kept = aside
        .iter()
        .filter(|other| **other != at)
        .filter_map(current);
    let facts: BTreeSet<usize> = problem.present.facts().into_iter().chain(kept).collect();
    let groups = split(problem, &with_it, &facts);
    let own = groups
        .into_iter()
        .find(|group| group.subscriptions.contains(&at));
    own.is_some_and(|group| {
        let effort = Effort::new();
        let effort = match how {
            How::Trying(shared) => shared.effort,
            How::Explaining | How::Solving => &effort,
        };
        let task = task(problem, &group.subscriptions, &group.facts);
        matches!(search(problem, &task, effort), Answer::Solution(_))
    })
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

fn settle(
    problem: &Problem<'_>,
    group: &Group,
    firm: &BTreeSet<usize>,
    effort: &Effort,
    how: How<'_>,
) -> Settled {
    let standing = Standing { problem, firm };
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
        let core = core(&standing, &task, suspects, second);
        if core.is_empty() && ignore(problem, &mut task, second) {
            continue;
        }
        let core = if core.is_empty() {
            group.subscriptions.clone()
        } else {
            core
        };
        let explains = matches!(how, How::Explaining);
        return Settled::Stuck(stuck(&standing, &task, core, explains.then_some(second)));
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

/// Who has to go if not all can stay.
struct Standing<'p, 'r> {
    problem: &'p Problem<'r>,
    firm: &'p BTreeSet<usize>,
}

impl Standing<'_, '_> {
    /// Whether a Subscription has nothing yet. An operator that runs is not to suffer from one that comes.
    fn is_new(&self, at: usize) -> bool {
        let current = self.problem.present.current.get(at).copied().flatten();
        current.is_none() && !self.firm.contains(&at)
    }
}

/// Takes out of Subscriptions, one by one, those without which there still is no solution: newcomers first, so that what
/// runs counts as long as it is looked for who does not go with it, and from the last name on. They are told by name.
fn core(
    standing: &Standing<'_, '_>,
    whole: &Task,
    suspects: Vec<usize>,
    effort: &Effort,
) -> Vec<usize> {
    let problem = standing.problem;
    let mut core = suspects;
    core.sort_by_key(|at| standing.is_new(*at));
    let mut next = core.len();
    while next > 0 {
        next -= 1;
        let mut fewer = core.clone();
        fewer.remove(next);
        if is_impossible(problem, whole, &fewer, effort) {
            core = fewer;
        }
    }
    core.sort_by_key(|&at| &problem.subscription(at).name);
    core
}

/// What is installed contradicts itself. That is how it is; the rest goes on without the needs of what is installed that
/// cannot be met. Says whether there were any. What is met today stays so: who lacks something is not to lose the rest.
fn ignore(problem: &Problem<'_>, task: &mut Task, effort: &Effort) -> bool {
    let alone = only(problem, task, &[]);
    let Verdict::Impossible(proof) = refute(problem, &alone, effort) else {
        return false;
    };
    let is_met = |need: NeedId| {
        let mut candidates = problem.needs[need].candidates.iter();
        candidates.any(|choice| problem.is_installed(*choice))
    };
    let needs = proof.needs.iter().copied();
    let (met, unmet): (Vec<_>, Vec<_>) = needs
        .filter(|(choice, _)| problem.is_installed(*choice))
        .partition(|(_, need)| is_met(*need));
    let before = task.ignored.len();
    task.ignored.extend(unmet);
    if task.ignored.len() == before {
        task.ignored.extend(met);
    }
    task.ignored.len() > before
}

/// `effort` is what the reason may take, if anybody wants to know it.
fn stuck(
    standing: &Standing<'_, '_>,
    whole: &Task,
    core: Vec<usize>,
    effort: Option<&Effort>,
) -> Stuck {
    let problem = standing.problem;
    // A proof about the core alone has nothing in it that does not matter.
    let proof = effort.map(|effort| refute(problem, &only(problem, whole, &core), effort));
    let proof = proof.and_then(|verdict| match verdict {
        Verdict::Impossible(proof) => Some(proof),
        Verdict::Possible(_) | Verdict::TooHard => None,
    });
    let is_new = |at: &usize| standing.is_new(*at);
    let newcomers: Vec<usize> = core.iter().copied().filter(is_new).collect();
    let aside = if newcomers.is_empty() {
        core.clone()
    } else {
        newcomers
    };
    Stuck { core, aside, proof }
}
