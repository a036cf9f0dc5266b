//! A proof in words.
//!
//! The proof says which facts contradict each other. The words follow the needs: what was asked,
//! who could meet it, and for each of these what they need or what they clash with, as far as the
//! proof speaks of it. Candidates that fail for the same reasons are told in one line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::candidates::Obstacle;
use super::predicate::{Reach, Requirement};
use super::problem::{ChoiceId, NeedId, Problem, SlotId, SlotKey, What};
use super::proof::Proof;
use super::resolve::Stuck;
use super::words;
use crate::version::Version;

/// How deep needs of needs are told in the one-line summary.
const SUMMARY_DEPTH: usize = 3;
/// How many lines a story has at most: nobody reads more, and the tree has it all.
const LONGEST_STORY: usize = 60;

/// Why one candidate cannot be had, as far as the proof speaks of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Failing {
    needs: Vec<NeedId>,
    /// Others that want something only one can have.
    rivals: BTreeSet<ChoiceId>,
}

pub(super) struct Story<'p, 'r> {
    problem: &'p Problem<'r>,
    proof: &'p Proof,
    /// Who takes a slot in the proof.
    takers: HashMap<SlotId, Vec<ChoiceId>>,
    told: BTreeSet<NeedId>,
    pub(super) lines: Vec<String>,
}

impl<'p, 'r> Story<'p, 'r> {
    pub(super) fn new(problem: &'p Problem<'r>, proof: &'p Proof) -> Self {
        let mut takers: HashMap<SlotId, Vec<ChoiceId>> = HashMap::new();
        for &(choice, slot) in &proof.slots {
            takers.entry(slot).or_default().push(choice);
        }
        Self {
            problem,
            proof,
            takers,
            told: BTreeSet::new(),
            lines: Vec::new(),
        }
    }

    /// Tells the whole story.
    pub(super) fn tell(&mut self, stuck: &Stuck) {
        for &at in &stuck.aside {
            let asks = words::what(self.problem, &What::Subscription(at));
            let name = &self.problem.subscription(at).name;
            self.say(0, &format!("Subscription {name} asks for {asks}."));
            if let Some(current) = self.current(at) {
                self.say(1, &format!("It has {current} installed."));
            }
            self.why_not(self.problem.roots[at], 1);
        }
        // Nothing happens to these, but whoever wants to change something has to know of them.
        let others = stuck.core.iter().copied();
        for at in others.filter(|at| !stuck.aside.contains(at)) {
            let asks = words::what(self.problem, &What::Subscription(at));
            let name = &self.problem.subscription(at).name;
            let has = match self.current(at) {
                Some(current) => format!("and has {current} installed"),
                None => "and gets it".to_owned(),
            };
            self.say(0, &format!("Subscription {name} asks for {asks}, {has}."));
        }
    }

    /// What a Subscription has, in words.
    fn current(&self, at: usize) -> Option<String> {
        let present = &self.problem.present;
        let current = present.current.get(at).copied().flatten()?;
        let adopted = if present.adopted.contains(&current) {
            ", adopted"
        } else {
            ""
        };
        Some(format!("{}{adopted}", self.problem.installed(current).name))
    }

    fn say(&mut self, depth: usize, line: &str) {
        if self.lines.len() < LONGEST_STORY {
            self.lines.push(format!("{}{line}", "  ".repeat(depth)));
        } else if self.lines.len() == LONGEST_STORY {
            self.lines
                .push("(and more; `-o json` has the whole tree)".to_owned());
        }
    }

    /// Tells why nothing meets a need.
    fn why_not(&mut self, need: NeedId, depth: usize) {
        if self.lines.len() > LONGEST_STORY || !self.told.insert(need) {
            return;
        }
        for (candidates, failing) in self.failing(need) {
            let who = words::choices(self.problem, &candidates);
            let many = words::are_many(self.problem, &candidates);
            let needs = if many { "need" } else { "needs" };
            for &other in &failing.needs {
                let what = words::what(self.problem, &self.problem.needs[other].what);
                let already = self.told.contains(&other);
                let end = if already { " (see above)." } else { ":" };
                self.say(depth, &format!("- {who} {needs} {what}{end}"));
                self.why_not(other, depth + 2);
            }
            if let Some(clash) = self.clash(&candidates, &failing) {
                self.say(depth, &format!("- {clash}."));
            }
        }
        for line in self.obstacles(need) {
            self.say(depth, &format!("- {line}."));
        }
    }

    /// The candidates of a need, those that fail alike together.
    fn failing(&self, need: NeedId) -> Vec<(Vec<ChoiceId>, Failing)> {
        let mut groups: Vec<(Vec<ChoiceId>, Failing)> = Vec::new();
        let mut known: HashMap<Failing, usize> = HashMap::new();
        let beside: HashSet<ChoiceId> = self.problem.needs[need]
            .candidates
            .iter()
            .copied()
            .collect();
        for &candidate in &self.problem.needs[need].candidates {
            let choice = &self.problem.choices[candidate];
            let failing = Failing {
                needs: choice
                    .needs
                    .iter()
                    .copied()
                    .filter(|&need| self.proof.needs.contains(&(candidate, need)))
                    .collect(),
                rivals: self.rivals(candidate, &beside),
            };
            let next = groups.len();
            let at = *known.entry(failing.clone()).or_insert(next);
            match groups.get_mut(at) {
                Some((candidates, _)) => candidates.push(candidate),
                None => groups.push((vec![candidate], failing)),
            }
        }
        groups
    }

