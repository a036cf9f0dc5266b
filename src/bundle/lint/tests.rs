//! One mistake at a time, in a bundle that is otherwise without fault.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::bundle::{FileTree, labels, load};

/// The files of a bundle as JSON.
struct Files {
    csv: Value,
    crd: Value,
    annotations: Value,
    more: Vec<Value>,
    metadata: Vec<Value>,
}

fn sound() -> Files {
    let annotations = json!({ "annotations": {
        labels::MEDIA_TYPE: "registry+v1", labels::MANIFESTS: "manifests/",
        labels::METADATA: "metadata/", labels::PACKAGE: "gopher",
        labels::CHANNELS: "stable", labels::DEFAULT_CHANNEL: "stable",
    } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "burrows.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Burrow", "plural": "burrows" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": {
                    "type": "object",
                    "required": ["size"],
                    "properties": {
                        "size": { "type": "integer", "minimum": 1, "maximum": 9 },
                        "colour": { "type": "string", "enum": ["brown", "black"] },
                        "name": { "type": "string", "maxLength": 20, "nullable": true },
                        "rooms": { "type": "array", "items": { "type": "object", "properties": {
                            "door": { "type": "string" } } } },
                        "notes": { "type": "object", "additionalProperties": { "type": "string" } },
                    },
                } } } },
            }],
        },
    });
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": { "name": "gopher.v1.0.0", "annotations": {
            "capabilities": "Basic Install", "categories": "Networking, Storage",
            "alm-examples": r#"[{"apiVersion": "example.com/v1", "kind": "Burrow"}]"#,
        } },
        "spec": {
            "displayName": "Gopher", "version": "1.0.0", "minKubeVersion": "1.25.0",
            "provider": { "name": "Gophers" },
            "maintainers": [{ "name": "Gopher", "email": "gopher@example.com" }],
            "links": [{ "name": "Home", "url": "https://example.com" }],
            "icon": [{ "base64data": "Z29waGVy", "mediatype": "image/png" }],
            "installModes": [{ "type": "AllNamespaces", "supported": true }],
            "customresourcedefinitions": { "owned": [
                { "name": "burrows.example.com", "version": "v1", "kind": "Burrow", "description": "A home" },
            ] },
            "install": { "strategy": "deployment", "spec": {
                "permissions": [{ "serviceAccountName": "gopher", "rules": [
                    { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] },
                ] }],
                "clusterPermissions": [{ "serviceAccountName": "gopher", "rules": [
                    { "apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"] },
                    { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["own"], "verbs": ["get"] },
                    { "nonResourceURLs": ["/metrics/*"], "verbs": ["get"] },
                ] }],
                "deployments": [{ "name": "gopher", "spec": { "template": { "spec": {
                    "serviceAccountName": "gopher",
                    "containers": [{
                        "name": "gopher", "image": "registry.example.com/gopher@sha256:0123",
                        "resources": { "requests": { "cpu": "1", "memory": "1Mi" } },
                    }],
                } } } }],
            } },
        },
    });
    Files {
        csv,
        crd,
        annotations,
        more: Vec::new(),
        metadata: Vec::new(),
    }
}

fn bundle(files: &Files) -> Bundle {
    let mut tree = FileTree::new();
    let mut put = |path: String, value: &Value| tree.insert(path, value.to_string().into_bytes());
    put("manifests/csv.json".to_owned(), &files.csv);
    put("manifests/crd.json".to_owned(), &files.crd);
    put("metadata/annotations.json".to_owned(), &files.annotations);
    for (index, object) in files.more.iter().enumerate() {
        put(format!("manifests/more{index}.json"), object);
    }
    for (index, file) in files.metadata.iter().enumerate() {
        put(format!("metadata/more{index}.json"), file);
    }
    load(&tree).unwrap()
}

fn shown(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| format!("{} {}", finding.severity, finding.rule))
        .collect()
}

