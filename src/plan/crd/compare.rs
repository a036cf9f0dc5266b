//! Two CRDs side by side.

mod fields;
mod scalar;
mod walk;

use std::collections::BTreeSet;

use super::apiextensions::{CustomResourceDefinition, CustomResourceDefinitionVersion};
use super::change::{ChangeKind, SchemaChange, Severity};
use super::{converts_by_webhook, limits, schema_of, text, version_of};
use walk::Walk;

/// What `new` changes of `old`, which is the one in the cluster and knows by its status which
/// versions objects were stored in.
///
/// Versions are compared with their namesakes. Without a conversion webhook, an object that was
/// written in one served version is read in all others as it stands, so these are compared as well,
/// as far as the old CRD did not already have the same difference.
pub fn compare(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    whole(old, new, &mut changes);
    versions(old, new, &mut changes);
    if !converts_by_webhook(new) {
        across(old, new, &mut changes);
    }
    changes
}

fn change(
    path: impl Into<String>,
    kind: ChangeKind,
    severity: Severity,
    words: impl Into<String>,
) -> SchemaChange {
    SchemaChange {
        path: path.into(),
        kind,
        severity,
        words: words.into(),
    }
}

fn whole(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    changes: &mut Vec<SchemaChange>,
) {
    if old.spec.scope != new.spec.scope {
        let words = format!(
            "the scope was {} and is now {}, which the API server does not allow",
            text::quote(&old.spec.scope),
            text::quote(&new.spec.scope)
        );
        changes.push(change(
            "spec.scope",
            ChangeKind::ScopeChanged,
            Severity::Refused,
            words,
        ));
    }
    if old.spec.names.kind != new.spec.names.kind {
        let words = format!(
            "the kind was {} and is now {}, which the API server does not allow",
            text::quote(&old.spec.names.kind),
            text::quote(&new.spec.names.kind)
        );
        changes.push(change(
            "spec.names.kind",
            ChangeKind::KindChanged,
            Severity::Refused,
            words,
        ));
    }
    let keeps = |crd: &CustomResourceDefinition| crd.spec.preserve_unknown_fields == Some(true);
    let path = "spec.preserveUnknownFields";
    match (keeps(old), keeps(new)) {
        (true, false) => changes.push(change(
            path,
            ChangeKind::UnknownFieldsDropped,
            Severity::NeedsLiveCheck,
            "fields that the schema does not name were kept and are now dropped when an object is written",
        )),
        (false, true) => changes.push(change(
            path,
            ChangeKind::UnknownFieldsKept,
            Severity::Harmless,
            "fields that the schema does not name are now kept",
        )),
        _ => {}
    }
}

/// Each version beside its namesake.
fn versions(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    changes: &mut Vec<SchemaChange>,
) {
    let stored = old
        .status
        .as_ref()
        .and_then(|status| status.stored_versions.as_ref());
    let stored: BTreeSet<&str> = stored.into_iter().flatten().map(String::as_str).collect();
    for name in &stored {
        if version_of(new, name).is_none() {
            let words = format!(
                "objects may be stored in version {} (status.storedVersions names it), and the new CRD has no such version: they could not be read any more",
                text::quote(name)
            );
            changes.push(change(
                format!("spec.versions[{}]", text::quote(name)),
                ChangeKind::StoredVersionRemoved,
                Severity::Refused,
                words,
            ));
        }
    }
    for before in &old.spec.versions {
        let path = format!("spec.versions[{}]", text::quote(&before.name));
        let now = version_of(new, &before.name);
        let is_stored = stored.contains(before.name.as_str());
        if before.served && !now.is_some_and(|now| now.served) && (now.is_some() || !is_stored) {
            let words = format!(
                "version {} is no longer served: who asks for it gets an error",
                text::quote(&before.name)
            );
            changes.push(change(
                &path,
                ChangeKind::VersionNoLongerServed,
                Severity::NeedsLiveCheck,
                words,
            ));
        }
        if let Some(now) = now
            && (before.served || is_stored)
        {
            changes.extend(namesakes(&path, before, now));
        }
    }
}

