//! The names of things as people know them.

use std::collections::{BTreeMap, HashSet};

use super::candidates::{Bar, Obstacle, Unsaid};
use super::problem::{ChoiceId, Origin, Problem, SlotKey, What};
use super::request::{Contents, Subscription};
use crate::version::Version;

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    joined(items, "and")
}

/// As [`list`], and of very many the first.
fn some(items: &[String]) -> String {
    const SOME: usize = 20;
    match items.get(..SOME) {
        Some(first) if items.len() > SOME => {
            format!("{} and {} others", first.join(", "), items.len() - SOME)
        }
        _ => list(items),
    }
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn either(items: &[String]) -> String {
    joined(items, "or")
}

fn joined(items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// `etcd 0.9.4`, or the name of the CSV where that is all that is known.
pub(super) fn choice(problem: &Problem<'_>, choice: ChoiceId) -> String {
    match (problem.package(choice), problem.version(choice)) {
        (Some(package), Some(version)) => format!("{package} {version}"),
        _ => problem.name(choice).to_owned(),
    }
}

/// Several choices of one package in one go, or one after the other.
pub(super) fn choices(problem: &Problem<'_>, choices: &[ChoiceId]) -> String {
    let mut packages: Vec<(&str, Vec<String>)> = Vec::new();
    let mut seen = HashSet::new();
    for &choice in choices {
        let package = problem.package(choice).unwrap_or_default();
        let version = match (package.is_empty(), problem.version(choice)) {
            (false, Some(version)) => version.to_string(),
            _ => problem.name(choice).to_owned(),
        };
        if !seen.insert((package, version.clone())) {
            continue;
        }
        match packages.iter_mut().find(|(known, _)| *known == package) {
            Some((_, versions)) => versions.push(version),
            None => packages.push((package, vec![version])),
        }
    }
    let parts: Vec<String> = packages
        .iter()
        .map(|(package, of)| {
            format!("{package} {}", versions(of))
                .trim_start()
                .to_owned()
        })
        .collect();
    few(&parts)
}

/// Whether [`choices`] names more than one: the same version of two channels is one.
pub(super) fn are_many(problem: &Problem<'_>, choices: &[ChoiceId]) -> bool {
    let named = |choice: &ChoiceId| match (problem.package(*choice), problem.version(*choice)) {
        (Some(package), Some(version)) => (package.to_owned(), version.to_string()),
        _ => (String::new(), problem.name(*choice).to_owned()),
    };
    let all: HashSet<(String, String)> = choices.iter().map(named).collect();
    all.len() > 1
}

/// How many things of one kind are told one after the other.
const TOLD: usize = 4;

/// The first few of many, with something between them.
pub(super) fn few_of(items: &[String], between: &str) -> String {
    let told = items.get(..TOLD).unwrap_or(items).join(between);
    match items.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told}{between}and {more} more"),
    }
}