    /// Who in the proof wants a slot of this candidate; other candidates for the same are no
    /// rivals.
    fn rivals(&self, candidate: ChoiceId, beside: &HashSet<ChoiceId>) -> BTreeSet<ChoiceId> {
        let slots = self.problem.choices[candidate].slots.iter();
        let taken = slots.filter(|slot| self.proof.slots.contains(&(candidate, **slot)));
        taken
            .filter_map(|slot| self.takers.get(slot))
            .flatten()
            .copied()
            .filter(|rival| !beside.contains(rival))
            .collect()
    }

    /// Who candidates clash with, and what it is about: with each of the others, of several things the
    /// plainest, a package before an API.
    fn clash(&self, candidates: &[ChoiceId], failing: &Failing) -> Option<String> {
        let one = &self.problem.choices[*candidates.first()?];
        let mut about: BTreeMap<&SlotKey, BTreeSet<ChoiceId>> = BTreeMap::new();
        for &rival in &failing.rivals {
            let theirs: BTreeSet<&SlotId> = self.problem.choices[rival].slots.iter().collect();
            let shared = one.slots.iter().filter(|slot| theirs.contains(slot));
            if let Some(plainest) = shared.map(|slot| &self.problem.slots[*slot]).min() {
                about.entry(plainest).or_default().insert(rival);
            }
        }
        if about.is_empty() {
            return None;
        }
        let clashes = about.iter().map(|(slot, rivals)| {
            format!(
                "with {}: {}",
                words::list(&self.holders(rivals)),
                words::slot(slot)
            )
        });
        let clashes: Vec<String> = clashes.collect();
        let verb = if words::are_many(self.problem, candidates) {
            "clash"
        } else {
            "clashes"
        };
        Some(format!(
            "{} {verb} {}",
            words::choices(self.problem, candidates),
            words::few_of(&clashes, "; ")
        ))
    }

    /// Rivals, and why they are there.
    fn holders(&self, rivals: &BTreeSet<ChoiceId>) -> Vec<String> {
        let mut holders: Vec<String> = Vec::new();
        let (facts, wanted): (Vec<ChoiceId>, Vec<ChoiceId>) = rivals
            .iter()
            .partition(|choice| self.proof.facts.contains(choice));
        for fact in facts {
            holders.push(format!(
                "{}, which is installed{}",
                words::choice(self.problem, fact),
                self.owner(fact)
            ));
        }
        let mut told: BTreeSet<ChoiceId> = BTreeSet::new();
        for &root in &self.proof.roots {
            let What::Subscription(at) = self.problem.needs[root].what else {
                continue;
            };
            let of: Vec<ChoiceId> = self.problem.needs[root]
                .candidates
                .iter()
                .copied()
                .filter(|choice| wanted.contains(choice))
                .collect();
            if of.is_empty() {
                continue;
            }
            told.extend(&of);
            let subscription = self.problem.subscription(at);
            let pin = subscription
                .version
                .as_ref()
                .map(|version| format!(" in version {version}"))
                .unwrap_or_default();
            holders.push(format!(
                "{}, which Subscription {} wants{pin}",
                words::choices(self.problem, &of),
                subscription.name
            ));
        }
        let rest: Vec<ChoiceId> = wanted
            .into_iter()
            .filter(|choice| !told.contains(choice))
            .collect();
        if !rest.is_empty() {
            holders.push(format!(
                "{}{}",
                words::choices(self.problem, &rest),
                self.needed_by(&rest)
            ));
        }
        holders
    }

    fn owner(&self, fact: ChoiceId) -> String {
        let current = &self.problem.present.current;
        let owner = current
            .iter()
            .position(|at| at.is_some_and(|at| self.problem.installed.get(&at) == Some(&fact)));
        match owner {
            Some(at) => format!(" by Subscription {}", self.problem.subscription(at).name),
            None => " and has no Subscription".to_owned(),
        }
    }

    /// Who in the proof needs one of these, and what for if that is one thing.
    fn needed_by(&self, choices: &[ChoiceId]) -> String {
        let meets = |need: NeedId| {
            self.problem.needs[need]
                .candidates
                .iter()
                .any(|candidate| choices.contains(candidate))
        };
        let needing = self.proof.needs.iter().filter(|(_, need)| meets(*need));
        let (mut needing, needs): (Vec<ChoiceId>, BTreeSet<NeedId>) = needing.copied().unzip();
        needing.dedup();
        if needing.is_empty() {
            return String::new();
        }
        let mut needs = needs.into_iter().map(|need| &self.problem.needs[need].what);
        let what_for = match (needs.next(), needs.next()) {
            (Some(What::Requirement { requirement, .. }), None) => match requirement.as_package() {
                Some((_, range)) => format!(" in version {range}"),
                None => format!(" for {requirement}"),
            },
            _ => String::new(),
        };
        let many = words::are_many(self.problem, &needing);
        let need = if many { "need" } else { "needs" };
        let needing = words::choices(self.problem, &needing);
        format!(", which {needing} {need}{what_for}")
    }

