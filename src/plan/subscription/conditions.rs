//! Conditions that keep their times as long as they say the same.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::text::bounded;
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::subscription::{SubscriptionCondition, SubscriptionStatus};

/// The conditions that a status has, and those that it gets. What is not said again is gone.
#[derive(Debug)]
pub(super) struct Conditions<'a> {
    old: &'a SubscriptionStatus,
    said: Vec<SubscriptionCondition>,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(old: &'a SubscriptionStatus) -> Self {
        Self {
            old,
            said: Vec::new(),
        }
    }

    /// Says something.
    pub(super) fn say(
        &mut self,
        type_: SubscriptionConditionType,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.said.push(SubscriptionCondition {
            type_,
            status,
            reason: bounded(reason.to_owned()),
            message: bounded(message.into()),
            last_heartbeat_time: None,
            last_transition_time: None,
        });
    }

    /// What was said before.
    pub(super) fn before(
        &self,
        type_: &SubscriptionConditionType,
    ) -> Option<&'a SubscriptionCondition> {
        self.old.condition(type_)
    }

    /// Says again what was said before, if anything was.
    pub(super) fn repeat(&mut self, type_: &SubscriptionConditionType) -> bool {
        let Some(before) = self.before(type_) else {
            return false;
        };
        let SubscriptionCondition {
            status,
            reason,
            message,
            ..
        } = before.clone();
        self.say(type_.clone(), status, &reason, message);
        true
    }

    /// What was said, with times, and after it the conditions of types that somebody else writes.
    pub(super) fn finish(self, now: &Time) -> Vec<SubscriptionCondition> {
        let old = self.old;
        let foreign = old.conditions.iter().filter(|condition| {
            matches!(
                condition.type_,
                SubscriptionConditionType::Other(_) | SubscriptionConditionType::Unset
            )
        });
        let said = self.said.into_iter().map(|said| timed(said, old, now));
        said.chain(foreign.cloned()).collect()
    }
}

/// Gives a condition the time when its status last changed.
fn timed(
    mut said: SubscriptionCondition,
    old: &SubscriptionStatus,
    now: &Time,
) -> SubscriptionCondition {
    let before = old
        .condition(&said.type_)
        .filter(|before| before.status == said.status);
    if let Some(before) = before {
        said.last_heartbeat_time
            .clone_from(&before.last_heartbeat_time);
        said.last_transition_time
            .clone_from(&before.last_transition_time);
    }
    said.last_transition_time.get_or_insert_with(|| now.clone());
    said
}