/// Sets the value at a JSON pointer whose parent is there; null removes it.
fn set(value: &mut Value, pointer: &str, new: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    match value.pointer_mut(parent).unwrap() {
        Value::Object(fields) if new.is_null() => {
            fields.shift_remove(&key);
        }
        Value::Object(fields) => {
            fields.insert(key, new);
        }
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = new,
        other => panic!("{other} has no parts"),
    }
}

#[test]
fn a_sound_bundle_has_no_findings() {
    assert_eq!(lint(&bundle(&sound())), []);
}

#[rstest]
#[case("/metadata/name", json!("Gopher.v1.0.0"), &["error csv-name"])]
#[case("/metadata/name", json!("gopher"), &["warning bundle-name"])]
#[case("/spec/replaces", json!("gopher_0"), &["error csv-name"])]
#[case("/spec/replaces", json!("gopher.v1.0.0"), &["error replaces"])]
#[case("/spec/release", json!("2"), &["error csv-name"])]
#[case("/apiVersion", json!("v1"), &["warning file"])]
#[case("/spec/displayName", json!(null), &["error csv-field"])]
#[case("/spec/install/strategy", json!("helm"), &["error csv-field"])]
#[case("/spec/version", json!("1.0"), &["error version", "warning bundle-name"])]
#[case("/spec/minKubeVersion", json!(null), &["warning min-kube-version"])]
#[case("/spec/minKubeVersion", json!("v1.25"), &["error min-kube-version"])]
#[case("/spec/installModes", json!([]), &["error install-modes"])]
#[case("/spec/installModes/0/supported", json!(false), &["error install-modes"])]
#[case("/spec/webhookdefinitions", json!([{ "conversionCRDs": ["x"] }]), &[])]
#[case("/metadata/annotations/olm.skiprange", json!("<1.0.0"), &["error annotation-case"])]
#[case("/metadata/annotations/olm.skipRanges", json!("<1.0.0"), &["warning annotation-name"])]
#[case("/metadata/annotations/olm.skipRange", json!("1 to 2"), &["error skip-range"])]
#[case("/metadata/annotations/olm.skipRange", json!(">=0.1.0"), &["warning skip-range"])]
#[case("/metadata/annotations/olm.properties", json!("[]"), &["warning olm-properties"])]
#[case("/metadata/annotations/alm-examples", json!(null), &["warning examples"])]
#[case("/metadata/annotations/alm-examples", json!("[{]"), &["error examples"])]
#[case("/metadata/annotations/alm-examples", json!(r#"[{"kind": "X"}]"#), &["error examples", "warning examples"])]
#[case("/metadata/annotations/capabilities", json!("Flying"), &["error capabilities"])]
#[case("/metadata/annotations/categories", json!("Networking,Gardening"), &["error categories"])]
#[case("/spec/relatedImages", json!([{ "name": "a", "image": "" }]), &["error related-image"])]
#[case("/spec/relatedImages", json!([{ "name": "a", "image": "x:1" }]), &["warning image-not-pinned"])]
#[case("/spec/provider/name", json!(""), &["error hub-provider"])]
#[case("/spec/maintainers/0/email", json!("gopher"), &["error hub-maintainer"])]
#[case("/spec/links/0/url", json!("example"), &["error hub-link"])]
#[case("/spec/icon", json!(null), &["warning hub-icon"])]
#[case("/spec/icon/0/mediatype", json!("image/bmp"), &["error hub-icon"])]
#[case("/spec/customresourcedefinitions/owned/0/description", json!(null), &["warning crd-description"])]
#[case("/spec/customresourcedefinitions", json!({}), &["error examples", "error crd-not-owned"])]
#[case(
    "/spec/install/spec/deployments/0/spec/template/spec/containers/0/resources",
    json!({}),
    &["warning resource-requests"]
)]
#[case(
    "/spec/install/spec/clusterPermissions/0/rules/0/apiGroups",
    json!(["apiextensions.k8s.io"]),
    &["warning makes-crds"]
)]
#[case("/spec/install/spec/deployments", json!([]), &["error csv-field"])]
fn a_mistake_in_the_csv_is_found(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] expected: &[&str],
) {
    let mut files = sound();
    set(&mut files.csv, pointer, value);
    let findings = lint(&bundle(&files));
    assert_eq!(shown(&findings), expected, "{findings:#?}");
}

