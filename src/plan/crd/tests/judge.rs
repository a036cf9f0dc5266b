use serde_json::{Value, json};

use super::super::judge;
use super::{crd, crd_with, of_versions, ship};

fn named(name: &str, x: &Value) -> (String, Value) {
    let mut object = ship(&json!({"x": x}));
    object["metadata"]["name"] = json!(name);
    ("v1".to_owned(), object)
}

#[test]
fn nothing_wrong_is_said_in_a_line() {
    let crd = crd_with(&json!({"type": "string"}));
    let verdict = judge(&crd, &crd, [named("a", &json!("a")), named("b", &json!(1))]);
    assert!(verdict.is_allowed());
    assert_eq!(verdict.summary(), "CRD ships.harbor.io can be updated");
    assert_eq!(verdict.text(), "CRD ships.harbor.io can be updated.\n");
}

#[test]
fn a_refusal_names_objects_fields_and_reasons() {
    let old = crd_with(&json!({"type": "integer"}));
    let new = crd_with(&json!({"type": "integer", "minimum": 3}));
    let objects = (0..20).map(|at| named(&format!("ship-{at}"), &json!(at % 4)));
    let verdict = judge(&old, &new, objects);
    assert!(!verdict.is_allowed());
    assert_eq!((verdict.objects.len(), verdict.more_objects), (10, 5));
    assert_eq!(
        verdict.summary(),
        "CRD ships.harbor.io cannot be updated: 15 objects would be invalid, first iolcos/ship-0: spec.x must be at least 3, and is 0"
    );
    let text = verdict.text();
    assert!(
        text.contains("- iolcos/ship-9 (read as v1)\n    spec.x must be at least 3, and is 1\n"),
        "{text}"
    );
    assert!(
        text.contains("- and 5 other objects\nChange or delete them"),
        "{text}"
    );
    assert!(!text.contains("ship-3 "), "{text}");
}

#[test]
fn a_webhook_turns_bad_objects_into_a_warning() {
    let old = crd_with(&json!({"type": "integer"}));
    let mut new = crd_with(&json!({"type": "string"}));
    new.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook"})).unwrap();
    let verdict = judge(&old, &new, [named("a", &json!(1))]);
    assert!(verdict.is_allowed());
    assert!(
        verdict
            .summary()
            .contains("can be updated, but one object would be invalid"),
        "{}",
        verdict.summary()
    );
    assert!(
        verdict.text().contains("A webhook converts these objects"),
        "{}",
        verdict.text()
    );
}

#[test]
fn no_webhook_helps_a_stored_version_that_goes() {
    let spec = json!({"type": "object"});
    let mut old = of_versions(&[("v1alpha1", true, spec.clone()), ("v1", true, spec.clone())]);
    old.status = serde_json::from_value(json!({"storedVersions": ["v1alpha1"]})).unwrap();
    let mut new = crd(&spec);
    new.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook"})).unwrap();
    let verdict = judge(&old, &new, []);
    assert!(!verdict.is_allowed());
    let summary = verdict.summary();
    assert!(
        summary.starts_with(
            "CRD ships.harbor.io cannot be updated: objects may be stored in version v1alpha1"
        ),
        "{summary}"
    );
    assert!(
        verdict
            .text()
            .contains("take the old one out of status.storedVersions"),
        "{}",
        verdict.text()
    );
}

#[test]
fn fields_that_objects_would_lose_refuse_the_update_with_their_names() {
    let old = crd_with(
        &json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}),
    );
    let mut new = crd_with(
        &json!({"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}),
    );
    let objects = [
        named("none", &json!([{"b": "1"}])),
        named("first", &json!([{"b": "1"}, {"a": "1"}, {"a": "2"}])),
        // What the old schema does not know either is lost already.
        named("second", &json!([{"a": "1", "c": "1"}])),
    ];
    let verdict = judge(&old, &new, objects.clone());
    assert!(!verdict.is_allowed());
    assert_eq!(
        verdict.summary(),
        "CRD ships.harbor.io cannot be updated: the new schema does not know spec.x[].a, which iolcos/first and one other object would lose"
    );
    let text = verdict.text();
    assert!(
        text.contains("- spec.x[].a of iolcos/first, iolcos/second\n")
            && text.contains("and the update goes on by itself"),
        "{text}"
    );

    new.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook"})).unwrap();
    let converted = judge(&old, &new, objects);
    assert!(converted.is_allowed(), "{}", converted.text());
    assert!(
        converted.text().contains("A webhook converts"),
        "{}",
        converted.text()
    );
}

#[test]
fn a_field_that_no_object_has_may_go() {
    let spec = |fields: &Value| crd_with(&json!({"type": "object", "properties": fields}));
    let old = spec(&json!({"a": {"type": "string"}, "b": {"type": "string"}}));
    let new = spec(&json!({"b": {"type": "string"}}));
    let verdict = judge(&old, &new, [named("one", &json!({"b": "1"}))]);
    assert!(verdict.is_allowed(), "{}", verdict.text());
    assert_eq!(verdict.summary(), "CRD ships.harbor.io can be updated");
}

#[test]
fn rules_that_could_not_be_asked_are_a_warning() {
    let old = crd_with(&json!({"type": "string"}));
    let new = crd_with(
        &json!({"type": "string", "x-kubernetes-validations": [{"rule": "lists.range(9999999999).size() > 0"}]}),
    );
    let verdict = judge(&old, &new, [named("a", &json!("a"))]);
    assert!(verdict.is_allowed());
    assert_eq!(
        verdict.warnings,
        [
            "the rule `lists.range(9999999999).size() > 0` was not asked: it makes lists of any length"
        ]
    );
}

#[test]
fn versions_that_do_not_agree_are_a_warning() {
    let spec = |kind: &str| json!({"type": "object", "properties": {"x": {"type": kind}}});
    let old = of_versions(&[("v1", true, spec("string"))]);
    let new = of_versions(&[("v1", true, spec("string")), ("v2", true, spec("integer"))]);
    let verdict = judge(&old, &new, [named("a", &json!("a"))]);
    assert!(verdict.is_allowed());
    assert_eq!(
        verdict.warnings,
        [
            "no webhook converts objects, and what is written in one version may not do in another: spec.versions[v1 as v2].schema.spec.x: the type was string and is now integer"
        ]
    );
}

/// The schema of a `spec` with these fields.
fn fields(names: &[&str]) -> Value {
    let fields = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"type": "string"})));
    json!({"type": "object", "properties": Value::Object(fields.collect())})
}

