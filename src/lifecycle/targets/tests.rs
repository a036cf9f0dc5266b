use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn spec(spec: Value) -> OperatorGroupSpec {
    serde_json::from_value(spec).unwrap()
}

fn targets(group: Value) -> Result<Vec<String>, TargetsError> {
    let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        pairs.iter().map(owned).collect()
    };
    let (red, blue, none) = (
        labels(&[("color", "red")]),
        labels(&[("color", "blue"), ("size", "big")]),
        labels(&[]),
    );
    let cluster = Namespaces::from([("z", &red), ("b", &blue), ("a", &red), ("plain", &none)]);
    Targets::of(&spec(group), &cluster).map(|targets| targets.to_status())
}

#[rstest]
#[case::neither_covers_all(json!({}), &[""])]
#[case::an_empty_selector_covers_all(json!({"selector": {}}), &[""])]
#[case::an_empty_list_covers_all(json!({"targetNamespaces": []}), &[""])]
#[case::names_are_sorted(json!({"targetNamespaces": ["b", "a"]}), &["a", "b"])]
#[case::a_name_counts_once(json!({"targetNamespaces": ["a", "a"]}), &["a"])]
#[case::a_namespace_need_not_exist(json!({"targetNamespaces": ["gone"]}), &["gone"])]
#[case::names_win(
    json!({"targetNamespaces": ["b"], "selector": {"matchLabels": {"color": "red"}}}), &["b"]
)]
#[case::names_win_even_over_a_broken_selector(
    json!({"targetNamespaces": ["b"],
           "selector": {"matchExpressions": [{"key": "color", "operator": "Is"}]}}),
    &["b"]
)]
#[case::labels_are_matched(json!({"selector": {"matchLabels": {"color": "red"}}}), &["a", "z"])]
#[case::all_labels_count(
    json!({"selector": {"matchLabels": {"color": "red", "size": "big"}}}), &[]
)]
#[case::in_any(
    json!({"selector": {"matchExpressions": [
        {"key": "color", "operator": "In", "values": ["red", "blue"]}]}}),
    &["a", "b", "z"]
)]
#[case::not_in_matches_what_lacks_the_label(
    json!({"selector": {"matchExpressions": [
        {"key": "color", "operator": "NotIn", "values": ["red"]}]}}),
    &["b", "plain"]
)]
#[case::exists(
    json!({"selector": {"matchExpressions": [{"key": "size", "operator": "Exists"}]}}), &["b"]
)]
#[case::does_not_exist(
    json!({"selector": {"matchExpressions": [{"key": "color", "operator": "DoesNotExist"}]}}),
    &["plain"]
)]
fn a_group_covers_what_it_names_or_selects(#[case] group: Value, #[case] expected: &[&str]) {
    assert_eq!(targets(group).unwrap(), expected);
}

