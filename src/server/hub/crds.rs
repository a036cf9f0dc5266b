//! The APIs of a version: what fields their objects have, and examples.

mod schema;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use self::schema::Budget;
use super::bundles::Contents;
use super::views::{CrdVersionView, CrdView, Crds, ExampleView};
use super::words::cut;
use crate::api::cluster_service_version::apis::CrdDescription;
use crate::yaml;

/// How many fields are told of all APIs together.
const MOST_FIELDS: usize = 20_000;
/// How many examples of one API, and how large one may be.
const MOST_EXAMPLES: usize = 20;
const LARGEST_EXAMPLE: usize = 64 << 10;
const LONGEST_TEXT: usize = 2_000;

/// The APIs of a version, by kind.
pub(super) fn all(contents: &Contents) -> Crds {
    let described = contents.facts.crds().owned;
    let examples = contents.facts.examples();
    let mut budget = Budget::new(MOST_FIELDS);
    let mut crds: BTreeMap<String, CrdView> = BTreeMap::new();
    let manifests = contents.manifests.iter();
    for crd in manifests.filter(|object| text(object, "/kind") == "CustomResourceDefinition") {
        let view = of_manifest(crd, &mut budget);
        crds.insert(view.name.clone(), view);
    }
    for description in &described {
        // Without the manifest, what the CSV says has to do.
        let view = crds
            .entry(description.name.clone())
            .or_insert_with(|| of_description(description));
        if view.display_name.is_empty() {
            view.display_name.clone_from(&description.display_name);
        }
        if view.description.is_empty() {
            view.description = cut(&description.description, LONGEST_TEXT);
        }
        let is_listed = view
            .versions
            .iter()
            .any(|version| version.name == description.version);
        if !is_listed && contents.manifests.is_empty() {
            view.versions.push(version_of(description));
        }
    }
    let mut crds: Vec<CrdView> = crds.into_values().collect();
    for crd in &mut crds {
        crd.examples = examples
            .iter()
            .filter(|example| is_of(example, crd))
            .take(MOST_EXAMPLES)
            .filter_map(example)
            .collect();
    }
    crds.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    Crds {
        knowledge: contents.knowledge.clone(),
        crds,
    }
}

fn of_manifest(crd: &Value, budget: &mut Budget) -> CrdView {
    let scope = text(crd, "/spec/scope");
    let listed = crd.pointer("/spec/versions").and_then(Value::as_array);
    let listed: Vec<Value> = listed.cloned().unwrap_or_default();
    let versions: Vec<Value> = if listed.is_empty() {
        // The oldest CRDs have one version without a list.
        let name = text(crd, "/spec/version");
        vec![serde_json::json!({"name": name, "served": true, "storage": true})]
    } else {
        listed
    };
    let short_names = crd
        .pointer("/spec/names/shortNames")
        .and_then(Value::as_array);
    let short_names = short_names.into_iter().flatten().filter_map(Value::as_str);
    let mut description = String::new();
    let versions = versions
        .iter()
        .map(|version| {
            let own = version.pointer("/schema/openAPIV3Schema");
            let common = || crd.pointer("/spec/validation/openAPIV3Schema");
            let schema = own.or_else(common);
            if description.is_empty() {
                let text = schema.map_or("", |schema| text(schema, "/description"));
                description = cut(text, LONGEST_TEXT);
            }
            let is = |key: &str| {
                version
                    .get(key)
                    .and_then(Value::as_bool)
                    .unwrap_or_default()
            };
            let (fields, is_cut) = schema.map_or((Vec::new(), false), |schema| {
                schema::fields_of_object(schema, budget)
            });
            CrdVersionView {
                name: text(version, "/name").to_owned(),
                is_served: is("served"),
                is_stored: is("storage"),
                is_deprecated: is("deprecated"),
                fields,
                is_cut,
            }
        })
        .collect();
    CrdView {
        name: text(crd, "/metadata/name").to_owned(),
        group: text(crd, "/spec/group").to_owned(),
        kind: text(crd, "/spec/names/kind").to_owned(),
        display_name: String::new(),
        description,
        is_namespaced: (!scope.is_empty()).then(|| scope == "Namespaced"),
        short_names: short_names.map(str::to_owned).collect(),
        versions,
        examples: Vec::new(),
    }
}

fn of_description(description: &CrdDescription) -> CrdView {
    CrdView {
        name: description.name.clone(),
        group: description.group().to_owned(),
        kind: description.kind.clone(),
        display_name: description.display_name.clone(),
        description: cut(&description.description, LONGEST_TEXT),
        is_namespaced: None,
        short_names: Vec::new(),
        versions: Vec::new(),
        examples: Vec::new(),
    }
}

fn version_of(description: &CrdDescription) -> CrdVersionView {
    CrdVersionView {
        name: description.version.clone(),
        is_served: true,
        is_stored: false,
        is_deprecated: false,
        fields: Vec::new(),
        is_cut: false,
    }
}

fn is_of(example: &Value, crd: &CrdView) -> bool {
    let api_version = text(example, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    group == crd.group && text(example, "/kind") == crd.kind
}

fn example(object: &Value) -> Option<ExampleView> {
    let yaml = yaml::to_string(object).ok()?;
    (yaml.len() <= LARGEST_EXAMPLE).then(|| ExampleView {
        name: text(object, "/metadata/name").to_owned(),
        yaml,
        object: object.clone(),
    })
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default()
}
