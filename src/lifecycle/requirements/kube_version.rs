//! The oldest Kubernetes that an operator works with.

use std::cmp::Ordering;

use kube::{Resource as _, ResourceExt as _};

use super::facts::Facts;
use super::requirement::Requirement;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;
use crate::version::Version;

/// Whether the server is new enough; nothing if the operator asks for nothing.
pub(super) fn requirement(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Option<Requirement> {
    let wanted = csv.spec.min_kube_version.as_str();
    if wanted.is_empty() {
        return None;
    }
    let (status, message, advice) = match compare(wanted, facts.server_version.as_deref()) {
        Ok(message) => (RequirementState::Present, message, String::new()),
        Err((message, advice)) => (RequirementState::PresentNotSatisfied, message, advice),
    };
    let status = RequirementStatus {
        group: ClusterServiceVersion::group(&()).into_owned(),
        version: ClusterServiceVersion::version(&()).into_owned(),
        kind: ClusterServiceVersion::kind(&()).into_owned(),
        name: csv.name_any(),
        status,
        message,
        ..RequirementStatus::default()
    };
    Some(Requirement { status, advice })
}

/// What OLM says; if the answer is no, with what to do about it.
fn compare(wanted: &str, server: Option<&str>) -> Result<String, (String, String)> {
    let Some(server) = server else {
        let advice = "the API server does not tell its version; it is asked again";
        return Err((
            "Server version discovery error".to_owned(),
            advice.to_owned(),
        ));
    };
    // What a vendor appends would count as a pre-release.
    let release = server
        .trim_start_matches('v')
        .split('-')
        .next()
        .unwrap_or_default();
    let Ok(release) = Version::parse(release) else {
        let advice = format!(
            "the API server calls itself {server:?}: remove spec.minKubeVersion from the \
             ClusterServiceVersion if the operator works with it"
        );
        return Err(("Server version parsing error".to_owned(), advice));
    };
    let Ok(least) = Version::of_kubernetes(wanted) else {
        let advice = format!(
            "spec.minKubeVersion of the ClusterServiceVersion is {wanted:?}: write it like 1.25.0"
        );
        return Err(("CSV version parsing error".to_owned(), advice));
    };
    if least.is_some_and(|least| least.precedence(&release) == Ordering::Greater) {
        let message = format!(
            "CSV version requirement not met: minKubeVersion ({wanted}) > server version ({release})"
        );
        let advice = format!(
            "upgrade the cluster, or install a version of the operator that works with Kubernetes {release}"
        );
        return Err((message, advice));
    }
    Ok(format!(
        "CSV minKubeVersion ({wanted}) less than server version ({server})"
    ))
}
