//! What a step found out.

use std::time::Duration;

use super::Action;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::requirements::Requirements;

/// What passes a check, or what comes of it that it did not.
pub(super) type Check<T> = Result<T, Box<Course>>;

/// How a ClusterServiceVersion should stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) phase: CsvPhase,
    pub(super) reason: CsvReason,
    pub(super) message: String,
}

/// What a step found out; it becomes a [`Decision`].
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// How it should stand; nothing if it stays.
    pub(super) to: Option<Standing>,
    /// What the requirements are, if they are to be told.
    pub(super) requirements: Option<Requirements>,
    pub(super) actions: Vec<Action>,
    pub(super) look_again: Option<Duration>,
}

impl Course {
    pub(super) fn stay() -> Self {
        Self::default()
    }

    pub(super) fn to(phase: CsvPhase, reason: CsvReason, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            to: Some(Standing {
                phase,
                reason,
                message,
            }),
            ..Self::default()
        }
    }

    pub(super) fn failed(reason: CsvReason, message: impl Into<String>) -> Self {
        Self::to(CsvPhase::Failed, reason, message)
    }

    pub(super) fn pending(reason: CsvReason, message: impl Into<String>) -> Self {
        Self::to(CsvPhase::Pending, reason, message)
    }

    pub(super) fn and(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }

    pub(super) fn look_again(mut self, after: Duration) -> Self {
        self.look_again = Some(after);
        self
    }

    pub(super) fn telling(mut self, requirements: &Requirements) -> Self {
        self.requirements = Some(requirements.clone());
        self
    }
}
