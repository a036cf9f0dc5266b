//! ClusterServiceVersion: an operator installed, watched, upgraded and removed.
//!
//! One reconcile takes as many steps as it can without waiting for anything: it reads
//! ([`world`]), asks [`phase::next`], writes the status, does what it says ([`install`]), and
//! begins again with what it wrote, until nothing is left to be done now.

mod attempts;
mod circumstances;
mod copies;
mod facts;
mod install;
mod removal;
mod rights;
mod status;
mod subscriber;
mod tell;
mod world;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, ResourceExt as _};
use serde_json::json;

pub(super) use self::attempts::Attempts;
pub(super) use self::copies::reconcile as copy;
pub(crate) use self::removal::clean_up;
pub(super) use self::rights::bring_to;
use self::status::Troubles;
pub(super) use self::tell::{
    look_at_copies, look_at_everything, tell_all, tell_of_component, tell_of_copy, tell_of_csv,
    tell_of_group, tell_of_subscription,
};
use self::world::{Neighbours, World};
use super::context::Context;
use super::error::Error;
use super::key::ObjectKey;
use super::operator_condition;
use super::queue::Next;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::labels;
use crate::lifecycle::phase::{self, Action, Decision, InstallOutcome};

/// No way through the phases is longer, unless something goes round in a circle: then it does so at
/// the pace of the queue.
const MOST_STEPS: usize = 8;
/// How soon is looked again for what nobody tells of: objects that are not labelled as managed. Who has
/// waited for long is not looked at as often.
const MISSING: Duration = Duration::from_secs(5);
/// What part of the time that it has waited for passes until it is looked at again.
const PATIENCE: u32 = 20;
/// How soon is looked again for whether another version is done with what both have.
const TURN: Duration = Duration::from_millis(200);
/// How soon an install is tried again that failed for a reason that may pass.
const FAILED: Duration = Duration::from_secs(10);

/// Looks at one ClusterServiceVersion.
pub(super) async fn reconcile(context: &Context, key: &ObjectKey) -> Result<Next, Error> {
    let api = Api::<ClusterServiceVersion>::namespaced(context.client.clone(), &key.namespace);
    // The cache holds no descriptions and few annotations: all of them go to the Pods.
    let found = api.get_opt(&key.name).await;
    let found = found.map_err(Error::while_("reading the ClusterServiceVersion"))?;
    let Some(csv) = found else {
        context.attempts.forget(key);
        return removal::sweep(context, key).await;
    };
    // Whatever it says that it is: one that somebody copied by hand has our finalizer as well, and one whose marks
    // somebody changed has what it installed.
    if csv.metadata.deletion_timestamp.is_some() {
        return removal::finish(context, csv).await;
    }
    if csv.is_copied() {
        // Copies say of what; those are looked after with their original.
        if !csv.labels().contains_key(labels::COPIED_FROM) {
            removal::delete(context, key, &csv.uid().unwrap_or_default()).await?;
        }
        return Ok(Next::Wait);
    }
    // Before all that would be asked for in vain.
    if context.attempts.turn(&csv).is_none() {
        return Ok(Next::After(TURN));
    }
    let csv = removal::with_finalizer(context, csv).await?;
    // Before it runs, so that an operator finds it when it starts. One whose namespace does not take it runs
    // nevertheless, and says so.
    let ensured = operator_condition::ensure(context, &csv).await;
    let mut troubles = Troubles::default();
    if let Err(error) = &ensured
        && error.is_lasting()
    {
        troubles.note(format!("its OperatorCondition cannot be kept: {error}"));
    }
    let was_running = is_running(&csv);
    let (csv, next) = steps(context, csv, troubles).await?;
    rights::keep(context, &csv).await?;
    if !was_running && is_running(&csv) {
        copies::tell_if_disabled(context, &csv).await;
    }
    let rest = match ensured {
        Ok(()) => rest(context, key),
        Err(error) if error.is_lasting() => FAILED,
        Err(error) => return Err(error),
    };
    Ok(Next::After(match next {
        Next::After(sooner) => sooner.min(rest),
        _ => rest,
    }))
}

/// After which time is looked for what nobody tells of, such as objects of others that an operator needs
/// and that carry no label. It is not the same for all of them, so that they are not looked at all at once.
fn rest(context: &Context, key: &ObjectKey) -> Duration {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let rest = context.settings.rest;
    // Less than 1000, so that it is a number of each kind.
    let part = u32::try_from(hasher.finish() % 1000).unwrap_or_default();
    rest + rest * part / 1000
}

fn is_running(csv: &ClusterServiceVersion) -> bool {
    let status = csv.status.as_ref();
    status.is_some_and(|status| status.phase == CsvPhase::Succeeded)
}

