//! Hostile and large input.

use std::fmt::Write as _;

use proptest::prelude::*;
use rstest::rstest;

use crate::yaml::*;

fn bomb() -> String {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(", ");
        writeln!(text, "a{n}: &a{n} [{aliases}]").unwrap();
    }
    text
}

fn chain() -> String {
    let mut text = String::from("a0: &a0 [x]\n");
    for n in 1..500 {
        writeln!(text, "a{n}: &a{n} [*a{}]", n - 1).unwrap();
    }
    text
}

#[rstest]
#[case::bomb(bomb())]
#[case::long_text(format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(2_000)))]
#[case::merges(format!("a: &a {{{}}}\nb: [{}]", "k: v, ".repeat(2_000), "{<<: *a}, ".repeat(40_000)))]
#[case::chain_of_aliases(chain())]
#[case::flow("[".repeat(100_000))]
#[case::flow_mappings("{a: ".repeat(100_000))]
#[case::block("- ".repeat(100_000))]
#[case::json("{\"a\":".repeat(100_000))]
#[case::indentation((0..2_000).map(|n| " ".repeat(n) + "a:\n").collect::<String>())]
fn what_would_grow_without_bounds_is_refused(#[case] text: String) {
    let error = values("hostile", &text).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
}

#[test]
fn nesting_is_allowed_as_deep_as_json_may_be() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth| open.repeat(depth) + "1" + &close.repeat(depth);
        let value = values("deep", &nested(MAX_DEPTH)).unwrap();
        let json = serde_json::to_string(value.first().unwrap()).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        assert!(values("deeper", &nested(MAX_DEPTH + 1)).is_err());
    }
}

#[test]
fn aliases_within_reason_are_allowed() {
    let text = format!("a: &a {{b: [1, 2, 3]}}\nc: [{}]", "*a, ".repeat(1_000));
    let value = values("aliases", &text).unwrap();
    assert_eq!(value[0]["c"].as_array().unwrap().len(), 1_000);
}

#[test]
fn a_large_catalog_is_read() {
    let document = "---\nschema: olm.bundle\nname: operator.v1.0.0\nproperties:\n- {type: olm.package, value: {packageName: operator, version: 1.0.0}}\n";
    let count = 16 * 1024 * 1024 / document.len() / if cfg!(debug_assertions) { 8 } else { 1 };
    let text = document.repeat(count);
    assert_eq!(documents("catalog", &text).flatten().count(), count);
}

#[test]
fn many_quoted_texts_are_mended() {
    let mut text = String::new();
    for n in 0..300 {
        write!(
            text,
            "k{n}:
  a: 'b
  c

  d'
"
        )
        .unwrap();
    }
    let value = values("quoted", &text).unwrap();
    assert_eq!(value[0]["k299"]["a"], "b c\nd");
}

#[test]
fn quotes_that_never_close_are_not_mended_for_ever() {
    let text = format!("a:\n  b: 'c\n{}", "d\n".repeat(100_000));
    assert!(values("unclosed", &text).is_err());
}

/// Pieces that YAML gives a meaning to.
fn yaml_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b: ", "- ", ": ", "\n", "\n  ", "\n    ", "'", "\"", "[", "]", "{", "}", ", ", "# c",
        "\t", "|", ">-", "&a ", "*a", "!!str ", "!t ", "---", "\n---\n", "...", "? ", "<<: ", "\\",
        "1", "0x", "~", "%", "\r", "\u{85}", "\u{2028}", "\u{feff}", "\u{0}", "é", "😀",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = values("any", &text);
        let _ = from_str::<std::collections::BTreeMap<String, String>>("any", &text);
    }

    #[test]
    fn any_yaml_like_text_is_read_or_refused(text in yaml_like()) {
        let _ = values("any", &text);
        let _ = from_str_coercing::<std::collections::BTreeMap<String, String>>("any", &text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = values("any", &String::from_utf8_lossy(&bytes));
    }
}
