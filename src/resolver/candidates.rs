//! Who could meet a need, the preferred first, and who could not and why.

use std::sync::Arc;

use super::market::{Market, Offer};
use super::package::{Bundle, Channel, Package};
use super::predicate::Requirement;
use super::request::{Installed, Subscription};
use crate::version::Version;

/// What was found for a need.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Who could meet it, the preferred first.
    pub(super) offers: Vec<Offer>,
    /// Whether what is installed meets it if nothing better can be had.
    pub(super) keeps_current: bool,
    /// What was in the way of others.
    pub(super) obstacles: Vec<Obstacle>,
}

/// Why there are not more candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// No catalog of the name that the Subscription says.
    NoCatalog,
    /// The catalog belongs to a namespace that this one may not use.
    HiddenCatalog { catalog: usize },
    /// Nothing can be read of the catalog.
    UnreadableCatalog { catalog: usize, problem: String },
    /// The catalog has no such package.
    NoPackage { catalog: usize, package: String },
    /// The catalog has the package, but offers only others (`spec.packages`).
    Curated { catalog: usize, package: String },
    /// The package has no such channel.
    NoChannel {
        catalog: usize,
        package: Arc<str>,
        channels: Vec<String>,
    },
    /// The entries of the channel have no order.
    Malformed { catalog: usize, problem: String },
    /// The channel does not list the bundle that the Subscription wants to begin with.
    NoStartingCsv { catalog: usize, package: Arc<str> },
    /// A bundle that would do otherwise.
    Barred {
        catalog: usize,
        package: Arc<str>,
        bundle: String,
        version: Option<Version>,
        why: Bar,
    },
    /// Nothing in the channel leads from what is installed to where the Subscription wants to be.
    NoPath,
}

/// Why a bundle is no candidate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bar {
    /// The cluster is too old for it.
    NeedsKubernetes(Version),
    /// It has the property `olm.deprecated`.
    Deprecated,
    /// What it needs cannot be read.
    UnreadableNeed(String),
    /// The Subscription wants other versions.
    OutOfRange,
    /// A newer bundle of the channel makes it superfluous.
    Skipped,
    /// Its package has no Subscription, and only what has one may be used.
    NotSubscribed,
}

