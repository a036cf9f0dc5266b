//! The steps of a plan, one after the other.
//!
//! CRDs come first, and are waited for; then everything that CSVs need; then each CSV; then the
//! Subscriptions that the plan generates. What is in a namespace belongs to its CSV, which does not
//! exist when it is written first: it is written once more with its owner, and only then the step of
//! the CSV counts as done. So a plan that was stopped anywhere does the missing part again.
//!
//! Where a CSV of that name is on its way out, nothing is written until it is gone: what belongs to it goes with it.

mod crds;
mod objects;
mod pull_secrets;
mod take_back;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use super::account::Account;
use super::events;
use super::manifests::Manifests;
use crate::api::conditions::StepStatus;
use crate::api::install_plan::{InstallPlan, InstallPlanStatus, Step};
use crate::controller::context::Context;
use crate::controller::key::ObjectKey;
use crate::controller::words;
use crate::plan::Trouble;
use crate::plan::apply::{Applied, Applier, Error as ApplyError, How};
use crate::plan::order::Rank;
use crate::plan::progress::{is_done, misses_kinds_since};
use crate::plan::step::is_pull_secret;
use objects::{copied_from, is_csv, rank_of, ranked};
use take_back::Newer;

/// How long a kind may be missing before the plan fails, from when it was missed first: something else may be about to
/// bring it.
const KIND_GRACE: Duration = Duration::from_mins(1);
/// How many troubles are told at once.
const TOLD: usize = 3;

/// What came of a pass.
pub(super) struct Outcome {
    /// How far each step is.
    pub(super) statuses: Vec<StepStatus>,
    pub(super) trouble: Option<Trouble>,
    /// Whether only a user can end the trouble, for example by granting a right.
    pub(super) is_users_turn: bool,
}

/// Does what is left of the plan.
pub(super) async fn run(
    context: &Context,
    plan: &InstallPlan,
    begun: &InstallPlanStatus,
    account: Option<&Account>,
    now: &Time,
) -> Outcome {
    let namespace = plan.metadata.namespace.as_deref().unwrap_or_default();
    let missed = misses_kinds_since(begun);
    let missed = missed.map(|since| now.0.duration_since(since.0).unsigned_abs());
    let age = begun.start_time.as_ref();
    let age = age.and_then(|since| Duration::try_from(now.0.duration_since(since.0)).ok());
    let writer = match account {
        Some(account) => context.applier.acting_as(&account.namespace, &account.name),
        None => context.applier.clone(),
    };
    let mut work = Execution {
        context,
        plan,
        namespace,
        steps: &begun.plan,
        statuses: begun.plan.iter().map(|step| step.status.clone()).collect(),
        manifests: Manifests::new(context, plan),
        writer,
        misses_kinds_for_long: missed.is_some_and(|missed| missed >= KIND_GRACE),
        age: age.unwrap_or_default(),
        csvs: HashMap::new(),
        owned: HashSet::new(),
        has_new_crds: false,
        problems: Vec::new(),
        left_out: Vec::new(),
        is_users_turn: false,
    };
    let ended = work.run().await;
    for (at, why) in &work.left_out {
        events::left_out(context, plan, *at, why).await;
    }
    let trouble = match ended {
        Err(Stop(problem)) => Some(Trouble::Permanent(problem)),
        Ok(()) => work.trouble(),
    };
    Outcome {
        statuses: work.statuses,
        trouble,
        is_users_turn: work.is_users_turn,
    }
}

/// The plan can never be carried out.
struct Stop(String);

struct Execution<'a> {
    context: &'a Context,
    plan: &'a InstallPlan,
    namespace: &'a str,
    steps: &'a [Step],
    statuses: Vec<StepStatus>,
    manifests: Manifests<'a>,
    /// Writes everything but CRDs.
    writer: Applier,
    /// Whether a kind has been missing for so long that nobody is about to bring it.
    misses_kinds_for_long: bool,
    /// How long ago the plan began.
    age: Duration,
    /// CSVs of the namespace that were looked for, with their uids if they exist.
    csvs: HashMap<String, Option<String>>,
    /// Steps whose objects were written with their owner in this pass.
    owned: HashSet<usize>,
    /// Whether a CRD was written in this pass.
    has_new_crds: bool,
    problems: Vec<String>,
    /// Steps that the plan can do without and had to, and why.
    left_out: Vec<(usize, String)>,
    is_users_turn: bool,
}

