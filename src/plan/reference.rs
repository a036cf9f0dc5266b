//! What the manifest of a step is: the object itself, or where to find it.
//!
//! Objects of bundle images would make plans larger than etcd allows. A step says instead which part
//! of which image it is, by digest, so that it means the same for ever:
//!
//! ```json
//! {"kind":"Bundle","image":"quay.io/harbor/bundle@sha256:…","part":"object","index":3}
//! ```
//!
//! A part is the `csv`, an `object` by its position in [`Contents::objects`](super::Contents::objects),
//! or something of the `rbac` that follows from the CSV, which kind and name of the step tell apart.
//! Only the CSV knows more than the bundle does: what it `replaces`, and its catalog's `properties`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::api::install_plan::Step;

const BUNDLE: &str = "Bundle";
const CONFIG_MAP: &str = "ConfigMap";

/// What the manifest of a step is.
#[derive(Debug, Clone, PartialEq)]
pub enum Manifest {
    /// The object itself.
    Inline(Value),
    /// A part of a bundle image.
    Bundle(BundleReference),
    /// What OLM unpacked into a ConfigMap.
    ConfigMap(ConfigMapReference),
}

/// A part of a bundle image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleReference {
    /// The image, by digest.
    pub image: String,
    /// Which part of it.
    pub part: Part,
}

/// A part of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The CSV.
    Csv(CsvAdditions),
    /// One of the other objects, by its position.
    Object(usize),
    /// Something that follows from the permissions of the CSV.
    Rbac,
}

/// What is known of a CSV that its bundle does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsvAdditions {
    /// The installed CSV that it replaces. Without it the bundle's word counts.
    pub replaces: Option<String>,
    /// Value of the annotation `operatorframework.io/properties`; empty for none.
    pub properties: String,
}

/// A ConfigMap that OLM unpacked a bundle into, as OLM writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapReference {
    kind: String,
    /// The name of the ConfigMap.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The CatalogSource of the bundle.
    pub catalog_source_name: String,
    /// The namespace of the CatalogSource.
    pub catalog_source_namespace: String,
    /// The CSV that the one of the bundle replaces; may be empty.
    pub replaces: String,
    /// Value of the annotation `operatorframework.io/properties`; may be empty.
    pub properties: String,
}

/// Why the manifest of a step cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// It is no JSON.
    #[error(
        "the manifest of step {kind} {name} cannot be read: {problem}; delete the InstallPlan, and a new one will be made"
    )]
    Unreadable {
        /// The kind of the step.
        kind: String,
        /// Its name.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

/// How a reference to a bundle is written.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    kind: String,
    image: String,
    part: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaces: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    properties: String,
}

