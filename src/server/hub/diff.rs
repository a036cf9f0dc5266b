//! What is different between two versions.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::bundles::Contents;
use super::rights;
use super::views::{
    ChangeKind, CrdChange, CrdDetail, ImageView, Knowledge, Permission, VersionDiff,
};
use crate::plan::crd::{SchemaChange, Severity, compare, upgrade_v1beta1};

/// How many changes of one CRD are told.
const MOST: usize = 500;

/// What is different in the newer version.
pub(super) fn diff(older: &Contents, newer: &Contents) -> VersionDiff {
    let (rights_removed, rights_added) =
        apart(rights::of(older), rights::of(newer), Permission::clone);
    let image = |image: &ImageView| image.image.clone();
    let (images_removed, images_added) = apart(older.images.clone(), newer.images.clone(), image);
    let (requires_removed, requires_added) = apart(
        older.requires.clone(),
        newer.requires.clone(),
        String::clone,
    );
    let modes = |contents: &Contents| contents.install_modes.clone();
    let (modes_removed, modes_added) = apart(modes(older), modes(newer), |mode| *mode);
    VersionDiff {
        from: older.name.clone(),
        to: newer.name.clone(),
        knowledge: knowledge(older, newer),
        crds: crds(older, newer),
        rights_added,
        rights_removed,
        images_added,
        images_removed,
        requires_added,
        requires_removed,
        install_modes_added: modes_added,
        install_modes_removed: modes_removed,
    }
}

fn knowledge(older: &Contents, newer: &Contents) -> Knowledge {
    for contents in [older, newer] {
        if let Knowledge::Partial { why } = &contents.knowledge {
            return Knowledge::Partial {
                why: format!("{}: {why}", contents.name),
            };
        }
    }
    Knowledge::Complete
}

/// What only the first has, and what only the second has.
fn apart<T, K: Ord>(older: Vec<T>, newer: Vec<T>, key: impl Fn(&T) -> K) -> (Vec<T>, Vec<T>) {
    let before: BTreeSet<K> = older.iter().map(&key).collect();
    let after: BTreeSet<K> = newer.iter().map(&key).collect();
    let removed = older.into_iter().filter(|it| !after.contains(&key(it)));
    let added = newer.into_iter().filter(|it| !before.contains(&key(it)));
    (removed.collect(), added.collect())
}

/// A CRD, with its manifest if that is known.
#[derive(Clone, Copy)]
struct Definition<'a>(Option<&'a Value>);

fn crds(older: &Contents, newer: &Contents) -> Vec<CrdChange> {
    // Where a bundle could not be read, what the CSVs say has to do.
    let (before, after) = if older.manifests.is_empty() || newer.manifests.is_empty() {
        (described(older), described(newer))
    } else {
        (definitions(older), definitions(newer))
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| change(name, before.get(name), after.get(name)))
        .collect()
}

fn definitions(contents: &Contents) -> BTreeMap<String, Definition<'_>> {
    let kind = |object: &&Value| {
        object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
    };
    let name = |object: &Value| {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        name.unwrap_or_default().to_owned()
    };
    let crds = contents.manifests.iter().filter(kind);
    crds.map(|crd| (name(crd), Definition(Some(crd)))).collect()
}

fn described(contents: &Contents) -> BTreeMap<String, Definition<'_>> {
    let owned = contents.facts.crds().owned.into_iter();
    owned.map(|crd| (crd.name, Definition(None))).collect()
}

fn change(
    name: &str,
    before: Option<&Definition<'_>>,
    after: Option<&Definition<'_>>,
) -> Option<CrdChange> {
    let (change, details) = match (before, after) {
        (None, _) => (ChangeKind::Added, Vec::new()),
        (_, None) => (ChangeKind::Removed, Vec::new()),
        (Some(before), Some(after)) => {
            let details = details(before.0?, after.0?);
            if details.is_empty() {
                return None;
            }
            (ChangeKind::Changed, details)
        }
    };
    Some(CrdChange {
        name: name.to_owned(),
        change,
        details,
    })
}

fn details(before: &Value, after: &Value) -> Vec<CrdDetail> {
    if before.get("spec") == after.get("spec") {
        return Vec::new();
    }
    let (Some(old), Some(new)) = (typed(before), typed(after)) else {
        return vec![CrdDetail {
            path: String::new(),
            words: "it is different, and cannot be compared field by field".to_owned(),
            is_breaking: false,
        }];
    };
    let changes = compare(&old, &new).into_iter();
    changes.take(MOST).map(detail).collect()
}

fn detail(change: SchemaChange) -> CrdDetail {
    CrdDetail {
        path: change.path,
        words: change.words,
        is_breaking: change.severity > Severity::Harmless,
    }
}

/// The CRD in the form in which it can be compared.
fn typed(crd: &Value) -> Option<CustomResourceDefinition> {
    let is_beta =
        crd.get("apiVersion").and_then(Value::as_str) == Some("apiextensions.k8s.io/v1beta1");
    if is_beta {
        return Some(upgrade_v1beta1(crd.clone()).ok()?.crd);
    }
    serde_json::from_value(crd.clone()).ok()
}
