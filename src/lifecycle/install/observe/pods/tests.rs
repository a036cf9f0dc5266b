use super::*;
use crate::lifecycle::install::certificates::ServingCertificates;
use crate::lifecycle::install::fixtures::{cluster_after, csv_with, install, now};
use rstest::rstest;
use serde_json::json;

fn pod(name: &str, created: &str, status: &Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": "home", "labels": {"name": "op"}, "creationTimestamp": created,
        },
        "status": status,
    }))
    .unwrap()
}

/// The status of a container that is in one state and was in another.
fn container(state: &Value, last: &Value, restarts: i32) -> Value {
    json!({
        "name": "manager", "image": "m", "imageID": "", "ready": false, "restartCount": restarts,
        "state": state, "lastState": last,
    })
}

fn ended(code: i32, said: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": "Error", "message": said}})
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

/// What is said of a Deployment that is not ready and has these Pods.
fn told(pods: &[Pod], deployment: impl FnOnce(&mut Value)) -> String {
    told_and_failing(pods, deployment).0
}

fn told_and_failing(pods: &[Pod], deployment: impl FnOnce(&mut Value)) -> (String, bool) {
    let desired = install(&csv_with(&json!({})), &ServingCertificates::new());
    let mut seen = cluster_after(&desired);
    let mut live = seen
        .get(&Key::new("Deployment", "home", "op"))
        .unwrap()
        .clone();
    live["status"]["conditions"][0]["status"] = json!("False");
    deployment(&mut live);
    seen.insert(live);
    let message = "waiting for op: too few.".to_owned();
    let waiting = Installation::Waiting {
        message,
        is_failing: false,
    };
    match explain(waiting, &desired, &seen, pods, &now()) {
        Installation::Waiting {
            message,
            is_failing,
        } => (message, is_failing),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::crashing(
    container(&waiting("CrashLoopBackOff", "back-off 40s restarting"), &ended(42, "one\ntwo\n\nthree\nfour\n"), 3),
    "container manager of Pod p ends again and again (CrashLoopBackOff), last with exit code 42 (Error): \
     two / three / four; see `kubectl logs -n home p -c manager --previous`"
)]
#[case::between_two_crashes(
    container(&json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}), &ended(42, ""), 4),
    "container manager of Pod p ends again and again (CrashLoopBackOff), last with exit code 42 (Error); \
     see `kubectl logs -n home p -c manager --previous`"
)]
#[case::at_its_first_end(
    container(&ended(1, "no config"), &json!({}), 0),
    "container manager of Pod p ended with exit code 1 (Error): no config; see `kubectl logs -n home p -c \
     manager --previous`"
)]
#[case::without_image(
    container(&waiting("ErrImagePull", "not found"), &json!({}), 0),
    "container manager of Pod p waits for its image m (ImagePullBackOff): not found"
)]
#[case::still_without_image(
    container(&waiting("ImagePullBackOff", "Back-off pulling image \"m\": ErrImagePull: not found"), &json!({}), 0),
    "container manager of Pod p waits for its image m (ImagePullBackOff): not found"
)]
#[case::without_a_secret(
    container(&waiting("CreateContainerConfigError", "secret \"s\" not found"), &json!({}), 0),
    "container manager of Pod p cannot start (CreateContainerConfigError): secret \"s\" not found"
)]
#[case::not_ready(
    container(&json!({"running": {"startedAt": "2025-12-31T23:59:50Z"}}), &json!({}), 0),
    "container manager of Pod p runs and is not ready: see its readiness probe and `kubectl logs -n home p \
     -c manager`"
)]
fn a_container_tells_what_is_wrong(#[case] status: Value, #[case] words: &str) {
    let one = pod(
        "p",
        "2025-12-31T23:59:00Z",
        &json!({"containerStatuses": [status.clone()]}),
    );
    assert_eq!(
        told(&[one], |_| {}),
        format!("waiting for op: too few; {words}")
    );
    let at_start = pod(
        "p",
        "2025-12-31T23:59:00Z",
        &json!({"initContainerStatuses": [status.clone()]}),
    );
    let is_broken = status["state"]["running"].is_null();
    assert_eq!(
        told(&[at_start], |_| {}).contains(words),
        is_broken || status["restartCount"] != 0
    );
}

