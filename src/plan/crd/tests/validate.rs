use serde_json::{Value, json};

use super::super::{ViolationKind as Kind, validate, validate_ratcheted};
use super::{crd, crd_with, ship};

/// What is wrong with a value of `spec.x`.
fn wrong(schema: &Value, value: &Value) -> Vec<(String, Kind)> {
    let found = validate(&ship(&json!({"x": value})), &crd_with(schema), "v1");
    found
        .into_iter()
        .map(|violation| {
            assert!(!violation.words.is_empty());
            (violation.path, violation.kind)
        })
        .collect()
}

#[track_caller]
fn right(schema: &Value, values: &[Value]) {
    for value in values {
        assert_eq!(wrong(schema, value), [], "{schema} {value}");
    }
}

#[track_caller]
fn bad(schema: &Value, kind: &Kind, values: &[Value]) {
    for value in values {
        assert_eq!(
            wrong(schema, value),
            [("spec.x".to_owned(), kind.clone())],
            "{schema} {value}"
        );
    }
}

#[test]
fn values_have_to_be_of_their_type() {
    for (kind, good) in [
        ("string", json!("a")),
        ("integer", json!(1)),
        ("number", json!(1.5)),
        ("boolean", json!(true)),
        ("array", json!([])),
        ("object", json!({})),
    ] {
        let schema = json!({"type": kind});
        right(&schema, &[good]);
        bad(&schema, &Kind::Type, &[Value::Null]);
        right(&json!({"type": kind, "nullable": true}), &[Value::Null]);
        let other = if kind == "string" {
            json!(1)
        } else {
            json!("1")
        };
        bad(&schema, &Kind::Type, &[other]);
    }
    right(&json!({"type": "integer"}), &[json!(5.0)]);
    bad(&json!({"type": "integer"}), &Kind::Type, &[json!(5.5)]);
    let either = json!({"x-kubernetes-int-or-string": true});
    right(&either, &[json!(1), json!("50%")]);
    bad(&either, &Kind::Type, &[json!(1.5), json!(true), json!([])]);
}

#[test]
fn values_have_to_keep_their_bounds() {
    let table = [
        (json!({"minimum": 2}), "minimum", json!(2), json!(1)),
        (json!({"maximum": 2}), "maximum", json!(2), json!(3)),
        (
            json!({"minimum": 2, "exclusiveMinimum": true}),
            "minimum",
            json!(3),
            json!(2),
        ),
        (
            json!({"maximum": 2, "exclusiveMaximum": true}),
            "maximum",
            json!(1),
            json!(2),
        ),
        (
            json!({"multipleOf": 0.1}),
            "multipleOf",
            json!(0.3),
            json!(0.35),
        ),
        (
            json!({"minLength": 2}),
            "minLength",
            json!("äö"),
            json!("ä"),
        ),
        (
            json!({"maxLength": 2}),
            "maxLength",
            json!("äö"),
            json!("äöü"),
        ),
        (json!({"minItems": 1}), "minItems", json!([1]), json!([])),
        (
            json!({"maxItems": 1}),
            "maxItems",
            json!([1]),
            json!([1, 2]),
        ),
    ];
    for (schema, word, good, wrong) in table {
        right(&schema, &[good]);
        bad(&schema, &Kind::Bound(word), &[wrong]);
    }
    let kept = "x-kubernetes-preserve-unknown-fields";
    bad(
        &json!({"minProperties": 1, kept: true}),
        &Kind::Bound("minProperties"),
        &[json!({})],
    );
    bad(
        &json!({"maxProperties": 0, kept: true}),
        &Kind::Bound("maxProperties"),
        &[json!({"a": 1})],
    );
    // Fields that are dropped do not count.
    right(
        &json!({"type": "object", "maxProperties": 0}),
        &[json!({"a": 1})],
    );
}

