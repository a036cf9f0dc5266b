//! Two schemas side by side, field by field.

use std::collections::{BTreeMap, BTreeSet};

use super::super::apiextensions::{JSON, JSONSchemaProps, ValidationRule};
use super::super::change::{ChangeKind, SchemaChange, Severity};
use super::super::{items_of, text};

/// The changes found so far.
pub(super) struct Walk {
    pub(super) changes: Vec<SchemaChange>,
}

/// A place in two schemas.
pub(super) struct Place<'a> {
    pub(super) path: &'a str,
    /// Whether something here or above looks at the whole value, so that a field that appears by
    /// itself or changes its type may matter: rules, counts, choices.
    pub(super) is_watched: bool,
    /// Whether this is a whole object, whose metadata is not the schema's to drop.
    pub(super) is_object: bool,
}

impl Walk {
    /// All changes between two schemas.
    pub(super) fn changes(
        path: &str,
        old: &JSONSchemaProps,
        new: &JSONSchemaProps,
    ) -> Vec<SchemaChange> {
        let mut walk = Self {
            changes: Vec::new(),
        };
        let root = Place {
            path,
            is_watched: watches(new),
            is_object: true,
        };
        walk.place(&root, old, new);
        walk.changes
    }

    pub(super) fn say(
        &mut self,
        path: &str,
        kind: ChangeKind,
        severity: Severity,
        words: impl Into<String>,
    ) {
        self.changes.push(SchemaChange {
            path: path.to_owned(),
            kind,
            severity,
            words: words.into(),
        });
    }

    pub(super) fn harmless(&mut self, path: &str, kind: ChangeKind, words: impl Into<String>) {
        self.say(path, kind, Severity::Harmless, words);
    }

    pub(super) fn risky(&mut self, path: &str, kind: ChangeKind, words: impl Into<String>) {
        self.say(path, kind, Severity::NeedsLiveCheck, words);
    }

    pub(super) fn node(
        &mut self,
        path: &str,
        is_watched: bool,
        old: &JSONSchemaProps,
        new: &JSONSchemaProps,
    ) {
        let place = Place {
            path,
            is_watched: is_watched || watches(new),
            is_object: new.x_kubernetes_embedded_resource == Some(true),
        };
        self.place(&place, old, new);
    }

    fn place(&mut self, place: &Place<'_>, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        self.scalar(place, old, new);
        self.rules(place.path, old, new);
        self.logic(place.path, old, new);
        self.default(place, old, new);
        self.fields(place, old, new);
        self.items(place, old, new);
    }

    fn items(&mut self, place: &Place<'_>, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let path = format!("{}[]", place.path);
        match (items_of(old), items_of(new)) {
            (Some(old), Some(new)) => self.node(&path, place.is_watched, old, new),
            (None, Some(_)) => self.risky(
                &path,
                ChangeKind::FieldConstrained,
                "items could be anything and now have a schema",
            ),
            (Some(_), None) => {
                self.harmless(
                    &path,
                    ChangeKind::OtherFieldsOpened,
                    "items may now be anything",
                );
            }
            (None, None) => {}
        }
        let list = |schema: &JSONSchemaProps| schema.x_kubernetes_list_type.clone();
        let keys = |schema: &JSONSchemaProps| -> BTreeSet<String> {
            schema
                .x_kubernetes_list_map_keys
                .iter()
                .flatten()
                .cloned()
                .collect()
        };
        let named = |kind: Option<String>| kind.unwrap_or_else(|| "atomic".to_owned());
        let (before, now) = (named(list(old)), named(list(new)));
        if before != now || (now == "map" && keys(old) != keys(new)) {
            let words = if before == now {
                let keys: Vec<String> = keys(new).into_iter().collect();
                format!("items are now told apart by {}", text::few(&keys))
            } else {
                format!(
                    "the list was of type {} and is now of type {}",
                    text::quote(&before),
                    text::quote(&now)
                )
            };
            // Only sets and maps refuse items that are there twice.
            if now == "atomic" {
                self.harmless(place.path, ChangeKind::ListTypeChanged, words);
            } else {
                self.risky(place.path, ChangeKind::ListTypeChanged, words);
            }
        }
    }

