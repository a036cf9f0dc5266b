//! What is in the namespace: what counts, what is on its way out, and whose it is.

use std::collections::{BTreeSet, HashMap};

use super::market::Market;
use super::request::{Installed, Progress, Subscription};

/// The installed CSVs of a request, by their positions in it.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// Those that count: not those which another one replaces. A CSV that is being replaced is
    /// on its way out, whether its successor works or not: were it a fact, a failed upgrade could
    /// never be followed by a better one.
    pub(super) counting: Vec<usize>,
    /// What each Subscription has, by its position.
    pub(super) current: Vec<Option<usize>>,
    /// Those of `current` that no Subscription had before.
    pub(super) adopted: BTreeSet<usize>,
    /// Upgrades that are neither done nor failed; the next has to wait for them.
    pub(super) underway: BTreeSet<usize>,
}

impl Present {
    pub(super) fn new(market: &Market<'_>) -> Self {
        let installed = &market.request.installed;
        let successors = Successors::new(installed);
        let counting: Vec<usize> = (0..installed.len())
            .filter(|&at| successors.last(at) == at)
            .collect();
        let subscriptions = &market.request.subscriptions;
        let mut current: Vec<Option<usize>> = subscriptions
            .iter()
            .map(|subscription| {
                let mut all = installed.iter();
                let own = all.position(|csv| csv.name == subscription.installed_csv)?;
                Some(successors.last(own))
            })
            .collect();
        let owned: BTreeSet<usize> = current.iter().flatten().copied().collect();
        let orphans: Vec<usize> = counting
            .iter()
            .copied()
            .filter(|at| !owned.contains(at))
            .collect();
        let mut adopted = BTreeSet::new();
        for (subscription, current) in subscriptions.iter().zip(&mut current) {
            if current.is_none() {
                *current = orphan_for(market, subscription, &orphans);
                adopted.extend(*current);
            }
        }
        let underway = counting
            .iter()
            .copied()
            .filter(|&at| {
                installed[at].progress == Progress::Underway && successors.replaces_another(at)
            })
            .collect();
        Self {
            counting,
            current,
            adopted,
            underway,
        }
    }

    /// Those that no Subscription has: they stay whatever else happens.
    pub(super) fn facts(&self) -> BTreeSet<usize> {
        let owned: BTreeSet<usize> = self.current.iter().flatten().copied().collect();
        let counting = self.counting.iter().copied();
        counting.filter(|at| !owned.contains(at)).collect()
    }
}

/// The newest CSV without a Subscription that belongs to the package of this one.
fn orphan_for(
    market: &Market<'_>,
    subscription: &Subscription,
    orphans: &[usize],
) -> Option<usize> {
    let installed = &market.request.installed;
    let catalogs = if subscription.catalog.is_empty() {
        market.by_preference(None)
    } else {
        market.named(&subscription.catalog).into_iter().collect()
    };
    let packages = catalogs.into_iter();
    let packages: Vec<_> = packages
        .filter_map(|catalog| market.package(catalog, &subscription.package))
        .collect();
    let belongs = |csv: &Installed| match &csv.package {
        Some(package) => *package == subscription.package,
        None => packages
            .iter()
            .any(|package| package.bundle(&csv.name).is_some()),
    };
    let matching = orphans
        .iter()
        .copied()
        .filter(|&at| belongs(&installed[at]));
    matching.max_by(|&a, &b| {
        let (a, b) = (&installed[a], &installed[b]);
        (&a.version, &a.name).cmp(&(&b.version, &b.name))
    })
}

/// Who replaces whom among the installed.
struct Successors {
    next: Vec<Option<usize>>,
    replaces_another: Vec<bool>,
}

impl Successors {
    fn new(installed: &[Installed]) -> Self {
        let mut names = HashMap::new();
        for (at, csv) in installed.iter().enumerate() {
            names.entry(csv.name.as_str()).or_insert(at);
        }
        let mut next = vec![None; installed.len()];
        let mut replaces_another = vec![false; installed.len()];
        // Of several that replace one, one that runs comes first, and then the newest: in which order they are listed
        // decides nothing.
        let mut by_rank: Vec<(usize, &Installed)> = installed.iter().enumerate().collect();
        by_rank.sort_by_key(|(_, csv)| {
            let runs = csv.progress == Progress::Succeeded;
            (runs, &csv.version, &csv.name)
        });
        for (at, csv) in by_rank {
            if let Some(&replaced) = names.get(csv.replaces.as_str())
                && replaced != at
            {
                next[replaced] = Some(at);
                replaces_another[at] = true;
            }
        }
        Self {
            next,
            replaces_another,
        }
    }

    /// The end of the chain of replacements; the CSV itself if the chain goes in a circle, since
    /// then nothing is the newest.
    fn last(&self, at: usize) -> usize {
        let mut last = at;
        for _ in 0..self.next.len() {
            match self.next.get(last).copied().flatten() {
                Some(next) => last = next,
                None => return last,
            }
        }
        at
    }

    fn replaces_another(&self, at: usize) -> bool {
        self.replaces_another.get(at).copied().unwrap_or_default()
    }
}
