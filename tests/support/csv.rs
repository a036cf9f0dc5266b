//! ClusterServiceVersions to test with: our own, and the real ones of those who have them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use chandler::yaml;
use serde_json::Value;

use super::cluster::repository;
use super::data::each_yaml_file;

/// A ClusterServiceVersion as it was written.
pub struct Csv {
    /// The file it came from.
    pub path: String,
    /// What is in it.
    pub object: Value,
}

/// Those of `tests/fixtures/csv`.
pub fn fixtures() -> anyhow::Result<Vec<Csv>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(repository().join("tests/fixtures/csv"))? {
        let path = entry?.path();
        let name = path.to_string_lossy().into_owned();
        let text = fs_err::read_to_string(&path)?;
        found.push(Csv {
            object: yaml::from_str(&name, &text)?,
            path: name,
        });
    }
    Ok(found)
}

/// Calls `each` for every real one. False when there are none on this machine.
pub fn each_real(test: &str, mut each: impl FnMut(Csv)) -> anyhow::Result<bool> {
    let mut failed = None;
    let found = each_yaml_file(test, |file| {
        if !file.text.contains("kind: ClusterServiceVersion") || !is_manifest(&file.path) {
            return;
        }
        // As operator-registry does, only the first document of a file counts.
        match yaml::documents(&file.path, &file.text).next() {
            Some(Ok(document)) => {
                let object = document.into_value();
                if object["kind"] == "ClusterServiceVersion" {
                    each(Csv {
                        path: file.path,
                        object,
                    });
                }
            }
            Some(Err(error)) => failed = failed.take().or(Some(error)),
            None => {}
        }
    })?;
    match failed {
        Some(error) => Err(error).context("a manifest cannot be read"),
        None => Ok(found),
    }
}

/// Catalogs and templates hold bundles in another form.
fn is_manifest(path: &str) -> bool {
    !path.contains("/catalogs/") && !path.contains("template")
}

/// The package a file belongs to: the folder below the collection (`operators/etcd/0.9.4/…`).
pub fn package(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let collection = parts
        .iter()
        .position(|part| ["operators", "prod", "legacy"].contains(part));
    collection
        .and_then(|at| parts.get(at + 1))
        .unwrap_or(&"")
        .to_string()
}

/// The leaves of `before` that `after` lacks or has otherwise, by path; list positions are left
/// out of the path. Whether an empty value is written or not says the same, but for the inside of
/// pods, where `emptyDir: {}` is not nothing.
pub fn lost(before: &Value, after: &Value) -> BTreeMap<String, String> {
    let mut paths = BTreeMap::new();
    compare("", before, after, &mut paths);
    paths
}

fn compare(path: &str, before: &Value, after: &Value, lost: &mut BTreeMap<String, String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                compare(
                    &format!("{path}.{key}"),
                    value,
                    after.get(key).unwrap_or(&Value::Null),
                    lost,
                );
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (before, after) in before.iter().zip(after) {
                compare(&format!("{path}[]"), before, after, lost);
            }
        }
        _ if before == after => {}
        _ if is_empty(before) && is_empty(after) && !path.starts_with(POD_PARTS) => {}
        // The API server stores no null.
        (Value::Null, Value::Null) => {}
        _ => {
            lost.insert(path.to_owned(), format!("{before} became {after}"));
        }
    }
}

/// Where specs of Deployments stand.
const POD_PARTS: &str = ".install.spec.deployments[].spec.";

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        _ => false,
    }
}

/// Whether OLM's own schema drops this field too: misspelt, misplaced or made up by its author.
pub fn is_unknown_to_olm(path: &str) -> bool {
    UNKNOWN_TO_OLM.contains(&path)
}

const UNKNOWN_TO_OLM: [&str; 12] = [
    ".MinKubeVersion",
    ".com.redhat.openshift.versions",
    ".customresourcedefinitions.owned[].group",
    ".customresourcedefinitions.owned[].specDescriptors[].x-descriptios",
    ".install.permissions",
    ".install.spec.deployments[].namespace",
    ".install.spec.spec",
    ".install.spec.strategy",
    ".miniKubeVersion",
    ".olm.skipRange",
    ".relatedImages[].value",
    ".support",
];
