use serde_json::{Value, json};

use super::super::ChangeKind as Kind;
use super::super::Severity::{Harmless, NeedsLiveCheck, Refused};
use super::super::{ChangeKind, CustomResourceDefinition, Severity, compare};
use super::{crd, crd_with, of_versions};

fn found(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
) -> Vec<(String, ChangeKind, Severity)> {
    let changes = compare(old, new);
    for change in &changes {
        assert!(!change.words.is_empty(), "{change:?}");
    }
    let short = |path: String| path.replace("spec.versions[v1].schema.spec", "");
    changes
        .into_iter()
        .map(|change| (short(change.path), change.kind, change.severity))
        .collect()
}

/// Both ways between two schemas of the field `spec.x`.
#[track_caller]
fn both_ways(
    one: &Value,
    other: &Value,
    forth: &[(&str, ChangeKind, Severity)],
    back: &[(&str, ChangeKind, Severity)],
) {
    let (one, other) = (crd_with(one), crd_with(other));
    let owned = |wanted: &[(&str, ChangeKind, Severity)]| -> Vec<(String, ChangeKind, Severity)> {
        wanted
            .iter()
            .map(|(path, kind, severity)| ((*path).to_owned(), *kind, *severity))
            .collect()
    };
    assert_eq!(found(&one, &other), owned(forth), "forth");
    assert_eq!(found(&other, &one), owned(back), "back");
    assert_eq!(found(&one, &one), [], "no change");
}

#[test]
fn types_may_only_become_wider() {
    let int_or_string = json!({"x-kubernetes-int-or-string": true});
    let table = [
        (json!({"type": "integer"}), json!({"type": "number"})),
        (json!({"type": "integer"}), int_or_string.clone()),
        (json!({"type": "string"}), int_or_string),
        (json!({"type": "string"}), json!({})),
    ];
    for (narrow, wide) in table {
        both_ways(
            &narrow,
            &wide,
            &[(".x", Kind::TypeWidened, Harmless)],
            &[(".x", Kind::TypeChanged, NeedsLiveCheck)],
        );
    }
    let change = &[(".x", Kind::TypeChanged, NeedsLiveCheck)];
    both_ways(
        &json!({"type": "string"}),
        &json!({"type": "boolean"}),
        change,
        change,
    );
}

#[test]
fn choices_may_only_become_more() {
    both_ways(
        &json!({"type": "string", "enum": ["a", "b"]}),
        &json!({"type": "string", "enum": ["b", "c", "a"]}),
        &[(".x", Kind::EnumValueAdded, Harmless)],
        &[(".x", Kind::EnumValueRemoved, NeedsLiveCheck)],
    );
    both_ways(
        &json!({"type": "string"}),
        &json!({"type": "string", "enum": ["a"]}),
        &[(".x", Kind::EnumAdded, NeedsLiveCheck)],
        &[(".x", Kind::EnumRemoved, Harmless)],
    );
    // The same values in another order, and written otherwise.
    both_ways(
        &json!({"enum": [1, 2]}),
        &json!({"enum": [2.0, 1]}),
        &[],
        &[],
    );
}

