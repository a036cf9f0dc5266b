//! The proof that there is no solution.
//!
//! `pubgrub` finds it. To it everything is a package: the start, every fact, every need, whose
//! versions are its candidates in order of preference, and every slot, whose versions are the choices
//! that could take it. A candidate depends on its own needs, and on its slots in the version that is
//! itself, so that two choices cannot have the same slot.
//!
//! Candidates that need the same are one statement to pubgrub: a thousand versions that all lack one
//! API make a short proof.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use pubgrub::{
    Dependencies, DependencyProvider, DerivationTree, External, PackageResolutionStatistics,
    PubGrubError, VersionSet,
};

use super::budget::{Budget, Effort};
use super::numbers::{Numbers, comparisons};
use super::problem::{ChoiceId, NeedId, Problem, SlotId};
use super::search::Task;

/// How many candidates of a need are worth a proof.
const TELLING: usize = 200;

/// A package, to pubgrub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Item {
    Start,
    Fact(ChoiceId),
    Need(NeedId),
    Slot(SlotId),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The versions of an [`Item`].
pub(super) type Set = Numbers;
/// How a contradiction follows from facts.
pub(super) type Tree = DerivationTree<Item, Set, String>;

/// A contradiction, and the facts it follows from.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) tree: Tree,
    /// Needs that are there from the start.
    pub(super) roots: BTreeSet<NeedId>,
    /// Facts that are there from the start.
    pub(super) facts: BTreeSet<ChoiceId>,
    /// Who needs what.
    pub(super) needs: BTreeSet<(ChoiceId, NeedId)>,
    /// Who takes what.
    pub(super) slots: BTreeSet<(ChoiceId, SlotId)>,
}

/// What pubgrub says to a task.
#[derive(Debug)]
pub(super) enum Verdict {
    /// There is a solution, and this is one, not always the preferred.
    Possible(BTreeSet<ChoiceId>),
    Impossible(Box<Proof>),
    /// It took too long.
    TooHard,
}

/// Asks pubgrub for a solution, or for the proof that there is none.
pub(super) fn prove(problem: &Problem<'_>, task: &Task, effort: &Effort) -> Verdict {
    ask(problem, task, effort, usize::MAX)
}

/// Asks pubgrub why there is no solution, of which there is none for certain. Then there is none
/// with fewer candidates either, and a proof about the best few of each need is as good as one about
/// thousands, for which nobody has the time.
pub(super) fn refute(problem: &Problem<'_>, task: &Task, effort: &Effort) -> Verdict {
    ask(problem, task, effort, TELLING)
}

fn ask(problem: &Problem<'_>, task: &Task, effort: &Effort, looked_at: usize) -> Verdict {
    let provider = Provider::new(problem, task, &effort.proof, looked_at);
    match pubgrub::resolve(&provider, Item::Start, 0_u32) {
        Ok(selected) => {
            let choices = selected
                .into_iter()
                .filter_map(|(item, version)| match item {
                    Item::Fact(choice) => Some(choice),
                    Item::Need(need) => candidate(problem, need, version),
                    Item::Start | Item::Slot(_) => None,
                });
            Verdict::Possible(choices.collect())
        }
        Err(PubGrubError::NoSolution(tree)) => {
            Verdict::Impossible(Box::new(Proof::new(problem, tree)))
        }
        Err(_) => Verdict::TooHard,
    }
}

fn candidate(problem: &Problem<'_>, need: NeedId, version: u32) -> Option<ChoiceId> {
    let candidates = &problem.needs[need].candidates;
    candidates.get(version as usize).copied()
}

/// The candidates of a need that a set of its versions stands for.
pub(super) fn candidates_in(problem: &Problem<'_>, need: NeedId, set: &Set) -> Vec<ChoiceId> {
    let candidates = problem.needs[need].candidates.iter();
    let numbered = candidates.zip(0_u32..);
    let named = numbered.filter(|(_, version)| set.contains(version));
    named.map(|(choice, _)| *choice).collect()
}

impl Proof {
    fn new(problem: &Problem<'_>, tree: Tree) -> Self {
        let mut proof = Self {
            tree,
            roots: BTreeSet::new(),
            facts: BTreeSet::new(),
            needs: BTreeSet::new(),
            slots: BTreeSet::new(),
        };
        let mut externals = Vec::new();
        let mut seen: HashSet<*const Tree> = HashSet::new();
        let mut open: Vec<&Tree> = vec![&proof.tree];
        while let Some(tree) = open.pop() {
            match tree {
                DerivationTree::External(External::FromDependencyOf(from, set, to, _)) => {
                    let who = match from {
                        Item::Need(need) => candidates_in(problem, *need, set),
                        Item::Fact(fact) => vec![*fact],
                        Item::Start | Item::Slot(_) => Vec::new(),
                    };
                    externals.push((*to, who));
                }
                DerivationTree::External(_) => {}
                DerivationTree::Derived(derived) => {
                    for cause in [&derived.cause1, &derived.cause2] {
                        if seen.insert(Arc::as_ptr(cause)) {
                            open.push(cause);
                        }
                    }
                }
            }
        }
        for (to, who) in externals {
            match to {
                Item::Fact(fact) => proof.facts.extend([fact]),
                Item::Need(need) if who.is_empty() => proof.roots.extend([need]),
                Item::Need(need) => proof.needs.extend(who.into_iter().map(|it| (it, need))),
                Item::Slot(slot) => proof.slots.extend(who.into_iter().map(|it| (it, slot))),
                Item::Start => {}
            }
        }
        proof
    }
}

