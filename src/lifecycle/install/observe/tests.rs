use super::*;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::gvk::GroupVersionKind;
use crate::lifecycle::install::certificates::{ServingCertificates, look, renew};
use crate::lifecycle::install::fixtures::{
    NONE, certificates, cluster_after, csv, csv_with, empty_cluster, fill_in, install,
    install_with, make_ready, now, time,
};
use crate::lifecycle::install::state::ApiServices;
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use rstest::rstest;

fn simple() -> (ClusterServiceVersion, Desired) {
    let csv = csv_with(&json!({}));
    let desired = install(&csv, &ServingCertificates::new());
    (csv, desired)
}

fn op() -> Key {
    Key::new("Deployment", "home", "op")
}

/// The cluster after an installation, with the Deployment `op` changed.
fn after(desired: &Desired, change: impl FnOnce(&mut Value)) -> Seen {
    let mut seen = cluster_after(desired);
    let mut live = seen.get(&op()).unwrap().clone();
    change(&mut live);
    seen.insert(live);
    seen
}

fn message(installation: &Installation) -> &str {
    match installation {
        Installation::Differs { message }
        | Installation::Waiting { message, .. }
        | Installation::Stuck { message } => message,
        Installation::Ready => "",
    }
}

fn kinds(writes: &[&Value]) -> Vec<String> {
    writes.iter().map(|object| Key::of(object).kind).collect()
}

#[test]
fn what_is_not_there_is_written_before_who_calls_it() {
    let csv = csv();
    let desired = install(&csv, &certificates(&csv));
    let writes = writes(&desired, &empty_cluster());
    assert_eq!(
        kinds(&writes),
        [
            "Service",
            "Role",
            "RoleBinding",
            "ClusterRoleBinding",
            "RoleBinding",
            "Secret",
            "Deployment",
            "Deployment",
            "APIService",
            "ValidatingWebhookConfiguration",
            "MutatingWebhookConfiguration",
            "CustomResourceDefinition",
        ]
    );
}

#[test]
fn when_all_is_there_nothing_is_written() {
    let csv = csv();
    let certificates = certificates(&csv);
    let seen = cluster_after(&install(&csv, &certificates));
    let again = install_with(&csv, &certificates, None, &seen);
    assert_eq!(kinds(&writes(&again, &seen)), Vec::<String>::new());
    assert_eq!(observe(&again, &seen), Installation::Ready);
}

#[test]
fn a_missing_deployment_differs_in_olms_words() {
    let (_, desired) = simple();
    let installation = observe(&desired, &Seen::default());
    assert_eq!(message(&installation), "missing deployment with name=op");
    assert!(matches!(installation, Installation::Differs { .. }));
}

#[test]
fn a_deployment_of_another_spec_differs() {
    let (mut csv, before) = simple();
    let seen = cluster_after(&before);
    csv.spec.install.spec.deployments[0].spec["template"]["spec"]["containers"][0]["image"] =
        json!("new");
    let installation = observe(&install(&csv, &ServingCertificates::new()), &seen);
    assert!(
        message(&installation).starts_with("deployment changed old hash="),
        "{installation:?}"
    );
}

#[test]
fn a_deployment_without_a_hash_differs() {
    let (_, desired) = simple();
    let seen = after(&desired, |live| {
        live["metadata"]["labels"]
            .as_object_mut()
            .unwrap()
            .shift_remove("olm.deployment-spec-hash");
    });
    let installation = observe(&desired, &seen);
    assert_eq!(
        message(&installation),
        "deployment op doesn't have a spec hash, update it"
    );
}

#[test]
fn what_somebody_changed_by_hand_is_drift() {
    let (_, desired) = simple();
    let seen = after(&desired, |live| {
        live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("evil");
    });
    let installation = observe(&desired, &seen);
    assert_eq!(
        message(&installation),
        "Deployment home/op was changed at spec.template.spec.containers.manager.image: it is written again"
    );
    assert_eq!(kinds(&writes(&desired, &seen)), ["Deployment"]);
}

#[test]
fn how_many_pods_there_are_is_left_to_others() {
    let (_, desired) = simple();
    let seen = after(&desired, |live| live["spec"]["replicas"] = json!(5));
    assert_eq!(observe(&desired, &seen), Installation::Ready);
}

