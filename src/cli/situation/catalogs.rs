//! The catalogs of a command line: their names, and what is in them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;

use crate::catalog::index::Index;
use crate::catalog::source::{Source, Sources};
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::progress::Bars;
use crate::publish::Progress as _;
use crate::resolver::{CatalogKey, Curation, Listing, ReadOut, Subscription, Unreadable};

/// `[[NAMESPACE/]NAME=]SOURCE`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Named {
    /// Empty if it is not said.
    namespace: String,
    /// Empty if it is not said.
    name: String,
    pub(in crate::cli) source: String,
}

impl Named {
    /// What looks like a path or exists as one is no name.
    pub(in crate::cli) fn parse(text: &str) -> Self {
        let unnamed = Self {
            namespace: String::new(),
            name: String::new(),
            source: text.to_owned(),
        };
        if Path::new(text).exists() {
            return unnamed;
        }
        let Some((key, source)) = text.split_once('=') else {
            return unnamed;
        };
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        if is_name(name) && (namespace.is_empty() || is_name(namespace)) {
            return Self {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                source: source.to_owned(),
            };
        }
        unnamed
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_plain) && text.chars().all(|c| is_plain(c) || matches!(c, '-' | '.'))
}

/// A catalog that was opened.
pub(in crate::cli) struct Open {
    pub(in crate::cli) listing: Listing,
    /// The reason why nothing can be read is for people.
    pub(in crate::cli) contents: Result<Index, String>,
}

/// Opens the catalogs of a command line, in their order.
pub(super) async fn open(
    named: Vec<(CatalogKey, String)>,
    listings: &ReadOut<Listing>,
    sources: &Sources,
    bars: &Bars,
) -> Result<Vec<Open>, Failure> {
    let mut opened = Vec::new();
    for (_, text) in &named {
        opened.push((text.clone(), open_one(text, sources, bars).await));
    }
    let contents = unless_none_can_be_read(opened)?;
    let all = named.into_iter().zip(contents);
    Ok(all
        .map(|((key, _), contents)| {
            let mut problems = listings.problems.iter();
            if let Some(problem) = problems.find(|problem| key_of(problem) == key) {
                return offering_nothing(problem);
            }
            let listing = listings.items.iter().find(|listing| listing.key == key);
            Open {
                listing: listing.cloned().unwrap_or_else(|| plain(key)),
                contents,
            }
        })
        .collect())
}

/// A catalog whose CatalogSource cannot be understood. As in a cluster it offers nothing: more than its owner meant would
/// be worse.
pub(super) fn offering_nothing(problem: &Unreadable) -> Open {
    Open {
        listing: plain(key_of(problem)),
        contents: Err(problem.to_string()),
    }
}

fn key_of(problem: &Unreadable) -> CatalogKey {
    CatalogKey::new(&problem.object.namespace, &problem.object.name)
}

fn plain(key: CatalogKey) -> Listing {
    Listing {
        key,
        priority: 0,
        curation: Curation::default(),
    }
}

async fn open_one(text: &str, sources: &Sources, bars: &Bars) -> Result<Index, Failure> {
    let source = Source::parse(text)?;
    if matches!(source, Source::Image(_) | Source::Remote(_)) {
        bars.begins(&format!("reading {source}"));
    }
    Ok(sources.open(&source).await?.index)
}

/// A catalog that cannot be read concerns only those who need it, as in a cluster: a warning has to
/// do as long as another one can be read. The reasons are for people.
pub(in crate::cli) fn unless_none_can_be_read<T>(
    catalogs: Vec<(String, Result<T, Failure>)>,
) -> Result<Vec<Result<T, String>>, Failure> {
    let is_any_readable = catalogs.iter().any(|(_, catalog)| catalog.is_ok());
    let mut all = Vec::new();
    for (name, catalog) in catalogs {
        all.push(match catalog {
            Err(failure) if failure.is_usage() || !is_any_readable => return Err(failure),
            Err(failure) => {
                let problem = failure.words();
                printer::warning(&format!("catalog {name} cannot be read: {problem}"));
                Err(problem)
            }
            Ok(catalog) => Ok(catalog),
        });
    }
    Ok(all)
}

/// The catalogs of a command line that knows no namespaces, each with its name.
pub(in crate::cli) fn named_sources(
    texts: &[String],
) -> Result<Vec<(CatalogKey, String)>, Failure> {
    let named: Vec<Named> = texts.iter().map(|text| Named::parse(text)).collect();
    keys(&named, &[], &[], "")
}

