//! The smallest changes that would help, found by trying them.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use super::budget::Effort;
use super::candidates::{Bar, Obstacle};
use super::explanation::Change;
use super::market::Patiences;
use super::problem::{NeedId, Origin, Problem, What};
use super::request::{CatalogKey, Dependencies, Request, Subscription};
use super::resolve::{How, Stuck, Try, resolve_with};
use super::solution::{Component, Resolution, Solution};
use super::words;
use crate::catalog::search::within_distance;
use crate::version::Version;

/// How many changes are told.
const TOLD: usize = 3;
/// How many changes are tried.
const TRIED: usize = 40;
/// How many changes are tried on a whole request: where hundreds of Subscriptions are in each other's way,
/// advice for a few of them has to do.
const TRIED_ON_ALL: usize = 30;
/// How many Subscriptions and installed operators are looked at in all tries for a request together: what is installed is
/// looked at in each of them.
const LOOKED_AT: usize = 20_000;
/// For how many answers the patience with packages lasts that all tries share. Most tries look at what few
/// Subscriptions need.
const ANSWERS: usize = 4;
/// How many updates of the cluster are tried.
const UPDATES: usize = 5;
/// How many letters a name may be off.
const TYPOS: usize = 2;

/// What all tries for one request share: together they cost no more than a few answers, and none of it is
/// taken from the answer itself.
pub(super) struct Tries {
    /// How many changes were tried on the whole request.
    on_all: Cell<usize>,
    /// What people are without as things are.
    missing: OnceCell<BTreeSet<String>>,
    /// How many Subscriptions and installed operators were looked at in all tries.
    looked_at: Cell<usize>,
    patience: Rc<Patiences>,
}

impl Tries {
    pub(super) fn new() -> Self {
        Self {
            on_all: Cell::default(),
            missing: OnceCell::new(),
            looked_at: Cell::default(),
            patience: Patiences::for_answers(ANSWERS),
        }
    }

    /// Whether there is time for another try on the whole request.
    fn may_try_on_all(&self) -> bool {
        self.on_all.set(self.on_all.get() + 1);
        self.on_all.get() <= TRIED_ON_ALL
    }

    /// Whether there is time to try a request, however small the change.
    fn may_try(&self, request: &Request<'_>) -> bool {
        let size = 1 + request.subscriptions.len() + request.installed.len();
        self.looked_at.set(self.looked_at.get() + size);
        self.looked_at.get() <= LOOKED_AT
    }

    /// What people are without if nothing changes, found out once.
    fn missing_before(&self, problem: &Problem<'_>) -> &BTreeSet<String> {
        self.missing.get_or_init(|| {
            let cache = &problem.market.cache;
            missing(&resolve_with(problem.request(), cache, How::Solving))
        })
    }
}

/// A change of the request.
#[derive(Debug, Clone)]
enum Edit {
    Package(usize, String),
    Channel(usize, String),
    Catalog(usize, CatalogKey, String),
    AnyVersion(usize),
    NoStart(usize),
    InstallDependencies(usize),
    Offer(usize, String),
    Kubernetes(Version),
    Uninstall(usize),
    Remove(usize),
}

impl Edit {
    /// The Subscription that is changed, if one is.
    fn subscription(&self) -> Option<usize> {
        match self {
            Self::Package(at, _)
            | Self::Channel(at, _)
            | Self::Catalog(at, ..)
            | Self::AnyVersion(at)
            | Self::NoStart(at)
            | Self::InstallDependencies(at)
            | Self::Remove(at) => Some(*at),
            Self::Offer(..) | Self::Kubernetes(_) | Self::Uninstall(_) => None,
        }
    }
}