#[test]
fn choices_patterns_and_formats_are_looked_at() {
    bad(
        &json!({"enum": ["a", 1]}),
        &Kind::Enum,
        &[json!("b"), json!("1")],
    );
    right(
        &json!({"enum": ["a", 1, {"k": [1]}], "x-kubernetes-preserve-unknown-fields": true}),
        &[json!(1.0), json!({"k": [1]})],
    );
    bad(
        &json!({"type": "string", "nullable": true, "enum": ["a"]}),
        &Kind::Enum,
        &[Value::Null],
    );
    let pattern = json!({"pattern": "^[a-z]+$"});
    right(&pattern, &[json!("a"), json!(1)]);
    bad(&pattern, &Kind::Pattern, &[json!("A"), json!("")]);
    right(&json!({"pattern": "b"}), &[json!("abc")]);
    bad(&json!({"pattern": "^\\d$"}), &Kind::Pattern, &[json!("٣")]);
    let formats = [
        ("int32", json!(2_147_483_647), json!(2_147_483_648_i64)),
        ("ipv4", json!("10.0.0.1"), json!("10.0.0.256")),
        ("ipv6", json!("::1"), json!("1")),
        ("byte", json!("YQ=="), json!("?")),
        ("date", json!("2024-02-29"), json!("2023-02-29")),
        (
            "date-time",
            json!("2024-02-29T12:00:00.5+01:00"),
            json!("2024-02-29 noon"),
        ),
        (
            "uuid",
            json!("9f1b2c3d-0000-4000-8000-000000000000"),
            json!("9f1b"),
        ),
    ];
    for (format, good, wrong) in formats {
        right(&json!({"format": format}), &[good]);
        bad(&json!({"format": format}), &Kind::Format, &[wrong]);
    }
    right(&json!({"format": "what-is-that"}), &[json!("a")]);
}

#[test]
fn fields_items_and_embedded_objects_are_looked_at_with_their_paths() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"},
        "b": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}},
    }});
    assert_eq!(
        wrong(&schema, &json!({"b": [{"k": 1}, {"k": "1"}], "unknown": 1})),
        [
            ("spec.x.a".to_owned(), Kind::Required),
            ("spec.x.b[1].k".to_owned(), Kind::Type)
        ]
    );
    let resource = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    right(
        &resource,
        &[json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})],
    );
    bad(&resource, &Kind::Resource, &[json!({"apiVersion": "v1"})]);
}

#[test]
fn items_of_sets_and_maps_are_there_once() {
    let set =
        json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"});
    right(&set, &[json!([1, 2])]);
    bad(&set, &Kind::Duplicate, &[json!([1, 2, 1])]);
    let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}});
    right(&map, &[json!([{"k": "a", "v": 1}, {"k": "b", "v": 1}])]);
    bad(
        &map,
        &Kind::Duplicate,
        &[json!([{"k": "a", "v": 1}, {"k": "a", "v": 2}])],
    );
    right(
        &json!({"type": "array", "items": {"type": "integer"}}),
        &[json!([1, 1])],
    );
}