#[test]
fn what_admission_changed_is_no_drift_once_it_is_known() {
    let (_, desired) = simple();
    let seen = after(&desired, |live| {
        live["metadata"]["uid"] = json!("op-uid");
        live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("mirror/m");
    });
    assert!(matches!(
        observe(&desired, &seen),
        Installation::Differs { .. }
    ));
    let settled = |uid: &str, generation| {
        let uid = uid.to_owned();
        let settled = Settled { uid, generation };
        observe(&desired, &seen.clone().settled(op(), settled))
    };
    assert_eq!(settled("op-uid", 1), Installation::Ready);
    for (uid, generation) in [("op-uid", 2), ("of-one-that-was-deleted", 1)] {
        let is_drift = matches!(settled(uid, generation), Installation::Differs { .. });
        assert!(is_drift, "{uid} {generation}");
    }
}

#[test]
fn a_field_that_no_api_server_keeps_is_not_missed() {
    let (mut csv, _) = simple();
    csv.spec.install.spec.deployments[0].spec["template"]["spec"]["typo"] = json!(true);
    let desired = install(&csv, &ServingCertificates::new());
    let seen = after(&desired, |live| {
        live["spec"]["template"]["spec"]
            .as_object_mut()
            .unwrap()
            .shift_remove("typo");
    });
    assert_eq!(observe(&desired, &seen), Installation::Ready);
}

#[test]
fn what_is_no_longer_asked_for_differs() {
    let csv = csv();
    let certificates = certificates(&csv);
    let config = serde_json::from_value(json!({"annotations": {"a": "b"}})).unwrap();
    let before = install_with(&csv, &certificates, Some(&config), &empty_cluster());
    let seen = cluster_after(&before);
    let after = install_with(&csv, &certificates, None, &seen);
    let kinds = kinds(&writes(&after, &seen));
    assert!(kinds.contains(&"APIService".to_owned()), "{kinds:?}");
}

#[rstest]
#[case::not_observed(json!({"observedGeneration": 0}),
    "waiting for deployment op to become ready: waiting for spec update of deployment \"op\" to be observed...")]
#[case::outdated(json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 1}),
    "waiting for deployment op to become ready: deployment \"op\" waiting for 2 outdated replica(s) to be terminated")]
#[case::unavailable(json!({"observedGeneration": 1, "conditions": [
        {"type": "Available", "status": "False", "message": "no Pods"}]}),
    "waiting for deployment op to become ready: deployment \"op\" not available: no Pods")]
#[case::unknown(json!({"observedGeneration": 1}),
    "waiting for deployment op to become ready: deployment \"op\" not available: missing condition \"Available\"")]
fn a_deployment_that_is_not_ready_is_waited_for(#[case] status: Value, #[case] words: &str) {
    let (_, desired) = simple();
    let seen = after(&desired, |live| live["status"] = status);
    let installation = observe(&desired, &seen);
    assert!(
        matches!(installation, Installation::Waiting { .. }),
        "{installation:?}"
    );
    assert_eq!(message(&installation), words);
}

#[test]
fn a_deployment_past_its_deadline_is_stuck() {
    let (_, desired) = simple();
    let seen = after(&desired, |live| {
        live["status"]["conditions"][1]["reason"] = json!("ProgressDeadlineExceeded");
    });
    assert_eq!(
        observe(&desired, &seen),
        Installation::Stuck {
            message: "deployment op not ready before timeout: deployment \"op\" exceeded its progress deadline"
                .to_owned()
        }
    );
}

#[test]
fn what_differs_counts_before_what_is_stuck() {
    let (_, desired) = simple();
    let seen = after(&desired, |live| {
        live["status"]["conditions"][1]["reason"] = json!("ProgressDeadlineExceeded");
        live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("bad");
    });
    assert!(matches!(
        observe(&desired, &seen),
        Installation::Differs { .. }
    ));
}

