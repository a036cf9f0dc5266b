//! One channel, looked through for candidates.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Bar, Found, Obstacle};
use crate::resolver::market::{Market, Offer};
use crate::resolver::package::{Bundle, Channel, Package};
use crate::resolver::predicate::Requirement;
use crate::resolver::request::{Installed, Subscription};
use crate::version::Version;

/// Whether a Subscription wants this version.
pub(super) fn wants(subscription: &Subscription, version: Option<&Version>) -> bool {
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
pub(super) struct Aisle<'a, 'r> {
    pub(super) market: &'a Market<'r>,
    pub(super) catalog: usize,
    pub(super) package: &'a Arc<Package>,
    /// The position of the channel in the package.
    pub(super) channel: usize,
    pub(super) found: &'a mut Found,
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
        let in_order: HashSet<(usize, usize)> = listed.iter().copied().collect();
        let entries = self.channel().entries().iter().enumerate();
        let mut skipped: Vec<(usize, usize)> = entries
            .filter_map(|(entry, listed)| Some((entry, package.bundle(&listed.name)?.0)))
            .filter(|both| !in_order.contains(both))
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
    pub(super) fn everything(&mut self, subscription: &Subscription) {
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
    pub(super) fn exactly(&mut self, subscription: &Subscription) -> bool {
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
    pub(super) fn upgrades(&mut self, subscription: &Subscription, current: &Installed) {
        let listed = self.in_order();
        let version = current.version.as_ref();
        // What is behind the installed bundle in the same chain is older, whatever its skipRange
        // says: it would be upgraded again at once, and so on for ever.
        let name = |entry: usize| &self.channel().entries()[entry].name;
        let installed = listed
            .iter()
            .position(|&(entry, _)| *name(entry) == current.name);
        let newer = &listed[..installed.unwrap_or(listed.len())];
        let successors: Vec<(usize, usize)> = newer
            .iter()
            .copied()
            .filter(|&(entry, _)| self.channel().upgrades(entry, &current.name, version))
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
        if !wanted.iter().all(is_older) {
            self.found.obstacles.push(Obstacle::NoPath);
            return;
        }
        if wanted.is_empty() {
            let all: Vec<usize> = self.with_skipped().into_iter().map(|(_, at)| at).collect();
            for at in all {
                self.bar(&package.bundles[at], Bar::OutOfRange);
            }
            return;
        }
        for bundle in wanted {
            self.offer(bundle, Some(subscription));
        }
    }

    /// What meets the need of a bundle.
    pub(super) fn matching(&mut self, requirement: &Requirement, only_subscribed: bool) {
        let package = self.package.clone();
        let in_order: HashSet<(usize, usize)> = self.in_order().into_iter().collect();
        for (entry, at) in self.with_skipped() {
            let bundle = &package.bundles[at];
            if !requirement.matches(&bundle.features) {
                continue;
            }
            if !in_order.contains(&(entry, at)) {
                self.bar(bundle, Bar::Skipped);
            } else if let Some(why) = self.refused_by_subscriptions(bundle, only_subscribed) {
                self.bar(bundle, why);
            } else {
                self.offer(at, None);
            }
        }
    }

    /// What the Subscriptions of the package say to a bundle that somebody else needs: a version
    /// that one of them pins holds for all, met or not.
    fn refused_by_subscriptions(&self, bundle: &Bundle, only_subscribed: bool) -> Option<Bar> {
        let subscriptions = self.market.request.subscriptions.iter().enumerate();
        let mut own = subscriptions.filter(|(_, it)| it.package == self.package.name);
        let is_pinned = |it: &Subscription| !wants(it, bundle.version.as_ref());
        if let Some((at, _)) = own.clone().find(|(_, it)| is_pinned(it)) {
            return Some(Bar::Pinned(at));
        }
        let key = &self.market.catalog(self.catalog).key;
        let covers = |it: &Subscription| {
            (it.channel.is_empty() || it.channel == self.channel().name())
                && (it.catalog.is_empty() || it.catalog == *key)
        };
        (only_subscribed && !own.any(|(_, it)| covers(it))).then_some(Bar::NotSubscribed)
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

/// How many edges are looked at on the way to a wanted version: an honest channel has a few hundred.
const EDGES: usize = 1_000_000;

/// Whether upgrades lead from one entry of a channel to a wanted bundle.
fn leads_on(
    channel: &Channel,
    package: &Package,
    from: usize,
    listed: &[(usize, usize)],
    wanted: &dyn Fn(usize) -> bool,
) -> bool {
    let mut open = vec![from];
    let mut seen = HashSet::from([from]);
    let mut edges = 0;
    while let Some(entry) = open.pop() {
        let entry = channel.entries().get(entry);
        let Some((_, bundle)) = entry.and_then(|entry| package.bundle(&entry.name)) else {
            continue;
        };
        for &(next, at) in listed {
            edges += 1;
            let version = bundle.version.as_ref();
            if seen.contains(&next) || !channel.upgrades(next, &bundle.name, version) {
                continue;
            }
            if wanted(at) {
                return true;
            }
            seen.insert(next);
            open.push(next);
        }
        if edges > EDGES {
            return false;
        }
    }
    false
}
