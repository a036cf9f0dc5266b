use super::*;
use kube::core::ObjectMeta;
use rstest::rstest;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const LABEL: &str = "operators.coreos.com/etcd.ns";

fn object<T: DeserializeOwned>(kind: &str, name: &str, marked: bool, rest: &Value) -> T {
    let labels = if marked {
        json!({LABEL: ""})
    } else {
        json!({})
    };
    let mut object = json!({
        "apiVersion": ALPHA,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}"), "labels": labels},
        "spec": {},
    });
    for (key, value) in rest.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

fn subscription(marked: bool) -> Subscription {
    let rest = json!({
        "spec": {"name": "etcd", "source": "catalog", "sourceNamespace": "ns"},
        "status": {
            "installedCSV": "etcd.v1",
            "installPlanRef": {"name": "install-2", "namespace": "ns"},
            "lastUpdated": "2026-01-01T00:00:00Z",
        },
    });
    object("Subscription", "sub", marked, &rest)
}

fn csv(name: &str, marked: bool) -> ClusterServiceVersion {
    object(CSV, name, marked, &json!({}))
}

fn plan(name: &str, marked: bool) -> InstallPlan {
    let spec = json!({"spec": {"approval": "Automatic", "approved": true,
                               "clusterServiceVersionNames": []}});
    object("InstallPlan", name, marked, &spec)
}

fn told(marks: &[Mark]) -> Vec<String> {
    let sign = |mark: &Mark| if mark.wanted { '+' } else { '-' };
    let told = marks
        .iter()
        .map(|mark| format!("{}{} {}", sign(mark), mark.kind, mark.name));
    told.collect()
}

#[test]
fn a_subscription_marks_itself_its_csv_and_its_latest_plan_and_unmarks_older_ones() {
    let csvs = [csv("etcd.v1", false), csv("other.v1", false)];
    let plans = [
        plan("install-1", true),
        plan("install-2", false),
        plan("install-3", false),
    ];
    let marks = by_subscription(&subscription(false), &csvs, &plans);
    assert_eq!(
        told(&marks),
        [
            "+Subscription sub",
            "+ClusterServiceVersion etcd.v1",
            "-InstallPlan install-1",
            "+InstallPlan install-2"
        ]
    );
    assert!(marks.iter().all(|mark| mark.label == LABEL));
    assert!(marks.iter().all(|mark| mark.namespace == "ns"));
}

#[test]
fn nothing_is_marked_twice() {
    let (csvs, plans) = ([csv("etcd.v1", true)], [plan("install-2", true)]);
    assert_eq!(by_subscription(&subscription(true), &csvs, &plans), []);
}

#[test]
fn a_subscription_that_installed_nothing_yet_marks_itself() {
    let mut subscription = subscription(false);
    subscription.status = None;
    let marks = by_subscription(&subscription, &[csv("etcd.v1", false)], &[]);
    assert_eq!(told(&marks), ["+Subscription sub"]);
}

#[test]
fn a_copied_csv_is_not_marked() {
    let mut copy = csv("etcd.v1", false);
    copy.labels_mut()
        .insert(labels::COPIED_FROM.to_owned(), "elsewhere".to_owned());
    let marks = by_subscription(&subscription(true), &[copy], &[]);
    assert_eq!(told(&marks), [""; 0]);
}

#[test]
fn a_copied_csv_loses_its_marks_and_passes_none_on() {
    let mut copy = csv("etcd.v1", true);
    copy.labels_mut()
        .insert(labels::COPIED_FROM.to_owned(), "elsewhere".to_owned());
    let owned = component(
        "Secret",
        "x",
        &json!({"ownerReferences": [owner("uid-etcd.v1")]}),
    );
    let marks = by_csv(&copy, [&owned]);
    assert_eq!(told(&marks), ["-ClusterServiceVersion etcd.v1"]);
}

fn owner(uid: &str) -> Value {
    json!({"apiVersion": ALPHA, "kind": CSV, "name": "any", "uid": uid})
}

fn component(kind: &str, name: &str, metadata: &Value) -> Component {
    let mut metadata: ObjectMeta = serde_json::from_value(metadata.clone()).unwrap();
    metadata.name = Some(name.to_owned());
    Component::new("v1", kind, metadata, &Value::Null)
}

#[rstest]
#[case::by_reference("Secret", json!({"ownerReferences": [owner("uid-etcd.v1")]}), true)]
#[case::of_another_csv("Secret", json!({"ownerReferences": [owner("uid-other")]}), false)]
#[case::by_labels("ClusterRole", json!({"labels": {
    "olm.owner": "etcd.v1", "olm.owner.namespace": "ns", "olm.owner.kind": CSV}}), true)]
#[case::of_a_namesake_elsewhere("ClusterRole", json!({"labels": {
    "olm.owner": "etcd.v1", "olm.owner.namespace": "other", "olm.owner.kind": CSV}}), false)]
#[case::of_another_kind_of_owner("ClusterRole", json!({"labels": {
    "olm.owner": "etcd.v1", "olm.owner.namespace": "ns", "olm.owner.kind": "OperatorGroup"}}), false)]
#[case::already_marked("Secret", json!({
    "labels": {LABEL: ""}, "ownerReferences": [owner("uid-etcd.v1")]}), false)]
#[case::a_crd_it_brings("CustomResourceDefinition", json!({}), true)]
#[case::a_namesake_of_a_crd_it_brings("ConfigMap", json!({}), false)]
fn a_csv_marks_what_it_owns(#[case] kind: &str, #[case] metadata: Value, #[case] marked: bool) {
    let mut csv = csv("etcd.v1", true);
    csv.spec.custom_resource_definitions.owned =
        serde_json::from_value(json!([{"name": "things.g", "version": "v1", "kind": "Thing"}]))
            .unwrap();
    let component = component(kind, "things.g", &metadata);
    let expected: &[&str] = if marked { &["things.g"] } else { &[] };
    let marks = by_csv(&csv, [&component]);
    let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names, expected);
    assert!(marks.iter().all(|mark| mark.wanted && mark.label == LABEL));
}

#[test]
fn a_csv_without_a_mark_passes_none_on() {
    let owned = component(
        "Secret",
        "x",
        &json!({"ownerReferences": [owner("uid-etcd.v1")]}),
    );
    assert_eq!(by_csv(&csv("etcd.v1", false), [&owned]), []);
}