#[test]
fn callers_trust_the_new_ca_before_anybody_serves_with_it() {
    let csv = csv();
    let seen = cluster_after(&install(&csv, &certificates(&csv)));
    let late = time("2027-12-31T12:00:00Z");
    let renewed = renew(&csv, &look(&csv, &seen, &late), &NONE, &late).unwrap();
    let desired = install_with(&csv, &renewed, None, &seen);
    assert_eq!(
        kinds(&writes(&desired, &seen)),
        [
            "APIService",
            "ValidatingWebhookConfiguration",
            "MutatingWebhookConfiguration",
            "CustomResourceDefinition",
            "Secret",
            "Deployment",
        ]
    );
}

#[test]
fn a_new_ca_is_written_to_what_nobody_touched_since_the_last_one() {
    let csv = csv();
    let first = install(&csv, &certificates(&csv));
    let mut seen = cluster_after(&first);
    for object in first.objects() {
        let mut live = seen.get(&Key::of(object)).unwrap().clone();
        live["metadata"]["generation"] = json!(1);
        live["metadata"]["uid"] = json!("its-uid");
        seen.insert(live);
        let settled = Settled {
            uid: "its-uid".to_owned(),
            generation: 1,
        };
        seen = seen.settled(Key::of(object), settled);
    }
    let late = time("2027-12-31T12:00:00Z");
    let renewed = renew(&csv, &look(&csv, &seen, &late), &NONE, &late).unwrap();
    let desired = install_with(&csv, &renewed, None, &seen);
    let written = kinds(&writes(&desired, &seen));
    assert!(
        written.contains(&"CustomResourceDefinition".to_owned()),
        "{written:?}"
    );
}

#[test]
fn after_a_crash_between_callers_and_secret_the_former_ca_is_still_trusted() {
    let csv = csv();
    let first = certificates(&csv);
    let mut seen = cluster_after(&install(&csv, &first));
    let late = time("2027-12-31T12:00:00Z");
    let lost = renew(&csv, &look(&csv, &seen, &late), &NONE, &late).unwrap();
    for caller in install_with(&csv, &lost, None, &seen).callers {
        seen.insert(caller);
    }
    let again = renew(&csv, &look(&csv, &seen, &late), &NONE, &late).unwrap();
    assert_eq!(
        again["op"].former_authority.as_ref(),
        Some(&first["op"].authority)
    );
    let desired = install_with(&csv, &again, None, &seen);
    let writes = kinds(&writes(&desired, &seen));
    assert_eq!(writes.first().map(String::as_str), Some("APIService"));
    assert_eq!(writes.iter().filter(|kind| *kind == "Secret").count(), 1);
}

/// An operator whose Deployment has another name than in the version before.
fn renamed() -> (ClusterServiceVersion, Seen) {
    let before = csv();
    let seen = cluster_after(&install(&before, &certificates(&before)));
    let mut after = before;
    after.metadata.name = Some("op.v2".to_owned());
    after.metadata.uid = Some("other-uid".to_owned());
    after.spec.replaces = "op.v1".to_owned();
    after.spec.install.spec.deployments[0].name = "renamed".to_owned();
    after.spec.api_service_definitions.owned[0].deployment_name = "renamed".to_owned();
    for webhook in &mut after.spec.webhook_definitions {
        webhook.deployment_name = "renamed".to_owned();
    }
    (after, seen)
}

/// The next version of an operator with the same Deployment, which answers its webhooks elsewhere.
fn moved() -> (ClusterServiceVersion, ServingCertificates, Seen) {
    let before = csv();
    let certificates = certificates(&before);
    let seen = cluster_after(&install(&before, &certificates));
    let mut after = before;
    after.metadata.name = Some("op.v2".to_owned());
    after.metadata.uid = Some("other-uid".to_owned());
    after.spec.replaces = "op.v1".to_owned();
    for webhook in &mut after.spec.webhook_definitions {
        webhook.webhook_path = Some("/v2".to_owned());
        webhook.container_port = Some(9444);
    }
    (after, certificates, seen)
}

/// Who calls an operator, and through what.
const CALLS: [&str; 5] = [
    "Service",
    "APIService",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "CustomResourceDefinition",
];

/// Writes what is to be written, with Deployments that are ready or are not yet.
fn apply(desired: &Desired, seen: &mut Seen, is_ready: bool) -> Vec<String> {
    let writes: Vec<Value> = writes(desired, seen).into_iter().cloned().collect();
    for object in &writes {
        let mut live = object.clone();
        fill_in(&mut live);
        seen.insert(live);
    }
    for deployment in &desired.deployments {
        let mut live = seen.get(&Key::of(deployment)).unwrap().clone();
        make_ready(&mut live);
        if !is_ready {
            live["status"]["replicas"] = json!(2);
        }
        seen.insert(live);
    }
    kinds(&writes.iter().collect::<Vec<_>>())
}