impl Market<'_> {
    /// Who could meet a Subscription that has `current` installed.
    pub(super) fn for_subscription(
        &self,
        subscription: &Subscription,
        current: Option<&Installed>,
    ) -> Found {
        let mut found = Found::default();
        for catalog in self.catalogs_of(subscription, &mut found) {
            self.from_catalog(catalog, subscription, current, &mut found);
        }
        if let Some(current) = current {
            let fits = wants(subscription, current.version.as_ref());
            let is_asked_for = found.obstacles.iter().all(|obstacle| {
                matches!(
                    obstacle,
                    Obstacle::Barred { .. }
                        | Obstacle::Curated { .. }
                        | Obstacle::Malformed { .. }
                        | Obstacle::NoPath
                        | Obstacle::UnreadableCatalog { .. }
                )
            });
            found.keeps_current = fits && is_asked_for;
        }
        found
    }

    fn catalogs_of(&self, subscription: &Subscription, found: &mut Found) -> Vec<usize> {
        let catalogs = if subscription.catalog.is_empty() {
            self.by_preference(None)
        } else {
            match self.named(&subscription.catalog) {
                Some(at) => vec![at],
                None => {
                    found.obstacles.push(Obstacle::NoCatalog);
                    Vec::new()
                }
            }
        };
        let mut usable = Vec::new();
        for catalog in catalogs {
            if !self.is_visible(catalog) {
                found.obstacles.push(Obstacle::HiddenCatalog { catalog });
            } else if let Some(problem) = self.problem(catalog) {
                found
                    .obstacles
                    .push(Obstacle::UnreadableCatalog { catalog, problem });
            } else {
                usable.push(catalog);
            }
        }
        usable
    }

    fn from_catalog(
        &self,
        catalog: usize,
        subscription: &Subscription,
        current: Option<&Installed>,
        found: &mut Found,
    ) {
        let name = &subscription.package;
        let Some(package) = self.package(catalog, name) else {
            found.obstacles.push(match self.problem(catalog) {
                Some(problem) => Obstacle::UnreadableCatalog { catalog, problem },
                None => Obstacle::NoPackage {
                    catalog,
                    package: name.clone(),
                },
            });
            return;
        };
        if !self.catalog(catalog).curation.allows(name) {
            found.obstacles.push(Obstacle::Curated {
                catalog,
                package: name.clone(),
            });
            return;
        }
        let wanted = |channel: &Channel| {
            subscription.channel.is_empty() || subscription.channel == channel.name()
        };
        let channels: Vec<usize> = (0..package.channels.len())
            .filter(|&at| package.channels.get(at).is_some_and(wanted))
            .collect();
        if channels.is_empty() {
            let names = package
                .channels
                .iter()
                .map(|channel| channel.name().to_owned());
            found.obstacles.push(Obstacle::NoChannel {
                catalog,
                package: name.as_str().into(),
                channels: names.collect(),
            });
            return;
        }
        let before = found.offers.len();
        let mut lists_starting_csv = false;
        for channel in channels {
            let mut aisle = Aisle {
                market: self,
                catalog,
                package: &package,
                channel,
                found,
            };
            match current {
                Some(current) => aisle.upgrades(subscription, current),
                None if !subscription.starting_csv.is_empty() => {
                    lists_starting_csv |= aisle.exactly(subscription);
                }
                None => aisle.everything(subscription),
            }
        }
        let begins = current.is_none() && !subscription.starting_csv.is_empty();
        if begins && !lists_starting_csv && found.offers.len() == before {
            found.obstacles.push(Obstacle::NoStartingCsv {
                catalog,
                package: name.as_str().into(),
            });
        }
    }

    /// Which bundles of catalogs could meet the need of a bundle of the catalog `parent`. If
    /// `subscribed` is given, only these packages may.
    pub(super) fn for_requirement(
        &self,
        requirement: &Requirement,
        parent: Option<usize>,
        subscribed: Option<&[&str]>,
    ) -> Found {
        let mut found = Found::default();
        for catalog in self.by_preference(parent) {
            if let Some(problem) = self.problem(catalog) {
                found
                    .obstacles
                    .push(Obstacle::UnreadableCatalog { catalog, problem });
                continue;
            }
            let mut aisles = Vec::new();
            for package in self.packages_for(catalog, requirement) {
                let has = |name: &str| {
                    let bundle = package.bundle(name);
                    bundle.is_some_and(|(_, bundle)| requirement.matches(&bundle.features))
                };
                for (channel, listed) in package.channels.iter().enumerate() {
                    if listed.entries().iter().any(|entry| has(&entry.name)) {
                        let is_other = listed.name() != package.default_channel;
                        aisles.push((
                            is_other,
                            package.name.clone(),
                            listed.name().to_owned(),
                            channel,
                            package.clone(),
                        ));
                    }
                }
            }
            aisles.sort_by(|a, b| (a.0, &a.1, &a.2).cmp(&(b.0, &b.1, &b.2)));
            for (_, name, _, channel, package) in &aisles {
                if !self.catalog(catalog).curation.allows(name) {
                    let curated = Obstacle::Curated {
                        catalog,
                        package: name.clone(),
                    };
                    if !found.obstacles.contains(&curated) {
                        found.obstacles.push(curated);
                    }
                    continue;
                }
                let is_allowed = subscribed.is_none_or(|names| names.contains(&name.as_str()));
                let mut aisle = Aisle {
                    market: self,
                    catalog,
                    package,
                    channel: *channel,
                    found: &mut found,
                };
                aisle.matching(requirement, is_allowed);
            }
        }
        found
    }
}

/// Whether a Subscription wants this version.
fn wants(subscription: &Subscription, version: Option<&Version>) -> bool {
    let Some(range) = &subscription.version else {
        return true;
    };
    version.is_some_and(|version| range.contains(version))
}

