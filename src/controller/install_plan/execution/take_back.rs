//! The place of a CSV that a plan brings: maybe another of that name is still there.
//!
//! Who goes back to an older version may ask for one that is still there. If the newer one never took over, that gives the
//! place back: it is deleted, and the older one is as good as new. If the newer one did take over, the older one goes, and
//! takes with it what is labelled as its own: nothing is written before it is gone, and then it is made anew, while the
//! newer one runs on.
//!
//! Which of the two it is may change in this very moment, so both sides look at the other right before they act. A plan
//! deletes newer versions only as it has read them, together with the older one and its phase. The older one writes its
//! phase, and goes only if then the newer one still runs and nobody deleted it ([`phase`](crate::lifecycle::phase)).

use std::time::Duration;

use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::objects::{copied_from, rank_of};
use super::{Execution, Stop};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::lifecycle::removal::cleanup;
use crate::lifecycle::replacement::Lineage;
use crate::plan::apply::Error as ApplyError;
use crate::plan::order::Rank;

/// How long it takes until something is said about what is waited for: most of it is gone in a moment.
const QUIET: Duration = Duration::from_secs(10);

/// What becomes of versions that have to give a place back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newer {
    /// They are left alone for now.
    Stay,
    /// They are deleted.
    Go,
}

/// How it is about the place of a CSV that a plan brings.
#[derive(Debug)]
enum Place<'a> {
    /// It can have it, or has it.
    Free,
    /// Another of that name has it, which is on its way out, after those that it replaced.
    Leaves(Vec<&'a ClusterServiceVersion>),
    /// It is there, and these were to replace it and never did.
    Taken(Vec<&'a ClusterServiceVersion>),
}

impl Execution<'_> {
    /// Whether a CSV that is not there yet, or not in its place, has to wait for others to go.
    pub(super) async fn waits_for_places(&mut self, newer: Newer) -> Result<bool, Stop> {
        for at in 0..self.steps.len() {
            let step = self.steps.get(at);
            if step.is_none_or(|step| rank_of(step) != Rank::ClusterServiceVersion)
                || self.is_done(at)
            {
                continue;
            }
            let Some(asked) = self.ready(at, true, None).await? else {
                return Ok(true);
            };
            match self.waits_for_place(&asked, newer).await {
                Ok(false) => {}
                Ok(true) => return Ok(true),
                Err(error) => {
                    self.failed(at, &error).await?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn waits_for_place(&mut self, asked: &Value, newer: Newer) -> Result<bool, ApplyError> {
        let live = self.context.applier.get(asked).await?;
        // What is a copy is told when the CSV is to be made.
        if live.is_none_or(|live| copied_from(&live).is_some()) {
            return Ok(false);
        }
        let (api_version, kind) = (&asked["apiVersion"], &asked["kind"]);
        let (api_version, kind) = (api_version.as_str(), kind.as_str());
        let all = self.context.applier.list(
            api_version.unwrap_or_default(),
            kind.unwrap_or_default(),
            Some(self.namespace),
            "",
        );
        // One that cannot be read replaces nobody.
        let all = all.await?.into_iter();
        let all = all.filter_map(|csv| serde_json::from_value(csv).ok());
        let all: Vec<ClusterServiceVersion> = all.collect();
        let groups = &self.context.caches.operator_groups;
        let groups = groups.in_namespace(self.namespace);
        let fails_forward = groups.iter().any(|group| group.spec.fails_forward());
        match place(&Lineage::new(&all), asked, self.plan, fails_forward) {
            Place::Free => Ok(false),
            Place::Leaves(older) => {
                self.waits_for(asked, &older);
                Ok(true)
            }
            Place::Taken(_) if newer == Newer::Stay => Ok(false),
            Place::Taken(newer) => {
                if self.is_deleted().await {
                    return Ok(true);
                }
                for csv in &newer {
                    self.have_go(asked, csv).await?;
                }
                self.waits_for(asked, &newer);
                Ok(true)
            }
        }
    }

    /// Deletes one that has to give a place back, unless it changed since it was read: then all is looked at again.
    async fn have_go(&self, asked: &Value, csv: &ClusterServiceVersion) -> Result<(), ApplyError> {
        if csv.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        tracing::info!(csv = csv.name_any(), "it gives its place back");
        let as_read = json!({
            "apiVersion": asked["apiVersion"], "kind": asked["kind"],
            "metadata": {
                "name": csv.name_any(), "namespace": self.namespace,
                "uid": csv.uid(), "resourceVersion": csv.resource_version(),
            },
        });
        match self.context.applier.delete_as_read(&as_read).await {
            Ok(_) | Err(ApplyError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// They are looked for again in a moment. If it takes long, it is told, and they are looked for less often.
    fn waits_for(&mut self, asked: &Value, csvs: &[&ClusterServiceVersion]) {
        if self.age < QUIET {
            return;
        }
        self.is_users_turn = true;
        self.problems.push(format!(
            "waiting until these are gone, after which {} takes its place: {}; to have something else instead, delete \
             InstallPlan {}/{}",
            name(asked),
            cleanup::awaited(csvs),
            self.namespace,
            self.plan.name_any(),
        ));
    }
}

/// How it is about the place of a CSV, by all that are there at one moment.
fn place<'a>(
    lineage: &Lineage<'a>,
    asked: &Value,
    plan: &InstallPlan,
    fails_forward: bool,
) -> Place<'a> {
    let Some(live) = lineage.get(name(asked)) else {
        return Place::Free;
    };
    let is_deleted = live.metadata.deletion_timestamp.is_some();
    let is_older = is_older(lineage, live, asked, plan);
    if is_deleted || is_older && lineage.is_leaving(live, fails_forward) {
        let mut leaving = lineage.predecessors(live);
        leaving.insert(0, live);
        return Place::Leaves(leaving);
    }
    let newer = lineage.descendants(live);
    if is_older && !newer.is_empty() {
        return Place::Taken(newer);
    }
    Place::Free
}

/// Whether a CSV that is there is not what the plan made, but was there before and is to come back. It replaces what came
/// after it; if that is gone already, then others that came after it may still be there.
fn is_older(
    lineage: &Lineage<'_>,
    live: &ClusterServiceVersion,
    asked: &Value,
    plan: &InstallPlan,
) -> bool {
    let replaced = asked.pointer("/spec/replaces").and_then(Value::as_str);
    let Some(replaced) = replaced.filter(|name| !name.is_empty()) else {
        return false;
    };
    let is_among = |csvs: Vec<&ClusterServiceVersion>| {
        let mut csvs = csvs.into_iter();
        csvs.any(|csv| csv.metadata.name.as_deref() == Some(replaced))
    };
    let was_there = live.creation_timestamp() < plan.creation_timestamp();
    is_among(lineage.descendants(live)) || was_there && !is_among(lineage.predecessors(live))
}

fn name(csv: &Value) -> &str {
    let name = csv.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

#[cfg(test)]
mod tests;
