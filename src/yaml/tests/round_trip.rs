//! What is written is read back.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, Number, Value, json};

use crate::yaml::*;

#[rstest]
#[case("yes")]
#[case("y")]
#[case("Off")]
#[case("null")]
#[case("~")]
#[case("010")]
#[case("0x1f")]
#[case("1_000")]
#[case("1e3")]
#[case(".5")]
#[case("1.0")]
#[case(".inf")]
#[case("2001-01-01")]
#[case("<<")]
#[case("=")]
#[case("")]
#[case(" blank")]
#[case("# comment")]
#[case("- list")]
#[case("a: b")]
#[case("---")]
#[case("\ttab\nand line")]
#[case("\n\ttab")]
#[case("a\u{85}b\u{2028}c\u{feff}\u{7}")]
fn strings_that_look_like_something_else_stay_strings(#[case] text: &str) {
    let value = json!({ text: text, "list": [text] });
    let yaml = to_string(&value).unwrap();
    assert_eq!(values("written", &yaml).unwrap(), [value], "{yaml}");
}

#[test]
fn yaml_is_written_as_people_of_kubernetes_write_it() {
    let value = json!({
        "name": "operator", "y": "yes", "empty": {}, "none": [], "null": null,
        "list": [{"a": 1, "b": [true, 1.5]}, "x"],
        "text": "one\ntwo\n",
        "image": format!("registry.example.com/team/operator@sha256:{}", "0123456789abcdef".repeat(4)),
    });
    let expected = "\
name: operator
\"y\": \"yes\"
empty: {}
none: []
\"null\": null
list:
- a: 1
  b:
  - true
  - 1.5
- x
text: |
  one
  two
image: registry.example.com/team/operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
";
    assert_eq!(to_string(&value).unwrap(), expected);
}

#[test]
fn what_json_cannot_hold_is_not_written() {
    let error = to_string(&std::collections::BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot be written as YAML: key must be a string"
    );
}

/// Whole floats come back as integers.
fn any_float() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("whole or infinite", |float| {
        float.fract() != 0.0 && float.is_finite()
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+._0-9a-zA-Z:#'\" \t\n~!&*|>%@{}\\[\\],?]{0,8}",
        "( {0,3}[a-z\t]{0,3}\n{0,2}){0,4}",
    ]
}

fn value(floats: impl Strategy<Value = f64> + 'static) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|int| Value::Number(int.into())),
        any::<u64>().prop_map(|int| Value::Number(int.into())),
        floats.prop_map(|float| Number::from_f64(float).map_or(Value::Null, Value::Number)),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_read_back_as_it_was_written(value in value(any_float())) {
        let yaml = to_string(&value).unwrap();
        prop_assert_eq!(from_str::<Value>("written", &yaml).unwrap(), value, "{}", yaml);
    }

    #[test]
    fn json_is_read_as_json(value in value(Just(0.5))) {
        // `serde_json` may miss the last digit of other floats.
        let value = json!({ "value": value });
        let json = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(from_str::<Value>("json", &json).unwrap(), value, "{}", json);
    }
}
