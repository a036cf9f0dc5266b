//! The CRDs as a cluster sees them, and objects as clusters and bundles hold them.
use super::catalog_source::CatalogSource;
use super::cluster_service_version::ClusterServiceVersion;
use super::cluster_service_version::install::InstallModeType;
use super::conditions::{
    ConditionStatus, CsvPhase, CsvReason, InstallPlanPhase, SubscriptionConditionType,
};
use super::install_plan::{Approval, InstallPlan, InstallPlanSpec, InstallPlanStatus};
use super::olm_config::OlmConfig;
use super::operator::Operator;
use super::operator_condition::OperatorCondition;
use super::operator_group::{OperatorGroup, OperatorGroupSpec};
use super::package_manifest::PackageManifest;
use super::subscription::{ApprovalPolicy, Subscription};
use super::*;
use rstest::rstest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

mod crds;
mod objects;

/// Reads an object, and returns it as it is written again.
fn round_trip<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let read: T = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(read).unwrap()
}
