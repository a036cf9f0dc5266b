//! The dialect is tested with pairs of files that Go has read; limits, errors and the way back with
//! tables and with arbitrary input.

mod limits;
mod round_trip;

use std::collections::BTreeMap;

use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        (
            include_str!(concat!(
                "../../tests/fixtures/yaml_dialect/",
                $name,
                ".yaml"
            )),
            include_str!(concat!(
                "../../tests/fixtures/yaml_dialect/",
                $name,
                ".json"
            )),
        )
    };
}

#[rstest]
#[case::scalars(fixture!("scalars"))]
#[case::keys(fixture!("keys"))]
#[case::duplicates_and_merges(fixture!("duplicates_and_merges"))]
#[case::quoted_lines(fixture!("quoted_lines"))]
#[case::stream(fixture!("stream"))]
#[case::directive(fixture!("directive"))]
#[case::blocks(fixture!("blocks"))]
#[case::no_final_newline(fixture!("no_final_newline"))]
#[case::json(fixture!("json"))]
fn text_means_what_it_means_to_kubernetes(#[case] (yaml, expected): (&str, &str)) {
    let expected: Vec<Value> = serde_json::from_str(expected).unwrap();
    assert_eq!(values("fixture", yaml).unwrap(), expected);
    let crlf = yaml.replace('\n', "\r\n");
    assert_eq!(values("fixture with CRLF", &crlf).unwrap(), expected);
    let with_bom = format!("\u{feff}{yaml}");
    assert_eq!(values("fixture with BOM", &with_bom).unwrap(), expected);
}

#[rstest]
#[case("")]
#[case("# nothing\n")]
#[case("---\n---\n...\n")]
#[case("~")]
fn text_without_content_has_no_documents(#[case] text: &str) {
    assert_eq!(values("empty", text).unwrap(), Vec::<Value>::new());
    assert_eq!(from_str::<Option<String>>("empty", text).unwrap(), None);
}

#[test]
fn documents_know_their_lines() {
    let text = "# comment\na: 1\n---\n\nb: 2\n--- {c: 3}\n";
    let lines: Vec<_> = documents("x", text)
        .map(|document| document.unwrap().line())
        .collect();
    assert_eq!(lines, [2, 5, 6]);
    let text = "{\"a\": 1}\n\n{\n \"b\": 2}";
    let lines: Vec<_> = documents("x", text)
        .map(|document| document.unwrap().line())
        .collect();
    assert_eq!(lines, [1, 3]);
}

#[test]
fn the_first_error_ends_the_stream() {
    let mut documents = documents("x", "a: 1\n---\nb: [\n---\nc: 3\n");
    assert_eq!(
        documents.next().unwrap().unwrap().into_value(),
        json!({"a": 1})
    );
    assert_eq!(
        documents.next().unwrap().unwrap_err().place().unwrap().line,
        3
    );
    assert!(documents.next().is_none());
}

