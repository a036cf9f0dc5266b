//! How far a removal is.

use std::fmt::Write as _;

use super::{Goes, Removal, Stage, Step};
use crate::api::conditions::subscription::{
    CRDS_PRESENT, CUSTOM_RESOURCES_PRESENT, INSTALL_PLAN_UNDERWAY, OPERATOR_PRESENT,
};
use crate::api::labels;

/// How many objects are told by name.
const TOLD: usize = 5;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move<'a> {
    /// Nothing, until something else changes.
    Blocked,
    /// Something is to be done for the objects of a stage that are not on their way out.
    Act(&'a Stage),
    /// They are on their way out.
    Wait(&'a Stage),
    /// Everything is done: the Subscription may go.
    LetGo,
}

impl Removal {
    /// What comes next.
    pub fn next(&self) -> Move<'_> {
        if !self.blockers.is_empty() {
            return Move::Blocked;
        }
        let mut stages = self.stages.iter();
        match stages.find(|stage| stage.step != Step::Afterwards) {
            None => Move::LetGo,
            Some(stage) if stage.objects.iter().all(|it| it.is_going) => Move::Wait(stage),
            Some(stage) => Move::Act(stage),
        }
    }

    /// A word and a sentence about what it waits for; nothing when it is done.
    pub fn told(&self) -> Option<(&'static str, String)> {
        let stage = match self.next() {
            Move::LetGo => return None,
            Move::Blocked => {
                let messages: Vec<&str> = self.blockers.iter().map(|it| &*it.message).collect();
                let reason = self.blockers.first().map(|it| it.reason);
                return Some((reason.unwrap_or_default(), messages.join("; ")));
            }
            Move::Act(stage) | Move::Wait(stage) => stage,
        };
        let objects = named(&stage.objects);
        Some(match stage.step {
            Step::StopPlans => (INSTALL_PLAN_UNDERWAY, format!("stopping {objects}")),
            Step::HandOverDependencies => (
                OPERATOR_PRESENT,
                format!("removing what was installed for it: {objects}"),
            ),
            Step::DeleteCustomResources => (CUSTOM_RESOURCES_PRESENT, self.resources(stage)),
            Step::DeleteOperator => (OPERATOR_PRESENT, format!("removing {objects}")),
            Step::DeleteLeftovers => (
                OPERATOR_PRESENT,
                format!("removing what is left: {objects}"),
            ),
            Step::AwaitOthers => (
                CRDS_PRESENT,
                format!(
                    "its CRDs are of others as well, which are being removed, and go after them: \
                     {objects}"
                ),
            ),
            Step::DeleteDefinitions => (CRDS_PRESENT, format!("removing {objects}")),
            Step::UnmarkDefinitions | Step::Afterwards => (
                CRDS_PRESENT,
                format!("taking the operator's marks off {objects}"),
            ),
        })
    }

    /// Custom resources may take long, or for ever.
    fn resources(&self, stage: &Stage) -> String {
        let mut text = format!(
            "waiting until custom resources are gone: {}",
            named(&stage.objects)
        );
        let held = stage.objects.iter().any(|it| !it.finalizers.is_empty());
        if held && self.is_running {
            text.push_str(
                "; the operator is to work off their finalizers, and its log tells why it does not",
            );
        } else if held {
            text.push_str(
                "; the operator does not run and works off no finalizers: mend it, or remove them by hand",
            );
        }
        text.push_str("; to keep them after all, set spec.policy.removal to Operator");
        text
    }
}

/// The first objects by name, with what holds them, and how many more there are.
fn named(objects: &[Goes]) -> String {
    let mut told: Vec<&Goes> = objects.iter().collect();
    // Those that need somebody come first.
    told.sort_by_key(|it| it.finalizers.is_empty());
    let mut text = String::new();
    for it in told.iter().take(TOLD) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        // Writing to a string does not fail; here and below.
        let _ = write!(text, "{}", it.object);
        // Our own is no news.
        let finalizers = it.finalizers.iter().map(String::as_str);
        let held: Vec<&str> = finalizers
            .filter(|it| *it != labels::CSV_CLEANUP_FINALIZER)
            .collect();
        if it.is_going && !held.is_empty() {
            let _ = write!(text, " (held by {})", held.join(", "));
        }
    }
    match objects.len().saturating_sub(TOLD) {
        0 => {}
        more => {
            let _ = write!(text, " and {more} more");
        }
    }
    text
}
