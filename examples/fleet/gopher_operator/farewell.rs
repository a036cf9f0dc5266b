//! A GopherAPI does not go before its API was told to forget the gophers that it knows by it: afterwards nobody would
//! know where they are.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::resource::is_converted;

/// What keeps a GopherAPI until then.
const FINALIZER: &str = "lostinbrittany.dev/gophers";
/// How long an API may be out of reach before the GopherAPI goes all the same: both may be in a namespace that goes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is to be done about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It stays, or waits for somebody else.
    Nothing,
    /// This makes it wait for us when it is deleted.
    Hold(Value),
    /// It waits for us, and with this no longer.
    Leave(Value),
}

pub(crate) fn step(object: &DynamicObject) -> Step {
    let is_held = object.finalizers().iter().any(|it| it == FINALIZER);
    let is_leaving = object.metadata.deletion_timestamp.is_some();
    let others = object.finalizers().iter().filter(|it| *it != FINALIZER);
    let mut finalizers: Vec<&str> = others.map(String::as_str).collect();
    match (is_leaving, is_held) {
        (true, true) => Step::Leave(patch(object, &finalizers)),
        (false, false) if is_converted(object) => {
            finalizers.push(FINALIZER);
            Step::Hold(patch(object, &finalizers))
        }
        _ => Step::Nothing,
    }
}

/// Whether an API that could not be told so far will not be waited for any longer.
pub(crate) fn is_given_up(object: &DynamicObject, now: Timestamp) -> bool {
    let since = object.metadata.deletion_timestamp.as_ref();
    since.is_some_and(|since| now.duration_since(since.0).unsigned_abs() > PATIENCE)
}

/// For this very state of the object: others write finalizers too.
fn patch(object: &DynamicObject, finalizers: &[&str]) -> Value {
    let version = &object.metadata.resource_version;
    json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(metadata: &Value) -> DynamicObject {
        let mut object = json!({
            "apiVersion": "lostinbrittany.dev/v1beta1", "kind": "GopherAPI",
            "metadata": {"name": "one", "resourceVersion": "7"},
            "spec": {"endpoint": "http://api", "apiKey": {"value": "k"}},
        });
        for (field, value) in metadata.as_object().expect("fields") {
            object["metadata"][field] = value.clone();
        }
        serde_json::from_value(object).expect("an object")
    }

    #[test]
    fn a_gopher_api_waits_for_us_among_others() {
        let held =
            json!({"metadata": {"resourceVersion": "7", "finalizers": ["other", FINALIZER]}});
        let new = object(&json!({"finalizers": ["other"]}));
        assert_eq!(step(&new), Step::Hold(held));
        assert_eq!(
            step(&object(&json!({"finalizers": [FINALIZER]}))),
            Step::Nothing
        );
    }

    #[test]
    fn one_that_is_deleted_is_let_go_by_us_alone() {
        let deleted = json!("2026-01-01T00:00:00Z");
        let leaving =
            object(&json!({"deletionTimestamp": deleted, "finalizers": [FINALIZER, "other"]}));
        let left = json!({"metadata": {"resourceVersion": "7", "finalizers": ["other"]}});
        assert_eq!(step(&leaving), Step::Leave(left));
        let others = object(&json!({"deletionTimestamp": deleted, "finalizers": ["other"]}));
        assert_eq!(step(&others), Step::Nothing);
    }

    #[test]
    fn an_object_that_was_not_converted_is_not_written() {
        let mut old = object(&json!({}));
        old.data["spec"]["apiKey"] = json!("k");
        assert_eq!(step(&old), Step::Nothing);
    }

    #[test]
    fn an_api_that_is_away_is_waited_for_only_a_while() {
        let leaving = object(&json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}));
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        assert!(!is_given_up(&leaving, at("2026-01-01T00:00:09Z")));
        assert!(is_given_up(&leaving, at("2026-01-01T00:00:11Z")));
        assert!(!is_given_up(
            &object(&json!({})),
            at("2026-01-01T00:00:11Z")
        ));
    }
}