#[rstest]
#[case(
    json!({"targetNamespaces": ["a", ""]}),
    "TargetNamespaces cannot contain NamespaceAll: [a ]"
)]
#[case(
    json!({"targetNamespaces": [""]}),
    "TargetNamespaces cannot contain NamespaceAll: []"
)]
#[case(
    json!({"selector": {"matchExpressions": [{"key": "color", "operator": "In"}]}}),
    "spec.selector cannot be understood: `color` In needs values"
)]
#[case(
    json!({"selector": {"matchExpressions": [
        {"key": "color", "operator": "Exists", "values": ["red"]}]}}),
    "spec.selector cannot be understood: `color` Exists takes no values"
)]
#[case(
    json!({"selector": {"matchExpressions": [{"key": "color", "operator": "Is"}]}}),
    "spec.selector cannot be understood: `Is` for `color` is not one of"
)]
fn what_makes_no_sense_is_refused_in_words(#[case] group: Value, #[case] message: &str) {
    let error = targets(group).unwrap_err().to_string();
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn a_status_survives_a_round_trip() {
    for namespaces in [&[""][..], &[], &["a"], &["a", "b"]] {
        let namespaces: Vec<String> = namespaces.iter().map(ToString::to_string).collect();
        assert_eq!(Targets::from_status(&namespaces).to_status(), namespaces);
    }
}

fn named(names: &[&str]) -> Targets {
    Targets::Named(names.iter().map(ToString::to_string).collect())
}

#[rstest]
#[case(Targets::All, Targets::All, true)]
#[case(Targets::All, named(&["a"]), true)]
#[case(Targets::All, named(&[]), false)]
#[case(named(&["a", "b"]), named(&["b", "c"]), true)]
#[case(named(&["a"]), named(&["b"]), false)]
#[case(named(&[]), named(&[]), false)]
fn two_groups_intersect_if_they_share_a_namespace(
    #[case] left: Targets,
    #[case] right: Targets,
    #[case] expected: bool,
) {
    assert_eq!(left.intersects(&right), expected);
    assert_eq!(right.intersects(&left), expected);
}

fn modes(list: &[(&str, bool)]) -> Vec<InstallMode> {
    let mode = |&(type_, supported): &(&str, bool)| InstallMode {
        type_: InstallModeType::from(type_),
        supported,
    };
    list.iter().map(mode).collect()
}

fn judged(list: &[(&str, bool)], targets: &[&str]) -> Result<(), InstallModeError> {
    let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
    check_install_modes(&modes(list), "own", &targets)
}

const OWN: (&str, bool) = ("OwnNamespace", true);
const SINGLE: (&str, bool) = ("SingleNamespace", true);
const MULTI: (&str, bool) = ("MultiNamespace", true);
const EVERY: (&str, bool) = ("AllNamespaces", true);

#[rstest]
#[case(&[OWN], &["own"])]
#[case(&[SINGLE], &["other"])]
#[case(&[EVERY], &[""])]
#[case(&[MULTI], &["a", "b"])]
#[case(&[MULTI, OWN], &["a", "own"])]
fn an_operator_serves_what_its_modes_allow(
    #[case] list: &[(&str, bool)],
    #[case] targets: &[&str],
) {
    assert_eq!(judged(list, targets), Ok(()));
}

#[rstest]
#[case::own(
    &[SINGLE, MULTI, EVERY], &["own"],
    "OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"
)]
#[case::single(
    &[OWN, MULTI, EVERY], &["other"],
    "SingleNamespace InstallModeType not supported, cannot configure to watch one namespace"
)]
#[case::all(
    &[OWN, SINGLE, MULTI], &[""],
    "AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces"
)]
#[case::several(
    &[OWN, SINGLE, EVERY], &["a", "b", "c"],
    "MultiNamespace InstallModeType not supported, cannot configure to watch 3 namespaces"
)]
#[case::own_among_several(
    &[SINGLE, MULTI, EVERY], &["a", "own"],
    "OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"
)]
#[case::listed_as_unsupported(
    &[("OwnNamespace", false)], &["own"],
    "OwnNamespace InstallModeType not supported, cannot configure to watch own namespace: the \
     operator supports no install mode;"
)]
#[case::nothing(
    &[OWN, SINGLE, MULTI, EVERY], &[],
    "operatorgroup has invalid selected namespaces, cannot configure to watch zero namespaces"
)]
#[case::all_among_others(
    &[OWN, SINGLE, MULTI, EVERY], &["", "a"],
    "operatorgroup has invalid selected namespaces, NamespaceAll found when |selected namespaces| > 1"
)]
fn what_no_mode_allows_is_told_in_the_words_of_olm(
    #[case] list: &[(&str, bool)],
    #[case] targets: &[&str],
    #[case] message: &str,
) {
    let error = judged(list, targets).unwrap_err();
    assert!(error.to_string().starts_with(message), "{error}");
    assert_eq!(error.reason(), CsvReason::UnsupportedOperatorGroup);
}

#[test]
fn a_mode_that_is_listed_twice_makes_the_list_invalid() {
    let error = judged(&[OWN, ("OwnNamespace", false)], &["own"]).unwrap_err();
    let message = "InstallMode list contains duplicates, cannot make set: \
                   [{OwnNamespace true} {OwnNamespace false}]";
    assert!(error.to_string().starts_with(message), "{error}");
    assert_eq!(error.reason(), CsvReason::InvalidInstallModes);
}

#[test]
fn what_the_operator_supports_is_told() {
    let error = judged(&[SINGLE, ("MultiNamespace", false), EVERY], &["own"]).unwrap_err();
    let told = "the operator supports SingleNamespace, AllNamespaces;";
    assert!(error.to_string().contains(told), "{error}");
}