#[test]
fn conditions_are_looked_at() {
    let short = json!({"maxLength": 2});
    let long = json!({"minLength": 2});
    bad(
        &json!({"allOf": [short, long]}),
        &Kind::Bound("maxLength"),
        &[json!("abc")],
    );
    bad(
        &json!({"anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}),
        &Kind::Logic("anyOf"),
        &[json!("c")],
    );
    right(
        &json!({"oneOf": [short, long]}),
        &[json!("a"), json!("abc")],
    );
    bad(
        &json!({"oneOf": [short, long]}),
        &Kind::Logic("oneOf"),
        &[json!("ab")],
    );
    bad(
        &json!({"not": {"enum": ["a"]}}),
        &Kind::Logic("not"),
        &[json!("a")],
    );
}

#[test]
fn defaults_are_there_before_anything_is_asked() {
    let schema = json!({"type": "object", "default": {}, "properties": {"x": {
        "type": "object", "default": {}, "required": ["a", "b"], "properties": {
            "a": {"type": "string", "default": "a"},
            "b": {"type": "integer", "default": 1},
        },
        "x-kubernetes-validations": [{"rule": "self.a == 'a' && self.b < 3"}],
    }}});
    let crd = crd(&schema);
    for spec in [json!({}), json!({"x": {"b": 2}}), json!({"x": {"a": null}})] {
        assert_eq!(validate(&ship(&spec), &crd, "v1"), [], "{spec}");
    }
    let found = validate(&ship(&json!({"x": {"b": 3}})), &crd, "v1");
    assert_eq!(found[0].path, "spec.x");
}

#[test]
fn rules_are_asked_about_what_they_stand_at() {
    let rule = |rule: &str| Kind::Rule(rule.to_owned());
    let schema = json!({"type": "object",
        "properties": {
            "min": {"type": "integer"}, "max": {"type": "integer"},
            "names": {"type": "array", "items": {"type": "string",
                "x-kubernetes-validations": [{"rule": "self.startsWith('a')", "message": "an a comes first"}]}},
        },
        "x-kubernetes-validations": [{"rule": "self.min <= self.max"}],
    });
    right(
        &schema,
        &[json!({"min": 1, "max": 2, "names": ["a", "ab"]})],
    );
    assert_eq!(
        wrong(&schema, &json!({"min": 3, "max": 2, "names": ["a", "b"]})),
        [
            ("spec.x".to_owned(), rule("self.min <= self.max")),
            ("spec.x.names[1]".to_owned(), rule("self.startsWith('a')"))
        ]
    );
    // The API server refuses what a rule cannot find.
    bad(&schema, &rule("self.min <= self.max"), &[json!({"max": 2})]);
}

#[test]
fn rules_know_what_only_kubernetes_has() {
    let rule = |rule: &str| json!({"type": "string", "x-kubernetes-validations": [{"rule": rule}]});
    right(
        &rule("isQuantity(self) && quantity(self).isLessThan(quantity('1Gi'))"),
        &[json!("500Mi")],
    );
    assert_eq!(
        wrong(
            &rule("quantity(self).isLessThan(quantity('1Gi'))"),
            &json!("2Gi")
        )
        .len(),
        1
    );
    right(
        &rule("isURL(self) || isIP(self)"),
        &[json!("https://a.b"), json!("10.0.0.1")],
    );
    assert_eq!(
        wrong(&rule("duration(self) <= duration('1h')"), &json!("2h")).len(),
        1
    );
    assert_eq!(wrong(&rule("self.matches('^a+$')"), &json!("b")).len(), 1);
}

#[test]
fn rules_about_changes_see_an_object_that_does_not_change() {
    let rule =
        |rule: &str| json!({"type": "integer", "x-kubernetes-validations": [{"rule": rule}]});
    right(&rule("self == oldSelf"), &[json!(1)]);
    assert_eq!(wrong(&rule("self > oldSelf"), &json!(1)).len(), 1);
}

#[test]
fn what_was_wrong_before_does_not_count() {
    let object = ship(&json!({"x": "abc"}));
    let old = crd_with(
        &json!({"type": "string", "enum": ["a"], "x-kubernetes-validations": [{"rule": "self == 'a'"}]}),
    );
    let new = crd_with(
        &json!({"type": "string", "enum": ["a", "b"], "maxLength": 2,
        "x-kubernetes-validations": [{"rule": "self == 'a'"}, {"rule": "self == 'b'"}]}),
    );
    assert_eq!(validate(&object, &new, "v1").len(), 4);
    let kinds: Vec<Kind> = validate_ratcheted(&object, &old, &new, "v1")
        .into_iter()
        .map(|violation| violation.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            Kind::Bound("maxLength"),
            Kind::Rule("self == 'b'".to_owned())
        ]
    );
    assert_eq!(validate_ratcheted(&object, &new, &new, "v1"), []);
}

#[test]
fn a_version_that_is_not_there_allows_everything() {
    let crd = crd_with(&json!({"type": "string"}));
    assert_eq!(validate(&ship(&json!({"x": 1})), &crd, "v2"), []);
}
