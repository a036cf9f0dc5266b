use serde_json::{Value, json};

use super::super::{schema_of, upgrade_v1beta1};

fn beta(spec: &Value) -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.harbor.io"},
        "spec": {"group": "harbor.io", "scope": "Namespaced", "names": {"kind": "Ship", "plural": "ships"}},
        "status": {"storedVersions": ["v1"], "conditions": [], "acceptedNames": {"kind": "Ship", "plural": "ships"}},
    });
    for (name, value) in spec.as_object().unwrap() {
        crd["spec"][name] = value.clone();
    }
    crd
}

fn schema(crd: &super::CustomResourceDefinition, at: usize) -> Value {
    serde_json::to_value(schema_of(&crd.spec.versions[at])).unwrap()
}

#[test]
fn what_stood_once_stands_in_every_version() {
    let upgraded = upgrade_v1beta1(beta(&json!({
        "version": "v1", "preserveUnknownFields": false,
        "versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": false, "storage": false}],
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Age", "type": "date", "JSONPath": ".metadata.creationTimestamp"}],
        "validation": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
    })))
    .unwrap();
    assert_eq!(upgraded.notes, Vec::<String>::new());
    let crd = upgraded.crd;
    assert_eq!(crd.spec.versions.len(), 2);
    assert_eq!(crd.spec.preserve_unknown_fields, Some(false));
    assert_eq!(
        crd.status
            .as_ref()
            .unwrap()
            .stored_versions
            .as_ref()
            .unwrap(),
        &["v1"]
    );
    for (at, version) in crd.spec.versions.iter().enumerate() {
        let columns = version.additional_printer_columns.as_ref().unwrap();
        assert_eq!(columns[0].json_path, ".metadata.creationTimestamp");
        assert!(version.subresources.as_ref().unwrap().status.is_some());
        assert_eq!(
            schema(&crd, at),
            json!({"type": "object", "properties": {"spec": {"type": "object"}}})
        );
    }
}

#[test]
fn a_single_version_is_served_and_stored() {
    let upgraded = upgrade_v1beta1(beta(&json!({"version": "v1"}))).unwrap();
    let version = &upgraded.crd.spec.versions[0];
    assert_eq!(
        (version.name.as_str(), version.served, version.storage),
        ("v1", true, true)
    );
    assert_eq!(
        schema(&upgraded.crd, 0),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    );
    assert_eq!(
        upgraded.notes,
        ["version v1 had no schema, and now has one that allows everything"]
    );
}

#[test]
fn what_a_schema_left_open_is_written_out() {
    let upgraded = upgrade_v1beta1(beta(
        &json!({"version": "v1", "validation": {"openAPIV3Schema": {"properties": {"spec": {
            "properties": {
                "list": {"items": {"type": "string"}, "uniqueItems": true},
                "port": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "any": {"description": "whatever"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        }}}}}),
    ))
    .unwrap();
    let kept = "x-kubernetes-preserve-unknown-fields";
    assert_eq!(
        schema(&upgraded.crd, 0),
        json!({"type": "object", kept: true, "properties": {"spec": {"type": "object", kept: true, "properties": {
            "list": {"type": "array", "items": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "string"}, {"type": "integer"}]},
            "any": {"description": "whatever", kept: true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }}}})
    );
    assert_eq!(upgraded.notes.len(), 3, "{:?}", upgraded.notes);
}

#[test]
fn what_every_object_has_is_said_as_the_api_server_allows() {
    let upgraded = upgrade_v1beta1(beta(
        &json!({"version": "v1", "validation": {"openAPIV3Schema": {"properties": {
            "apiVersion": {"description": "the version"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "description": "of all objects", "properties": {
                "name": {"maxLength": 20}, "labels": {"type": "object"},
            }},
            "spec": {"type": "object"},
        }}}}),
    ))
    .unwrap();
    let kept = "x-kubernetes-preserve-unknown-fields";
    assert_eq!(
        schema(&upgraded.crd, 0),
        json!({"type": "object", kept: true, "properties": {
            "apiVersion": {"type": "string", "description": "the version"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}},
            "spec": {"type": "object", kept: true},
        }})
    );
    let notes = upgraded.notes.join("\n");
    assert!(notes.contains("said more about metadata"), "{notes}");
}

#[test]
fn metadata_below_the_root_is_a_field_like_any_other() {
    let upgraded = upgrade_v1beta1(beta(
        &json!({"version": "v1", "validation": {"openAPIV3Schema": {"properties": {
            "spec": {"properties": {"metadata": {"properties": {"labels": {"type": "object"}}}}},
        }}}}),
    ))
    .unwrap();
    let kept = "x-kubernetes-preserve-unknown-fields";
    assert_eq!(
        schema(&upgraded.crd, 0)["properties"]["spec"]["properties"]["metadata"],
        json!({"type": "object", kept: true, "properties": {"labels": {"type": "object", kept: true}}})
    );
}

#[test]
fn a_webhook_moves_into_a_field_of_its_own() {
    let upgraded = upgrade_v1beta1(beta(&json!({"version": "v1", "conversion": {
        "strategy": "Webhook", "webhookClientConfig": {"url": "https://a.b"},
    }})))
    .unwrap();
    assert_eq!(
        serde_json::to_value(upgraded.crd.spec.conversion).unwrap(),
        json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a.b"}, "conversionReviewVersions": ["v1beta1"]}})
    );
}

#[test]
fn what_cannot_be_mended_is_refused_in_words() {
    let refused = |crd: Value| upgrade_v1beta1(crd).unwrap_err().to_string();
    let with = |spec: &Value| {
        refused(beta(
            &json!({"version": "v1", "validation": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}),
        ))
    };
    let words = with(&json!({"$ref": "#/definitions/x"}));
    assert!(
        words.contains("the schema of version v1 is not structural")
            && words.contains(".spec: $ref is not allowed"),
        "{words}"
    );
    let words = with(
        &json!({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
    );
    assert!(
        words.contains(".spec: it has both properties and additionalProperties"),
        "{words}"
    );
    let words = with(&json!({"type": "object", "anyOf": [{"properties": {"a": {"enum": ["x"]}}}]}));
    assert!(
        words.contains(".spec.a: it only stands in allOf, anyOf, oneOf or not"),
        "{words}"
    );
    assert_eq!(
        refused(beta(&json!({}))),
        "it has neither spec.version nor spec.versions"
    );
    assert!(
        refused(
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"})
        )
        .contains("but CustomResourceDefinition of apiextensions.k8s.io/v1")
    );
    assert!(refused(beta(&json!({"version": "v1", "names": 5}))).starts_with("it cannot be read"));
}
