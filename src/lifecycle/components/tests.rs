use super::*;
use rstest::rstest;
use serde_json::json;

fn component(kind: &str, namespace: &str, name: &str, operators: &[&str]) -> Component {
    let label = |operator: &&str| (labels::component(operator), String::new());
    let metadata = ObjectMeta {
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        labels: Some(operators.iter().map(label).collect()),
        ..ObjectMeta::default()
    };
    Component::new("v1", kind, metadata, &Value::Null)
}

fn refs(status: &OperatorStatus) -> Vec<String> {
    let refs = &status.components.as_ref().unwrap().refs;
    let told = refs.iter().map(|entry| {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let reference = &entry.reference;
        format!(
            "{} {}/{}",
            part(&reference.kind),
            part(&reference.namespace),
            part(&reference.name)
        )
    });
    told.collect()
}

#[test]
fn an_operator_lists_its_components_in_order_and_no_others() {
    let all = [
        component("ServiceAccount", "b", "robot", &["etcd.ns"]),
        component("Secret", "a", "z", &["etcd.ns", "other.ns"]),
        component("Secret", "a", "z", &["etcd.ns"]),
        component("Secret", "a", "foreign", &["other.ns"]),
        component("ServiceAccount", "a", "robot", &["etcd.ns"]),
        component("ClusterRole", "", "role", &["etcd.ns"]),
    ];
    let status = status("etcd.ns", &all);
    assert_eq!(
        refs(&status),
        [
            "ClusterRole /role",
            "Secret a/z",
            "ServiceAccount a/robot",
            "ServiceAccount b/robot"
        ]
    );
    assert!(!is_empty(&status));
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(
        json["components"]["labelSelector"],
        json!({"matchExpressions":
            [{"key": "operators.coreos.com/etcd.ns", "operator": "Exists"}]})
    );
    assert_eq!(
        json["components"]["refs"][0],
        json!({"apiVersion": "v1", "kind": "ClusterRole", "name": "role"})
    );
}

#[test]
fn plans_alone_are_nothing_of_an_operator_that_is_gone() {
    let plan = component("InstallPlan", "ns", "install-a", &["etcd.ns", "vault.ns"]);
    let csv = component("ClusterServiceVersion", "ns", "vault.v1", &["vault.ns"]);
    let all = [plan, csv];
    assert!(is_empty(&status("etcd.ns", &all)));
    assert_eq!(
        refs(&status("vault.ns", &all)),
        [
            "ClusterServiceVersion ns/vault.v1",
            "InstallPlan ns/install-a"
        ]
    );
}

#[test]
fn the_order_in_which_components_are_found_makes_no_difference() {
    let mut all = vec![
        component("Secret", "a", "x", &["etcd.ns"]),
        component("Secret", "a", "y", &["etcd.ns"]),
        component("Role", "b", "x", &["etcd.ns"]),
    ];
    let first = status("etcd.ns", &all);
    all.reverse();
    assert_eq!(status("etcd.ns", &all), first);
}

#[test]
fn an_operator_without_components_shows_by_what_it_selects() {
    let empty = status("etcd.ns", &[]);
    assert!(is_empty(&empty));
    assert!(empty.components.is_some());
}

#[test]
fn a_name_that_does_not_fit_a_label_selects_what_carries_the_label_cut() {
    let name = format!("{}.namespace", "p".repeat(60));
    let belongs = component("Secret", "a", "x", &[&name]);
    assert_eq!(refs(&status(&name, [&belongs])), ["Secret a/x"]);
    let cut: Vec<String> = belongs.operators().into_iter().collect();
    assert_eq!(cut, [format!("{}.na", "p".repeat(60))]);
    assert_eq!(
        refs(&status(&cut[0], [&belongs])),
        ["Secret a/x"],
        "the Operator that is made for the label finds it, too"
    );
}

#[test]
fn a_copied_csv_belongs_to_nothing() {
    let mut copy = component("ClusterServiceVersion", "a", "etcd.v1", &["etcd.ns"]);
    assert_eq!(copy.operators().len(), 1);
    copy.labels
        .insert(labels::COPIED_FROM.to_owned(), "ns".to_owned());
    assert!(copy.operators().is_empty());
    assert!(is_empty(&status("etcd.ns", [&copy])));
}

#[rstest]
#[case("etcd.operators", true)]
#[case("a", true)]
#[case("3scale.ns-1", true)]
#[case("Etcd.ns", false)]
#[case("etcd_x.ns", false)]
#[case("etcd..ns", false)]
#[case("-etcd.ns", false)]
#[case("etcd-.ns", false)]
#[case("", false)]
fn a_label_that_names_no_possible_object_is_passed_over(#[case] name: &str, #[case] named: bool) {
    let labels = BTreeMap::from([(format!("operators.coreos.com/{name}"), String::new())]);
    assert_eq!(operator_names(&labels).contains(name), named);
}

#[test]
fn conditions_are_shown_as_the_object_reports_them() {
    let status = json!({"conditions": [
        {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
         "message": "fine", "lastUpdateTime": "2026-01-01T00:00:00Z",
         "lastTransitionTime": "2026-01-01T00:00:00Z"},
        "nonsense",
    ]});
    let component = Component::new("apps/v1", "Deployment", ObjectMeta::default(), &status);
    let [condition] = component.conditions.as_slice() else {
        panic!("{component:?}");
    };
    assert_eq!(
        serde_json::to_value(condition).unwrap(),
        status["conditions"][0]
    );
}

#[test]
fn the_phase_of_a_csv_is_shown_as_a_condition() {
    let status = json!({
        "phase": "Succeeded", "reason": "InstallSucceeded", "message": "done",
        "lastUpdateTime": "2026-01-01T00:00:02Z", "lastTransitionTime": "2026-01-01T00:00:01Z",
        "conditions": [{"phase": "Pending"}],
    });
    let of = |status: &Value| {
        Component::new(
            "operators.coreos.com/v1alpha1",
            CSV,
            ObjectMeta::default(),
            status,
        )
    };
    assert_eq!(
        serde_json::to_value(of(&status).conditions).unwrap(),
        json!([{
            "type": "Succeeded", "status": "True", "reason": "InstallSucceeded", "message": "done",
            "lastUpdateTime": "2026-01-01T00:00:02Z", "lastTransitionTime": "2026-01-01T00:00:01Z",
        }])
    );
    assert_eq!(of(&Value::Null).conditions, []);
}

#[test]
fn that_somebody_looked_again_is_nothing_new() {
    let with = |updated: &str, status: &str| {
        let mut component = component("Deployment", "a", "x", &["etcd.ns"]);
        component.conditions = conditions(
            "Deployment",
            &json!({"conditions": [
                {"type": "Available", "status": status, "lastUpdateTime": updated}]}),
        );
        super::status("etcd.ns", [&component])
    };
    let first = with("2026-01-01T00:00:01Z", "True");
    assert!(same(&first, &with("2026-01-01T00:00:02Z", "True")));
    assert!(!same(&first, &with("2026-01-01T00:00:01Z", "False")));
    assert!(!same(&first, &status("etcd.ns", &[])));
}
