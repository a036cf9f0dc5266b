//! What a single value may be.

use std::collections::BTreeMap;

use super::super::apiextensions::JSONSchemaProps;
use super::super::change::ChangeKind;
use super::super::text;
use super::walk::{Place, Walk};

impl Walk {
    pub(super) fn scalar(
        &mut self,
        place: &Place<'_>,
        old: &JSONSchemaProps,
        new: &JSONSchemaProps,
    ) {
        self.kind(place.path, old, new);
        self.choices(place.path, old, new);
        self.counts(place.path, old, new);
        self.numbers(place.path, old, new);
        self.pattern(place.path, old, new);
        self.format(place, old, new);
        self.nullable(place.path, old, new);
        self.resource(place.path, old, new);
    }

    fn kind(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let (before, now) = (kind(old), kind(new));
        if before == now {
            return;
        }
        let shown = |kind: &str| {
            if kind.is_empty() {
                "anything".to_owned()
            } else {
                text::quote(kind)
            }
        };
        let words = format!("the type was {} and is now {}", shown(before), shown(now));
        let is_wider = now.is_empty()
            || (before == "integer" && now == "number")
            || (matches!(before, "integer" | "string") && now == INT_OR_STRING);
        if is_wider {
            self.harmless(path, ChangeKind::TypeWidened, words);
        } else {
            self.risky(path, ChangeKind::TypeChanged, words);
        }
    }

    fn choices(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let values = |schema: &JSONSchemaProps| {
            let values = schema.enum_.as_ref()?;
            let shown = values
                .iter()
                .map(|value| (text::canonical(&value.0), text::value(&value.0)));
            Some(shown.collect::<BTreeMap<String, String>>())
        };
        let missing = |from: &BTreeMap<String, String>, among: &BTreeMap<String, String>| {
            let missing = from.iter().filter(|(key, _)| !among.contains_key(*key));
            missing
                .map(|(_, shown)| shown.clone())
                .collect::<Vec<String>>()
        };
        match (values(old), values(new)) {
            (None, None) => {}
            (None, Some(now)) => {
                let all: Vec<String> = now.into_values().collect();
                let words = format!("only {} may stand there now", text::few(&all));
                self.risky(path, ChangeKind::EnumAdded, words);
            }
            (Some(_), None) => {
                self.harmless(
                    path,
                    ChangeKind::EnumRemoved,
                    "any value may stand there now",
                );
            }
            (Some(before), Some(now)) => {
                let gone = missing(&before, &now);
                if !gone.is_empty() {
                    let words = format!("no longer allowed: {}", text::few(&gone));
                    self.risky(path, ChangeKind::EnumValueRemoved, words);
                }
                let more = missing(&now, &before);
                if !more.is_empty() {
                    let words = format!("now allowed as well: {}", text::few(&more));
                    self.harmless(path, ChangeKind::EnumValueAdded, words);
                }
            }
        }
    }

    /// Bounds of lengths, items and fields.
    fn counts(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let lower = [
            ("minLength", old.min_length, new.min_length),
            ("minItems", old.min_items, new.min_items),
            ("minProperties", old.min_properties, new.min_properties),
        ];
        for (word, before, now) in lower {
            // There are never less than none.
            self.bound(
                path,
                word,
                before.filter(|&count| count > 0),
                now.filter(|&count| count > 0),
                |b, n| n > b,
            );
        }
        let upper = [
            ("maxLength", old.max_length, new.max_length),
            ("maxItems", old.max_items, new.max_items),
            ("maxProperties", old.max_properties, new.max_properties),
        ];
        for (word, before, now) in upper {
            self.bound(path, word, before, now, |b, n| n < b);
        }
        if new.unique_items == Some(true) && old.unique_items != Some(true) {
            let words = "no item may be there twice now";
            self.risky(path, ChangeKind::BoundTightened, words);
        } else if old.unique_items == Some(true) && new.unique_items != Some(true) {
            let words = "items may now be there twice";
            self.harmless(path, ChangeKind::BoundLoosened, words);
        }
    }

