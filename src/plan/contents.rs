//! What is in a bundle, wherever it comes from.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::api::cluster_service_version::ClusterServiceVersionSpec;
use crate::api::conditions::subscription;
use crate::bundle::Bundle;
use crate::bundle::property::BUNDLE_OBJECT;
use crate::yaml;

/// How much a packed manifest may hold: more than etcd takes of one object.
const UNPACKED_LIMIT: u64 = 16 << 20;

const CSV_KIND: &str = "ClusterServiceVersion";

/// The objects of a bundle. The same bundle always has them in the same order, so that a plan can
/// name one by its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    csv: Value,
    name: String,
    objects: Vec<Value>,
}

/// Why the contents of a bundle cannot be used. Nothing but another bundle helps.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContentsError {
    /// There is no operator in it.
    #[error(
        "the bundle has no ClusterServiceVersion; ask its authors for a bundle with one manifest of that kind"
    )]
    NoCsv,
    /// There are two operators in it.
    #[error(
        "the bundle has two ClusterServiceVersions, {first} and {second}; ask its authors for a bundle with one"
    )]
    TwoCsvs {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// OLM's words, which tools look for.
    #[error(
        "bundle CSV {csv} missing APIVersion: expected operators.coreos.com/v1alpha1; ask the bundle's authors to add it"
    )]
    CsvWithoutApiVersion {
        /// The name of the CSV.
        csv: String,
    },
    /// An object lacks what every object has.
    #[error("{what} of the bundle has no {field}; ask the bundle's authors to add it")]
    Incomplete {
        /// Which object.
        what: String,
        /// What it lacks.
        field: &'static str,
    },
    /// Something is no object at all.
    #[error("{what} of the bundle cannot be read: {problem}; ask the bundle's authors to mend it")]
    Unreadable {
        /// Which object.
        what: String,
        /// What is wrong.
        problem: String,
    },
}

impl ContentsError {
    /// The reason of the condition `BundleUnpackFailed` that tells of this.
    pub fn reason(&self) -> &'static str {
        subscription::ERROR_PREVENTED_UNPACKING
    }
}

impl Contents {
    /// What a bundle has that was read from its files.
    pub fn of_bundle(bundle: &Bundle) -> Result<Self, ContentsError> {
        let mut csv = bundle.csv.value.clone();
        let spec = csv.get("spec").cloned().unwrap_or_default();
        let as_written: Option<ClusterServiceVersionSpec> = serde_json::from_value(spec).ok();
        if as_written.as_ref() != Some(&bundle.csv.spec)
            && let Ok(spec) = serde_json::to_value(&bundle.csv.spec)
        {
            // Keys in the wrong case are understood here, but the API server would drop them.
            member(&mut csv, "spec", spec);
        }
        let objects = bundle.objects.iter().map(|object| object.value.clone());
        Self::of_objects(std::iter::once(csv).chain(objects).collect())
    }

    /// What a catalog has of a bundle without an image: every manifest is a property
    /// `olm.bundle.object`, given as type and JSON.
    pub fn of_properties(properties: &[(String, String)]) -> Result<Self, ContentsError> {
        #[derive(Deserialize)]
        struct BundleObject {
            data: String,
        }
        let manifests = properties.iter().filter(|(kind, _)| kind == BUNDLE_OBJECT);
        let objects = manifests.enumerate().map(|(at, (_, json))| {
            let unreadable = |problem: String| ContentsError::Unreadable {
                what: format!("property {BUNDLE_OBJECT} no. {}", at + 1),
                problem,
            };
            let object: BundleObject =
                serde_json::from_str(json).map_err(|error| unreadable(error.to_string()))?;
            let manifest = STANDARD
                .decode(object.data)
                .map_err(|error| unreadable(error.to_string()))?;
            let text =
                String::from_utf8(manifest).map_err(|error| unreadable(error.to_string()))?;
            first_document(&text).map_err(unreadable)
        });
        Self::of_objects(objects.collect::<Result<_, _>>()?)
    }

