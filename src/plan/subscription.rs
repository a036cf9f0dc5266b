//! What the status of a Subscription says.
//!
//! [`status`] is a function of the Subscription, its last status included, and of its [`Situation`].
//! It says the same again until something changes: [`same`] tells whether there is anything to write.
//!
//! The conditions are of two kinds. *OLM's* name what is wrong, with OLM's reasons and, where OLM's
//! own tests and clients compare whole messages, with exactly OLM's messages. All but
//! `CatalogSourcesUnhealthy`, which becomes False, vanish when they no longer hold. *Ours*
//! (`Resolved`, `Installed`, `Healthy`) are always there, so that `kubectl wait` can be used, and say
//! what to do next.
//!
//! OLM's reasons `CatalogSourcesAdded`, `CatalogSourcesUpdated` and `CatalogSourcesDeleted` are never
//! written. OLM writes them when the list of catalogs has just changed, and at the next look, which
//! that very write causes, puts the lasting reason in their place.

mod catalogs;
mod conditions;
mod deprecation;
mod health;
mod install;
mod resolution;
mod share;
mod situation;
mod standing;
mod text;

#[cfg(test)]
mod tests;

pub use resolution::held_back_in;
pub use situation::{
    Bundles, Catalog, Csv, Deprecations, Groups, Health, Outcome, Plan, Situation, Surroundings,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::subscription::{
    CatalogHealth, Subscription, SubscriptionCondition, SubscriptionStatus,
};
use share::Share;
use standing::Standing;

/// What the status of a Subscription says now.
///
/// If that is what it says already, the status is returned as it is, with all its times.
pub fn status(
    subscription: &Subscription,
    situation: &Situation<'_>,
    now: &Time,
) -> SubscriptionStatus {
    let old = subscription.status.clone().unwrap_or_default();
    let share = Share::of(subscription, &situation.outcome);
    let standing = Standing::new(subscription, &old, situation, &share);

    let mut said = conditions::Conditions::new(&old);
    catalogs::condition(subscription, &situation.surroundings.catalogs, &mut said);
    resolution::conditions(subscription, situation, &share, &mut said);
    install::conditions(subscription, situation, &share, &standing, &mut said);
    health::condition(situation.surroundings, &standing, &mut said);
    deprecation::conditions(subscription, situation.deprecations, &standing, &mut said);

    let new = SubscriptionStatus {
        conditions: said.finish(now),
        catalog_health: catalogs::health(&old, &situation.surroundings.catalogs, now),
        current_csv: standing.current,
        installed_csv: standing.installed,
        state: standing.state,
        install_plan_generation: standing.generation,
        install_plan_ref: standing.reference,
        install_plan: standing.legacy_reference,
        reason: old.reason.clone(),
        last_updated: Some(now.clone()),
    };
    if same(&old, &new) { old } else { new }
}

/// Whether two statuses say the same, whenever they said it. The order of conditions does not matter.
///
/// A time that the CRD requires has to be there in both or in neither.
pub fn same(a: &SubscriptionStatus, b: &SubscriptionStatus) -> bool {
    timeless(a) == timeless(b)
}

/// The status with all times that are set set to the same one, and conditions by type.
fn timeless(status: &SubscriptionStatus) -> SubscriptionStatus {
    let mut status = status.clone();
    let epoch = |time: Option<Time>| time.map(|_| Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
    status.last_updated = epoch(status.last_updated);
    for SubscriptionCondition {
        last_heartbeat_time,
        last_transition_time,
        ..
    } in &mut status.conditions
    {
        *last_heartbeat_time = None;
        *last_transition_time = None;
    }
    for CatalogHealth { last_updated, .. } in &mut status.catalog_health {
        *last_updated = epoch(last_updated.take());
    }
    status
        .conditions
        .sort_by(|a, b| a.type_.as_str().cmp(b.type_.as_str()));
    status
}
