//! Tables for what people write, and arbitrary input for the rest.

use std::cmp::Ordering;

use proptest::prelude::*;
use rstest::rstest;

use super::range::{Comparison, Operator, read};
use super::*;

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

#[rstest]
#[case("1.2.3", "1.2.3")]
#[case(" v1.2.3\n", "1.2.3")]
#[case("1", "1.0.0")]
#[case("v1.2", "1.2.0")]
#[case("01.002.0003", "1.2.3")]
#[case("1.2.00-rc.1+b", "1.2.0-rc.1+b")]
#[case("4.18.0-202510291503", "4.18.0-202510291503")]
fn tolerant_reading_forgives(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Version::parse_tolerant(text).unwrap().to_string(), expected);
}

#[rstest]
#[case("")]
#[case("vv1.0.0")]
#[case("1.2-rc1")]
#[case("1.2.3.4")]
#[case("1.2.3-")]
#[case("1.2.3-01")]
#[case("1.2.3-18446744073709551616")]
#[case("one")]
fn tolerant_reading_has_limits(#[case] text: &str) {
    let error = Version::parse_tolerant(text).unwrap_err();
    assert_eq!(error.text, text);
}

#[test]
fn strict_reading_says_what_is_missing() {
    assert_eq!(
        Version::parse("1.2").unwrap_err().to_string(),
        "invalid version \"1.2\": unexpected end of input while parsing minor version number"
    );
}

#[test]
fn the_oldest_kubernetes_has_three_numbers_or_is_not_said() {
    assert_eq!(Version::of_kubernetes(""), Ok(None));
    for text in ["1.25.0", "v1.25.0"] {
        assert_eq!(Version::of_kubernetes(text), Ok(Some(version("1.25.0"))));
    }
    for text in ["1.25", " 1.25.0", "vv1.25.0", "new"] {
        assert!(Version::of_kubernetes(text).is_err(), "{text:?}");
    }
}

#[test]
fn build_metadata_orders_only_what_is_otherwise_equal() {
    let (plain, built) = (version("1.0.0"), version("1.0.0+b"));
    assert_eq!(plain.precedence(&built), Ordering::Equal);
    assert!(plain < built);
    assert!(built < version("1.0.1"));
    assert!(version("1.0.0-rc.2") < version("1.0.0-rc.10"));
    assert!(version("1.0.0-rc.10") < version("1.0.0-rc1"));
}

#[test]
fn versions_and_ranges_are_strings_in_json() {
    let json = r#"["1.2.3-rc.1",">=1.0.0 <2.0.0","^1.2"]"#;
    let read: (Version, Range, UserRange) = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    let error = serde_json::from_str::<Range>("\"1.2\"").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("invalid version range \"1.2\": column 1"),
        "{error}"
    );
}

#[rstest]
#[case(
    ">=1.0.0 <2.0.0",
    "1.0.0 1.9.9 2.0.0-rc.1 1.5.0+build",
    "0.9.9 2.0.0 1.0.0-rc.1"
)]
#[case(">= 1.0.0 < 2.0.0", "1.0.0", "2.0.0")]
#[case(
    ">=1.0.0 <2.0.0 || 3.0.0 || >4.0.0 !4.2.1",
    "1.2.3 3.0.0 4.2.2",
    "2.1.1 3.0.1 4.0.0 4.2.1"
)]
#[case("=1.7.0", "1.7.0 1.7.0+b", "1.7.1 1.7.0-rc.1")]
#[case("==1.7.0+b", "1.7.0 1.7.0+c", "1.7.1")]
#[case("!1.7.0", "1.7.1 1.7.0-rc.1", "1.7.0")]
#[case(">=2.1.x <2.2.1", "2.1.0 2.2.0", "2.1.0-rc.1 2.2.1")]
#[case("<=1.2.x", "1.2.9 0.0.0 1.3.0-rc.1", "1.3.0")]
#[case(">1.x", "2.0.0", "1.9.9 2.0.0-rc.1")]
#[case("1.x", "1.0.0 1.9.9", "0.9.9 2.0.0")]
#[case(">1.0.0-final <1.1.0-final", "1.0.0 1.1.0-alpha", "1.0.0-final 1.1.0")]
#[case(
    ">=3.7.x <3.9.0-nightly.2",
    "3.8.0 3.9.0-nightly.1",
    "3.9.0-nightly.2 3.9.0"
)]
#[case("1.x.x", "1.0.9", "1.1.0")]
#[case("!=1.2.x", "", "1.1.0 1.2.0 1.3.0")]
#[case("^1.x", "1.0.0", "1.1.0")]
#[case("x >=1.0.0 |", "1.0.0", "0.9.0")]
fn ranges_contain_what_they_do_in_olm(
    #[case] text: &str,
    #[case] inside: &str,
    #[case] outside: &str,
) {
    let range = Range::parse(text).unwrap();
    for inside in inside.split_whitespace() {
        assert!(range.contains(&version(inside)), "{inside} in {text}");
    }
    for outside in outside.split_whitespace() {
        assert!(!range.contains(&version(outside)), "{outside} in {text}");
    }
}