/// Trees are as deep as a need has candidates. Dropped by themselves, level by level, they would
/// take as much stack.
impl Drop for Proof {
    fn drop(&mut self) {
        let empty = DerivationTree::External(External::NotRoot(Item::Start, 0));
        let mut open = vec![Arc::new(std::mem::replace(&mut self.tree, empty))];
        while let Some(tree) = open.pop() {
            if let Some(DerivationTree::Derived(derived)) = Arc::into_inner(tree) {
                open.extend([derived.cause1, derived.cause2]);
            }
        }
    }
}

struct Provider<'p, 'r> {
    problem: &'p Problem<'r>,
    task: &'p Task,
    /// Which fact has a slot: facts may contradict each other, and then the first has it.
    held: HashMap<SlotId, ChoiceId>,
    facts: HashSet<ChoiceId>,
    /// When each item was first heard of: that is breadth-first, the same every time, and does
    /// not depend on how often something led to a conflict.
    order: RefCell<HashMap<Item, usize>>,
    /// How many sets pubgrub may still compare, and how many were compared when it was last asked.
    patience: &'p Budget,
    compared: Cell<usize>,
    /// How many candidates of a need are looked at.
    looked_at: usize,
}

impl<'p, 'r> Provider<'p, 'r> {
    fn new(
        problem: &'p Problem<'r>,
        task: &'p Task,
        patience: &'p Budget,
        looked_at: usize,
    ) -> Self {
        let mut held = HashMap::new();
        for &fact in &task.facts {
            for &slot in &problem.choices[fact].slots {
                held.entry(slot).or_insert(fact);
            }
        }
        Self {
            problem,
            task,
            held,
            facts: task.facts.iter().copied().collect(),
            order: RefCell::default(),
            patience,
            compared: Cell::new(comparisons()),
            looked_at,
        }
    }

    fn depends(
        &self,
        on: impl IntoIterator<Item = (Item, Set)>,
    ) -> Dependencies<Item, Set, String> {
        let mut order = self.order.borrow_mut();
        let on = on.into_iter().inspect(|(item, _)| {
            let next = order.len();
            order.entry(*item).or_insert(next);
        });
        Dependencies::Available(on.collect())
    }
}

/// The numbers of choices as pubgrub's versions. There are fewer than four thousand millions.
fn number(choice: ChoiceId) -> u32 {
    u32::try_from(choice).unwrap_or(u32::MAX)
}

impl DependencyProvider for Provider<'_, '_> {
    type P = Item;
    type V = u32;
    type VS = Set;
    type Priority = Reverse<(bool, usize)>;
    type M = String;
    type Err = TooLong;

    fn prioritize(&self, item: &Item, _: &Set, _: &PackageResolutionStatistics) -> Self::Priority {
        let heard = self.order.borrow().get(item).copied();
        // Who has a slot follows from what is chosen: before that, it could be anyone's.
        let is_slot = matches!(item, Item::Slot(_));
        Reverse((is_slot, heard.unwrap_or(usize::MAX)))
    }

    fn choose_version(&self, item: &Item, set: &Set) -> Result<Option<u32>, TooLong> {
        let versions = match item {
            Item::Start | Item::Fact(_) => 1,
            Item::Need(need) => {
                let candidates = self.problem.needs[*need].candidates.len();
                number(candidates.min(self.looked_at))
            }
            // Two candidates that take the same slot leave it to both until one is chosen.
            Item::Slot(_) => number(self.problem.choices.len()),
        };
        Ok(set.first().filter(|version| *version < versions))
    }

    fn get_dependencies(
        &self,
        item: &Item,
        version: &u32,
    ) -> Result<Dependencies<Item, Set, String>, TooLong> {
        let Self { problem, task, .. } = self;
        let all = |needs: Vec<NeedId>| {
            needs
                .into_iter()
                .map(|need| (Item::Need(need), Set::full()))
        };
        let pin = |choice: ChoiceId| {
            move |slot: SlotId| (Item::Slot(slot), Set::singleton(number(choice)))
        };
        Ok(match item {
            Item::Start => {
                let facts = task.facts.iter();
                let facts = facts.map(|&fact| (Item::Fact(fact), Set::full()));
                self.depends(all(task.needs.clone()).chain(facts))
            }
            Item::Fact(fact) => {
                let slots = problem.choices[*fact].slots.iter().copied();
                let held = slots.filter(|slot| self.held.get(slot) == Some(fact));
                self.depends(
                    held.map(pin(*fact))
                        .chain(all(task.needs_of(problem, *fact))),
                )
            }
            Item::Need(need) => match candidate(problem, *need, *version) {
                Some(choice) if !self.facts.contains(&choice) => {
                    let slots = problem.choices[choice].slots.iter().copied();
                    let needs = all(task.needs_of(problem, choice));
                    self.depends(slots.map(pin(choice)).chain(needs))
                }
                // A fact is there whoever needs it.
                _ => self.depends([]),
            },
            Item::Slot(_) => self.depends([]),
        })
    }

    fn should_cancel(&self) -> Result<(), TooLong> {
        let compared = comparisons();
        let since = compared.wrapping_sub(self.compared.replace(compared));
        if self.patience.spend(since) {
            Ok(())
        } else {
            Err(TooLong)
        }
    }
}

/// Pubgrub was stopped.
#[derive(Debug, thiserror::Error)]
#[error("too many sets to compare")]
pub(super) struct TooLong;
