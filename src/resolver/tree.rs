//! The tree of a proof in words.

use std::collections::HashSet;
use std::sync::Arc;

use pubgrub::{DerivationTree, External, Term, VersionSet as _};

use super::explanation::Reason;
use super::problem::Problem;
use super::proof::{Item, Set, Tree, candidates_in};
use super::words;

/// Deeper reasons are cut off: a reader is lost long before, and JSON parsers have limits.
const DEEPEST: usize = 60;
/// So are further ones when there are as many as that.
const MOST: usize = 2_000;
/// How long one statement is at most.
const LONGEST: usize = 1_000;

/// A proof's tree in words. What was told once is not told again.
pub(super) fn reason(problem: &Problem<'_>, tree: &Tree) -> Reason {
    Teller {
        problem,
        told: HashSet::new(),
    }
    .tell(tree, 0)
}

struct Teller<'p, 'r> {
    problem: &'p Problem<'r>,
    told: HashSet<*const Tree>,
}

impl Teller<'_, '_> {
    fn tell(&mut self, tree: &Tree, depth: usize) -> Reason {
        match tree {
            DerivationTree::External(external) => Reason {
                says: words::bounded(&self.fact(external), LONGEST),
                because: Vec::new(),
            },
            DerivationTree::Derived(derived) => {
                let mut terms: Vec<(Item, &Term<Set>)> = derived
                    .terms
                    .iter()
                    .map(|(item, term)| (*item, term))
                    .collect();
                terms.sort_by_key(|(item, _)| *item);
                let says = words::bounded(&self.conclusion(&terms), LONGEST);
                let mut because = Vec::new();
                for cause in [&derived.cause1, &derived.cause2] {
                    let is_new = self.told.insert(Arc::as_ptr(cause));
                    if is_new && depth < DEEPEST && self.told.len() <= MOST {
                        because.push(self.tell(cause, depth + 1));
                    }
                }
                Reason { says, because }
            }
        }
    }

    fn fact(&self, external: &External<Item, Set, String>) -> String {
        match external {
            External::NotRoot(..) => "the Subscriptions are to be met".to_owned(),
            External::NoVersions(item, set) => match item {
                Item::Need(need) if *set == Set::full() => format!(
                    "nothing offers {}",
                    words::what(self.problem, &self.problem.needs[*need].what)
                ),
                _ => format!("there is no other candidate for {}", self.item(*item)),
            },
            External::FromDependencyOf(from, set, to, _) => match (from, to) {
                (Item::Start, Item::Need(_)) => format!("{} is asked for", self.item(*to)),
                (Item::Start, _) => format!("{} is installed", self.item(*to)),
                (_, Item::Slot(slot)) => format!(
                    "{} takes its place: {}",
                    self.who(*from, set),
                    words::slot(&self.problem.slots[*slot])
                ),
                _ => format!("{} needs {}", self.who(*from, set), self.item(*to)),
            },
            External::Custom(_, _, words) => words.clone(),
        }
    }

    fn item(&self, item: Item) -> String {
        match item {
            Item::Start => "the whole".to_owned(),
            Item::Need(need) => words::what(self.problem, &self.problem.needs[need].what),
            Item::Fact(choice) => format!(
                "{} ({})",
                words::choice(self.problem, choice),
                words::origin(self.problem, choice)
            ),
            Item::Slot(slot) => words::slot(&self.problem.slots[slot]),
        }
    }

    fn conclusion(&self, terms: &[(Item, &Term<Set>)]) -> String {
        let mut without: Vec<String> = Vec::new();
        let mut with: Vec<String> = Vec::new();
        for (item, term) in terms {
            match (item, term) {
                (Item::Start, _) => {}
                (item, Term::Positive(set)) => with.push(self.some_of(*item, set)),
                (item, Term::Negative(set)) => without.push(self.some_of(*item, set)),
            }
        }
        match (with.is_empty(), without.is_empty()) {
            (true, true) => "the Subscriptions cannot be met".to_owned(),
            (false, true) if with.len() == 1 => format!("{} cannot be had", with.join("")),
            (false, true) => format!("{} do not go together", words::list(&with)),
            (true, false) => format!("{} must be had", words::either(&without)),
            (false, false) => format!(
                "{} cannot be had without {}",
                words::list(&with),
                words::either(&without)
            ),
        }
    }

    /// A fact, or the candidates of a need that a set names.
    fn who(&self, item: Item, set: &Set) -> String {
        match item {
            Item::Need(need) => {
                words::choices(self.problem, &candidates_in(self.problem, need, set))
            }
            _ => self.item(item),
        }
    }

    /// An item, or those of its candidates that a set names.
    fn some_of(&self, item: Item, set: &Set) -> String {
        match item {
            Item::Need(_) if *set != Set::full() => {
                format!("{} by {}", self.item(item), self.who(item, set))
            }
            Item::Slot(slot) => {
                let holder = set
                    .only()
                    .map(|choice| words::choice(self.problem, choice as usize));
                match holder {
                    Some(holder) => format!("{holder} in its place"),
                    None => words::slot(&self.problem.slots[slot]),
                }
            }
            _ => self.item(item),
        }
    }
}