#[test]
fn all_calls_go_to_the_version_before_until_the_new_one_is_ready() {
    let (renamed, mut others) = renamed();
    // Another Deployment has another Service.
    let own = certificates(&renamed);
    let desired = install_with(&renamed, &own, None, &others);
    let written = apply(&desired, &mut others, false);
    assert!(written.contains(&"Service".to_owned()), "{written:?}");
    assert!(
        CALLS[1..]
            .iter()
            .all(|kind| !written.contains(&(*kind).to_owned())),
        "{written:?}"
    );
    assert!(matches!(
        observe(&desired, &others),
        Installation::Waiting { .. }
    ));

    let (moved, certificates, mut seen) = moved();
    let desired = install_with(&moved, &certificates, None, &seen);
    let written = apply(&desired, &mut seen, false);
    assert!(written.contains(&"Deployment".to_owned()), "{written:?}");
    // It calls the same Service at the same port, which is now the new version's to answer for.
    assert!(written.contains(&"APIService".to_owned()), "{written:?}");
    for kind in ["Service", CALLS[2], CALLS[3], CALLS[4]] {
        assert!(!written.contains(&kind.to_owned()), "{written:?}");
    }
    assert!(matches!(
        observe(&desired, &seen),
        Installation::Waiting { .. }
    ));
    for deployment in &desired.deployments {
        let mut live = seen.get(&Key::of(deployment)).unwrap().clone();
        make_ready(&mut live);
        seen.insert(live);
    }
    assert!(matches!(
        observe(&desired, &seen),
        Installation::Differs { .. }
    ));
    assert_eq!(
        kinds(&writes(&desired, &seen)),
        ["Service", CALLS[2], CALLS[3], CALLS[4]]
    );
}

#[test]
fn where_nobody_answers_any_more_the_new_one_is_called_at_once() {
    let (mut csv, seen) = renamed();
    // Such as one of another namespace that was never told of this one.
    csv.spec.replaces = String::new();
    let own = certificates(&csv);
    let desired = install_with(&csv, &own, None, &seen);
    let former = former_services(&desired, &seen);
    let service = Key::new("Service", "home", "op-service");
    assert_eq!(former, BTreeSet::from([service.clone()]));
    let mut waiting = seen.clone();
    let written = apply(&desired, &mut waiting, false);
    assert!(!written.contains(&CALLS[4].to_owned()), "{written:?}");
    let mut seen = seen.without(service);
    let written = apply(&desired, &mut seen, false);
    assert!(written.contains(&CALLS[4].to_owned()), "{written:?}");
    assert_eq!(former_services(&desired, &seen), BTreeSet::new());
}

