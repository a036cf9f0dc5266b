//! Who could meet a need, the preferred first, and who could not and why.

mod aisle;

use std::sync::Arc;

use self::aisle::Aisle;
pub(super) use self::aisle::wants;
use super::market::{Market, Offer};
use super::package::{Channel, Malformed, Package};
use super::predicate::{Reach, Requirement};
use super::request::{CatalogKey, Installed, Subscription};
use crate::version::Version;

/// What was found for a need.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Who could meet it, the preferred first.
    pub(super) offers: Vec<Offer>,
    /// Who could meet it if nothing else does: older than what is installed.
    back: Vec<Offer>,
    /// Whether what is installed meets it if nothing better can be had.
    pub(super) keeps_current: bool,
    /// What was in the way of others.
    pub(super) obstacles: Vec<Obstacle>,
}

impl Found {
    /// There was no patience left to look for anything.
    fn too_much(asker: &Asker) -> Self {
        Self {
            obstacles: vec![Obstacle::TooMuch {
                asker: asker.clone(),
            }],
            ..Self::default()
        }
    }

    /// Nothing of a package is offered to who names no channel.
    fn lacks_default(&mut self, catalog: usize, package: &Package, problem: &Malformed) {
        let problem = problem.to_string();
        let channels = package.channels.iter().enumerate();
        let sound = channels.filter(|(at, _)| package.listing(*at).is_ok());
        let others = sound.map(|(_, channel)| channel.name().to_owned());
        let malformed = Obstacle::Malformed {
            catalog,
            problem: problem.clone(),
        };
        // It says all that this said.
        self.obstacles.retain(|obstacle| *obstacle != malformed);
        self.obstacles.push(Obstacle::NoDefault {
            catalog,
            package: package.name.as_str().into(),
            others: others.take(OTHERS).collect(),
            problem,
        });
    }
}

/// How many channels are named that somebody could follow instead.
const OTHERS: usize = 3;

/// Whether a Subscription may keep what it has although this is in the way of something newer.
fn leaves_it_asked_for(obstacle: &Obstacle) -> bool {
    matches!(
        obstacle,
        Obstacle::Barred { .. }
            | Obstacle::Curated { .. }
            | Obstacle::LeftOut { .. }
            | Obstacle::Malformed { .. }
            | Obstacle::NoDefault { .. }
            | Obstacle::NoPath
            | Obstacle::TooManyWays { .. }
            | Obstacle::UnreadableCatalog { .. }
    )
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
    /// The catalog has the package, which is broken and left out.
    LeftOut {
        catalog: usize,
        package: String,
        problem: String,
    },
    /// The catalog has the package, but offers only others (`spec.packages`).
    Curated { catalog: usize, package: String },
    /// A Subscription to the package cannot be understood, and may hold it to versions of its own.
    Held {
        package: String,
        subscription: String,
    },
    /// The package has no such channel.
    NoChannel {
        catalog: usize,
        package: Arc<str>,
        channels: Vec<String>,
    },
    /// The entries of the channel have no order.
    Malformed { catalog: usize, problem: String },
    /// Nobody can follow the default channel, and somebody who names no channel gets nothing of another.
    NoDefault {
        catalog: usize,
        package: Arc<str>,
        problem: String,
        /// Some of the channels that could be named.
        others: Vec<String>,
    },
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
    /// The channel has so many ways that nobody looks for one to where the Subscription wants to be.
    TooManyWays { catalog: usize, package: Arc<str> },
    /// So much was looked at for what a package needs that nothing more is.
    TooMuch { asker: Asker },
}

/// Who needs something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Asker {
    /// The catalog of the bundle that has the need; none if it is installed.
    pub(super) catalog: Option<usize>,
    /// Its package, or the name of a CSV of which no package is known.
    pub(super) package: String,
}

/// Why a bundle is no candidate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Bar {
    /// The cluster is too old for it.
    NeedsKubernetes(Version),
    /// What it says about the cluster cannot be read.
    UnreadableKubernetes(String),
    /// It has the property `olm.deprecated`.
    Deprecated,
    /// What it needs cannot be read.
    UnreadableNeed(String),
    /// The Subscription wants other versions.
    OutOfRange,
    /// A newer bundle of the channel makes it superfluous.
    Skipped,
    /// A Subscription holds the package to other versions; by its position in the request.
    Pinned(usize),
    /// Its package has no Subscription, and only what has one may be used.
    NotSubscribed,
    /// A Subscription to its package, by its position in the request, does not get it, and only what one
    /// gets may be used.
    NotGotten(usize),
    /// What is installed is newer, and the Subscription does not say where this one follows it.
    Older(Unsaid),
}

