//! What somebody may write who means harm: all of this has to end, quickly, without a crash.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::limits::MAX_DEPTH;
use super::super::{ChangeKind, JSONSchemaProps, compare, judge, upgrade_v1beta1, validate};
use super::{CustomResourceDefinition, crd, crd_with, ship};

/// A schema with this many levels, made without recursion.
fn nested(levels: usize) -> CustomResourceDefinition {
    let mut schema = JSONSchemaProps {
        type_: Some("string".to_owned()),
        ..JSONSchemaProps::default()
    };
    for _ in 1..levels {
        schema = JSONSchemaProps {
            type_: Some("object".to_owned()),
            properties: Some([("x".to_owned(), schema)].into()),
            ..JSONSchemaProps::default()
        };
    }
    let mut crd = crd(&json!({"type": "object"}));
    crd.spec.versions[0]
        .schema
        .as_mut()
        .unwrap()
        .open_api_v3_schema = Some(schema);
    crd
}

fn nested_value(levels: usize) -> Value {
    (1..levels).fold(json!(1), |value, _| json!({"x": value}))
}

#[test]
fn schemas_as_deep_as_they_can_be_read_are_looked_at() {
    let (deep, mut changed) = (nested(MAX_DEPTH), nested(MAX_DEPTH));
    changed.spec.names.singular = Some("ship".to_owned());
    assert_eq!(compare(&deep, &changed), []);
    let found = validate(&nested_value(MAX_DEPTH), &deep, "v1");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].path.matches('x').count(), MAX_DEPTH - 1);
}

#[test]
fn deeper_ones_are_reported_and_not_looked_at() {
    let deep = nested(400);
    let changes = compare(&deep, &nested(400));
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].kind, ChangeKind::TooDeep);
    let verdict = judge(&deep, &deep, [("v1".to_owned(), nested_value(400))]);
    assert!(
        verdict.is_allowed() && !verdict.warnings.is_empty(),
        "{verdict:?}"
    );
    let shallow = crd_with(&json!({"x-kubernetes-preserve-unknown-fields": true}));
    let verdict = judge(
        &shallow,
        &shallow,
        [("v1".to_owned(), ship(&json!({"x": nested_value(400)})))],
    );
    assert_eq!(
        verdict.warnings,
        ["an object nests deeper than 128 levels and was not checked"]
    );
    let mut beta =
        json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"});
    beta["spec"] = nested_value(400);
    assert_eq!(
        upgrade_v1beta1(beta).unwrap_err().to_string(),
        "it nests deeper than 128 levels"
    );
}

#[test]
fn patterns_that_blow_up_do_not() {
    for pattern in [
        "^(a+)+$",
        "^(a|a)*$",
        "((a{1,1000}){1,1000}){1,1000}",
        "(((",
        "(?=a)b",
        "\\1",
    ] {
        let crd = crd_with(&json!({"type": "string", "pattern": pattern}));
        let text = format!("{}!", "a".repeat(10_000));
        let object = ship(&json!({"x": text}));
        assert!(validate(&object, &crd, "v1").len() <= 1, "{pattern}");
    }
}

#[test]
fn huge_choices_and_lists_are_looked_at_once() {
    let values: Vec<String> = (0..10_000).map(|at| format!("value-{at}")).collect();
    let list = |values: &[String]| json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "enum": values}});
    let (old, new) = (crd_with(&list(&values)), crd_with(&list(&values[1..])));
    let changes = compare(&old, &new);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].words, "no longer allowed: \"value-0\"");
    let found = validate(&ship(&json!({"x": values})), &new, "v1");
    assert_eq!(found.len(), 1);
    assert!(found[0].words.len() < 400, "{}", found[0].words);
}

#[test]
fn defaults_do_not_grow_without_end() {
    let default: Vec<Value> = (0..1_000).map(|_| json!({})).collect();
    let item = json!({"type": "object", "properties": {"y": {"type": "array", "default": default, "items": {"type": "object"}}}});
    let crd = crd_with(&json!({"type": "array", "items": item}));
    let items: Vec<Value> = (0..20_000).map(|_| json!({})).collect();
    assert_eq!(validate(&ship(&json!({"x": items})), &crd, "v1"), []);
}

#[test]
fn rules_that_would_never_end_or_overflow_the_stack_are_not_asked() {
    let nested_loops =
        "self.all(a, self.all(b, self.all(c, self.all(d, self.all(e, a + b + c + d + e > 0)))))"
            .to_owned();
    let doubling = format!(
        "{}.size() > 0",
        (0..40).fold("['x']".to_owned(), |text, _| text + ".map(a, a + a)")
    );
    let parentheses = format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000));
    let brackets = format!("{}1{} == self", "[".repeat(23), "]".repeat(23));
    let chain = (0..300).fold("true".to_owned(), |text, _| text + " ? true : true");
    let signs = format!("{}true", "!".repeat(7_000));
    let mut sum = "self.size() > 0".to_owned();
    for at in 0..150 {
        let _ = write!(sum, " + {at}");
    }
    let replace = format!("'{}'.size() > 0", "a".repeat(10)).replace(
        "'.size",
        &format!("'{}.size", ".replace('a', 'aaaaaaaaaa')".repeat(30)),
    );
    let pattern = "self.all(x, string(x).matches('((a{1,900}){1,900}){1,900}'))".to_owned();
    let object = ship(&json!({"x": (0..2_000).collect::<Vec<usize>>()}));
    for rule in [
        nested_loops,
        doubling,
        parentheses,
        brackets,
        chain,
        signs,
        sum,
        replace,
        pattern,
    ] {
        let schema = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": rule}]});
        let new = crd_with(&schema);
        let old = crd_with(&json!({"type": "array", "items": {"type": "integer"}}));
        let verdict = judge(&old, &new, [("v1".to_owned(), object.clone())]);
        let is_reported = verdict
            .warnings
            .iter()
            .any(|warning| warning.contains("was not asked"));
        assert!(
            is_reported || !verdict.objects.is_empty(),
            "{rule}: {verdict:?}"
        );
    }
}

#[test]
fn rules_as_deep_as_they_are_asked_fit_the_stack() {
    let parentheses = format!("{}self == 1{}", "(".repeat(24), ")".repeat(24));
    let chain = (0..380).fold("self".to_owned(), |text, _| text + " + 1") + " == 381";
    for rule in [parentheses, chain] {
        let crd =
            crd_with(&json!({"type": "integer", "x-kubernetes-validations": [{"rule": rule}]}));
        let verdict = judge(&crd, &crd, [("v1".to_owned(), ship(&json!({"x": 1})))]);
        assert_eq!(verdict.warnings, Vec::<String>::new(), "{rule}");
    }
}
