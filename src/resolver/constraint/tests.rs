use rstest::rstest;
use serde_json::{Value, json};

use super::{MAX_PATTERNS, MAX_SIZE, requirements};

fn words(properties: &[(&str, Value)]) -> Vec<String> {
    let properties: Vec<_> = properties
        .iter()
        .map(|(kind, value)| (*kind, value.to_string()))
        .collect();
    requirements(
        properties
            .iter()
            .map(|(kind, value)| (*kind, value.as_str())),
    )
    .unwrap()
    .iter()
    .map(ToString::to_string)
    .collect()
}

fn error(kind: &str, value: &str) -> String {
    requirements([(kind, value)]).unwrap_err().to_string()
}

#[test]
fn needs_come_in_their_order_and_each_once() {
    let api = json!({ "group": "example.com", "version": "v1", "kind": "Widget" });
    let package = json!({ "packageName": "a", "versionRange": ">=1.0.0" });
    assert_eq!(
        words(&[
            ("olm.package.required", package.clone()),
            ("olm.gvk", api.clone()),
            ("olm.gvk.required", api.clone()),
            ("olm.label.required", json!({ "label": "x" })),
            ("olm.constraint", json!({ "package": package.clone() })),
            (
                "olm.constraint",
                json!({ "gvk": api, "failureMessage": "why" })
            ),
            ("unknown.required", json!({ "a": "b" })),
            ("olm.package.required", package),
        ]),
        [
            "package a in version >=1.0.0",
            "the API Widget (example.com/v1)",
            "an operator labelled `x`",
            "the API Widget (example.com/v1) (why)",
        ]
    );
}

#[test]
fn a_need_reads_after_needs() {
    let constraint = json!({ "failureMessage": "pick one", "all": { "constraints": [
        { "package": { "packageName": "a", "versionRange": "1.x" } },
        { "not": { "constraints": [{ "gvk": { "group": "", "version": "v1", "kind": "Pod" } }] } },
        { "any": {} },
        { "cel": { "rule": "properties.exists(p,\n true)" }, "failureMessage": "because" },
    ] } });
    assert_eq!(
        words(&[("olm.constraint", constraint)]),
        [
            "an operator with all of: package a in version 1.x, (none of: the API Pod (v1)), \
          (any of: nothing), the property that `properties.exists(p,  true)` holds (because) \
          (pick one)"
        ]
    );
    let rule = json!({ "cel": { "rule": "true" }, "failureMessage": "m" });
    assert_eq!(
        words(&[("olm.constraint", rule)]),
        ["an operator for which `true` holds (m)"]
    );
}

#[test]
fn long_lists_and_rules_are_told_in_short() {
    let many = vec![json!({ "package": { "packageName": "a", "versionRange": "1.x" } }); 1000];
    let told = words(&[("olm.constraint", json!({ "any": { "constraints": many } }))]);
    assert!(told[0].ends_with(" and 992 more"), "{}", told[0]);
    let rule = format!("true{}", " && true".repeat(1000));
    let told = words(&[("olm.constraint", json!({ "cel": { "rule": rule } }))]);
    assert!(told[0].ends_with("…` holds"), "{}", told[0]);
}

#[rstest]
// The older types take what they know and pass over the rest.
#[case(
    "olm.gvk.required",
    r#"{"Group":"g","VERSION":"v1","kind":"K","more":1}"#,
    "the API K (g/v1)"
)]
#[case("olm.gvk.required", "null", "the API  ()")]
#[case("olm.label.required", r#"{"label":null}"#, "an operator labelled ``")]
// Of several kinds OLM takes the first in its own order.
#[case(
    "olm.constraint",
    r#"{"cel":{"rule":"nonsense"},"package":{"packageName":"a","versionRange":"nonsense"},
        "gvk":{"group":"g","version":"v1","kind":"K"}}"#,
    "the API K (g/v1)"
)]
#[case(
    "olm.constraint",
    r#"{"not":{"constraints":[{}]},"all":null,"any":{"constraints":null},"failureMessage":null}"#,
    "an operator with any of: nothing"
)]
#[case(
    "olm.constraint",
    r#"{"PACKAGE":{"packagename":"a","VersionRange":"1.0.0"}}"#,
    "package a in version 1.0.0"
)]
fn values_are_read_as_go_reads_them(#[case] kind: &str, #[case] value: &str, #[case] means: &str) {
    let read = requirements([(kind, value)]).unwrap();
    assert_eq!(read[0].to_string(), means);
}