#[test]
fn bounds_may_only_become_looser() {
    let forth = &[(".x", Kind::BoundTightened, NeedsLiveCheck)];
    let back = &[(".x", Kind::BoundLoosened, Harmless)];
    for (loose, tight) in [
        (json!({"minimum": 1}), json!({"minimum": 2})),
        (json!({"minimum": -2}), json!({"minimum": -1})),
        (json!({}), json!({"minimum": 0})),
        (json!({"maximum": 2}), json!({"maximum": 1})),
        (json!({}), json!({"maximum": 1})),
        (
            json!({"minimum": 1}),
            json!({"minimum": 1, "exclusiveMinimum": true}),
        ),
        (
            json!({"maximum": 1}),
            json!({"maximum": 1, "exclusiveMaximum": true}),
        ),
        (json!({}), json!({"multipleOf": 2})),
    ] {
        let typed = |bounds: &Value| {
            let mut schema = bounds.clone();
            schema["type"] = json!("integer");
            schema
        };
        both_ways(&typed(&loose), &typed(&tight), forth, back);
    }
    for (of, low, high) in [
        ("string", "minLength", "maxLength"),
        ("array", "minItems", "maxItems"),
        ("object", "minProperties", "maxProperties"),
    ] {
        both_ways(
            &json!({"type": of, low: 1}),
            &json!({"type": of, low: 2}),
            forth,
            back,
        );
        both_ways(
            &json!({"type": of}),
            &json!({"type": of, low: 1}),
            forth,
            back,
        );
        both_ways(
            &json!({"type": of, high: 2}),
            &json!({"type": of, high: 1}),
            forth,
            back,
        );
        both_ways(
            &json!({"type": of}),
            &json!({"type": of, high: 0}),
            forth,
            back,
        );
        // Nothing is shorter than nothing.
        both_ways(&json!({"type": of}), &json!({"type": of, low: 0}), &[], &[]);
    }
    both_ways(
        &json!({"type": "array"}),
        &json!({"type": "array", "uniqueItems": true}),
        forth,
        back,
    );
}