/// Vendors mark their builds (`1.33.4-gke.1200`), which does not make them older.
fn release(kubernetes: &Version) -> (u64, u64, u64) {
    (kubernetes.major(), kubernetes.minor(), kubernetes.patch())
}

/// One channel, looked through for offers.
struct Aisle<'a, 'r> {
    market: &'a Market<'r>,
    catalog: usize,
    package: &'a Arc<Package>,
    channel: usize,
    found: &'a mut Found,
}

impl Aisle<'_, '_> {
    fn channel(&self) -> &Channel {
        // The position is one of the package's channels.
        &self.package.channels[self.channel]
    }

    /// The bundles of the channel, the newest first, without skipped ones.
    fn in_order(&mut self) -> Vec<(usize, usize)> {
        let package = self.package.clone();
        let channel = &package.channels[self.channel];
        match channel.order() {
            Ok(order) => order
                .iter()
                .filter_map(|&entry| {
                    let name = &channel.entries().get(entry)?.name;
                    Some((entry, package.bundle(name)?.0))
                })
                .collect(),
            Err(problem) => {
                self.found.obstacles.push(Obstacle::Malformed {
                    catalog: self.catalog,
                    problem: problem.to_string(),
                });
                Vec::new()
            }
        }
    }

    /// All bundles, the skipped last.
    fn with_skipped(&mut self) -> Vec<(usize, usize)> {
        let mut listed = self.in_order();
        if listed.is_empty() {
            return listed;
        }
        let package = self.package.clone();
        let entries = self.channel().entries().iter().enumerate();
        let mut skipped: Vec<(usize, usize)> = entries
            .filter_map(|(entry, listed)| Some((entry, package.bundle(&listed.name)?.0)))
            .filter(|both| !listed.contains(both))
            .collect();
        skipped.sort_by(|a, b| {
            let version = |at: usize| {
                package
                    .bundles
                    .get(at)
                    .and_then(|bundle| bundle.version.clone())
            };
            version(b.1).cmp(&version(a.1))
        });
        listed.extend(skipped);
        listed
    }

    /// A fresh installation: the whole channel. Skipped bundles only for a Subscription that says
    /// which versions it wants, and only behind all others.
    fn everything(&mut self, subscription: &Subscription) {
        let listed = if subscription.version.is_some() {
            self.with_skipped()
        } else {
            self.in_order()
        };
        for (_, bundle) in listed {
            self.offer(bundle, Some(subscription));
        }
    }

    /// A fresh installation of one bundle, which may be a skipped one.
    fn exactly(&mut self, subscription: &Subscription) -> bool {
        let wanted = &subscription.starting_csv;
        let is_listed = self
            .channel()
            .entries()
            .iter()
            .any(|entry| entry.name == *wanted);
        let Some((bundle, _)) = self.package.bundle(wanted).filter(|_| is_listed) else {
            return false;
        };
        self.offer(bundle, Some(subscription));
        true
    }

    /// What may follow the installed CSV.
    fn upgrades(&mut self, subscription: &Subscription, current: &Installed) {
        let listed = self.in_order();
        let version = current.version.as_ref();
        let successors: Vec<(usize, usize)> = listed
            .iter()
            .copied()
            .filter(|&(entry, _)| self.channel().upgrades(entry, &current.name, version))
            // A range without an end has the version itself in it, and newer ones: what is
            // installed already is no upgrade, and what comes behind it is a downgrade.
            .take_while(|&(entry, _)| self.channel().entries()[entry].name != current.name)
            .collect();
        let before = self.found.offers.len();
        for &(_, bundle) in &successors {
            self.offer(bundle, Some(subscription));
        }
        if wants(subscription, version) || self.found.offers.len() > before {
            return;
        }
        self.ways_to_the_range(subscription, current, &listed, &successors);
    }

