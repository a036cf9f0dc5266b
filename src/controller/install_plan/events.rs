//! What happens to a plan, told to users.

use kube::Resource as _;
use kube::runtime::events::EventType::{self, Normal, Warning};

use crate::api::conditions::install_plan::{
    APPLIED_WITH_WARNINGS, CRD_VALIDATION, INSTALL_PLAN_COMPLETE, STEP_LEFT_OUT,
};
use crate::api::install_plan::{InstallPlan, Step};
use crate::controller::context::Context;

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
    tell(
        context,
        plan,
        Some(at),
        (Warning, APPLIED_WITH_WARNINGS),
        &note,
    )
    .await;
}

/// Tells what is doubtful about the objects of a CRD that was replaced.
pub(super) async fn doubts(context: &Context, plan: &InstallPlan, at: usize, doubts: &[String]) {
    if !doubts.is_empty() {
        let note = doubts.join("\n");
        tell(context, plan, Some(at), (Warning, CRD_VALIDATION), &note).await;
    }
}

/// Tells that an object was left out that the plan does not depend on.
pub(super) async fn left_out(context: &Context, plan: &InstallPlan, at: usize, why: &str) {
    let note = format!("left out, because the operator does not depend on it: {why}");
    tell(context, plan, Some(at), (Warning, STEP_LEFT_OUT), &note).await;
}

/// Tells that a plan was carried out.
pub(super) async fn completed(context: &Context, plan: &InstallPlan) {
    let csvs = plan.spec.cluster_service_version_names.join(", ");
    let note = format!("all steps are done for {csvs}");
    tell(context, plan, None, (Normal, INSTALL_PLAN_COMPLETE), &note).await;
}

/// Tells of a plan, or of one of its steps.
async fn tell(
    context: &Context,
    plan: &InstallPlan,
    at: Option<usize>,
    (type_, reason): (EventType, &str),
    note: &str,
) {
    let mut about = plan.object_ref(&());
    about.field_path = at.map(|at| format!("status.plan[{at}]"));
    context.tell(&about, type_, "Install", reason, note).await;
}
