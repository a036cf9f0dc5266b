//! A request as a closed problem: needs, who could meet each, and what excludes each other.
//!
//! Everything is numbered. A [`Choice`] is a bundle as one channel offers it, or an installed CSV. A
//! [`Need`] has choices in order of preference, one of which must be taken. A [`SlotKey`] is
//! something only one choice can have: a package, an API, the name of a CSV.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::candidates::{Asker, Bar, Found, Obstacle, wants};
use super::constraint::requirements;
use super::market::{Cache, Market, Offer, Patiences};
use super::package::Package;
use super::predicate::Requirement;
use super::present::Present;
use super::request::{Dependencies, Installed, Request, Subscription};
use crate::api::gvk::GroupVersionKind;
use crate::version::Version;

pub(super) type ChoiceId = usize;
pub(super) type NeedId = usize;
pub(super) type SlotId = usize;

/// Something that can be part of a solution.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) origin: Origin,
    pub(super) needs: Vec<NeedId>,
    pub(super) slots: Vec<SlotId>,
    /// The installed CSV that goes when this comes, by its position in the request.
    pub(super) replaces: Option<usize>,
}

#[derive(Debug)]
pub(super) enum Origin {
    /// By its position in the request.
    Installed(usize),
    Offered(Offer),
}

/// What must be met by one of several choices.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) what: What,
    /// The preferred first.
    pub(super) candidates: Vec<ChoiceId>,
    pub(super) obstacles: Vec<Obstacle>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// By its position in the request.
    Subscription(usize),
    Requirement {
        requirement: Requirement,
        /// The catalog of who has the need.
        parent: Option<usize>,
        /// Whether only what is installed or has a Subscription may meet it.
        only_subscribed: bool,
    },
}

/// What only one choice can have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SlotKey {
    Package(String),
    Api(GroupVersionKind),
    Csv(String),
}

/// The whole problem of a request.
pub(super) struct Problem<'r> {
    pub(super) market: Market<'r>,
    pub(super) present: Present,
    pub(super) choices: Vec<Choice>,
    pub(super) needs: Vec<Need>,
    pub(super) slots: Vec<SlotKey>,
    /// The need of each Subscription, by its position in the request.
    pub(super) roots: Vec<NeedId>,
    /// The choice of each installed CSV that counts.
    pub(super) installed: BTreeMap<usize, ChoiceId>,
    /// What installed CSVs need and nobody could ever give them, and constraints of theirs that
    /// cannot be read.
    pub(super) lacking: Vec<(usize, String)>,
    /// Packages whose needs are only checked.
    only_checked: HashSet<&'r str>,
    /// The Subscriptions that may get a choice, by their positions in the request.
    wanted: BTreeMap<ChoiceId, BTreeSet<usize>>,
    /// Those of `wanted` that nobody else gets: others skip them, or another Subscription that cannot be
    /// met holds the package to other versions.
    exceptional: Vec<ChoiceId>,
    /// Subscriptions that get nothing for certain, by their positions in the request: what they hold a package
    /// to counts no longer for what others get.
    given_up: &'r BTreeSet<usize>,
    /// Candidates that meet a need only as long as a Subscription may get them.
    tied: Vec<(NeedId, ChoiceId)>,
    ids: Ids,
}

#[derive(Default)]
struct Ids {
    /// Bundles by their channels.
    offers: HashMap<(Identity, usize), ChoiceId>,
    /// The slots and the needs of bundles.
    slots: HashMap<Identity, Vec<SlotId>>,
    needs_of: HashMap<Identity, Vec<NeedId>>,
    needs: HashMap<What, NeedId>,
    packages: HashMap<String, SlotId>,
    apis: HashMap<GroupVersionKind, SlotId>,
    /// The same by where they are: the bundles of a package share theirs, and packages are kept as
    /// long as the problem.
    shared_apis: HashMap<*const GroupVersionKind, SlotId>,
    csvs: HashMap<String, SlotId>,
    /// Choices whose needs were not looked at yet.
    open: Vec<ChoiceId>,
}