/// Not more of a text than fits where it is shown. Names and messages are the words of strangers, and
/// may be as long as a book.
pub(super) fn bounded(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A few of many.
fn few(items: &[String]) -> String {
    match items {
        [first, second, rest @ ..] if rest.len() > 2 => {
            format!("{first}, {second} and {} others", rest.len())
        }
        _ => list(items),
    }
}

/// Versions as they come, many of them as first and last.
pub(super) fn versions(versions: &[String]) -> String {
    match versions {
        [first, .., last] if versions.len() > 4 => {
            format!("{first} to {last} ({} versions)", versions.len())
        }
        _ => list(versions),
    }
}

/// Where a Subscription looks: `channel stable of package etcd in catalog olm/community`.
pub(super) fn place(subscription: &Subscription) -> String {
    let channel = match subscription.channel.as_str() {
        "" => String::new(),
        channel => format!("channel {channel} of "),
    };
    let catalog = if subscription.catalog.is_empty() {
        "any catalog".to_owned()
    } else {
        format!("catalog {}", subscription.catalog)
    };
    format!("{channel}package {} in {catalog}", subscription.package)
}

/// What only one can have, as a sentence that says so.
pub(super) fn slot(slot: &SlotKey) -> String {
    match slot {
        SlotKey::Package(package) => {
            format!("only one operator of package {package} can be installed")
        }
        SlotKey::Api(api) => format!("only one operator can provide the API {}", words_of(api)),
        SlotKey::Csv(csv) => format!("{csv} is there only once"),
    }
}

fn words_of(api: &crate::api::gvk::GroupVersionKind) -> String {
    format!("{} ({}/{})", api.kind, api.group, api.version)
}

/// Whether a bundle is the newest of a channel that a Subscription follows. A package that cannot be
/// read is no reason to say that it is not.
pub(super) fn is_newest(problem: &Problem<'_>, subscription: &Subscription, bundle: &str) -> bool {
    let package = problem
        .market
        .named(&subscription.catalog)
        .and_then(|catalog| problem.market.package(catalog, &subscription.package));
    package.is_none_or(|package| {
        let mut followed = package.channels.iter().filter(|channel| {
            subscription.channel.is_empty() || subscription.channel == channel.name()
        });
        followed.any(|channel| {
            let newest = channel.order().ok().and_then(<[usize]>::first);
            let newest = newest.and_then(|&at| channel.entries().get(at));
            newest.is_some_and(|entry| entry.name == bundle)
        })
    })
}

/// What is in the way, as a sentence.
pub(super) fn obstacle(
    problem: &Problem<'_>,
    obstacle: &Obstacle,
    subscription: Option<&Subscription>,
) -> String {
    let key = |at: &usize| &problem.market.catalog(*at).key;
    let namespace = &problem.request().namespace;
    match obstacle {
        Obstacle::NoCatalog => {
            let wanted = subscription.map(|subscription| subscription.catalog.to_string());
            let has = |at: &usize| problem.market.is_visible(*at);
            let mut others: Vec<String> = (0..problem.request().catalogs.len())
                .filter(has)
                .map(|at| key(&at).to_string())
                .collect();
            others.sort();
            let others = if others.is_empty() {
                "there is none at all".to_owned()
            } else {
                format!("there is {}", list(&others))
            };
            format!(
                "there is no catalog {}; {others}",
                wanted.unwrap_or_default()
            )
        }
        Obstacle::HiddenCatalog { catalog } => format!(
            "catalog {} is not visible in namespace {namespace}, which sees {}",
            key(catalog),
            if problem.request().exclude_global {
                "its own catalogs only (its OperatorGroup excludes global ones)".to_owned()
            } else {
                format!(
                    "its own catalogs and those of {}",
                    list(&problem.request().global_namespaces)
                )
            }
        ),
        Obstacle::UnreadableCatalog { catalog, problem } => {
            format!("catalog {} cannot be read: {problem}", key(catalog))
        }
        Obstacle::NoPackage { catalog, package } => {
            let stale = staleness(problem, *catalog);
            format!("catalog {} has no package {package}{stale}", key(catalog))
        }
        Obstacle::LeftOut {
            catalog,
            package,
            problem,
        } => format!(
            "package {package} of catalog {} is broken and left out: {problem}",
            key(catalog)
        ),
        Obstacle::Curated { catalog, package } => format!(
            "catalog {} has package {package} but does not offer it (its spec.packages leaves it out)",
            key(catalog)
        ),
        Obstacle::Held {
            package,
            subscription,
        } => format!(
            "package {package} would do, but Subscription {subscription} to it cannot be understood, and so nothing of it is installed for others; correct that Subscription first"
        ),
        Obstacle::NoChannel {
            catalog,
            package,
            channels,
        } => format!(
            "package {package} in catalog {} has no channel {}; it has {}{}",
            key(catalog),
            subscription
                .map(|subscription| subscription.channel.as_str())
                .unwrap_or_default(),
            some(channels),
            staleness(problem, *catalog)
        ),
        Obstacle::Malformed { catalog, problem } => {
            format!("in catalog {}, {problem}", key(catalog))
        }
        Obstacle::NoDefault {
            catalog,
            package,
            problem,
            others,
        } => {
            let others = match others.as_slice() {
                [] => String::new(),
                others => format!(
                    "; only who names another channel, such as {}, gets something else",
                    either(others)
                ),
            };
            format!(
                "in catalog {}, the default channel of package {package} cannot be followed: {problem}{others}",
                key(catalog)
            )
        }
        Obstacle::NoStartingCsv { .. } => {
            let wanted = subscription.map(|subscription| {
                format!(
                    "{} does not list {} (startingCSV)",
                    place(subscription),
                    subscription.starting_csv
                )
            });
            wanted.unwrap_or_default()
        }
        Obstacle::NoPath => {
            let wanted = subscription
                .and_then(|subscription| Some((subscription, subscription.version.as_ref()?)));
            let wanted = wanted.map(|(subscription, range)| {
                format!(
                    "nothing in {} leads from what is installed to version {range}",
                    place(subscription)
                )
            });
            wanted.unwrap_or_default()
        }
        Obstacle::TooManyWays { catalog, package } => format!(
            "it takes too long to look for a way from what is installed to the version that is wanted: package \
             {package} of catalog {} has too many upgrades; name a version that follows the installed one, or \
             tell its publisher",
            key(catalog)
        ),
        Obstacle::TooMuch { asker } => {
            let whose = match &asker.catalog {
                Some(catalog) => format!("package {} of catalog {}", asker.package, key(catalog)),
                None => format!("{}, which is installed,", asker.package),
            };
            format!(
                "what {whose} needs takes too long to look for: its bundles ask too much about too many others; \
                 name a channel or a version to have fewer of them, or tell its publisher"
            )
        }
        Obstacle::Barred { .. } => barred(problem, &[obstacle], subscription).join("; "),
    }
}

/// What has to be said of a catalog of which only an earlier state is known; nothing of all others.
pub(super) fn staleness(problem: &Problem<'_>, catalog: usize) -> String {
    match problem.market.catalog(catalog).contents {
        Contents::Stale(_, why) => {
            format!(" (by its last good snapshot; what it has now cannot be read: {why})")
        }
        Contents::Current(_) | Contents::Missing(_) => String::new(),
    }
}

/// Bundles that are no candidates, those with the same reason together.
pub(super) fn barred(
    problem: &Problem<'_>,
    obstacles: &[&Obstacle],
    subscription: Option<&Subscription>,
) -> Vec<String> {
    type Named<'a> = (Option<&'a Version>, &'a str);
    let mut by_reason: BTreeMap<(&Bar, &str), Vec<Named<'_>>> = BTreeMap::new();
    let mut seen: HashSet<(&Bar, &str, Named<'_>)> = HashSet::new();
    for obstacle in obstacles {
        if let Obstacle::Barred {
            package,
            bundle,
            version,
            why,
            ..
        } = obstacle
        {
            let one = (version.as_ref(), bundle.as_str());
            if seen.insert((why, package, one)) {
                by_reason.entry((why, package)).or_default().push(one);
            }
        }
    }
    let mut by_reason: Vec<_> = by_reason.into_iter().collect();
    by_reason.sort_by_cached_key(|((why, package), _)| (by_name(problem, why), *package));
    by_reason
        .into_iter()
        .map(|((why, package), bundles)| {
            let of: Vec<String> = bundles
                .iter()
                .map(|(version, name)| {
                    version.map_or_else(|| (*name).to_owned(), ToString::to_string)
                })
                .collect();
            let many = of.len() > 1;
            let who = format!("{package} {}", versions(&of));
            because(problem, why, &who, many, subscription)
        })
        .collect()
}

/// A reason with Subscriptions numbered by their names: in which order they are listed decides nothing.
fn by_name(problem: &Problem<'_>, why: &Bar) -> Bar {
    let subscriptions = &problem.request().subscriptions;
    let number = |at: usize| {
        let name = &subscriptions[at].name;
        subscriptions.iter().filter(|it| it.name < *name).count()
    };
    match why {
        Bar::Pinned(at) => Bar::Pinned(number(*at)),
        Bar::NotGotten(at) => Bar::NotGotten(number(*at)),
        other => other.clone(),
    }
}

fn because(
    problem: &Problem<'_>,
    why: &Bar,
    who: &str,
    many: bool,
    subscription: Option<&Subscription>,
) -> String {
    let (is, has, needs) = if many {
        ("are", "have", "need")
    } else {
        ("is", "has", "needs")
    };
    match why {
        Bar::NeedsKubernetes(version) => {
            let has = problem.request().kube_version.as_ref();
            let has = has.map(ToString::to_string).unwrap_or_default();
            format!("{who} {needs} Kubernetes {version} or newer, and this cluster has {has}")
        }
        Bar::UnreadableKubernetes(wanted) => {
            format!("{who} {needs} Kubernetes {wanted:?}, which is no version, and can run nowhere")
        }
        Bar::Deprecated => {
            format!("{who} {is} deprecated (olm.deprecated) and can no longer be installed")
        }
        Bar::UnreadableNeed(problem) => {
            let of = if many { "the needs of" } else { "a need of" };
            format!("{of} {who} cannot be read: {}", shortened(problem))
        }
        Bar::OutOfRange => {
            let range = subscription.and_then(|subscription| subscription.version.as_ref());
            let range = range.map(ToString::to_string).unwrap_or_default();
            format!("{who} {is} not in version {range}, which the Subscription asks for")
        }
        Bar::Pinned(at) => {
            let subscription = problem.subscription(*at);
            let range = subscription.version.as_ref().map(ToString::to_string);
            format!(
                "{who} would do, but Subscription {} holds the package to version {}",
                subscription.name,
                range.unwrap_or_default()
            )
        }
        Bar::Skipped => {
            format!("{who} would do, but {is} skipped by a newer bundle of the channel")
        }
        Bar::NotGotten(at) => format!(
            "{who} would do, but Subscription {} does not get {}, and the policy `dependencies: Require` installs nothing by itself",
            problem.subscription(*at).name,
            if many { "them" } else { "it" }
        ),
        Bar::Older(unsaid) => {
            let what = match unsaid {
                Unsaid::Channel => "a channel",
                Unsaid::Catalog => "a catalog",
                Unsaid::Both => "a channel and a catalog",
            };
            format!(
                "{who} {is} older than what is installed, and a Subscription without {what} does not go back"
            )
        }
        Bar::NotSubscribed => format!(
            "{who} would do, but {has} no Subscription, and the policy `dependencies: Require` installs nothing by itself"
        ),
    }
}

/// The beginning and the end of a long text.
fn shortened(text: &str) -> String {
    const BEGINNING: usize = 60;
    const END: usize = 140;
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= BEGINNING + END {
        return text.to_owned();
    }
    let beginning: String = letters.iter().take(BEGINNING).collect();
    let end: String = letters.iter().skip(letters.len() - END).collect();
    format!("{beginning} … {end}")
}

/// What a need asks for: reads after "needs" or "asks for".
pub(super) fn what(problem: &Problem<'_>, what: &What) -> String {
    match what {
        What::Requirement { requirement, .. } => requirement.to_string(),
        What::Subscription(at) => {
            let subscription = problem.subscription(*at);
            let place = place(subscription);
            match (&subscription.version, subscription.starting_csv.as_str()) {
                (Some(version), _) => format!("{place}, version {version}"),
                (None, "") => place,
                (None, first) => format!("{place}, beginning with {first}"),
            }
        }
    }
}

/// Where an offer comes from.
pub(super) fn origin(problem: &Problem<'_>, choice: ChoiceId) -> String {
    match &problem.choices[choice].origin {
        Origin::Installed(_) => "installed".to_owned(),
        Origin::Offered(offer) => {
            let catalog = &problem.market.catalog(offer.catalog).key;
            format!("channel {} of catalog {catalog}", offer.channel().name())
        }
    }
}
