use kube_cel::cel::{Context, Program, Value as Oracle};
use proptest::prelude::*;
use rstest::rstest;

use super::{MAX_PATTERNS, QUESTION, Rule, Value};
use crate::resolver::budget::Budget;

fn value(properties: &[(String, String)]) -> Value {
    let properties = properties.iter();
    Value::of_properties(properties.map(|(kind, value)| (kind.as_str(), value.as_str())))
}

/// Properties as bundles have them, one of them broken.
fn properties() -> Vec<(String, String)> {
    [
        ("olm.package", r#"{"packageName":"x","version":"1.0.1"}"#),
        (
            "olm.gvk",
            r#"{"group":"example.com","version":"v1","kind":"Widget"}"#,
        ),
        ("numbers", r#"{"one":1,"half":0.5,"version":1.5}"#),
        ("text", r#""certified""#),
        ("list", r#"["a","b",3,null,{"deep":[true]}]"#),
        ("nothing", "null"),
        ("broken", "{"),
    ]
    .map(|(kind, value)| (kind.to_owned(), value.to_owned()))
    .to_vec()
}

fn compile(rule: &str) -> Result<Rule, String> {
    Rule::compile(rule, &mut { MAX_PATTERNS })
}

fn holds(rule: &str, properties: &[(String, String)]) -> bool {
    let compiled = compile(rule).unwrap_or_else(|error| panic!("{rule}: {error}"));
    compiled.holds(&value(properties), &Budget::new(QUESTION))
}

/// What OLM's own evaluator says of them, asked once for this table.
const HOLD: &[&str] = &[
    r#"properties.exists(p, p.type == "olm.package" && p.value.packageName == "x" && (semver_compare(p.value.version, "1.0.1") == 0))"#,
    r#"properties.exists(p, p.type == "olm.gvk" && p.value == {"group": "example.com", "version": "v1", "kind": "Widget"})"#,
    r#"properties.exists(p, has(p.value.packageName) && p.value.packageName.startsWith("x"))"#,
    r#"properties.exists(p, p.type == "text" && p.value in ["certified", "community"])"#,
    r#"properties.exists(p, p.value.version == "v1")"#,
    r#"properties.exists(p, semver_compare(p.value.version, "v1.0") > 0)"#,
    r#"properties.exists(p, p.type == "numbers" && semver_compare(p.value.version, 1.5) == 0)"#,
    r#"properties.exists(p, p.type == "numbers" && p.value.one == 1)"#,
    r#"properties.exists(p, p.type == "numbers" && p.value.one < 2 && p.value.half > 0)"#,
    r#"properties.exists(p, p.type == "numbers" && p.value.half < 1)"#,
    r#"properties.exists(p, p.type == "nothing" && p.value == null)"#,
    r#"properties.exists(p, p.type == "list" && dyn(p.value).exists(i, i == 3))"#,
    r#"properties.exists(p, p.type == "list" && p.value[4].deep[0])"#,
    r#"properties.exists(p, p.type == "list" && size(p.value) == 5 && p.value.size() == 5)"#,
    r#"properties.exists(p, p.type == "olm.gvk" && dyn(p.value).exists(key, key == "kind"))"#,
    r#"properties.exists(p, p.type == "text" && p.value.matches("^cert.*d$"))"#,
    r#"properties.exists(p, p.type == 'text' && p.value.endsWith('fied') && p.value.contains("tif"))"#,
    r#""a1".matches("^\\w\\d$") && !"a-".matches("^\\w{2}$") && "abc".matches("b")"#,
    r#"properties[0].type == "olm.package""#,
    r#"properties[0].value["packageName"] == "x""#,
    r#"!properties[0].value.packageName.startsWith("y")"#,
    "size(properties) == 7",
    r#"size(properties.filter(p, has(p.type) && p.type.startsWith("olm."))) == 2"#,
    r#"properties.filter(p, has(p.type)).map(p, p.type)[1] == "olm.gvk""#,
    r#"properties.filter(p, has(p.type)).map(p, p.type.startsWith("olm"), p.type).size() == 2"#,
    r#"properties.map(p, has(p.type) ? p.type : "?").exists_one(t, t == "?")"#,
    "!properties.all(p, has(p.type))",
    "properties.exists(p, p.nonsense) || true",
    r#"properties[99].type == "x" || properties[0].type == "olm.package""#,
    r#"!(properties[99].type == "x" && properties[0].type == "y")"#,
    r#"semver_compare("1.2", "1.2.0") == 0 && semver_compare("1.2.0-rc.1", "1.2.0") == -1"#,
    r#"semver_compare("v1.10.0", "1.9.0") == 1 && semver_compare("1.0.0+a", "1.0.0+b") == 0"#,
    "semver_compare(2, 1) == 1",
    "1 + 2 * 3 - 4 == 3 && 7 / 2 == 3 && 7 % 4 == 3 && -7 / 2 == -3",
    "1.5 + 0.5 == 2.0 && 3u + 4u == 7u && 0x1F == 31",
    "-9223372036854775808 < 0",
    r#""a" + 'b' + """c""" + '''d''' == "abcd""#,
    r#""\x41\u00e9\U0001F600\101\n\"" == "Aé😀A" + '\x0a"'"#,
    r#"r"\d" == "\\d" && b"\x00\377" == b"\000\xff""#,
    r#"1 in [1, 2] && !(3 in [1, 2]) && "a" in {"a": 1} && !("b" in {"a": 1})"#,
    r#"{"a": 1}.a == 1 && {1: "x"}[1] == "x" && has({"a": 1}.a) && !has({"a": 1}.b)"#,
    "[1, 2] + [3] == [1, 2, 3] && [] == [] && [[1]] != [[2]]",
    "true ? true : false",
    "1 < 2 ? 2 < 3 : 4 < 3",
    "false ? false : true ? true : false",
    "!!true && !(!!false)",
    r#"string(1) == "1" && int("7") == 7 && double("1.5") == 1.5 && uint(3) == 3u && bool("true")"#,
    r#"string(1.5) == "1.5" && int(2.9) == 2 && string(true) == "true" && bytes("a") == b"a""#,
    r#"dyn(1) == dyn(1u) && dyn(1) == dyn(1.0) && dyn("1") != dyn(1)"#,
    "[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, [3, 2].exists(y, x == y))",
    "[1, 2].all(x, [1].all(x, x == 1) && x > 0)",
    r#""é".size() == 1 && b"é".size() == 2"#,
    "true // and the rest is a comment",
    "  true\n\t&& true",
];

const HOLD_NOT: &[&str] = &[
    r#"properties.exists(p, p.type == "olm.package" && p.value.packageName == "y")"#,
    r#"properties.exists(p, p.type == "olm.package" && semver_compare(p.value.version, "2.0.0") >= 0)"#,
    r#"properties.all(p, p.type == "olm.package")"#,
    r#"properties.exists(p, p.value.missing == "v1")"#,
    "properties.all(p, has(p.value.version))",
    "!properties.exists(p, p.value.missing == 1)",
    r#"properties.exists_one(p, p.value.version == "v1")"#,
    r#"size(properties.filter(p, p.value.version == "v1")) == 1"#,
    r#"properties[99].type == "x""#,
    r#"properties[-1].type == "x""#,
    r#"properties[3].value.version == "x" || false"#,
    "has(properties[3].value.version)",
    r#"semver_compare("x", "1.0.0") != 0"#,
    r#"semver_compare(true, "1.0.0") != 0"#,
    r#"semver_compare("1.0-rc", "1.0.0") != 5"#,
    "1 / 0 == 1",
    "1 % 0 == 1",
    "9223372036854775807 + 1 > 0",
    "0u - 1u == 0u",
    r#"dyn("a") < dyn(1)"#,
    r#"dyn(1) + dyn("a") == dyn(2)"#,
    "properties[3].value + 1 == 2",
    r#"int("x") == 1"#,
    r#"bool("maybe")"#,
    r#"{"a": 1}["b"] == 1"#,
    "dyn(properties[3].value).exists(x, true)",
];

/// What OLM refuses to compile as well.
const REFUSED: &[&str] = &[
    "",
    "1 + 1",
    r#""text""#,
    "properties",
    "properties[0].value",
    "properties[0].type ? true : properties[0].value",
    r#"semver_compare("1", "2")"#,
    r#"1 == "a""#,
    r#""a" == null"#,
    r#""a" < 1"#,
    "1 < 2.0",
    r#""a" + 1 == "a1""#,
    "true && 1 > 0 && 5",
    "!1 == 2",
    r#"-"a" == 1"#,
    "1 ? true : false",
    "true ? 1 : false",
    "p.type == 'x'",
    "nonsense(properties)",
    "properties.nonsense()",
    "properties.nonsense",
    "properties.exists(p, p.type)  &&",
    "properties.exists(p.type, true)",
    "properties.exists(p, size(p))",
    "properties.exists(p)",
    "properties.exists(p, true) p",
    r#"has("a")"#,
    "has(properties)",
    "size(1) == 1",
    r#"size("a", "b") == 1"#,
    r#"semver_compare("1.0.0") == 0"#,
    r#""a".contains(1)"#,
    r#"1 in "a""#,
    "1[0] == 1",
    "[1]['a'] == 1",
    "(true",
    "true)",
    "[1, 2 == [1]",
    "{1: 2 == {}",
    r#""open == "x"#,
    "'a\nb' == ''",
    r"'\q' == ''",
    r"'\x4' == ''",
    r"'\ud800' == ''",
    "99999999999999999999 > 1",
    "9223372036854775808 > 1",
    "1e999 > 1.0",
    "true = true",
    "true & true",
    "true ? true",
    "size(properties,) == 1",
    "$",
    "é == 1",
];

#[test]
fn a_rule_holds_where_it_does_for_olm() {
    for rule in HOLD {
        assert!(holds(rule, &properties()), "{rule}");
    }
}

#[test]
fn a_macro_goes_through_the_value_of_a_property() {
    // OLM wants `dyn(p.value)` here.
    let rule = "properties.exists(p, p.type == 'list' && p.value.exists(item, item == 'b'))";
    assert!(holds(rule, &properties()));
}

#[test]
fn a_rule_that_cannot_be_answered_does_not_hold() {
    for rule in HOLD_NOT {
        assert!(!holds(rule, &properties()), "{rule}");
    }
}

#[test]
fn a_rule_that_is_wrong_or_not_boolean_is_refused() {
    for rule in REFUSED {
        assert!(compile(rule).is_err(), "{rule}");
    }
}

#[rstest]
#[case("1 + 1", "the rule has to be a boolean, but is an integer")]
#[case("properties[0].value", "the rule has to be a boolean, but is anything")]
#[case("p.type == 'x'", "column 1: there is no `p`; there are `properties`")]
#[case("true && nonsense(1)", "column 19: there is no function `nonsense`")]
#[case("(true", "column 6: expected `)`")]
#[case("é", "column 1: `é` means nothing here")]
#[case(
    "'é' == 1",
    "column 8: a string and an integer do not go together here"
)]
#[case("'x'.matches('(')", "column 16: `(` is no pattern: ")]
fn a_refusal_says_where_and_why(#[case] rule: &str, #[case] words: &str) {
    let error = compile(rule).unwrap_err();
    assert!(error.starts_with(words), "{error}");
}

#[rstest]
#[case::parentheses(format!("{}true{}", "(".repeat(5000), ")".repeat(5000)))]
#[case::open_parentheses("(".repeat(50_000))]
#[case::lists(format!("{}1{} == []", "[".repeat(5000), "]".repeat(5000)))]
#[case::maps(format!("{}1{} == {{}}", "{1:".repeat(5000), "}".repeat(5000)))]
#[case::macros(format!("{}true{}", "[1].exists(x,".repeat(5000), ")".repeat(5000)))]
#[case::fields(format!("properties[0]{} == 1", ".a".repeat(20_000)))]
#[case::indices(format!("properties[0].type{} == 1", "[0]".repeat(20_000)))]
#[case::sums(format!("1{} == 1", "+1".repeat(20_000)))]
#[case::negations(format!("{}true", "!".repeat(50_000)))]
#[case::signs(format!("{}1 == 1", "-".repeat(50_000)))]
#[case::choices(format!("{}true", "true ? true : ".repeat(5000)))]
#[case::conversions(format!("{}true{}", "bool(".repeat(5000), ")".repeat(5000)))]
fn a_rule_that_nests_too_deep_is_refused(#[case] rule: String) {
    let error = compile(&rule).unwrap_err();
    assert!(error.contains("levels deep"), "{error}");
}

#[test]
fn a_long_chain_is_not_a_deep_one() {
    let rule = format!(
        "false{}",
        " || properties[0].type == 'olm.package' && true".repeat(2000)
    );
    assert!(holds(&rule, &properties()));
}

#[test]
fn patterns_are_few_small_and_written_out() {
    let many = ["'a'.matches('a')"; MAX_PATTERNS + 1].join(" && ");
    assert!(
        compile(&many)
            .unwrap_err()
            .ends_with("there are too many patterns")
    );
    let large = compile("'a'.matches('((a{100}){100}){100}')").unwrap_err();
    assert!(large.contains("is no pattern"), "{large}");
    let from_outside = compile("'a'.matches(properties[0].type)").unwrap_err();
    assert!(
        from_outside.ends_with("has to be written out"),
        "{from_outside}"
    );
}

/// As many properties as a hostile bundle may have, with long texts in them.
fn many_properties() -> Vec<(String, String)> {
    let text = "a".repeat(1000);
    (0..2000)
        .map(|index| ("x".to_owned(), format!("[\"{text}\",{index}]")))
        .collect()
}

#[rstest]
#[case::nested("properties.all(a, properties.all(b, properties.all(c, properties.all(d, true))))")]
#[case::growing_lists(
    "size([properties].map(a, a + a).map(b, b + b + b).map(c, c + c + c).map(d, d + d + d)) > 0"
)]
#[case::growing_texts(
    "[string(properties[0].value[0])].map(a, a + a + a + a).map(b, b + b + b + b) \
     .map(c, c + c + c + c).map(d, d + d + d + d).map(e, e + e + e + e).map(f, f + f + f + f) \
     .size() > 0"
)]
#[case::comparisons("properties.all(a, properties == properties)")]
#[case::patterns("properties.all(a, a.value[0].matches('^(a|aa|aaa)*a?a?a?b?$'))")]
#[case::searches("properties.all(a, properties.all(b, a.value[0].contains(b.value[0])))")]
#[case::memberships("properties.all(a, a in properties)")]
fn a_rule_that_takes_too_many_steps_does_not_hold(#[case] rule: &str) {
    let budget = Budget::new(QUESTION);
    let compiled = compile(rule).unwrap();
    assert!(!compiled.holds(&value(&many_properties()), &budget));
    assert!(budget.is_spent());
}

