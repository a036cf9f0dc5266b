//! What the catalogs that a namespace may use have to offer.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::budget::Budget;
use super::candidates::{Asker, Bar, Obstacle};
use super::features::Features;
use super::package::{Bundle, Channel, Package};
use super::predicate::{Reach, Requirement};
use super::request::{Catalog, CatalogKey, Contents, Request};
use super::snapshot::Snapshot;
use crate::version::UserRange;

/// A bundle as a channel of a catalog offers it.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// The position of the catalog in the request.
    pub(super) catalog: usize,
    pub(super) package: Arc<Package>,
    /// The position of the channel in the package.
    pub(super) channel: usize,
    /// The position of the bundle in the package.
    pub(super) bundle: usize,
}

impl Offer {
    pub(super) fn bundle(&self) -> &Bundle {
        // Offers are made of positions that were just looked up in the same package.
        &self.package.bundles[self.bundle]
    }

    pub(super) fn channel(&self) -> &Channel {
        // As above.
        &self.package.channels[self.channel]
    }

    /// Says that it is no candidate.
    pub(super) fn barred(&self, why: Bar) -> Obstacle {
        let bundle = self.bundle();
        Obstacle::Barred {
            catalog: self.catalog,
            package: self.package.name.as_str().into(),
            bundle: bundle.name.clone(),
            version: bundle.version.clone(),
            why,
        }
    }

    /// Whether a newer bundle of the channel skips it.
    pub(super) fn is_skipped(&self) -> bool {
        let listing = self.package.listing(self.channel);
        listing.is_ok_and(|listing| listing.are_skipped.contains(&self.bundle))
    }
}

/// Packages by catalog and name, `None` if the catalog has none of that name.
type Known = HashMap<(usize, String), Option<Arc<Package>>>;

/// Which bundles of packages meet needs: by the need, and by where the package is, which is kept as
/// long as this.
type Meeting = HashMap<Requirement, HashMap<*const Package, Rc<[bool]>>>;

/// Entries of channels that lead to versions in a range: by where the package is, its channel and the range.
type Ways = HashMap<(*const Package, usize, String), Option<Rc<HashSet<usize>>>>;

/// How many edges of all channels of a package are looked at on the way to wanted versions: an honest channel
/// has a few hundred.
const EDGES: usize = 10_000_000;

/// What was read of the catalogs of a request, by their positions in it. Requests about the same
/// catalogs share it.
#[derive(Debug, Default)]
pub(super) struct Cache {
    packages: RefCell<Known>,
    meeting: RefCell<Meeting>,
    unreadable: RefCell<BTreeMap<usize, String>>,
    /// From where in channels upgrades lead to versions that Subscriptions want, and what may still be looked
    /// at in a package to find that out.
    ways: RefCell<Ways>,
    ways_patience: RefCell<HashMap<*const Package, Rc<Budget>>>,
}

/// How much is looked at for what one package needs. Whoever writes a bundle can have it ask long
/// questions about all others; nobody else is to wait for the answers.
const PATIENCE: usize = 50_000_000;
/// How much is looked at for all packages of a catalog: hundreds of times what those of a sound one
/// take together.
const WHOLE_PATIENCE: usize = 200_000_000;

/// The patience with all packages. Each answer begins with a whole one: what was looked at for another answer is
/// not charged to it.
#[derive(Debug)]
pub(super) struct Patiences {
    /// What may still be looked at for what packages need, and for all of a catalog together.
    own: RefCell<BTreeMap<Asker, Rc<Budget>>>,
    whole: RefCell<BTreeMap<Option<usize>, Rc<Budget>>>,
    /// For how many answers it has to do.
    answers: usize,
}

impl Patiences {
    /// As much as may be looked at for so many answers together.
    pub(super) fn for_answers(answers: usize) -> Rc<Self> {
        Rc::new(Self {
            own: RefCell::default(),
            whole: RefCell::default(),
            answers,
        })
    }