#[rstest]
#[case(labels::MEDIA_TYPE, json!("plain"), &["error annotation"])]
#[case(labels::CHANNELS, json!(null), &["error annotation"])]
#[case(labels::CHANNELS, json!("stable, fast"), &["error annotation"])]
#[case(labels::CHANNELS, json!("stable,alpha"), &["warning channel-name"])]
#[case(labels::DEFAULT_CHANNEL, json!(""), &["error annotation"])]
fn a_mistake_in_the_annotations_is_found(
    #[case] key: &str,
    #[case] value: Value,
    #[case] expected: &[&str],
) {
    let mut files = sound();
    set(
        &mut files.annotations,
        &format!("/annotations/{key}"),
        value,
    );
    assert_eq!(shown(&lint(&bundle(&files))), expected);
}

#[rstest]
#[case(json!({ "type": "olm.package", "value": { "packageName": "a", "version": ">=1.0.0" } }), &[])]
#[case(json!({ "type": "olm.package", "value": { "packageName": "a", "version": "^1.0.0" } }), &["error dependency"])]
#[case(json!({ "type": "olm.package", "value": { "packageName": "a" } }), &["error dependency"])]
#[case(json!({ "type": "olm.gvk", "value": { "group": "a", "kind": "B" } }), &["error dependency"])]
#[case(json!({ "type": "olm.else", "value": 1 }), &["error dependency"])]
fn a_mistake_in_a_dependency_is_found(#[case] dependency: Value, #[case] expected: &[&str]) {
    let mut files = sound();
    files.metadata.push(json!({ "dependencies": [dependency] }));
    assert_eq!(shown(&lint(&bundle(&files))), expected);
}

#[rstest]
#[case(json!({ "apiVersion": "apps/v1", "kind": "Deployment" }), &["error kind"])]
#[case(json!({ "kind": "ClusterRole" }), &["error api-version"])]
#[case(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "gopher" } }), &["error service-account"])]
#[case(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "other" } }), &[])]
#[case(json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": { "maxUnavailable": 0 } }), &["error disruption-budget"])]
#[case(json!({ "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": { "maxUnavailable": 1 } }), &["error removed-api"])]
#[case(json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "globalDefault": true }), &["error priority-class"])]
fn a_mistake_in_another_object_is_found(#[case] object: Value, #[case] expected: &[&str]) {
    let mut files = sound();
    files.more.push(object);
    assert_eq!(shown(&lint(&bundle(&files))), expected);
}

#[test]
fn two_objects_of_one_kind_and_name_are_found() {
    let config = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let mut files = sound();
    files.more = vec![config("burrow"), config("tunnel"), config("burrow")];
    let findings = lint(&bundle(&files));
    assert_eq!(shown(&findings), ["warning twins"]);
    let said = findings[0].to_string();
    assert!(said.contains("ConfigMap `burrow` is also in"), "{said}");
}

#[rstest]
#[case("/metadata/name", json!("burrow"), &["error crd-shape"])]
#[case("/spec/versions/0/storage", json!(false), &["error crd-shape"])]
#[case("/spec/versions/0/schema", json!(null), &["error crd-shape"])]
#[case("/spec/scope", json!("Everywhere"), &["error crd-shape"])]
#[case("/apiVersion", json!("apiextensions.k8s.io/v1beta1"), &["error removed-api"])]
fn a_mistake_in_a_crd_is_found(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] expected: &[&str],
) {
    let mut files = sound();
    set(&mut files.crd, pointer, value);
    assert_eq!(shown(&lint(&bundle(&files))), expected);
}

