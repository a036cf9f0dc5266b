//! Making room for a newer version although this one does not work.

use super::{Course, Situation};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::operator_group::OperatorGroup;
use crate::lifecycle::replacement;

/// Lets an operator that does not work be replaced by one that will: with fail-forward by any that
/// is there, as in OLM, else by one that nothing but its predecessor keeps from being installed.
/// OLM without fail-forward has it block every later version, also that which mends it.
pub(super) fn give_way(
    situation: &Situation<'_>,
    group: &OperatorGroup,
    course: &Course,
) -> Option<Course> {
    let phase = situation.phase();
    let to = course.to.as_ref();
    let fails = to.is_some_and(|to| to.phase == CsvPhase::Failed);
    let lacks = to.is_some_and(|to| {
        to.phase == CsvPhase::Pending && to.reason == CsvReason::RequirementsNotMet
    });
    // It may still come to something, but whoever wants another version does not wait for that.
    let crashes = to.is_some_and(|to| {
        to.phase == CsvPhase::Installing && to.reason == CsvReason::ComponentUnhealthy
    });
    let heals = to.is_some_and(|to| to.phase == CsvPhase::Succeeded);
    let has_failed = phase == CsvPhase::Failed && !heals;
    if !(has_failed || fails || lacks || crashes) {
        return None;
    }
    let newer = situation.lineage.replacement_of(situation.csv)?;
    let name = newer.metadata.name.as_deref().unwrap_or_default();
    if group.spec.fails_forward() && phase == CsvPhase::Failed {
        let message =
            format!("Fail Forward is enabled, allowing {phase} csv to be replaced by csv: {name}");
        return Some(Course::to(
            CsvPhase::Replacing,
            CsvReason::BeingReplaced,
            message,
        ));
    }
    if !replacement::is_ready_to_take_over(newer) {
        return None;
    }
    let trouble = to.filter(|_| fails || lacks || crashes).map_or_else(
        || situation.reason().to_string(),
        |to| to.reason.to_string(),
    );
    let message = format!(
        "being replaced by csv: {name}, although this one does not work ({trouble}): the \
         requirements of {name} are met"
    );
    Some(Course::to(
        CsvPhase::Replacing,
        CsvReason::BeingReplaced,
        message,
    ))
}
