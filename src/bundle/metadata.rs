//! The folder `metadata/`: where a bundle belongs, what it needs, what it is.
//!
//! The names of the files mean nothing. Each file is tried as annotations, as dependencies and as
//! properties, and the first that says anything counts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::go;
use super::manifests::first_document;
use super::{FileTree, Property, Warning};

/// The annotations of a bundle, which are also labels of its image.
pub mod labels {
    /// What kind of bundle it is: `registry+v1`, `plain` or `helm`.
    pub const MEDIA_TYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
    /// The folder of the manifests, `manifests/`.
    pub const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";
    /// The folder of the annotations, `metadata/`.
    pub const METADATA: &str = "operators.operatorframework.io.bundle.metadata.v1";
    /// The package.
    pub const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
    /// The channels, with commas between them.
    pub const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
    /// The channel that the package has as default.
    pub const DEFAULT_CHANNEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";
}

/// What the folder says.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// The annotations and the file they are in.
    pub(super) annotations: Option<(String, BTreeMap<String, String>)>,
    pub(super) dependencies: Option<Vec<Property>>,
    pub(super) properties: Option<Vec<Property>>,
}

pub(super) fn read(tree: &FileTree, folder: &str, warnings: &mut Vec<Warning>) -> Metadata {
    let mut metadata = Metadata::default();
    for (path, content) in tree.range(folder.to_owned()..) {
        let Some(name) = path.strip_prefix(folder) else {
            break;
        };
        if name.contains('/') {
            continue;
        }
        if let Some(document) = first_document(path, content, warnings) {
            metadata.take(path, &document, warnings);
        }
    }
    metadata
}

impl Metadata {
    fn take(&mut self, path: &str, document: &Value, warnings: &mut Vec<Warning>) {
        let annotations = annotations(path, document, warnings);
        let dependencies = properties(path, document, "dependencies", warnings);
        let properties = properties(path, document, "properties", warnings);
        if annotations.is_none() && dependencies.is_none() && properties.is_none() {
            let problem = "is ignored: it holds neither `annotations` nor `dependencies` nor \
                           `properties`";
            warnings.push(Warning::new(path, problem));
        }
        if let Some(annotations) = annotations.filter(says_something) {
            self.annotations
                .get_or_insert_with(|| (path.to_owned(), annotations));
        }
        if let Some(dependencies) = dependencies.filter(|list| !list.is_empty()) {
            self.dependencies.get_or_insert(dependencies);
        }
        if let Some(properties) = properties.filter(|list| !list.is_empty()) {
            self.properties.get_or_insert(properties);
        }
    }
}

/// Whether these are annotations of a bundle.
pub(super) fn says_something(annotations: &BTreeMap<String, String>) -> bool {
    [labels::PACKAGE, labels::CHANNELS, labels::DEFAULT_CHANNEL]
        .iter()
        .any(|key| !annotation(annotations, key).is_empty())
}

/// An annotation, whose name may be in any case. Nothing is the same as an empty text.
pub(super) fn annotation<'a>(annotations: &'a BTreeMap<String, String>, key: &str) -> &'a str {
    let exact = annotations.get(key);
    let folded = || {
        let mut others = annotations.iter().rev();
        others
            .find(|(other, _)| other.eq_ignore_ascii_case(key))
            .map(|(_, value)| value)
    };
    exact.or_else(folded).map_or("", String::as_str)
}

/// The channels of a list with commas. Blanks belong to the names, as they do for `opm`.
pub(super) fn channels(annotations: &BTreeMap<String, String>) -> Vec<String> {
    let list = annotation(annotations, labels::CHANNELS);
    if list.is_empty() {
        return Vec::new();
    }
    list.split(',').map(str::to_owned).collect()
}

fn annotations(
    path: &str,
    document: &Value,
    warnings: &mut Vec<Warning>,
) -> Option<BTreeMap<String, String>> {
    let entries = go::get(document, "annotations")?.as_object()?;
    let mut annotations = BTreeMap::new();
    for (key, value) in entries {
        match scalar(value) {
            Some(value) => {
                annotations.insert(key.clone(), value);
            }
            None => warnings.push(Warning::new(
                path,
                format!("annotations.{key} is ignored: expected a text"),
            )),
        }
    }
    Some(annotations)
}

fn properties(
    path: &str,
    document: &Value,
    key: &str,
    warnings: &mut Vec<Warning>,
) -> Option<Vec<Property>> {
    let list = match go::get(document, key)? {
        Value::Null => return None,
        Value::Array(items) => items.iter().map(property).collect(),
        _ => None,
    };
    if list.is_none() {
        let problem =
            format!("{key} is ignored: expected a list of objects with `type` and `value`");
        warnings.push(Warning::new(path, problem));
    }
    list
}

fn property(item: &Value) -> Option<Property> {
    item.as_object()?;
    let kind = match go::get(item, "type") {
        Some(kind) => scalar(kind)?,
        None => String::new(),
    };
    Some(Property {
        kind,
        value: go::get(item, "value").cloned().unwrap_or_default(),
    })
}

/// A text, or what stands for one where Go wants a text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}