#[test]
fn a_removed_api_is_no_error_while_older_clusters_are_supported() {
    let mut files = sound();
    set(
        &mut files.crd,
        "/apiVersion",
        json!("apiextensions.k8s.io/v1beta1"),
    );
    set(&mut files.csv, "/spec/minKubeVersion", json!("1.16.0"));
    assert_eq!(shown(&lint(&bundle(&files))), ["warning removed-api"]);
}

/// The next version of the sound bundle.
fn next() -> Files {
    let mut files = sound();
    set(&mut files.csv, "/metadata/name", json!("gopher.v1.1.0"));
    set(&mut files.csv, "/spec/version", json!("1.1.0"));
    set(&mut files.csv, "/spec/replaces", json!("gopher.v1.0.0"));
    files
}

fn upgrade(new: &Files) -> Vec<Finding> {
    lint_upgrade(&bundle(&sound()), &bundle(new))
}

#[test]
fn an_upgrade_that_changes_nothing_has_no_findings() {
    assert_eq!(upgrade(&next()), []);
}

#[rstest]
#[case("/spec/replaces", json!("gopher.v0.9.0"), &["warning upgrade-unreachable"])]
#[case("/spec/version", json!("1.0.0"), &["error version-not-higher"])]
#[case("/metadata/name", json!("gopher.v1.0.0"), &["error name-taken"])]
fn an_upgrade_that_leads_nowhere_is_found(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] expected: &[&str],
) {
    let mut files = next();
    set(&mut files.csv, pointer, value);
    assert_eq!(shown(&upgrade(&files)), expected);
}

#[rstest]
#[case("/spec/skips", json!(["gopher.v1.0.0"]))]
#[case("/metadata/annotations/olm.skipRange", json!(">=1.0.0 <1.1.0"))]
fn skips_and_ranges_reach_the_version_before(#[case] pointer: &str, #[case] value: Value) {
    let mut files = next();
    set(&mut files.csv, "/spec/replaces", json!(null));
    set(&mut files.csv, pointer, value);
    assert_eq!(upgrade(&files), []);
}

const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";

#[rstest]
#[case("/properties/colour", json!(null), &["field-removed"], "v1 .spec.colour")]
#[case("/properties/size/type", json!("string"), &["field-retyped"], "v1 .spec.size")]
#[case("/properties/size/type", json!("number"), &[], "")]
#[case("/properties/size/minimum", json!(2), &["field-narrowed"], "v1 .spec.size")]
#[case("/properties/size/minimum", json!(0), &[], "")]
#[case("/properties/size/maximum", json!(8), &["field-narrowed"], "v1 .spec.size")]
#[case("/properties/size/maximum", json!(null), &[], "")]
#[case("/properties/name/minLength", json!(0), &[], "")]
#[case("/properties/name/pattern", json!("^a"), &["field-narrowed"], "v1 .spec.name")]
#[case("/properties/name/nullable", json!(null), &["field-narrowed"], "v1 .spec.name")]
#[case("/properties/name/enum", json!(["a"]), &["field-narrowed"], "v1 .spec.name")]
#[case("/properties/colour/enum", json!(["brown"]), &["field-narrowed"], "v1 .spec.colour")]
#[case("/properties/colour/enum", json!(["brown", "black", "white"]), &[], "")]
#[case("/properties/colour/enum", json!(null), &[], "")]
#[case("/required", json!(["size", "colour"]), &["field-required"], "v1 .spec.colour")]
#[case("/required", json!([]), &[], "")]
#[case("/properties/rooms/items/properties/door/type", json!("integer"), &["field-retyped"], "v1 .spec.rooms[].door")]
#[case("/properties/notes/additionalProperties/type", json!("integer"), &["field-retyped"], "v1 .spec.notes.*")]
#[case("/properties/new", json!({ "type": "string" }), &[], "")]
fn a_change_of_a_schema_that_breaks_objects_is_found(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] rules: &[&str],
    #[case] path: &str,
) {
    let mut files = next();
    set(&mut files.crd, &format!("{SPEC}{pointer}"), value);
    let findings = upgrade(&files);
    let found: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(found, rules, "{findings:#?}");
    for finding in findings {
        assert_eq!(finding.path, path);
        assert_eq!(finding.severity, Severity::Error);
    }
}

