//! What the resolver answers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::explanation::Explanation;
use super::market::Offer;
use super::notes;
use super::problem::{ChoiceId, Group, NeedId, Origin, Problem};
use super::request::{CatalogKey, Subscription};
use super::search::Selection;

/// The outcomes of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// The namespace.
    pub namespace: String,
    /// One for each independent part of the problem, by the name of its first Subscription.
    pub components: Vec<Component>,
    /// What installed operators need and do not get, also those that nobody asked about.
    #[serde(skip)]
    pub lacking: Vec<String>,
}

/// The outcome for Subscriptions that hang together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Component {
    /// They can all be met.
    Solved(Solution),
    /// They cannot.
    Unsolvable(Box<Explanation>),
}

impl Component {
    /// The Subscriptions it is about, by name.
    pub fn subscriptions(&self) -> &[String] {
        match self {
            Self::Solved(solution) => &solution.requests,
            Self::Unsolvable(explanation) => &explanation.requests,
        }
    }
}

/// What is to be done so that Subscriptions get what they ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Solution {
    /// The Subscriptions it is about, by name.
    #[serde(rename = "for")]
    pub requests: Vec<String>,
    /// What is installed: what is needed comes before who needs it, and otherwise by name.
    pub install: Vec<Install>,
    /// Subscriptions to be made for what nobody subscribed to, by name.
    pub subscriptions: Vec<GeneratedSubscription>,
    /// What stays as it is, by the name of its Subscription.
    pub kept: Vec<Kept>,
    /// Upgrades that there are but cannot be had now, by the name of their Subscription.
    pub held_back: Vec<HeldBack>,
    /// What is worth knowing although it stops nothing.
    pub notes: Vec<String>,
}

/// A bundle to be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    /// The name of the bundle and of its CSV.
    pub bundle: String,
    /// Its package.
    pub package: String,
    /// Its version; may be empty.
    pub version: String,
    /// The catalog it is from.
    pub catalog: String,
    /// The namespace of that catalog.
    pub catalog_namespace: String,
    /// The channel it is from.
    pub channel: String,
    /// The image with its manifests; may be empty.
    pub image: String,
    /// The installed CSV that it replaces; empty for a new operator.
    pub replaces: String,
    /// The Subscriptions and bundles that need it, by name.
    pub requested_by: Vec<String>,
}

/// A Subscription that keeps a dependency up to date from now on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedSubscription {
    /// `<package>-<channel>-<catalog>-<namespace of the catalog>`, as OLM names them.
    pub name: String,
    /// The package.
    pub package: String,
    /// The channel.
    pub channel: String,
    /// The catalog.
    pub catalog: String,
    /// The namespace of that catalog.
    pub catalog_namespace: String,
    /// The bundle it begins with.
    #[serde(rename = "startingCSV")]
    pub starting_csv: String,
}

/// A CSV that stays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Whose it is.
    pub subscription: String,
    /// The CSV.
    pub csv: String,
    /// Whether it had no Subscription before.
    pub adopted: bool,
}

/// An upgrade that has to wait.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldBack {
    /// Whose upgrade it is.
    pub subscription: String,
    /// The bundle it would get.
    pub bundle: String,
    /// Why it does not, in one line.
    pub because: String,
}

impl Solution {
    pub(super) fn new(
        problem: &Problem<'_>,
        group: &Group,
        selection: &Selection,
        ignored: &[(ChoiceId, NeedId)],
    ) -> Self {
        let choices = &selection.choices;
        let requests: Vec<String> = group
            .subscriptions
            .iter()
            .map(|&at| problem.subscription(at).name.clone())
            .collect();
        let new: Vec<ChoiceId> = choices
            .iter()
            .copied()
            .filter(|&choice| !problem.is_installed(choice))
            .collect();
        let mut requesters = requesters(problem, group, selection);
        let mut install = Vec::new();
        let mut subscriptions = Vec::new();
        for choice in in_order(problem, selection, &new) {
            let Origin::Offered(offer) = &problem.choices[choice].origin else {
                continue;
            };
            let key = &problem.market.catalog(offer.catalog).key;
            let requested_by = requesters.remove(&choice).unwrap_or_default();
            install.push(self::install(problem, choice, offer, key, requested_by));
            let is_subscribed = |subscription: &Subscription| covers(subscription, offer, key);
            if !problem.request().subscriptions.iter().any(is_subscribed) {
                subscriptions.push(generated(offer, key));
            }
        }
        subscriptions.sort();
        let mut kept: Vec<Kept> = Vec::new();
        for &at in &group.subscriptions {
            let current = problem.present.current.get(at).copied().flatten();
            let current = current.filter(|at| {
                problem
                    .installed
                    .get(at)
                    .is_some_and(|choice| choices.contains(choice))
            });
            kept.extend(current.map(|current| Kept {
                subscription: problem.subscription(at).name.clone(),
                csv: problem.installed(current).name.clone(),
                adopted: problem.present.adopted.contains(&current),
            }));
        }
        Self {
            notes: notes::notes(problem, group, choices, ignored),
            requests,
            install,
            subscriptions,
            kept,
            held_back: Vec::new(),
        }
    }
}