#[rstest]
#[case("", 1, "expected a comparison", "")]
#[case("|| 1.0.0", 1, "expected a comparison", "`||`")]
#[case("1.0.0 || || 2.0.0", 10, "expected a comparison", "`||`")]
#[case("1.0.0 ||", 9, "expected a comparison", "`||`")]
#[case("1.0.0||2.0.0", 1, "expected a version, found `1.0.0||2.0.0`", "`||`")]
#[case(">=1.0.0, <2.0.0", 1, "expected a version, found `1.0.0,`", "comma")]
#[case(
    ">=1.0.0 && <2.0.0",
    9,
    "expected a version, found `&&`",
    "next to each other"
)]
#[case(">=1.0.0 ~>1.2.0", 9, "expected a comparison, found `~>`", "`~>1.2`")]
#[case("=>1.0.0", 1, "expected a comparison, found `=>`", "`>=`")]
#[case("^1.2.3", 1, "expected a comparison, found `^`", "`>=1.2.3 <2.0.0`")]
#[case(">=v1.0.0", 1, "expected a comparison, found `>=v`", "leading `v`")]
#[case(">=1.2", 1, "expected a version, found `1.2`: unexpected end", "")]
#[case("<=1.0.0-x86", 1, "`1.0.0-x86` with an `x` cannot stand", "")]
#[case("1.0.0 éé", 7, "expected a version, found `éé`", "")]
fn faulty_ranges_are_told_where_and_what(
    #[case] text: &str,
    #[case] column: usize,
    #[case] problem: &str,
    #[case] hint: &str,
) {
    let error = Range::parse(text).unwrap_err();
    assert_eq!(
        (error.text.as_str(), error.column),
        (text, column),
        "{error}"
    );
    assert!(error.problem.starts_with(problem), "{error}");
    assert!(
        error.hint().unwrap_or_default().contains(hint),
        "{:?}",
        error.hint()
    );
    assert_eq!(error.hint().is_some(), !hint.is_empty());
}

#[test]
fn ranges_are_equal_if_they_contain_the_same() {
    assert_eq!(Range::parse("1.2.x"), Range::parse(">= 1.2.0  <1.3.0"));
    assert!(Range::parse("1.0.0 2.0.0").unwrap().is_empty());
    assert_eq!(Range::parse(">=1.0.0 ").unwrap().to_string(), ">=1.0.0 ");
}