/// Goes on until nothing is left to be done now.
async fn steps(
    context: &Context,
    mut csv: ClusterServiceVersion,
    mut troubles: Troubles,
) -> Result<(ClusterServiceVersion, Next), Error> {
    let mut next = Next::Wait;
    for _ in 0..MOST_STEPS {
        troubles.set_apart(&mut csv);
        let Some(_turn) = context.attempts.turn(&csv) else {
            return Ok((csv, Next::After(TURN)));
        };
        let neighbours = Neighbours::of(context, &csv);
        let before = csv.clone();
        let world = World::read(context, &before, &neighbours).await?;
        let decision = phase::next(&world.situation());
        let is_news = decision.status.is_some();
        next = after(&csv, &decision, &context.now());
        csv = status::write(context, csv, &decision, &mut troubles).await?;
        let mut is_done = !is_news;
        for action in &decision.actions {
            match action {
                Action::Annotate(annotations) => {
                    csv = annotate(context, csv, annotations).await?;
                    is_done = false;
                }
                Action::UpdateGroup => {
                    for group in world.groups() {
                        context.queues.operator_groups.add(ObjectKey::of(group));
                    }
                }
                Action::Install | Action::Delete if world.is_behind(context).await? => {
                    return Ok((csv, Next::After(TURN)));
                }
                Action::Install => {
                    let outcome = install::install(context, &world).await?;
                    let decision = phase::after_install(&csv, &outcome, &context.now());
                    is_done = decision.status.is_none();
                    next = after(&csv, &decision, &context.now());
                    csv = status::write(context, csv, &decision, &mut troubles).await?;
                }
                Action::Renew => {
                    let outcome = install::renew(context, &world).await?;
                    if let InstallOutcome::Failed { message, .. } = &outcome {
                        troubles.note(format!("its certificates could not be renewed: {message}"));
                    }
                    let decision = phase::after_renewal(&csv, &outcome, &context.now());
                    next = after(&csv, &decision, &context.now());
                    csv = status::write(context, csv, &decision, &mut troubles).await?;
                }
                Action::DeleteDeployments => install::delete_deployments(context, &csv).await?,
                // Who looks after the group looks after its roles.
                Action::EnsureApiRoles => {}
                Action::Delete => {
                    let uid = csv.uid().unwrap_or_default();
                    removal::delete(context, &ObjectKey::of(&csv), &uid).await?;
                    return Ok((csv, Next::Wait));
                }
            }
        }
        if is_done {
            break;
        }
    }
    let csv = status::write_troubles(context, csv, &mut troubles).await?;
    Ok((csv, next))
}

/// When it is looked at again although nothing changed.
fn after(csv: &ClusterServiceVersion, decision: &Decision, now: &Time) -> Next {
    let status = decision.status.as_ref().or(csv.status.as_ref());
    let least = match status.map(|status| (&status.phase, &status.reason)) {
        Some((CsvPhase::Failed, CsvReason::InstallComponentFailed)) => Some(FAILED),
        Some((_, CsvReason::InstallComponentFailedNoRetry | CsvReason::RequirementsNotMet)) => {
            Some(MISSING)
        }
        _ => None,
    };
    let pause = least.map(|least| {
        let since = status.and_then(|status| status.last_transition_time.as_ref());
        let waited = since.map(|since| now.0.duration_since(since.0));
        let waited = waited.and_then(|waited| Duration::try_from(waited).ok());
        least.max(waited.unwrap_or_default() / PATIENCE)
    });
    match (decision.look_again, pause) {
        (Some(one), Some(other)) => Next::After(one.min(other)),
        (Some(one), None) | (None, Some(one)) => Next::After(one),
        (None, None) => Next::Wait,
    }
}

async fn annotate(
    context: &Context,
    csv: ClusterServiceVersion,
    annotations: &std::collections::BTreeMap<String, String>,
) -> Result<ClusterServiceVersion, Error> {
    let patch = json!({"metadata": {
        "annotations": annotations,
        "resourceVersion": csv.resource_version(),
    }});
    status::patch(
        &context.client,
        &csv,
        &patch,
        "annotating it with its OperatorGroup",
    )
    .await
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::lacking("Pending", "RequirementsNotMet", MISSING)]
    #[case::failing("Failed", "InstallComponentFailed", FAILED)]
    fn what_does_not_come_to_anything_for_long_is_looked_at_less_often(
        #[case] phase: &str,
        #[case] reason: &str,
        #[case] at_first: Duration,
    ) {
        let csv: ClusterServiceVersion = serde_json::from_value(json!({
            "metadata": {"name": "a"}, "spec": {"install": {"strategy": "deployment", "spec": {}}},
            "status": {"phase": phase, "reason": reason,
                       "lastTransitionTime": "2026-01-01T00:00:00Z"},
        }))
        .unwrap();
        let after = |minutes: i64| {
            let begin = Timestamp::from_second(1_767_225_600).unwrap();
            let now = Time(begin + Duration::from_secs(minutes.unsigned_abs() * 60));
            super::after(&csv, &Decision::default(), &now)
        };
        assert_eq!(after(0), Next::After(at_first));
        assert_eq!(after(1), Next::After(at_first));
        assert_eq!(after(40), Next::After(Duration::from_mins(2)));
    }
}