fn namesakes(
    path: &str,
    old: &CustomResourceDefinitionVersion,
    new: &CustomResourceDefinitionVersion,
) -> Vec<SchemaChange> {
    let path = format!("{path}.schema");
    match (schema_of(old), schema_of(new)) {
        (None, None) => Vec::new(),
        (Some(_), None) => vec![change(
            path,
            ChangeKind::SchemaRemoved,
            Severity::Harmless,
            "there is no schema any more",
        )],
        (None, Some(_)) => vec![change(
            path,
            ChangeKind::SchemaAdded,
            Severity::NeedsLiveCheck,
            "there was no schema, and now there is one",
        )],
        (Some(old), Some(new)) if limits::is_too_deep(old) || limits::is_too_deep(new) => {
            let words = format!(
                "the schema nests deeper than {} levels and was not compared",
                limits::MAX_DEPTH
            );
            vec![change(
                path,
                ChangeKind::TooDeep,
                Severity::NeedsLiveCheck,
                words,
            )]
        }
        (Some(old), Some(new)) => Walk::changes(&path, old, new),
    }
}

/// Each served version beside those that came after it.
fn across(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    changes: &mut Vec<SchemaChange>,
) {
    let known = if converts_by_webhook(old) {
        Vec::new()
    } else {
        pairs(old)
    };
    // The same difference may read a little differently: another bound, one more value.
    let known: BTreeSet<(&str, ChangeKind)> = known
        .iter()
        .map(|change| (change.path.as_str(), change.kind))
        .collect();
    // Those that are stored in another version from now on lose with their next write what it does not know, also
    // where it was served beside theirs before.
    let stored = |crd: &'_ CustomResourceDefinition| {
        let stored = crd.spec.versions.iter().find(|version| version.storage);
        stored.map(|version| version.name.clone())
    };
    let moves_to = stored(new).filter(|_| stored(old) != stored(new));
    let moves_to = moves_to.map(|name| format!(" as {}]", text::quote(&name)));
    let is_moved = |change: &SchemaChange| {
        moves_to
            .as_ref()
            .is_some_and(|to| change.path.contains(to.as_str()))
    };
    let is_known = |change: &SchemaChange| known.contains(&(change.path.as_str(), change.kind));
    let fresh = pairs(new).into_iter();
    changes.extend(fresh.filter(|change| !is_known(change) || is_moved(change)));
}

/// What an object of one served version may lose or violate in a later one.
fn pairs(crd: &CustomResourceDefinition) -> Vec<SchemaChange> {
    /// So many versions are compared with one another; nobody serves more.
    const MOST_VERSIONS: usize = 8;
    let mut served: Vec<&CustomResourceDefinitionVersion> = crd
        .spec
        .versions
        .iter()
        .filter(|version| version.served)
        .take(MOST_VERSIONS)
        .collect();
    served.sort_by_cached_key(|version| age(&version.name));
    let mut changes = Vec::new();
    for (at, earlier) in served.iter().enumerate() {
        for later in served.iter().skip(at + 1) {
            let path = format!(
                "spec.versions[{} as {}]",
                text::quote(&earlier.name),
                text::quote(&later.name)
            );
            let all = namesakes(&path, earlier, later);
            changes.extend(
                all.into_iter()
                    .filter(|change| change.severity != Severity::Harmless),
            );
        }
    }
    changes
}

/// Whether a change is one between versions that are served side by side.
pub(super) fn is_between_versions(change: &SchemaChange) -> bool {
    let version = change.path.strip_prefix("spec.versions[");
    let version = version.and_then(|rest| rest.split(']').next());
    // No name of a version has a space in it.
    version.is_some_and(|version| version.contains(" as "))
}

/// The order of Kubernetes' versions from the oldest: what is no such version, then alpha, beta and
/// general ones by their numbers.
fn age(name: &str) -> (u8, u64, u64, String) {
    fn number(text: &str) -> Option<u64> {
        text.parse().ok().filter(|_| !text.starts_with(['0', '+']))
    }
    let parsed = name.strip_prefix('v').and_then(|rest| {
        for (stage, word) in [(1, "alpha"), (2, "beta")] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some((stage, number(major)?, number(minor)?));
            }
        }
        Some((3, number(rest)?, 0))
    });
    let (stage, major, minor) = parsed.unwrap_or_default();
    (stage, major, minor, name.to_owned())
}