impl Execution<'_> {
    async fn run(&mut self) -> Result<(), Stop> {
        let ranked: Vec<(usize, Rank)> = ranked(self.steps);
        let of = |wanted: fn(Rank) -> bool| -> Vec<usize> {
            let of_rank = ranked.iter().filter(|(_, rank)| wanted(*rank));
            of_rank.map(|(at, _)| *at).collect()
        };
        if self.is_deleted().await || self.waits_for_places(Newer::Stay).await? {
            return Ok(());
        }
        for at in of(|rank| rank == Rank::Crd) {
            if !self.is_withdrawn() {
                self.crd(at).await?;
            }
        }
        if !self.problems.is_empty() || !self.apis_are_served().await? {
            return Ok(());
        }
        // Not before it is known that its CRDs can be had.
        if self.waits_for_places(Newer::Go).await? {
            return Ok(());
        }
        for at in of(|rank| rank > Rank::Crd && rank < Rank::ClusterServiceVersion) {
            if !self.is_done(at) && !self.is_withdrawn() {
                self.object(at).await?;
            }
        }
        // An operator without what it needs would only fail in its own way.
        for at in of(|rank| rank == Rank::ClusterServiceVersion) {
            if self.problems.is_empty() && !self.is_done(at) && !self.is_deleted().await {
                self.csv(at).await?;
            }
        }
        for at in of(|rank| rank == Rank::Subscription) {
            if self.problems.is_empty() && !self.is_done(at) && !self.is_deleted().await {
                self.created(at).await?;
            }
        }
        Ok(())
    }

    /// Whether somebody deleted the plan meanwhile, which is asked: what comes next makes an operator run, or
    /// brings another one. What cannot be asked is taken for deleted, until the next pass.
    async fn is_deleted(&mut self) -> bool {
        let api = Api::<InstallPlan>::namespaced(self.context.client.clone(), self.namespace);
        let found = api.get_metadata_opt(&self.plan.name_any()).await;
        let stays = match found {
            Ok(found) => found.is_some_and(|it| {
                it.uid() == self.plan.uid() && it.metadata.deletion_timestamp.is_none()
            }),
            Err(error) => {
                let problem = format!("reading the plan: {}", words::of_api(&error));
                self.problems.push(problem);
                return true;
            }
        };
        if !stays {
            self.problems.push("the plan was deleted".to_owned());
        }
        !stays
    }

    /// The same, as far as the cache knows, for what can be done without asking each time.
    fn is_withdrawn(&self) -> bool {
        let plans = &self.context.caches.install_plans;
        let plan = plans.get(&ObjectKey::of(self.plan));
        plan.is_none_or(|plan| plan.metadata.deletion_timestamp.is_some())
    }

    /// Writes one of the objects that a CSV needs, with its owner if that exists.
    async fn object(&mut self, at: usize) -> Result<(), Stop> {
        if self.steps.get(at).is_some_and(is_pull_secret) {
            return self.pull_secret(at).await;
        }
        let Some(object) = self.read(at).await? else {
            return Ok(());
        };
        let is_namespaced = match self.context.applier.is_namespaced(&object).await {
            Ok(is_namespaced) => is_namespaced,
            Err(error) => return self.failed(at, &error).await,
        };
        let owner = self.owner_of(at, &object);
        let uid = match (is_namespaced, owner.as_str()) {
            (false, _) | (_, "") => None,
            (true, csv) => {
                let uid = match self.uid_of(csv).await {
                    Ok(uid) => uid,
                    Err(error) => return self.failed(at, &error).await,
                };
                if uid.is_none() && !self.brings(csv) {
                    self.problems.push(format!(
                        "{} {} belongs to ClusterServiceVersion {csv}, which does not exist",
                        object["kind"].as_str().unwrap_or_default(),
                        object
                            .pointer("/metadata/name")
                            .and_then(Value::as_str)
                            .unwrap_or_default(),
                    ));
                    return Ok(());
                }
                uid
            }
        };
        let Some(object) = self
            .prepared(at, object, is_namespaced, uid.as_deref())
            .await?
        else {
            self.set(at, StepStatus::Present);
            return Ok(());
        };
        match self.writer.apply(&object, How::ServerSideApply).await {
            Ok(applied) => {
                if uid.is_some() || !is_namespaced {
                    self.owned.insert(at);
                }
                self.warn(at, &applied).await;
                self.set(at, self.status_of(&applied));
                Ok(())
            }
            Err(error) => self.failed(at, &error).await,
        }
    }

    /// Creates a CSV and makes it the owner of its objects.
    async fn csv(&mut self, at: usize) -> Result<(), Stop> {
        let Some(object) = self.ready(at, true, None).await? else {
            return Ok(());
        };
        match self.context.applier.get(&object).await {
            Ok(Some(live)) => {
                if let Some(origin) = copied_from(&live) {
                    self.problems.push(format!(
                        "ClusterServiceVersion {} cannot be created: a copy of the one in namespace {origin} is in its place; remove that one, or install in another namespace",
                        self.name(at)
                    ));
                    return Ok(());
                }
            }
            Ok(None) => {}
            Err(error) => return self.failed(at, &error).await,
        }
        let applied = match self.writer.apply(&object, How::CreateOnly).await {
            Ok(applied) => applied,
            Err(error) => return self.failed(at, &error).await,
        };
        self.warn(at, &applied).await;
        let csv = self.name(at);
        self.csvs.insert(csv.clone(), Some(applied.uid.clone()));
        for other in 0..self.steps.len() {
            if self.belongs_to(other, &csv) && !self.owned.contains(&other) {
                self.own(other, &applied.uid).await?;
            }
        }
        if self.problems.is_empty() {
            self.set(at, self.status_of(&applied));
        }
        Ok(())
    }

    /// Writes an object once more, with its owner. What has none, because it is in no namespace, may have gone with
    /// another CSV of that name since an earlier pass wrote it.
    async fn own(&mut self, at: usize, uid: &str) -> Result<(), Stop> {
        let Some(object) = self.read(at).await? else {
            return Ok(());
        };
        let is_namespaced = match self.context.applier.is_namespaced(&object).await {
            Ok(is_namespaced) => is_namespaced,
            Err(error) => return self.failed(at, &error).await,
        };
        let uid = is_namespaced.then_some(uid);
        let Some(object) = self.prepared(at, object, is_namespaced, uid).await? else {
            return Ok(());
        };
        match self.writer.apply(&object, How::ServerSideApply).await {
            Ok(_) => {
                self.owned.insert(at);
                Ok(())
            }
            Err(error) => self.failed(at, &error).await,
        }
    }

    /// Creates an object that is the user's from then on.
    async fn created(&mut self, at: usize) -> Result<(), Stop> {
        let Some(object) = self.ready(at, true, None).await? else {
            return Ok(());
        };
        match self.writer.apply(&object, How::CreateOnly).await {
            Ok(applied) => {
                self.warn(at, &applied).await;
                self.set(at, self.status_of(&applied));
                Ok(())
            }
            Err(error) => self.failed(at, &error).await,
        }
    }

    /// Whether the plan has a CSV of this name.
    fn brings(&self, csv: &str) -> bool {
        self.steps.iter().any(|step| is_csv(step, csv))
    }

    /// Whether a step is for an object that a CSV owns if it is in a namespace.
    fn belongs_to(&self, at: usize, csv: &str) -> bool {
        let Some(step) = self.steps.get(at) else {
            return false;
        };
        let rank = rank_of(step);
        step.resolving == csv
            && rank > Rank::Crd
            && rank < Rank::ClusterServiceVersion
            && !is_pull_secret(step)
    }

    fn name(&self, at: usize) -> String {
        let step = self.steps.get(at);
        step.map(|step| step.resource.name.clone())
            .unwrap_or_default()
    }

    fn is_done(&self, at: usize) -> bool {
        let (Some(step), Some(status)) = (self.steps.get(at), self.statuses.get(at)) else {
            return true;
        };
        is_done(&Step {
            status: status.clone(),
            optional: step.optional,
            ..Step::default()
        })
    }

    fn set(&mut self, at: usize, status: StepStatus) {
        if let Some(known) = self.statuses.get_mut(at) {
            *known = status;
        }
    }

    /// What the plan made itself is created, also if an earlier pass did it that did not get to the end.
    fn status_of(&self, applied: &Applied) -> StepStatus {
        let begun = self.plan.metadata.creation_timestamp.as_ref();
        match (&applied.made_by_plan_at, begun) {
            (Some(made), Some(begun)) if *made >= begun.0 => StepStatus::Created,
            _ => applied.status.clone(),
        }
    }

    async fn warn(&self, at: usize, applied: &Applied) {
        if let Some(step) = self.steps.get(at) {
            events::warnings(self.context, self.plan, at, step, &applied.warnings).await;
        }
    }

    /// Remembers a failure, or stops for good.
    async fn failed(&mut self, at: usize, error: &ApplyError) -> Result<(), Stop> {
        let is_optional = self.steps.get(at).is_some_and(|step| step.optional);
        let is_for_good = match error {
            ApplyError::NoSuchKind { target } => {
                self.misses_kinds_for_long
                    && !self.has_new_crds
                    && !self.defines(&target.gvk).await?
            }
            error => error.is_permanent(),
        };
        if is_for_good && is_optional {
            self.set(at, StepStatus::NotCreated);
            self.left_out.push((at, error.to_string()));
            return Ok(());
        }
        if is_for_good {
            return Err(Stop(error.to_string()));
        }
        self.is_users_turn |= match error {
            ApplyError::Forbidden { .. }
            | ApplyError::Quota { .. }
            | ApplyError::NoNamespace { .. } => true,
            // What the API server serves, it lists a moment later.
            ApplyError::NoSuchKind { .. } => !self.has_new_crds,
            _ => false,
        };
        self.problems.push(error.to_string());
        Ok(())
    }

    fn trouble(&self) -> Option<Trouble> {
        if self.problems.is_empty() {
            return None;
        }
        let mut told = self
            .problems
            .iter()
            .take(TOLD)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        if self.problems.len() > TOLD {
            let more = self.problems.len() - TOLD;
            told = format!("{told}; and {more} more");
        }
        Some(Trouble::Passing(told))
    }
}
