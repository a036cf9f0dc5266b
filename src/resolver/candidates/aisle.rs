//! One channel, looked through for candidates.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use super::{Bar, Found, Obstacle, Unsaid};
use crate::resolver::budget::Budget;
use crate::resolver::market::{Market, Offer};
use crate::resolver::package::{Bundle, Channel, Listing, Package};
use crate::resolver::request::{Installed, Subscription};
use crate::version::{UserRange, Version};

/// Whether a Subscription wants this version.
pub(in crate::resolver) fn wants(subscription: &Subscription, version: Option<&Version>) -> bool {
    let Some(range) = &subscription.version else {
        return true;
    };
    version.is_some_and(|version| range.contains(version))
}

/// One channel, looked through for offers.
pub(super) struct Aisle<'a, 'r> {
    pub(super) market: &'a Market<'r>,
    pub(super) catalog: usize,
    pub(super) package: &'a Arc<Package>,
    /// The position of the channel in the package.
    pub(super) channel: usize,
    pub(super) found: &'a mut Found,
}

impl<'a> Aisle<'a, '_> {
    fn channel(&self) -> &'a Channel {
        // The position is one of the package's channels.
        &self.package.channels[self.channel]
    }

    /// What the channel lists; nothing if its entries have no order.
    fn listing(&mut self) -> &'a Listing {
        static NOTHING: LazyLock<Listing> = LazyLock::new(Listing::default);
        self.package
            .listing(self.channel)
            .unwrap_or_else(|problem| {
                let malformed = Obstacle::Malformed {
                    catalog: self.catalog,
                    problem: problem.to_string(),
                };
                if !self.found.obstacles.contains(&malformed) {
                    self.found.obstacles.push(malformed);
                }
                &NOTHING
            })
    }

    /// A fresh installation: the whole channel. Skipped bundles only for a Subscription that says
    /// which versions it wants, and only behind all others.
    pub(super) fn everything(&mut self, subscription: &Subscription) {
        let listing = self.listing();
        let skipped = listing.skipped.iter();
        let skipped = skipped.filter(|_| subscription.version.is_some());
        for &(_, bundle) in listing.in_order.iter().chain(skipped) {
            self.offer(bundle, Some(subscription));
        }
    }

    /// A fresh installation of one bundle, which may be a skipped one.
    pub(super) fn exactly(&mut self, subscription: &Subscription) -> bool {
        let wanted = &subscription.starting_csv;
        let is_listed = self
            .channel()
            .entries()
            .iter()
            .any(|entry| entry.name == *wanted);
        let Some((bundle, _)) = self.package.bundle(wanted).filter(|_| is_listed) else {
            // If the channel is broken, that is why.
            self.listing();
            return false;
        };
        self.offer(bundle, Some(subscription));
        true
    }

    /// What may follow the installed CSV.
    pub(super) fn upgrades(&mut self, subscription: &Subscription, current: &Installed) {
        let listed = self.listing().in_order.as_slice();
        let channel = self.channel();
        let version = current.version.as_ref();
        // What is behind the installed bundle in the same chain is older, whatever its skipRange
        // says: it would be upgraded again at once, and so on for ever.
        let installed = listed
            .iter()
            .position(|&(entry, _)| channel.entries()[entry].name == current.name);
        let newer = listed[..installed.unwrap_or(listed.len())].iter();
        let mut successors: Vec<(usize, usize)> = newer
            .copied()
            .filter(|&(entry, _)| channel.upgrades(entry, &current.name, version))
            .collect();
        self.without_steps_back(subscription, current, &mut successors);
        let before = self.found.offers.len();
        for &(_, bundle) in &successors {
            self.offer(bundle, Some(subscription));
        }
        if wants(subscription, version) || self.found.offers.len() > before {
            return;
        }
        self.ways_to_the_range(subscription, current, &successors);
    }

    /// What one channel or catalog has upgraded, another may want to upgrade back. Who follows all of
    /// them would go to and fro for ever, and so goes only to what is newer by its version.
    fn without_steps_back(
        &mut self,
        subscription: &Subscription,
        current: &Installed,
        successors: &mut Vec<(usize, usize)>,
    ) {
        let channels = subscription.channel.is_empty() && self.package.channels.len() > 1;
        let catalogs = subscription.catalog.is_empty() && self.market.by_preference(None).len() > 1;
        let unsaid = match (channels, catalogs) {
            (true, true) => Unsaid::Both,
            (true, false) => Unsaid::Channel,
            (false, true) => Unsaid::Catalog,
            (false, false) => return,
        };
        let package = self.package;
        let is_back = |bundle: &Bundle| {
            let versions = bundle.version.as_ref().zip(current.version.as_ref());
            versions.is_some_and(|(new, old)| (new, &bundle.name) < (old, &current.name))
        };
        successors.retain(|&(_, at)| {
            let bundle = &package.bundles[at];
            let is_back = is_back(bundle);
            if is_back {
                self.bar(bundle, Bar::Older(unsaid));
            }
            !is_back
        });
    }

    /// What is installed is not what the Subscription wants: the next step towards it, or, when
    /// it wants nothing but older versions, the way back.
    fn ways_to_the_range(
        &mut self,
        subscription: &Subscription,
        current: &Installed,
        successors: &[(usize, usize)],
    ) {
        let package = self.package;
        let version = |bundle: usize| package.bundles[bundle].version.as_ref();
        let listing = self.listing();
        let before = self.found.offers.len();
        if let (Some(range), false) = (&subscription.version, successors.is_empty()) {
            let cache = &self.market.cache;
            let ways = cache.ways(package, self.channel, range, |patience| {
                leading(self.channel(), package, &listing.in_order, range, patience)
            });
            let Some(leading) = ways else {
                self.found.obstacles.push(Obstacle::TooManyWays {
                    catalog: self.catalog,
                    package: package.name.as_str().into(),
                });
                return;
            };
            for (_, bundle) in successors.iter().filter(|(at, _)| leading.contains(at)) {
                self.offer(*bundle, None);
            }
        }
        if self.found.offers.len() > before {
            return;
        }
        let all = listing.in_order.iter().chain(&listing.skipped);
        let all: Vec<usize> = all.map(|(_, bundle)| *bundle).collect();
        let wanted: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&at| wants(subscription, version(at)))
            .collect();
        let is_older = |at: &usize| {
            version(*at)
                .zip(current.version.as_ref())
                .is_some_and(|(a, b)| a.precedence(b).is_lt())
        };
        if !wanted.iter().all(is_older) {
            self.found.obstacles.push(Obstacle::NoPath);
            return;
        }
        if wanted.is_empty() {
            for at in all {
                self.bar(&package.bundles[at], Bar::OutOfRange);
            }
            return;
        }
        // Another channel or catalog may lead on; then nobody goes back.
        let forward = std::mem::take(&mut self.found.offers);
        for bundle in wanted {
            self.offer(bundle, Some(subscription));
        }
        let back = std::mem::replace(&mut self.found.offers, forward);
        self.found.back.extend(back);
    }

    /// What meets the need of a bundle, by the positions of the package's bundles.
    pub(super) fn matching(&mut self, meets: &[bool], only_subscribed: bool) {
        let package = self.package;
        let listing = self.listing();
        let meets = |(_, at): &&(usize, usize)| meets.get(*at) == Some(&true);
        for &(_, at) in listing.in_order.iter().filter(meets) {
            let bundle = &package.bundles[at];
            match self.refused_by_subscriptions(bundle, only_subscribed) {
                Some(why) => self.bar(bundle, why),
                None => self.offer(at, None),
            }
        }
        for &(_, at) in listing.skipped.iter().filter(meets) {
            self.bar(&package.bundles[at], Bar::Skipped);
        }
    }

    /// What the Subscriptions of the package say to a bundle that somebody else needs: a version
    /// that one of them pins holds for all, met or not.
    fn refused_by_subscriptions(&self, bundle: &Bundle, only_subscribed: bool) -> Option<Bar> {
        let own = self.market.subscriptions_to(&self.package.name);
        let is_pinned = |at: &&usize| {
            let subscription = &self.market.request.subscriptions[**at];
            !wants(subscription, bundle.version.as_ref())
        };
        let pinned = own.iter().find(is_pinned).map(|at| Bar::Pinned(*at));
        pinned.or_else(|| (only_subscribed && own.is_empty()).then_some(Bar::NotSubscribed))
    }

    fn offer(&mut self, at: usize, subscription: Option<&Subscription>) {
        let package = self.package;
        let bundle = &package.bundles[at];
        let wanted =
            subscription.is_none_or(|subscription| wants(subscription, bundle.version.as_ref()));
        let kube_version = self.market.request.kube_version.as_ref();
        let too_new = bundle
            .min_kube_version
            .as_ref()
            .filter(|_| kube_version.is_some_and(|has| !bundle.runs_on(has)));
        if !wanted {
            self.bar(bundle, Bar::OutOfRange);
        } else if let Some(unreadable) = &bundle.unreadable_kube_version {
            self.bar(bundle, Bar::UnreadableKubernetes(unreadable.clone()));
        } else if let Some(needed) = too_new {
            self.bar(bundle, Bar::NeedsKubernetes(needed.clone()));
        } else if bundle.features.is_deprecated() {
            self.bar(bundle, Bar::Deprecated);
        } else if let Err(problem) = bundle.requirements() {
            self.bar(bundle, Bar::UnreadableNeed(problem.to_string()));
        } else {
            self.found.offers.push(Offer {
                catalog: self.catalog,
                package: package.clone(),
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

/// The entries of a channel from which upgrades lead to a version in a range.
fn leading(
    channel: &Channel,
    package: &Package,
    listed: &[(usize, usize)],
    range: &UserRange,
    patience: &Budget,
) -> HashSet<usize> {
    let is_wanted = |bundle: usize| {
        let version = package.bundles[bundle].version.as_ref();
        version.is_some_and(|version| range.contains(version))
    };
    let aims = listed.iter().filter(|(_, bundle)| is_wanted(*bundle));
    let mut open: Vec<usize> = aims.map(|(entry, _)| *entry).collect();
    let mut leading = HashSet::new();
    while let Some(next) = open.pop() {
        let skips = channel.entries()[next].skips.len();
        if !patience.spend(listed.len() * (1 + skips)) {
            break;
        }
        for &(entry, bundle) in listed {
            let bundle = &package.bundles[bundle];
            if leading.contains(&entry)
                || !channel.upgrades(next, &bundle.name, bundle.version.as_ref())
            {
                continue;
            }
            leading.insert(entry);
            open.push(entry);
        }
    }
    leading
}
