//! The Subscriptions of a namespace: what they get, the plans for that, and what their statuses say.
//!
//! Everything of a namespace is looked at together, because its operators depend on each other, and
//! written apart: what one Subscription lacks is said there and stops no other.

mod planning;
mod resolution;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use kube::{Resource as _, ResourceExt as _};

use self::planning::Progress;
use self::resolution::Answer;
use self::world::World;
use super::context::Context;
use super::error::Error;
use super::key::ObjectKey;
use super::queue::Next;
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::subscription::{Subscription, SubscriptionStatus};
use crate::plan::subscription::{
    Bundles, Deprecations, Groups, Outcome, Situation, Surroundings, same, status,
};
use crate::resolver::{CatalogKey, Component, Snapshot};
use SubscriptionConditionType::{BundleUnpackFailed, InstallPlanFailed, ResolutionFailed};

/// How long a catalog is waited for that was never looked at, such as after a start: what is there
/// a moment later was not missing. Others do not have to wait for one that takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at one namespace.
pub(super) async fn reconcile(context: &Arc<Context>, namespace: &str) -> Result<Next, Error> {
    let world = World::read(context, namespace).await?;
    context.metrics.synced(namespace, &world.subscriptions);
    if world.subscriptions.is_empty() {
        context.fetches.keep_only(namespace, &BTreeSet::new());
        return Ok(Next::Wait);
    }
    if let Some(catalog) = world.unread(context) {
        tracing::debug!(namespace, %catalog, "a catalog is about to be read for the first time");
        // Whoever reads it tells when it is read; this is for one that takes too long.
        return Ok(Next::After(PATIENCE));
    }
    let mut surroundings = world.surroundings(context);
    let answer = match surroundings.groups {
        Groups::One { .. } => Some(resolution::answer(context, &world).await?),
        // Whose operators would have which rights? Nobody can tell.
        _ => None,
    };
    let mut progress: Vec<Option<Progress>> = Vec::new();
    let mut failed = None;
    if let Some(answer) = &answer {
        for component in &answer.resolution.components {
            let made = match component {
                Component::Solved(solution) => planning::plan(context, &world, solution).await,
                Component::Unsolvable(_) => Ok(Progress::default()),
            };
            let made = match made {
                Ok(made) => made,
                // What could not be read or written for one is in the way of no other.
                Err(error) => {
                    failed = failed.or(Some(error));
                    progress.push(None);
                    continue;
                }
            };
            if let Some(plan) = &made.plan {
                surroundings.plans.insert(plan.name.clone(), plan.clone());
            }
            for gone in &made.superseded {
                surroundings.plans.remove(gone);
            }
            progress.push(Some(made));
        }
    }
    write_statuses(context, &world, &surroundings, answer.as_ref(), &progress).await?;
    if let Some(error) = failed {
        return Err(error);
    }
    let progress = || progress.iter().flatten();
    let underway = progress().filter_map(|it| it.fingerprint.clone());
    context.fetches.keep_only(namespace, &underway.collect());
    let ask_again = answer.and_then(|answer| answer.ask_again);
    let ask_again = ask_again.map_or(Next::Wait, Next::After);
    Ok(progress().map(|it| it.next).fold(ask_again, sooner))
}

/// The time that was said comes before the pause that grows.
fn sooner(one: Next, other: Next) -> Next {
    match (one, other) {
        (Next::After(one), Next::After(other)) => Next::After(one.min(other)),
        (after @ Next::After(_), _) | (_, after @ Next::After(_)) => after,
        (Next::Retry, _) | (_, Next::Retry) => Next::Retry,
        (Next::Wait, Next::Wait) => Next::Wait,
    }
}

