//! What keeps a ClusterServiceVersion that was deleted: objects that are not in its namespace, and Pods that convert.
//!
//! Most of that is gone in a moment, and nothing is said of it. What stays for longer somebody else holds, or has time
//! to stop: then the status of the ClusterServiceVersion tells what it waits for, and so does the removal of its
//! Subscription.

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use serde_json::Value;

use super::progress::{advice, named};
use super::{Goes, Reference};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::ClusterServiceVersionStatus;
use crate::api::conditions::CsvReason;

/// What the status of a ClusterServiceVersion should say that waits for these objects, as they are in the cluster;
/// nothing if it says so already.
pub fn status(
    csv: &ClusterServiceVersion,
    left: &[Value],
    now: &Time,
) -> Option<ClusterServiceVersionStatus> {
    waiting(csv, words(left), now)
}

/// What its status should say if it cannot go for this reason; nothing if it says so already.
pub fn refused(
    csv: &ClusterServiceVersion,
    why: &str,
    now: &Time,
) -> Option<ClusterServiceVersionStatus> {
    let message = format!("it was deleted, and goes when what it leaves behind can go: {why}");
    waiting(csv, message, now)
}

fn waiting(
    csv: &ClusterServiceVersion,
    message: String,
    now: &Time,
) -> Option<ClusterServiceVersionStatus> {
    let before = csv.status.clone().unwrap_or_default();
    let after = ClusterServiceVersionStatus {
        reason: CsvReason::WaitingOnCleanup,
        message,
        ..before.clone()
    };
    (after != before).then(|| ClusterServiceVersionStatus {
        last_update_time: Some(now.clone()),
        ..after
    })
}

/// What a ClusterServiceVersion says that it waits for.
pub(super) fn told(csv: &ClusterServiceVersion) -> Option<&str> {
    let status = csv.status.as_ref()?;
    let waits = status.reason == CsvReason::WaitingOnCleanup;
    waits.then_some(status.message.as_str())
}

/// Whether somebody else has to take finalizers off what is left.
pub fn is_held(left: &[Value]) -> bool {
    left.iter().any(|live| !goes(live).held_by().is_empty())
}

/// Since when something is on its way out.
pub fn since(left: &[Value]) -> Option<Timestamp> {
    let times = left.iter().filter_map(|live| {
        let time = live.pointer("/metadata/deletionTimestamp");
        time.and_then(Value::as_str)?.parse().ok()
    });
    times.min()
}

/// What is left, in words.
pub fn words(left: &[Value]) -> String {
    let objects: Vec<Goes> = left.iter().map(goes).collect();
    let mut text = format!(
        "it was deleted, and goes when this is gone: {}",
        named(&objects)
    );
    for (object, live) in objects.iter().zip(left) {
        let grace = live.pointer("/spec/template/spec/terminationGracePeriodSeconds");
        if let Some(seconds) = grace.and_then(Value::as_i64) {
            let object = &object.object;
            // Writing to a string does not fail.
            let _ = write!(text, "; Pods of {object} have {seconds} seconds to stop");
        }
    }
    if let Some(held) = objects.iter().find(|it| !it.held_by().is_empty()) {
        text.push_str(&advice(held));
    }
    text
}

/// ClusterServiceVersions that have to go before something else, in words: what they wait for, and what to do.
pub fn awaited(csvs: &[&ClusterServiceVersion]) -> String {
    let objects: Vec<Goes> = csvs.iter().map(|csv| csv_goes(csv)).collect();
    let mut text = named(&objects);
    if let Some((csv, told)) = csvs.iter().find_map(|csv| Some((csv, told(csv)?))) {
        // Writing to a string does not fail.
        let _ = write!(text, "; {} says: {told}", csv.name_any());
    } else if let Some(held) = objects.iter().find(|it| !it.held_by().is_empty()) {
        text.push_str(&advice(held));
    }
    text
}

fn csv_goes(csv: &ClusterServiceVersion) -> Goes {
    Goes {
        object: Reference {
            api_version: ClusterServiceVersion::api_version(&()).into_owned(),
            kind: ClusterServiceVersion::kind(&()).into_owned(),
            namespace: csv.namespace().unwrap_or_default(),
            name: csv.name_any(),
        },
        is_going: csv.metadata.deletion_timestamp.is_some(),
        finalizers: csv.finalizers().to_vec(),
        ..Goes::default()
    }
}