#[rstest]
#[case(
    "a: .inf",
    "x.yaml:1:4: `.inf` is not a number that JSON and Kubernetes know; quote it if it is text"
)]
#[case(
    "a:\n- -.NaN\n- .nan",
    "x.yaml:3:3: `.nan` is not a number that JSON and Kubernetes know; quote it if it is text"
)]
#[case(
    "a: *b",
    "x.yaml:1:4: while parsing node, found unknown anchor; expected one that was given a name with `&` before"
)]
#[case(
    "a: @b",
    "x.yaml:1:4: unexpected character: `@'; expected a value: a text that begins with this character needs quotes"
)]
#[case(
    "a: b: c",
    "x.yaml:1:5: mapping values are not allowed in this context; expected one `key: value` on a line: a text with `: ` in it needs quotes"
)]
#[case("a: &b [*b]", "x.yaml:1:8: the anchor's own value contains this alias")]
#[case(
    "[a]: b",
    "x.yaml:1:1: a mapping key must be a scalar, found a collection"
)]
#[case(
    "~: b",
    "x.yaml:1:1: null cannot be a mapping key; quote it if it is text"
)]
#[case(
    "<<: [a]",
    "x.yaml:1:5: `<<` needs a mapping or a list of mappings as its value"
)]
#[case("a: !!int 1.5", "x.yaml:1:10: `1.5` is a float, not what its tag says")]
#[case(
    "a: !!binary aGk=",
    "x.yaml:1:13: the tag `!!binary` is not supported: write the base64 text without it"
)]
#[case(
    "a: 'b\nc: d\n",
    "x.yaml:2:1: a line inside quotes; are the quotes before it closed?"
)]
#[case(
    "---\nok: 1\n---\nb: \u{7}\n",
    "x.yaml:4:4: unexpected character: `\\u{7}'; expected a value: a text that begins with this character needs quotes"
)]
fn what_cannot_be_read_is_told_with_its_place(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(values("x.yaml", text).unwrap_err().to_string(), expected);
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Operator {
    name: String,
    #[serde(default)]
    replicas: Option<u32>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    ports: Vec<Port>,
    #[serde(default)]
    policy: Option<Policy>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Port(u16);

#[derive(Debug, Deserialize, PartialEq)]
enum Policy {
    Always,
    After { seconds: f64 },
}

#[test]
fn types_are_read_straight_from_yaml() {
    let text = "name: &n a\nreplicas: 2.0\nannotations: {x.io/y: *n}\nports: [80, 0x50]\npolicy: {After: {seconds: 1}}";
    let operator: Operator = from_str("x.yaml", text).unwrap();
    assert_eq!(operator.replicas, Some(2));
    assert_eq!(operator.annotations.get("x.io/y").unwrap(), "a");
    assert_eq!(operator.ports, [Port(80), Port(80)]);
    assert_eq!(operator.policy, Some(Policy::After { seconds: 1.0 }));
    let short: Operator = from_str("x.yaml", "{name: b, policy: Always, extra: [1]}").unwrap();
    assert_eq!(short.policy, Some(Policy::Always));
}

#[rstest]
#[case(
    "name: a\nreplicas: many",
    "x.yaml:2:11: replicas: invalid type: string \"many\", expected u32"
)]
#[case("replicas: 1", "x.yaml:1:1: missing field `name`")]
#[case(
    "name: 1.10",
    "x.yaml:1:7: name: invalid type: floating point `1.1`, expected a string"
)]
#[case(
    "name: a\nports: [80,\n  70000]",
    "x.yaml:3:3: ports[1]: invalid value: integer `70000`, expected u16"
)]
#[case(
    "name: a\nannotations:\n  x.io/y: true",
    "x.yaml:3:11: annotations[\"x.io/y\"]: invalid type: boolean `true`, expected a string"
)]
#[case(
    "name: a\npolicy: Never",
    "x.yaml:2:9: policy: unknown variant `Never`, expected `Always` or `After`"
)]
#[case(
    "name: a\npolicy: {After: {seconds: x}}",
    "x.yaml:2:27: policy.After.seconds: invalid type: string \"x\", expected f64"
)]
#[case("- a", "x.yaml:1:1: invalid type: sequence, expected struct Operator")]
#[case(
    "a: 1\n---\nb: 2\n",
    "x.yaml:3:1: expected one document, found a second one (the first is on line 1)"
)]
#[case("", "x.yaml:1:1: invalid type: unit value, expected struct Operator")]
#[case(
    "{\"name\": \"a\",\n \"replicas\": []}",
    "x.yaml:1:1: replicas: invalid type: sequence, expected u32"
)]
fn what_does_not_fit_is_told_with_its_place_and_path(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(
        from_str::<Operator>("x.yaml", text)
            .unwrap_err()
            .to_string(),
        expected
    );
}

#[rstest]
#[case("1.10", "1.1")]
#[case("1.0", "1")]
#[case("7", "7")]
#[case("yes", "true")]
#[case("18446744073709551615", "18446744073709551615")]
#[case("1234567.0", "1.234567e+06")]
#[case("0.00001", "1e-05")]
#[case("'yes'", "yes")]
fn coercion_writes_strings_as_go_does(#[case] written: &str, #[case] expected: &str) {
    let text = format!("name: {written}\nannotations: {{a: {written}}}\n");
    let operator: Operator = from_str_coercing("x.yaml", &text).unwrap();
    assert_eq!(operator.name, expected);
    assert_eq!(operator.annotations.get("a").unwrap(), expected);
}