async fn write_statuses(
    context: &Context,
    world: &World,
    surroundings: &Surroundings,
    answer: Option<&Answer>,
    progress: &[Option<Progress>],
) -> Result<(), Error> {
    let ready = Bundles::default();
    let now = context.now();
    let mut by_name: BTreeMap<&str, (&Component, Option<&Progress>)> = BTreeMap::new();
    for (component, progress) in answer
        .into_iter()
        .flat_map(|answer| &answer.resolution.components)
        .zip(progress)
    {
        for name in component.subscriptions() {
            by_name.insert(name, (component, progress.as_ref()));
        }
    }
    let mut failed = None;
    let mut unresolved = BTreeSet::new();
    for subscription in &world.subscriptions {
        let name = subscription.name_any();
        let unreadable = answer.and_then(|answer| answer.unreadable.get(&name));
        let found = by_name.get(name.as_str());
        let (outcome, progress) = match (unreadable, found) {
            (Some(problem), _) => (Outcome::Unreadable(problem), None),
            (None, Some((component, Some(progress)))) => {
                (Outcome::Component(component), Some(*progress))
            }
            // How far it is nobody knows, until the next look.
            (None, Some((_, None))) => continue,
            (None, None) => (Outcome::Pending, None),
        };
        let deprecations = deprecations(world, subscription);
        let situation = Situation {
            surroundings,
            outcome,
            bundles: progress.map_or(&ready, |progress| &progress.bundles),
            plan: progress.and_then(|progress| progress.plan.as_ref()),
            deprecations: deprecations.as_ref(),
        };
        let after = status(subscription, &situation, &now);
        // One that cannot be written stops no other.
        match write(context, subscription, after).await {
            Ok(news) => unresolved.extend(news),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    for problem in unresolved {
        tell_namespace(context, &world.namespace, &problem).await;
    }
    failed.map_or(Ok(()), Err)
}

/// What the catalog of a Subscription says against what it has.
fn deprecations(world: &World, subscription: &Subscription) -> Option<Deprecations> {
    let spec = &subscription.spec;
    let key = CatalogKey::new(&spec.source_namespace, &spec.source);
    let (_, known) = world.catalogs.iter().find(|(object, _)| {
        object.name_any() == key.name && object.namespace().unwrap_or_default() == key.namespace
    })?;
    let content = known.as_ref()?.content.as_ref()?;
    // A package that cannot be read says nothing.
    let package = Snapshot::package(&*content.index, &spec.name).ok()??;
    let csv = subscription
        .status
        .as_ref()
        .map(|status| status.installed_csv.as_str());
    Deprecations::of(spec, &package, csv?)
}

/// Writes a status that says something new, and tells of what became worse. Says why there is no
/// solution, if that is news.
async fn write(
    context: &Context,
    subscription: &Subscription,
    after: SubscriptionStatus,
) -> Result<Option<String>, Error> {
    let before = subscription.status.clone().unwrap_or_default();
    if subscription.status.is_some() && same(&before, &after) {
        return Ok(None);
    }
    let mut object = subscription.clone();
    object.status = Some(after.clone());
    context.write_status(&object).await?;
    for type_ in [ResolutionFailed, BundleUnpackFailed, InstallPlanFailed] {
        if let Some(message) = news(&before, &after, &type_) {
            let reference = subscription.object_ref(&());
            tell(context, &reference, &type_, &message).await;
        }
    }
    Ok(news(&before, &after, &ResolutionFailed))
}

/// The message of a condition that is True and was not before, or said something else.
fn news(
    before: &SubscriptionStatus,
    after: &SubscriptionStatus,
    type_: &SubscriptionConditionType,
) -> Option<String> {
    let is_true = |status: &SubscriptionStatus| {
        let condition = status.condition(type_);
        condition
            .filter(|condition| condition.status == ConditionStatus::True)
            .map(|condition| (condition.reason.clone(), condition.message.clone()))
    };
    let (_, message) = is_true(after).filter(|now| is_true(before).as_ref() != Some(now))?;
    Some(message)
}

/// OLM tells the namespace, once for all its Subscriptions, and some look there.
async fn tell_namespace(context: &Context, namespace: &str, problem: &str) {
    let key = ObjectKey::new("", namespace);
    let Some(object) = context.caches.namespaces.get(&key) else {
        return;
    };
    let reference = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Namespace".to_owned()),
        name: Some(namespace.to_owned()),
        uid: object.metadata.uid.clone(),
        ..ObjectReference::default()
    };
    tell(context, &reference, &ResolutionFailed, problem).await;
}

async fn tell(
    context: &Context,
    about: &ObjectReference,
    type_: &SubscriptionConditionType,
    message: &str,
) {
    let reason = type_.to_string();
    context
        .tell(about, EventType::Warning, "Resolving", &reason, message)
        .await;
}
