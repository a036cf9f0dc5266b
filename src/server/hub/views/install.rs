//! How to install something, and how it stands in the cluster.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::InstallModeName;

/// All it takes to install a version.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallManifests {
    /// The package.
    pub package: String,
    /// The catalog.
    pub catalog: String,
    /// The channel that will be followed.
    pub channel: String,
    /// The bundle that is installed first.
    pub bundle: String,
    /// Its version; may be empty.
    pub version: String,
    /// Whether that is the newest of the channel.
    pub is_newest: bool,
    /// The namespace it goes to.
    pub namespace: String,
    /// Which choice of namespaces the OperatorGroup makes.
    pub install_mode: InstallModeName,
    /// Namespace, OperatorGroup and Subscription.
    pub yaml: String,
    /// Commands that do it, each to be copied.
    pub commands: Vec<InstallCommand>,
    /// What is worth knowing before.
    pub notes: Vec<String>,
}

/// A command to be copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallCommand {
    /// The tool: `kubectl` or `chandler`.
    pub tool: String,
    /// What it does.
    pub title: String,
    /// The command.
    pub command: String,
}

/// How a package stands in the cluster, all places together.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledState {
    /// The health of the worst place.
    pub health: Health,
    /// Whether there is an upgrade in one place.
    pub is_upgradable: bool,
    /// The versions that run, the newest first.
    pub versions: Vec<String>,
    /// In how many places it is.
    pub places: usize,
}

/// An operator in a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    /// The package; may be empty if nobody knows it.
    pub package: String,
    /// The namespace.
    pub namespace: String,
    /// Its Subscription; may be empty.
    pub subscription: String,
    /// The catalog of the Subscription; may be empty.
    pub catalog: String,
    /// The channel it follows; may be empty.
    pub channel: String,
    /// The ClusterServiceVersion that runs; may be empty.
    pub csv: String,
    /// Its version; may be empty.
    pub version: String,
    /// How far its installation is, as OLM calls it; may be empty.
    pub phase: String,
    /// How it is.
    pub health: Health,
    /// Why it is like that, in words; may be empty.
    pub message: String,
    /// The ClusterServiceVersion it will be upgraded to; may be empty.
    pub next: String,
    /// Why that upgrade waits, in words; may be empty.
    pub waits_because: String,
    /// The InstallPlan that somebody has to approve; may be empty.
    pub plan_to_approve: String,
}

/// How an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Health {
    /// Something failed.
    Failed,
    /// It is being installed, or waits for something.
    Pending,
    /// It runs.
    Healthy,
    /// Nobody knows.
    Unknown,
}