#[rstest]
#[case("1.2.3", "1.2.3 1.2.3+b", "1.2.4 1.2.3-rc.1")]
#[case("1.2", "1.2.0 1.2.9", "1.3.0 1.1.9 1.2.0-rc.1 1.3.0-rc.1")]
#[case("v1", "1.0.0 1.9.9", "2.0.0 0.9.0 2.0.0-rc.1")]
#[case("1.x", "1.9.9", "2.0.0")]
#[case("1.2.*", "1.2.9", "1.3.0")]
#[case("1.X.X", "1.9.9", "2.0.0")]
#[case("*", "0.0.0 9.9.9", "1.0.0-rc.1")]
#[case(">=1.2 <2", "1.2.0 1.9.9", "1.1.9 2.0.0 2.0.0-rc.1 1.5.0-rc.1")]
#[case(">1.2", "1.3.0", "1.2.9")]
#[case("<=1.2", "1.2.9", "1.3.0")]
#[case("!=1.2", "1.1.9 1.3.0", "1.2.0 1.2.9")]
#[case("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0")]
#[case("^0.2.3", "0.2.3 0.2.9", "0.3.0")]
#[case("^0.0.3", "0.0.3", "0.0.4")]
#[case("^0.0", "0.0.9", "0.1.0")]
#[case("^0", "0.9.9", "1.0.0")]
#[case("^1.2", "1.9.9", "1.1.0 2.0.0")]
#[case("~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2")]
#[case("~1.2", "1.2.0", "1.3.0")]
#[case("~ 1", "1.9.9", "2.0.0")]
#[case("1.2||^3.1", "1.2.3 3.9.9", "2.0.0")]
#[case(">=1.0.0<2.0.0", "1.5.0", "2.0.0")]
#[case(
    ">=1.0.0-rc.1 <2",
    "1.0.0-rc.2 1.0.0 1.5.0",
    "1.0.0-rc.0 1.1.0-rc.1 2.0.0-rc.1"
)]
#[case("=1.0.0-rc.1 || 2", "1.0.0-rc.1 2.0.0", "1.0.0-rc.2 2.1.0-rc.1")]
#[case("^1.2.3-rc.1", "1.2.3-rc.1 1.2.3 1.9.9", "1.2.4-rc.1 2.0.0-rc.1")]
#[case("1.2 !1.2.5", "1.2.4", "1.2.5")]
#[case("1 !=1.2.0-rc.1", "1.2.0", "1.2.0-rc.2 1.2.0-rc.1")]
#[case("<=18446744073709551615", "1.0.0", "")]
fn users_ranges_contain_what_users_expect(
    #[case] text: &str,
    #[case] inside: &str,
    #[case] outside: &str,
) {
    let range = UserRange::parse(text).unwrap();
    assert_eq!(range.to_string(), text);
    for inside in inside.split_whitespace() {
        assert!(range.contains(&version(inside)), "{inside} in {text}");
    }
    for outside in outside.split_whitespace() {
        assert!(!range.contains(&version(outside)), "{outside} in {text}");
    }
}

#[rstest]
#[case("", 1, "expected a version such as", "")]
#[case("1 || ", 6, "expected a version such as", "")]
#[case(">= ", 4, "expected a version such as", "")]
#[case("1.0.0, 2", 1, "unexpected character ',' after patch", "comma")]
#[case("~>1.2", 1, "expected a comparison, found `~>`", "`~>1.2`")]
#[case("1.2.3.4", 1, "expected up to three numbers", "")]
#[case("1.x.3", 1, "expected up to three numbers", "")]
#[case(">=1.2-rc1", 3, "`-rc1` needs all three numbers", "")]
#[case("01", 1, "expected a number, found `01`", "")]
#[case("1.two", 1, "expected a number, found `two`", "")]
#[case("1.0.0 - 2.0.0", 7, "`-` needs all three numbers", "`1.0.0 - 2.0.0`")]
fn faulty_users_ranges_are_told_where_and_what(
    #[case] text: &str,
    #[case] column: usize,
    #[case] problem: &str,
    #[case] hint: &str,
) {
    let error = UserRange::parse(text).unwrap_err();
    assert_eq!(
        (error.text.as_str(), error.column),
        (text, column),
        "{error}"
    );
    assert!(error.problem.starts_with(problem), "{error}");
    assert!(
        error.hint().unwrap_or_default().contains(hint),
        "{:?}",
        error.hint()
    );
    assert_eq!(error.hint().is_some(), !hint.is_empty());
}

fn any_version() -> impl Strategy<Value = Version> {
    let pre = prop_oneof![3 => Just(""), 1 => Just("-rc.1"), 1 => Just("-rc.2"), 1 => Just("-0")];
    let build = prop_oneof![4 => Just(""), 1 => Just("+a"), 1 => Just("+b")];
    (0..4_u64, 0..4_u64, 0..4_u64, pre, build).prop_map(|(major, minor, patch, pre, build)| {
        version(&format!("{major}.{minor}.{patch}{pre}{build}"))
    })
}

