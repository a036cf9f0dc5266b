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

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
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
use crate::api::conditions::subscription::{CUSTOM_RESOURCES_PRESENT, NOT_READABLE};
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::labels;
use crate::api::subscription::{Subscription, SubscriptionCondition};
use crate::lifecycle::removal::{
    Facts, Move, Removal, Stage, Wish, is_news, last_written, plan, put_back, so_far,
};
use crate::plan::apply::Applier;

use act::PORTION;
pub(crate) use act::{hand_over, put_back as take_back};
pub(crate) use facts::Surroundings;

/// How soon is looked whether something is gone that goes by itself.
const SOON: Duration = Duration::from_millis(200);
/// How soon is looked again at what somebody else has to do.
const LATER: Duration = Duration::from_secs(2);
/// How often it is told at most how many objects are left.
const BREATH: Duration = Duration::from_secs(5);
/// How long a Subscription that is about to be deleted may take to be.
const GRACE: Duration = Duration::from_mins(1);

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
        if put_back(&known).is_some() {
            return reconsider(context, &known).await;
        }
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

/// Somebody wrote a wish on a Subscription, and deletes it a moment later. If that does not happen, they were
/// stopped, and the wish must not be there when somebody deletes it for reasons of their own.
async fn reconsider(context: &Context, known: &Subscription) -> Result<Next, Error> {
    let now = context.now();
    let written = last_written(known);
    let age = written.map(|written| now.0.duration_since(written.0).unsigned_abs());
    match GRACE.checked_sub(age.unwrap_or(GRACE)) {
        Some(left) if !left.is_zero() => Ok(Next::After(left)),
        _ => {
            act::put_back(&context.client, known).await?;
            tell(
                context,
                known,
                true,
                "NotRemoved",
                "its removal was prepared, and it was not deleted; what it said before counts again",
            )
            .await;
            Ok(Next::Wait)
        }
    }
}

pub(super) fn has_finalizer(subscription: &Subscription) -> bool {
    let mut finalizers = subscription.finalizers().iter();
    finalizers.any(|it| it == labels::REMOVAL_FINALIZER)
}

async fn remove(context: &Context, subscription: Arc<Subscription>) -> Result<Next, Error> {
    let look = match look(context, &subscription).await {
        Ok(look) => look,
        Err(error) => {
            if !error.is_stale() {
                say(context, &subscription, &unreadable(&subscription, &error)).await?;
            }
            return Err(error);
        }
    };
    let Some(look) = look else {
        set_finalizer(&context.client, &subscription, false).await?;
        return Ok(Next::Wait);
    };
    let removal = &look.removal;
    let (acted, first) = match removal.next() {
        Move::LetGo => {
            let (is_warning, last) = last_words(removal);
            tell(context, &subscription, is_warning, "Removed", &last).await;
            set_finalizer(&context.client, &subscription, false).await?;
            return Ok(Next::Wait);
        }
        Move::Blocked => (Ok(()), LATER),
        Move::Wait(stage) => (Ok(()), first(stage)),
        Move::Act(stage) => (act_in_portions(context, &look, stage).await, first(stage)),
    };
    let problem = acted.as_ref().err().filter(|it| !it.is_stale());
    let news = match words(&subscription, removal, problem) {
        Some(words) => say(context, &subscription, &words).await?,
        None => None,
    };
    acted?;
    let now = context.now();
    let waited = news.map(|since| now.0.duration_since(since.0).unsigned_abs());
    Ok(Next::patiently(waited.unwrap_or_default(), first))
}

/// Does what a stage says, and tells in between how far it is where that takes long.
async fn act_in_portions(context: &Context, look: &Look, stage: &Stage) -> Result<(), Error> {
    let remover = remover(context);
    let portions = stage.portions(PORTION);
    let all: usize = portions.iter().map(|it| it.objects.len()).sum();
    let (mut done, mut outcome) = (0, Ok(()));
    for portion in &portions {
        if done > 0 {
            let Some(now) = remover.still_wished(&look.facts, &look.wish).await? else {
                return outcome;
            };
            if let Some(mut words) = words(&now, &look.removal, None) {
                words.message = so_far(&words.message, done, all);
                say(context, &now, &words).await?;
            }
        }
        let acted = remover.act(&look.facts, &look.wish, portion).await;
        outcome = outcome.and(acted);
        done += portion.objects.len();
    }
    outcome
}

/// How soon is looked again. To look at many takes long, and what comes back does so whenever it is looked at.
fn first(stage: &Stage) -> Duration {
    if stage.objects.len() > PORTION || stage.objects.iter().any(|it| it.comes_back) {
        LATER
    } else {
        SOON
    }
}

fn remover(context: &Context) -> Remover {
    Remover {
        client: context.client.clone(),
        applier: context.applier.clone(),
    }
}

/// What was seen, and what follows from it.
struct Look {
    facts: Facts,
    wish: Wish,
    removal: Removal,
}

