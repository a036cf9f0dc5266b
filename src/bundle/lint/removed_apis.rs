//! Objects of APIs that newer versions of Kubernetes no longer serve.
//!
//! See <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>.

use super::{Findings, Severity};
use crate::bundle::Bundle;
use crate::version::Version;

struct Removed {
    api_version: &'static str,
    kinds: &'static [&'static str],
    /// The minor version of Kubernetes 1 that no longer serves it.
    minor: u64,
    instead: &'static str,
}

const REMOVED: [Removed; 19] = [
    removed(
        "apiextensions.k8s.io/v1beta1",
        &["CustomResourceDefinition"],
        22,
        "apiextensions.k8s.io/v1",
    ),
    removed(
        "scheduling.k8s.io/v1beta1",
        &["PriorityClass"],
        22,
        "scheduling.k8s.io/v1",
    ),
    removed(
        "rbac.authorization.k8s.io/v1beta1",
        &["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"],
        22,
        "rbac.authorization.k8s.io/v1",
    ),
    removed(
        "apiregistration.k8s.io/v1beta1",
        &["APIService"],
        22,
        "apiregistration.k8s.io/v1",
    ),
    removed(
        "authentication.k8s.io/v1beta1",
        &["TokenReview"],
        22,
        "authentication.k8s.io/v1",
    ),
    removed(
        "authorization.k8s.io/v1beta1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SubjectAccessReview",
        ],
        22,
        "authorization.k8s.io/v1",
    ),
    removed(
        "admissionregistration.k8s.io/v1beta1",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ],
        22,
        "admissionregistration.k8s.io/v1",
    ),
    removed(
        "coordination.k8s.io/v1beta1",
        &["Lease"],
        22,
        "coordination.k8s.io/v1",
    ),
    removed(
        "extensions/v1beta1",
        &["Ingress"],
        22,
        "networking.k8s.io/v1",
    ),
    removed(
        "networking.k8s.io/v1beta1",
        &["Ingress", "IngressClass"],
        22,
        "networking.k8s.io/v1",
    ),
    removed(
        "storage.k8s.io/v1beta1",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
        22,
        "storage.k8s.io/v1",
    ),
    removed(
        "certificates.k8s.io/v1beta1",
        &["CertificateSigningRequest"],
        22,
        "certificates.k8s.io/v1",
    ),
    removed("batch/v1beta1", &["CronJob"], 25, "batch/v1"),
    removed(
        "discovery.k8s.io/v1beta1",
        &["EndpointSlice"],
        25,
        "discovery.k8s.io/v1",
    ),
    removed("events.k8s.io/v1beta1", &["Event"], 25, "events.k8s.io/v1"),
    removed(
        "autoscaling/v2beta1",
        &["HorizontalPodAutoscaler"],
        25,
        "autoscaling/v2",
    ),
    removed(
        "policy/v1beta1",
        &["PodDisruptionBudget", "PodSecurityPolicy"],
        25,
        "policy/v1 or Pod Security Admission",
    ),
    removed(
        "node.k8s.io/v1beta1",
        &["RuntimeClass"],
        25,
        "node.k8s.io/v1",
    ),
    removed(
        "autoscaling/v2beta2",
        &["HorizontalPodAutoscaler"],
        26,
        "autoscaling/v2",
    ),
];

const fn removed(
    api_version: &'static str,
    kinds: &'static [&'static str],
    minor: u64,
    instead: &'static str,
) -> Removed {
    Removed {
        api_version,
        kinds,
        minor,
        instead,
    }
}

pub(super) fn check(bundle: &Bundle, findings: &mut Findings) {
    let minimum = Version::parse_tolerant(&bundle.csv.spec.min_kube_version).ok();
    for object in &bundle.objects {
        let found = find(object.api_version(), object.kind());
        let Some(removed) = found else { continue };
        let message = format!(
            "{} {} `{}` is not served since Kubernetes 1.{}",
            removed.api_version,
            object.kind(),
            object.name(),
            removed.minor
        );
        let advice = format!("use {}", removed.instead);
        let place = (object.file.as_str(), "apiVersion");
        findings.add(
            severity(minimum.as_ref(), removed),
            "removed-api",
            place,
            message,
            advice,
        );
    }
    used_by_crds(bundle, minimum.as_ref(), findings);
    rights(bundle, findings);
}

fn find(api_version: &str, kind: &str) -> Option<&'static Removed> {
    REMOVED
        .iter()
        .find(|removed| removed.api_version == api_version && removed.kinds.contains(&kind))
}

/// An error where the operator can only be installed on versions that no longer serve the API.
fn severity(minimum: Option<&Version>, removed: &Removed) -> Severity {
    let gone = Version::new(1, removed.minor, 0);
    if minimum.is_some_and(|minimum| *minimum >= gone) {
        Severity::Error
    } else {
        Severity::Warning
    }
}

/// Objects that the operator says it makes.
fn used_by_crds(bundle: &Bundle, minimum: Option<&Version>, findings: &mut Findings) {
    let crds = &bundle.csv.spec.custom_resource_definitions;
    for crd in crds.owned.iter().chain(&crds.required) {
        for resource in &crd.resources {
            if let Some(removed) = find(&resource.version, &resource.kind) {
                let message = format!(
                    "{} says that it makes {} {}, which is not served since Kubernetes 1.{}",
                    crd.name, resource.version, resource.kind, removed.minor
                );
                let advice = format!("use {}", removed.instead);
                let place = (bundle.csv.file.as_str(), "spec.customresourcedefinitions");
                findings.add(
                    severity(minimum, removed),
                    "removed-api",
                    place,
                    message,
                    advice,
                );
            }
        }
    }
}

fn rights(bundle: &Bundle, findings: &mut Findings) {
    let spec = &bundle.csv.spec.install.spec;
    for permission in spec.permissions.iter().chain(&spec.cluster_permissions) {
        let uses = permission.rules.iter().any(|rule| {
            let has = |list: &Option<Vec<String>>, wanted: &str| {
                list.iter().flatten().any(|item| item == wanted)
            };
            has(&rule.api_groups, "policy") && has(&rule.resources, "podsecuritypolicies")
        });
        if uses {
            let message = format!(
                "`{}` may use PodSecurityPolicies, which Kubernetes does not have since 1.25",
                permission.service_account_name
            );
            let place = (bundle.csv.file.as_str(), "spec.install.spec");
            findings.warning("removed-api", place, message, "remove the right");
        }
    }
}