#[rstest]
#[case("olm.gvk.required", "[]", "`value` has to be an object, but is a list")]
#[case(
    "olm.gvk.required",
    r#"{"kind":1}"#,
    "`kind` has to be a string, but is a number"
)]
#[case(
    "olm.label.required",
    "{",
    "it is not valid JSON: EOF while parsing an object at line 1 column 1"
)]
#[case(
    "olm.package.required",
    r#"{"packageName":"a"}"#,
    r#"invalid version range "": column 1: expected a comparison such as `>=1.0.0`"#
)]
#[case("olm.constraint", "null", "the constraint is empty")]
#[case(
    "olm.constraint",
    r#"{"failureMessage":"only"}"#,
    "the constraint is empty"
)]
#[case("olm.constraint", r#"{"unknown":{}}"#, "unknown field `unknown`")]
#[case(
    "olm.constraint",
    r#"{"gvk":{"group":"g","version":"v","kind":"k","x":1}}"#,
    "gvk: unknown field `x`"
)]
// Also where it is not meant.
#[case(
    "olm.constraint",
    r#"{"gvk":{},"not":{"constraints":[{"nonsense":1}]}}"#,
    "not.constraints[0]: unknown field `nonsense`"
)]
#[case(
    "olm.constraint",
    r#"{"all":{"constraints":[{"gvk":{}},{"any":{"constraints":[{}]}}]}}"#,
    "all.constraints[1].any.constraints[0]: the constraint is empty"
)]
#[case(
    "olm.constraint",
    r#"{"all":[]}"#,
    "all: `value` has to be an object, but is a list"
)]
#[case(
    "olm.constraint",
    r#"{"all":{"constraints":{}}}"#,
    "all: `constraints` has to be a list, but is an object"
)]
#[case(
    "olm.constraint",
    r#"{"cel":{"rule":"1 +"}}"#,
    "cel: column 4: expected a value"
)]
#[case(
    "olm.constraint",
    r#"{"cel":{"rule":"1 + 1"}}"#,
    "cel: the rule has to be a boolean, but is an integer"
)]
fn a_malformed_need_is_named_with_what_is_wrong(
    #[case] kind: &str,
    #[case] value: &str,
    #[case] problem: &str,
) {
    assert_eq!(
        error(kind, value),
        format!("property {kind} cannot be understood: {problem}")
    );
}

#[test]
fn a_value_may_be_as_long_as_olm_allows() {
    let of_size = |size: usize| {
        let rest = r#"{"gvk":{},"failureMessage":""}"#.len();
        format!(
            r#"{{"gvk":{{}},"failureMessage":"{}"}}"#,
            "x".repeat(size - rest)
        )
    };
    assert!(requirements([("olm.constraint", of_size(MAX_SIZE).as_str())]).is_ok());
    let message = error("olm.constraint", &of_size(MAX_SIZE + 1));
    assert!(
        message.ends_with("it has 131073 bytes, more than 131072"),
        "{message}"
    );
}

#[rstest]
#[case(26)]
#[case(60)]
#[case(3000)]
fn constraints_that_nest_too_deep_are_refused(#[case] depth: usize) {
    let nested = |depth: usize| {
        let value = format!(
            "{}{}{}",
            r#"{"not":{"constraints":["#.repeat(depth),
            r#"{"gvk":{}}"#,
            "]}}".repeat(depth)
        );
        requirements([("olm.constraint", value.as_str())])
    };
    assert!(nested(24).is_ok());
    let message = nested(depth).unwrap_err().to_string();
    assert!(
        message.ends_with("constraints nest more than 24 levels deep"),
        "{message}"
    );
}

#[test]
fn the_patterns_of_all_rules_count_together() {
    let rule = json!({ "cel": { "rule": "'a'.matches('a')" } });
    let many = vec![rule; MAX_PATTERNS + 1];
    let value = json!({ "any": { "constraints": many } }).to_string();
    let message = error("olm.constraint", &value);
    assert!(
        message.ends_with("there are too many patterns"),
        "{message}"
    );
}
