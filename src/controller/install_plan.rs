//! Carries out InstallPlans.
//!
//! A pass looks at how far a plan is, does what is left, and writes what came of it, once and only if
//! it says something new. Steps that are done are not done again; everything else may be, any number of
//! times: killed between any two writes, the next pass finishes the plan.

pub(super) mod account;
mod at_work;
mod events;
mod execution;
mod manifests;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt as _};

use super::context::Context;
use super::error::Error;
use super::key::ObjectKey;
use super::queue::Next;
use crate::api::conditions::{InstallPlanConditionType, InstallPlanPhase, StepStatus};
use crate::api::install_plan::{InstallPlan, InstallPlanStatus};
use crate::plan::Trouble;
use crate::plan::progress::{begin, conclude, is_history, is_tried_again};
use crate::plan::retention::outdated;
use account::Access;
pub(crate) use at_work::PlansAtWork;
use execution::Outcome;

/// How soon something is looked at again, at first and at most.
#[derive(Clone, Copy)]
struct Turn {
    first: Duration,
    most: Duration,
}

/// A plan whose trouble only a user can end. Nothing tells us that an account got a right.
const USERS_TURN: Turn = Turn {
    first: Duration::from_secs(5),
    most: Duration::from_mins(1),
};
/// How soon a plan is looked at again that waits for the API server.
const SERVERS_TURN: Duration = Duration::from_secs(1);
/// A plan that failed is tried once more, where that may make sense.
const FAILED_TURN: Turn = Turn {
    first: Duration::from_secs(30),
    most: Duration::from_mins(10),
};
/// How many old plans are deleted at a time.
const MOST_DELETED: usize = 5;

/// Carries out what is left of a plan.
pub(super) async fn reconcile(context: &Arc<Context>, key: &ObjectKey) -> Result<Next, Error> {
    let Some(plan) = context.caches.install_plans.get(key) else {
        return Ok(Next::Wait);
    };
    let Some(status) = plan.status.as_ref().filter(|status| has_steps(status)) else {
        // Whoever makes plans writes their steps a moment later.
        return Ok(Next::Wait);
    };
    if plan.metadata.deletion_timestamp.is_some() {
        return Ok(Next::Wait);
    }
    match status.phase {
        InstallPlanPhase::Complete => {
            delete_outdated(context, &key.namespace).await?;
            Ok(Next::Wait)
        }
        InstallPlanPhase::Failed if !may_recover(context, &plan, status) => Ok(Next::Wait),
        InstallPlanPhase::Failed => try_again(context, &plan, status).await,
        _ => go_on(context, &plan, status).await,
    }
}

fn has_steps(status: &InstallPlanStatus) -> bool {
    !status.plan.is_empty() || !status.bundle_lookups.is_empty()
}

/// Begins a plan, or goes on with it.
async fn go_on(
    context: &Arc<Context>,
    plan: &InstallPlan,
    status: &InstallPlanStatus,
) -> Result<Next, Error> {
    let now = context.now();
    let begun = begin(plan, &now);
    if begun.phase != status.phase || begun.phase != InstallPlanPhase::Installing {
        // It is seen that the plan begins before it takes its time. The watch brings us back.
        let begins = begun.phase == InstallPlanPhase::Installing;
        write_if_changed(context, plan, status, begun).await?;
        if begins {
            let csvs = plan.spec.cluster_service_version_names.join(", ");
            tracing::info!(plan = %ObjectKey::of(plan), csvs, "the plan begins");
        }
        return Ok(Next::Wait);
    }
    let (after, next) = carry_out(context, plan, begun, &now).await?;
    let is_done = after.phase == InstallPlanPhase::Complete;
    write_if_changed(context, plan, status, after).await?;
    if is_done {
        done(context, plan).await;
    }
    Ok(next)
}

async fn done(context: &Context, plan: &InstallPlan) {
    let csvs = plan.spec.cluster_service_version_names.join(", ");
    tracing::info!(plan = %ObjectKey::of(plan), csvs, "the plan is done");
    events::completed(context, plan).await;
}

/// Whether a failed plan is tried again from time to time. A plan that another came after for the same
/// Subscription is history.
fn may_recover(context: &Context, plan: &InstallPlan, status: &InstallPlanStatus) -> bool {
    let namespace = plan.namespace().unwrap_or_default();
    let others = context.caches.install_plans.in_namespace(&namespace);
    let others: Vec<&InstallPlan> = others.iter().map(|other| &**other).collect();
    is_tried_again(status) && !is_history(plan, &others)
}

/// Carries out a failed plan as if it had not failed. As long as it fails in the same way, nothing is
/// written.
async fn try_again(
    context: &Arc<Context>,
    plan: &InstallPlan,
    status: &InstallPlanStatus,
) -> Result<Next, Error> {
    let mut begun = status.clone();
    begun.phase = InstallPlanPhase::Installing;
    let (after, next) = carry_out(context, plan, begun, &context.now()).await?;
    let is_done = after.phase == InstallPlanPhase::Complete;
    write_if_changed(context, plan, status, after).await?;
    if is_done {
        done(context, plan).await;
    }
    Ok(next)
}

