//! The aggregated APIs that an operator owns and needs, and those that Kubernetes has to bring.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::requirement::Requirement;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::apis::ApiServiceDescription;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;
use crate::api::gvk::GroupVersionKind;

/// APIServices that are needed, then those that are owned, each once and by name; then native APIs.
pub(super) fn requirements(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Vec<Requirement> {
    let definitions = &csv.spec.api_service_definitions;
    let owned = by_name(&definitions.owned);
    let mut required = by_name(&definitions.required);
    required.retain(|name, _| !owned.contains_key(name));
    let required = required
        .iter()
        .map(|(name, description)| needed(name, description, facts));
    let owned = owned
        .iter()
        .map(|(name, description)| own(csv, name, description));
    let native = csv.spec.native_apis.iter().map(|api| native(api, facts));
    required.chain(owned).chain(native).collect()
}

fn by_name(descriptions: &[ApiServiceDescription]) -> BTreeMap<String, &ApiServiceDescription> {
    let named = descriptions
        .iter()
        .map(|description| (description.api_service_name(), description));
    named.collect()
}

fn needed(name: &str, description: &ApiServiceDescription, facts: &Facts<'_>) -> Requirement {
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
    let mut status = api_service(name, RequirementState::NotPresent);
    let advice = match fact {
        Some(fact) if fact.available && is_served => {
            status.status = RequirementState::Present;
            status.uuid.clone_from(&fact.uid);
            String::new()
        }
        Some(fact) if fact.available => format!(
            "whoever serves {group}/{version} does not have kind {kind}: install a version of it that does"
        ),
        Some(_) => {
            format!("nobody answers for it: `kubectl describe apiservice {name}` tells why")
        }
        None => format!("install an operator that owns the API {group}/{version}, kind {kind}"),
    };
    Requirement { status, advice }
}

fn own(
    csv: &ClusterServiceVersion,
    name: &str,
    description: &ApiServiceDescription,
) -> Requirement {
    let mut deployments = csv.spec.install.spec.deployments.iter();
    let wanted = &description.deployment_name;
    let (state, advice) = if deployments.any(|deployment| deployment.name == *wanted) {
        (RequirementState::DeploymentFound, String::new())
    } else {
        let advice = format!(
            "its deploymentName is {wanted:?}, and no deployment in spec.install.spec of the \
             ClusterServiceVersion is called like that: correct one of them"
        );
        (RequirementState::DeploymentNotFound, advice)
    };
    let status = api_service(name, state);
    Requirement { status, advice }
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

fn native(api: &GroupVersionKind, facts: &Facts<'_>) -> Requirement {
    let (status, message, advice) = if facts.served.contains(api) {
        (
            RequirementState::Present,
            "Native API exists",
            String::new(),
        )
    } else {
        let advice = format!(
            "the API server has no kind {} in {}: install what brings it, or use a cluster that has it",
            api.kind,
            api.api_version()
        );
        (
            RequirementState::NotPresent,
            "Native API does not exist",
            advice,
        )
    };
    let status = RequirementStatus {
        group: api.group.clone(),
        version: api.version.clone(),
        kind: api.kind.clone(),
        name: format!("{}.{}", api.version, api.group),
        status,
        message: message.to_owned(),
        ..RequirementStatus::default()
    };
    Requirement { status, advice }
}
