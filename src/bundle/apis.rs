//! The APIs that a bundle provides and needs.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};

use super::{Csv, Error, Object, go};
use crate::api::cluster_service_version::apis::CrdDescription;
use crate::api::gvk::GroupVersionKind;

/// The part of a CustomResourceDefinition, of `v1` or `v1beta1`, that names APIs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Crd {
    #[serde(deserialize_with = "or_default")]
    spec: CrdSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CrdSpec {
    #[serde(deserialize_with = "or_default")]
    group: String,
    #[serde(deserialize_with = "or_default")]
    names: CrdNames,
    #[serde(deserialize_with = "or_default")]
    versions: Vec<CrdVersion>,
    /// Only in `v1beta1`, where it may stand alone.
    #[serde(deserialize_with = "or_default")]
    version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CrdNames {
    #[serde(deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    plural: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CrdVersion {
    #[serde(deserialize_with = "or_default")]
    name: String,
}

fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// An API with the name of its resources.
type Key = (GroupVersionKind, String);

/// What the bundle provides. An API that its operator owns must be among its
/// CustomResourceDefinitions.
pub(super) fn provided(csv: &Csv, objects: &[Object]) -> Result<BTreeSet<GroupVersionKind>, Error> {
    let mut keys: BTreeSet<Key> = BTreeSet::new();
    for object in objects.iter().filter(|object| object.is_crd()) {
        keys.extend(of_crd(object)?);
    }
    for owned in &csv.spec.custom_resource_definitions.owned {
        let key = of_description(csv, "owned", owned)?;
        if !keys.contains(&key) {
            return Err(Error::OwnedNotShipped {
                file: csv.file.clone(),
                api: format!("{} ({})", key.0, key.1),
            });
        }
    }
    let owned = &csv.spec.api_service_definitions.owned;
    let mut provided: BTreeSet<_> = keys.into_iter().map(|(api, _)| api).collect();
    provided.extend(
        owned
            .iter()
            .map(|api| GroupVersionKind::new(&api.group, &api.version, &api.kind)),
    );
    Ok(provided)
}

/// What the operator says it needs.
pub(super) fn required(csv: &Csv) -> Result<BTreeSet<GroupVersionKind>, Error> {
    let mut apis = BTreeSet::new();
    for required in &csv.spec.custom_resource_definitions.required {
        apis.insert(of_description(csv, "required", required)?.0);
    }
    for api in &csv.spec.api_service_definitions.required {
        apis.insert(GroupVersionKind::new(&api.group, &api.version, &api.kind));
    }
    Ok(apis)
}

fn of_crd(object: &Object) -> Result<Vec<Key>, Error> {
    let crd: Crd = go::decode(&object.value).map_err(|mismatch| Error::Object {
        file: object.file.clone(),
        path: mismatch.path(),
        problem: mismatch.problem,
    })?;
    let spec = crd.spec;
    let key = |version: &str| {
        let api = GroupVersionKind::new(&spec.group, version, &spec.names.kind);
        (api, spec.names.plural.clone())
    };
    let mut keys: Vec<Key> = spec.versions.iter().map(|v| key(&v.name)).collect();
    if object.api_version().ends_with("v1beta1") && !spec.version.is_empty() {
        keys.push(key(&spec.version));
    }
    Ok(keys)
}

fn of_description(csv: &Csv, list: &str, crd: &CrdDescription) -> Result<Key, Error> {
    if !crd.name.contains('.') {
        return Err(Error::Object {
            file: csv.file.clone(),
            path: format!("spec.customresourcedefinitions.{list}"),
            problem: format!(
                "expected the name of a CustomResourceDefinition such as `plural.group`, found `{}`",
                crd.name
            ),
        });
    }
    let api = GroupVersionKind::new(crd.group(), &crd.version, &crd.kind);
    Ok((api, crd.plural().to_owned()))
}
