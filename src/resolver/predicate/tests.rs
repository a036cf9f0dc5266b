use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Reach, Requirement};
use crate::api::gvk::GroupVersionKind;
use crate::resolver::features::Features;
use crate::resolver::requirements;
use crate::version::Version;

fn features(properties: &[(&str, Value)]) -> Features {
    let properties = properties
        .iter()
        .map(|(kind, value)| ((*kind).to_owned(), value.to_string()))
        .collect();
    Features::new(Some("own"), Some(&Version::new(1, 2, 3)), properties)
}

fn need(kind: &str, value: &Value) -> Requirement {
    requirements([(kind, value.to_string().as_str())])
        .unwrap()
        .remove(0)
}

fn constraint(value: &Value) -> Requirement {
    need("olm.constraint", value)
}

fn package(name: &str, range: &str) -> Value {
    json!({ "package": { "packageName": name, "versionRange": range } })
}

fn api(kind: &str) -> Value {
    json!({ "gvk": { "group": "g", "version": "v1", "kind": kind } })
}

#[test]
fn features_are_read_from_the_properties_that_can_be_read() {
    let features = Features::new(
        Some("own"),
        None,
        [
            ("olm.gvk", r#"{"group":"g","version":"v1","kind":"B"}"#),
            ("olm.gvk", r#"{"Group":"g","Version":"v1","Kind":"A"}"#),
            ("olm.gvk", r#"{"group":"g","version":"v1","kind":"B"}"#),
            ("olm.gvk", r#"{"group":"g","version":1,"kind":"C"}"#),
            ("olm.gvk", "nonsense"),
            (
                "olm.package",
                r#"{"packageName":"alias","version":"not one"}"#,
            ),
            ("olm.package", r#"{"packageName":"ignored","version":1}"#),
        ]
        .map(|(kind, value)| (kind.to_owned(), value.to_owned()))
        .to_vec(),
    );
    assert_eq!(
        features.apis(),
        [
            Arc::new(GroupVersionKind::new("g", "v1", "A")),
            Arc::new(GroupVersionKind::new("g", "v1", "B"))
        ]
    );
    assert_eq!(features.packages().collect::<Vec<_>>(), ["alias", "own"]);
    assert_eq!(features.properties().count(), 7);
    assert!(!features.is_deprecated());
}

#[test]
fn a_property_without_any_value_marks_the_deprecated() {
    assert!(features(&[("olm.deprecated", json!({}))]).is_deprecated());
    assert!(features(&[("olm.deprecated", json!(null))]).is_deprecated());
}

#[rstest]
#[case("own", ">=1.0.0", true)]
#[case("own", "<1.0.0", false)]
#[case("other", ">=1.0.0", false)]
#[case("alias", "2.x", true)]
// Name and version come from wherever they are found, as in OLM.
#[case("own", "2.x", true)]
#[case("alias", "1.x", true)]
// `v3` is no version to OLM here, though it would be one of a bundle.
#[case("loose", "3.x", false)]
fn a_package_is_matched_by_the_entry_or_by_a_property(
    #[case] name: &str,
    #[case] range: &str,
    #[case] matches: bool,
) {
    let features = features(&[
        (
            "olm.package",
            json!({ "packageName": "alias", "version": "2.0.0" }),
        ),
        (
            "olm.package",
            json!({ "packageName": "loose", "version": "v3" }),
        ),
    ]);
    let value = json!({ "packageName": name, "versionRange": range });
    assert_eq!(
        need("olm.package.required", &value).matches(&features),
        matches
    );
    assert_eq!(
        constraint(&package(name, range)).matches(&features),
        matches
    );
}

#[test]
fn without_a_version_no_range_matches() {
    let features = Features::new(Some("own"), None, Vec::new());
    assert!(!constraint(&package("own", ">=0.0.0")).matches(&features));
}

#[test]
fn an_api_matches_only_as_a_whole() {
    let features = features(&[(
        "olm.gvk",
        json!({ "group": "g", "version": "v1", "kind": "K" }),
    )]);
    for (group, version, kind, matches) in [
        ("g", "v1", "K", true),
        ("g", "v2", "K", false),
        ("h", "v1", "K", false),
        ("g", "v1", "k", false),
    ] {
        let value = json!({ "group": group, "version": version, "kind": kind });
        assert_eq!(
            need("olm.gvk.required", &value).matches(&features),
            matches,
            "{value}"
        );
    }
}

#[test]
fn a_label_matches_the_same_label() {
    let features = features(&[("olm.label", json!({ "label": "x" }))]);
    assert!(need("olm.label.required", &json!({ "label": "x" })).matches(&features));
    assert!(!need("olm.label.required", &json!({ "label": "y" })).matches(&features));
}

#[test]
fn a_rule_sees_the_properties_of_one_operator() {
    let rule = json!({ "cel": { "rule":
        "properties.exists(p, p.type == 'certified') && properties.exists(p, p.value == 'x')" } });
    let both = features(&[("certified", json!(true)), ("other", json!("x"))]);
    let one = features(&[("certified", json!(true))]);
    assert!(constraint(&rule).matches(&both));
    assert!(!constraint(&rule).matches(&one));
}

#[test]
fn all_has_to_be_true_of_the_same_operator() {
    let both = json!({ "all": { "constraints": [package("own", "1.x"), api("A")] } });
    let provider = features(&[(
        "olm.gvk",
        json!({ "group": "g", "version": "v1", "kind": "A" }),
    )]);
    assert!(constraint(&both).matches(&provider));
    assert!(!constraint(&both).matches(&features(&[])));
}

#[test]
fn compounds_of_nothing_are_all_or_nothing() {
    for (kind, matches) in [("all", true), ("any", false), ("not", true)] {
        let requirement = constraint(&json!({ kind: { "constraints": [] } }));
        assert_eq!(requirement.matches(&features(&[])), matches, "{kind}");
    }
}

#[test]
fn constraints_of_many_rules_share_their_steps() {
    let rule = "properties.all(a, properties.all(b, has(a.type) && has(b.type)))";
    let element = json!({ "cel": { "rule": rule } });
    let of = |count: usize| {
        let parts = vec![element.clone(); count];
        constraint(&json!({ "all": { "constraints": parts } }))
    };
    let features = features(&vec![("x", json!("y")); 100]);
    assert!(of(1).matches(&features));
    assert!(!of(1000).matches(&features));
    let not =
        json!({ "not": { "constraints": [{ "all": { "constraints": vec![element; 1000] } }] } });
    assert!(
        !constraint(&not).matches(&features),
        "too long is not the same as false"
    );
}

fn some(packages: &[&str], apis: &[&str]) -> Reach {
    Reach::Some {
        packages: packages.iter().map(|name| (*name).to_owned()).collect(),
        apis: apis
            .iter()
            .map(|kind| GroupVersionKind::new("g", "v1", *kind))
            .collect(),
    }
}

#[test]
fn a_need_reaches_no_further_than_it_must() {
    let rule = json!({ "cel": { "rule": "true" } });
    let all = |parts: Value| json!({ "all": { "constraints": parts } });
    let any = |parts: Value| json!({ "any": { "constraints": parts } });
    let not = json!({ "not": { "constraints": [api("A")] } });
    let two = any(json!([package("a", "1.x"), api("A")]));
    for (value, reach) in [
        (package("a", "1.x"), some(&["a"], &[])),
        (api("A"), some(&[], &["A"])),
        (rule.clone(), Reach::Everything),
        (not.clone(), Reach::Everything),
        (two.clone(), some(&["a"], &["A"])),
        (any(json!([package("a", "1.x"), rule])), Reach::Everything),
        (any(json!([])), some(&[], &[])),
        (all(json!([])), Reach::Everything),
        (
            all(json!([not, two, package("b", "1.x")])),
            some(&["b"], &[]),
        ),
    ] {
        assert_eq!(constraint(&value).reach(), reach, "{value}");
    }
    assert_eq!(
        need("olm.label.required", &json!({ "label": "x" })).reach(),
        Reach::Everything
    );
}

#[test]
fn a_plain_need_can_be_taken_apart() {
    let needed = constraint(&package("a", "1.x"));
    let (name, range) = needed.as_package().unwrap();
    assert_eq!((name, range.as_str()), ("a", "1.x"));
    assert_eq!(needed.as_api(), None);
    assert_eq!(needed.failure_message(), None);
    let mut value = api("A");
    value["failureMessage"] = json!("why");
    let needed = constraint(&value);
    assert_eq!(
        needed.as_api(),
        Some(&GroupVersionKind::new("g", "v1", "A"))
    );
    assert_eq!(needed.failure_message(), Some("why"));
}

#[test]
fn needs_are_the_same_if_they_say_the_same() {
    let values = [
        package("a", "1.x"),
        package("a", "2.x"),
        api("A"),
        json!({ "all": { "constraints": [api("A")] } }),
        json!({ "any": { "constraints": [api("A")] } }),
        json!({ "all": { "constraints": [api("A"), api("B")] } }),
        json!({ "all": { "constraints": [{ "all": { "constraints": [api("A")] } }, api("B")] } }),
        json!({ "cel": { "rule": "true" } }),
        json!({ "cel": { "rule": "true" }, "failureMessage": "m" }),
    ];
    let needs: Vec<Requirement> = values.iter().chain(&values).map(constraint).collect();
    assert_eq!(needs.iter().collect::<BTreeSet<_>>().len(), values.len());
    assert_eq!(needs.iter().collect::<HashSet<_>>().len(), values.len());
    let older = need("olm.gvk.required", &api("A")["gvk"]);
    assert_eq!(older, constraint(&api("A")));
}

/// A constraint, and what it says by its definition.
fn random_constraint() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["A", "B", "C"]).prop_map(api),
        (
            prop::sample::select(vec!["own", "other"]),
            prop::sample::select(vec!["1.x", ">=2.0.0"])
        )
            .prop_map(|(name, range)| package(name, range)),
        prop::sample::select(vec!["A", "B"]).prop_map(
            |kind| json!({ "cel": { "rule": format!("properties.exists(p, p.value.kind == '{kind}')") } })
        ),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (
            prop::sample::select(vec!["all", "any", "not"]),
            prop::collection::vec(inner, 0..4),
        )
            .prop_map(|(kind, parts)| json!({ kind: { "constraints": parts } }))
    })
}

/// Evaluates the JSON itself.
fn naive(value: &Value, kinds: &[&str], name: &str, version: &Version) -> bool {
    let (kind, content) = value.as_object().unwrap().iter().next().unwrap();
    let mut parts = content["constraints"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|part| naive(part, kinds, name, version));
    match kind.as_str() {
        "all" => parts.all(|part| part),
        "any" => parts.any(|part| part),
        "not" => !parts.any(|part| part),
        "gvk" => kinds.contains(&content["kind"].as_str().unwrap()),
        "package" => {
            let range = content["versionRange"].as_str().unwrap();
            content["packageName"] == name
                && crate::version::Range::parse(range)
                    .unwrap()
                    .contains(version)
        }
        _ => kinds.iter().any(|kind| {
            content["rule"]
                .as_str()
                .unwrap()
                .contains(&format!("'{kind}'"))
        }),
    }
}

proptest! {
    #[test]
    fn compounds_mean_what_their_definition_says(
        value in random_constraint(),
        kinds in prop::sample::subsequence(vec!["A", "B", "C"], 0..=3),
        name in prop::sample::select(vec!["own", "other", "third"]),
        major in 0..3_u64,
    ) {
        let version = Version::new(major, 0, 0);
        let properties = kinds
            .iter()
            .map(|kind| ("olm.gvk".to_owned(), api(kind)["gvk"].to_string()))
            .collect();
        let features = Features::new(Some(name), Some(&version), properties);
        let holds = naive(&value, &kinds, name, &version);
        prop_assert_eq!(constraint(&value).matches(&features), holds);

        let not = |value: Value| json!({ "not": { "constraints": [value] } });
        prop_assert_eq!(constraint(&not(value.clone())).matches(&features), !holds);
        prop_assert_eq!(constraint(&not(not(value.clone()))).matches(&features), holds);

        // What matches is always within reach.
        if holds && let Reach::Some { packages, apis } = constraint(&value).reach() {
            prop_assert!(
                features.packages().any(|own| packages.contains(own))
                    || features.apis().iter().any(|api| apis.contains(&**api))
            );
        }
    }

    #[test]
    fn none_of_some_is_all_of_their_negations(
        parts in prop::collection::vec(random_constraint(), 0..4),
        kinds in prop::sample::subsequence(vec!["A", "B", "C"], 0..=3),
    ) {
        let properties: Vec<_> = kinds
            .iter()
            .map(|kind| ("olm.gvk".to_owned(), api(kind)["gvk"].to_string()))
            .collect();
        let features = Features::new(None, None, properties);
        let negated: Vec<Value> = parts
            .iter()
            .map(|part| json!({ "not": { "constraints": [part] } }))
            .collect();
        let matches = |kind: &str, parts: &[Value]| {
            constraint(&json!({ kind: { "constraints": parts } })).matches(&features)
        };
        prop_assert_eq!(matches("not", &parts), matches("all", &negated));
        prop_assert_eq!(matches("any", &parts), !matches("all", &negated));
    }

    #[test]
    fn nothing_in_a_property_panics(kind in 0..7_usize, value in r#"[{}\[\]":a-z0-9,.']{0,40}|\PC{0,20}"#) {
        let kinds = [
            "olm.gvk", "olm.package", "olm.label", "olm.gvk.required", "olm.package.required",
            "olm.label.required", "olm.constraint",
        ];
        let _ = requirements([(kinds[kind], value.as_str())]);
        let features = Features::new(None, None, vec![(kinds[kind].to_owned(), value)]);
        constraint(&json!({ "cel": { "rule": "properties.exists(p, p.value.a == 1)" } })).matches(&features);
    }
}
