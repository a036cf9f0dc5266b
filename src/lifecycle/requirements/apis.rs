//! The aggregated APIs that an operator owns and needs, and those that Kubernetes has to bring.

use std::collections::BTreeMap;

use super::facts::Facts;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::apis::ApiServiceDescription;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;
use crate::api::gvk::GroupVersionKind;

/// APIServices that are needed, then those that are owned, each once and by name; then native APIs.
pub(super) fn statuses(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Vec<RequirementStatus> {
    let definitions = &csv.spec.api_service_definitions;
    let owned = by_name(&definitions.owned);
    let mut required = by_name(&definitions.required);
    required.retain(|name, _| !owned.contains_key(name));
    let required = required
        .iter()
        .map(|(name, description)| required_status(name, description, facts));
    let owned = owned
        .iter()
        .map(|(name, description)| owned_status(csv, name, description));
    let native = csv
        .spec
        .native_apis
        .iter()
        .map(|api| native_status(api, facts));
    required.chain(owned).chain(native).collect()
}

fn by_name(descriptions: &[ApiServiceDescription]) -> BTreeMap<String, &ApiServiceDescription> {
    let named = descriptions
        .iter()
        .map(|description| (description.api_service_name(), description));
    named.collect()
}

fn required_status(
    name: &str,
    description: &ApiServiceDescription,
    facts: &Facts<'_>,
) -> RequirementStatus {
    let ApiServiceDescription {
        group,
        version,
        kind,
        ..
    } = description;
    let is_served = facts
        .served
        .contains(&GroupVersionKind::new(group, version, kind));
    let fact = facts.api_services.get(name);
    let available = fact.filter(|fact| is_served && fact.available);
    let mut status = api_service(name, RequirementState::NotPresent);
    if let Some(fact) = available {
        status.status = RequirementState::Present;
        status.uuid.clone_from(&fact.uid);
    }
    status
}

fn owned_status(
    csv: &ClusterServiceVersion,
    name: &str,
    description: &ApiServiceDescription,
) -> RequirementStatus {
    let mut deployments = csv.spec.install.spec.deployments.iter();
    let is_there = deployments.any(|deployment| deployment.name == description.deployment_name);
    let state = if is_there {
        RequirementState::DeploymentFound
    } else {
        RequirementState::DeploymentNotFound
    };
    api_service(name, state)
}

fn api_service(name: &str, status: RequirementState) -> RequirementStatus {
    RequirementStatus {
        group: "apiregistration.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "APIService".to_owned(),
        name: name.to_owned(),
        status,
        ..RequirementStatus::default()
    }
}

fn native_status(api: &GroupVersionKind, facts: &Facts<'_>) -> RequirementStatus {
    let (status, message) = if facts.served.contains(api) {
        (RequirementState::Present, "Native API exists")
    } else {
        (RequirementState::NotPresent, "Native API does not exist")
    };
    RequirementStatus {
        group: api.group.clone(),
        version: api.version.clone(),
        kind: api.kind.clone(),
        name: format!("{}.{}", api.version, api.group),
        status,
        message: message.to_owned(),
        ..RequirementStatus::default()
    }
}
