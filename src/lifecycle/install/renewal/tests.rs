use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::certificates::look;
use super::super::fixtures::{NONE, certificates, cluster_after, csv, install, now, time};
use super::*;

/// A moment at which certificates that were made `now` are about to expire.
fn late() -> Time {
    time("2027-12-31T12:00:00Z")
}

fn deployment() -> Key {
    Key::new("Deployment", "home", "op")
}

fn secret() -> Key {
    Key::new("Secret", "home", "op-service-cert")
}

/// The cluster with an operator that runs.
fn running_cluster() -> Seen {
    let csv = csv();
    cluster_after(&install(&csv, &certificates(&csv)))
}

fn without(seen: &Seen, gone: &Key) -> Seen {
    let kinds = [
        "APIService",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "CustomResourceDefinition",
        "Deployment",
        "Secret",
        "Service",
    ];
    let objects = kinds.into_iter().flat_map(|kind| seen.of_kind(kind));
    let objects = objects.filter(|(key, _)| *key != gone);
    Seen::new(objects.map(|(_, object)| object.clone()))
}

/// One that asks for something else since it was edited.
fn edited() -> ClusterServiceVersion {
    let mut csv = csv();
    let deployments = &mut csv.spec.install.spec.deployments;
    let spec = &mut deployments[0].spec.0;
    spec["template"]["spec"]["containers"][0]["image"] = json!("newer");
    csv
}

fn authority(secret: &Value) -> String {
    let encoded = text(secret, "/data/olmCAKey");
    String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
}

/// The CAs that each caller trusts.
fn bundles(seen: &Seen) -> Vec<String> {
    let bundles = observe::bundles(seen, "home", "op-service");
    bundles
        .map(|bundle| String::from_utf8(STANDARD.decode(bundle).unwrap()).unwrap())
        .collect()
}

