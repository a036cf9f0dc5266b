//! Whether the installed operator runs: `Healthy`.

use super::conditions::Conditions;
use super::situation::{Csv, Surroundings};
use super::standing::Standing;
use super::text;
use crate::api::conditions::subscription::{CSV_MISSING, NOT_INSTALLED, PROGRESSING};
use crate::api::conditions::{ConditionStatus, CsvPhase, SubscriptionConditionType};

/// Says how the installed operator is, in the words of its CSV.
pub(super) fn condition(
    surroundings: &Surroundings,
    standing: &Standing<'_>,
    said: &mut Conditions<'_>,
) {
    let name = &standing.installed;
    let (status, reason, message) = if name.is_empty() {
        let message = "nothing is installed yet".to_owned();
        (ConditionStatus::Unknown, NOT_INSTALLED, message)
    } else if let Some(csv) = surroundings.csvs.get(name) {
        of_csv(name, csv)
    } else {
        let message = format!("ClusterServiceVersion {name} is gone");
        (ConditionStatus::False, CSV_MISSING, message)
    };
    let type_ = SubscriptionConditionType::Healthy;
    said.say(type_, status, reason, message);
}

fn of_csv<'a>(name: &str, csv: &'a Csv) -> (ConditionStatus, &'a str, String) {
    let reason = match csv.reason.as_str() {
        "" => csv.phase.as_str(),
        reason => reason,
    };
    let phase = match csv.phase.as_str() {
        "" => "not looked at yet",
        phase => phase,
    };
    let what = format!("ClusterServiceVersion {name} is {phase}");
    match csv.phase {
        // Its message changes with every check and says no more than that.
        CsvPhase::Succeeded => (ConditionStatus::True, reason, what),
        CsvPhase::Failed => (
            ConditionStatus::False,
            reason,
            text::about(&what, &csv.message),
        ),
        _ => {
            let why = text::about(reason, &csv.message);
            let message = match csv.reason.as_str() {
                "" => text::about(&what, &csv.message),
                _ => text::about(&what, &why),
            };
            (ConditionStatus::Unknown, PROGRESSING, message)
        }
    }
}