#[test]
fn an_exhausted_budget_turns_no_rule_around() {
    let slow = "properties.all(a, properties.all(b, properties.all(c, true)))";
    for rule in [
        format!("!({slow})"),
        format!("({slow}) || true"),
        format!("({slow}) ? true : true"),
    ] {
        assert!(!holds(&rule, &many_properties()), "{rule}");
    }
}

/// Rules that have an answer for sure, without more brackets than needed.
fn rule() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0..20_i64).prop_map(|number| number.to_string()),
        (1..20_i64).prop_map(|number| format!("-{number}")),
        Just("size(properties)".to_owned()),
        Just("size([1, 2] + [3])".to_owned()),
    ];
    let number = number.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["+", "-", "*"]),
                inner.clone()
            )
                .prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
            (
                inner.clone(),
                1..9_i64,
                prop::sample::select(vec!["/", "%"])
            )
                .prop_map(|(a, b, sign)| format!("{a} {sign} {b}")),
            inner.prop_map(|a| format!("({a})")),
        ]
    });
    let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let text = prop::sample::select(vec![
        "'olm.gvk'",
        "properties[0].type",
        r#""a" + 'b'"#,
        "properties.map(p, p.type)[1]",
    ]);
    let leaf = prop_oneof![
        Just("true".to_owned()),
        Just("false".to_owned()),
        (number.clone(), comparison.clone(), number)
            .prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        (text.clone(), comparison, text.clone()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        text.prop_map(|text| format!("{text} in ['olm.gvk', 'ab']")),
        Just("properties.exists(p, p.type == 'olm.gvk' && p.value.kind == 'Widget')".to_owned()),
        Just("properties.exists_one(p, has(p.value.kind))".to_owned()),
        Just("properties.filter(p, p.type == 'x').size() == 0".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["&&", "||"]),
                inner.clone()
            )
                .prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            inner.prop_map(|a| format!("properties.all(p, {a})")),
        ]
    })
}