#[test]
fn the_version_before_may_serve_as_another_account_until_the_new_one_is_ready() {
    let (mut csv, certificates, mut seen) = moved();
    csv.spec.install.spec.deployments[0].spec["template"]["spec"]["serviceAccountName"] =
        json!("next");
    let accounts = |seen: &Seen| {
        let desired = install_with(&csv, &certificates, None, seen);
        let subjects = desired.serving_rbac[1]["subjects"].clone();
        let names = subjects.as_array().cloned().unwrap();
        names
            .into_iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(accounts(&seen), ["next", "op-account"]);
    // Nobody gets rights by writing themselves into what is there.
    let mut forged = seen.clone();
    let mut binding = install_with(&csv, &certificates, None, &seen).serving_rbac[1].clone();
    binding["subjects"] = json!([{"kind": "User", "name": "mallory"}]);
    forged.insert(binding);
    assert_eq!(accounts(&forged), ["next", "op-account"]);
    let desired = install_with(&csv, &certificates, None, &seen);
    apply(&desired, &mut seen, false);
    assert_eq!(accounts(&seen), ["next", "op-account"]);
    let desired = install_with(&csv, &certificates, None, &seen);
    apply(&desired, &mut seen, true);
    assert_eq!(accounts(&seen), ["next"]);
}

#[test]
fn an_operator_that_follows_nobody_has_its_webhooks_asked_from_the_start() {
    let (mut csv, _, _) = moved();
    csv.spec.replaces = String::new();
    let mut seen = empty_cluster();
    let desired = install_with(&csv, &certificates(&csv), None, &seen);
    let written = apply(&desired, &mut seen, false);
    assert!(
        CALLS
            .iter()
            .all(|kind| written.contains(&(*kind).to_owned())),
        "{written:?}"
    );
}

#[test]
fn a_deployment_that_the_strategy_no_longer_has_goes() {
    let (mut csv, desired) = simple();
    let seen = cluster_after(&desired);
    csv.spec.install.spec.deployments.pop();
    let desired = install_with(&csv, &ServingCertificates::new(), None, &seen);
    assert_eq!(
        desired.leftovers,
        [Key::new("Deployment", "home", "helper")]
    );
    // It has to be installed again for that, also if all the rest is as it should be.
    let standing = observe(&desired, &seen);
    assert!(
        matches!(&standing, Installation::Differs { message } if message.contains("helper")),
        "{standing:?}"
    );
}

/// The same operator, edited so that its Deployment is called otherwise.
fn edited() -> (ClusterServiceVersion, Seen) {
    let (mut csv, seen) = renamed();
    let before = super::super::fixtures::csv();
    csv.metadata = before.metadata;
    csv.spec.replaces = String::new();
    (csv, seen)
}

fn ready(seen: &mut Seen, name: &str) {
    let mut live = seen
        .get(&Key::new("Deployment", "home", name))
        .unwrap()
        .clone();
    make_ready(&mut live);
    seen.insert(live);
}

#[test]
fn a_deployment_that_is_called_otherwise_answers_until_the_new_one_does_and_callers_know() {
    let (csv, mut seen) = edited();
    let certificates = certificates(&csv);
    let desired = install_with(&csv, &certificates, None, &seen);
    assert_eq!(desired.leftovers, []);
    let written = apply(&desired, &mut seen, false);
    assert!(written.contains(&"Deployment".to_owned()), "{written:?}");
    for kind in &CALLS[1..] {
        assert!(!written.contains(&(*kind).to_owned()), "{written:?}");
    }
    let desired = install_with(&csv, &certificates, None, &seen);
    assert_eq!(desired.leftovers, []);
    assert!(matches!(
        observe(&desired, &seen),
        Installation::Waiting { .. }
    ));

    for name in ["renamed", "helper"] {
        ready(&mut seen, name);
    }
    let desired = install_with(&csv, &certificates, None, &seen);
    // Who calls is told first, and has a while to take note of it.
    assert_eq!(desired.leftovers, []);
    assert_eq!(kinds(&writes(&desired, &seen)), CALLS[1..]);
    apply(&desired, &mut seen, true);

    let desired = install_with(&csv, &certificates, None, &seen);
    assert_eq!(desired.leftovers, [op()]);
    assert!(matches!(
        observe(&desired, &seen),
        Installation::Differs { .. }
    ));
}

#[test]
fn one_caller_that_was_not_told_is_enough_to_keep_a_deployment() {
    for kind in &CALLS[1..] {
        let (csv, mut seen) = edited();
        let certificates = certificates(&csv);
        let before = seen.clone();
        for _ in 0..2 {
            let desired = install_with(&csv, &certificates, None, &seen);
            apply(&desired, &mut seen, true);
        }
        let (_, caller) = before.of_kind(kind).next().unwrap();
        seen.insert(caller.clone());
        let desired = install_with(&csv, &certificates, None, &seen);
        assert_eq!(desired.leftovers, [], "{kind}");
    }
}

#[test]
fn a_webhook_that_is_called_otherwise_too_is_asked_under_its_old_name_until_then() {
    let (mut csv, mut seen) = edited();
    csv.spec.webhook_definitions[0].generate_name = "w.example.com".to_owned();
    let certificates = certificates(&csv);
    let validating = |keys: &[Key]| {
        let mut keys = keys.iter();
        keys.any(|key| key.kind == "ValidatingWebhookConfiguration")
    };
    let desired = install_with(&csv, &certificates, None, &seen);
    let written = apply(&desired, &mut seen, false);
    assert!(!written.contains(&CALLS[2].to_owned()), "{written:?}");
    let desired = install_with(&csv, &certificates, None, &seen);
    assert_eq!(desired.leftovers, []);

    for name in ["renamed", "helper"] {
        ready(&mut seen, name);
    }
    let desired = install_with(&csv, &certificates, None, &seen);
    let written = apply(&desired, &mut seen, true);
    assert!(written.contains(&CALLS[2].to_owned()), "{written:?}");
    let desired = install_with(&csv, &certificates, None, &seen);
    assert!(validating(&desired.leftovers), "{:?}", desired.leftovers);
    assert!(!desired.leftovers.contains(&op()));
}

#[test]
fn what_is_on_its_way_out_is_waited_for_by_nobody() {
    let (mut csv, desired) = simple();
    let mut seen = cluster_after(&desired);
    csv.spec.install.spec.deployments.pop();
    let helper = Key::new("Deployment", "home", "helper");
    let mut going = seen.get(&helper).unwrap().clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    seen.insert(going);
    let desired = install_with(&csv, &ServingCertificates::new(), None, &seen);
    assert_eq!(desired.leftovers, []);
    assert_eq!(observe(&desired, &seen), Installation::Ready);
}

#[test]
fn a_deployment_of_another_csv_is_nobodys_leftover() {
    let (mut csv, desired) = simple();
    let seen = cluster_after(&desired);
    csv.spec.install.spec.deployments.pop();
    csv.metadata.uid = Some("recreated".to_owned());
    assert_eq!(leftovers(&csv, &desired, &seen), []);
    csv.metadata.name = Some("other".to_owned());
    assert_eq!(leftovers(&csv, &desired, &seen), []);
}

fn with_api(status: &str) -> (ClusterServiceVersion, Seen) {
    let csv = csv();
    let desired = install(&csv, &certificates(&csv));
    let mut seen = cluster_after(&desired);
    let mut api = desired.callers[0].clone();
    api["status"] =
        json!({"conditions": [{"type": "Available", "status": status, "message": "no endpoints"}]});
    seen.insert(api);
    (csv, seen)
}

fn apis(csv: &ClusterServiceVersion, seen: &Seen, is_served: bool, pods: &[Pod]) -> ApiServices {
    let foo = GroupVersionKind::new("api.example.com", "v1", "Foo");
    api_services(csv, seen, |gvk| is_served && *gvk == foo, pods, &now())
}

#[test]
fn an_api_that_is_served_is_fine() {
    let (csv, seen) = with_api("True");
    assert_eq!(apis(&csv, &seen, true, &[]), ApiServices::Fine);
    assert_eq!(
        apis(&csv_with(&json!({})), &seen, false, &[]),
        ApiServices::Fine
    );
}

#[test]
fn an_api_that_discovery_does_not_have_is_unavailable() {
    let (csv, seen) = with_api("True");
    assert!(matches!(
        apis(&csv, &seen, false, &[]),
        ApiServices::Unavailable {
            since_disruption: false,
            ..
        }
    ));
}

#[test]
fn an_api_without_its_api_service_is_unavailable() {
    let standing = apis(&csv(), &Seen::default(), true, &[]);
    assert!(matches!(
        standing,
        ApiServices::Unavailable {
            since_disruption: false,
            ..
        }
    ));
}

fn pod(metadata: &Value, status: &Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": "p", "labels": {"name": "op"}, "creationTimestamp": "2025-12-31T23:58:00Z"},
        "status": status,
    });
    pod["metadata"]
        .as_object_mut()
        .unwrap()
        .extend(metadata.as_object().cloned().unwrap());
    serde_json::from_value(pod).unwrap()
}

