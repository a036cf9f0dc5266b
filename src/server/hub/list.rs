//! Lists of packages: searched, filtered, counted, sorted, and in parts.

mod cursor;
mod facets;
mod query;

use std::collections::HashMap;

pub use query::{PackageQuery, Sort};

use self::cursor::Key;
pub(super) use self::facets::level;
use self::facets::{Counter, Filter};
use super::error::Error;
use super::installed::States;
use super::supply::Catalog;
use super::views::{
    CatalogView, InstallModeName, Installation, LeftOutView, PackageCard, PackageList,
};
use super::words::encoded;
use crate::catalog::index::{InstallModes, Problem, Summary};

/// So much of what a catalog leaves out is named.
const LEFT_OUT: usize = 20;

/// A package on its way into a list.
struct Item<'a> {
    catalog: &'a Catalog,
    summary: &'a Summary,
    key: Key,
}

/// A part of the list of packages.
pub(super) fn packages(
    catalogs: &[Catalog],
    installations: Option<&[Installation]>,
    query: &PackageQuery,
) -> Result<PackageList, Error> {
    let states = States::new(installations);
    let filter = Filter::new(query, catalogs)?;
    let order = query.order();
    let mut counter = Counter::new(installations.is_some());
    let mut items: Vec<Item<'_>> = Vec::new();
    for (catalog, summary, score) in searched(catalogs, &query.q) {
        let state = states.of(&summary.name, &catalog.id());
        let verdict = filter.judge(catalog, summary, state.as_ref());
        counter.count(catalog, summary, state.as_ref(), verdict);
        if verdict.passes() {
            items.push(Item {
                catalog,
                summary,
                key: Key::new(order, catalog, summary, score),
            });
        }
    }
    items.sort_by(|a, b| a.key.compare(&b.key, order));
    let start = match &query.cursor {
        None => 0,
        Some(text) => {
            let last = Key::decode(text, order)?;
            items.partition_point(|item| item.key.compare(&last, order).is_le())
        }
    };
    let total = items.len();
    let limit = query.limit.unwrap_or(query::USUAL_PART);
    let part = items.get(start..).unwrap_or_default();
    let shown = part.get(..limit).unwrap_or(part);
    let next = (shown.len() < part.len())
        .then(|| shown.last().map(|item| item.key.encode(order)))
        .flatten();
    let packages = shown
        .iter()
        .map(|item| card(item.catalog, item.summary, &states))
        .collect();
    Ok(PackageList {
        total,
        packages,
        facets: counter.facets(&filter, catalogs),
        next,
    })
}

/// The packages that fit the words, each with how well; all of them if there are no words.
fn searched<'a>(
    catalogs: &'a [Catalog],
    words: &str,
) -> impl Iterator<Item = (&'a Catalog, &'a Summary, u32)> {
    let words = words.trim().to_owned();
    catalogs.iter().flat_map(move |catalog| {
        let index = catalog.content.as_ref().map(|content| &content.index);
        let found: Vec<(&Summary, u32)> = match index {
            None => Vec::new(),
            Some(index) if words.is_empty() => index
                .packages()
                .iter()
                .map(|summary| (summary, 0))
                .collect(),
            Some(index) => {
                let hits = index.search(&words).into_iter();
                hits.map(|(summary, hit)| (summary, hit.score)).collect()
            }
        };
        let offered = found
            .into_iter()
            .filter(move |(summary, _)| catalog.curation.allows(&summary.name));
        offered.map(move |(summary, score)| (catalog, summary, score))
    })
}

/// The card of a package.
pub(super) fn card(catalog: &Catalog, summary: &Summary, states: &States<'_>) -> PackageCard {
    let id = catalog.id();
    let icon = summary.has_icon.then(|| {
        format!(
            "/api/v1/packages/{}/icon?catalog={}",
            encoded(&summary.name),
            encoded(&id)
        )
    });
    PackageCard {
        name: summary.name.clone(),
        display_name: summary.display_name.clone(),
        provider: summary.provider.clone(),
        description: summary.description.clone(),
        categories: summary.categories.clone(),
        keywords: summary.keywords.clone(),
        capability_level: facets::level(&summary.capability_level).to_owned(),
        default_channel: summary.default_channel.clone(),
        channels: summary.channels.clone(),
        version: summary.version.clone(),
        head: summary.head.clone(),
        versions: summary.bundles,
        created_at: summary.created_at.clone(),
        install_modes: install_modes(summary.install_modes),
        deprecation: summary.deprecation.clone(),
        icon,
        installed: states.of(&summary.name, &id),
        catalog: id,
    }
}

/// The install modes by name.
pub(super) fn install_modes(modes: InstallModes) -> Vec<InstallModeName> {
    let all = [
        (modes.own_namespace, InstallModeName::OwnNamespace),
        (modes.single_namespace, InstallModeName::SingleNamespace),
        (modes.multi_namespace, InstallModeName::MultiNamespace),
        (modes.all_namespaces, InstallModeName::AllNamespaces),
    ];
    let supported = all.into_iter().filter(|(is_supported, _)| *is_supported);
    supported.map(|(_, mode)| mode).collect()
}

/// A catalog for people.
pub(super) fn catalog_view(catalog: &Catalog) -> CatalogView {
    let content = catalog.content.as_ref();
    let offered = content.map_or(0, |content| {
        let packages = content.index.packages().iter();
        packages
            .filter(|summary| catalog.curation.allows(&summary.name))
            .count()
    });
    let (left_out, left_out_first) = left_out(catalog);
    CatalogView {
        id: catalog.id(),
        name: catalog.key.name.clone(),
        namespace: catalog.key.namespace.clone(),
        display_name: if catalog.display_name.is_empty() {
            catalog.key.name.clone()
        } else {
            catalog.display_name.clone()
        },
        publisher: catalog.publisher.clone(),
        digest: content
            .map(|content| content.digest.clone())
            .unwrap_or_default(),
        packages: offered,
        problem: catalog.problem.clone(),
        left_out,
        left_out_first,
    }
}

/// How much of a catalog is left out, and the first of it. What would not be offered anyway does not
/// count.
fn left_out(catalog: &Catalog) -> (usize, Vec<LeftOutView>) {
    let Some(content) = &catalog.content else {
        return (0, Vec::new());
    };
    let left_out = content.index.left_out();
    let (offered, others): (Vec<&Problem>, Vec<&Problem>) =
        left_out.first.iter().partition(|problem| {
            problem.package.is_empty() || catalog.curation.allows(&problem.package)
        });
    let first = offered
        .into_iter()
        .take(LEFT_OUT)
        .map(|problem| LeftOutView {
            package: problem.package.clone(),
            why: problem.message.clone(),
        });
    (left_out.count - others.len(), first.collect())
}

/// How many of each there are.
type Counts = HashMap<String, usize>;
