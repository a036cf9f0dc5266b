//! What makes an operator a good guest in a cluster.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::Findings;
use crate::bundle::{Bundle, Object, render};

pub(super) fn check(bundle: &Bundle, findings: &mut Findings) {
    requests(bundle, findings);
    descriptions(bundle, findings);
    names(bundle, findings);
    makes_crds(bundle, findings);
    for object in &bundle.objects {
        self::object(object, findings);
    }
    images(bundle, findings);
}

fn requests(bundle: &Bundle, findings: &mut Findings) {
    for (index, deployment) in bundle.csv.spec.install.spec.deployments.iter().enumerate() {
        let template = deployment.spec.get("template");
        let containers = template
            .and_then(|template| template.pointer("/spec/containers"))
            .and_then(Value::as_array);
        for container in containers.into_iter().flatten() {
            let requests = container.pointer("/resources/requests");
            let has = |key: &str| {
                requests
                    .and_then(|r| r.get(key))
                    .is_some_and(|v| !v.is_null())
            };
            if !has("cpu") || !has("memory") {
                let name = container.get("name").and_then(Value::as_str).unwrap_or("");
                let path = format!("spec.install.spec.deployments[{index}]");
                let message = format!("container `{name}` does not say how much it needs");
                let advice = "set resources.requests for cpu and memory; where there is a quota, \
                              Pods without them are refused";
                findings.warning(
                    "resource-requests",
                    (&bundle.csv.file, &path),
                    message,
                    advice,
                );
            }
        }
    }
}

fn descriptions(bundle: &Bundle, findings: &mut Findings) {
    let crds = &bundle.csv.spec.custom_resource_definitions;
    for (list, crds) in [("owned", &crds.owned), ("required", &crds.required)] {
        for crd in crds.iter().filter(|crd| crd.description.is_empty()) {
            let path = format!("spec.customresourcedefinitions.{list}");
            let message = format!("{} has no description", crd.name);
            let advice = "say what the custom resource is for";
            findings.warning(
                "crd-description",
                (&bundle.csv.file, &path),
                message,
                advice,
            );
        }
    }
}

fn names(bundle: &Bundle, findings: &mut Findings) {
    let expected = format!(".v{}", bundle.version);
    if !bundle.name.ends_with(&expected) {
        let message = format!("`{}` does not end in `{expected}`", bundle.name);
        let advice = "name it after the operator and its version, such as `gopher.v1.0.0`";
        let place = (bundle.csv.file.as_str(), "metadata.name");
        findings.warning("bundle-name", place, message, advice);
    }
    let mut channels: Vec<&str> = bundle.channels.iter().map(String::as_str).collect();
    channels.push(&bundle.default_channel);
    channels.sort_unstable();
    channels.dedup();
    for channel in channels.into_iter().filter(|channel| !channel.is_empty()) {
        let usual = ["candidate", "fast", "stable"];
        if !usual.iter().any(|start| channel.trim().starts_with(start)) {
            let message = format!("`{channel}` does not tell how ready the operator is");
            let advice = "let names of channels begin with candidate, fast or stable";
            findings.warning("channel-name", ("metadata/", "channels"), message, advice);
        }
    }
}

/// Whether some rule allows something of a resource.
fn allows(rule: &PolicyRule, group: &str, resources: &[&str], verbs: &[&str]) -> bool {
    let any = |list: &Option<Vec<String>>, wanted: &[&str]| {
        list.iter()
            .flatten()
            .any(|item| wanted.contains(&item.as_str()))
    };
    let has_verb = rule.verbs.iter().any(|verb| verbs.contains(&verb.as_str()));
    any(&rule.api_groups, &[group]) && any(&rule.resources, resources) && has_verb
}

fn makes_crds(bundle: &Bundle, findings: &mut Findings) {
    let spec = &bundle.csv.spec.install.spec;
    for (list, permissions) in [
        ("permissions", &spec.permissions),
        ("clusterPermissions", &spec.cluster_permissions),
    ] {
        for (index, permission) in permissions.iter().enumerate() {
            let makes = permission.rules.iter().any(|rule| {
                allows(
                    rule,
                    "apiextensions.k8s.io",
                    &["customresourcedefinitions", "*"],
                    &["create", "patch", "*"],
                )
            });
            if makes {
                let path = format!("spec.install.spec.{list}[{index}]");
                let message = "the operator may make CustomResourceDefinitions";
                let advice = "ship them in the bundle, or depend on the operator that owns them";
                findings.warning("makes-crds", (&bundle.csv.file, &path), message, advice);
            }
        }
    }
}

fn object(object: &Object, findings: &mut Findings) {
    let file = object.file.as_str();
    let spec = |key: &str| object.value.get("spec").and_then(|spec| spec.get(key));
    match object.kind() {
        "PodDisruptionBudget" => {
            if spec("maxUnavailable").is_some_and(|max| *max == 0 || *max == "0" || *max == "0%") {
                let message = "no Pod may ever be moved, so no node can be drained";
                findings.error(
                    "disruption-budget",
                    (file, "spec.maxUnavailable"),
                    message,
                    "allow at least one",
                );
            }
            if spec("minAvailable").is_some_and(|min| *min == "100%") {
                let message = "no Pod may ever be moved, so no node can be drained";
                findings.error(
                    "disruption-budget",
                    (file, "spec.minAvailable"),
                    message,
                    "ask for less than all",
                );
            }
        }
        "PriorityClass" if object.value.get("globalDefault") == Some(&Value::Bool(true)) => {
            let message = "it would change the priority of all Pods in the cluster";
            findings.error(
                "priority-class",
                (file, "globalDefault"),
                message,
                "set it to false",
            );
        }
        "Role" | "ClusterRole" => {
            let rules = object.value.get("rules").cloned().unwrap_or_default();
            let rules: Vec<PolicyRule> = serde_json::from_value(rules).unwrap_or_default();
            let verbs = ["create", "update", "patch", "*"];
            if rules
                .iter()
                .any(|rule| allows(rule, "policy", &["poddisruptionbudgets"], &verbs))
            {
                let message = "it allows to change PodDisruptionBudgets, which can keep nodes from being drained";
                findings.warning(
                    "disruption-budget",
                    (file, "rules"),
                    message,
                    "remove the right if it is not needed",
                );
            }
        }
        _ => {}
    }
}

fn images(bundle: &Bundle, findings: &mut Findings) {
    let deployed = render::operator_images(&bundle.csv);
    let related = bundle
        .csv
        .spec
        .related_images
        .iter()
        .map(|related| related.image.as_str());
    let named: Vec<(&str, &str)> = deployed
        .iter()
        .map(|image| (*image, "spec.install.spec.deployments"))
        .chain(
            related
                .filter(|image| !deployed.contains(image))
                .map(|image| (image, "spec.relatedImages")),
        )
        .collect();
    for (image, path) in named {
        if !image.is_empty() && !image.contains("@sha") {
            let message = format!("`{image}` may be another image tomorrow");
            let advice = "name it by its digest: `NAME@sha256:…`";
            findings.warning(
                "image-not-pinned",
                (&bundle.csv.file, path),
                message,
                advice,
            );
        }
    }
}