fn container(reason: &str) -> Value {
    json!([{"name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": reason}}}])
}

#[rstest]
#[case::being_created(json!({}), json!({"phase": "Pending"}), true)]
#[case::starting(json!({}), json!({"phase": "Pending", "containerStatuses": container("ContainerCreating")}), true)]
#[case::restarting(json!({}), json!({"phase": "Running", "containerStatuses": container("PodInitializing")}), true)]
#[case::going(json!({"deletionTimestamp": "2025-12-31T23:59:00Z"}), json!({"phase": "Running"}), true)]
#[case::crashing(json!({}), json!({"phase": "Running", "containerStatuses": container("CrashLoopBackOff")}), false)]
#[case::without_image(json!({}), json!({"phase": "Pending", "containerStatuses": container("ErrImagePull")}), false)]
#[case::failing_at_its_start(json!({}),
    json!({"phase": "Pending", "initContainerStatuses": container("ImagePullBackOff")}), false)]
#[case::without_a_node(json!({}), json!({"phase": "Pending", "conditions": [
    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}), false)]
#[case::for_too_long(json!({"creationTimestamp": "2025-12-31T23:50:00Z"}), json!({"phase": "Pending"}), false)]
#[case::of_somebody_else(json!({"labels": {"name": "x"}}), json!({"phase": "Pending"}), false)]
fn an_api_may_be_away_while_its_pods_are_moved(
    #[case] metadata: Value,
    #[case] status: Value,
    #[case] expected: bool,
) {
    let (csv, mut seen) = with_api("False");
    let mut live = seen.get(&op()).unwrap().clone();
    live["status"]["unavailableReplicas"] = json!(1);
    seen.insert(live);
    let ApiServices::Unavailable {
        since_disruption,
        message,
    } = apis(&csv, &seen, true, &[pod(&metadata, &status)])
    else {
        panic!("it is unavailable");
    };
    assert_eq!(since_disruption, expected);
    assert!(
        message.contains("v1.api.example.com") && message.contains("no endpoints"),
        "{message}"
    );
}

