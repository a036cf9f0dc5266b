//! The search for the preferred solution of a group.
//!
//! Needs are decided one after the other, breadth-first from the Subscriptions by name: each takes
//! the first of its candidates that leads to a solution, unless one of them is chosen already. That
//! is the order in which OLM decides, and the first solution in it is the one that is wanted.
//!
//! A dead end does not go back step by step. It knows which choices it is due to, goes back to the
//! last of these, and remembers that they do not go together. Nothing is skipped that could hold a
//! solution, so that the answer is the same as that of trying everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::budget::{Budget, Effort};
use super::problem::{ChoiceId, NeedId, Problem, SlotId};

/// Longer lists of choices that do not go together are not worth remembering.
const MEMORABLE: usize = 6;
/// How many of them are remembered.
const MEMORY: usize = 4_096;

/// What is to be solved.
#[derive(Debug, Default, Clone)]
pub(super) struct Task {
    /// Needs that must be met, in the order in which they are decided.
    pub(super) needs: Vec<NeedId>,
    /// Choices that are in every solution. They may contradict each other: they are what is.
    pub(super) facts: Vec<ChoiceId>,
    /// Needs of what is installed that are not looked at.
    pub(super) ignored: BTreeSet<(ChoiceId, NeedId)>,
}

impl Task {
    /// All needs that are there from the start, with those of the facts.
    pub(super) fn all_needs(&self, problem: &Problem<'_>) -> Vec<NeedId> {
        let mut needs = self.needs.clone();
        for &fact in &self.facts {
            needs.extend(self.needs_of(problem, fact));
        }
        needs
    }

    /// The needs of a choice that count.
    pub(super) fn needs_of(&self, problem: &Problem<'_>, choice: ChoiceId) -> Vec<NeedId> {
        let needs = problem.choices[choice].needs.iter().copied();
        needs
            .filter(|&need| !self.ignored.contains(&(choice, need)))
            .collect()
    }
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The preferred solution.
    Solution(Selection),
    /// There is none.
    Impossible,
    /// The search gave up.
    TooHard,
}

/// A solution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// What is in it, facts included.
    pub(super) choices: BTreeSet<ChoiceId>,
    /// Which of them each need was decided for; others may meet it as well.
    pub(super) met: BTreeMap<NeedId, ChoiceId>,
}

impl Selection {
    /// A solution of which nothing more is known than what is in it.
    pub(super) fn of(problem: &Problem<'_>, task: &Task, choices: BTreeSet<ChoiceId>) -> Self {
        let needs = choices
            .iter()
            .flat_map(|&choice| task.needs_of(problem, choice));
        let met = needs.chain(task.needs.iter().copied()).filter_map(|need| {
            let mut candidates = problem.needs[need].candidates.iter();
            Some((
                need,
                *candidates.find(|candidate| choices.contains(candidate))?,
            ))
        });
        Self {
            met: met.collect(),
            choices,
        }
    }
}

/// Finds the preferred solution.
pub(super) fn search(problem: &Problem<'_>, task: &Task, effort: &Effort) -> Answer {
    Search::new(problem, task, &effort.search).run()
}

/// One need that was decided.
struct Decision {
    /// The position of the next candidate to try.
    next: usize,
    chosen: Option<ChoiceId>,
    /// What was chosen before and meets the need.
    met: Option<ChoiceId>,
    /// The length of the queue before this decision.
    queue: usize,
    /// The choices that rejected candidates clash with.
    blamed: BTreeSet<ChoiceId>,
}

struct Search<'p, 'r> {
    problem: &'p Problem<'r>,
    task: &'p Task,
    /// What may still be looked at.
    patience: &'p Budget,
    facts: BTreeSet<ChoiceId>,
    /// The needs to be decided, with who has them.
    queue: Vec<(NeedId, Option<ChoiceId>)>,
    decisions: Vec<Decision>,
    /// What is chosen, and at which decision; facts at none.
    chosen: HashMap<ChoiceId, Option<usize>>,
    taken: HashMap<SlotId, ChoiceId>,
    /// Choices that do not go together, under each of them.
    nogoods: HashMap<ChoiceId, Vec<BTreeSet<ChoiceId>>>,
    remembered: usize,
}

/// What to do with a candidate.
enum Verdict {
    Fits,
    /// It does not go with these.
    Clashes(BTreeSet<ChoiceId>),
}

impl<'p, 'r> Search<'p, 'r> {
    fn new(problem: &'p Problem<'r>, task: &'p Task, patience: &'p Budget) -> Self {
        let mut search = Self {
            problem,
            task,
            patience,
            facts: task.facts.iter().copied().collect(),
            queue: task
                .all_needs(problem)
                .into_iter()
                .map(|need| (need, None))
                .collect(),
            decisions: Vec::new(),
            chosen: HashMap::new(),
            taken: HashMap::new(),
            nogoods: HashMap::new(),
            remembered: 0,
        };
        for &fact in &task.facts {
            search.chosen.insert(fact, None);
            for &slot in &problem.choices[fact].slots {
                search.taken.entry(slot).or_insert(fact);
            }
        }
        search
    }

