//! Pending: everything is checked before anything is installed.

use kube::ResourceExt as _;

use super::{Course, Situation, checks};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::{replacement, upgrade_gate};

/// The first step of a new ClusterServiceVersion.
pub(super) fn begin() -> Course {
    Course::pending(
        CsvReason::RequirementsUnknown,
        "requirements not yet checked",
    )
}

pub(super) fn step(situation: &Situation<'_>) -> Course {
    if let Some(course) = is_replaced_already(situation) {
        return course;
    }
    let older = situation.lineage.replaced_by(situation.csv);
    // One that began to install has taken over already: held now, nobody would look after what both have.
    let has_begun = replacement::has_begun(situation.csv);
    let asked = situation.former_conditions.iter().filter(|_| !has_begun);
    for condition in asked {
        if let Err(error) = upgrade_gate::check(condition) {
            let message = format!("operator is not upgradeable: {error}");
            return Course::pending(CsvReason::OperatorConditionNotUpgradeable, message);
        }
    }
    let requirements = match checks::strategy(situation) {
        Ok(requirements) => requirements,
        Err(course) => return *course,
    };
    if !requirements.met {
        let message = format!(
            "one or more requirements couldn't be found: {}",
            requirements.missing
        );
        return Course::pending(CsvReason::RequirementsNotMet, message).telling(requirements);
    }
    if let Err(course) = checks::content(situation) {
        return course.telling(requirements);
    }
    let waits_for = older.filter(|older| replacement::phase(older) != CsvPhase::Replacing);
    if let Some(older) = waits_for {
        let phase = replacement::phase(older);
        let message = format!(
            "all requirements found, waiting for csv {} to be replaced, which is in phase {}",
            older.name_any(),
            if phase == CsvPhase::Unset {
                "None"
            } else {
                phase.as_str()
            }
        );
        return Course::pending(CsvReason::AllRequirementsMet, message).telling(requirements);
    }
    Course::to(
        CsvPhase::InstallReady,
        CsvReason::AllRequirementsMet,
        "all requirements found, attempting install",
    )
    .telling(requirements)
}

/// One that somebody creates again, by hand or from a backup, after a newer one took its place: what it would install is
/// the newer one's.
fn is_replaced_already(situation: &Situation<'_>) -> Option<Course> {
    let lineage = situation.lineage;
    let newer = lineage.replacement_of(situation.csv)?;
    let mut descendants = lineage.descendants(situation.csv).into_iter();
    descendants.any(replacement::has_begun).then(|| {
        let message = format!("being replaced by csv: {}", newer.name_any());
        Course::to(CsvPhase::Replacing, CsvReason::BeingReplaced, message)
    })
}