#[test]
fn an_api_away_while_all_pods_are_there_is_no_disruption() {
    let (csv, seen) = with_api("False");
    let standing = apis(
        &csv,
        &seen,
        true,
        &[pod(&json!({}), &json!({"phase": "Pending"}))],
    );
    assert!(matches!(
        standing,
        ApiServices::Unavailable {
            since_disruption: false,
            ..
        }
    ));
}

/// Parts of a container's spec, as authors write them.
fn container_parts() -> impl Strategy<Value = Value> {
    let parts = prop::sample::subsequence(
        vec![
            (
                "resources",
                json!({"limits": {"cpu": 1, "memory": "64Mi"}, "requests": null}),
            ),
            ("ports", json!([{"containerPort": 8080, "name": "http"}])),
            (
                "securityContext",
                json!({"allowPrivilegeEscalation": false, "runAsUser": 0}),
            ),
            (
                "volumeMounts",
                json!([{"name": "v", "mountPath": "/v", "readOnly": false}]),
            ),
            (
                "livenessProbe",
                json!({"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 0}),
            ),
            ("args", json!(["--a", "--b"])),
            (
                "env",
                json!([{"name": "A", "value": ""}, {"name": "B", "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}}]),
            ),
            ("command", json!(null)),
            ("tty", json!(false)),
            ("terminationMessagePolicy", json!("")),
        ],
        0..10,
    );
    parts.prop_map(|parts| {
        let fields = parts
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        Value::Object(fields.collect())
    })
}

proptest! {
    #[test]
    fn what_an_api_server_fills_in_is_never_a_difference(
        first in container_parts(), second in container_parts(), host: bool
    ) {
        let (mut csv, _) = simple();
        let spec = &mut csv.spec.install.spec.deployments[0].spec["template"]["spec"];
        spec["hostNetwork"] = json!(host);
        spec["volumes"] = json!([{"name": "v", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s"}}]);
        for (at, parts) in [first, second].into_iter().enumerate() {
            let container = spec["containers"][at].as_object_mut().unwrap();
            container.extend(parts.as_object().cloned().unwrap());
        }
        let desired = install(&csv, &ServingCertificates::new());
        let mut seen = cluster_after(&desired);
        let mut live = seen.get(&op()).unwrap().clone();
        for container in live["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap() {
            let container = container.as_object_mut().unwrap();
            if let Some(probe) = container.get_mut("livenessProbe") {
                probe["periodSeconds"] = json!(10);
            }
            if let Some(policy) = container.get_mut("terminationMessagePolicy") {
                *policy = json!("File");
            }
        }
        seen.insert(live);
        prop_assert_eq!(observe(&desired, &seen), Installation::Ready);
    }
}