/// The smallest changes after which the Subscriptions that were set aside are met, and nobody else
/// is worse off. What helps the Subscriptions themselves is tried again on the whole namespace.
pub(super) fn changes(problem: &Problem<'_>, stuck: &Stuck, tries: &Tries) -> Vec<Change> {
    let mut told: Vec<Change> = Vec::new();
    let effort = Effort::new();
    let how = How::Trying(Try {
        effort: &effort,
        patience: &tries.patience,
    });
    for edit in edits(problem, stuck).into_iter().take(TRIED) {
        let mut few = stuck.core.clone();
        few.extend(edit.subscription().filter(|at| !stuck.core.contains(at)));
        let cache = &problem.market.cache;
        let request = edited(problem, Some(&few), &edit);
        if !tries.may_try(&request) {
            break;
        }
        let alone = resolve_with(&request, cache, how);
        let Some(gives) = gives(problem, stuck, &edit, &alone) else {
            continue;
        };
        let is_all = few.len() == problem.request().subscriptions.len();
        let gives = if is_all {
            is_fair(problem, &alone, tries).then_some(gives)
        } else {
            beside_all(problem, stuck, &edit, tries, how)
        };
        let Some(gives) = gives else {
            continue;
        };
        let change = words_for(problem, &edit);
        if told.iter().all(|known| known.change != change) {
            told.push(Change { change, gives });
        }
        if told.len() == TOLD {
            break;
        }
    }
    told
}

/// What a change gives beside all other Subscriptions, if it helps there too and leaves none of them
/// worse off.
fn beside_all(
    problem: &Problem<'_>,
    stuck: &Stuck,
    edit: &Edit,
    tries: &Tries,
    how: How<'_>,
) -> Option<Vec<String>> {
    if !tries.may_try_on_all() {
        return None;
    }
    let request = edited(problem, None, edit);
    let whole = resolve_with(&request, &problem.market.cache, how);
    let gives = gives(problem, stuck, edit, &whole)?;
    is_fair(problem, &whole, tries).then_some(gives)
}

/// Whether nobody is worse off than as things are.
fn is_fair(problem: &Problem<'_>, resolution: &Resolution, tries: &Tries) -> bool {
    missing(resolution).is_subset(tries.missing_before(problem))
}

/// What people are without: the Subscriptions that are not met, and what installed operators lack.
fn missing(resolution: &Resolution) -> BTreeSet<String> {
    let components = resolution.components.iter();
    let unsolvable = components.filter(|component| matches!(component, Component::Unsolvable(_)));
    let unmet = unsolvable.flat_map(|component| component.subscriptions().to_vec());
    unmet.chain(resolution.lacking.iter().cloned()).collect()
}

/// The changes that are worth a try: small ones of the Subscriptions themselves, then of others,
/// then of the cluster.
fn edits(problem: &Problem<'_>, stuck: &Stuck) -> Vec<Edit> {
    let mut edits = Vec::new();
    let others = stuck
        .core
        .iter()
        .copied()
        .filter(|at| !stuck.aside.contains(at));
    for at in stuck.aside.iter().copied().chain(others) {
        of_subscription(problem, at, &mut edits);
    }
    let proof = stuck.proof.as_ref();
    let needs = proof.iter().flat_map(|proof| {
        let inner = proof.needs.iter().map(|(_, need)| *need);
        inner.chain(proof.roots.iter().copied())
    });
    let own = |need: NeedId| match problem.needs[need].what {
        What::Subscription(at) => problem.present.current.get(at).copied().flatten(),
        What::Requirement { .. } => None,
    };
    let mut begin_anew = Vec::new();
    let mut kubernetes: BTreeSet<&Version> = BTreeSet::new();
    for need in needs {
        for obstacle in &problem.needs[need].obstacles {
            match obstacle {
                Obstacle::Curated { catalog, package } => {
                    edits.push(Edit::Offer(*catalog, package.clone()));
                }
                Obstacle::Barred {
                    why: Bar::NeedsKubernetes(version),
                    ..
                } => {
                    kubernetes.insert(version);
                }
                Obstacle::Barred {
                    why: Bar::Pinned(at),
                    ..
                } => edits.push(Edit::AnyVersion(*at)),
                // Where no way leads, one can begin anew.
                Obstacle::NoPath => begin_anew.extend(own(need)),
                _ => {}
            }
        }
    }
    // The least first; where several bundles are at stake, the greatest may be what they need together.
    let last = kubernetes.last().copied();
    let few = kubernetes.iter().copied().take(UPDATES);
    let versions: BTreeSet<&Version> = few.chain(last).collect();
    edits.extend(versions.into_iter().cloned().map(Edit::Kubernetes));
    edits.extend(begin_anew.into_iter().map(Edit::Uninstall));
    for &fact in proof.iter().flat_map(|proof| &proof.facts) {
        if let Origin::Installed(at) = problem.choices[fact].origin {
            edits.push(Edit::Uninstall(at));
        }
    }
    if stuck.core.len() > 1 {
        edits.extend(stuck.core.iter().copied().map(Edit::Remove));
    }
    edits
}

