use proptest::prelude::*;
use rstest::rstest;

use super::Curation;

fn allows(patterns: &[&str], package: &str) -> bool {
    Curation::new(patterns).unwrap().allows(package)
}

#[test]
fn without_patterns_everything_is_offered() {
    assert!(allows(&[], "etcd"));
    assert!(Curation::default().allows("etcd"));
}

#[rstest]
#[case("cert-manager", "cert-manager", true)]
#[case("cert-manager", "cert-manager-2", false)]
#[case("cert-manager", "my-cert-manager", false)]
#[case("harbor-*", "harbor-operator", true)]
#[case("harbor-*", "harbor-", true)]
#[case("harbor-*", "harbor", false)]
#[case("*", "anything", true)]
#[case("*-operator", "etcd-operator", true)]
#[case("*-operator", "etcd-operator-2", false)]
#[case("*a*b*c", "xaxbxbxc", true)]
#[case("*a*b*c", "xaxbxbxcx", false)]
#[case("a**b", "ab", true)]
#[case("postgres-v?", "postgres-v5", true)]
#[case("postgres-v?", "postgres-v", false)]
#[case("postgres-v?", "postgres-v15", false)]
#[case("v[1-3]", "v2", true)]
#[case("v[1-3]", "v4", false)]
#[case("v[!1-3]", "v4", true)]
#[case("v[^1-3]", "v3", false)]
#[case("v[]x]", "v]", true)]
#[case("v[a-]", "v-", true)]
#[case("3scale.operator", "3scaleXoperator", false)]
#[case("Etcd", "etcd", false)]
fn a_pattern_fits_the_whole_name(#[case] pattern: &str, #[case] package: &str, #[case] fits: bool) {
    assert_eq!(allows(&[pattern], package), fits);
}

#[test]
fn one_fitting_pattern_is_enough() {
    assert!(allows(&["a", "b*"], "bc"));
    assert!(!allows(&["a", "b*"], "c"));
}

#[rstest]
#[case("", "it is empty; write `*` for all packages")]
#[case("a[bc", "`[` is not closed by `]`")]
#[case("a[]", "`[` is not closed by `]`")]
#[case("a[c-b]", "the range between `[` and `]` runs backwards")]
#[case("a b", "it has a blank in it; write one pattern per entry")]
#[case(
    "{a,b}",
    "patterns have `*`, `?` and `[…]`, and names of packages no such sign"
)]
fn a_wrong_pattern_is_named_with_what_is_wrong(#[case] pattern: &str, #[case] problem: &str) {
    let error = Curation::new(&["fine", pattern]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("`{pattern}` in spec.packages is no pattern: {problem}")
    );
}

#[test]
fn many_stars_take_no_long_time() {
    let pattern = "*a".repeat(60) + "b";
    assert!(!allows(&[&pattern], &"a".repeat(20_000)));
}

/// The definition of a pattern, without care for time.
fn naive(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            naive(rest, name) || !name.is_empty() && naive(pattern, &name[1..])
        }
        ([b'?', rest @ ..], [_, after @ ..]) => naive(rest, after),
        ([char, rest @ ..], [first, after @ ..]) => char == first && naive(rest, after),
        _ => false,
    }
}

proptest! {
    #[test]
    fn patterns_mean_what_the_definition_says(pattern in "[ab*?]{1,8}", name in "[ab]{0,10}") {
        prop_assert_eq!(
            allows(&[&pattern], &name),
            naive(pattern.as_bytes(), name.as_bytes())
        );
    }

    #[test]
    fn no_pattern_panics(pattern in r"[a-c*?\[\]!^é-]{0,12}|\PC{0,12}", name in r"\PC{0,12}") {
        if let Ok(curation) = Curation::new(&[pattern]) {
            curation.allows(&name);
        }
    }
}
