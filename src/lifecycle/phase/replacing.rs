//! Replacing: a newer version takes over, and this one stays until that runs.
//!
//! Until the newer one begins to install, which may take weeks if something holds it, this one is all
//! that users have, and is looked after as one that runs. From then on it keeps its hands off: many
//! objects have the same names in both versions.

use std::time::Duration;

use super::installing::Health;
use super::{Action, Course, Situation, group, succeeded};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;
use crate::lifecycle::replacement;

pub(super) fn step(situation: &Situation<'_>) -> Course {
    let (csv, lineage) = (situation.csv, situation.lineage);
    let successors = lineage.successors(csv);
    let Some(last) = successors.last() else {
        return Course::pending(
            CsvReason::RequirementsUnknown,
            "marked as replacement, but no replacement CSV found in cluster: requirements not yet \
             checked, this one takes its place again",
        );
    };
    // As long as the next one has not begun, those after it have not either.
    let is_alone = successors
        .first()
        .is_some_and(|next| !replacement::has_begun(next));
    if is_alone {
        return look_after(situation);
    }
    // Only the oldest goes: without those in between, the chain would be broken.
    if lineage.replaced_by(csv).is_some() {
        return Course::stay();
    }
    let runs = |csv| replacement::phase(csv) == CsvPhase::Succeeded;
    let fails_forward = situation
        .groups
        .iter()
        .any(|group| group.spec.fails_forward());
    let is_replaced = if fails_forward {
        runs(last)
    } else {
        successors.iter().any(|csv| runs(csv))
    };
    if !is_replaced {
        return Course::stay();
    }
    Course::to(
        CsvPhase::Deleting,
        CsvReason::Replaced,
        "has been replaced by a newer ClusterServiceVersion that has successfully installed.",
    )
}

/// Puts right what was changed, and renews certificates. The phase stays, as OLM's does.
fn look_after(situation: &Situation<'_>) -> Course {
    let is_member = group::member_of(situation).is_ok_and(|group| {
        let is_accepted = group::accepts(situation, group);
        is_accepted.is_ok()
    });
    let can_run = situation.requirements.as_ref().is_ok_and(|it| it.met);
    if !is_member || !can_run {
        return Course::stay();
    }
    let needs_certificates = matches!(
        situation.certificates,
        Certificates::Missing { .. } | Certificates::Due
    );
    if needs_certificates || matches!(Health::of(situation), Health::Differs(_)) {
        return Course::stay().and(Action::Install);
    }
    Course {
        look_again: succeeded::renewal(situation),
        ..put_right(situation.csv)
    }
}

/// What comes before the reason why one could not be put right, after the words for its phase.
const TROUBLE: &str = "; until then it should be as it was, but that failed: ";
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
