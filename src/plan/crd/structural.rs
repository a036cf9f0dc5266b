//! Whether a schema is structural, as the API server demands of every CRD of version v1.

use super::apiextensions::{JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool};
use super::{field_of, items_of};

/// How many faults are told.
const MOST_FAULTS: usize = 10;

/// Why a schema is not structural; nothing if it is.
pub(super) fn faults(schema: &JSONSchemaProps) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    if schema.type_.as_deref() != Some("object") {
        faults.add("", "the whole must be of type object");
    }
    faults.node("", schema);
    faults.0
}

struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, path: &str, what: &str) {
        if self.0.len() < MOST_FAULTS {
            let path = if path.is_empty() { "the schema" } else { path };
            self.0.push(format!("{path}: {what}"));
        }
    }

    fn node(&mut self, path: &str, schema: &JSONSchemaProps) {
        let is_open = schema.x_kubernetes_int_or_string == Some(true)
            || schema.x_kubernetes_preserve_unknown_fields == Some(true);
        if schema.type_.as_deref().unwrap_or_default().is_empty() && !is_open {
            self.add(path, "it has no type");
        }
        self.forbidden(path, schema);
        if schema.properties.is_some() && schema.additional_properties.is_some() {
            self.add(path, "it has both properties and additionalProperties");
        }
        self.conditions(path, schema);
        for (name, field) in schema.properties.iter().flatten() {
            self.node(&format!("{path}.{name}"), field);
        }
        if let Some(JSONSchemaPropsOrBool::Schema(others)) = &schema.additional_properties {
            self.node(&format!("{path}.*"), others);
        }
        match &schema.items {
            Some(JSONSchemaPropsOrArray::Schema(items)) => self.node(&format!("{path}[]"), items),
            Some(JSONSchemaPropsOrArray::Schemas(_)) => {
                self.add(path, "each of its items has another schema");
            }
            None => {}
        }
    }

    fn forbidden(&mut self, path: &str, schema: &JSONSchemaProps) {
        let words = [
            ("$ref", schema.ref_path.is_some()),
            ("definitions", schema.definitions.is_some()),
            ("dependencies", schema.dependencies.is_some()),
            ("patternProperties", schema.pattern_properties.is_some()),
            ("additionalItems", schema.additional_items.is_some()),
            ("id", schema.id.is_some()),
            ("uniqueItems", schema.unique_items == Some(true)),
        ];
        for (word, is_there) in words {
            if is_there {
                self.add(path, &format!("{word} is not allowed"));
            }
        }
        if let Some(JSONSchemaPropsOrBool::Bool(false)) = schema.additional_properties {
            self.add(path, "additionalProperties may not be false");
        }
    }

    /// What stands in `allOf` and its kin may only narrow what stands outside.
    fn conditions(&mut self, path: &str, schema: &JSONSchemaProps) {
        let lists = [&schema.all_of, &schema.any_of, &schema.one_of];
        let conditions = lists
            .into_iter()
            .flatten()
            .flatten()
            .chain(schema.not.as_deref());
        for condition in conditions {
            self.condition(path, schema, condition);
        }
    }

    fn condition(&mut self, path: &str, outside: &JSONSchemaProps, condition: &JSONSchemaProps) {
        let is_either = outside.x_kubernetes_int_or_string == Some(true);
        if condition.type_.is_some() && !is_either {
            self.add(
                path,
                "a condition in allOf, anyOf, oneOf or not sets a type",
            );
        }
        if condition.default.is_some()
            || condition.nullable.is_some()
            || condition.additional_properties.is_some()
            || condition.description.is_some()
            || condition.title.is_some()
        {
            let what = "a condition in allOf, anyOf, oneOf or not does more than narrow";
            self.add(path, what);
        }
        for (name, inside) in condition.properties.iter().flatten() {
            let path = format!("{path}.{name}");
            match field_of(outside, name) {
                Some(field) => self.condition(&path, field, inside),
                None => self.add(&path, "it only stands in allOf, anyOf, oneOf or not"),
            }
        }
        if let Some(inside) = items_of(condition) {
            match items_of(outside) {
                Some(items) => self.condition(&format!("{path}[]"), items, inside),
                None => self.add(path, "its items only stand in allOf, anyOf, oneOf or not"),
            }
        }
        let lists = [&condition.all_of, &condition.any_of, &condition.one_of];
        let inner = lists
            .into_iter()
            .flatten()
            .flatten()
            .chain(condition.not.as_deref());
        for inner in inner {
            self.condition(path, outside, inner);
        }
    }
}