fn any_range() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["", "=", "==", "!", "!=", "<", "<=", ">", ">=", "> "]);
    let wildcard = (0..4_u64, 0..4_u64).prop_map(|(major, minor)| format!("{major}.{minor}.x"));
    let operand = prop_oneof![4 => any_version().prop_map(|v| v.to_string()), 1 => wildcard];
    let comparison =
        (operator, operand).prop_map(|(operator, version)| format!("{operator}{version}"));
    let all = prop::collection::vec(comparison, 1..4).prop_map(|all| all.join(" "));
    prop::collection::vec(all, 1..4).prop_map(|any| any.join(" || "))
}

/// The obvious way to ask.
fn holds(comparison: &Comparison, version: &Version) -> bool {
    let order = version.precedence(&comparison.version);
    match comparison.operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = (Version::parse(&text), Version::parse_tolerant(&text));
        let _ = (Range::parse(&text), UserRange::parse(&text));
    }

    #[test]
    fn any_range_like_text_is_read_or_refused(text in "[<>=!^~|xv*é0-9.+, -]{0,24}") {
        let _ = (Version::parse(&text), Version::parse_tolerant(&text));
        let _ = (Range::parse(&text), UserRange::parse(&text));
    }

    #[test]
    fn the_set_agrees_with_its_comparisons(text in any_range(), version in any_version()) {
        let range = Range::parse(&text).unwrap();
        let expected = read(&text)
            .unwrap()
            .iter()
            .any(|all| all.iter().all(|comparison| holds(comparison, &version)));
        prop_assert_eq!(range.contains(&version), expected, "{} in {}", version, text);
    }

    #[test]
    fn ranges_are_read_back_as_they_are_shown(text in any_range()) {
        let range = Range::parse(&text).unwrap();
        prop_assert_eq!(Range::parse(&range.to_string()).unwrap(), range);
    }

    #[test]
    fn releases_are_in_a_users_range_if_they_are_in_olms(text in any_range(), of in any_version()) {
        let release = Version::new(of.major(), of.minor(), of.patch());
        // OLM's `!=1.2.x` is an oddity.
        let text = text.replace('!', "=");
        let (olm, user) = (Range::parse(&text).unwrap(), UserRange::parse(&text).unwrap());
        prop_assert_eq!(user.contains(&release), olm.contains(&release), "{} in {}", release, text);
    }

    #[test]
    fn precedence_is_a_total_order(a in any_version(), b in any_version(), c in any_version()) {
        prop_assert_eq!(a.precedence(&b), b.precedence(&a).reverse());
        if a.precedence(&b).is_le() && b.precedence(&c).is_le() {
            prop_assert!(a.precedence(&c).is_le());
        }
        prop_assert_eq!(a.precedence(&b).is_eq(), a.without_build() == b.without_build());
        prop_assert_eq!(a.cmp(&b).is_eq(), a == b);
        if a.precedence(&b).is_ne() {
            prop_assert_eq!(a.precedence(&b), a.cmp(&b));
        }
    }
}

#[test]
fn a_range_of_very_many_parts_is_read() {
    let versions = (0..100_000).map(|number| format!("1.{number}.0"));
    let any = versions.clone().collect::<Vec<_>>().join(" || ");
    let any = Range::parse(&any).unwrap();
    assert!(any.contains(&Version::new(1, 99_999, 0)));
    assert!(!any.contains(&Version::new(1, 100_000, 0)));
    let none: Vec<String> = versions.map(|version| format!("!={version}")).collect();
    let none = Range::parse(&none.join(" ")).unwrap();
    assert!(!none.contains(&Version::new(1, 99_999, 0)));
    assert!(none.contains(&Version::new(1, 100_000, 0)));
}

#[test]
fn a_range_that_nobody_can_mean_is_refused_in_a_few_words() {
    let long = ["1.2.3"; 1_000].join(" || ");
    let error = UserRange::parse(&long).unwrap_err().to_string();
    assert!(
        error.contains("expected at most 1000 bytes, found"),
        "{error}"
    );
    assert!(error.len() < 500, "{error}");
    assert!(Version::parse(&long).unwrap_err().to_string().len() < 500);
}
