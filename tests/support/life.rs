//! The ClusterServiceVersions of a scene: how they come, how far they are, and what is told of them.

use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::cluster_service_version::status::{
    ClusterServiceVersionStatus, RequirementStatus,
};
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use super::case::Case;
use super::controllers::Running;
use super::scene::Scene;
use super::wares::Operator;

pub fn status(csv: &ClusterServiceVersion) -> ClusterServiceVersionStatus {
    csv.status.clone().unwrap_or_default()
}

pub fn phase(csv: &ClusterServiceVersion) -> CsvPhase {
    status(csv).phase
}

pub fn reason(csv: &ClusterServiceVersion) -> CsvReason {
    status(csv).reason
}

/// A requirement of a ClusterServiceVersion by name, if it tells of one.
pub fn requirement(csv: &ClusterServiceVersion, name: &str) -> Option<RequirementStatus> {
    let mut told = status(csv).requirement_status.into_iter();
    told.find(|requirement| requirement.name == name)
}

/// The Events with a reason about a ClusterServiceVersion.
fn events_of(csv: &str, reason: &str) -> ListParams {
    ListParams::default().fields(&format!(
        "reason={reason},involvedObject.kind=ClusterServiceVersion,involvedObject.name={csv}"
    ))
}

impl<'c> Scene<'c> {
    /// A namespace and others beside it, all cared for, none with an OperatorGroup.
    pub async fn with_neighbours<const N: usize>(
        case: &'c Case,
    ) -> anyhow::Result<(Self, [Self; N])> {
        let mut namespaces = vec![case.simulated_namespace().await?];
        for _ in 0..N {
            namespaces.push(case.simulated_namespace().await?);
        }
        let names: Vec<&str> = namespaces.iter().map(String::as_str).collect();
        let running = Running::start(case, &names).await?;
        let others: [Self; N] = std::array::from_fn(|at| Self {
            case,
            namespace: namespaces[at + 1].clone(),
            running: None,
        });
        let home = Self {
            case,
            namespace: namespaces[0].clone(),
            running: Some(running),
        };
        Ok((home, others))
    }

    /// An OperatorGroup `own` with this spec.
    pub async fn group_with(&self, spec: Value) -> anyhow::Result<()> {
        self.create(json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "own"}, "spec": spec,
        }))
        .await
    }

    /// Waits until a ClusterServiceVersion is in a phase, and gives it.
    pub async fn in_phase(
        &self,
        name: &str,
        wanted: CsvPhase,
    ) -> anyhow::Result<ClusterServiceVersion> {
        self.until(name, wanted.as_str(), |csv| phase(csv) == wanted)
            .await
    }

    /// Waits until a ClusterServiceVersion gives a reason, and gives it.
    pub async fn because(
        &self,
        name: &str,
        wanted: CsvReason,
    ) -> anyhow::Result<ClusterServiceVersion> {
        self.until(name, wanted.as_str(), |csv| reason(csv) == wanted)
            .await
    }

    /// Creates the CSV of an operator by hand.
    pub async fn by_hand(&self, operator: &Operator) -> anyhow::Result<()> {
        self.create(operator.csv()).await
    }

    /// Creates the CSV of an operator by hand and waits until it runs.
    pub async fn runs(&self, operator: &Operator) -> anyhow::Result<ClusterServiceVersion> {
        self.by_hand(operator).await?;
        self.in_phase(&operator.csv_name(), CsvPhase::Succeeded)
            .await
    }

    /// Creates the CRD of an API by hand.
    pub async fn with_crd(&self, operator: &Operator, kind: &str) -> anyhow::Result<()> {
        self.crd(operator.crd(kind)).await
    }

    /// Creates a CRD.
    pub async fn crd(&self, crd: Value) -> anyhow::Result<()> {
        let api = Api::<CustomResourceDefinition>::all(self.case.client.clone());
        let crd = serde_json::from_value(crd)?;
        api.create(&PostParams::default(), &crd).await?;
        Ok(())
    }

    /// Replaces the spec of a ClusterServiceVersion by that of an operator.
    pub async fn change_to(&self, operator: &Operator) -> anyhow::Result<()> {
        let spec = operator.csv()["spec"].clone();
        self.patch::<ClusterServiceVersion>(&operator.csv_name(), json!({"spec": spec}))
            .await
    }

    pub async fn delete_csv(&self, name: &str) -> anyhow::Result<()> {
        self.delete::<ClusterServiceVersion>(name).await?;
        self.gone::<ClusterServiceVersion>(name).await
    }

    /// How often Events with a reason told of a ClusterServiceVersion.
    pub async fn times_told(&self, csv: &str, reason: &str) -> anyhow::Result<i32> {
        let events = self.api::<Event>().list(&events_of(csv, reason)).await?;
        let times = events.items.iter().map(|event| {
            let series = event.series.as_ref().and_then(|series| series.count);
            series.unwrap_or(1)
        });
        Ok(times.sum())
    }

    /// Waits until an Event with a reason tells of a ClusterServiceVersion, and gives it.
    pub async fn told(&self, csv: &str, reason: &str) -> anyhow::Result<Event> {
        let of = events_of(csv, reason);
        let api = self.api::<Event>();
        let what = format!("told that {csv} is {reason}");
        let is_told = async || Ok(!api.list(&of).await?.items.is_empty());
        self.case.eventually(&what, is_told).await?;
        Ok(api.list(&of).await?.items.remove(0))
    }

    /// The value of a metric, if it is there.
    pub fn metric(&self, name_and_labels: &str) -> Option<f64> {
        let text = self.running.as_ref()?.metrics();
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name_and_labels)?.strip_prefix(' '));
        value?.parse().ok()
    }
}