/// Looks at what is to be done; at nothing if nothing is to go any more.
///
/// What is waited for is looked for in the caches. These may be behind, and what is gone does not come back: so
/// whatever is done is decided by what the API server says right before.
async fn look(context: &Context, subscription: &Arc<Subscription>) -> Result<Option<Look>, Error> {
    let namespace = subscription.namespace().unwrap_or_default();
    let remover = remover(context);
    let wish = remover.wish(subscription).await?;
    if !wish.removes() {
        return Ok(None);
    }
    // Looked at before everything else: what a plan wrote that is not at work any more is seen below.
    let at_work = context.plans_at_work.in_namespace(&namespace);
    // Whoever needs what goes may be anywhere, and the caches may hold some namespaces only.
    if context.settings.watched_namespaces.is_empty() {
        let known = Surroundings::of_caches(context, &namespace).with_plans_at_work(&at_work);
        let facts = remover.preview(subscription.clone(), &known, &wish).await?;
        let removal = plan(&facts, &wish);
        if matches!(removal.next(), Move::Blocked | Move::Wait(_)) {
            return Ok(Some(Look {
                facts,
                wish,
                removal,
            }));
        }
    }
    let fresh = Surroundings::list(&context.client, &namespace).await?;
    let fresh = fresh.with_plans_at_work(&at_work);
    let facts = remover.facts(subscription.clone(), &fresh, &wish).await?;
    let removal = plan(&facts, &wish);
    Ok(Some(Look {
        facts,
        wish,
        removal,
    }))
}

/// What is said at the end, and whether somebody should have a look.
fn last_words(removal: &Removal) -> (bool, String) {
    let mut text = "nothing is left of it".to_owned();
    if !removal.unnamed.is_empty() {
        text = format!(
            "nothing is left of it but CRDs with objects that were not named: {}",
            removal.unnamed.join(", ")
        );
    }
    let refused = removal.refused.iter();
    let refused: Vec<String> = refused
        .map(|it| format!("{} stays: {}", it.object, it.why))
        .collect();
    if !refused.is_empty() {
        text = format!("{text}; {}", refused.join("; "));
    }
    let unlisted = removal.unlisted.iter().map(ToString::to_string);
    let unlisted: Vec<String> = unlisted.chain(removal.unread.iter().cloned()).collect();
    if unlisted.is_empty() {
        return (false, text);
    }
    let text = format!(
        "{text}, as far as anybody can tell: {}; should there be any of it, remove that by hand",
        unlisted.join("; ")
    );
    (true, text)
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

/// What is said of a removal.
struct Words {
    reason: &'static str,
    message: String,
    is_stuck: bool,
}

/// What to say about what the removal waits for; nothing when it is done.
fn words(subscription: &Subscription, removal: &Removal, problem: Option<&Error>) -> Option<Words> {
    let (reason, mut message) = removal.told()?;
    if let Some(problem) = problem {
        message = format!("{message}; this failed, and is tried again: {problem}");
    }
    let is_stuck =
        problem.is_some() || removal.is_held() || matches!(removal.next(), Move::Blocked);
    // The rest does not take long.
    if is_stuck || reason == CUSTOM_RESOURCES_PRESENT {
        message = format!("{message}; {}", way_out(subscription));
    }
    Some(Words {
        reason,
        message,
        is_stuck,
    })
}

/// What to say if it cannot even be looked at.
fn unreadable(subscription: &Subscription, error: &Error) -> Words {
    Words {
        reason: NOT_READABLE,
        message: format!(
            "what is to be removed cannot be looked at, which is tried again: {error}; {}",
            way_out(subscription)
        ),
        is_stuck: true,
    }
}

/// Says it, if it is news, and gives the time since when it is none.
async fn say(
    context: &Context,
    subscription: &Subscription,
    words: &Words,
) -> Result<Option<Time>, Error> {
    let Words {
        reason,
        message,
        is_stuck,
    } = words;
    let mut status = subscription.status.clone().unwrap_or_default();
    let before = status.condition(&SubscriptionConditionType::Removing);
    if let Some(it) = before.filter(|it| it.reason == *reason && it.message == *message) {
        let since = it.last_heartbeat_time.as_ref();
        return Ok(since.or(it.last_transition_time.as_ref()).cloned());
    }
    let now = context.now();
    let said = before.filter(|it| it.reason == *reason && !is_news(&it.message, message));
    let said_at = said.and_then(|it| it.last_heartbeat_time.clone());
    // Every write wakes whoever watches, and us.
    if let Some(at) = &said_at
        && now.0.duration_since(at.0).unsigned_abs() < BREATH
    {
        return Ok(said_at);
    }
    let is_news = said.is_none();
    let since = before.and_then(|it| it.last_transition_time.clone());
    let condition = SubscriptionCondition {
        type_: SubscriptionConditionType::Removing,
        status: ConditionStatus::True,
        reason: (*reason).to_owned(),
        message: message.clone(),
        last_heartbeat_time: Some(now.clone()),
        last_transition_time: since.or_else(|| Some(now.clone())),
    };
    status
        .conditions
        .retain(|it| it.type_ != SubscriptionConditionType::Removing);
    status.conditions.push(condition);
    status.last_updated = Some(now.clone());
    let mut written = subscription.clone();
    written.status = Some(status);
    context.write_status(&written).await?;
    if is_news {
        tell(context, subscription, *is_stuck, reason, message).await;
    }
    Ok(Some(now))
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
    let concerns_us = has_finalizer(subscription)
        || Wish::of(subscription).removes()
        || put_back(subscription).is_some();
    if context.leads() && concerns_us {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::removal::{Reference, Stays};

    #[test]
    fn the_last_words_tell_what_stays_and_what_nobody_could_look_at() {
        let (is_warning, last) = last_words(&Removal::default());
        assert_eq!((is_warning, &*last), (false, "nothing is left of it"));
        let (is_warning, last) = last_words(&Removal {
            unread: vec!["secrets is forbidden".to_owned()],
            refused: vec![Stays {
                object: Reference {
                    name: "certs.example.com".to_owned(),
                    ..Reference::default()
                },
                why: "it is not of this package".to_owned(),
            }],
            ..Removal::default()
        });
        assert!(is_warning);
        for word in [
            "certs.example.com stays: it is not of this package",
            "secrets is forbidden",
        ] {
            assert!(last.contains(word), "no {word} in {last}");
        }
    }
}
