//! Bounds for what others wrote.
//!
//! Schemas and objects are trees, and most of what is done with them is recursive. So depth is looked
//! at first, with a list of our own instead of the stack.

use serde_json::Value;

use super::apiextensions::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, JSONSchemaPropsOrStringArray,
};

/// How deep schemas and objects may nest. JSON out of the API server and YAML out of a bundle are
/// read no deeper than this.
pub(super) const MAX_DEPTH: usize = 128;

/// Whether a schema, with the values in it, nests deeper than is looked at.
pub(super) fn is_too_deep(schema: &JSONSchemaProps) -> bool {
    let mut open = vec![(schema, 1)];
    while let Some((schema, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        let values = schema.default.iter().chain(schema.enum_.iter().flatten());
        if values.into_iter().any(|value| value_is_too_deep(&value.0)) {
            return true;
        }
        open.extend(children(schema).map(|child| (child, depth + 1)));
    }
    false
}

/// All schemas directly below one, wherever they stand.
pub(super) fn children(schema: &JSONSchemaProps) -> impl Iterator<Item = &JSONSchemaProps> {
    let maps = [
        &schema.properties,
        &schema.pattern_properties,
        &schema.definitions,
    ];
    let lists = [&schema.all_of, &schema.any_of, &schema.one_of];
    let bools = [&schema.additional_properties, &schema.additional_items];
    let items: &[JSONSchemaProps] = match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => std::slice::from_ref(&**item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items,
        None => &[],
    };
    let dependencies = schema.dependencies.iter().flat_map(|map| map.values());
    let dependencies = dependencies.filter_map(|dependency| match dependency {
        JSONSchemaPropsOrStringArray::Schema(schema) => Some(&**schema),
        JSONSchemaPropsOrStringArray::Strings(_) => None,
    });
    let bools = bools.into_iter().flatten().filter_map(|or| match or {
        JSONSchemaPropsOrBool::Schema(schema) => Some(&**schema),
        JSONSchemaPropsOrBool::Bool(_) => None,
    });
    maps.into_iter()
        .flatten()
        .flat_map(|map| map.values())
        .chain(lists.into_iter().flatten().flatten())
        .chain(bools)
        .chain(items)
        .chain(dependencies)
        .chain(schema.not.as_deref())
}

/// Whether a value nests deeper than is looked at.
pub(super) fn value_is_too_deep(value: &Value) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    false
}

/// How much there is in a value: its nodes, and long texts by their length.
pub(super) fn weight(value: &Value) -> usize {
    let mut weight = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        weight += 1;
        match value {
            Value::String(text) => weight += text.len() / 16,
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    weight
}