    /// What stood in the way of further candidates.
    fn obstacles(&self, need: NeedId) -> Vec<String> {
        let need = &self.problem.needs[need];
        let subscription = match need.what {
            What::Subscription(at) => Some(self.problem.subscription(at)),
            What::Requirement { .. } => None,
        };
        let is_barred = |obstacle: &&Obstacle| matches!(obstacle, Obstacle::Barred { .. });
        let (barred, others): (Vec<_>, Vec<_>) = need.obstacles.iter().partition(is_barred);
        let mut lines: Vec<String> = Vec::new();
        let is_unreadable =
            |obstacle: &&Obstacle| matches!(obstacle, Obstacle::UnreadableCatalog { .. });
        if need.candidates.is_empty()
            && barred.is_empty()
            && others.iter().all(is_unreadable)
            && (subscription.is_none() || others.is_empty())
        {
            lines.push(match &need.what {
                What::Subscription(_) => "it lists no bundle".to_owned(),
                What::Requirement { requirement, .. } => self.nobody(requirement),
            });
        }
        lines.extend(
            others
                .into_iter()
                .map(|obstacle| words::obstacle(self.problem, obstacle, subscription)),
        );
        lines.extend(words::barred(self.problem, &barred, subscription));
        lines
    }

    /// That nothing meets a need, and which versions there are of the packages that it names.
    fn nobody(&self, requirement: &Requirement) -> String {
        let mut catalogs = self.problem.market.by_preference(None);
        catalogs.retain(|&at| self.problem.market.problem(at).is_none());
        let others: Vec<String> = catalogs
            .iter()
            .filter_map(|&at| self.other_versions(at, requirement))
            .collect();
        if !others.is_empty() {
            let others = words::few_of(&others, "; ");
            return format!("nothing that is installed will do, and there is only {others}");
        }
        let catalogs: Vec<String> = catalogs
            .into_iter()
            .map(|at| {
                let key = &self.problem.market.catalog(at).key;
                format!("{key}{}", words::staleness(self.problem, at))
            })
            .collect();
        if catalogs.is_empty() {
            return "nothing that is installed offers it, and there is no catalog to look in"
                .to_owned();
        }
        let catalog = if catalogs.len() > 1 {
            "catalogs"
        } else {
            "catalog"
        };
        format!(
            "nothing that is installed and nothing in {catalog} {} offers it",
            words::list(&catalogs)
        )
    }

    /// The versions that a catalog has of the packages that a need names.
    fn other_versions(&self, catalog: usize, requirement: &Requirement) -> Option<String> {
        let Reach::Some { packages, .. } = requirement.reach() else {
            return None;
        };
        let market = &self.problem.market;
        let packages = packages.iter();
        let packages: Vec<String> = packages
            .filter_map(|name| {
                let package = market.package(catalog, name)?;
                let bundles = package.bundles.iter();
                let versions = bundles.filter_map(|bundle| bundle.version.as_ref());
                let versions: BTreeSet<&Version> = versions.collect();
                let versions: Vec<String> =
                    versions.iter().rev().map(ToString::to_string).collect();
                (!versions.is_empty()).then(|| format!("{name} {}", words::versions(&versions)))
            })
            .collect();
        let key = &market.catalog(catalog).key;
        let stale = words::staleness(self.problem, catalog);
        (!packages.is_empty())
            .then(|| format!("{} in catalog {key}{stale}", words::few_of(&packages, ", ")))
    }

    /// The story in one line.
    pub(super) fn summary(&self, aside: &[usize]) -> String {
        let Some(&first) = aside.first() else {
            return String::new();
        };
        self.short_of(self.problem.roots[first])
    }

    /// Why a need cannot be met, in one line.
    pub(super) fn short_of(&self, need: NeedId) -> String {
        self.short(need, SUMMARY_DEPTH)
    }

    fn short(&self, need: NeedId, depth: usize) -> String {
        let groups = self.failing(need);
        let Some((candidates, failing)) = groups.first() else {
            return self.obstacles(need).join("; ");
        };
        let who = words::choices(self.problem, candidates);
        let others = match groups.len() {
            1 => "",
            _ => ", and no other candidate works either",
        };
        let many = words::are_many(self.problem, candidates);
        if let Some(&need) = failing.needs.first() {
            let needs = if many { "need" } else { "needs" };
            let what = words::what(self.problem, &self.problem.needs[need].what);
            let joint = if self.problem.needs[need].candidates.is_empty() {
                "and"
            } else {
                "but"
            };
            return match depth {
                0 => format!("{who} {needs} {what}, which cannot be had{others}"),
                _ => format!(
                    "{who} {needs} {what}, {joint} {}{others}",
                    self.short(need, depth - 1)
                ),
            };
        }
        if let Some(clash) = self.clash(candidates, failing) {
            return format!("{clash}{others}");
        }
        format!("{who} cannot be had{others}")
    }
}
