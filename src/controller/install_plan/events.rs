//! What happens to a plan, told to users.

use kube::Resource as _;
use kube::runtime::events::{Event, EventType};

use crate::api::conditions::install_plan::{
    APPLIED_WITH_WARNINGS, CRD_VALIDATION, INSTALL_PLAN_COMPLETE, STEP_LEFT_OUT,
};
use crate::api::install_plan::{InstallPlan, Step};
use crate::controller::context::Context;
use crate::controller::words;

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
    let event = warning(APPLIED_WITH_WARNINGS, &note);
    publish(context, plan, Some(at), &event).await;
}

/// Tells what is doubtful about the objects of a CRD that was replaced.
pub(super) async fn doubts(context: &Context, plan: &InstallPlan, at: usize, doubts: &[String]) {
    if !doubts.is_empty() {
        let event = warning(CRD_VALIDATION, &doubts.join("\n"));
        publish(context, plan, Some(at), &event).await;
    }
}

/// Tells that an object was left out that the plan does not depend on.
pub(super) async fn left_out(context: &Context, plan: &InstallPlan, at: usize, why: &str) {
    let note = format!("left out, because the operator does not depend on it: {why}");
    publish(context, plan, Some(at), &warning(STEP_LEFT_OUT, &note)).await;
}

/// Tells that a plan was carried out.
pub(super) async fn completed(context: &Context, plan: &InstallPlan) {
    let csvs = plan.spec.cluster_service_version_names.join(", ");
    let event = Event {
        type_: EventType::Normal,
        ..warning(
            INSTALL_PLAN_COMPLETE,
            &format!("all steps are done for {csvs}"),
        )
    };
    publish(context, plan, None, &event).await;
}

fn warning(reason: &str, note: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: reason.to_owned(),
        note: Some(words::note(note)),
        action: "Install".to_owned(),
        secondary: None,
    }
}

async fn publish(context: &Context, plan: &InstallPlan, at: Option<usize>, event: &Event) {
    let mut reference = plan.object_ref(&());
    reference.field_path = at.map(|at| format!("status.plan[{at}]"));
    // An Event that gets lost stops no plan.
    if let Err(error) = context.events.publish(event, &reference).await {
        let error = words::of_api(&error);
        tracing::warn!(error, note = event.note, "an Event could not be written");
    }
}