    fn default(&mut self, place: &Place<'_>, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let shown = |default: &JSON| text::value(&default.0);
        match (&old.default, &new.default) {
            (None, Some(now)) => {
                let words = format!("objects without it now get {}", shown(now));
                if place.is_watched {
                    self.risky(place.path, ChangeKind::DefaultAdded, words);
                } else {
                    self.harmless(place.path, ChangeKind::DefaultAdded, words);
                }
            }
            (Some(before), None) => {
                let words = format!("objects without it no longer get {}", shown(before));
                self.risky(place.path, ChangeKind::DefaultRemoved, words);
            }
            (Some(before), Some(now)) if text::canonical(&before.0) != text::canonical(&now.0) => {
                let words = format!(
                    "objects without it got {} and now get {}",
                    shown(before),
                    shown(now)
                );
                self.risky(place.path, ChangeKind::DefaultChanged, words);
            }
            _ => {}
        }
    }

    fn rules(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let (before, now) = (rules_of(old), rules_of(new));
        for (key, rule) in &now {
            if !before.contains_key(key) {
                let mut words = format!("there is a new rule: {}", text::quote(&rule.rule));
                if let Some(message) = &rule.message {
                    words = format!("{words} ({})", text::quote(message));
                }
                self.risky(path, ChangeKind::RuleAdded, words);
            }
        }
        for (key, rule) in &before {
            if !now.contains_key(key) {
                let words = format!("a rule is gone: {}", text::quote(&rule.rule));
                self.harmless(path, ChangeKind::RuleRemoved, words);
            }
        }
    }

    /// What `allOf` and its kin say is only compared as a whole.
    fn logic(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let lists = [
            ("allOf", old.all_of.as_deref(), new.all_of.as_deref()),
            ("anyOf", any_of(old), any_of(new)),
            ("oneOf", old.one_of.as_deref(), new.one_of.as_deref()),
        ];
        for (word, before, now) in lists {
            let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
            if before == now {
                continue;
            }
            if now.is_empty() {
                let words = format!("the conditions in {word} are gone");
                self.harmless(path, ChangeKind::LogicRemoved, words);
            } else {
                let words = format!("the conditions in {word} changed");
                self.risky(path, ChangeKind::LogicChanged, words);
            }
        }
        match (&old.not, &new.not) {
            (before, now) if before == now => {}
            (_, None) => {
                self.harmless(
                    path,
                    ChangeKind::LogicRemoved,
                    "the condition in not is gone",
                );
            }
            _ => self.risky(
                path,
                ChangeKind::LogicChanged,
                "the condition in not changed",
            ),
        }
    }
}

/// The conditions in `anyOf`, but not those that say once more that it is an integer or a string, as
/// generators write them.
fn any_of(schema: &JSONSchemaProps) -> Option<&[JSONSchemaProps]> {
    let conditions = schema.any_of.as_deref()?;
    let is_only = |condition: &JSONSchemaProps, kind: &str| {
        let only = JSONSchemaProps {
            type_: Some(kind.to_owned()),
            ..JSONSchemaProps::default()
        };
        *condition == only
    };
    let says_it_again = schema.x_kubernetes_int_or_string == Some(true)
        && conditions.len() == 2
        && ["integer", "string"]
            .iter()
            .all(|kind| conditions.iter().any(|condition| is_only(condition, kind)));
    (!says_it_again).then_some(conditions)
}

/// Whether a schema looks at a value as a whole.
fn watches(schema: &JSONSchemaProps) -> bool {
    let has =
        |list: &Option<Vec<JSONSchemaProps>>| list.as_ref().is_some_and(|list| !list.is_empty());
    !rules_of(schema).is_empty()
        || schema.enum_.is_some()
        || schema.max_properties.is_some()
        || schema.not.is_some()
        || has(&schema.all_of)
        || any_of(schema).is_some_and(|conditions| !conditions.is_empty())
        || has(&schema.one_of)
        || matches!(
            schema.x_kubernetes_list_type.as_deref(),
            Some("set" | "map")
        )
}

/// Rules by what they ask: another message is no other rule.
fn rules_of(schema: &JSONSchemaProps) -> BTreeMap<(&str, bool), &ValidationRule> {
    schema
        .x_kubernetes_validations
        .iter()
        .flatten()
        .map(|rule| {
            (
                (rule.rule.trim(), rule.optional_old_self == Some(true)),
                rule,
            )
        })
        .collect()
}