impl<'r> Problem<'r> {
    /// Finds everything that could have to do with the Subscriptions of a request, of which some are known to
    /// get nothing.
    pub(super) fn new(
        request: &'r Request<'r>,
        cache: Rc<Cache>,
        patience: Rc<Patiences>,
        given_up: &'r BTreeSet<usize>,
    ) -> Self {
        let market = Market::new(request, cache, patience);
        let present = Present::new(&market);
        let mut problem = Self {
            market,
            present,
            choices: Vec::new(),
            needs: Vec::new(),
            slots: Vec::new(),
            roots: Vec::new(),
            installed: BTreeMap::new(),
            lacking: Vec::new(),
            only_checked: HashSet::new(),
            wanted: BTreeMap::new(),
            exceptional: Vec::new(),
            given_up,
            tied: Vec::new(),
            ids: Ids::default(),
        };
        // By name: the numbers decide in which order things are told.
        let mut counting = problem.present.counting.clone();
        counting.sort_by_key(|&at| &request.installed[at].name);
        for at in counting {
            problem.add_installed(at);
        }
        let mut subscriptions: Vec<_> = request.subscriptions.iter().enumerate().collect();
        subscriptions.sort_by_key(|(_, subscription)| &subscription.name);
        problem.roots = vec![0; subscriptions.len()];
        for (at, subscription) in subscriptions {
            problem.roots[at] = problem.add_subscription(at, subscription);
        }
        problem.only_checked = problem.only_checked();
        problem.find_exceptions();
        // In the order they came in: the numbers of needs tell nothing, but they are the same
        // every time.
        let mut next = 0;
        while let Some(&choice) = problem.ids.open.get(next) {
            next += 1;
            problem.add_needs(choice);
        }
        problem.forgive_what_is_installed();
        problem
    }

    /// What is installed runs without what can never be had, or it does not run: either way nobody is to suffer, and
    /// least of all because a catalog begins to offer something that cannot be installed.
    fn forgive_what_is_installed(&mut self) {
        let installed: Vec<(usize, ChoiceId)> =
            self.installed.iter().map(|(at, it)| (*at, *it)).collect();
        let of_choice = |choice: ChoiceId| self.choices[choice].needs.iter().copied();
        let theirs: Vec<NeedId> = installed.iter().flat_map(|it| of_choice(it.1)).collect();
        let never = never_met(self, &theirs);
        for (at, choice) in installed {
            let needs = std::mem::take(&mut self.choices[choice].needs);
            let (lost, kept): (Vec<_>, Vec<_>) =
                needs.into_iter().partition(|need| never.contains(need));
            self.choices[choice].needs = kept;
            for need in lost {
                if let What::Requirement { requirement, .. } = &self.needs[need].what {
                    let why = "which nothing offers that could be installed";
                    let lacks = format!("needs {requirement}, {why}");
                    self.lacking.push((at, lacks));
                }
            }
        }
    }

    pub(super) fn request(&self) -> &'r Request<'r> {
        self.market.request
    }