    /// What may still be looked at for what a package needs.
    pub(super) fn with(&self, asker: &Asker) -> Patience {
        let budget = |steps: usize| Rc::new(Budget::new(steps * self.answers));
        let mut own = self.own.borrow_mut();
        let own = own.entry(asker.clone());
        let own = own.or_insert_with(|| budget(PATIENCE));
        let mut whole = self.whole.borrow_mut();
        let whole = whole.entry(asker.catalog);
        let whole = whole.or_insert_with(|| budget(WHOLE_PATIENCE));
        Patience {
            own: own.clone(),
            whole: whole.clone(),
        }
    }
}

impl Cache {
    /// Which bundles of a package meet a need, by their positions; nothing if there is no patience left
    /// to tell.
    pub(super) fn meeting(
        &self,
        requirement: &Requirement,
        package: &Arc<Package>,
        patience: &Patience,
    ) -> Option<Rc<[bool]>> {
        let mut meeting = self.meeting.borrow_mut();
        if !meeting.contains_key(requirement) {
            meeting.insert(requirement.clone(), HashMap::new());
        }
        let known = meeting.get_mut(requirement)?;
        if let Some(known) = known.get(&Arc::as_ptr(package)) {
            return Some(known.clone());
        }
        let mut meets = Vec::with_capacity(package.bundles.len());
        for bundle in &package.bundles {
            if patience.is_spent() {
                return None;
            }
            meets.push(patience.asks(requirement, &bundle.features));
        }
        let meets: Rc<[bool]> = meets.into();
        known.insert(Arc::as_ptr(package), meets.clone());
        Some(meets)
    }

    /// The entries of a channel from which upgrades lead to a version in a range; nothing if there was no
    /// patience left to find out. Packages are kept as long as this is.
    pub(super) fn ways(
        &self,
        package: &Arc<Package>,
        channel: usize,
        range: &UserRange,
        find: impl FnOnce(&Budget) -> HashSet<usize>,
    ) -> Option<Rc<HashSet<usize>>> {
        let key = (Arc::as_ptr(package), channel, range.as_str().to_owned());
        if let Some(known) = self.ways.borrow().get(&key) {
            return known.clone();
        }
        let patience = {
            let mut all = self.ways_patience.borrow_mut();
            let own = all.entry(Arc::as_ptr(package));
            own.or_insert_with(|| Rc::new(Budget::new(EDGES))).clone()
        };
        let found = find(&patience);
        let found = (!patience.is_spent()).then(|| Rc::new(found));
        self.ways.borrow_mut().insert(key, found.clone());
        found
    }
}

/// What may still be looked at for what a package needs, at its own cost and at that of its catalog.
pub(super) struct Patience {
    own: Rc<Budget>,
    whole: Rc<Budget>,
}

impl Patience {
    /// Whether an operator is what is needed.
    pub(super) fn asks(&self, requirement: &Requirement, features: &Features) -> bool {
        let before = self.own.spent();
        let answer = requirement.matches_within(features, &self.own);
        self.whole.spend(self.own.spent() - before);
        answer
    }

    /// Takes steps; `false` once there are not enough.
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.own.spend(steps) && self.whole.spend(steps)
    }

    /// Whether there was not enough.
    pub(super) fn is_spent(&self) -> bool {
        self.own.is_spent() || self.whole.is_spent()
    }
}

/// The catalogs of a request. Packages are read once.
pub(super) struct Market<'r> {
    pub(super) request: &'r Request<'r>,
    pub(super) cache: Rc<Cache>,
    pub(super) patience: Rc<Patiences>,
    /// The Subscriptions to each package, by their positions in the request and in the order of their names: in
    /// which order they are listed decides nothing.
    subscriptions: HashMap<&'r str, Vec<usize>>,
}