fn with_field(name: &str, field: &str) -> (String, Value) {
    let mut object = ship(&json!({field: "1"}));
    object["metadata"]["name"] = json!(name);
    ("v1".to_owned(), object)
}

#[test]
fn objects_of_a_version_that_ends_lose_nothing_in_the_one_that_takes_its_place() {
    let old = of_versions(&[("v1", true, fields(&["a", "b"]))]);
    let unserved = of_versions(&[
        ("v1", false, fields(&["a", "b"])),
        ("v2", true, fields(&["b"])),
    ]);
    let verdict = judge(
        &old,
        &unserved,
        [with_field("one", "a"), with_field("two", "b")],
    );
    assert!(!verdict.is_allowed());
    let text = verdict.text();
    assert!(
        text.contains("does not know spec.a, which iolcos/one would lose")
            && text.contains("version v1 is no longer served"),
        "{text}"
    );
    // Nobody has what the new one does not know.
    let verdict = judge(&old, &unserved, [with_field("two", "b")]);
    assert!(verdict.is_allowed(), "{}", verdict.text());
    let mut converted = unserved;
    converted.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook"})).unwrap();
    let verdict = judge(&old, &converted, [with_field("one", "a")]);
    assert!(verdict.is_allowed(), "{}", verdict.text());
}

#[test]
fn objects_of_a_version_that_ends_have_to_be_valid_in_the_one_that_takes_its_place() {
    let x = |x: &Value| json!({"type": "object", "properties": {"x": x}});
    let any = x(&json!({"type": "integer"}));
    let few = x(&json!({"type": "integer", "minimum": 3}));
    let old = of_versions(&[("v1", true, any.clone())]);
    let new = of_versions(&[("v1", false, any.clone()), ("v2", true, few.clone())]);
    let objects = [named("small", &json!(1)), named("large", &json!(5))];
    let verdict = judge(&old, &new, objects.clone());
    assert!(!verdict.is_allowed());
    assert_eq!(
        verdict.summary(),
        "CRD ships.harbor.io cannot be updated: one object would be invalid, first iolcos/small: spec.x must be at least 3, and is 1"
    );
    // What was served beside it was as strict before.
    let old = of_versions(&[("v1", true, any), ("v2", true, few)]);
    let verdict = judge(&old, &new, objects);
    assert!(verdict.is_allowed(), "{}", verdict.text());
}

#[test]
fn objects_that_are_stored_in_another_version_lose_nothing_by_that() {
    let both = |stored: &str| {
        let versions = [("v1", fields(&["a", "b"])), ("v2", fields(&["b"]))];
        let mut crd = of_versions(&versions.map(|(name, spec)| (name, true, spec)));
        for version in &mut crd.spec.versions {
            version.storage = version.name == stored;
        }
        crd
    };
    let objects = [with_field("one", "a")];
    let verdict = judge(&both("v1"), &both("v2"), objects.clone());
    assert!(!verdict.is_allowed());
    assert!(verdict.summary().contains("spec.a"), "{}", verdict.text());
    assert!(super::super::Judge::new(&both("v1"), &both("v2")).needs_objects());
    // It was so before.
    let verdict = judge(&both("v2"), &both("v2"), objects);
    assert!(verdict.is_allowed(), "{}", verdict.text());
}

#[test]
fn what_a_webhook_made_of_objects_for_a_version_that_ends_is_not_what_they_are() {
    let versions =
        |served| of_versions(&[("v1", served, fields(&["a"])), ("v2", true, fields(&["b"]))]);
    let mut old = versions(true);
    old.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook"})).unwrap();
    old.status = serde_json::from_value(json!({"storedVersions": ["v2"]})).unwrap();
    let objects = [with_field("one", "a")];
    let verdict = judge(&old, &versions(false), objects.clone());
    assert!(verdict.is_allowed(), "{}", verdict.text());
    // Some may be stored as they were read.
    old.status = serde_json::from_value(json!({"storedVersions": ["v1", "v2"]})).unwrap();
    assert!(!judge(&old, &versions(false), objects).is_allowed());
}
