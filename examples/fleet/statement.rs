//! What an operator says in the status of a custom resource, in the words of `metav1.Condition`.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// A condition that is to be told.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) type_: &'static str,
    pub(crate) holds: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// The conditions to write, in place of those that are there: one that holds as before does so since then.
pub(crate) fn conditions(statements: &[Statement], before: &Value, now: Timestamp) -> Value {
    let one = |statement: &Statement| {
        let status = if statement.holds { "True" } else { "False" };
        let known = before.as_array().into_iter().flatten();
        let mut same = known.filter(|it| it["type"] == statement.type_ && it["status"] == status);
        let since = same.find_map(|it| it["lastTransitionTime"].as_str());
        // Kubernetes' times have whole seconds.
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        json!({
            "type": statement.type_, "status": status, "reason": statement.reason,
            "message": statement.message, "lastTransitionTime": since.unwrap_or(&now),
        })
    };
    statements.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_holds_since_it_changed_and_not_since_it_was_told() {
        let ready = |holds: bool, message: &str| Statement {
            type_: "Ready",
            holds,
            reason: "Because",
            message: message.to_owned(),
        };
        let at = |second| Timestamp::from_second(second).expect("a time");
        let first = conditions(&[ready(true, "one")], &Value::Null, at(0));
        assert_eq!(first[0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        let second = conditions(&[ready(true, "two")], &first, at(60));
        assert_eq!(second[0]["message"], "two");
        assert_eq!(second[0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        let third = conditions(&[ready(false, "two")], &second, at(60));
        assert_eq!(third[0]["lastTransitionTime"], "1970-01-01T00:01:00Z");
    }
}
