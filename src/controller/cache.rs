//! The cache of images, kept to what somebody may need again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::images;
use super::key::ObjectKey;
use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::InstallPlan;
use crate::oci::Digest;
use crate::plan::Manifest;

/// How soon it is tried again while images are being pulled.
const BUSY: Duration = Duration::from_secs(10);

/// How many times longer something has to be unused that is taken away while images are being pulled.
const LONG: u32 = 4;

/// Takes out of the cache what nobody needs, from time to time, until it is told to stop. Each
/// replica has a cache of its own.
pub(super) async fn keep_small(context: Arc<Context>, stop: CancellationToken) {
    let rest = context.settings.cache_rest;
    let mut pause = rest;
    let mut busy_since: Option<Instant> = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        forget_plans(&context);
        // Registries that drip can have somebody pull at any moment; nobody pulls for that long.
        let alone = busy_since.is_none_or(|since| since.elapsed() < rest);
        let unused_for = if alone { rest } else { rest * LONG };
        let pruned = context.images.prune(needed(&context), unused_for, alone);
        pause = match pruned.await {
            Ok(true) => {
                busy_since = None;
                rest
            }
            Ok(false) => {
                busy_since.get_or_insert_with(Instant::now);
                BUSY.min(rest)
            }
            Err(error) => {
                tracing::warn!(%error, "the cache could not be cleaned up");
                rest
            }
        };
    }
}

/// Nobody asks any more for what was fetched for a plan that is gone.
fn forget_plans(context: &Context) {
    let plans = &context.caches.install_plans;
    context.plan_fetches.keep(|order| {
        let name = order.plan.split(' ').next().unwrap_or_default();
        let plan = plans.get(&ObjectKey::new(&order.namespace, name));
        plan.is_some_and(|plan| is_living(&plan))
    });
}

/// The images of catalogs that serve, so that an index that got lost can be made anew while the
/// registry is away, and those of plans that are not done.
fn needed(context: &Context) -> BTreeSet<Digest> {
    let catalogs = context.catalogs.digests().into_iter();
    // Where a folder of an image serves, its name comes after the digest.
    let catalogs = catalogs.filter_map(|digest| digest.get(..images::DIGEST)?.parse().ok());
    let plans = context.caches.install_plans.all();
    let living = plans.iter().filter(|plan| is_living(plan));
    catalogs
        .chain(living.flat_map(|plan| bundles(plan)))
        .collect()
}

fn is_living(plan: &InstallPlan) -> bool {
    let phase = plan.status.as_ref().map(|status| &status.phase);
    phase != Some(&InstallPlanPhase::Complete)
}

fn bundles(plan: &InstallPlan) -> Vec<Digest> {
    let steps = plan.status.iter().flat_map(|status| &status.plan);
    let images = steps.filter_map(|step| match Manifest::of(step) {
        Ok(Manifest::Bundle(reference)) => Some(reference.image),
        _ => None,
    });
    let digests = images.filter_map(|image| image.split_once('@')?.1.parse().ok());
    digests.collect()
}
