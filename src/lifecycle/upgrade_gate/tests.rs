use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn condition(overrides: &Value, spec: &Value, status: &Value) -> OperatorCondition {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v2",
        "kind": "OperatorCondition",
        "metadata": {"name": "csv1", "namespace": "ns", "generation": 3},
        "spec": {"overrides": overrides, "conditions": spec},
        "status": {"conditions": status},
    }))
    .unwrap()
}

fn says(status: &str, generation: u32) -> Value {
    json!([{
        "type": "Upgradeable", "status": status, "reason": "Because", "message": "busy",
        "observedGeneration": generation,
    }])
}

#[rstest]
#[case::says_nothing(json!([]), json!([]), json!([]), "")]
#[case::says_yes(json!([]), says("True", 0), says("True", 3), "")]
#[case::does_not_know(json!([]), json!([]), says("Unknown", 3), "")]
#[case::says_something_else(json!([]), json!([]), json!([{"type": "Ready", "status": "False"}]), "")]
#[case::says_no(json!([]), says("False", 0), says("False", 3), "the operator is not upgradeable: busy")]
#[case::said_yes_before(json!([]), json!([]), says("True", 2),
    "the operatorcondition status \"Upgradeable\"=\"True\" is outdated")]
#[case::said_no_before(json!([]), json!([]), says("False", 2),
    "the operatorcondition status \"Upgradeable\"=\"False\" is outdated")]
#[case::is_not_heard_yet(json!([]), says("False", 0), json!([]),
    "the operatorcondition status \"Upgradeable\"=\"False\" is outdated")]
#[case::is_overruled_with_yes(says("True", 0), json!([]), says("False", 2), "")]
#[case::is_overruled_with_no(says("False", 0), json!([]), says("True", 3),
    "the operator is not upgradeable: busy; the override")]
#[case::is_overruled_with_unknown(says("Unknown", 0), json!([]), says("True", 3),
    "the operator is not upgradeable: busy; the override")]
fn an_operator_and_its_administrator_decide_about_upgrades(
    #[case] overrides: Value,
    #[case] spec: Value,
    #[case] status: Value,
    #[case] words: &str,
) {
    let said = check(&condition(&overrides, &spec, &status));
    let said = said.map_or_else(|error| error.to_string(), |()| String::new());
    assert_eq!(said.is_empty(), words.is_empty(), "{said}");
    assert!(said.starts_with(words), "{said}");
}
