//! Whether a Deployment is ready.

use serde_json::Value;

use crate::lifecycle::install::object::text;

/// What a Deployment's condition says when its Pods did not come up in time.
const DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";

/// How far a Deployment is. The words are OLM's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// All Pods are of the last spec, and enough of them are available.
    Ready,
    /// It is on its way.
    Waiting(String),
    /// It did not get there in time.
    Stuck(String),
}

/// How far a Deployment of the cluster is.
pub(super) fn readiness(name: &str, deployment: &Value) -> Readiness {
    let number = |pointer: &str| {
        let number = deployment.pointer(pointer).and_then(Value::as_i64);
        number.unwrap_or_default()
    };
    if number("/metadata/generation") > number("/status/observedGeneration") {
        return Readiness::Waiting(format!(
            "waiting for spec update of deployment {name:?} to be observed..."
        ));
    }
    let progressing = condition(deployment, "Progressing");
    if progressing.is_some_and(|condition| text(condition, "/reason") == DEADLINE_EXCEEDED) {
        return Readiness::Stuck(format!(
            "deployment {name:?} exceeded its progress deadline"
        ));
    }
    let outdated = number("/status/replicas") - number("/status/updatedReplicas");
    if outdated > 0 {
        return Readiness::Waiting(format!(
            "deployment {name:?} waiting for {outdated} outdated replica(s) to be terminated"
        ));
    }
    let available = condition(deployment, "Available");
    let why = match available {
        Some(condition) if text(condition, "/status") == "True" => return Readiness::Ready,
        Some(condition) => text(condition, "/message"),
        None => "missing condition \"Available\"",
    };
    Readiness::Waiting(format!("deployment {name:?} not available: {why}"))
}

fn condition<'a>(deployment: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = deployment.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| text(condition, "/type") == type_)
}
