//! Whether it is known what a Subscription gets: `ResolutionFailed` and `Resolved`.

use kube::ResourceExt as _;

use super::catalogs;
use super::conditions::Conditions;
use super::share::Share;
use super::situation::{Groups, Outcome, Situation};
use super::text;
use crate::api::conditions::subscription::{
    CONSTRAINTS_NOT_SATISFIABLE, ERROR_PREVENTED_RESOLUTION, INVALID_OPERATOR_GROUP, INVALID_SPEC,
    RESOLUTION_PENDING, SOLUTION_FOUND,
};
use crate::api::conditions::{ConditionStatus, CsvReason, SubscriptionConditionType};
use crate::api::subscription::Subscription;
use crate::resolver::{Component, Explanation};

/// How many changes that would help are told.
const ADVICE: usize = 3;

/// Why there is no solution.
struct Failure {
    /// The reason of `ResolutionFailed`, in OLM's words.
    reason: &'static str,
    /// The message of `ResolutionFailed`.
    message: String,
    /// The reason of `Resolved`, which can be more exact.
    exact: String,
    /// What `Resolved` adds to the message.
    advice: String,
}

impl Failure {
    fn error(exact: impl Into<String>, message: String) -> Self {
        Self {
            reason: ERROR_PREVENTED_RESOLUTION,
            message,
            exact: exact.into(),
            advice: String::new(),
        }
    }
}

/// Whether a solution is known.
pub(super) fn is_resolved(situation: &Situation<'_>) -> bool {
    matches!(situation.surroundings.groups, Groups::One { .. })
        && matches!(situation.outcome, Outcome::Component(Component::Solved(_)))
}

/// Says whether there is a solution, and what is in it for the Subscription.
pub(super) fn conditions(
    subscription: &Subscription,
    situation: &Situation<'_>,
    share: &Share<'_>,
    said: &mut Conditions<'_>,
) {
    use SubscriptionConditionType::{ResolutionFailed, Resolved};
    if let Some(failure) = failure(subscription, situation) {
        let advised = format!("{}{}", failure.message, failure.advice);
        said.say(
            ResolutionFailed,
            ConditionStatus::True,
            failure.reason,
            failure.message,
        );
        said.say(Resolved, ConditionStatus::False, &failure.exact, advised);
    } else if is_resolved(situation) {
        let message = solution(subscription, situation, share);
        said.say(Resolved, ConditionStatus::True, SOLUTION_FOUND, message);
    } else {
        said.repeat(&ResolutionFailed);
        if !said.repeat(&Resolved) {
            let message = "the catalogs are being read";
            said.say(
                Resolved,
                ConditionStatus::Unknown,
                RESOLUTION_PENDING,
                message,
            );
        }
    }
}

fn failure(subscription: &Subscription, situation: &Situation<'_>) -> Option<Failure> {
    let namespace = subscription.namespace().unwrap_or_default();
    match &situation.surroundings.groups {
        Groups::One { .. } => {}
        Groups::Unreadable { name, problem } => {
            let message =
                format!("OperatorGroup {namespace}/{name} cannot be understood: {problem}");
            return Some(Failure::error(INVALID_OPERATOR_GROUP, message));
        }
        Groups::Not1 { names } => return Some(wrong_number_of_groups(&namespace, names)),
    }
    match situation.outcome {
        Outcome::Pending | Outcome::Component(Component::Solved(_)) => None,
        Outcome::Component(Component::Unsolvable(explanation)) => Some(unsolvable(explanation)),
        Outcome::Unreadable(problem) => {
            let message = format!(
                "{problem}; correct it: `kubectl edit subscription {} -n {namespace}`",
                subscription.name_any()
            );
            Some(Failure::error(INVALID_SPEC, message))
        }
        Outcome::Error(problem) => {
            let message = format!("{problem}; it is tried again");
            Some(Failure::error(ERROR_PREVENTED_RESOLUTION, message))
        }
    }
}

fn wrong_number_of_groups(namespace: &str, names: &[String]) -> Failure {
    let count = names.len();
    let (reason, advice) = if names.is_empty() {
        (
            CsvReason::NoOperatorGroup,
            format!("create an OperatorGroup in namespace {namespace}"),
        )
    } else {
        (
            CsvReason::TooManyOperatorGroups,
            format!(
                "delete all but one of {} in namespace {namespace}",
                text::names(names)
            ),
        )
    };
    let message = format!("found {count} operatorGroups, expected 1: {advice}");
    Failure::error(reason.to_string(), message)
}

fn unsolvable(explanation: &Explanation) -> Failure {
    let mut advice = String::new();
    let nearest = explanation.nearest.iter().take(ADVICE);
    for (at, change) in nearest.enumerate() {
        let lead = if at == 0 {
            "; what would help: "
        } else {
            "; or: "
        };
        advice.push_str(lead);
        advice.push_str(&change.change);
    }
    Failure {
        reason: CONSTRAINTS_NOT_SATISFIABLE,
        message: format!("constraints not satisfiable: {}", explanation.summary),
        exact: CONSTRAINTS_NOT_SATISFIABLE.to_owned(),
        advice,
    }
}

fn solution(subscription: &Subscription, situation: &Situation<'_>, share: &Share<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(install) = share.install {
        let source = format!(
            "from channel {} of catalog {}/{}",
            install.channel, install.catalog_namespace, install.catalog
        );
        parts.push(if install.replaces.is_empty() {
            format!("{} {source} is to be installed", install.bundle)
        } else {
            format!(
                "{} {source} is to replace {}",
                install.bundle, install.replaces
            )
        });
    } else {
        parts.extend(share.kept.map(|kept| format!("{} stays", kept.csv)));
        // Of what is to be installed, the resolver notes itself how its catalog is.
        let catalogs = &situation.surroundings.catalogs;
        parts.extend(catalogs::trouble_with_target(subscription, catalogs));
    }
    parts.extend(held_back(share));
    parts.extend(share.notes.iter().cloned());
    parts.join("; ")
}

/// The upgrades that have to wait, and why.
pub(super) fn held_back(share: &Share<'_>) -> impl Iterator<Item = String> {
    let held_back = share.held_back.iter();
    held_back.map(|held| format!("{HELD_BACK}{}: {}", held.bundle, held.because))
}

const HELD_BACK: &str = "held back: ";

/// The upgrade that has to wait, and why, out of the message of `Resolved`.
pub fn held_back_in(message: &str) -> Option<(&str, &str)> {
    let at = message.find(HELD_BACK)?;
    let told = message.get(at + HELD_BACK.len()..)?;
    told.split_once(": ")
}
