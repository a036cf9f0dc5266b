use serde_json::json;

use super::*;
use crate::lifecycle::install::certificates::{self, ServingCertificates};
use crate::lifecycle::install::fixtures::{
    NONE, certificates as made, cluster_after, csv, install, install_with, now,
};
use crate::lifecycle::install::observe::{observe, tidings, writes};
use crate::lifecycle::install::state::Installation;

/// The version after that of the fixtures, in a phase.
fn newer(phase: &str, change: impl FnOnce(&mut ClusterServiceVersion)) -> ClusterServiceVersion {
    let mut newer = csv();
    newer.metadata.name = Some("op.v2".to_owned());
    newer.metadata.uid = Some("newer-uid".to_owned());
    "op.v1".clone_into(&mut newer.spec.replaces);
    newer.status = serde_json::from_value(json!({"phase": phase})).unwrap();
    change(&mut newer);
    newer
}

/// Calls the Deployment `op` otherwise.
fn renamed(newer: &mut ClusterServiceVersion) {
    newer.spec.install.spec.deployments[0].name = "op2".to_owned();
    for api in &mut newer.spec.api_service_definitions.owned {
        api.deployment_name = "op2".to_owned();
    }
    for webhook in &mut newer.spec.webhook_definitions {
        webhook.deployment_name = "op2".to_owned();
    }
}

fn claims(newer: &ClusterServiceVersion) -> BTreeSet<Key> {
    let older = csv();
    claimed(&older, &Lineage::new([&older, newer]))
}

fn kinds(desired: &Desired) -> Vec<String> {
    desired
        .objects()
        .map(|it| Key::of(it).to_string())
        .collect()
}

#[test]
fn one_that_has_not_begun_claims_nothing() {
    assert_eq!(claims(&newer("Pending", |_| {})), BTreeSet::new());
    assert_eq!(claims(&newer("Failed", |_| {})), BTreeSet::new());
}

#[test]
fn of_what_has_the_same_names_only_webhook_configurations_stay_the_older_ones() {
    let desired = install(&csv(), &made(&csv()));
    let seen = cluster_after(&desired);
    let left = desired.without(&claims(&newer("Installing", |_| {})), &seen);
    let left = kinds(&left);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(
        left.iter().all(|it| it.contains("WebhookConfiguration")),
        "{left:?}"
    );
}

#[test]
fn what_is_called_otherwise_is_put_right_with_all_that_calls_it() {
    let certificates = made(&csv());
    let desired = install(&csv(), &certificates);
    let mut seen = cluster_after(&desired);
    let op = Key::new("Deployment", "home", "op");
    let mut drifted = seen.get(&op).unwrap().clone();
    drifted["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    seen.insert(drifted);
    let claimed = claims(&newer("Installing", renamed));
    let left = desired.clone().without(&claimed, &seen);
    let written: Vec<Key> = writes(&left, &seen).into_iter().map(Key::of).collect();
    assert_eq!(written, [op]);
    // It is still called, and so has to be trusted when its certificate is renewed.
    let callers: Vec<Key> = left.callers.iter().map(Key::of).collect();
    assert_eq!(callers.len(), desired.callers.len(), "{callers:?}");
    // Once the newer one is called, that is its own affair.
    let mut taken = seen
        .get(&Key::new("APIService", "", "v1.api.example.com"))
        .unwrap()
        .clone();
    taken["spec"]["service"]["name"] = json!("op2-service");
    seen.insert(taken);
    let left = desired.without(&claimed, &seen);
    assert!(!kinds(&left).iter().any(|it| it.starts_with("APIService")));
}

#[test]
fn older_webhooks_trust_whatever_the_newer_version_serves_with() {
    let older = csv();
    let seen = cluster_after(&install(&older, &made(&older)));
    let newer = newer("Installing", |_| {});
    let claimed = claims(&newer);
    // The newer one wrote another certificate into the Secret that both know.
    let renewed = made(&newer);
    let secret = install_with(&newer, &renewed, None, &seen)
        .secrets
        .remove(0);
    let mut seen = seen;
    seen.insert(secret);
    let outlook = certificates::look(&older, &seen, &now()).leaving(&older, &claimed);
    let left = install_with(&older, &outlook.in_use, None, &seen).without(&claimed, &seen);
    assert!(matches!(
        observe(&left, &seen),
        Installation::Differs { .. }
    ));
    for configuration in writes(&left, &seen) {
        let bundle = configuration.pointer("/webhooks/0/clientConfig/caBundle");
        assert_eq!(bundle, Some(&json!(renewed["op"].bundle())));
    }
}

#[test]
fn before_a_newer_version_makes_another_certificate_all_who_call_are_told() {
    let older = csv();
    let mut seen = cluster_after(&install(&older, &made(&older)));
    // Of the older one's objects, the newer one reads what calls, and its own Secret, which was lost.
    let secret = Key::new("Secret", "home", "op-service-cert");
    let objects = [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ]
    .into_iter()
    .flat_map(|kind| {
        seen.of_kind(kind)
            .map(|(_, it)| it.clone())
            .collect::<Vec<_>>()
    });
    let crd = seen.get(&Key::new(
        "CustomResourceDefinition",
        "",
        "bars.example.com",
    ));
    seen = Seen::new(objects.chain(crd.cloned()).collect::<Vec<_>>());
    let newer = newer("InstallReady", |newer| {
        newer.spec.webhook_definitions[2].webhook_path = Some("/elsewhere".to_owned());
    });
    let outlook = certificates::look(&newer, &seen, &now());
    let renewed: ServingCertificates =
        certificates::renew(&newer, &outlook, &NONE, &now()).unwrap();
    let former = renewed["op"].former_authority.clone();
    assert!(former.is_some(), "what is trusted now stays trusted");
    let desired = install_with(&newer, &renewed, None, &seen);
    assert!(
        writes(&desired, &seen)
            .iter()
            .any(|it| Key::of(it) == secret)
    );
    let told = tidings(&desired, &seen, &renewed);
    let told_kinds: Vec<&str> = told.iter().map(|it| it.caller.kind.as_str()).collect();
    assert_eq!(
        told_kinds,
        [
            "CustomResourceDefinition",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ]
    );
    assert!(told.iter().all(|it| it.bundle == renewed["op"].bundle()));
    // Who is called otherwise by the newer one goes on calling as before until that is up.
    let crd = writes(&desired, &seen).into_iter().map(Key::of);
    assert!(
        !crd.into_iter()
            .any(|it| it.kind == "CustomResourceDefinition")
    );
}