    fn run(mut self) -> Answer {
        while let Some(&(need, _)) = self.queue.get(self.decisions.len()) {
            let met = self.met_already(need);
            let decision = Decision {
                next: 0,
                chosen: None,
                met,
                queue: self.queue.len(),
                blamed: BTreeSet::new(),
            };
            self.decisions.push(decision);
            let goes_on = met.is_some() || self.decide();
            if self.patience.is_spent() {
                return Answer::TooHard;
            }
            if !goes_on {
                return Answer::Impossible;
            }
        }
        Answer::Solution(self.selection())
    }

    fn met_already(&self, need: NeedId) -> Option<ChoiceId> {
        let candidates = &self.problem.needs[need].candidates;
        self.patience.spend(1 + candidates.len());
        let mut candidates = candidates.iter();
        candidates
            .find(|choice| self.chosen.contains_key(choice))
            .copied()
    }

    fn selection(self) -> Selection {
        let mut met = BTreeMap::new();
        for ((need, _), decision) in self.queue.iter().zip(&self.decisions) {
            let by = decision.chosen.or(decision.met);
            met.extend(
                by.map(|choice| (*need, choice))
                    .filter(|(need, _)| !met.contains_key(need)),
            );
        }
        Selection {
            choices: self.chosen.into_keys().collect(),
            met,
        }
    }

    /// Takes the next candidate for the last decision, or goes back to where another one may help.
    fn decide(&mut self) -> bool {
        // Whoever gives up says so in `run`.
        while !self.patience.is_spent() {
            let at = self.decisions.len() - 1;
            let (need, owner) = self.queue[at];
            let candidates = &self.problem.needs[need].candidates;
            while let Some(&candidate) = candidates.get(self.decisions[at].next) {
                self.decisions[at].next += 1;
                match self.judge(candidate) {
                    Verdict::Fits => {
                        self.choose(candidate, at);
                        return true;
                    }
                    Verdict::Clashes(with) => self.decisions[at].blamed.extend(with),
                }
            }
            let mut blamed = std::mem::take(&mut self.decisions[at].blamed);
            blamed.extend(owner);
            blamed.retain(|choice| !self.facts.contains(choice));
            let Some(culprit) = blamed
                .iter()
                .filter_map(|choice| *self.chosen.get(choice)?)
                .max()
            else {
                return false;
            };
            self.remember(&blamed);
            self.undo_behind(culprit);
            let undone = self.release(culprit);
            blamed.remove(&undone);
            self.decisions[culprit].blamed.extend(blamed);
        }
        false
    }

    fn judge(&self, candidate: ChoiceId) -> Verdict {
        let known = self.nogoods.get(&candidate).map_or(0, Vec::len);
        let slots = self.problem.choices[candidate].slots.len();
        self.patience.spend(1 + slots + known);
        for slot in &self.problem.choices[candidate].slots {
            if let Some(&holder) = self.taken.get(slot) {
                return Verdict::Clashes(BTreeSet::from([holder]));
            }
        }
        for nogood in self.nogoods.get(&candidate).into_iter().flatten() {
            let others = || nogood.iter().filter(|choice| **choice != candidate);
            if others().all(|choice| self.chosen.contains_key(choice)) {
                return Verdict::Clashes(others().copied().collect());
            }
        }
        Verdict::Fits
    }

    fn choose(&mut self, choice: ChoiceId, at: usize) {
        self.decisions[at].chosen = Some(choice);
        self.chosen.insert(choice, Some(at));
        for &slot in &self.problem.choices[choice].slots {
            self.taken.insert(slot, choice);
        }
        for need in self.task.needs_of(self.problem, choice) {
            self.queue.push((need, Some(choice)));
        }
    }

    /// Takes back every decision behind this one.
    fn undo_behind(&mut self, at: usize) {
        while self.decisions.len() > at + 1 {
            self.release(self.decisions.len() - 1);
            self.decisions.pop();
        }
    }

    /// Takes back what was chosen at a decision, which stays to be decided anew.
    fn release(&mut self, at: usize) -> ChoiceId {
        let decision = &mut self.decisions[at];
        self.queue.truncate(decision.queue);
        let Some(choice) = decision.chosen.take() else {
            return ChoiceId::MAX;
        };
        self.chosen.remove(&choice);
        for slot in &self.problem.choices[choice].slots {
            if self.taken.get(slot) == Some(&choice) {
                self.taken.remove(slot);
            }
        }
        choice
    }

    fn remember(&mut self, blamed: &BTreeSet<ChoiceId>) {
        if blamed.len() > MEMORABLE || self.remembered >= MEMORY {
            return;
        }
        self.remembered += 1;
        for &choice in blamed {
            self.nogoods.entry(choice).or_default().push(blamed.clone());
        }
    }
}