/// What a Subscription does not say although there are several: it follows all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Unsaid {
    /// Its channel.
    Channel,
    /// Its catalog.
    Catalog,
    /// Neither of them.
    Both,
}

impl Market<'_> {
    /// Who could meet a Subscription that has `current` installed.
    pub(super) fn for_subscription(
        &self,
        subscription: &Subscription,
        current: Option<&Installed>,
    ) -> Found {
        let mut found = Found::default();
        let catalogs = self.catalogs_of(subscription, &mut found);
        // Where there is nothing to look in, nothing says that it is not wanted any more.
        let mut is_asked_for = catalogs.is_empty() && found.obstacles.is_empty();
        for catalog in catalogs {
            let before = found.obstacles.len();
            self.look_in(catalog, subscription, current, &mut found);
            // One catalog that has it is enough, whatever others lack.
            is_asked_for |= found.obstacles[before..].iter().all(leaves_it_asked_for);
        }
        // While a catalog cannot be read, nobody knows what it has.
        is_asked_for |= found
            .obstacles
            .iter()
            .any(|obstacle| matches!(obstacle, Obstacle::UnreadableCatalog { .. }));
        if found.offers.is_empty() {
            found.offers = std::mem::take(&mut found.back);
        }
        let fits = |current: &Installed| wants(subscription, current.version.as_ref());
        found.keeps_current = is_asked_for && current.is_some_and(fits);
        found
    }

    fn catalogs_of(&self, subscription: &Subscription, found: &mut Found) -> Vec<usize> {
        let catalogs = if subscription.catalog.is_empty() {
            self.by_preference(None)
        } else {
            let named = self.named(&subscription.catalog);
            if named.is_none() {
                found.obstacles.push(Obstacle::NoCatalog);
            }
            named.into_iter().collect()
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

    fn look_in(
        &self,
        catalog: usize,
        subscription: &Subscription,
        current: Option<&Installed>,
        found: &mut Found,
    ) {
        let name = &subscription.package;
        let Some(package) = self.package(catalog, name) else {
            let unreadable = self.problem(catalog);
            let unreadable =
                unreadable.map(|problem| Obstacle::UnreadableCatalog { catalog, problem });
            let left_out = || self.left_out(catalog, name);
            found
                .obstacles
                .push(
                    unreadable
                        .or_else(left_out)
                        .unwrap_or_else(|| Obstacle::NoPackage {
                            catalog,
                            package: name.clone(),
                        }),
                );
            return;
        };
        if !self.catalog(catalog).curation.allows(name) {
            found.obstacles.push(Obstacle::Curated {
                catalog,
                package: name.clone(),
            });
            return;
        }
        // Who names no channel means the default first. While nobody can tell what that has, another one is
        // not what was meant: something new is not begun with it, and what is installed does not move there.
        let begins_with = current.is_none() && !subscription.starting_csv.is_empty();
        if subscription.channel.is_empty()
            && !begins_with
            && let Some(problem) = package.broken_default()
        {
            found.lacks_default(catalog, &package, problem);
            return;
        }
        let wanted =
            |channel: &Channel| ["", channel.name()].contains(&subscription.channel.as_str());
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
        let before = (found.offers.len(), found.obstacles.len());
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
        // Whether a channel that is broken lists it nobody can tell.
        let is_broken = found.obstacles[before.1..]
            .iter()
            .any(|obstacle| matches!(obstacle, Obstacle::Malformed { .. }));
        if begins_with && !lists_starting_csv && found.offers.len() == before.0 && !is_broken {
            found.obstacles.push(Obstacle::NoStartingCsv {
                catalog,
                package: name.as_str().into(),
            });
        }
    }

    /// Whether a Subscription says by the name of a channel, or by what it begins with, that it wants something
    /// of it.
    fn is_named(&self, catalog: usize, package: &Package, channel: usize) -> bool {
        let Some(channel) = package.channels.get(channel) else {
            return false;
        };
        let lists = |csv: &String| channel.entries().iter().any(|entry| entry.name == *csv);
        let mut own = self.subscriptions_to(&package.name).iter();
        own.any(|&at| {
            let subscription = &self.request.subscriptions[at];
            let catalogs = [&CatalogKey::default(), &self.catalog(catalog).key];
            let is_named = match subscription.channel.as_str() {
                "" => lists(&subscription.starting_csv),
                named => named == channel.name(),
            };
            is_named && catalogs.contains(&&subscription.catalog)
        })
    }

    /// A package of which nobody knows what its Subscription wants.
    fn held(&self, package: &str) -> Option<Obstacle> {
        let mut held = self.request.held.iter();
        let first = held.find(|held| held.package == package)?;
        Some(Obstacle::Held {
            package: first.package.clone(),
            subscription: first.subscription.clone(),
        })
    }

    /// A package that a catalog has and does not serve.
    fn left_out(&self, catalog: usize, package: &str) -> Option<Obstacle> {
        let snapshot = self.catalog(catalog).contents.snapshot()?;
        let problem = snapshot.left_out(package)?;
        Some(Obstacle::LeftOut {
            catalog,
            package: package.to_owned(),
            problem,
        })
    }

    /// Which bundles of catalogs could meet the need of a package. If `only_subscribed`, then only what
    /// a Subscription may have as well.
    pub(super) fn for_requirement(
        &self,
        requirement: &Requirement,
        asker: &Asker,
        only_subscribed: bool,
    ) -> Found {
        let mut found = Found::default();
        let patience = self.patience.with(asker);
        // Whoever asks something about all packages does not want to hear what is wrong with each.
        let is_near = !matches!(requirement.reach(), Reach::Everything);
        for catalog in self.by_preference(asker.catalog) {
            if let Some(problem) = self.problem(catalog) {
                found
                    .obstacles
                    .push(Obstacle::UnreadableCatalog { catalog, problem });
                continue;
            }
            if let Some((name, _)) = requirement.as_package() {
                found.obstacles.extend(self.left_out(catalog, name));
            }
            let mut aisles = Vec::new();
            for package in self.packages_for(catalog, requirement) {
                if is_near {
                    let malformed = package.left_out().map(|problem| Obstacle::Malformed {
                        catalog,
                        problem: problem.to_string(),
                    });
                    found.obstacles.extend(malformed);
                }
                let Some(meets) = self.cache.meeting(requirement, &package, &patience) else {
                    return Found::too_much(asker);
                };
                let is_met = |bundle: &usize| meets.get(*bundle) == Some(&true);
                for (channel, listed) in package.channels.iter().enumerate() {
                    if package.listed(channel).iter().any(is_met) {
                        let is_other = listed.name() != package.default_channel;
                        aisles.push((is_other, package.clone(), channel, meets.clone()));
                    }
                }
            }
            aisles.sort_by_cached_key(|(is_other, package, channel, _)| {
                let channel = package.channels[*channel].name();
                (*is_other, package.name.clone(), channel.to_owned())
            });
            let mut lacking = None;
            for (is_other, package, channel, meets) in &aisles {
                let name = &package.name;
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
                if let Some(held) = self.held(name) {
                    if !found.obstacles.contains(&held) {
                        found.obstacles.push(held);
                    }
                    continue;
                }
                let broken = package.broken_default().filter(|_| *is_other);
                if let Some(problem) = broken
                    && !self.is_named(catalog, package, *channel)
                {
                    // Once for all its channels, which come one after the other.
                    if lacking.replace(name) != Some(name) {
                        found.lacks_default(catalog, package, problem);
                    }
                    if !patience.spend(100) {
                        return Found::too_much(asker);
                    }
                    continue;
                }
                let before = (found.offers.len(), found.obstacles.len());
                let mut aisle = Aisle {
                    market: self,
                    catalog,
                    package,
                    channel: *channel,
                    found: &mut found,
                };
                aisle.matching(meets, only_subscribed);
                // What is found has to be kept, and looked through again and again.
                let offers = found.offers.len() - before.0;
                let obstacles = found.obstacles.len() - before.1;
                if !patience.spend(10 * offers + 100 * obstacles) {
                    return Found::too_much(asker);
                }
            }
        }
        found
    }
}
