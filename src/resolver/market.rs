//! What the catalogs that a namespace may use have to offer.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::package::{Bundle, Channel, Package};
use super::predicate::{Reach, Requirement};
use super::request::{Catalog, CatalogKey, Contents, Request};
use super::snapshot::Snapshot;

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
}

/// Packages by catalog and name, `None` if the catalog has none of that name.
type Known = HashMap<(usize, String), Option<Arc<Package>>>;

/// What was read of the catalogs of a request, by their positions in it. Requests about the same
/// catalogs share it.
#[derive(Debug, Default)]
pub(super) struct Cache {
    packages: RefCell<Known>,
    unreadable: RefCell<BTreeMap<usize, String>>,
    /// How often a change was tried on the whole request.
    tried: Cell<usize>,
    /// The Subscriptions that are not met as things are.
    unmet: OnceCell<BTreeSet<String>>,
}

/// How often changes are tried on a whole request: where hundreds of Subscriptions are in each
/// other's way, advice for a few of them has to do.
const TRIED: usize = 30;

impl Cache {
    /// Whether there is time for another try on the whole request.
    pub(super) fn may_try_again(&self) -> bool {
        self.tried.set(self.tried.get() + 1);
        self.tried.get() <= TRIED
    }

    /// The Subscriptions that are not met as things are, found out once.
    pub(super) fn unmet(&self, find_out: impl FnOnce() -> BTreeSet<String>) -> &BTreeSet<String> {
        self.unmet.get_or_init(find_out)
    }
}

/// The catalogs of a request. Packages are read once.
pub(super) struct Market<'r> {
    pub(super) request: &'r Request<'r>,
    pub(super) cache: Rc<Cache>,
}

impl<'r> Market<'r> {
    pub(super) fn new(request: &'r Request<'r>, cache: Rc<Cache>) -> Self {
        Self { request, cache }
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
