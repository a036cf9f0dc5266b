//! Types, bounds, choices: everything but rules.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::super::apiextensions::JSONSchemaProps;
use super::super::{Others, field_of, items_of, others_of, text};
use super::pattern::Patterns;
use super::{Found, ViolationKind, format};

/// Adds what is wrong with an object.
pub(super) fn check<'a>(
    schema: &'a JSONSchemaProps,
    object: &Value,
    patterns: &mut Patterns<'a>,
    found: &mut Found,
) {
    let mut check = Check {
        path: String::new(),
        patterns,
        found,
    };
    check.value(schema, object);
}

struct Check<'a, 'b> {
    path: String,
    patterns: &'b mut Patterns<'a>,
    found: &'b mut Found,
}

impl<'a> Check<'a, '_> {
    fn wrong(&mut self, kind: ViolationKind, words: impl Into<String>) {
        self.found.add(&self.path, kind, words);
    }

    /// Goes one step down and back.
    fn below(&mut self, step: &str, schema: &'a JSONSchemaProps, value: &Value) {
        let length = self.path.len();
        if length > 0 && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        self.value(schema, value);
        self.path.truncate(length);
    }

    fn value(&mut self, schema: &'a JSONSchemaProps, value: &Value) {
        let is_typed = self.kind(schema, value);
        self.choice(schema, value);
        // Nothing else is asked of a null, and nothing sensible can be said of a wrong type.
        if value.is_null() || !is_typed {
            return;
        }
        match value {
            Value::String(text) => self.text(schema, text),
            Value::Number(_) => self.number(schema, value),
            Value::Array(items) => self.list(schema, items),
            Value::Object(fields) => self.object(schema, fields),
            Value::Bool(_) | Value::Null => {}
        }
        self.logic(schema, value);
    }

    fn kind(&mut self, schema: &JSONSchemaProps, value: &Value) -> bool {
        let is_either = schema.x_kubernetes_int_or_string == Some(true);
        let wanted = schema.type_.as_deref().unwrap_or_default();
        let fits = match value {
            Value::Null => schema.nullable == Some(true) || (wanted.is_empty() && !is_either),
            _ if is_either => value.is_string() || is_whole(value),
            _ => match wanted {
                "string" => value.is_string(),
                "integer" => is_whole(value),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => true,
            },
        };
        if !fits {
            let wanted = if is_either {
                "integer or string"
            } else {
                wanted
            };
            let words = format!(
                "must be of type {}, and is {}",
                text::quote(wanted),
                text::value(value)
            );
            self.wrong(ViolationKind::Type, words);
        }
        fits
    }

    fn choice(&mut self, schema: &'a JSONSchemaProps, value: &Value) {
        if self.patterns.allow(schema, value) {
            return;
        }
        let allowed = schema.enum_.iter().flatten();
        let allowed: Vec<String> = allowed
            .map(|value| text::value(&value.0))
            .take(20)
            .collect();
        let words = format!(
            "must be one of {}, and is {}",
            text::few(&allowed),
            text::value(value)
        );
        self.wrong(ViolationKind::Enum, words);
    }

    fn text(&mut self, schema: &'a JSONSchemaProps, value: &str) {
        let length = value.chars().count();
        self.count(
            length,
            "long",
            ("minLength", schema.min_length),
            ("maxLength", schema.max_length),
        );
        if let Some(pattern) = schema
            .pattern
            .as_deref()
            .filter(|pattern| !pattern.is_empty())
        {
            match self.patterns.matches(pattern, value) {
                Some(true) => {}
                Some(false) => {
                    let words = format!(
                        "must match `{}`, and is \"{}\"",
                        text::quote(pattern),
                        text::quote(value)
                    );
                    self.wrong(ViolationKind::Pattern, words);
                }
                None => {
                    let words =
                        format!("the pattern `{}` could not be tried", text::quote(pattern));
                    self.found.unchecked.insert(words);
                }
            }
        }
        let format = schema.format.as_deref().unwrap_or_default();
        if !format::text_has(format, value) {
            let words = format!(
                "must be a {}, and is \"{}\"",
                text::quote(format),
                text::quote(value)
            );
            self.wrong(ViolationKind::Format, words);
        }
    }

    fn number(&mut self, schema: &JSONSchemaProps, value: &Value) {
        let (Value::Number(number), Some(float)) = (value, value.as_f64()) else {
            return;
        };
        let format = schema.format.as_deref().unwrap_or_default();
        if !format::number_has(format, number) {
            self.wrong(
                ViolationKind::Format,
                format!("must fit into {}, and is {number}", text::quote(format)),
            );
        }
        if let Some(minimum) = schema.minimum {
            let excluded = schema.exclusive_minimum == Some(true);
            if float < minimum || (excluded && float <= minimum) {
                let more = if excluded { "more than" } else { "at least" };
                self.wrong(
                    ViolationKind::Bound("minimum"),
                    format!("must be {more} {minimum}, and is {number}"),
                );
            }
        }
        if let Some(maximum) = schema.maximum {
            let excluded = schema.exclusive_maximum == Some(true);
            if float > maximum || (excluded && float >= maximum) {
                let less = if excluded { "less than" } else { "at most" };
                self.wrong(
                    ViolationKind::Bound("maximum"),
                    format!("must be {less} {maximum}, and is {number}"),
                );
            }
        }
        if let Some(step) = schema.multiple_of.filter(|step| *step > 0.0) {
            let times = float / step;
            if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
                self.wrong(
                    ViolationKind::Bound("multipleOf"),
                    format!("must be a multiple of {step}, and is {number}"),
                );
            }
        }
    }

    /// Bounds of lengths, items and fields.
    fn count(
        &mut self,
        count: usize,
        what: &str,
        (low, minimum): (&'static str, Option<i64>),
        (high, maximum): (&'static str, Option<i64>),
    ) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if let Some(minimum) = minimum.filter(|minimum| count < *minimum) {
            let words = format!("must be at least {minimum} {what}, and is {count}");
            self.wrong(ViolationKind::Bound(low), words);
        }
        if let Some(maximum) = maximum.filter(|maximum| count > *maximum) {
            let words = format!("must be at most {maximum} {what}, and is {count}");
            self.wrong(ViolationKind::Bound(high), words);
        }
    }

    fn list(&mut self, schema: &'a JSONSchemaProps, items: &[Value]) {
        self.count(
            items.len(),
            "items long",
            ("minItems", schema.min_items),
            ("maxItems", schema.max_items),
        );
        if let Some(of_items) = items_of(schema) {
            for (at, item) in items.iter().enumerate() {
                self.below(&format!("[{at}]"), of_items, item);
            }
        }
        let keys = schema
            .x_kubernetes_list_map_keys
            .as_deref()
            .unwrap_or_default();
        let list = schema.x_kubernetes_list_type.as_deref();
        let mut seen = HashSet::new();
        for item in items {
            let identity = match list {
                Some("map") => {
                    let null = Value::Null;
                    let values = keys
                        .iter()
                        .map(|key| text::canonical(item.get(key).unwrap_or(&null)));
                    values.collect::<Vec<String>>().join("\n")
                }
                Some("set") => text::canonical(item),
                _ if schema.unique_items == Some(true) => text::canonical(item),
                _ => return,
            };
            if !seen.insert(identity) {
                let what = match list {
                    Some("map") => {
                        let keys: Vec<String> = keys.iter().map(|key| text::quote(key)).collect();
                        format!("two items with the same {}", text::few(&keys))
                    }
                    _ => format!("{} twice", text::value(item)),
                };
                self.wrong(ViolationKind::Duplicate, format!("has {what}"));
            }
        }
    }

    fn object(&mut self, schema: &'a JSONSchemaProps, fields: &Map<String, Value>) {
        self.count(
            fields.len(),
            "fields large",
            ("minProperties", schema.min_properties),
            ("maxProperties", schema.max_properties),
        );
        for name in schema.required.iter().flatten() {
            if !fields.contains_key(name) {
                let length = self.path.len();
                if length > 0 {
                    self.path.push('.');
                }
                self.path.push_str(name);
                self.wrong(ViolationKind::Required, "is required, and missing");
                self.path.truncate(length);
            }
        }
        if schema.x_kubernetes_embedded_resource == Some(true) {
            for name in ["apiVersion", "kind"] {
                let is_there = fields
                    .get(name)
                    .and_then(Value::as_str)
                    .is_some_and(|text| !text.is_empty());
                if !is_there {
                    self.wrong(
                        ViolationKind::Resource,
                        format!("must be a whole object, and has no {name}"),
                    );
                }
            }
        }
        for (name, value) in fields {
            match (field_of(schema, name), others_of(schema)) {
                (Some(field), _) | (None, Others::Typed(field)) => self.below(name, field, value),
                _ => {}
            }
        }
    }

    fn logic(&mut self, schema: &'a JSONSchemaProps, value: &Value) {
        for condition in schema.all_of.iter().flatten() {
            self.value(condition, value);
        }
        let any_of = self.answers(schema.any_of.as_deref(), value);
        if any_of.is_some_and(|met| !met.contains(&true)) {
            let words = "must meet one of the conditions in anyOf";
            self.wrong(ViolationKind::Logic("anyOf"), words);
        }
        if let Some(met) = self.answers(schema.one_of.as_deref(), value) {
            let met = met.into_iter().filter(|is_met| *is_met).count();
            if met != 1 {
                let words =
                    format!("must meet exactly one of the conditions in oneOf, and meets {met}");
                self.wrong(ViolationKind::Logic("oneOf"), words);
            }
        }
        let not = schema.not.as_deref().map(std::slice::from_ref);
        if self
            .answers(not, value)
            .is_some_and(|met| met.contains(&true))
        {
            let words = "must not meet the condition in not";
            self.wrong(ViolationKind::Logic("not"), words);
        }
    }

    /// Which conditions hold; nothing if there are none, or if one could not be looked at.
    fn answers(
        &mut self,
        conditions: Option<&'a [JSONSchemaProps]>,
        value: &Value,
    ) -> Option<Vec<bool>> {
        let conditions = conditions.filter(|conditions| !conditions.is_empty())?;
        let mut answers = Vec::with_capacity(conditions.len());
        let mut unchecked = BTreeSet::new();
        for condition in conditions {
            let mut found = Found::default();
            let mut check = Check {
                path: String::new(),
                patterns: self.patterns,
                found: &mut found,
            };
            check.value(condition, value);
            unchecked.append(&mut found.unchecked);
            answers.push(found.violations.is_empty());
        }
        let is_sure = unchecked.is_empty();
        self.found.unchecked.append(&mut unchecked);
        is_sure.then_some(answers)
    }
}

/// Whether a value is a whole number, `5.0` included.
fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|float| float.fract() == 0.0)
}
