//! CRDs: written first, and waited for.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::objects::{is_csv, rank_of};
use super::{Execution, Stop};
use crate::api::conditions::StepStatus;
use crate::api::gvk::GroupVersionKind;
use crate::controller::install_plan::events;
use crate::plan::apply::{Conversion, is_established, refused_names};
use crate::plan::object::converted_crds;
use crate::plan::order::Rank;

/// How long a pass waits for new CRDs to be served. Mostly they are at once, and another pass costs
/// more.
const API_PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks.
const API_PAUSE: Duration = Duration::from_millis(50);

impl Execution<'_> {
    /// Writes a CRD that is not there yet.
    pub(super) async fn crd(&mut self, at: usize) -> Result<(), Stop> {
        if self.is_done(at) || self.statuses.get(at) == Some(&StepStatus::WaitingForApi) {
            return Ok(());
        }
        let Some(object) = self.ready(at, false, None).await? else {
            return Ok(());
        };
        let csv = self.owner_of(at, &object);
        let converted = self.converted_by(&csv).await?;
        let conversion = if converted.contains(&self.name(at)) {
            Conversion::ByCsv
        } else {
            Conversion::AsWritten
        };
        match self.context.applier.apply_crd(&object, conversion).await {
            Ok(outcome) => {
                self.has_new_crds = true;
                self.warn(at, &outcome.applied).await;
                events::doubts(self.context, self.plan, at, &outcome.doubts).await;
                let status = if outcome.is_established {
                    self.status_of(&outcome.applied)
                } else {
                    StepStatus::WaitingForApi
                };
                self.set(at, status);
                Ok(())
            }
            Err(error) => self.failed(at, &error).await,
        }
    }

    /// Whether all CRDs of the plan are served: after a little while if they were only just written.
    pub(super) async fn apis_are_served(&mut self) -> Result<bool, Stop> {
        let patience = if self.has_new_crds {
            API_PATIENCE
        } else {
            Duration::ZERO
        };
        let deadline = Instant::now() + patience;
        loop {
            let mut waits = false;
            for at in 0..self.steps.len() {
                if self.statuses.get(at) == Some(&StepStatus::WaitingForApi) {
                    waits |= !self.is_served(at).await?;
                }
            }
            if !waits {
                return Ok(self.problems.is_empty());
            }
            if Instant::now() >= deadline || !self.problems.is_empty() {
                return Ok(false);
            }
            sleep(API_PAUSE).await;
        }
    }

    async fn is_served(&mut self, at: usize) -> Result<bool, Stop> {
        let Some(step) = self.steps.get(at) else {
            return Ok(true);
        };
        let name = step.resource.name.clone();
        match self.context.applier.crd(&name).await {
            Ok(Some(crd)) if is_established(&crd) => {
                self.set(at, StepStatus::Created);
                Ok(true)
            }
            Ok(Some(crd)) => {
                if let Some(why) = refused_names(&crd) {
                    self.is_users_turn = true;
                    self.problems.push(format!(
                        "CustomResourceDefinition {name} is not served: {why}; remove the one that has its names, and it goes on by itself"
                    ));
                }
                Ok(false)
            }
            // Somebody deleted it.
            Ok(None) => {
                self.set(at, StepStatus::NotPresent);
                if !self.is_withdrawn() {
                    self.crd(at).await?;
                }
                Ok(false)
            }
            Err(error) => {
                self.failed(at, &error).await?;
                Ok(false)
            }
        }
    }

    /// Whether a CRD of this plan brings a kind: what the API server serves, it lists a moment later.
    pub(super) async fn defines(&mut self, kind: &GroupVersionKind) -> Result<bool, Stop> {
        for at in 0..self.steps.len() {
            let is_crd = self
                .steps
                .get(at)
                .is_some_and(|it| rank_of(it) == Rank::Crd);
            if !is_crd {
                continue;
            }
            let Some(crd) = self.read(at).await? else {
                continue;
            };
            let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str);
            if text("/spec/group") == Some(&kind.group)
                && text("/spec/names/kind") == Some(&kind.kind)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The CRDs that the webhooks of a CSV of this plan convert.
    pub(super) async fn converted_by(&mut self, csv: &str) -> Result<Vec<String>, Stop> {
        let step = self.steps.iter().position(|step| is_csv(step, csv));
        let Some(at) = step else {
            return Ok(Vec::new());
        };
        let csv = self.read(at).await?;
        Ok(csv.as_ref().map(converted_crds).unwrap_or_default())
    }
}
