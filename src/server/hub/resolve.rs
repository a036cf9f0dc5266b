//! What would happen: the resolver, asked by a stranger.

use serde::Deserialize;
use utoipa::ToSchema;

use super::error::Error;
use super::supply::{Catalog as Shown, Supply};
use crate::resolver::{
    Catalog, CatalogKey, Component, Contents, Explanation, Reason, Request, Snapshot, Subscription,
    resolve as solve,
};
use crate::version::{UserRange, Version};

/// How many Subscriptions may be asked for at once.
const MOST: usize = 16;
/// How long the name of a package may be.
const LONGEST_NAME: usize = 253;
/// Where nobody names a namespace.
const NAMESPACE: &str = "default";

/// What somebody wants to know the outcome of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolveQuery {
    /// What is wanted.
    #[schema(min_items = 1, max_items = 16)]
    pub subscriptions: Vec<Wish>,
    /// The namespace [default: `default`]. What it has counts, if there is a cluster.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The version of Kubernetes, such as 1.33 [default: that of the cluster, or any].
    #[serde(default)]
    #[schema(pattern = "^v?[0-9]{1,3}(\\.[0-9]{1,3}){0,2}$")]
    pub kube_version: Option<String>,
}

/// A package that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wish {
    /// The package.
    #[schema(min_length = 1, max_length = 253)]
    pub package: String,
    /// The channel [default: the package's default channel first].
    #[serde(default)]
    pub channel: Option<String>,
    /// The catalog [default: any].
    #[serde(default)]
    pub catalog: Option<String>,
    /// A version or a range of them [default: any].
    #[serde(default)]
    pub version: Option<String>,
}

/// What becomes of what is wanted, and of what hangs together with it.
pub(super) fn resolve(supply: &dyn Supply, query: &ResolveQuery) -> Result<Vec<Component>, Error> {
    if query.subscriptions.is_empty() || query.subscriptions.len() > MOST {
        return Err(Error::bad_request(format!(
            "`subscriptions` has to have 1 to {MOST} entries"
        )));
    }
    let shown = supply.catalogs();
    let namespace = query.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| NAMESPACE.to_owned());
    let situation = supply.situation(&namespace);
    let Wishes { wanted, broken } = Wishes::read(query, &shown, &situation.subscriptions)?;
    let names: Vec<String> = wanted.iter().map(|wish| wish.name.clone()).collect();
    let mut subscriptions = situation.subscriptions;
    subscriptions.retain(|known| !names.contains(&known.name));
    subscriptions.extend(wanted);
    let request = Request {
        namespace,
        global_namespaces: supply.global_namespaces(),
        exclude_global: situation.exclude_global,
        kube_version: kube_version(query, supply)?,
        catalogs: shown.iter().map(catalog).collect(),
        installed: situation.installed,
        subscriptions,
        held: situation.held,
    };
    let mut components = solve(&request).components;
    components.retain(|component| {
        let mut about = component.subscriptions().iter();
        about.any(|name| names.contains(name))
    });
    components.extend(broken);
    Ok(components)
}

fn kube_version(query: &ResolveQuery, supply: &dyn Supply) -> Result<Option<Version>, Error> {
    let Some(text) = &query.kube_version else {
        return Ok(supply.kube_version());
    };
    let numbers: Vec<&str> = text.strip_prefix('v').unwrap_or(text).split('.').collect();
    let is_number = |part: &&str| {
        (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_plain = numbers.len() <= 3 && numbers.iter().all(is_number);
    let version = Version::parse_tolerant(text).ok();
    version.filter(|_| is_plain).map(Some).ok_or_else(|| {
        Error::bad_request(format!("`{text}` is no version of Kubernetes"))
            .hint("write it as in 1.33")
    })
}

fn catalog(shown: &Shown) -> Catalog<'_> {
    let snapshot = shown.content.as_ref();
    let snapshot = snapshot.map(|content| &*content.index as &dyn Snapshot);
    let contents = match (snapshot, &shown.problem) {
        (Some(snapshot), None) => Contents::Current(snapshot),
        (Some(snapshot), Some(problem)) => Contents::Stale(snapshot, problem),
        (None, Some(problem)) => Contents::Missing(problem),
        (None, None) => Contents::Missing("it was not read yet"),
    };
    Catalog {
        key: shown.key.clone(),
        priority: shown.priority,
        contents,
        curation: shown.curation.clone(),
    }
}

/// The Subscriptions that are meant: those that are there already with what is wanted of them, or
/// new ones.
#[derive(Default)]
struct Wishes {
    wanted: Vec<Subscription>,
    /// What cannot be understood gets nothing, and says why.
    broken: Vec<Component>,
}

impl Wishes {
    fn read(
        query: &ResolveQuery,
        catalogs: &[Shown],
        known: &[Subscription],
    ) -> Result<Self, Error> {
        let mut all = Self::default();
        for (at, wish) in query.subscriptions.iter().enumerate() {
            let before = query.subscriptions.get(..at).unwrap_or_default();
            if before.contains(wish) {
                continue;
            }
            if !(1..=LONGEST_NAME).contains(&wish.package.len()) {
                return Err(Error::bad_request(format!(
                    "the name of a package has 1 to {LONGEST_NAME} characters"
                )));
            }
            if before.iter().any(|other| other.package == wish.package) {
                let package = &wish.package;
                let says = format!("package {package} is wanted twice, in different ways");
                all.broken.push(broken(package, says));
                continue;
            }
            let mut existing = known.iter();
            let existing = existing.find(|known| known.package == wish.package);
            let mut subscription = existing.cloned().unwrap_or_else(|| Subscription {
                name: wish.package.clone(),
                package: wish.package.clone(),
                ..Subscription::default()
            });
            if let Some(channel) = &wish.channel {
                subscription.channel.clone_from(channel);
            }
            if let Some(name) = &wish.catalog {
                subscription.catalog = key(catalogs, name)?;
            }
            match wish.version.as_ref().map(|text| UserRange::parse(text)) {
                Some(Err(error)) => {
                    let name = &subscription.name;
                    let says = format!(
                        "the version that is wanted of {name} is neither a version nor a range: {error}"
                    );
                    all.broken.push(broken(name, says));
                    continue;
                }
                Some(Ok(range)) => subscription.version = Some(range),
                None => {}
            }
            all.wanted.push(subscription);
        }
        Ok(all)
    }
}

fn broken(name: &str, says: String) -> Component {
    Component::Unsolvable(Box::new(Explanation {
        requests: vec![name.to_owned()],
        summary: says.clone(),
        text: says.clone(),
        nearest: Vec::new(),
        tree: Reason {
            says,
            because: Vec::new(),
        },
    }))
}

fn key(catalogs: &[Shown], name: &str) -> Result<CatalogKey, Error> {
    let mut all = catalogs.iter();
    let found = all.find(|catalog| catalog.is_called(name));
    found.map(|catalog| catalog.key.clone()).ok_or_else(|| {
        let ids: Vec<String> = catalogs.iter().map(Shown::id).collect();
        Error::not_found(format!("there is no catalog `{name}`"))
            .hint(format!("there are {}", ids.join(", ")))
    })
}
