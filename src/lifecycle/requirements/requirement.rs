//! A requirement with what to do about it, and how that is told.

use crate::api::cluster_service_version::status::RequirementStatus;
use crate::lifecycle::text::bounded;

/// A requirement as its status shows it, and what to do if it is not met; nothing if it is.
pub(super) struct Requirement {
    pub(super) status: RequirementStatus,
    pub(super) advice: String,
}

/// How many requirements are told in the message; the status has all of them.
const TOLD: usize = 6;
/// How long what is said of one may be, and what is to be done about it, in characters.
const LONGEST_WORDS: usize = 400;
const LONGEST_ADVICE: usize = 1000;

/// What is missing, for people: OLM's words for each, and after them what to do.
pub(super) fn missing(unmet: &[&Requirement]) -> String {
    let told = unmet.iter().take(TOLD).map(|it| line(it));
    let told = told.collect::<Vec<_>>().join("; ");
    match unmet.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told}; and {more} more, see status.requirementStatus"),
    }
}

fn line(requirement: &Requirement) -> String {
    let RequirementStatus {
        kind,
        name,
        status,
        message,
        ..
    } = &requirement.status;
    let what = if message.is_empty() {
        format!("{kind} {name}: {status}")
    } else {
        format!("{kind} {name}: {message}")
    };
    let what = bounded(&what, LONGEST_WORDS);
    if requirement.advice.is_empty() {
        return what;
    }
    format!("{what} ({})", bounded(&requirement.advice, LONGEST_ADVICE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(name: &str, advice: &str) -> Requirement {
        let status = RequirementStatus {
            kind: "K".to_owned(),
            name: name.to_owned(),
            message: "no".to_owned(),
            ..RequirementStatus::default()
        };
        Requirement {
            status,
            advice: advice.to_owned(),
        }
    }

    #[test]
    fn each_is_told_with_what_to_do_about_it() {
        let (a, b) = (requirement("a", "make one"), requirement("b", ""));
        assert_eq!(missing(&[&a, &b]), "K a: no (make one); K b: no");
        assert_eq!(missing(&[]), "");
    }

    #[test]
    fn however_much_is_missing_the_message_stays_short() {
        let long = "é".repeat(100_000);
        let unmet = requirement(&long, &long);
        let told = missing(&[&unmet; 1000]);
        assert!(told.chars().count() < 10_000, "{}", told.len());
        assert!(
            told.ends_with("; and 994 more, see status.requirementStatus"),
            "{told}"
        );
    }
}