    /// What OLM unpacked into a ConfigMap. What is no object there is left out, as OLM does.
    pub fn of_config_map(
        data: &BTreeMap<String, String>,
        binary_data: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, ContentsError> {
        let mut texts = data.clone();
        for (key, packed) in binary_data {
            let text = unpack(packed).map_err(|problem| ContentsError::Unreadable {
                what: format!("entry {key}"),
                problem,
            })?;
            texts.insert(key.clone(), text);
        }
        let objects = texts.values().filter_map(|text| first_document(text).ok());
        let objects = objects.filter(|object| !text_of(object, "/kind").is_empty());
        Self::of_objects(objects.collect())
    }

    /// What is in a list of objects, one of which is the CSV.
    pub fn of_objects(objects: Vec<Value>) -> Result<Self, ContentsError> {
        for (at, object) in objects.iter().enumerate() {
            check(at, object)?;
        }
        let (mut csvs, objects): (Vec<Value>, Vec<Value>) = objects
            .into_iter()
            .partition(|object| text_of(object, "/kind") == CSV_KIND);
        if let [first, second, ..] = csvs.as_slice() {
            let name = |csv| text_of(csv, "/metadata/name").to_owned();
            return Err(ContentsError::TwoCsvs {
                first: name(first),
                second: name(second),
            });
        }
        let csv = csvs.pop().ok_or(ContentsError::NoCsv)?;
        Ok(Self {
            name: text_of(&csv, "/metadata/name").to_owned(),
            csv,
            objects,
        })
    }

    /// The name of the CSV.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The CSV, as its authors wrote it.
    pub fn csv(&self) -> &Value {
        &self.csv
    }

    /// All other objects.
    pub fn objects(&self) -> &[Value] {
        &self.objects
    }
}

fn check(at: usize, object: &Value) -> Result<(), ContentsError> {
    let number = || format!("object no. {}", at + 1);
    if !object.is_object() {
        return Err(ContentsError::Unreadable {
            what: number(),
            problem: "expected an object with apiVersion, kind and metadata".to_owned(),
        });
    }
    let kind = text_of(object, "/kind");
    let name = text_of(object, "/metadata/name");
    let lacks = |what: String, field| Err(ContentsError::Incomplete { what, field });
    match (kind, name, text_of(object, "/apiVersion")) {
        ("", _, _) => lacks(number(), "kind"),
        (kind, "", _) => lacks(format!("{} ({kind})", number()), "metadata.name"),
        (CSV_KIND, name, "") => Err(ContentsError::CsvWithoutApiVersion {
            csv: name.to_owned(),
        }),
        (kind, name, "") => lacks(format!("{kind} {name}"), "apiVersion"),
        _ => Ok(()),
    }
}

/// Manifests are JSON, or else YAML.
fn first_document(text: &str) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    match yaml::documents("manifest", text).next() {
        Some(Ok(document)) => Ok(document.into_value()),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("it is empty".to_owned()),
    }
}

/// OLM packs entries with gzip, and writes that as base64.
fn unpack(packed: &[u8]) -> Result<String, String> {
    let packed = STANDARD
        .decode(packed)
        .map_err(|error| format!("expected gzip in base64: {error}"))?;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice())
        .take(UNPACKED_LIMIT + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("expected gzip in base64: {error}"))?;
    if text.len() as u64 > UNPACKED_LIMIT {
        return Err(format!("it has more than {UNPACKED_LIMIT} bytes"));
    }
    Ok(text)
}

/// The text at a JSON pointer, or nothing.
pub(super) fn text_of<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Sets a member of an object; what is no object is left alone.
pub(super) fn member(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// A member that is an object itself, made one if it is not.
pub(super) fn fields<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> &'a mut Map<String, Value> {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        // It was made one just now.
        _ => unreachable!("{key} is an object"),
    }
}