impl<'r> Market<'r> {
    pub(super) fn new(request: &'r Request<'r>, cache: Rc<Cache>, patience: Rc<Patiences>) -> Self {
        let mut subscriptions: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, subscription) in request.subscriptions.iter().enumerate() {
            let same = subscriptions.entry(&subscription.package).or_default();
            same.push(at);
        }
        for same in subscriptions.values_mut() {
            same.sort_by_key(|&at| &request.subscriptions[at].name);
        }
        Self {
            request,
            cache,
            patience,
            subscriptions,
        }
    }

    /// The Subscriptions to a package, by their positions in the request and in the order of their names.
    pub(super) fn subscriptions_to(&self, package: &str) -> &[usize] {
        self.subscriptions
            .get(package)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    pub(super) fn catalog(&self, at: usize) -> &'r Catalog<'r> {
        // Positions come from this list.
        &self.request.catalogs[at]
    }

    /// The catalog that a Subscription names, whether it may be used or not.
    pub(super) fn named(&self, key: &CatalogKey) -> Option<usize> {
        let mut catalogs = self.request.catalogs.iter();
        catalogs.position(|catalog| catalog.key == *key)
    }

    /// Whether the namespace may use a catalog: its own, and the global ones.
    pub(super) fn is_visible(&self, at: usize) -> bool {
        let namespace = &self.catalog(at).key.namespace;
        let is_global = || self.request.global_namespaces.contains(namespace);
        *namespace == self.request.namespace || (!self.request.exclude_global && is_global())
    }

    /// Why nothing can be read of a catalog, if that is so.
    pub(super) fn problem(&self, at: usize) -> Option<String> {
        match self.catalog(at).contents {
            Contents::Missing(problem) => Some(problem.to_owned()),
            _ => self.cache.unreadable.borrow().get(&at).cloned(),
        }
    }

    /// The catalogs the namespace may use, the preferred first: the one of whoever has the need,
    /// then by priority, then those of the namespace itself, then by name.
    pub(super) fn by_preference(&self, parent: Option<usize>) -> Vec<usize> {
        let mut visible: Vec<usize> = (0..self.request.catalogs.len())
            .filter(|&at| self.is_visible(at))
            .collect();
        visible.sort_by_key(|&at| {
            let Catalog { key, priority, .. } = self.catalog(at);
            let is_elsewhere = key.namespace != self.request.namespace;
            let not_parent = parent != Some(at);
            (
                not_parent,
                -i64::from(*priority),
                is_elsewhere,
                key.name.as_str(),
                key.namespace.as_str(),
            )
        });
        visible
    }

    /// A package of a catalog, curated or not.
    pub(super) fn package(&self, catalog: usize, name: &str) -> Option<Arc<Package>> {
        let key = (catalog, name.to_owned());
        if let Some(known) = self.cache.packages.borrow().get(&key) {
            return known.clone();
        }
        let snapshot = self.catalog(catalog).contents.snapshot()?;
        let read = snapshot.package(name).unwrap_or_else(|problem| {
            self.cache.unreadable.borrow_mut().insert(catalog, problem);
            None
        });
        self.cache.packages.borrow_mut().insert(key, read.clone());
        read
    }

    /// The packages of a catalog in which something may meet a need, by name.
    pub(super) fn packages_for(
        &self,
        catalog: usize,
        requirement: &Requirement,
    ) -> Vec<Arc<Package>> {
        let Some(snapshot) = self.catalog(catalog).contents.snapshot() else {
            return Vec::new();
        };
        let names = names_within(snapshot, requirement.reach());
        names
            .iter()
            .filter_map(|name| self.package(catalog, name))
            .collect()
    }

    /// The names of all packages of a catalog.
    pub(super) fn names(&self, catalog: usize) -> Vec<String> {
        let snapshot = self.catalog(catalog).contents.snapshot();
        snapshot.map(Snapshot::names).unwrap_or_default()
    }
}

fn names_within(snapshot: &dyn Snapshot, reach: Reach) -> BTreeSet<String> {
    match reach {
        Reach::Everything => snapshot.names().into_iter().collect(),
        Reach::Some { mut packages, apis } => {
            for api in &apis {
                packages.extend(snapshot.providers(api));
            }
            packages
        }
    }
}