    /// What is installed is not what the Subscription wants: the next step towards it, or, when
    /// it wants nothing but older versions, the way back.
    fn ways_to_the_range(
        &mut self,
        subscription: &Subscription,
        current: &Installed,
        listed: &[(usize, usize)],
        successors: &[(usize, usize)],
    ) {
        let package = self.package.clone();
        let version = |bundle: usize| {
            package
                .bundles
                .get(bundle)
                .and_then(|bundle| bundle.version.as_ref())
        };
        let before = self.found.offers.len();
        for &(entry, bundle) in successors {
            if leads_on(self.channel(), &package, entry, listed, &|at| {
                wants(subscription, version(at))
            }) {
                self.offer(bundle, None);
            }
        }
        if self.found.offers.len() > before {
            return;
        }
        let all = self.with_skipped();
        let wanted: Vec<usize> = all
            .into_iter()
            .map(|(_, bundle)| bundle)
            .filter(|&at| wants(subscription, version(at)))
            .collect();
        let is_older = |at: &usize| {
            version(*at)
                .zip(current.version.as_ref())
                .is_some_and(|(a, b)| a.precedence(b).is_lt())
        };
        if wanted.is_empty() || !wanted.iter().all(is_older) {
            self.found.obstacles.push(Obstacle::NoPath);
            return;
        }
        for bundle in wanted {
            self.offer(bundle, Some(subscription));
        }
    }

    /// What meets the need of a bundle.
    fn matching(&mut self, requirement: &Requirement, is_allowed: bool) {
        let package = self.package.clone();
        let in_order = self.in_order();
        for (entry, at) in self.with_skipped() {
            let bundle = &package.bundles[at];
            if !requirement.matches(&bundle.features) {
                continue;
            }
            if !in_order.contains(&(entry, at)) {
                self.bar(bundle, Bar::Skipped);
            } else if is_allowed {
                self.offer(at, None);
            } else {
                self.bar(bundle, Bar::NotSubscribed);
            }
        }
    }

    fn offer(&mut self, at: usize, subscription: Option<&Subscription>) {
        let package = self.package.clone();
        let bundle = &package.bundles[at];
        let wanted =
            subscription.is_none_or(|subscription| wants(subscription, bundle.version.as_ref()));
        let kube_version = self.market.request.kube_version.as_ref();
        let too_new = bundle
            .min_kube_version
            .as_ref()
            .filter(|needed| kube_version.is_some_and(|has| release(has) < release(needed)));
        if !wanted {
            self.bar(bundle, Bar::OutOfRange);
        } else if let Some(needed) = too_new {
            self.bar(bundle, Bar::NeedsKubernetes(needed.clone()));
        } else if bundle.features.is_deprecated() {
            self.bar(bundle, Bar::Deprecated);
        } else if let Err(problem) = bundle.requirements() {
            self.bar(bundle, Bar::UnreadableNeed(problem.to_string()));
        } else {
            self.found.offers.push(Offer {
                catalog: self.catalog,
                package,
                channel: self.channel,
                bundle: at,
            });
        }
    }

    fn bar(&mut self, bundle: &Bundle, why: Bar) {
        self.found.obstacles.push(Obstacle::Barred {
            catalog: self.catalog,
            package: self.package.name.as_str().into(),
            bundle: bundle.name.clone(),
            version: bundle.version.clone(),
            why,
        });
    }
}

/// Whether upgrades lead from one entry of a channel to a wanted bundle.
fn leads_on(
    channel: &Channel,
    package: &Package,
    from: usize,
    listed: &[(usize, usize)],
    wanted: &dyn Fn(usize) -> bool,
) -> bool {
    let mut open = vec![from];
    let mut seen = vec![from];
    while let Some(entry) = open.pop() {
        let Some((_, bundle)) = channel
            .entries()
            .get(entry)
            .and_then(|entry| package.bundle(&entry.name))
        else {
            continue;
        };
        for &(next, at) in listed {
            if seen.contains(&next)
                || !channel.upgrades(next, &bundle.name, bundle.version.as_ref())
            {
                continue;
            }
            if wanted(at) {
                return true;
            }
            seen.push(next);
            open.push(next);
        }
    }
    false
}
