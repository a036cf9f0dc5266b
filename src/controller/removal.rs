//! A Subscription that was deleted, and what goes with it.
//!
//! Only those carry our finalizer whose policy is to remove something. What goes, stays, and comes
//! first is [`crate::lifecycle::removal`]'s to say; here is read what it has to know ([`facts`]) and done
//! what it says ([`act`]), by the controllers as by `chandler uninstall` where there are none.

mod act;
mod facts;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, Patch};
use kube::runtime::events::EventType;
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::json;

pub(crate) use super::cluster_service_version::clean_up;
use super::context::Context;
pub(crate) use super::error::Error;
use super::key::ObjectKey;
use super::queue::Next;
use super::run::patching;
use crate::api::conditions::subscription::CUSTOM_RESOURCES_PRESENT;
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::labels;
use crate::api::subscription::{Subscription, SubscriptionCondition};
use crate::lifecycle::removal::{Move, Removal, Step, Wish, plan};
use crate::plan::apply::Applier;

pub(crate) use act::hand_over;
pub(crate) use facts::Surroundings;

/// How soon is looked whether something is gone that goes by itself.
const SOON: Duration = Duration::from_millis(200);
/// How soon is looked again at what somebody else has to do. Custom resources are not watched.
const LATER: Duration = Duration::from_secs(2);

/// Reads what a removal has to know, and does what it says, with the rights of a client.
#[derive(Clone)]
pub(crate) struct Remover {
    pub(crate) client: Client,
    pub(crate) applier: Applier,
}

/// Looks at a Subscription that may have to be removed.
pub(super) async fn reconcile(context: &Context, key: &ObjectKey) -> Result<Next, Error> {
    let Some(known) = context.caches.subscriptions.get(key) else {
        return Ok(Next::Wait);
    };
    let has_finalizer = has_finalizer(&known);
    if known.metadata.deletion_timestamp.is_none() {
        if Wish::of(&known).removes() != has_finalizer {
            set_finalizer(&context.client, &known, !has_finalizer).await?;
        }
        return Ok(Next::Wait);
    }
    if !has_finalizer {
        return Ok(Next::Wait);
    }
    let api = Api::<Subscription>::namespaced(context.client.clone(), &key.namespace);
    let found = api.get_opt(&key.name).await;
    let found = found.map_err(Error::while_("reading the Subscription"))?;
    // One of the same name that came after it is another one.
    let Some(subscription) = found.filter(|it| it.uid() == known.uid()) else {
        return Ok(Next::Wait);
    };
    remove(context, Arc::new(subscription)).await
}

pub(super) fn has_finalizer(subscription: &Subscription) -> bool {
    let mut finalizers = subscription.finalizers().iter();
    finalizers.any(|it| it == labels::REMOVAL_FINALIZER)
}

async fn remove(context: &Context, subscription: Arc<Subscription>) -> Result<Next, Error> {
    let wish = wish(context, &subscription);
    if !wish.removes() {
        set_finalizer(&context.client, &subscription, false).await?;
        return Ok(Next::Wait);
    }
    let remover = Remover {
        client: context.client.clone(),
        applier: context.applier.clone(),
    };
    let surroundings = surroundings(context, &subscription).await?;
    let facts = remover
        .facts(subscription.clone(), &surroundings, &wish)
        .await?;
    let removal = plan(&facts, &wish);
    let (acted, next) = match removal.next() {
        Move::LetGo => {
            tell(
                context,
                &subscription,
                false,
                "Removed",
                "nothing is left of it",
            )
            .await;
            set_finalizer(&context.client, &subscription, false).await?;
            return Ok(Next::Wait);
        }
        Move::Blocked => (Ok(()), Next::After(LATER)),
        Move::Wait(stage) if stage.step == Step::DeleteCustomResources => {
            (Ok(()), Next::After(LATER))
        }
        Move::Wait(_) => (Ok(()), Next::After(SOON)),
        Move::Act(stage) => (remover.act(&facts, &wish, stage).await, Next::After(SOON)),
    };
    say(context, &subscription, &removal, acted.as_ref().err()).await?;
    acted?;
    Ok(next)
}

/// A namespace that goes with everything in it is no wish about what is elsewhere.
fn wish(context: &Context, subscription: &Subscription) -> Wish {
    let wish = Wish::of(subscription);
    let key = ObjectKey::new("", subscription.namespace().unwrap_or_default());
    let namespace = context.caches.namespaces.get(&key);
    let goes = namespace.is_some_and(|it| it.metadata.deletion_timestamp.is_some());
    if goes {
        wish.in_namespace_that_goes()
    } else {
        wish
    }
}