    pub(super) fn subscription(&self, at: usize) -> &'r Subscription {
        // Positions come from this list.
        &self.request().subscriptions[at]
    }

    pub(super) fn installed(&self, at: usize) -> &'r Installed {
        // As above.
        &self.request().installed[at]
    }

    /// The CSV a choice is or brings.
    pub(super) fn name(&self, choice: ChoiceId) -> &str {
        match &self.choices[choice].origin {
            Origin::Installed(at) => &self.request().installed[*at].name,
            Origin::Offered(offer) => &offer.bundle().name,
        }
    }

    /// Its version, if that is known.
    pub(super) fn version(&self, choice: ChoiceId) -> Option<&Version> {
        match &self.choices[choice].origin {
            Origin::Installed(at) => self.request().installed[*at].version.as_ref(),
            Origin::Offered(offer) => offer.bundle().version.as_ref(),
        }
    }

    /// Its package, if that is known.
    pub(super) fn package(&self, choice: ChoiceId) -> Option<&str> {
        match &self.choices[choice].origin {
            Origin::Installed(at) => self.request().installed[*at].package.as_deref(),
            Origin::Offered(offer) => Some(&offer.package.name),
        }
    }

    pub(super) fn is_installed(&self, choice: ChoiceId) -> bool {
        matches!(self.choices[choice].origin, Origin::Installed(_))
    }

    fn add_installed(&mut self, at: usize) {
        let installed = self.installed(at);
        let mut slots = vec![self.csv_slot(&installed.name)];
        let own = installed.package.as_deref().into_iter();
        for package in own.chain(installed.features.packages()) {
            slots.push(self.package_slot(package));
        }
        for api in installed.features.apis() {
            slots.push(self.api_slot(api));
        }
        let choice = self.add_choice(Origin::Installed(at), slots);
        self.installed.insert(at, choice);
    }

    fn add_offer(&mut self, offer: Offer) -> ChoiceId {
        let key = (identity(&offer), offer.channel);
        if let Some(&known) = self.ids.offers.get(&key) {
            return known;
        }
        let slots = self.slots_of(&offer);
        let choice = self.add_choice(Origin::Offered(offer), slots);
        self.ids.offers.insert(key, choice);
        choice
    }

    /// The slots of a bundle, which are the same in all its channels.
    fn slots_of(&mut self, offer: &Offer) -> Vec<SlotId> {
        if let Some(known) = self.ids.slots.get(&identity(offer)) {
            return known.clone();
        }
        let bundle = offer.bundle();
        let mut slots = vec![self.csv_slot(&bundle.name)];
        for package in bundle.features.packages() {
            slots.push(self.package_slot(package));
        }
        for api in bundle.features.apis() {
            slots.push(self.api_slot(api));
        }
        self.ids.slots.insert(identity(offer), slots.clone());
        slots
    }

    fn add_choice(&mut self, origin: Origin, mut slots: Vec<SlotId>) -> ChoiceId {
        slots.sort_unstable();
        slots.dedup();
        self.choices.push(Choice {
            origin,
            needs: Vec::new(),
            slots,
            replaces: None,
        });
        let choice = self.choices.len() - 1;
        self.ids.open.push(choice);
        choice
    }

    fn package_slot(&mut self, package: &str) -> SlotId {
        if let Some(&known) = self.ids.packages.get(package) {
            return known;
        }
        let slot = self.add_slot(SlotKey::Package(package.to_owned()));
        self.ids.packages.insert(package.to_owned(), slot);
        slot
    }

    fn api_slot(&mut self, api: &Arc<GroupVersionKind>) -> SlotId {
        if let Some(&known) = self.ids.shared_apis.get(&Arc::as_ptr(api)) {
            return known;
        }
        let slot = match self.ids.apis.get(&**api) {
            Some(&known) => known,
            None => self.add_slot(SlotKey::Api(GroupVersionKind::clone(api))),
        };
        self.ids.apis.insert(GroupVersionKind::clone(api), slot);
        self.ids.shared_apis.insert(Arc::as_ptr(api), slot);
        slot
    }

    fn csv_slot(&mut self, csv: &str) -> SlotId {
        if let Some(&known) = self.ids.csvs.get(csv) {
            return known;
        }
        let slot = self.add_slot(SlotKey::Csv(csv.to_owned()));
        self.ids.csvs.insert(csv.to_owned(), slot);
        slot
    }

    fn add_slot(&mut self, key: SlotKey) -> SlotId {
        self.slots.push(key);
        self.slots.len() - 1
    }

    fn add_subscription(&mut self, at: usize, subscription: &Subscription) -> NeedId {
        let current = self.present.current.get(at).copied().flatten();
        let Found {
            offers,
            keeps_current,
            obstacles,
            ..
        } = self
            .market
            .for_subscription(subscription, current.map(|at| self.installed(at)));
        let waits = current.is_some_and(|at| self.present.underway.contains(&at));
        let mut candidates = Vec::new();
        for offer in offers.into_iter().filter(|_| !waits) {
            let choice = self.add_offer(offer);
            self.wanted.entry(choice).or_default().insert(at);
            if let Some(current) = current {
                let slot = self.csv_slot(&self.installed(current).name);
                let choice = &mut self.choices[choice];
                choice.replaces = Some(current);
                if !choice.slots.contains(&slot) {
                    choice.slots.push(slot);
                }
            }
            candidates.push(choice);
        }
        let kept = current.filter(|_| keeps_current || waits);
        candidates.extend(kept.and_then(|at| self.installed.get(&at)));
        self.needs.push(Need {
            what: What::Subscription(at),
            candidates,
            obstacles,
        });
        self.needs.len() - 1
    }

    fn add_needs(&mut self, choice: ChoiceId) {
        let bundle = match &self.choices[choice].origin {
            Origin::Installed(_) => None,
            Origin::Offered(offer) => Some(identity(offer)),
        };
        // They are the same in all channels of the bundle.
        if let Some(known) = bundle.and_then(|bundle| self.ids.needs_of.get(&bundle)) {
            self.choices[choice].needs.clone_from(known);
            return;
        }
        let (needs, parent) = match &self.choices[choice].origin {
            Origin::Installed(at) => {
                let installed = self.installed(*at);
                let needs =
                    requirements(installed.features.properties()).unwrap_or_else(|problem| {
                        self.lacking.push((*at, problem.to_string()));
                        Vec::new()
                    });
                (needs, None)
            }
            // Bundles whose needs cannot be read are no candidates.
            Origin::Offered(offer) => {
                let needs = offer.bundle().requirements().unwrap_or_default().to_vec();
                (needs, Some(offer.catalog))
            }
        };
        let only_subscribed = self.only_checks(choice);
        let package = self.package(choice).unwrap_or_else(|| self.name(choice));
        let asker = Asker {
            catalog: parent,
            package: package.to_owned(),
        };
        for requirement in needs {
            let what = What::Requirement {
                requirement,
                parent,
                only_subscribed,
            };
            let need = match self.ids.needs.get(&what) {
                // What was too much for one is not for another.
                Some(&known) if !self.is_too_much(known) => known,
                _ => self.add_need(what, &asker),
            };
            let nobody = self.needs[need].candidates.is_empty();
            if let (Origin::Installed(at), true) = (&self.choices[choice].origin, nobody) {
                // It runs without, or it does not run: either way nobody else is to suffer.
                let what = self.needs[need].what.clone();
                if let What::Requirement { requirement, .. } = what {
                    let why = if self.is_too_much(need) {
                        "which takes too long to look for"
                    } else {
                        "which nothing offers"
                    };
                    self.lacking
                        .push((*at, format!("needs {requirement}, {why}")));
                }
            } else if !self.choices[choice].needs.contains(&need) {
                self.choices[choice].needs.push(need);
            }
        }
        if let Some(bundle) = bundle {
            let needs = self.choices[choice].needs.clone();
            self.ids.needs_of.insert(bundle, needs);
        }
    }

    fn add_need(&mut self, what: What, asker: &Asker) -> NeedId {
        let What::Requirement {
            requirement,
            only_subscribed,
            ..
        } = &what
        else {
            // Subscriptions are added by `add_subscription`.
            return 0;
        };
        let patience = self.market.patience.with(asker);
        let Found {
            offers,
            mut obstacles,
            ..
        } = self
            .market
            .for_requirement(requirement, asker, *only_subscribed);
        let mut here: Vec<(usize, ChoiceId)> = self
            .installed
            .iter()
            .map(|(at, choice)| (*at, *choice))
            .collect();
        here.retain(|(at, _)| patience.asks(requirement, &self.installed(*at).features));
        here.sort_by(|(a, _), (b, _)| {
            let (a, b) = (self.installed(*a), self.installed(*b));
            (&a.package, &b.version, &a.name).cmp(&(&b.package, &a.version, &b.name))
        });
        let id = self.needs.len();
        let mut candidates: Vec<ChoiceId> = here.into_iter().map(|(_, choice)| choice).collect();
        for offer in offers {
            if !only_subscribed {
                candidates.push(self.add_offer(offer));
                continue;
            }
            let known = self.ids.offers.get(&(identity(&offer), offer.channel));
            match known.filter(|known| self.wanted.contains_key(known)) {
                Some(&known) => {
                    candidates.push(known);
                    self.tied.push((id, known));
                }
                None => obstacles.push(self.not_gotten(&offer)),
            }
        }
        let known: HashSet<ChoiceId> = candidates.iter().copied().collect();
        let mut excepted: HashSet<(usize, &str, &str)> = HashSet::new();
        for &choice in &self.exceptional {
            let Origin::Offered(offer) = &self.choices[choice].origin else {
                continue;
            };
            if !known.contains(&choice) && patience.asks(requirement, &offer.bundle().features) {
                candidates.push(choice);
                self.tied.push((id, choice));
                excepted.insert((offer.catalog, &offer.package.name, &offer.bundle().name));
            }
        }
        obstacles.retain(|obstacle| match obstacle {
            Obstacle::Barred {
                catalog,
                package,
                bundle,
                why: Bar::Skipped | Bar::Pinned(_),
                ..
            } => !excepted.contains(&(*catalog, &**package, bundle.as_str())),
            _ => true,
        });
        self.needs.push(Need {
            what: what.clone(),
            candidates,
            obstacles,
        });
        self.ids.needs.insert(what, id);
        id
    }

    /// Whether nobody had the patience to look for who meets a need.
    fn is_too_much(&self, need: NeedId) -> bool {
        let mut obstacles = self.needs[need].obstacles.iter();
        obstacles.any(|obstacle| matches!(obstacle, Obstacle::TooMuch { .. }))
    }

    /// Finds what only Subscriptions get, when it is known what each of them may get.
    fn find_exceptions(&mut self) {
        let request = self.request();
        let is_hopeless = |at: usize| self.is_hopeless(at);
        let mut exceptional = Vec::new();
        let mut subscriptions: Vec<usize> = (0..request.subscriptions.len()).collect();
        subscriptions.sort_by_key(|&at| &request.subscriptions[at].name);
        let mut seen = HashSet::new();
        for at in subscriptions {
            for &choice in &self.needs[self.roots[at]].candidates {
                let Origin::Offered(offer) = &self.choices[choice].origin else {
                    continue;
                };
                let version = offer.bundle().version.as_ref();
                let mut pinning = self.pinning(&offer.package.name, version).peekable();
                let is_held = pinning.peek().is_some() && pinning.all(is_hopeless);
                if (is_held || offer.is_skipped()) && seen.insert(choice) {
                    exceptional.push(choice);
                }
            }
        }
        self.exceptional = exceptional;
    }

    /// Whether a Subscription gets nothing, whatever else happens.
    fn is_hopeless(&self, at: usize) -> bool {
        self.given_up.contains(&at) || self.lacks_candidates(at)
    }

    fn lacks_candidates(&self, at: usize) -> bool {
        self.needs[self.roots[at]].candidates.is_empty()
    }

    /// The Subscriptions that hold a package to other versions than this one, by name.
    fn pinning<'p>(
        &'p self,
        package: &str,
        version: Option<&'p Version>,
    ) -> impl Iterator<Item = usize> + use<'p, 'r> {
        let own = self.market.subscriptions_to(package).iter();
        own.copied()
            .filter(move |&at| !wants(self.subscription(at), version))
    }

    /// Of Subscriptions that are set aside those that hold a package to versions that nobody gets, in the way
    /// of what others may get and somebody needs.
    pub(super) fn hold_in_vain(&self, aside: &BTreeSet<usize>) -> BTreeSet<usize> {
        let obstacles = self.needs.iter().flat_map(|need| &need.obstacles);
        let refused: BTreeSet<(&str, Option<&Version>)> = obstacles
            .filter_map(|obstacle| match obstacle {
                Obstacle::Barred {
                    package,
                    version,
                    why: Bar::Pinned(_),
                    ..
                } => Some((&**package, version.as_ref())),
                _ => None,
            })
            .collect();
        // A bar names one of those who hold a bundle up, and there may be more of them.
        let holders: BTreeSet<usize> = refused
            .into_iter()
            .flat_map(|(package, version)| self.pinning(package, version))
            .filter(|at| aside.contains(at) && !self.is_hopeless(*at))
            .collect();
        // Who is set aside because of them may get something without them.
        let asked_for = self
            .roots
            .iter()
            .flat_map(|&root| &self.needs[root].candidates);
        let asked_for = asked_for.filter_map(|choice| match &self.choices[*choice].origin {
            Origin::Offered(offer) => Some(offer),
            Origin::Installed(_) => None,
        });
        let held = asked_for.flat_map(|offer| {
            let version = offer.bundle().version.as_ref();
            self.pinning(&offer.package.name, version)
        });
        let held = held.filter(|at| holders.contains(at));
        held.chain(self.allow_in_vain(aside)).collect()
    }

    /// Of Subscriptions that are set aside those that would have needs installed which another one of the package
    /// forbids, who has something or gets it.
    fn allow_in_vain(&self, aside: &BTreeSet<usize>) -> Vec<usize> {
        let counts = |at: usize| !aside.contains(&at) || self.present.current[at].is_some();
        let is_forbidden = |at: &usize| {
            let package = &self.subscription(*at).package;
            let mut own = self.market.subscriptions_to(package).iter();
            own.any(|&other| {
                let policy = self.subscription(other).dependencies;
                policy == Dependencies::Require && counts(other)
            })
        };
        let allows = |at: &usize| self.subscription(*at).dependencies == Dependencies::Install;
        let aside = aside.iter().copied();
        aside
            .filter(|at| allows(at) && !self.is_hopeless(*at) && is_forbidden(at))
            .collect()
    }

    /// The packages of which every Subscription that may get something wants the needs to be checked and nothing to be
    /// installed.
    fn only_checked(&self) -> HashSet<&'r str> {
        let subscriptions = &self.request().subscriptions;
        let of = |wanted: Dependencies| {
            let all = subscriptions.iter().enumerate();
            all.filter(move |(_, it)| it.dependencies == wanted)
        };
        let mut packages: HashSet<&'r str> = of(Dependencies::Require)
            .map(|(_, it)| it.package.as_str())
            .collect();
        for (_, it) in of(Dependencies::Install).filter(|(at, _)| !self.is_hopeless(*at)) {
            packages.remove(it.package.as_str());
        }
        packages
    }

    /// Why a bundle does not meet a need any longer that it met as long as a Subscription could get it.
    fn not_gotten_any_more(&self, offer: &Offer) -> Obstacle {
        let version = offer.bundle().version.as_ref();
        let pinning = self.pinning(&offer.package.name, version).next();
        let held = pinning.filter(|_| !offer.is_skipped());
        offer.barred(held.map_or(Bar::Skipped, Bar::Pinned))
    }

    /// Why a bundle does not meet a need that only Subscriptions may meet.
    fn not_gotten(&self, offer: &Offer) -> Obstacle {
        let own = self.market.subscriptions_to(&offer.package.name).first();
        offer.barred(own.map_or(Bar::NotSubscribed, |at| Bar::NotGotten(*at)))
    }

    /// These Subscriptions get nothing: whatever counts only together with them does not count.
    pub(super) fn set_aside(&mut self, subscriptions: &BTreeSet<usize>) {
        for who in self.wanted.values_mut() {
            who.retain(|at| !subscriptions.contains(at));
        }
        let is_wanted = |choice: &ChoiceId| {
            let who = self.wanted.get(choice);
            who.is_some_and(|who| !who.is_empty())
        };
        let (tied, loose): (Vec<_>, Vec<_>) = std::mem::take(&mut self.tied)
            .into_iter()
            .partition(|(_, choice)| is_wanted(choice));
        self.tied = tied;
        let mut by_need: BTreeMap<NeedId, HashSet<ChoiceId>> = BTreeMap::new();
        for (need, choice) in loose {
            by_need.entry(need).or_default().insert(choice);
        }
        for (need, loose) in by_need {
            let only_subscribed = match &self.needs[need].what {
                What::Requirement {
                    only_subscribed, ..
                } => *only_subscribed,
                What::Subscription(_) => false,
            };
            let candidates = std::mem::take(&mut self.needs[need].candidates);
            let (gone, stay): (Vec<_>, Vec<_>) = candidates
                .into_iter()
                .partition(|candidate| loose.contains(candidate));
            let obstacles: Vec<Obstacle> = gone
                .into_iter()
                .filter_map(|choice| match &self.choices[choice].origin {
                    Origin::Offered(offer) if only_subscribed => Some(self.not_gotten(offer)),
                    Origin::Offered(offer) => Some(self.not_gotten_any_more(offer)),
                    Origin::Installed(_) => None,
                })
                .collect();
            let need = &mut self.needs[need];
            need.candidates = stay;
            need.obstacles.extend(obstacles);
        }
    }

    fn only_checks(&self, choice: ChoiceId) -> bool {
        let package = self.package(choice);
        package.is_some_and(|package| self.only_checked.contains(package))
    }
}

