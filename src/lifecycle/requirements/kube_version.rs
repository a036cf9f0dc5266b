//! The oldest Kubernetes that an operator works with.

use std::cmp::Ordering;

use kube::{Resource as _, ResourceExt as _};

use super::facts::Facts;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;
use crate::version::Version;

/// Whether the server is new enough; nothing if the operator asks for nothing.
pub(super) fn status(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Option<RequirementStatus> {
    let wanted = csv.spec.min_kube_version.as_str();
    if wanted.is_empty() {
        return None;
    }
    let (status, message) = match compare(wanted, facts.server_version.as_deref()) {
        Ok(message) => (RequirementState::Present, message),
        Err(message) => (RequirementState::PresentNotSatisfied, message),
    };
    Some(RequirementStatus {
        group: ClusterServiceVersion::group(&()).into_owned(),
        version: ClusterServiceVersion::version(&()).into_owned(),
        kind: ClusterServiceVersion::kind(&()).into_owned(),
        name: csv.name_any(),
        status,
        message,
        ..RequirementStatus::default()
    })
}

fn compare(wanted: &str, server: Option<&str>) -> Result<String, String> {
    let server = server.ok_or("Server version discovery error")?;
    // What a vendor appends would count as a pre-release.
    let release = server
        .trim_start_matches('v')
        .split('-')
        .next()
        .unwrap_or_default();
    let release = Version::parse(release).map_err(|_| "Server version parsing error")?;
    let least = Version::of_kubernetes(wanted).map_err(|_| "CSV version parsing error")?;
    if least.is_some_and(|least| least.precedence(&release) == Ordering::Greater) {
        return Err(format!(
            "CSV version requirement not met: minKubeVersion ({wanted}) > server version ({release})"
        ));
    }
    Ok(format!(
        "CSV minKubeVersion ({wanted}) less than server version ({server})"
    ))
}