#[test]
fn patterns_and_formats_may_only_go() {
    both_ways(
        &json!({"type": "string"}),
        &json!({"type": "string", "pattern": "^a$"}),
        &[(".x", Kind::PatternChanged, NeedsLiveCheck)],
        &[(".x", Kind::PatternRemoved, Harmless)],
    );
    let change = &[(".x", Kind::PatternChanged, NeedsLiveCheck)];
    both_ways(
        &json!({"type": "string", "pattern": "^a$"}),
        &json!({"type": "string", "pattern": "^b$"}),
        change,
        change,
    );
    let forth = &[(".x", Kind::FormatChanged, NeedsLiveCheck)];
    let back = &[(".x", Kind::FormatWidened, Harmless)];
    both_ways(
        &json!({"type": "string"}),
        &json!({"type": "string", "format": "date"}),
        forth,
        back,
    );
    both_ways(
        &json!({"type": "integer", "format": "int64"}),
        &json!({"type": "integer", "format": "int32"}),
        forth,
        back,
    );
    // A rule sees a time where the format says so.
    both_ways(
        &json!({"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}),
        &json!({"type": "string", "format": "date-time", "x-kubernetes-validations": [{"rule": "true"}]}),
        forth,
        forth,
    );
}

#[test]
fn null_may_become_allowed() {
    both_ways(
        &json!({"type": "string", "nullable": true}),
        &json!({"type": "string"}),
        &[(".x", Kind::NullableRemoved, NeedsLiveCheck)],
        &[(".x", Kind::NullableAdded, Harmless)],
    );
}

#[test]
fn defaults_may_come_where_nothing_watches_but_neither_go_nor_change() {
    both_ways(
        &json!({"type": "string", "enum": ["a"]}),
        &json!({"type": "string", "enum": ["a"], "default": "a"}),
        &[(".x", Kind::DefaultAdded, NeedsLiveCheck)],
        &[(".x", Kind::DefaultRemoved, NeedsLiveCheck)],
    );
    both_ways(
        &json!({"type": "string"}),
        &json!({"type": "string", "default": "a"}),
        &[(".x", Kind::DefaultAdded, Harmless)],
        &[(".x", Kind::DefaultRemoved, NeedsLiveCheck)],
    );
    let change = &[(".x", Kind::DefaultChanged, NeedsLiveCheck)];
    both_ways(
        &json!({"type": "integer", "default": 1}),
        &json!({"type": "integer", "default": 2}),
        change,
        change,
    );
    both_ways(
        &json!({"type": "object", "default": {"a": 1, "b": 2}}),
        &json!({"type": "object", "default": {"b": 2, "a": 1.0}}),
        &[],
        &[],
    );
}

#[test]
fn fields_may_come_but_not_go() {
    both_ways(
        &json!({"type": "object"}),
        &json!({"type": "object", "properties": {"y": {"type": "string"}}}),
        &[(".x.y", Kind::FieldAdded, Harmless)],
        &[(".x.y", Kind::FieldRemoved, NeedsLiveCheck)],
    );
    // Where everything is kept, a field that gets a schema may have held anything.
    let open = "x-kubernetes-preserve-unknown-fields";
    both_ways(
        &json!({"type": "object", open: true}),
        &json!({"type": "object", open: true, "properties": {"y": {"type": "string"}}}),
        &[(".x.y", Kind::FieldConstrained, NeedsLiveCheck)],
        &[(".x.y", Kind::FieldRemoved, Harmless)],
    );
    // A new field with a default counts where fields are counted.
    both_ways(
        &json!({"type": "object", "maxProperties": 1}),
        &json!({"type": "object", "maxProperties": 1, "properties": {"y": {"type": "string", "default": ""}}}),
        &[(".x.y", Kind::FieldAdded, NeedsLiveCheck)],
        &[(".x.y", Kind::FieldRemoved, NeedsLiveCheck)],
    );
}

#[test]
fn fields_may_become_optional_but_not_required() {
    let schema = |required: &Value, field: &Value| json!({"type": "object", "properties": {"y": field}, "required": required});
    let plain = json!({"type": "string"});
    both_ways(
        &schema(&json!([]), &plain),
        &schema(&json!(["y"]), &plain),
        &[(".x.y", Kind::RequiredAdded, NeedsLiveCheck)],
        &[(".x.y", Kind::RequiredRemoved, Harmless)],
    );
    let with_default = json!({"type": "string", "default": "a"});
    both_ways(
        &schema(&json!([]), &with_default),
        &schema(&json!(["y"]), &with_default),
        &[(".x.y", Kind::RequiredAdded, Harmless)],
        &[(".x.y", Kind::RequiredRemoved, Harmless)],
    );
}

#[test]
fn other_fields_may_be_opened_but_not_closed() {
    let closed = json!({"type": "object"});
    let kept = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let any = json!({"type": "object", "additionalProperties": true});
    let typed = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let opened = &[(".x.*", Kind::OtherFieldsOpened, Harmless)];
    let closing = &[(".x.*", Kind::OtherFieldsClosed, NeedsLiveCheck)];
    for open in [&kept, &any, &typed] {
        both_ways(&closed, open, opened, closing);
    }
    both_ways(
        &typed,
        &kept,
        opened,
        &[(".x.*", Kind::OtherFieldsTyped, NeedsLiveCheck)],
    );
    both_ways(&kept, &any, &[], &[]);
    both_ways(
        &typed,
        &json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}}),
        &[(".x.*", Kind::BoundTightened, NeedsLiveCheck)],
        &[(".x.*", Kind::BoundLoosened, Harmless)],
    );
    // A name that gets a schema of its own is compared with what others had to be.
    both_ways(
        &typed,
        &json!({"type": "object", "properties": {"y": {"type": "string"}}}),
        &[(".x.*", Kind::OtherFieldsClosed, NeedsLiveCheck)],
        &[(".x.*", Kind::OtherFieldsOpened, Harmless)],
    );
}

#[test]
fn lists_are_compared_item_by_item_and_by_how_items_are_told_apart() {
    both_ways(
        &json!({"type": "array", "items": {"type": "string"}}),
        &json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        &[(".x[]", Kind::BoundTightened, NeedsLiveCheck)],
        &[(".x[]", Kind::BoundLoosened, Harmless)],
    );
    both_ways(
        &json!({"type": "array"}),
        &json!({"type": "array", "items": {"type": "string"}}),
        &[(".x[]", Kind::FieldConstrained, NeedsLiveCheck)],
        &[(".x[]", Kind::OtherFieldsOpened, Harmless)],
    );
    both_ways(
        &json!({"type": "array", "x-kubernetes-list-type": "atomic"}),
        &json!({"type": "array", "x-kubernetes-list-type": "set"}),
        &[(".x", Kind::ListTypeChanged, NeedsLiveCheck)],
        &[(".x", Kind::ListTypeChanged, Harmless)],
    );
    both_ways(
        &json!({"type": "array"}),
        &json!({"type": "array", "x-kubernetes-list-type": "atomic"}),
        &[],
        &[],
    );
    let map = |keys: &Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys});
    let change = &[(".x", Kind::ListTypeChanged, NeedsLiveCheck)];
    both_ways(
        &map(&json!(["a"])),
        &map(&json!(["a", "b"])),
        change,
        change,
    );
    both_ways(
        &json!({"type": "object"}),
        &json!({"type": "object", "x-kubernetes-map-type": "atomic"}),
        &[(".x", Kind::MapTypeChanged, Harmless)],
        &[(".x", Kind::MapTypeChanged, Harmless)],
    );
}