/// Does the steps that are left, and says what the status of the plan is then.
async fn carry_out(
    context: &Arc<Context>,
    plan: &InstallPlan,
    mut begun: InstallPlanStatus,
    now: &Time,
) -> Result<(InstallPlanStatus, Next), Error> {
    let steps: Vec<StepStatus> = begun.plan.iter().map(|step| step.status.clone()).collect();
    if let Some(bundle) = not_unpacked(&begun) {
        let trouble = Trouble::Passing(format!(
            "bundle {bundle} of this plan was never unpacked by OLM; delete the InstallPlan, and a new one will be made"
        ));
        let after = conclude(&begun, &steps, Some(&trouble), now);
        return Ok((after, Next::Wait));
    }
    let account = match account::of(context, &plan.namespace().unwrap_or_default()).await? {
        Access::Own => None,
        Access::As(account) => Some(account),
        Access::None(why) => {
            let after = conclude(&begun, &steps, Some(&Trouble::NotAllowed(why)), now);
            let next = Next::After(pause(&after, now, USERS_TURN));
            return Ok((after, next));
        }
    };
    begun.attenuated_service_account_ref = account.as_ref().map(|account| ObjectReference {
        kind: Some("ServiceAccount".to_owned()),
        namespace: Some(account.namespace.clone()),
        name: Some(account.name.clone()),
        uid: account.uid.clone(),
        ..ObjectReference::default()
    });
    let at_work = context.plans_at_work.note(plan);
    let Outcome {
        statuses,
        trouble,
        is_users_turn,
    } = execution::run(context, plan, &begun, account.as_ref(), now).await;
    drop(at_work);
    let after = conclude(&begun, &statuses, trouble.as_ref(), now);
    let next = match (&after.phase, &trouble) {
        (InstallPlanPhase::Complete, _) => Next::Wait,
        (InstallPlanPhase::Failed, _) => Next::After(pause(&after, now, FAILED_TURN)),
        (_, None) => Next::After(SERVERS_TURN),
        (_, Some(_)) if is_users_turn => Next::After(pause(&after, now, USERS_TURN)),
        (_, Some(_)) => Next::Retry,
    };
    if let Some(trouble) = &trouble {
        let (plan, why) = (ObjectKey::of(plan), trouble.message());
        if after.message == begun.message {
            tracing::debug!(%plan, why, "the plan still cannot be carried out");
        } else {
            tracing::warn!(%plan, why, "the plan could not be carried out");
        }
    }
    Ok((after, next))
}

/// How long a plan rests that has trouble: the longer, the longer it lasts.
fn pause(status: &InstallPlanStatus, now: &Time, turn: Turn) -> Duration {
    let since = status
        .condition(&InstallPlanConditionType::Installed)
        .and_then(|condition| condition.last_transition_time.as_ref());
    let lasts = since.map(|since| now.0.duration_since(since.0).unsigned_abs());
    (lasts.unwrap_or_default() / 4).clamp(turn.first, turn.most)
}

/// A bundle that OLM was about to unpack when it was stopped: the steps for it are not in the plan.
fn not_unpacked(status: &InstallPlanStatus) -> Option<&str> {
    let lookups = status.bundle_lookups.iter();
    lookups
        .map(|lookup| lookup.identifier.as_str())
        .find(|csv| !status.plan.iter().any(|step| step.resolving == *csv))
}

async fn write_if_changed(
    context: &Context,
    plan: &InstallPlan,
    before: &InstallPlanStatus,
    after: InstallPlanStatus,
) -> Result<(), Error> {
    if *before == after {
        return Ok(());
    }
    let mut written = plan.clone();
    written.metadata.managed_fields = None;
    written.status = Some(after);
    context.write_status(&written).await?;
    Ok(())
}

/// Deletes plans that nobody needs any more.
async fn delete_outdated(context: &Context, namespace: &str) -> Result<(), Error> {
    let plans = context.caches.install_plans.in_namespace(namespace);
    let plans: Vec<&InstallPlan> = plans.iter().map(|plan| &**plan).collect();
    let subscriptions = context.caches.subscriptions.in_namespace(namespace);
    let subscriptions: Vec<_> = subscriptions.iter().map(|it| &**it).collect();
    let api = Api::<InstallPlan>::namespaced(context.client.clone(), namespace);
    for name in outdated(&plans, &subscriptions)
        .into_iter()
        .take(MOST_DELETED)
    {
        let plan = plans.iter().find(|plan| plan.name_any() == name);
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: plan.and_then(|plan| plan.uid()),
                ..Preconditions::default()
            }),
            ..DeleteParams::default()
        };
        match api.delete(&name, &parameters).await {
            Ok(_) => tracing::info!(namespace, plan = name, "deleted an old plan"),
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
            Err(error) => {
                return Err(Error::while_(format!("deleting InstallPlan {name}"))(error));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn time(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn a_plan_rests_the_longer_the_longer_its_trouble_lasts() {
        let begun = InstallPlanStatus {
            phase: InstallPlanPhase::Installing,
            ..InstallPlanStatus::default()
        };
        let trouble = Trouble::Passing("forbidden".to_owned());
        let first = conclude(&begun, &[], Some(&trouble), &time(0));
        let rests = |second| {
            let status = conclude(&first, &[], Some(&trouble), &time(second));
            pause(&status, &time(second), USERS_TURN).as_secs()
        };
        assert_eq!([rests(0), rests(40), rests(400)], [5, 10, 60]);
        let status = conclude(&first, &[], Some(&trouble), &time(7200));
        assert_eq!(
            pause(&status, &time(7200), FAILED_TURN),
            Duration::from_mins(10)
        );
    }
}