/// Whose needs each choice meets, by name.
fn requesters(
    problem: &Problem<'_>,
    group: &Group,
    selection: &Selection,
) -> BTreeMap<ChoiceId, BTreeSet<String>> {
    let mut requesters: BTreeMap<ChoiceId, BTreeSet<String>> = BTreeMap::new();
    for &at in &group.subscriptions {
        if let Some(&met_by) = selection.met.get(&problem.roots[at]) {
            let name = problem.subscription(at).name.clone();
            requesters.entry(met_by).or_default().insert(name);
        }
    }
    for &choice in &selection.choices {
        let met = problem.choices[choice].needs.iter();
        let met = met.filter_map(|need| selection.met.get(need));
        for &met_by in met.filter(|met_by| **met_by != choice) {
            let name = problem.name(choice).to_owned();
            requesters.entry(met_by).or_default().insert(name);
        }
    }
    requesters
}

fn install(
    problem: &Problem<'_>,
    choice: ChoiceId,
    offer: &Offer,
    key: &CatalogKey,
    requested_by: BTreeSet<String>,
) -> Install {
    let bundle = offer.bundle();
    let replaced = problem.choices[choice].replaces;
    Install {
        bundle: bundle.name.clone(),
        package: offer.package.name.clone(),
        version: bundle
            .version
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        catalog: key.name.clone(),
        catalog_namespace: key.namespace.clone(),
        channel: offer.channel().name().to_owned(),
        image: bundle.image.clone(),
        replaces: replaced
            .map(|at| problem.installed(at).name.clone())
            .unwrap_or_default(),
        requested_by: requested_by.into_iter().collect(),
    }
}

/// Whether a Subscription is about the package, channel and catalog of an offer.
fn covers(subscription: &Subscription, offer: &Offer, key: &CatalogKey) -> bool {
    subscription.package == offer.package.name
        && (subscription.channel.is_empty() || subscription.channel == offer.channel().name())
        && (subscription.catalog.is_empty() || subscription.catalog == *key)
}

fn generated(offer: &Offer, key: &CatalogKey) -> GeneratedSubscription {
    let (package, channel) = (&offer.package.name, offer.channel().name());
    GeneratedSubscription {
        name: format!("{package}-{channel}-{}-{}", key.name, key.namespace),
        package: package.clone(),
        channel: channel.to_owned(),
        catalog: key.name.clone(),
        catalog_namespace: key.namespace.clone(),
        starting_csv: offer.bundle().name.clone(),
    }
}

/// What is needed comes before who needs it, and otherwise by name. Those who need each other come
/// one after the other.
fn in_order(problem: &Problem<'_>, selection: &Selection, new: &[ChoiceId]) -> Vec<ChoiceId> {
    let is_new: HashSet<ChoiceId> = new.iter().copied().collect();
    let mut needed = DiGraphMap::<ChoiceId, ()>::new();
    for &choice in new {
        needed.add_node(choice);
        for &need in &problem.choices[choice].needs {
            let met_by = selection.met.get(&need).copied();
            if let Some(met_by) = met_by.filter(|by| *by != choice && is_new.contains(by)) {
                needed.add_edge(choice, met_by, ());
            }
        }
    }
    let name = |choice: ChoiceId| (problem.name(choice), choice);
    // Not Tarjan's: that one recurses, and thousands may need each other in a row.
    let mut knots: Vec<Vec<ChoiceId>> = kosaraju_scc(&needed);
    for knot in &mut knots {
        knot.sort_by_key(|&choice| name(choice));
    }
    let knot_of: BTreeMap<ChoiceId, usize> = knots
        .iter()
        .enumerate()
        .flat_map(|(at, knot)| knot.iter().map(move |&choice| (choice, at)))
        .collect();
    let mut between: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (from, to, ()) in needed.all_edges() {
        if let (Some(&from), Some(&to)) = (knot_of.get(&from), knot_of.get(&to))
            && from != to
        {
            between.insert((from, to));
        }
    }
    let mut missing = vec![0_usize; knots.len()];
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); knots.len()];
    for (from, to) in between {
        missing[from] += 1;
        needed_by[to].push(from);
    }
    let first = |at: usize| Reverse((knots[at].first().map(|&choice| name(choice)), at));
    let ready = (0..knots.len()).filter(|&at| missing[at] == 0).map(first);
    let mut ready: BinaryHeap<_> = ready.collect();
    let mut order = Vec::with_capacity(new.len());
    // Knots wait for each other without circles, so that all get their turn.
    while let Some(Reverse((_, next))) = ready.pop() {
        order.extend(&knots[next]);
        for &at in &needed_by[next] {
            missing[at] -= 1;
            if missing[at] == 0 {
                ready.push(first(at));
            }
        }
    }
    order
}