/// The same question to another interpreter.
fn oracle(rule: &str) -> Option<bool> {
    let mut context = Context::default();
    let properties: Vec<Oracle> = [("olm.package", "name", "x"), ("olm.gvk", "kind", "Widget")]
        .map(|(kind, field, value)| {
            let value = std::collections::HashMap::from([(field, Oracle::from(value))]);
            std::collections::HashMap::from([
                ("type", Oracle::from(kind)),
                ("value", Oracle::from(value)),
            ])
            .into()
        })
        .to_vec();
    context.add_variable_from_value("properties", properties);
    match Program::compile(rule).unwrap().execute(&context) {
        Ok(Oracle::Bool(answer)) => Some(answer),
        _ => None,
    }
}

#[test]
fn rules_mean_what_another_interpreter_takes_them_for() {
    let properties = [
        ("olm.package".to_owned(), r#"{"name":"x"}"#.to_owned()),
        ("olm.gvk".to_owned(), r#"{"kind":"Widget"}"#.to_owned()),
    ];
    let test = move || {
        proptest!(|(rule in rule())| {
            prop_assert_eq!(oracle(&rule), Some(holds(&rule, &properties)), "{}", rule);
        });
    };
    // The other one needs more stack for a few brackets than a test has.
    let run = std::thread::Builder::new().stack_size(1 << 28).spawn(test);
    run.unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in r#"[a-z0-9.()\[\]{}'"\\!?:,&|<>=+*/% -]{0,60}|\PC{0,40}"#) {
        let _ = compile(&text);
    }

    #[test]
    fn words_in_any_order_are_read_or_refused(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "properties", "p", ".", "exists", "all", "map", "(", ")", "[", "]", "{", "}", ",", ":",
                "?", "true", "1", "1u", "1.5", "'a'", "==", "<", "&&", "||", "!", "-", "in", "has",
                "size", "string", "null", "matches",
            ]),
            0..24,
        )
    ) {
        if let Ok(rule) = compile(&words.join(" ")) {
            rule.holds(&value(&properties()), &Budget::new(QUESTION));
        }
    }
}
