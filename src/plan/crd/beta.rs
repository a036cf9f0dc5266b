//! CRDs of version v1beta1, which Kubernetes no longer takes, as CRDs of version v1.
//!
//! v1 is stricter: every version has a schema, schemas are structural, and unknown fields are dropped
//! unless the schema says otherwise. What an old CRD left open is written out, so that it means what it
//! meant; what cannot be written out is refused in words.

mod mend;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::apiextensions::CustomResourceDefinition;
use super::{limits, schema_of, structural, text};

/// A CRD of version v1 that was one of v1beta1.
#[derive(Clone, Debug, PartialEq)]
pub struct Upgraded {
    /// The CRD.
    pub crd: CustomResourceDefinition,
    /// What had to be added or left out, as sentences.
    pub notes: Vec<String>,
}

/// Why a CRD cannot be made one of version v1.
#[derive(Debug, Error)]
pub enum NotUpgradable {
    /// It is something else.
    #[error(
        "this is no CustomResourceDefinition of apiextensions.k8s.io/v1beta1 but {kind} of {api_version}"
    )]
    Other {
        /// Its kind.
        kind: String,
        /// Its API version.
        api_version: String,
    },
    /// It nests too deep to be looked at.
    #[error("it nests deeper than {} levels", limits::MAX_DEPTH)]
    TooDeep,
    /// It has no version.
    #[error("it has neither spec.version nor spec.versions")]
    NoVersion,
    /// A schema is not structural, and no mending helps.
    #[error(
        "the schema of version {version} is not structural, which Kubernetes demands since 1.22: {}; ask the operator's authors for a CRD of apiextensions.k8s.io/v1",
        faults.join("; ")
    )]
    NotStructural {
        /// The version.
        version: String,
        /// Why.
        faults: Vec<String>,
    },
    /// Something has another type than it should.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Makes a CRD of version v1 of one of version v1beta1.
pub fn upgrade_v1beta1(mut crd: Value) -> Result<Upgraded, NotUpgradable> {
    let word = |name: &str| text_at(&crd, name).map(text::quote).unwrap_or_default();
    let (kind, api_version) = (word("kind"), word("apiVersion"));
    if kind != "CustomResourceDefinition" || api_version != "apiextensions.k8s.io/v1beta1" {
        return Err(NotUpgradable::Other { kind, api_version });
    }
    if limits::value_is_too_deep(&crd) {
        return Err(NotUpgradable::TooDeep);
    }
    let mut notes = Vec::new();
    if let Some(fields) = crd.as_object_mut() {
        fields.insert("apiVersion".to_owned(), json!("apiextensions.k8s.io/v1"));
        let spec = fields.get_mut("spec").and_then(Value::as_object_mut);
        upgrade_spec(spec.ok_or(NotUpgradable::NoVersion)?, &mut notes)?;
    }
    let crd: CustomResourceDefinition = serde_json::from_value(crd)?;
    for version in &crd.spec.versions {
        let faults = schema_of(version)
            .map(structural::faults)
            .unwrap_or_default();
        if !faults.is_empty() {
            let version = text::quote(&version.name);
            return Err(NotUpgradable::NotStructural { version, faults });
        }
    }
    Ok(Upgraded { crd, notes })
}

fn text_at<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn upgrade_spec(
    spec: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<(), NotUpgradable> {
    let version = spec
        .remove("version")
        .and_then(|version| Some(version.as_str()?.to_owned()));
    let mut versions = match spec.remove("versions") {
        Some(Value::Array(versions)) if !versions.is_empty() => versions,
        _ => {
            let name = version
                .filter(|name| !name.is_empty())
                .ok_or(NotUpgradable::NoVersion)?;
            vec![json!({ "name": name, "served": true, "storage": true })]
        }
    };
    // What stood once for all versions stands in each of them now.
    let shared = [
        ("schema", spec.remove("validation")),
        ("subresources", spec.remove("subresources")),
        (
            "additionalPrinterColumns",
            spec.remove("additionalPrinterColumns"),
        ),
    ];
    let keeps_unknown = spec.get("preserveUnknownFields") != Some(&Value::Bool(false));
    for version in versions.iter_mut().filter_map(Value::as_object_mut) {
        for (name, value) in &shared {
            if let (None | Some(Value::Null), Some(value)) = (version.get(*name), value) {
                version.insert((*name).to_owned(), value.clone());
            }
        }
        upgrade_version(version, keeps_unknown, notes);
    }
    spec.insert("versions".to_owned(), Value::Array(versions));
    spec.insert("preserveUnknownFields".to_owned(), Value::Bool(false));
    if spec.get("scope").is_none_or(Value::is_null) {
        spec.insert("scope".to_owned(), json!("Namespaced"));
    }
    upgrade_conversion(spec);
    Ok(())
}

fn upgrade_version(version: &mut Map<String, Value>, keeps_unknown: bool, notes: &mut Vec<String>) {
    let name = version
        .get("name")
        .and_then(Value::as_str)
        .map(text::quote)
        .unwrap_or_default();
    for flag in ["served", "storage"] {
        version.entry(flag).or_insert(Value::Bool(false));
    }
    let columns = version
        .get_mut("additionalPrinterColumns")
        .and_then(Value::as_array_mut);
    for column in columns
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if let Some(path) = column.remove("JSONPath") {
            column.insert("jsonPath".to_owned(), path);
        }
    }
    let schema = version
        .get_mut("schema")
        .and_then(|schema| schema.get_mut("openAPIV3Schema"));
    if let Some(schema) = schema.filter(|schema| schema.is_object()) {
        mend::schema(schema, keeps_unknown, &name, notes);
        return;
    }
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    version.insert("schema".to_owned(), json!({ "openAPIV3Schema": open }));
    notes.push(format!(
        "version {name} had no schema, and now has one that allows everything"
    ));
}

/// The webhook stands in a field of its own.
fn upgrade_conversion(spec: &mut Map<String, Value>) {
    let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut) else {
        return;
    };
    let client = conversion.remove("webhookClientConfig");
    let reviews = conversion.remove("conversionReviewVersions");
    if conversion.get("strategy").and_then(Value::as_str) == Some("Webhook") {
        let mut webhook = Map::new();
        if let Some(client) = client {
            webhook.insert("clientConfig".to_owned(), client);
        }
        let reviews = reviews.unwrap_or_else(|| json!(["v1beta1"]));
        webhook.insert("conversionReviewVersions".to_owned(), reviews);
        conversion.insert("webhook".to_owned(), Value::Object(webhook));
    }
}
