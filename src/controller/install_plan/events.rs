//! What the API server warns of, told to users.

use kube::Resource as _;
use kube::runtime::events::{Event, EventType};

use crate::api::conditions::install_plan::{APPLIED_WITH_WARNINGS, CRD_VALIDATION};
use crate::api::install_plan::{InstallPlan, Step};
use crate::controller::context::Context;
use crate::controller::words;

/// The API server takes no longer texts in an Event.
const LONGEST_NOTE: usize = 1024;

/// Tells what the API server warned of while a step was done.
pub(super) async fn warnings(
    context: &Context,
    plan: &InstallPlan,
    at: usize,
    step: &Step,
    warnings: &[String],
) {
    if warnings.is_empty() {
        return;
    }
    context.metrics.install_plan_warnings.inc();
    let operator = match step.resolving.as_str() {
        "" => "operator installation".to_owned(),
        csv => format!("installation of operator \"{csv}\""),
    };
    let note = format!(
        "{} warning(s) generated during {operator} ({} \"{}\"): {}",
        warnings.len(),
        step.resource.kind,
        step.resource.name,
        warnings.join(", ")
    );
    publish(context, plan, at, APPLIED_WITH_WARNINGS, &note).await;
}

/// Tells what is doubtful about the objects of a CRD that was replaced.
pub(super) async fn doubts(context: &Context, plan: &InstallPlan, at: usize, doubts: &[String]) {
    if !doubts.is_empty() {
        publish(context, plan, at, CRD_VALIDATION, &doubts.join("\n")).await;
    }
}

async fn publish(context: &Context, plan: &InstallPlan, at: usize, reason: &str, note: &str) {
    let mut reference = plan.object_ref(&());
    reference.field_path = Some(format!("status.plan[{at}]"));
    let event = Event {
        type_: EventType::Warning,
        reason: reason.to_owned(),
        note: Some(cut(note)),
        action: "Install".to_owned(),
        secondary: None,
    };
    // An Event that gets lost stops no plan.
    if let Err(error) = context.events.publish(&event, &reference).await {
        let error = words::of_api(&error);
        tracing::warn!(error, note, "an Event could not be written");
    }
}

fn cut(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    let mut end = LONGEST_NOTE - '…'.len_utf8();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    let (start, _) = note.split_at(end);
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_letters() {
        let long = "é".repeat(LONGEST_NOTE);
        let note = cut(&long);
        assert!(
            note.len() <= LONGEST_NOTE && note.ends_with("é…"),
            "{}",
            note.len()
        );
        assert_eq!(cut("short"), "short");
    }
}