#[test]
fn an_embedded_object_is_looked_at_either_way() {
    let change = &[(".x", Kind::EmbeddedResourceChanged, NeedsLiveCheck)];
    let kept = "x-kubernetes-preserve-unknown-fields";
    both_ways(
        &json!({"type": "object", kept: true}),
        &json!({"type": "object", kept: true, "x-kubernetes-embedded-resource": true}),
        change,
        change,
    );
}

#[test]
fn rules_may_go_but_not_come_and_other_messages_are_no_other_rules() {
    let rule = |rule: &str, message: &str| json!({"type": "string", "x-kubernetes-validations": [{"rule": rule, "message": message}]});
    both_ways(
        &json!({"type": "string"}),
        &rule("self != ''", ""),
        &[(".x", Kind::RuleAdded, NeedsLiveCheck)],
        &[(".x", Kind::RuleRemoved, Harmless)],
    );
    let change = &[
        (".x", Kind::RuleAdded, NeedsLiveCheck),
        (".x", Kind::RuleRemoved, Harmless),
    ];
    both_ways(
        &rule("self != ''", ""),
        &rule("self != 'a'", ""),
        change,
        change,
    );
    both_ways(&rule("true", "a"), &rule("true", "b"), &[], &[]);
}

#[test]
fn conditions_may_go_but_not_change() {
    for list in ["allOf", "anyOf", "oneOf"] {
        both_ways(
            &json!({"type": "string"}),
            &json!({"type": "string", list: [{"minLength": 1}]}),
            &[(".x", Kind::LogicChanged, NeedsLiveCheck)],
            &[(".x", Kind::LogicRemoved, Harmless)],
        );
    }
    let change = &[(".x", Kind::LogicChanged, NeedsLiveCheck)];
    both_ways(
        &json!({"type": "string", "not": {"enum": ["a"]}}),
        &json!({"type": "string", "not": {"enum": ["b"]}}),
        change,
        change,
    );
}

#[test]
fn conditions_that_say_integer_or_string_again_are_no_change() {
    both_ways(
        &json!({"x-kubernetes-int-or-string": true}),
        &json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        &[],
        &[],
    );
}

#[test]
fn of_metadata_only_the_name_is_compared() {
    let with = |metadata: Value| {
        let mut crd = crd(&json!({"type": "object"}));
        let schema = crd.spec.versions[0].schema.as_mut().unwrap();
        let schema = schema
            .open_api_v3_schema
            .as_mut()
            .unwrap()
            .properties
            .as_mut()
            .unwrap();
        schema.insert(
            "metadata".to_owned(),
            serde_json::from_value(metadata).unwrap(),
        );
        schema.insert(
            "kind".to_owned(),
            serde_json::from_value(json!({"type": "string"})).unwrap(),
        );
        crd
    };
    let open = with(json!({"x-kubernetes-preserve-unknown-fields": true}));
    let closed = with(json!({"type": "object"}));
    let short = with(
        json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}}),
    );
    assert_eq!(found(&open, &closed), []);
    assert_eq!(found(&closed, &crd(&json!({"type": "object"}))), []);
    let path = || "spec.versions[v1].schema.metadata.name".to_owned();
    assert_eq!(
        found(&closed, &short),
        [(path(), Kind::BoundTightened, NeedsLiveCheck)]
    );
    assert_eq!(found(&short, &closed), []);
}

