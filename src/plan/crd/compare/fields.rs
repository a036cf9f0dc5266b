//! Which fields there are, and which there have to be.

use std::collections::BTreeSet;

use super::super::apiextensions::JSONSchemaProps;
use super::super::change::ChangeKind;
use super::super::{Others, field_of, others_of, text};
use super::walk::{Place, Walk};

/// Fields of every object that are not the schema's to drop.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Names are texts, whether the schema says so or not.
fn typed_text(mut schema: JSONSchemaProps) -> JSONSchemaProps {
    schema.type_ = Some("string".to_owned());
    schema
}

impl Walk {
    pub(super) fn fields(
        &mut self,
        place: &Place<'_>,
        old: &JSONSchemaProps,
        new: &JSONSchemaProps,
    ) {
        self.required(place.path, old, new);
        let names = |schema: &'_ JSONSchemaProps| -> BTreeSet<String> {
            schema
                .properties
                .iter()
                .flat_map(|fields| fields.keys().cloned())
                .collect()
        };
        for name in names(old).union(&names(new)) {
            let path = format!("{}.{}", place.path, text::quote(name));
            if place.is_object && OF_EVERY_OBJECT.contains(&name.as_str()) {
                self.of_every_object(&path, name, old, new);
                continue;
            }
            match (field_of(old, name), field_of(new, name)) {
                (Some(before), Some(now)) => self.node(&path, place.is_watched, before, now),
                (Some(before), None) => self.removed(&path, place, before, new),
                (None, Some(now)) => self.added(&path, place, old, now),
                (None, None) => {}
            }
        }
        self.others(place, old, new);
    }

    fn required(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let names = |schema: &JSONSchemaProps| -> BTreeSet<String> {
            schema.required.iter().flatten().cloned().collect()
        };
        let (before, now) = (names(old), names(new));
        for name in now.difference(&before) {
            let path = format!("{path}.{}", text::quote(name));
            let default = field_of(new, name).and_then(|field| field.default.as_ref());
            if default.is_some_and(|default| !default.0.is_null()) {
                let words = "it is now required, and has a default";
                self.harmless(&path, ChangeKind::RequiredAdded, words);
            } else {
                self.risky(&path, ChangeKind::RequiredAdded, "it is now required");
            }
        }
        for name in before.difference(&now) {
            let path = format!("{path}.{}", text::quote(name));
            self.harmless(
                &path,
                ChangeKind::RequiredRemoved,
                "it is no longer required",
            );
        }
    }

    /// Of an object's metadata, schemas may only narrow the name.
    fn of_every_object(
        &mut self,
        path: &str,
        name: &str,
        old: &JSONSchemaProps,
        new: &JSONSchemaProps,
    ) {
        let (old, new) = (field_of(old, name), field_of(new, name));
        let anything = JSONSchemaProps::default();
        for part in ["name", "generateName"] {
            let within = |schema: Option<&'_ JSONSchemaProps>| {
                schema
                    .and_then(|schema| field_of(schema, part))
                    .cloned()
                    .map(typed_text)
            };
            if let Some(now) = within(new) {
                let before = within(old).unwrap_or_else(|| typed_text(anything.clone()));
                self.node(&format!("{path}.{part}"), true, &before, &now);
            }
        }
    }

    fn removed(
        &mut self,
        path: &str,
        place: &Place<'_>,
        before: &JSONSchemaProps,
        new: &JSONSchemaProps,
    ) {
        match others_of(new) {
            Others::Typed(now) => self.node(path, place.is_watched, before, now),
            Others::Kept => {
                let words = "the schema no longer names it, but what is there stays";
                // Without its default it may be missing where something looks for it.
                if place.is_watched || before.default.is_some() {
                    self.risky(path, ChangeKind::FieldRemoved, words);
                } else {
                    self.harmless(path, ChangeKind::FieldRemoved, words);
                }
            }
            Others::Dropped => self.risky(
                path,
                ChangeKind::FieldRemoved,
                "it is gone, and what objects have there is dropped when they are written next",
            ),
        }
    }

    fn added(
        &mut self,
        path: &str,
        place: &Place<'_>,
        old: &JSONSchemaProps,
        now: &JSONSchemaProps,
    ) {
        match others_of(old) {
            Others::Typed(before) => self.node(path, place.is_watched, before, now),
            Others::Kept => self.risky(
                path,
                ChangeKind::FieldConstrained,
                "it could be anything and now has a schema",
            ),
            Others::Dropped => match &now.default {
                Some(default) => {
                    let words = format!("it is new, and objects get {}", text::value(&default.0));
                    if place.is_watched {
                        self.risky(path, ChangeKind::FieldAdded, words);
                    } else {
                        self.harmless(path, ChangeKind::FieldAdded, words);
                    }
                }
                None => self.harmless(path, ChangeKind::FieldAdded, "it is new"),
            },
        }
    }

    /// Fields that neither schema names.
    fn others(&mut self, place: &Place<'_>, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let path = format!("{}.*", place.path);
        match (others_of(old), others_of(new)) {
            (Others::Typed(before), Others::Typed(now)) => {
                self.node(&path, place.is_watched, before, now);
            }
            (Others::Kept, Others::Typed(_)) => self.risky(
                &path,
                ChangeKind::OtherFieldsTyped,
                "other fields could be anything and now have a schema",
            ),
            (Others::Typed(_) | Others::Kept, Others::Dropped) => self.risky(
                &path,
                ChangeKind::OtherFieldsClosed,
                "other fields were kept and are now dropped when an object is written",
            ),
            (Others::Typed(_), Others::Kept)
            | (Others::Dropped, Others::Typed(_) | Others::Kept) => {
                self.harmless(
                    &path,
                    ChangeKind::OtherFieldsOpened,
                    "fields that the schema does not name are now kept",
                );
            }
            (Others::Kept, Others::Kept) | (Others::Dropped, Others::Dropped) => {}
        }
    }
}