#[test]
fn a_new_required_field_with_a_default_breaks_nothing() {
    let mut files = next();
    set(
        &mut files.crd,
        &format!("{SPEC}/required"),
        json!(["size", "depth"]),
    );
    let depth = json!({ "type": "integer", "default": 1 });
    set(&mut files.crd, &format!("{SPEC}/properties/depth"), depth);
    assert_eq!(upgrade(&files), []);
}

#[test]
fn a_change_of_the_status_is_only_a_warning() {
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    let mut old = sound();
    let fields = json!({ "type": "object", "properties": { "phase": { "type": "string" } } });
    set(&mut old.crd, status, fields);
    let mut new = next();
    set(&mut new.crd, status, json!({ "type": "object" }));
    let findings = lint_upgrade(&bundle(&old), &bundle(&new));
    assert_eq!(shown(&findings), ["warning field-removed"]);
}

#[rstest]
#[case("/spec/versions/0/name", json!("v2"), "error crd-version-removed")]
#[case("/spec/versions/0/served", json!(false), "error crd-version-removed")]
#[case("/spec/scope", json!("Cluster"), "error crd-scope")]
fn a_version_or_scope_that_is_gone_is_found(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] expected: &str,
) {
    let mut files = next();
    if pointer.ends_with("name") {
        set(
            &mut files.csv,
            "/spec/customresourcedefinitions/owned/0/version",
            value.clone(),
        );
    }
    set(&mut files.crd, pointer, value);
    assert_eq!(shown(&upgrade(&files)), [expected]);
}

#[test]
fn a_crd_that_is_gone_is_found() {
    let mut files = next();
    set(&mut files.csv, "/spec/customresourcedefinitions", json!({}));
    files.crd = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    assert_eq!(shown(&upgrade(&files)), ["warning crd-removed"]);
}

#[rstest]
#[case("permissions", json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }), None)]
#[case("permissions", json!({ "apiGroups": ["example.com"], "resources": ["burrows/status"], "verbs": ["delete"] }), None)]
#[case("clusterPermissions", json!({ "nonResourceURLs": ["/metrics/a"], "verbs": ["get"] }), None)]
#[case("clusterPermissions", json!({ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["own"], "verbs": ["get"] }), None)]
#[case(
    "permissions",
    json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "delete"] }),
    Some("the operator may now delete, list secrets in its namespaces")
)]
#[case(
    "clusterPermissions",
    json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }),
    Some("the operator may now get secrets in the whole cluster")
)]
#[case(
    "clusterPermissions",
    json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }),
    Some("the operator may now get configmaps in the whole cluster")
)]
#[case(
    "clusterPermissions",
    json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }),
    Some("the operator may now do anything with all resources of all groups in the whole cluster")
)]
#[case(
    "clusterPermissions",
    json!({ "nonResourceURLs": ["/healthz"], "verbs": ["get"] }),
    Some("the operator may now get the path /healthz of the API server in the whole cluster")
)]
fn rights_that_grow_are_told_in_words(
    #[case] list: &str,
    #[case] rule: Value,
    #[case] expected: Option<&str>,
) {
    let mut files = next();
    let pointer = format!("/spec/install/spec/{list}/0/rules");
    let rules = files.csv.pointer_mut(&pointer).unwrap();
    rules.as_array_mut().unwrap().push(rule);
    let findings = upgrade(&files);
    let messages: Vec<&str> = findings
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(messages, expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn the_rights_of_a_role_that_the_bundle_binds_count() {
    let mut files = next();
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["create"] }]);
    files.more.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "digger" }, "rules": rules,
    }));
    assert_eq!(upgrade(&files), [], "nobody has the role");
    files.more.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "digger" },
        "roleRef": { "kind": "ClusterRole", "name": "digger" },
    }));
    assert_eq!(shown(&upgrade(&files)), ["warning rights-grow"]);
}