/// One write of a renewal.
enum Write<'a> {
    Tell(&'a Tiding),
    Secret(&'a Value),
    Mark(&'a Mark),
}

fn writes(renewal: &Renewal) -> Vec<Write<'_>> {
    let tidings = renewal.tidings.iter().map(Write::Tell);
    let secrets = renewal.secrets.iter().map(Write::Secret);
    let marks = renewal.marks.iter().map(Write::Mark);
    tidings.chain(secrets).chain(marks).collect()
}

fn carry_out(write: &Write<'_>, seen: &mut Seen) {
    match write {
        Write::Tell(tiding) => {
            let mut caller = seen.get(&tiding.caller).unwrap().clone();
            *caller.pointer_mut(&tiding.place).unwrap() = json!(tiding.bundle);
            seen.insert(caller);
        }
        Write::Secret(secret) => seen.insert((*secret).clone()),
        Write::Mark(mark) => {
            let mut deployment = seen.get(&mark.deployment).unwrap().clone();
            let patch = mark.patch();
            let hash = &patch["spec"]["template"]["metadata"]["annotations"]["olmcahash"];
            deployment["spec"]["template"]["metadata"]["annotations"]["olmcahash"] = hash.clone();
            seen.insert(deployment);
        }
    }
}

/// Whether everybody who calls trusts the CA that Pods serve with and that of the Secret.
fn assert_trusted(seen: &Seen, used: &str) {
    let next = seen.get(&secret()).map(authority);
    let bundles = bundles(seen);
    assert_eq!(bundles.len(), 4);
    for bundle in bundles {
        assert!(bundle.contains(used), "Pods are refused");
        let is_trusted = next.as_ref().is_none_or(|next| bundle.contains(next));
        assert!(is_trusted, "who reads the Secret is refused");
    }
}

#[test]
fn when_all_is_well_nothing_is_due() {
    let (csv, seen) = (csv(), running_cluster());
    assert!(!is_due(&csv, &look(&csv, &seen, &now()), &seen));
    let renewal = renewal(&csv, &look(&csv, &seen, &now()), &seen, &NONE, &now()).unwrap();
    assert!(!renewal.are_made);
    assert_eq!(writes(&renewal).len(), 0);
}

// Whoever is killed after any write, time and again, leaves an operator that answers, and what the next one finishes.
#[rstest::rstest]
#[case::expiring(false)]
#[case::lost(true)]
fn a_renewal_is_safe_after_each_write_and_finished_later(#[case] is_lost: bool) {
    for csv in [csv(), edited()] {
        let before = running_cluster();
        let used = authority(before.get(&secret()).unwrap());
        let before = if is_lost {
            without(&before, &secret())
        } else {
            before
        };
        let now = if is_lost { now() } else { late() };
        let image = |seen: &Seen| {
            let live = seen.get(&deployment()).unwrap();
            live["spec"]["template"]["spec"]["containers"][0]["image"].clone()
        };
        for killed_after in 0..8 {
            let mut seen = before.clone();
            // More often than callers remember CAs.
            for _ in 0..5 {
                let outlook = look(&csv, &seen, &now);
                let renewal = renewal(&csv, &outlook, &seen, &NONE, &now).unwrap();
                for write in writes(&renewal).iter().take(killed_after) {
                    carry_out(write, &mut seen);
                    assert_trusted(&seen, &used);
                }
            }
            let outlook = look(&csv, &seen, &now);
            // The fifth is the Secret, after which the Pods are left to be told.
            assert_eq!(is_due(&csv, &outlook, &seen), killed_after < 5);
            let last = renewal(&csv, &outlook, &seen, &NONE, &now).unwrap();
            for write in writes(&last) {
                carry_out(&write, &mut seen);
                assert_trusted(&seen, &used);
            }
            assert!(!is_due(&csv, &look(&csv, &seen, &now), &seen));
            // What the ClusterServiceVersion asks for since it was edited has to wait.
            assert_eq!(image(&seen), "m");
        }
    }
}

#[test]
fn that_pods_were_not_replaced_after_the_secret_was_written_is_found_by_their_hash() {
    let csv = csv();
    let mut seen = running_cluster();
    let renewed = renewal(&csv, &look(&csv, &seen, &late()), &seen, &NONE, &late()).unwrap();
    for write in &writes(&renewed) {
        if !matches!(write, Write::Mark(_)) {
            carry_out(write, &mut seen);
        }
    }
    let outlook = look(&csv, &seen, &late());
    assert_eq!(outlook.state, Certificates::Fine);
    assert!(is_due(&csv, &outlook, &seen));
    let again = renewal(&csv, &outlook, &seen, &NONE, &late()).unwrap();
    assert!(!again.are_made);
    assert_eq!(again.marks, renewed.marks);
    assert_eq!(writes(&again).len(), 1);
}

#[test]
fn what_does_not_run_yet_gets_its_certificate_when_it_is_installed() {
    let csv = csv();
    let nothing = Seen::default();
    assert!(!is_due(&csv, &look(&csv, &nothing, &now()), &nothing));

    // A Deployment that did not serve when it was installed.
    let mut live = running_cluster().get(&deployment()).unwrap().clone();
    live["spec"]["template"]["spec"]["volumes"] = json!([]);
    let seen = Seen::new([live]);
    let outlook = look(&csv, &seen, &now());
    assert!(!is_due(&csv, &outlook, &seen));
    let renewal = renewal(&csv, &outlook, &seen, &NONE, &now()).unwrap();
    assert!(!renewal.are_made);
    assert_eq!(writes(&renewal).len(), 0);

    // One of another version by the same name is that one's to look after.
    let mut live = running_cluster().get(&deployment()).unwrap().clone();
    live["metadata"]["labels"]["olm.owner"] = json!("op.v2");
    let seen = Seen::new([live]);
    assert!(!is_due(&csv, &look(&csv, &seen, &now()), &seen));
}