impl Manifest {
    /// What the manifest of a step is.
    pub fn of(step: &Step) -> Result<Self, ManifestError> {
        Self::read(&step.resource.manifest).map_err(|problem| ManifestError::Unreadable {
            kind: step.resource.kind.clone(),
            name: step.resource.name.clone(),
            problem,
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !value.is_object() {
            return Err("expected an object".to_owned());
        }
        if value.get("apiVersion").is_some() {
            return Ok(Self::Inline(value));
        }
        match value.get("kind").and_then(Value::as_str) {
            Some(BUNDLE) => {
                let written = Written::deserialize(&value).map_err(|error| error.to_string())?;
                written.understand().map(Self::Bundle)
            }
            Some(CONFIG_MAP) => Ok(match ConfigMapReference::deserialize(&value) {
                Ok(reference) if reference.is_complete() => Self::ConfigMap(reference),
                _ => Self::Inline(value),
            }),
            _ => Ok(Self::Inline(value)),
        }
    }

    /// The manifest as text.
    pub fn write(&self) -> String {
        let json = match self {
            Self::Inline(value) => serde_json::to_string(value),
            Self::Bundle(reference) => serde_json::to_string(&Written::from(reference)),
            Self::ConfigMap(reference) => serde_json::to_string(reference),
        };
        // Texts and numbers under texts: writing them does not fail.
        json.unwrap_or_default()
    }

    /// The bundle image that is needed to have the object.
    pub fn image(&self) -> Option<&str> {
        match self {
            Self::Bundle(reference) => Some(&reference.image),
            Self::Inline(_) | Self::ConfigMap(_) => None,
        }
    }
}

impl ConfigMapReference {
    fn is_complete(&self) -> bool {
        let Self {
            name,
            namespace,
            catalog_source_name,
            catalog_source_namespace,
            ..
        } = self;
        [
            name,
            namespace,
            catalog_source_name,
            catalog_source_namespace,
        ]
        .iter()
        .all(|text| !text.is_empty())
    }
}

impl Written {
    fn understand(self) -> Result<BundleReference, String> {
        if self.image.is_empty() {
            return Err("the reference to a bundle names no image".to_owned());
        }
        let part = match (self.part.as_str(), self.index) {
            ("csv", _) => Part::Csv(CsvAdditions {
                replaces: self.replaces,
                properties: self.properties,
            }),
            ("object", Some(index)) => Part::Object(index),
            ("object", None) => {
                return Err("the reference to an object of a bundle has no index".to_owned());
            }
            ("rbac", _) => Part::Rbac,
            (part, _) => {
                return Err(format!(
                    "a bundle has no part {part:?}: expected csv, object or rbac"
                ));
            }
        };
        Ok(BundleReference {
            image: self.image,
            part,
        })
    }
}

impl From<&BundleReference> for Written {
    fn from(reference: &BundleReference) -> Self {
        let mut written = Self {
            kind: BUNDLE.to_owned(),
            image: reference.image.clone(),
            part: String::new(),
            index: None,
            replaces: None,
            properties: String::new(),
        };
        match &reference.part {
            Part::Csv(additions) => {
                "csv".clone_into(&mut written.part);
                written.replaces.clone_from(&additions.replaces);
                written.properties.clone_from(&additions.properties);
            }
            Part::Object(index) => {
                "object".clone_into(&mut written.part);
                written.index = Some(*index);
            }
            Part::Rbac => "rbac".clone_into(&mut written.part),
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    const IMAGE: &str = "quay.io/harbor/bundle@sha256:0123";

    fn part() -> impl Strategy<Value = Part> {
        let additions = (any::<Option<String>>(), any::<String>());
        prop_oneof![
            Just(Part::Rbac),
            any::<usize>().prop_map(Part::Object),
            additions.prop_map(|(replaces, properties)| Part::Csv(CsvAdditions {
                replaces,
                properties
            })),
        ]
    }

    proptest! {
        #[test]
        fn a_reference_says_the_same_after_it_was_written(image in ".+", part in part()) {
            let manifest = Manifest::Bundle(BundleReference { image, part });
            prop_assert_eq!(Manifest::read(&manifest.write()).unwrap(), manifest);
        }
    }

    #[test]
    fn a_reference_to_an_object_is_short() {
        let part = Part::Object(3);
        let reference = BundleReference {
            image: IMAGE.to_owned(),
            part,
        };
        assert_eq!(
            Manifest::Bundle(reference).write(),
            format!(r#"{{"kind":"Bundle","image":"{IMAGE}","part":"object","index":3}}"#)
        );
    }

    #[test]
    fn what_olm_unpacked_is_found_by_its_own_reference() {
        let text = r#"{"kind":"ConfigMap","name":"a1","namespace":"olm","catalogSourceName":"hub","catalogSourceNamespace":"olm","replaces":"ship.v1","properties":"{}"}"#;
        let Manifest::ConfigMap(reference) = Manifest::read(text).unwrap() else {
            panic!("{text} is a reference");
        };
        assert_eq!(
            (reference.name.as_str(), reference.replaces.as_str()),
            ("a1", "ship.v1")
        );
        assert_eq!(Manifest::ConfigMap(reference).write(), text);
    }

    #[rstest]
    #[case(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))]
    #[case(json!({"apiVersion": "apps.io/v1", "kind": "Bundle", "image": "x", "part": "rbac"}))]
    #[case(json!({"kind": "ConfigMap", "name": "a", "namespace": "b"}))]
    fn an_object_is_no_reference(#[case] object: Value) {
        let manifest = Manifest::read(&object.to_string()).unwrap();
        assert_eq!(manifest, Manifest::Inline(object));
    }

    #[rstest]
    #[case("", "EOF")]
    #[case("[]", "expected an object")]
    #[case(r#"{"kind":"Bundle","image":"","part":"csv"}"#, "names no image")]
    #[case(r#"{"kind":"Bundle","image":"a","part":"object"}"#, "has no index")]
    #[case(
        r#"{"kind":"Bundle","image":"a","part":"wheel"}"#,
        "expected csv, object or rbac"
    )]
    fn what_cannot_be_a_manifest_is_refused_in_words(#[case] text: &str, #[case] words: &str) {
        let problem = Manifest::read(text).unwrap_err();
        assert!(problem.contains(words), "{problem}");
    }
}
