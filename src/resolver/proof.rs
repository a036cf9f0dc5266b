//! The proof that there is no solution.
//!
//! `pubgrub` finds it. To it everything is a package: the start, every need, whose versions are its
//! candidates in order of preference, every choice, which has one version, and every slot, whose
//! versions are the choices that could take it. A choice depends on its needs, and on its slots in
//! the version that is itself, so that two of them cannot have the same slot.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use pubgrub::{
    Dependencies, DependencyProvider, DerivationTree, External, PackageResolutionStatistics,
    PubGrubError, Ranges,
};

use super::problem::{ChoiceId, NeedId, Problem, SlotId};
use super::search::Task;

/// How many decisions pubgrub may take.
const PATIENCE: usize = 200_000;

/// A package, to pubgrub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Item {
    Start,
    Need(NeedId),
    Choice(ChoiceId),
    Slot(SlotId),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The versions of an [`Item`].
pub(super) type Set = Ranges<u32>;
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

/// Asks pubgrub.
pub(super) fn prove(problem: &Problem<'_>, task: &Task) -> Verdict {
    let provider = Provider::new(problem, task);
    match pubgrub::resolve(&provider, Item::Start, 0_u32) {
        Ok(selected) => {
            let choices = selected.into_iter().filter_map(|(item, _)| match item {
                Item::Choice(choice) => Some(choice),
                _ => None,
            });
            Verdict::Possible(choices.collect())
        }
        Err(PubGrubError::NoSolution(tree)) => {
            Verdict::Impossible(Box::new(Proof::new(tree.into())))
        }
        Err(_) => Verdict::TooHard,
    }
}

impl Proof {
    fn new(tree: Tree) -> Self {
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
                DerivationTree::External(External::FromDependencyOf(from, _, to, _)) => {
                    externals.push((*from, *to));
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
        for both in externals {
            match both {
                (Item::Start, Item::Need(need)) => drop(proof.roots.insert(need)),
                (Item::Start, Item::Choice(fact)) => drop(proof.facts.insert(fact)),
                (Item::Choice(choice), Item::Need(need)) => {
                    drop(proof.needs.insert((choice, need)))
                }
                (Item::Choice(choice), Item::Slot(slot)) => {
                    drop(proof.slots.insert((choice, slot)))
                }
                _ => {}
            }
        }
        proof
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
    decisions: Cell<usize>,
}

impl<'p, 'r> Provider<'p, 'r> {
    fn new(problem: &'p Problem<'r>, task: &'p Task) -> Self {
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
            decisions: Cell::new(0),
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
            Item::Start | Item::Choice(_) => 1,
            Item::Need(need) => number(self.problem.needs[*need].candidates.len()),
            // Two choices of a need that take the same slot leave it to both until one is chosen.
            Item::Slot(_) => number(self.problem.choices.len()),
        };
        Ok((0..versions).find(|version| set.contains(version)))
    }

    fn get_dependencies(
        &self,
        item: &Item,
        version: &u32,
    ) -> Result<Dependencies<Item, Set, String>, TooLong> {
        Ok(match item {
            Item::Start => {
                let needs = self
                    .task
                    .needs
                    .iter()
                    .map(|&need| (Item::Need(need), Set::full()));
                let facts = self
                    .task
                    .facts
                    .iter()
                    .map(|&fact| (Item::Choice(fact), Set::full()));
                self.depends(needs.chain(facts))
            }
            Item::Need(need) => {
                let candidates = &self.problem.needs[*need].candidates;
                let choice = candidates.get(*version as usize);
                self.depends(choice.map(|&choice| (Item::Choice(choice), Set::full())))
            }
            Item::Choice(choice) => {
                let Self {
                    problem,
                    task,
                    held,
                    facts,
                    ..
                } = self;
                let is_fact = facts.contains(choice);
                let needs = if is_fact {
                    task.needs_of_fact(problem, *choice)
                } else {
                    problem.choices[*choice].needs.clone()
                };
                let slots = problem.choices[*choice].slots.iter().copied();
                let slots = slots.filter(|slot| !is_fact || held.get(slot) == Some(choice));
                let needs = needs
                    .into_iter()
                    .map(|need| (Item::Need(need), Set::full()));
                let slots = slots.map(|slot| (Item::Slot(slot), Set::singleton(number(*choice))));
                self.depends(slots.chain(needs))
            }
            Item::Slot(_) => self.depends([]),
        })
    }

    fn should_cancel(&self) -> Result<(), TooLong> {
        self.decisions.set(self.decisions.get() + 1);
        if self.decisions.get() > PATIENCE {
            Err(TooLong)
        } else {
            Ok(())
        }
    }
}

/// Pubgrub was stopped.
#[derive(Debug, thiserror::Error)]
#[error("too many decisions")]
pub(super) struct TooLong;