    fn numbers(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        // A bound and whether the bound itself is excluded: a tuple has the right order for both.
        let low = |schema: &JSONSchemaProps| {
            Some((
                schema.minimum?,
                u8::from(schema.exclusive_minimum == Some(true)),
            ))
        };
        let high = |schema: &JSONSchemaProps| {
            Some((
                -schema.maximum?,
                u8::from(schema.exclusive_maximum == Some(true)),
            ))
        };
        let shown = |bound: Option<(f64, u8)>, sign: f64| match bound {
            None => "none".to_owned(),
            Some((bound, 0)) => format!("{}", bound * sign),
            Some((bound, _)) => format!("{}, itself excluded,", bound * sign),
        };
        for (word, before, now, sign) in [
            ("minimum", low(old), low(new), 1.0),
            ("maximum", high(old), high(new), -1.0),
        ] {
            if before == now {
                continue;
            }
            let words = format!(
                "{word} was {} and is now {}",
                shown(before, sign),
                shown(now, sign)
            );
            let is_looser = match (before, now) {
                (Some(before), Some(now)) => now < before,
                (_, now) => now.is_none(),
            };
            if is_looser {
                self.harmless(path, ChangeKind::BoundLoosened, words);
            } else {
                self.risky(path, ChangeKind::BoundTightened, words);
            }
        }
        match (old.multiple_of, new.multiple_of) {
            (before, now) if before == now => {}
            (_, None) => {
                let words = "it need not be a multiple of something any more";
                self.harmless(path, ChangeKind::BoundLoosened, words);
            }
            (_, Some(now)) => {
                let words = format!("it must now be a multiple of {now}");
                self.risky(path, ChangeKind::BoundTightened, words);
            }
        }
    }

    fn bound(
        &mut self,
        path: &str,
        word: &str,
        before: Option<i64>,
        now: Option<i64>,
        is_tighter: fn(i64, i64) -> bool,
    ) {
        if before == now {
            return;
        }
        let shown =
            |bound: Option<i64>| bound.map_or_else(|| "none".to_owned(), |bound| bound.to_string());
        let words = format!("{word} was {} and is now {}", shown(before), shown(now));
        let is_tighter = match (before, now) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(now)) => is_tighter(before, now),
        };
        if is_tighter {
            self.risky(path, ChangeKind::BoundTightened, words);
        } else {
            self.harmless(path, ChangeKind::BoundLoosened, words);
        }
    }

    fn pattern(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let pattern =
            |schema: &JSONSchemaProps| schema.pattern.clone().filter(|text| !text.is_empty());
        match (pattern(old), pattern(new)) {
            (before, now) if before == now => {}
            (_, None) => self.harmless(
                path,
                ChangeKind::PatternRemoved,
                "any text may stand there now",
            ),
            (_, Some(now)) => {
                let words = format!("it must now match `{}`", text::quote(&now));
                self.risky(path, ChangeKind::PatternChanged, words);
            }
        }
    }

    fn format(&mut self, place: &Place<'_>, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let format = |schema: &JSONSchemaProps| schema.format.clone().unwrap_or_default();
        let (before, now) = (format(old), format(new));
        if before == now {
            return;
        }
        let shown = |format: &str| {
            if format.is_empty() {
                "none".to_owned()
            } else {
                text::quote(format)
            }
        };
        let words = format!(
            "the format was {} and is now {}",
            shown(&before),
            shown(&now)
        );
        let is_wider =
            now.is_empty() || matches!((&*before, &*now), ("int32", "int64") | ("float", "double"));
        // Rules see times and durations where the format says so.
        if is_wider && !place.is_watched {
            self.harmless(place.path, ChangeKind::FormatWidened, words);
        } else {
            self.risky(place.path, ChangeKind::FormatChanged, words);
        }
    }

    fn nullable(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        match (old.nullable == Some(true), new.nullable == Some(true)) {
            (true, false) => self.risky(
                path,
                ChangeKind::NullableRemoved,
                "it may no longer be null",
            ),
            (false, true) => self.harmless(path, ChangeKind::NullableAdded, "it may now be null"),
            _ => {}
        }
    }

    fn resource(&mut self, path: &str, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let is_resource =
            |schema: &JSONSchemaProps| schema.x_kubernetes_embedded_resource == Some(true);
        match (is_resource(old), is_resource(new)) {
            (false, true) => self.risky(
                path,
                ChangeKind::EmbeddedResourceChanged,
                "it must now be a whole object with apiVersion, kind and metadata",
            ),
            (true, false) => self.risky(
                path,
                ChangeKind::EmbeddedResourceChanged,
                "it need not be a whole object any more, and its metadata is no longer kept by itself",
            ),
            _ => {}
        }
        let map = |schema: &JSONSchemaProps| {
            let kind = schema.x_kubernetes_map_type.clone();
            kind.unwrap_or_else(|| "granular".to_owned())
        };
        if map(old) != map(new) {
            let words = format!(
                "who applies it owns it field by field or as a whole: it was {} and is now {}",
                text::quote(&map(old)),
                text::quote(&map(new))
            );
            self.harmless(path, ChangeKind::MapTypeChanged, words);
        }
    }
}

const INT_OR_STRING: &str = "integer or string";

fn kind(schema: &JSONSchemaProps) -> &str {
    if schema.x_kubernetes_int_or_string == Some(true) {
        return INT_OR_STRING;
    }
    schema.type_.as_deref().unwrap_or_default()
}