#[rstest]
#[case::starting(container(&waiting("ContainerCreating", ""), &json!({}), 0))]
#[case::warming_up(container(&json!({"running": {"startedAt": "2025-12-31T23:59:55Z"}}), &json!({}), 0))]
#[case::done(container(&ended(0, ""), &json!({}), 0))]
fn a_container_that_is_on_its_way_tells_nothing(#[case] status: Value) {
    let one = pod(
        "p",
        "2025-12-31T23:59:00Z",
        &json!({"containerStatuses": [status]}),
    );
    assert_eq!(told(&[one], |_| {}), "waiting for op: too few.");
}

#[test]
fn the_newest_pod_is_asked_first_and_strangers_and_those_that_go_are_not() {
    let crashing = |code| {
        let status = container(&waiting("CrashLoopBackOff", ""), &ended(code, ""), 1);
        json!({"containerStatuses": [status]})
    };
    let old = pod("old", "2025-12-31T23:00:00Z", &crashing(1));
    let new = pod("new", "2025-12-31T23:30:00Z", &crashing(2));
    let mut going = pod("going", "2025-12-31T23:40:00Z", &crashing(3));
    going.metadata.deletion_timestamp = Some(now());
    let mut stranger = pod("stranger", "2025-12-31T23:50:00Z", &crashing(4));
    stranger.metadata.labels = None;
    let said = told(&[old, new, going, stranger], |_| {});
    assert!(
        said.contains("of Pod new ") && said.contains("exit code 2"),
        "{said}"
    );
}

#[test]
fn a_pod_without_a_node_tells_what_the_scheduler_says() {
    let status = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available",
    }]});
    let said = told(&[pod("p", "2025-12-31T23:59:00Z", &status)], |_| {});
    assert!(
        said.ends_with("; no node takes Pod p: 0/3 nodes are available"),
        "{said}"
    );
}

#[test]
fn a_deployment_whose_pods_are_refused_tells_why() {
    let said = told(&[], |live| {
        live["status"]["conditions"]
            .as_array_mut()
            .unwrap()
            .push(json!({
                "type": "ReplicaFailure", "status": "True", "message": "exceeded quota: few",
            }));
    });
    assert!(
        said.ends_with("; its Pods cannot be created: exceeded quota: few"),
        "{said}"
    );
}

#[test]
fn last_words_are_cut_to_their_end() {
    let said = last_words(&format!("{}end", "ä".repeat(1000)));
    assert_eq!(said.chars().count(), LAST_WORDS + 1);
    assert!(said.starts_with('…') && said.ends_with("end"), "{said}");
}

#[rstest]
#[case::crashing(container(&waiting("CrashLoopBackOff", ""), &ended(42, ""), 3), true)]
#[case::without_an_image(container(&waiting("ImagePullBackOff", "no such image"), &json!({}), 0), true)]
#[case::without_its_secret(container(&waiting("CreateContainerConfigError", ""), &json!({}), 0), true)]
#[case::ended_once(container(&ended(1, ""), &json!({}), 0), false)]
#[case::slow(container(&json!({"running": {"startedAt": "2020-01-01T00:00:00Z"}}), &json!({}), 0), false)]
fn what_was_tried_and_failed_is_told_apart_from_what_takes_long(
    #[case] status: Value,
    #[case] fails: bool,
) {
    let pod = pod(
        "p",
        "2026-01-01T00:00:00Z",
        &json!({"containerStatuses": [status]}),
    );
    let (message, is_failing) = told_and_failing(&[pod], |_| {});
    assert_eq!(is_failing, fails, "{message}");
}
