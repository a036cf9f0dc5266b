//! A schema as a tree of fields that people can read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::LONGEST_TEXT;
use crate::server::hub::views::FieldView;
use crate::server::hub::words::cut;

/// How deep fields may be in each other.
const DEEPEST: usize = 24;
/// How long a default or a rule may be.
const LONGEST_RULE: usize = 300;
/// How many values of an enumeration are told.
const MOST_VALUES: usize = 50;

/// How long all texts may be together. The greatest real bundle has half of it.
const MOST_TEXT: usize = 4 << 20;

/// How much may still be told.
pub(super) struct Budget {
    fields: usize,
    text: usize,
}

impl Budget {
    pub(super) fn new(fields: usize) -> Self {
        Self {
            fields,
            text: MOST_TEXT,
        }
    }

    /// Whether a field with such a text may be told.
    fn take(&mut self, text: &str) -> bool {
        let is_left = self.fields > 0 && self.text >= text.len();
        self.fields = self.fields.saturating_sub(1);
        self.text = self.text.saturating_sub(text.len());
        is_left
    }
}

/// The fields of an object but for those that every object has. Also says whether some were left
/// out.
pub(super) fn fields_of_object(schema: &Value, budget: &mut Budget) -> (Vec<FieldView>, bool) {
    let mut reader = Reader {
        budget,
        is_cut: false,
    };
    let mut fields = reader.fields(schema, 0);
    fields.retain(|field| !["apiVersion", "kind", "metadata"].contains(&field.name.as_str()));
    (fields, reader.is_cut)
}

struct Reader<'b> {
    budget: &'b mut Budget,
    is_cut: bool,
}

impl Reader<'_> {
    fn fields(&mut self, schema: &Value, depth: usize) -> Vec<FieldView> {
        let required: BTreeSet<&str> = list(schema, "required").filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            let description = cut(text(property, "description"), LONGEST_TEXT);
            if depth >= DEEPEST || !self.budget.take(&description) {
                self.is_cut = true;
                break;
            }
            let inner = innermost(property);
            fields.push(FieldView {
                name: name.clone(),
                r#type: type_of(property),
                description,
                is_required: required.contains(name.as_str()),
                default: property
                    .get("default")
                    .map(|value| cut(&value.to_string(), LONGEST_RULE)),
                rules: rules(property),
                fields: self.fields(inner, depth + 1),
            });
        }
        // What has to be there comes first, as one would write it.
        fields.sort_by(|a, b| (!a.is_required, &a.name).cmp(&(!b.is_required, &b.name)));
        fields
    }
}

/// The schema of what lists and maps hold in the end.
fn innermost(schema: &Value) -> &Value {
    let mut current = schema;
    for _ in 0..DEEPEST {
        let items = current.get("items").filter(|items| items.is_object());
        let others = current
            .get("additionalProperties")
            .filter(|it| it.is_object());
        match items.or(others) {
            Some(inner) if current.get("properties").is_none() => current = inner,
            _ => break,
        }
    }
    current
}

/// `string`, `[]object`, `map[string]integer`.
fn type_of(schema: &Value) -> String {
    let mut prefix = String::new();
    let mut current = schema;
    for _ in 0..DEEPEST {
        let is_list = text(current, "type") == "array";
        let items = current
            .get("items")
            .filter(|items| is_list && items.is_object());
        let others = current.get("additionalProperties");
        let others = others.filter(|it| it.is_object() && current.get("properties").is_none());
        if let Some(items) = items {
            prefix.push_str("[]");
            current = items;
        } else if let Some(others) = others {
            prefix.push_str("map[string]");
            current = others;
        } else {
            break;
        }
    }
    let is = |key: &str| current.get(key).and_then(Value::as_bool) == Some(true);
    let name = if is("x-kubernetes-int-or-string") {
        "integer or string"
    } else {
        match text(current, "type") {
            "" if is("x-kubernetes-preserve-unknown-fields") => "any",
            "" => "object",
            name => name,
        }
    };
    format!("{prefix}{}", cut(name, 40))
}

/// What values a field may have, in words.
fn rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    let values: Vec<String> = list(schema, "enum")
        .take(MOST_VALUES)
        .map(|value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        })
        .collect();
    if !values.is_empty() {
        rules.push(format!("one of {}", values.join(", ")));
    }
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    let is = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    if let Some(least) = number("minimum") {
        let than = if is("exclusiveMinimum") {
            "more than"
        } else {
            "at least"
        };
        rules.push(format!("{than} {least}"));
    }
    if let Some(most) = number("maximum") {
        let than = if is("exclusiveMaximum") {
            "less than"
        } else {
            "at most"
        };
        rules.push(format!("{than} {most}"));
    }
    let counted = [
        ("minLength", "at least", "characters"),
        ("maxLength", "at most", "characters"),
        ("minItems", "at least", "items"),
        ("maxItems", "at most", "items"),
        ("minProperties", "at least", "entries"),
        ("maxProperties", "at most", "entries"),
    ];
    for (key, words, what) in counted {
        if let Some(count) = number(key) {
            rules.push(format!("{words} {count} {what}"));
        }
    }
    for (key, words) in [("pattern", "matches"), ("format", "format")] {
        let value = text(schema, key);
        if !value.is_empty() {
            rules.push(format!("{words} {value}"));
        }
    }
    if is("nullable") {
        rules.push("may be null".to_owned());
    }
    for rule in list(schema, "x-kubernetes-validations").take(MOST_VALUES) {
        let message = text(rule, "message");
        let said = if message.is_empty() {
            text(rule, "rule")
        } else {
            message
        };
        rules.push(said.to_owned());
    }
    rules.iter().map(|rule| cut(rule, LONGEST_RULE)).collect()
}

fn list<'v>(schema: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    let list = schema.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn text<'v>(schema: &'v Value, key: &str) -> &'v str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}
