//! Replacing: a newer version takes over, and this one stays until that runs.

use super::{Course, Situation};
use crate::api::conditions::{CsvPhase, CsvReason};
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
