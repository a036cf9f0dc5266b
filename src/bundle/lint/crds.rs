//! CustomResourceDefinitions, and what the operator says of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Findings;
use crate::api::gvk::GroupVersionKind;
use crate::bundle::{Bundle, Object, text_at};

/// A version of a CustomResourceDefinition, of `v1` or `v1beta1`.
#[derive(Debug)]
pub(super) struct CrdVersion<'a> {
    pub(super) name: &'a str,
    pub(super) served: bool,
    pub(super) storage: bool,
    pub(super) schema: Option<&'a Value>,
}

/// The versions of a CustomResourceDefinition.
pub(super) fn versions(crd: &Value) -> Vec<CrdVersion<'_>> {
    let of_all = crd.pointer("/spec/validation/openAPIV3Schema");
    let list = crd.pointer("/spec/versions").and_then(Value::as_array);
    let mut found: Vec<CrdVersion<'_>> = list
        .into_iter()
        .flatten()
        .map(|version| CrdVersion {
            name: text_at(version, "/name"),
            served: version
                .get("served")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            storage: version
                .get("storage")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            schema: version.pointer("/schema/openAPIV3Schema").or(of_all),
        })
        .collect();
    let single = text_at(crd, "/spec/version");
    if found.is_empty() && !single.is_empty() {
        found.push(CrdVersion {
            name: single,
            served: true,
            storage: true,
            schema: of_all,
        });
    }
    found
}

pub(super) fn check(bundle: &Bundle, findings: &mut Findings) {
    let mut shipped: BTreeMap<GroupVersionKind, &Object> = BTreeMap::new();
    for object in bundle.objects.iter().filter(|object| object.is_crd()) {
        shape(object, findings);
        let group = text_at(&object.value, "/spec/group");
        let kind = text_at(&object.value, "/spec/names/kind");
        for version in versions(&object.value) {
            let api = GroupVersionKind::new(group, version.name, kind);
            if let Some(other) = shipped.insert(api.clone(), object) {
                let message = format!("{api} is also in {}", other.file);
                let place = (object.file.as_str(), "spec.versions");
                findings.error("crd-twice", place, message, "keep one of them");
            }
        }
    }
    let owned: BTreeSet<(&str, &str)> = bundle
        .csv
        .spec
        .custom_resource_definitions
        .owned
        .iter()
        .map(|crd| (crd.group(), crd.kind.as_str()))
        .collect();
    let not_owned: BTreeMap<&str, &GroupVersionKind> = shipped
        .iter()
        .filter(|(api, _)| !owned.contains(&(api.group.as_str(), api.kind.as_str())))
        .map(|(api, object)| (object.file.as_str(), api))
        .collect();
    for (file, api) in not_owned {
        let message = format!("{}.{} is not owned by the operator", api.kind, api.group);
        let advice = "add it to spec.customresourcedefinitions.owned of the ClusterServiceVersion";
        findings.error("crd-not-owned", (file, ""), message, advice);
    }
}

/// What the API server would refuse.
fn shape(object: &Object, findings: &mut Findings) {
    let crd = &object.value;
    let file = object.file.as_str();
    let plural = text_at(crd, "/spec/names/plural");
    let expected = format!("{plural}.{}", text_at(crd, "/spec/group"));
    if object.name() != expected {
        let message = format!("expected `{expected}`, found `{}`", object.name());
        let advice = "name it after its plural name and its group";
        findings.error("crd-shape", (file, "metadata.name"), message, advice);
    }
    let found = versions(crd);
    let place = (file, "spec.versions");
    let names: BTreeSet<&str> = found.iter().map(|version| version.name).collect();
    if found.is_empty() {
        findings.error("crd-shape", place, "there are none", "add one");
        return;
    }
    if names.len() < found.len() {
        findings.error("crd-shape", place, "a name is there twice", "remove one");
    }
    let stored = found.iter().filter(|version| version.storage).count();
    if stored != 1 {
        let message = format!("{stored} versions have `storage: true`, expected one");
        findings.error("crd-shape", place, message, "store exactly one version");
    }
    if !["Namespaced", "Cluster"].contains(&text_at(crd, "/spec/scope"))
        && object.api_version().ends_with("/v1")
    {
        let advice = "write `Namespaced` or `Cluster`";
        findings.error(
            "crd-shape",
            (file, "spec.scope"),
            "it is neither of the two scopes",
            advice,
        );
    }
    for version in found.iter().filter(|version| version.schema.is_none()) {
        if object.api_version().ends_with("/v1") {
            let message = format!("version {} has no schema", version.name);
            findings.error("crd-shape", place, message, "add schema.openAPIV3Schema");
        }
    }
}