/// What is around a Subscription: from the caches, or from the API server if these hold some
/// namespaces only. Whoever needs what goes may be anywhere.
async fn surroundings(
    context: &Context,
    subscription: &Subscription,
) -> Result<Surroundings, Error> {
    let namespace = subscription.namespace().unwrap_or_default();
    if !context.settings.watched_namespaces.is_empty() {
        return Surroundings::list(&context.client, &namespace).await;
    }
    let caches = &context.caches;
    Ok(Surroundings {
        subscriptions: caches.subscriptions.all(),
        csvs: caches.csvs.all(),
        plans: caches.install_plans.in_namespace(&namespace),
        groups: caches.operator_groups.in_namespace(&namespace),
    })
}

/// Puts our finalizer on a Subscription, or takes it off.
pub(crate) async fn set_finalizer(
    client: &Client,
    subscription: &Subscription,
    wanted: bool,
) -> Result<(), Error> {
    let others = subscription.finalizers().iter();
    let others = others.filter(|it| *it != labels::REMOVAL_FINALIZER);
    let mut finalizers: Vec<&str> = others.map(String::as_str).collect();
    if wanted {
        finalizers.push(labels::REMOVAL_FINALIZER);
    }
    let patch = json!({"metadata": {
        "finalizers": finalizers, "resourceVersion": subscription.resource_version(),
    }});
    let namespace = subscription.namespace().unwrap_or_default();
    let api = Api::<Subscription>::namespaced(client.clone(), &namespace);
    api.patch(&subscription.name_any(), &patching(), &Patch::Merge(&patch))
        .await
        .map_err(Error::while_("writing the finalizer of the Subscription"))?;
    Ok(())
}

/// Says what the removal waits for, if that is news.
async fn say(
    context: &Context,
    subscription: &Subscription,
    removal: &Removal,
    problem: Option<&Error>,
) -> Result<(), Error> {
    let Some((reason, mut message)) = removal.told() else {
        return Ok(());
    };
    if let Some(problem) = problem {
        message = format!("{message}; this failed, and is tried again: {problem}");
    }
    let is_stuck = problem.is_some() || matches!(removal.next(), Move::Blocked);
    // The rest does not take long.
    if is_stuck || reason == CUSTOM_RESOURCES_PRESENT {
        message = format!("{message}; {}", way_out(subscription));
    }
    let mut status = subscription.status.clone().unwrap_or_default();
    let before = status.condition(&SubscriptionConditionType::Removing);
    if before.is_some_and(|it| it.reason == reason && it.message == message) {
        return Ok(());
    }
    let since = before.and_then(|it| it.last_transition_time.clone());
    let condition = SubscriptionCondition {
        type_: SubscriptionConditionType::Removing,
        status: ConditionStatus::True,
        reason: reason.to_owned(),
        message: message.clone(),
        last_heartbeat_time: None,
        last_transition_time: since.or_else(|| Some(context.now())),
    };
    status
        .conditions
        .retain(|it| it.type_ != SubscriptionConditionType::Removing);
    status.conditions.push(condition);
    status.last_updated = Some(context.now());
    let mut written = subscription.clone();
    written.status = Some(status);
    context.write_status(&written).await?;
    tell(context, subscription, is_stuck, reason, &message).await;
    Ok(())
}

/// How to have the Subscription go at once.
fn way_out(subscription: &Subscription) -> String {
    format!(
        "to let the Subscription go and keep what is left: kubectl patch subscription {} -n {} \
         --type merge -p '{{\"spec\":{{\"policy\":{{\"removal\":\"Keep\"}}}}}}'",
        subscription.name_any(),
        subscription.namespace().unwrap_or_default()
    )
}

async fn tell(
    context: &Context,
    subscription: &Subscription,
    is_warning: bool,
    reason: &str,
    message: &str,
) {
    let type_ = if is_warning {
        EventType::Warning
    } else {
        EventType::Normal
    };
    let about = subscription.object_ref(&());
    context
        .tell(&about, type_, "Removing", reason, message)
        .await;
}

/// A Subscription came or changed.
pub(super) fn tell_of_subscription(context: &Context, subscription: &Subscription) {
    if context.leads() && (has_finalizer(subscription) || Wish::of(subscription).removes()) {
        context.queues.removals.add(ObjectKey::of(subscription));
    }
}

/// Something changed that a removal may wait for.
pub(super) fn look_at_all(context: &Context) {
    if !context.leads() {
        return;
    }
    for subscription in context.caches.subscriptions.all() {
        if subscription.metadata.deletion_timestamp.is_some() {
            tell_of_subscription(context, &subscription);
        }
    }
}
