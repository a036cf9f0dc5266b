//! Replacing: a newer version takes over, and this one stays until that runs.
//!
//! Something may hold the newer one for weeks, or it may never come up. Until it runs, this one is all that
//! users have, and is looked after as one that runs. Many objects have the same names in both versions:
//! those that a newer one asks for are the newer one's once it begins to install, and are not part of what
//! this one is compared with ([`claims`](crate::lifecycle::install::claims)).

use std::time::Duration;

use kube::ResourceExt as _;

use super::installing::Health;
use super::{Action, Course, Situation, checks, group};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;
use crate::lifecycle::replacement;

pub(super) fn step(situation: &Situation<'_>) -> Course {
    if situation.lineage.replacement_of(situation.csv).is_none() {
        return comes_back();
    }
    // Only the oldest goes: without those in between, the chain would be broken.
    let is_oldest = situation.lineage.replaced_by(situation.csv).is_none();
    match (is_replaced(situation), is_oldest) {
        (true, true) => Course::to(
            CsvPhase::Deleting,
            CsvReason::Replaced,
            "has been replaced by a newer ClusterServiceVersion that has successfully installed.",
        ),
        (true, false) => Course::stay(),
        (false, _) => look_after(situation),
    }
}

/// Deleting: it goes, unless the newer version was deleted since that was decided, or does not run any more. Whoever takes
/// the newer one away looks at this one right before: so at least one of the two stays.
pub(super) fn last_step(situation: &Situation<'_>) -> Course {
    match situation.lineage.replacement_of(situation.csv) {
        Some(_) if is_replaced(situation) => Course::stay().and(Action::Delete),
        Some(newer) => being_replaced(format!("being replaced by csv: {}", newer.name_any())),
        None => comes_back(),
    }
}

fn is_replaced(situation: &Situation<'_>) -> bool {
    let mut groups = situation.groups.iter();
    let fails_forward = groups.any(|group| group.spec.fails_forward());
    situation.lineage.is_replaced(situation.csv, fails_forward)
}

fn comes_back() -> Course {
    Course::pending(
        CsvReason::RequirementsUnknown,
        "marked as replacement, but no replacement CSV found in cluster: requirements not yet \
         checked, this one takes its place again",
    )
}

/// Puts right what was changed, and renews certificates. The phase stays, as OLM's does.
fn look_after(situation: &Situation<'_>) -> Course {
    let membership = group::member_of(situation).and_then(|group| group::accepts(situation, group));
    if let Err(course) = membership {
        return marked(*course);
    }
    // What never ran because it was refused is not installed on its way out. One that ran and lacks something now
    // goes on running: the newer version may have brought a CRD that no longer serves what this one needs.
    let can_run = replacement::was_installed(situation.csv)
        && situation.requirements.is_ok()
        && checks::content(situation).is_ok();
    if !can_run {
        return Course::stay();
    }
    let needs_certificates = matches!(
        situation.certificates,
        Certificates::Missing { .. } | Certificates::Due
    );
    if needs_certificates || matches!(Health::of(situation), Health::Differs(_)) {
        return Course::stay().and(Action::Install);
    }
    put_right(situation.csv)
}

/// What a group has to be told, and what is to be noted of it, without a change of phase: a newer one
/// takes over, whatever the group says.
fn marked(course: Course) -> Course {
    let mut actions = course.actions;
    actions.retain(|action| matches!(action, Action::Annotate(_) | Action::UpdateGroup));
    Course {
        actions,
        ..Course::stay()
    }
}

/// What comes before the reason why one could not be put right, after the words for its phase.
const TROUBLE: &str = "; until then it should be as it was, but that failed: ";

/// Why one could not be put right, if that is told.
pub(super) fn trouble(message: &str) -> Option<&str> {
    message.split_once(TROUBLE).map(|(_, why)| why)
}

/// After which time that is tried again.
const TROUBLE_DELAY: Duration = Duration::from_mins(1);

/// All is as it should be: if that was otherwise, it is not told any longer.
pub(super) fn put_right(csv: &ClusterServiceVersion) -> Course {
    let message = csv.status.as_ref().map(|status| status.message.as_str());
    match message.and_then(|message| message.split_once(TROUBLE)) {
        Some((message, _)) => being_replaced(message),
        None => Course::stay(),
    }
}

/// It could not be put right, which is told beside its phase.
pub(super) fn not_put_right(csv: &ClusterServiceVersion, why: &str) -> Course {
    let message = csv.status.as_ref().map(|status| status.message.as_str());
    let message = message.unwrap_or_default();
    let message = message.split_once(TROUBLE).map_or(message, |(it, _)| it);
    being_replaced(format!("{message}{TROUBLE}{why}")).look_again(TROUBLE_DELAY)
}

fn being_replaced(message: impl Into<String>) -> Course {
    Course::to(CsvPhase::Replacing, CsvReason::BeingReplaced, message)
}