fn goes(live: &Value) -> Goes {
    let text = |pointer: &str| {
        let text = live.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let finalizers = live.pointer("/metadata/finalizers");
    let finalizers = finalizers.and_then(Value::as_array).into_iter().flatten();
    Goes {
        object: Reference {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        },
        is_going: live.pointer("/metadata/deletionTimestamp").is_some(),
        finalizers: finalizers
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect(),
        ..Goes::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(finalizers: &[&str]) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {
                "name": "digger", "finalizers": finalizers,
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
        })
    }

    fn deployment(since: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "op", "namespace": "home", "finalizers": ["foregroundDeletion"],
                "deletionTimestamp": since,
            },
            "spec": {"template": {"spec": {"terminationGracePeriodSeconds": 3600}}},
        })
    }

    #[test]
    fn what_somebody_holds_is_told_with_what_to_do() {
        let left = [role(&["example.com/dig"])];
        assert!(is_held(&left));
        let words = words(&left);
        for word in [
            "ClusterRole digger (held by example.com/dig)",
            "kubectl patch clusterrole.v1.rbac.authorization.k8s.io digger --type merge",
        ] {
            assert!(words.contains(word), "no {word} in {words}");
        }
    }

    #[test]
    fn pods_that_have_time_to_stop_are_held_by_nobody() {
        let left = [deployment("2026-01-01T00:00:00Z")];
        assert!(!is_held(&left));
        assert_eq!(
            words(&left),
            "it was deleted, and goes when this is gone: Deployment home/op; \
             Pods of Deployment home/op have 3600 seconds to stop"
        );
    }

    #[test]
    fn what_is_waited_for_is_told_once_and_leaves_the_phase_as_it_was() {
        let mut csv: ClusterServiceVersion = serde_json::from_value(json!({
            "metadata": {"name": "gopher.v1"}, "spec": {},
            "status": {"phase": "Succeeded", "reason": "InstallSucceeded", "message": "fine"},
        }))
        .unwrap();
        assert_eq!(told(&csv), None);
        let time = |second: u8| -> Time {
            serde_json::from_value(json!(format!("2026-01-01T00:00:{second:02}Z"))).unwrap()
        };
        let left = [role(&["example.com/dig"])];
        csv.status = status(&csv, &left, &time(1));
        let now = csv.status.clone().unwrap();
        assert_eq!(now.phase.as_str(), "Succeeded");
        assert_eq!(told(&csv), Some(words(&left).as_str()));
        assert_eq!(status(&csv, &left, &time(2)), None);
        let others = [role(&["example.com/bury"])];
        assert!(status(&csv, &others, &time(3)).is_some());
    }

    #[test]
    fn what_is_refused_is_told_once_in_the_words_of_the_refusal() {
        let mut csv: ClusterServiceVersion = serde_json::from_value(json!({
            "metadata": {"name": "gopher.v1"}, "spec": {}, "status": {"phase": "Succeeded"},
        }))
        .unwrap();
        let now: Time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        csv.status = refused(&csv, "the house rules say no", &now);
        let said = told(&csv).unwrap();
        assert!(said.ends_with("the house rules say no"), "{said}");
        assert_eq!(refused(&csv, "the house rules say no", &now), None);
    }

    #[test]
    fn of_a_version_that_has_to_go_it_is_told_who_holds_it_or_what_it_says_itself() {
        let mut csv: ClusterServiceVersion = serde_json::from_value(json!({
            "metadata": {
                "name": "gopher.v1", "namespace": "home", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["operators.coreos.com/csv-cleanup", "example.com/dig"],
            },
            "spec": {},
        }))
        .unwrap();
        let held = awaited(&[&csv]);
        for word in [
            "ClusterServiceVersion home/gopher.v1 (held by example.com/dig)",
            "kubectl patch clusterserviceversion.v1alpha1.operators.coreos.com gopher.v1 -n home",
        ] {
            assert!(held.contains(word), "no {word} in {held}");
        }
        let now: Time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        csv.finalizers_mut().pop();
        assert_eq!(awaited(&[&csv]), "ClusterServiceVersion home/gopher.v1");
        csv.status = status(&csv, &[role(&["example.com/dig"])], &now);
        let waiting = awaited(&[&csv]);
        let word = "gopher.v1 says: it was deleted, and goes when this is gone: ClusterRole digger";
        assert!(waiting.contains(word), "no {word} in {waiting}");
    }

    #[test]
    fn it_is_waited_for_what_was_deleted_first() {
        let early = deployment("2025-01-01T00:00:00Z");
        let since = since(&[role(&[]), early]);
        assert_eq!(since, Some("2025-01-01T00:00:00Z".parse().unwrap()));
    }
}