fn of_subscription(problem: &Problem<'_>, at: usize, edits: &mut Vec<Edit>) {
    let subscription = problem.subscription(at);
    let own = problem.market.named(&subscription.catalog);
    let mut catalogs = problem.market.by_preference(own);
    catalogs.retain(|&catalog| problem.market.problem(catalog).is_none());
    for &catalog in &catalogs {
        let Some(package) = problem.market.package(catalog, &subscription.package) else {
            if own == Some(catalog) || subscription.catalog.is_empty() {
                let names = problem.market.names(catalog);
                let mut similar: Vec<(usize, String)> = names
                    .into_iter()
                    .filter_map(|name| {
                        let is_within =
                            |typos: &usize| within_distance(&name, &subscription.package, *typos);
                        let typos = (1..=TYPOS).find(is_within)?;
                        (typos * 2 < name.len()).then_some((typos, name))
                    })
                    .collect();
                similar.sort();
                edits.extend(similar.into_iter().map(|(_, name)| Edit::Package(at, name)));
            }
            continue;
        };
        let has_channel = package
            .channels
            .iter()
            .any(|channel| channel.name() == subscription.channel);
        if own == Some(catalog) {
            let others = package
                .channels
                .iter()
                .filter(|channel| channel.name() != subscription.channel);
            let is_any = subscription.channel.is_empty() && package.broken_default().is_none();
            edits.extend(
                others
                    .filter(|_| !is_any)
                    .map(|channel| Edit::Channel(at, channel.name().to_owned())),
            );
        } else {
            let key = problem.market.catalog(catalog).key.clone();
            let channel = if has_channel {
                subscription.channel.clone()
            } else {
                package.default_channel.clone()
            };
            edits.push(Edit::Catalog(at, key, channel));
        }
    }
    if subscription.version.is_some() {
        edits.push(Edit::AnyVersion(at));
    }
    if !subscription.starting_csv.is_empty() {
        edits.push(Edit::NoStart(at));
    }
    if subscription.dependencies == Dependencies::Require {
        edits.push(Edit::InstallDependencies(at));
    }
}

/// The request after a change, of these Subscriptions only if they are given.
fn edited<'r>(problem: &Problem<'r>, only: Option<&[usize]>, edit: &Edit) -> Request<'r> {
    let mut request = problem.request().clone();
    let mut subscriptions: Vec<(usize, Subscription)> =
        request.subscriptions.into_iter().enumerate().collect();
    subscriptions.retain(|(at, _)| only.is_none_or(|only| only.contains(at)));
    let change = |subscriptions: &mut Vec<(usize, Subscription)>,
                  wanted: usize,
                  how: &dyn Fn(&mut Subscription)| {
        let found = subscriptions.iter_mut().find(|(at, _)| *at == wanted);
        if let Some((_, subscription)) = found {
            how(subscription);
        }
    };
    match edit {
        Edit::Package(at, name) => {
            change(&mut subscriptions, *at, &|it| it.package.clone_from(name));
        }
        Edit::Channel(at, name) => {
            change(&mut subscriptions, *at, &|it| it.channel.clone_from(name));
        }
        Edit::Catalog(at, key, channel) => change(&mut subscriptions, *at, &|it| {
            it.catalog.clone_from(key);
            it.channel.clone_from(channel);
        }),
        Edit::AnyVersion(at) => change(&mut subscriptions, *at, &|it| it.version = None),
        Edit::NoStart(at) => change(&mut subscriptions, *at, &|it| it.starting_csv.clear()),
        Edit::InstallDependencies(at) => {
            change(&mut subscriptions, *at, &|it| {
                it.dependencies = Dependencies::Install;
            });
        }
        Edit::Offer(catalog, package) => {
            if let Some(catalog) = request.catalogs.get_mut(*catalog) {
                catalog.curation = catalog.curation.and(package);
            }
        }
        Edit::Kubernetes(version) => request.kube_version = Some(version.clone()),
        Edit::Uninstall(at) => drop(request.installed.remove(*at)),
        Edit::Remove(wanted) => subscriptions.retain(|(at, _)| at != wanted),
    }
    request.subscriptions = subscriptions
        .into_iter()
        .map(|(_, subscription)| subscription)
        .collect();
    request
}

