//! An object as the API server reads it: without the fields that its schema does not name, and with
//! the defaults of those that are missing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::super::apiextensions::JSONSchemaProps;
use super::super::limits::weight;
use super::super::{Others, field_of, items_of, others_of};

/// How much defaults may add to an object: a default of a megabyte in each item of a list is many
/// gigabytes.
const MOST_DEFAULTS: usize = 200_000;

/// Fields of every object that are not the schema's to drop.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The object as it is read by a schema.
pub(in super::super) fn as_read(
    schema: &JSONSchemaProps,
    keeps_unknown: bool,
    object: &Value,
) -> Value {
    let mut object = object.clone();
    if !keeps_unknown {
        prune(schema, &mut object, true, &mut String::new(), &mut |_| {});
    }
    let mut left = MOST_DEFAULTS;
    fill(schema, &mut object, true, &mut left);
    object
}

/// The fields that are dropped when an object is read by a schema, those directly below a dropped
/// one not told apart.
pub(super) fn dropped(schema: &JSONSchemaProps, object: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    let mut object = object.clone();
    let mut note = |path: &str| fields.push(path.to_owned());
    prune(schema, &mut object, true, &mut String::new(), &mut note);
    fields
}

fn is_of_every_object(schema: &JSONSchemaProps, is_root: bool, name: &str) -> bool {
    let is_object = is_root || schema.x_kubernetes_embedded_resource == Some(true);
    is_object && OF_EVERY_OBJECT.contains(&name)
}

fn prune(
    schema: &JSONSchemaProps,
    value: &mut Value,
    is_root: bool,
    path: &mut String,
    note: &mut dyn FnMut(&str),
) {
    let length = path.len();
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            if is_of_every_object(schema, is_root, name) {
                return true;
            }
            if length > 0 {
                path.push('.');
            }
            path.push_str(name);
            let is_kept = match (field_of(schema, name), others_of(schema)) {
                (Some(field), _) | (None, Others::Typed(field)) => {
                    prune(field, value, false, path, note);
                    true
                }
                (None, Others::Kept) => true,
                (None, Others::Dropped) => {
                    note(path);
                    false
                }
            };
            path.truncate(length);
            is_kept
        }),
        Value::Array(items) => {
            let Some(schema) = items_of(schema) else {
                return;
            };
            for (at, item) in items.iter_mut().enumerate() {
                let _ = write!(path, "[{at}]");
                prune(schema, item, false, path, note);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn fill(schema: &JSONSchemaProps, value: &mut Value, is_root: bool, left: &mut usize) {
    match value {
        Value::Object(fields) => {
            add_missing(schema, fields, left);
            for (name, value) in fields.iter_mut() {
                if is_of_every_object(schema, is_root, name) {
                    continue;
                }
                match (field_of(schema, name), others_of(schema)) {
                    (Some(field), _) | (None, Others::Typed(field)) => {
                        fill(field, value, false, left);
                    }
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = items_of(schema) else {
                return;
            };
            for item in items {
                fill(schema, item, false, left);
            }
        }
        _ => {}
    }
}

/// Adds defaults where there is nothing, or a null that may not be there.
fn add_missing(schema: &JSONSchemaProps, fields: &mut Map<String, Value>, left: &mut usize) {
    for (name, field) in schema.properties.iter().flatten() {
        let Some(default) = &field.default else {
            continue;
        };
        let is_missing = match fields.get(name) {
            None => true,
            Some(value) => value.is_null() && field.nullable != Some(true),
        };
        let takes = if is_missing { weight(&default.0) } else { 0 };
        if is_missing && takes <= *left {
            *left -= takes;
            fields.insert(name.clone(), default.0.clone());
        }
    }
}
