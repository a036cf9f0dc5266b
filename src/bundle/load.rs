//! From files to a bundle.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::metadata::{Metadata, annotation, channels, labels, says_something};
use super::{Bundle, Csv, Error, FileTree, Object, Warning, apis, go, manifests, metadata};
use crate::api::cluster_service_version::ClusterServiceVersionSpec;
use crate::yaml;

const MANIFESTS: &str = "manifests/";
const METADATA: &str = "metadata/";

/// Reads a bundle from files such as `manifests/x.yaml` and `metadata/annotations.yaml`.
pub fn load(tree: &FileTree) -> Result<Bundle, Error> {
    load_with_labels(tree, &BTreeMap::new())
}

/// Reads a bundle from the files of an image. Where the files have no annotations, the labels of
/// the image stand in.
pub fn load_with_labels(
    tree: &FileTree,
    image_labels: &BTreeMap<String, String>,
) -> Result<Bundle, Error> {
    let mut warnings = Vec::new();
    let metadata_folder = folder_of(tree, annotation(image_labels, labels::METADATA), METADATA);
    let mut found = metadata::read(tree, &metadata_folder, &mut warnings);
    if found.annotations.is_none() && says_something(image_labels) {
        found.annotations = Some(("image labels".to_owned(), image_labels.clone()));
    }
    let Some((file, annotations)) = &found.annotations else {
        return Err(Error::NoAnnotations {
            folder: metadata_folder,
        });
    };
    if annotation(annotations, labels::PACKAGE).is_empty() {
        return Err(Error::NoPackage { file: file.clone() });
    }
    let manifests_folder = folder_of(tree, annotation(annotations, labels::MANIFESTS), MANIFESTS);
    let objects = manifests::read(tree, &manifests_folder, &mut warnings);
    assemble(tree, &manifests_folder, objects, found, warnings)
}

/// The folder that an annotation names, if there is one of that name, and else the usual one.
fn folder_of(tree: &FileTree, named: &str, usual: &str) -> String {
    let named = named.trim_start_matches("./").trim_matches('/');
    let folder = format!("{named}/");
    let first = tree.range(folder.clone()..).next();
    let is_there = first.is_some_and(|(path, _)| path.starts_with(&folder));
    if !named.is_empty() && is_there {
        folder
    } else {
        usual.to_owned()
    }
}

/// Makes a bundle of objects and metadata, whatever layout they come from.
pub(super) fn assemble(
    tree: &FileTree,
    folder: &str,
    mut objects: Vec<Object>,
    metadata: Metadata,
    mut warnings: Vec<Warning>,
) -> Result<Bundle, Error> {
    let is_csv = |object: &Object| object.kind() == "ClusterServiceVersion";
    let Some(first) = objects.iter().position(is_csv) else {
        return Err(Error::NoCsv {
            folder: folder.to_owned(),
            warnings,
        });
    };
    let csv_object = objects.remove(first);
    for other in objects.iter().filter(|object| is_csv(object)) {
        let problem = format!(
            "is ignored: {} is already the ClusterServiceVersion",
            csv_object.file
        );
        warnings.push(Warning::new(&other.file, problem));
    }
    objects.retain(|object| !is_csv(object));
    if csv_object.api_version() != "operators.coreos.com/v1alpha1" {
        let problem = format!(
            "expected `apiVersion: operators.coreos.com/v1alpha1`, found `{}`",
            csv_object.api_version()
        );
        warnings.push(Warning::new(&csv_object.file, problem));
    }

    let (csv, name) = read_csv(tree, csv_object)?;
    let provided_apis = apis::provided(&csv, &objects)?;
    let required_apis = apis::required(&csv)?;
    let annotations = metadata
        .annotations
        .map_or_else(BTreeMap::new, |(_, annotations)| annotations);
    Ok(Bundle {
        name,
        package: annotation(&annotations, labels::PACKAGE).to_owned(),
        version: csv.spec.version.clone(),
        release: csv.spec.release.clone(),
        channels: channels(&annotations),
        default_channel: annotation(&annotations, labels::DEFAULT_CHANNEL).to_owned(),
        annotations,
        csv,
        objects,
        dependencies: metadata.dependencies.unwrap_or_default(),
        properties: metadata.properties.unwrap_or_default(),
        provided_apis,
        required_apis,
        warnings,
    })
}

/// The part of an object's metadata that we need.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ObjectMeta {
    name: Option<String>,
    annotations: Option<BTreeMap<String, Option<String>>>,
    labels: Option<BTreeMap<String, Option<String>>>,
}

/// The typed form and the name of a `ClusterServiceVersion`.
fn read_csv(tree: &FileTree, object: Object) -> Result<(Csv, String), Error> {
    let Object { file, value } = object;
    let meta: ObjectMeta = part(tree, &file, &value, "metadata")?;
    let spec: ClusterServiceVersionSpec = match value.get("spec") {
        Some(Value::Object(_)) => {
            let mut value = value.clone();
            release_as_text(&mut value);
            part(tree, &file, &value, "spec")?
        }
        _ => return Err(csv_error(&file, "spec", "expected the spec of an operator")),
    };
    let name = meta.name.unwrap_or_default();
    if name.is_empty() {
        return Err(csv_error(&file, "metadata.name", "expected a name"));
    }
    let texts = |map: Option<BTreeMap<String, Option<String>>>| {
        let entries = map.unwrap_or_default().into_iter();
        entries
            .map(|(key, value)| (key, value.unwrap_or_default()))
            .collect()
    };
    let csv = Csv {
        annotations: texts(meta.annotations),
        labels: texts(meta.labels),
        file,
        value,
        spec,
    };
    Ok((csv, name))
}

/// A release may be a number.
fn release_as_text(csv: &mut Value) {
    if let Some(release) = csv.pointer_mut("/spec/release")
        && release.is_number()
    {
        *release = Value::String(release.to_string());
    }
}

/// Reads a part of an object. What does not fit is told with its line if that can be found.
fn part<T: serde::de::DeserializeOwned + Default>(
    tree: &FileTree,
    file: &str,
    object: &Value,
    key: &str,
) -> Result<T, Error> {
    let Some(value) = go::get(object, key).filter(|value| !value.is_null()) else {
        return Ok(T::default());
    };
    go::decode(value).map_err(|mismatch| {
        let path = mismatch.path();
        let path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{key}.{path}")
        };
        line_of::<T>(tree, file, key).unwrap_or(Error::Object {
            file: file.to_owned(),
            path,
            problem: mismatch.problem,
        })
    })
}

/// The error that reading the text again gives, because that one knows the line.
fn line_of<T: serde::de::DeserializeOwned>(
    tree: &FileTree,
    file: &str,
    key: &str,
) -> Option<Error> {
    let text = std::str::from_utf8(tree.get(file)?).ok()?;
    let document = yaml::documents(file, text).next()?.ok()?;
    let error = if key == "spec" {
        document.decode::<OnlySpec<T>>().err()
    } else {
        document.decode::<OnlyMetadata<T>>().err()
    };
    error.map(Error::Yaml)
}

#[derive(Deserialize)]
struct OnlySpec<T> {
    #[expect(dead_code, reason = "only read for the error that it gives")]
    spec: T,
}

#[derive(Deserialize)]
struct OnlyMetadata<T> {
    #[expect(dead_code, reason = "only read for the error that it gives")]
    metadata: T,
}

fn csv_error(file: &str, path: &str, problem: &str) -> Error {
    Error::Object {
        file: file.to_owned(),
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}