/// Gives each catalog the name and the namespace by which Subscriptions know it.
pub(super) fn keys(
    named: &[Named],
    subscriptions: &[Subscription],
    listings: &[Listing],
    namespace: &str,
) -> Result<Vec<(CatalogKey, String)>, Failure> {
    let subscribed = subscriptions
        .iter()
        .map(|subscription| &subscription.catalog);
    let known: Vec<&CatalogKey> = subscribed
        .chain(listings.iter().map(|listing| &listing.key))
        .collect();
    let asked: BTreeSet<&str> = subscriptions
        .iter()
        .map(|subscription| subscription.catalog.name.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    let mut keys: Vec<(CatalogKey, String)> = Vec::new();
    for one in named {
        let name = if !one.name.is_empty() {
            one.name.clone()
        } else if let (1, 1, Some(name)) = (named.len(), asked.len(), asked.first()) {
            (*name).to_owned()
        } else {
            derived(&one.source)
        };
        let namespace = if one.namespace.is_empty() {
            namespace_of(&name, &known, namespace)
        } else {
            one.namespace.clone()
        };
        let key = CatalogKey { namespace, name };
        if let Some((_, other)) = keys.iter().find(|(other, _)| *other == key) {
            return Err(Failure::usage(anyhow!(
                "{other} and {} are both named `{}`",
                one.source,
                key.name
            ))
            .hint("name them with `--catalog NAME=SOURCE`"));
        }
        keys.push((key, one.source.clone()));
    }
    Ok(keys)
}

/// The namespace in which a catalog of this name is known to be, or else the one of all that are
/// known.
fn namespace_of(name: &str, known: &[&CatalogKey], namespace: &str) -> String {
    let namespaces = |of_it: bool| -> BTreeSet<&str> {
        known
            .iter()
            .filter(|key| !of_it || key.name == name)
            .map(|key| key.namespace.as_str())
            .filter(|namespace| !namespace.is_empty())
            .collect()
    };
    let own = namespaces(true);
    let any = namespaces(false);
    let single = (any.len() == 1).then(|| any.first().copied()).flatten();
    let found = own.first().copied().or(single);
    found.unwrap_or(namespace).to_owned()
}

/// The last part of a path or of an image's name, without its tag or digest.
fn derived(source: &str) -> String {
    let source = source.strip_prefix("grpc://").unwrap_or(source);
    let source = source.strip_prefix("oci:").unwrap_or(source);
    let last = source.trim_end_matches('/').rsplit('/').next();
    let last = last.unwrap_or_default();
    let name = last.split(['@', ':']).next().unwrap_or_default();
    let plain: String = name
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .collect();
    let plain = plain.trim_matches(['-', '.']);
    if plain.is_empty() { "catalog" } else { plain }.to_owned()
}

/// A Subscription that knows its catalog by name alone, or by another namespace than the one we
/// chose, means the one of that name; one that names none takes any.
pub(super) fn settle(subscriptions: &mut [Subscription], keys: &[CatalogKey]) {
    for subscription in subscriptions {
        if subscription.catalog.name.is_empty() {
            subscription.catalog = CatalogKey::default();
        }
        let is_known = keys.contains(&subscription.catalog);
        let mut same = keys
            .iter()
            .filter(|key| key.name == subscription.catalog.name);
        if let (false, Some(key)) = (is_known, same.next()) {
            subscription.catalog = key.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("hub=quay.io/a/b:1", ("", "hub", "quay.io/a/b:1"))]
    #[case("olm/hub=./x", ("olm", "hub", "./x"))]
    #[case("./a=b", ("", "", "./a=b"))]
    #[case("/a/b=c", ("", "", "/a/b=c"))]
    #[case("quay.io/a/b@sha256:0", ("", "", "quay.io/a/b@sha256:0"))]
    #[case("Hub=x", ("", "", "Hub=x"))]
    #[case("=x", ("", "", "=x"))]
    fn a_name_comes_before_the_source(#[case] text: &str, #[case] parts: (&str, &str, &str)) {
        let named = Named::parse(text);
        assert_eq!((&*named.namespace, &*named.name, &*named.source), parts);
    }

    #[rstest]
    #[case("quay.io/operatorhubio/catalog:latest", "catalog")]
    #[case("quay.io/a/B_c@sha256:0123", "b-c")]
    #[case("oci:dir/layout:v1", "layout")]
    #[case("grpc://localhost:50051", "localhost")]
    #[case("./some/folder/", "folder")]
    #[case("..", "catalog")]
    fn a_source_without_a_name_is_named_after_its_last_part(
        #[case] source: &str,
        #[case] name: &str,
    ) {
        assert_eq!(derived(source), name);
    }
}