/// A bundle of a package that was read from a catalog: packages are read once, so that where they
/// are tells which they are.
type Identity = (usize, *const Package, usize);

fn identity(offer: &Offer) -> Identity {
    (offer.catalog, Arc::as_ptr(&offer.package), offer.bundle)
}

/// Of these needs those that nothing meets, whatever is installed: all who could need something themselves that nothing
/// meets. What needs each other does.
fn never_met(problem: &Problem<'_>, asked: &[NeedId]) -> HashSet<NeedId> {
    let candidates = |need: NeedId| problem.needs[need].candidates.iter().copied();
    // What is installed is there, whatever it lacks.
    let offered = |choice: &ChoiceId| !problem.is_installed(*choice);
    let mut known: HashSet<NeedId> = HashSet::new();
    let asked = asked.iter().copied();
    let mut all: Vec<NeedId> = asked.filter(|need| known.insert(*need)).collect();
    let mut next = 0;
    while let Some(&need) = all.get(next) {
        next += 1;
        for choice in candidates(need).filter(offered) {
            let needs = problem.choices[choice].needs.iter().copied();
            all.extend(needs.filter(|need| known.insert(*need)));
        }
    }
    // How many candidates of each need may still do, and in which needs a choice is a candidate.
    let mut left: HashMap<NeedId, usize> = HashMap::new();
    let mut hopes: HashMap<ChoiceId, Vec<NeedId>> = HashMap::new();
    let mut needed_by: HashMap<NeedId, Vec<ChoiceId>> = HashMap::new();
    for &need in &all {
        left.insert(need, problem.needs[need].candidates.len());
        for choice in candidates(need).filter(offered) {
            let known = hopes.entry(choice).or_default();
            if known.is_empty() {
                for &inner in &problem.choices[choice].needs {
                    needed_by.entry(inner).or_default().push(choice);
                }
            }
            known.push(need);
        }
    }
    let mut lost: Vec<NeedId> = all
        .into_iter()
        .filter(|need| left.get(need) == Some(&0) && !problem.is_too_much(*need))
        .collect();
    let mut never: HashSet<NeedId> = HashSet::new();
    while let Some(need) = lost.pop() {
        if !never.insert(need) {
            continue;
        }
        for choice in needed_by.remove(&need).unwrap_or_default() {
            // Once: the first need that it lacks takes it away from all who hoped for it.
            for hoping in hopes.remove(&choice).unwrap_or_default() {
                let left = left.entry(hoping).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    lost.push(hoping);
                }
            }
        }
    }
    never
}

/// Subscriptions and facts that have to be looked at together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Positions of Subscriptions in the request, by their names.
    pub(super) subscriptions: Vec<usize>,
    /// Positions of installed CSVs that stay, by their names.
    pub(super) facts: Vec<usize>,
}