#[test]
fn words_for_people_are_no_change() {
    both_ways(
        &json!({"type": "string", "description": "a", "title": "b", "example": 1}),
        &json!({"type": "string", "description": "c"}),
        &[],
        &[],
    );
}

#[test]
fn a_version_that_objects_are_stored_in_may_not_go() {
    let spec = json!({"type": "object"});
    let mut old = of_versions(&[("v1alpha1", true, spec.clone()), ("v1", true, spec.clone())]);
    let new = crd(&spec);
    let gone = "spec.versions[v1alpha1]".to_owned();
    assert_eq!(
        found(&old, &new),
        [(gone.clone(), Kind::VersionNoLongerServed, NeedsLiveCheck)]
    );
    old.status = serde_json::from_value(json!({"storedVersions": ["v1alpha1", "v1"]})).unwrap();
    assert_eq!(
        found(&old, &new),
        [(gone.clone(), Kind::StoredVersionRemoved, Refused)]
    );
    let unserved = of_versions(&[("v1alpha1", false, spec.clone()), ("v1", true, spec)]);
    assert_eq!(
        found(&old, &unserved),
        [(gone, Kind::VersionNoLongerServed, NeedsLiveCheck)]
    );
    // And it was not served before either.
    assert_eq!(found(&unserved, &new), []);
}

#[test]
fn the_api_server_lets_nobody_change_scope_or_kind() {
    let old = crd(&json!({"type": "object"}));
    let mut new = old.clone();
    new.spec.scope = "Cluster".to_owned();
    new.spec.names.kind = "Boat".to_owned();
    assert_eq!(
        found(&old, &new),
        [
            ("spec.scope".to_owned(), Kind::ScopeChanged, Refused),
            ("spec.names.kind".to_owned(), Kind::KindChanged, Refused)
        ]
    );
}

#[test]
fn unknown_fields_of_a_whole_crd_may_be_kept_but_not_dropped() {
    let closed = crd(&json!({"type": "object"}));
    let mut open = closed.clone();
    open.spec.preserve_unknown_fields = Some(true);
    let path = || "spec.preserveUnknownFields".to_owned();
    assert_eq!(
        found(&open, &closed),
        [(path(), Kind::UnknownFieldsDropped, NeedsLiveCheck)]
    );
    assert_eq!(
        found(&closed, &open),
        [(path(), Kind::UnknownFieldsKept, Harmless)]
    );
}

#[test]
fn a_schema_may_go_but_not_come() {
    let with = crd(&json!({"type": "object"}));
    let mut without = with.clone();
    without.spec.versions[0].schema = None;
    let path = || "spec.versions[v1].schema".to_owned();
    assert_eq!(
        found(&with, &without),
        [(path(), Kind::SchemaRemoved, Harmless)]
    );
    assert_eq!(
        found(&without, &with),
        [(path(), Kind::SchemaAdded, NeedsLiveCheck)]
    );
    assert_eq!(found(&without, &without), []);
}

#[test]
fn versions_served_side_by_side_have_to_agree_unless_a_webhook_converts() {
    let alpha =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let beta = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let old = of_versions(&[("v1alpha1", true, alpha.clone())]);
    let mut new = of_versions(&[("v1beta1", true, beta), ("v1alpha1", true, alpha)]);
    let path = |field: &str| format!("spec.versions[v1alpha1 as v1beta1].schema.spec.{field}");
    assert_eq!(
        found(&old, &new),
        [
            (path("a"), Kind::TypeChanged, NeedsLiveCheck),
            (path("b"), Kind::FieldRemoved, NeedsLiveCheck)
        ]
    );
    assert_eq!(found(&new, &new), [], "what the old CRD had is no change");
    new.spec.conversion = serde_json::from_value(json!({"strategy": "Webhook"})).unwrap();
    assert_eq!(found(&old, &new), []);
}
