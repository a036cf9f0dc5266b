//! How far a plan is: from the statuses of its steps to its phase and conditions.

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use crate::api::conditions::{
    ConditionStatus, InstallPlanConditionType, InstallPlanPhase, InstallPlanReason, StepStatus,
};
use crate::api::install_plan::{InstallPlan, InstallPlanCondition, InstallPlanStatus, Step};

/// How many steps a message names.
const NAMED: usize = 3;

/// What went wrong while the steps were carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It may work the next time.
    Passing(String),
    /// The plan may not be carried out as things are, for example without its ServiceAccount; that
    /// may change.
    NotAllowed(String),
    /// It will never work.
    Permanent(String),
}

impl Trouble {
    /// What went wrong.
    pub fn message(&self) -> &str {
        match self {
            Self::Passing(message) | Self::NotAllowed(message) | Self::Permanent(message) => {
                message
            }
        }
    }
}

/// The status before steps are carried out: a plan that was approved begins, and remembers when. A
/// plan that waits, or is over, keeps its status.
pub fn begin(plan: &InstallPlan, now: &Time) -> InstallPlanStatus {
    let mut status = plan.status.clone().unwrap_or_default();
    match status.phase {
        InstallPlanPhase::Complete | InstallPlanPhase::Failed | InstallPlanPhase::Other(_) => {
            return status;
        }
        InstallPlanPhase::Installing => {}
        _ if plan.spec.approved => {
            status.phase = InstallPlanPhase::Installing;
            status.message = String::new();
        }
        _ => {
            status.phase = InstallPlanPhase::RequiresApproval;
            return status;
        }
    }
    status.start_time.get_or_insert_with(|| now.clone());
    status
}

/// The status after steps were carried out. `before` is what [`begin`] said, `steps` is how far each
/// step is now.
///
/// Only a plan that is `Installing` moves. Times change only together with what they are about, so
/// that a status that says the same is the same.
pub fn conclude(
    before: &InstallPlanStatus,
    steps: &[StepStatus],
    trouble: Option<&Trouble>,
    now: &Time,
) -> InstallPlanStatus {
    let mut status = before.clone();
    if status.phase != InstallPlanPhase::Installing {
        return status;
    }
    for (step, now) in status.plan.iter_mut().zip(steps) {
        step.status = now.clone();
    }
    let unsupported = unsupported(&status.plan);
    match trouble.or(unsupported.as_ref()) {
        Some(Trouble::Permanent(problem)) => {
            status.phase = InstallPlanPhase::Failed;
            status.message.clone_from(problem);
            not_installed(
                &mut status,
                InstallPlanReason::InstallComponentFailed,
                problem,
                now,
            );
        }
        Some(Trouble::Passing(problem)) => {
            status.message = format!("retrying execution due to error: {problem}");
            not_installed(
                &mut status,
                InstallPlanReason::InstallComponentFailed,
                problem,
                now,
            );
        }
        Some(Trouble::NotAllowed(problem)) => {
            status.message.clone_from(problem);
            not_installed(
                &mut status,
                InstallPlanReason::InstallCheckFailed,
                problem,
                now,
            );
        }
        None if status.plan.iter().all(is_done) => {
            status.phase = InstallPlanPhase::Complete;
            status.message = String::new();
            let installed = InstallPlanCondition {
                type_: InstallPlanConditionType::Installed,
                status: ConditionStatus::True,
                ..InstallPlanCondition::default()
            };
            set(&mut status, installed, now);
        }
        None => {
            status.message = waiting(&status.plan);
            let installed = &InstallPlanConditionType::Installed;
            status
                .conditions
                .retain(|condition| condition.type_ != *installed);
        }
    }
    status
}

/// Whether a plan that failed is tried again from time to time, because what it failed for may end
/// without it: the objects in the way of a CRD may be changed, and the account that it acts as may get
/// other rights.
pub fn is_tried_again(status: &InstallPlanStatus) -> bool {
    let is_about_objects = [
        "error validating existing CRs",
        "risk of data loss updating",
    ]
    .iter()
    .any(|words| status.message.contains(words));
    is_about_objects || status.attenuated_service_account_ref.is_some()
}

/// Since when a plan has missed a kind that the cluster does not have, if it did when it was looked at last.
pub fn misses_kinds_since(status: &InstallPlanStatus) -> Option<&Time> {
    let condition = status.condition(&InstallPlanConditionType::Installed)?;
    let misses = condition.status == ConditionStatus::False
        && condition.message.contains("api-server resource not found");
    condition.last_update_time.as_ref().filter(|_| misses)
}

/// Whether another plan came after this one for a Subscription that both are for. What others of the namespace get
/// says nothing of it. A plan that is for no Subscription gives way to any.
pub fn is_history(plan: &InstallPlan, others: &[&InstallPlan]) -> bool {
    let owners = plan.owner_references();
    let is_for_the_same = |other: &InstallPlan| {
        let mut theirs = other.owner_references().iter();
        owners.is_empty() || theirs.any(|it| owners.iter().any(|owner| owner.uid == it.uid))
    };
    others
        .iter()
        .any(|other| other.spec.generation > plan.spec.generation && is_for_the_same(other))
}

/// Whether nothing is left to do for a step.
pub fn is_done(step: &Step) -> bool {
    match step.status {
        StepStatus::Created | StepStatus::Present => true,
        StepStatus::NotCreated | StepStatus::UnsupportedResource => step.optional,
        _ => false,
    }
}

/// OLM's words, and which objects they are about.
fn unsupported(steps: &[Step]) -> Option<Trouble> {
    let steps = steps.iter();
    let steps: Vec<&Step> = steps
        .filter(|step| step.status == StepStatus::UnsupportedResource && !step.optional)
        .collect();
    (!steps.is_empty()).then(|| {
        Trouble::Permanent(format!(
            "the InstallPlan contains invalid data: {} cannot be installed",
            names(&steps)
        ))
    })
}

/// What a plan waits for that has no trouble.
fn waiting(steps: &[Step]) -> String {
    let apis: Vec<&Step> = steps
        .iter()
        .filter(|step| step.status == StepStatus::WaitingForApi)
        .collect();
    if apis.is_empty() {
        return String::new();
    }
    format!("waiting for the cluster to serve {}", names(&apis))
}

fn names(steps: &[&Step]) -> String {
    let shown = steps.iter().take(NAMED);
    let shown = shown.map(|step| format!("{} {}", step.resource.kind, step.resource.name));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match steps.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn not_installed(
    status: &mut InstallPlanStatus,
    reason: InstallPlanReason,
    problem: &str,
    now: &Time,
) {
    let condition = InstallPlanCondition {
        type_: InstallPlanConditionType::Installed,
        status: ConditionStatus::False,
        reason,
        message: problem.to_owned(),
        ..InstallPlanCondition::default()
    };
    set(status, condition, now);
}

/// Sets a condition. Its times stay what they were unless it says something else now.
fn set(status: &mut InstallPlanStatus, mut condition: InstallPlanCondition, now: &Time) {
    let known = status
        .conditions
        .iter_mut()
        .find(|known| known.type_ == condition.type_);
    let Some(known) = known else {
        condition.last_update_time = Some(now.clone());
        condition.last_transition_time = Some(now.clone());
        status.conditions.push(condition);
        return;
    };
    let same_status = known.status == condition.status;
    if same_status && known.reason == condition.reason && known.message == condition.message {
        return;
    }
    condition.last_update_time = Some(now.clone());
    condition.last_transition_time = match &known.last_transition_time {
        Some(since) if same_status => Some(since.clone()),
        _ => Some(now.clone()),
    };
    *known = condition;
}