/// What the Subscriptions in question get, if all of them get something.
fn gives(
    problem: &Problem<'_>,
    stuck: &Stuck,
    edit: &Edit,
    resolution: &Resolution,
) -> Option<Vec<String>> {
    let removed = match edit {
        Edit::Remove(at) => Some(*at),
        _ => None,
    };
    let mut gives = Vec::new();
    for &at in stuck.core.iter().filter(|at| Some(**at) != removed) {
        let name = &problem.subscription(at).name;
        let solution = solution_for(resolution, name)?;
        if !stuck.aside.contains(&at) {
            continue;
        }
        let installed = solution
            .install
            .iter()
            .filter(|install| install.requested_by.contains(name));
        gives.extend(installed.map(|install| format!("{} {}", install.package, install.version)));
        let kept = solution
            .kept
            .iter()
            .filter(|kept| kept.subscription == *name);
        gives.extend(kept.map(|kept| format!("{} as it is", kept.csv)));
    }
    gives.sort();
    gives.dedup();
    (!gives.is_empty()).then_some(gives)
}

fn solution_for<'a>(resolution: &'a Resolution, subscription: &String) -> Option<&'a Solution> {
    resolution
        .components
        .iter()
        .find_map(|component| match component {
            Component::Solved(solution) if solution.requests.contains(subscription) => {
                Some(solution)
            }
            _ => None,
        })
}

fn words_for(problem: &Problem<'_>, edit: &Edit) -> String {
    let name = |at: &usize| &problem.subscription(*at).name;
    match edit {
        Edit::Package(at, package) => {
            format!(
                "change the package of Subscription {} to {package}",
                name(at)
            )
        }
        Edit::Channel(at, channel) => {
            format!("let Subscription {} follow channel {channel}", name(at))
        }
        Edit::Catalog(at, key, channel) => {
            let same = problem.subscription(*at).channel == *channel;
            let channel = if same {
                String::new()
            } else {
                format!(" and channel {channel}")
            };
            format!("let Subscription {} use catalog {key}{channel}", name(at))
        }
        Edit::AnyVersion(at) => {
            let range = problem
                .subscription(*at)
                .version
                .as_ref()
                .map(ToString::to_string);
            format!(
                "take version {} out of Subscription {}",
                range.unwrap_or_default(),
                name(at)
            )
        }
        Edit::NoStart(at) => {
            format!(
                "take startingCSV {} out of Subscription {}",
                problem.subscription(*at).starting_csv,
                name(at)
            )
        }
        Edit::InstallDependencies(at) => format!(
            "set policy.dependencies of Subscription {} to Install",
            name(at)
        ),
        Edit::Offer(catalog, package) => {
            format!(
                "add {package} to spec.packages of catalog {}",
                problem.market.catalog(*catalog).key
            )
        }
        Edit::Kubernetes(version) => {
            format!("update the cluster to Kubernetes {version} or newer")
        }
        Edit::Uninstall(at) => format!("uninstall {}", words_of_installed(problem, *at)),
        Edit::Remove(at) => format!("remove Subscription {}", name(at)),
    }
}

fn words_of_installed(problem: &Problem<'_>, at: usize) -> String {
    let choice = problem.installed.get(&at);
    choice.map_or_else(String::new, |&choice| words::choice(problem, choice))
}
