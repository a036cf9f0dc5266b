//! What a step is about: its object, its rank, and the CSV that owns it.

use serde_json::{Value, json};

use super::{Execution, Stop};
use crate::api::GROUP;
use crate::api::install_plan::{Step, StepResource};
use crate::api::labels;
use crate::controller::bundles::Problem;
use crate::controller::install_plan::manifests::named;
use crate::plan::apply::Error as ApplyError;
use crate::plan::order::{Rank, order};
use crate::plan::step::package_of;
use crate::plan::{Placement, prepare};

impl Execution<'_> {
    /// The object of a step as it is in the plan.
    pub(super) async fn read(&mut self, at: usize) -> Result<Option<Value>, Stop> {
        let Some(step) = self.steps.get(at) else {
            return Ok(None);
        };
        match self.manifests.object(step).await {
            Ok(object) => Ok(Some(object)),
            Err(Problem::Unusable(problem)) => Err(Stop(problem)),
            Err(Problem::Failed(problem)) => {
                // What a bundle lacks, all its steps lack.
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                Ok(None)
            }
        }
    }

    /// The object of a step as it is written.
    pub(super) async fn ready(
        &mut self,
        at: usize,
        is_namespaced: bool,
        uid: Option<&str>,
    ) -> Result<Option<Value>, Stop> {
        match self.read(at).await? {
            Some(object) => self.prepared(at, object, is_namespaced, uid).await,
            None => Ok(None),
        }
    }

    pub(super) async fn prepared(
        &mut self,
        at: usize,
        object: Value,
        is_namespaced: bool,
        uid: Option<&str>,
    ) -> Result<Option<Value>, Stop> {
        let csv = self.owner_of(at, &object);
        let converted = match Rank::of(&named_resource(&object)) {
            Rank::Crd => self.converted_by(&csv).await?,
            _ => Vec::new(),
        };
        let package = package_of(self.plan, &csv);
        let placement = Placement {
            namespace: self.namespace,
            csv: &csv,
            csv_uid: uid,
            namespaced: is_namespaced,
            package: package.as_deref(),
            converted_crds: &converted,
        };
        prepare(object, placement).map_err(|error| Stop(error.to_string()))
    }

    /// The CSV that an object belongs to: plans of OLM say it in the object, too.
    pub(super) fn owner_of(&self, at: usize, object: &Value) -> String {
        let resolving = self.steps.get(at).map(|step| step.resolving.as_str());
        if let Some(csv) = resolving.filter(|csv| !csv.is_empty()) {
            return csv.to_owned();
        }
        let owners = object.pointer("/metadata/ownerReferences");
        let owners = owners.and_then(Value::as_array);
        let csv = owners
            .into_iter()
            .flatten()
            .find(|owner| owner["kind"] == "ClusterServiceVersion");
        let name = csv.and_then(|owner| owner["name"].as_str());
        name.unwrap_or_default().to_owned()
    }

    /// The uid of a CSV of the namespace, if it exists.
    pub(super) async fn uid_of(&mut self, csv: &str) -> Result<Option<String>, ApplyError> {
        if let Some(known) = self.csvs.get(csv) {
            return Ok(known.clone());
        }
        let asked = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterServiceVersion",
            "metadata": {"name": csv, "namespace": self.namespace},
        });
        let live = self.context.applier.get(&asked).await?;
        let live = live.filter(|live| copied_from(live).is_none());
        let uid = live.as_ref().and_then(|live| live.pointer("/metadata/uid"));
        let uid = uid.and_then(Value::as_str).map(str::to_owned);
        self.csvs.insert(csv.to_owned(), uid.clone());
        Ok(uid)
    }
}

/// The steps in the order in which they are done. Plans of OLM may leave out the group of a kind.
pub(super) fn ranked(steps: &[Step]) -> Vec<(usize, Rank)> {
    let whole: Vec<Step> = steps
        .iter()
        .map(|step| Step {
            resource: named_resource(&named(json!({}), step)),
            ..Step::default()
        })
        .collect();
    let ranks = order(&whole).into_iter();
    ranks
        .filter_map(|at| Some((at, Rank::of(&whole.get(at)?.resource))))
        .collect()
}

pub(super) fn rank_of(step: &Step) -> Rank {
    Rank::of(&named_resource(&named(json!({}), step)))
}

/// Group, version and kind of an object as a step has them.
pub(super) fn named_resource(object: &Value) -> StepResource {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    StepResource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: object["kind"].as_str().unwrap_or_default().to_owned(),
        ..StepResource::default()
    }
}

pub(super) fn is_csv(step: &Step, name: &str) -> bool {
    step.resource.kind == "ClusterServiceVersion" && step.resource.name == name
}

/// The namespace of the CSV that this is a copy of.
pub(super) fn copied_from(csv: &Value) -> Option<&str> {
    csv.pointer("/metadata/labels")?
        .get(labels::COPIED_FROM)?
        .as_str()
}
