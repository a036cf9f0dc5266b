//! The `ClusterServiceVersion` itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Findings;
use super::names::{why_no_label_value, why_no_subdomain};
use crate::api::cluster_service_version::install::{InstallModeType, STRATEGY_DEPLOYMENT};
use crate::api::gvk::GroupVersionKind;
use crate::bundle::{Bundle, text_at};
use crate::version::{Range, Version};

/// Annotations that count only in this spelling.
const ANNOTATIONS: [&str; 5] = [
    "olm.operatorGroup",
    "olm.operatorNamespace",
    "olm.targetNamespaces",
    "olm.providedAPIs",
    "olm.skipRange",
];

pub(super) fn check(bundle: &Bundle, findings: &mut Findings) {
    names(bundle, findings);
    fields(bundle, findings);
    versions(bundle, findings);
    install_modes(bundle, findings);
    annotations(bundle, findings);
    examples(bundle, findings);
    service_accounts(bundle, findings);
    related_images(bundle, findings);
}

fn names(bundle: &Bundle, findings: &mut Findings) {
    let file = bundle.csv.file.as_str();
    let replaces = bundle.csv.spec.replaces.as_str();
    for (path, name) in [
        ("metadata.name", bundle.name.as_str()),
        ("spec.replaces", replaces),
    ] {
        if name.is_empty() {
            continue;
        }
        if let Some(why) = why_no_subdomain(name).or_else(|| why_no_label_value(name)) {
            let message = format!("`{name}` is no name: {why}");
            let advice = "use a name such as `memcached-operator.v0.0.1`";
            findings.error("csv-name", (file, path), message, advice);
        }
    }
    if !bundle.release.is_empty() {
        let expected = format!("{}-v{}-{}", bundle.package, bundle.version, bundle.release);
        if bundle.name != expected {
            let message = format!("with a release the name must be `{expected}`");
            findings.error("csv-name", (file, "metadata.name"), message, "rename it");
        }
    }
    if !replaces.is_empty() && replaces == bundle.name {
        let advice = "name the version before this one";
        findings.error(
            "replaces",
            (file, "spec.replaces"),
            "it replaces itself",
            advice,
        );
    }
}

fn fields(bundle: &Bundle, findings: &mut Findings) {
    let csv = &bundle.csv;
    let install = &csv.spec.install;
    let missing = [
        ("apiVersion", text_at(&csv.value, "/apiVersion").is_empty()),
        ("spec.displayName", csv.spec.display_name.is_empty()),
        ("spec.install.strategy", install.strategy.is_empty()),
        (
            "spec.install.spec.deployments",
            install.spec.deployments.is_empty(),
        ),
    ];
    for (path, is_missing) in missing {
        if is_missing {
            findings.error("csv-field", (&csv.file, path), "it is missing", "add it");
        }
    }
    if ![STRATEGY_DEPLOYMENT, ""].contains(&install.strategy.as_str()) {
        let message = format!("`{}` is no known strategy", install.strategy);
        let place = (csv.file.as_str(), "spec.install.strategy");
        findings.error("csv-field", place, message, "write `deployment`");
    }
}

fn versions(bundle: &Bundle, findings: &mut Findings) {
    let csv = &bundle.csv;
    if let Err(error) = Version::parse(&bundle.version) {
        let advice = "write a semantic version such as 1.2.3";
        findings.error(
            "version",
            (&csv.file, "spec.version"),
            error.to_string(),
            advice,
        );
    }
    let minimum = csv.spec.min_kube_version.trim();
    let place = (csv.file.as_str(), "spec.minKubeVersion");
    if minimum.is_empty() {
        let advice = "name the oldest version of Kubernetes that the operator works with";
        findings.warning("min-kube-version", place, "it is missing", advice);
    } else if let Err(error) = Version::parse(minimum) {
        let advice = "write all three numbers, without `v`, such as 1.25.0";
        findings.error("min-kube-version", place, error.to_string(), advice);
    }
    let range = csv.skip_range();
    let place = (csv.file.as_str(), "metadata.annotations[olm.skipRange]");
    match Range::parse(range) {
        Err(error) if !range.is_empty() => {
            let advice = error
                .hint()
                .unwrap_or("write a range such as `>=1.0.0 <1.2.0`");
            findings.error("skip-range", place, error.to_string(), advice);
        }
        Ok(range) if Version::parse(&bundle.version).is_ok_and(|own| range.contains(&own)) => {
            let message = format!("`{range}` contains the version itself");
            let advice = format!("let it end with `<{}`", bundle.version);
            findings.warning("skip-range", place, message, advice);
        }
        _ => {}
    }
}

fn install_modes(bundle: &Bundle, findings: &mut Findings) {
    let spec = &bundle.csv.spec;
    let place = (bundle.csv.file.as_str(), "spec.installModes");
    if spec.install_modes.is_empty() {
        let advice = "list which of the four install modes the operator supports";
        findings.error("install-modes", place, "there are none", advice);
        return;
    }
    let mut seen = BTreeSet::new();
    for mode in &spec.install_modes {
        let name = mode.type_.to_string();
        if !seen.insert(name.clone()) {
            let message = format!("{name} is there twice; the last one counts");
            findings.error("install-modes", place, message, "remove one of them");
        }
    }
    if !spec.install_modes.iter().any(|mode| mode.supported) {
        let message = "none is supported, so the operator cannot be installed";
        findings.error("install-modes", place, message, "support at least one");
    }
    let converts = spec
        .webhook_definitions
        .iter()
        .any(|webhook| !webhook.conversion_crds.is_empty());
    let only_all = spec
        .install_modes
        .iter()
        .all(|mode| mode.supported == (mode.type_ == InstallModeType::AllNamespaces));
    if converts && !only_all {
        let message = "an operator with a conversion webhook serves the whole cluster";
        let advice = "support AllNamespaces and nothing else";
        findings.error("install-modes", place, message, advice);
    }
}

fn annotations(bundle: &Bundle, findings: &mut Findings) {
    let file = bundle.csv.file.as_str();
    for key in bundle.csv.annotations.keys() {
        let path = format!("metadata.annotations[{key}]");
        let known = ANNOTATIONS
            .iter()
            .find(|known| known.eq_ignore_ascii_case(key));
        if let Some(known) = known.filter(|known| *known != key) {
            let message = "it counts for nothing in this spelling";
            findings.error(
                "annotation-case",
                (file, &path),
                message,
                format!("write `{known}`"),
            );
        }
        if key.starts_with("olm.skip")
            && key.to_lowercase() != "olm.skiprange"
            && key != "olm.substitutesFor"
        {
            let message = "it is no known annotation";
            findings.warning(
                "annotation-name",
                (file, &path),
                message,
                "write `olm.skipRange`",
            );
        }
        if key == "olm.properties" {
            let message = "properties belong into a file of their own";
            let advice = "move them to metadata/properties.yaml";
            findings.warning("olm-properties", (file, &path), message, advice);
        }
    }
}

fn examples(bundle: &Bundle, findings: &mut Findings) {
    let csv = &bundle.csv;
    let key = ["alm-examples", "olm.examples"]
        .into_iter()
        .find(|key| csv.annotations.contains_key(*key));
    let Some((key, text)) = key.and_then(|key| Some((key, csv.annotations.get(key)?))) else {
        let place = (csv.file.as_str(), "metadata.annotations[alm-examples]");
        let advice = "add an example of each custom resource";
        findings.warning("examples", place, "there are no examples", advice);
        return;
    };
    let path = format!("metadata.annotations[{key}]");
    let place = (csv.file.as_str(), path.as_str());
    let list: Vec<Value> = if text.is_empty() {
        Vec::new()
    } else {
        match serde_json::from_str(text) {
            Ok(list) => list,
            Err(error) => {
                let advice = "write a JSON list of objects";
                findings.error("examples", place, error.to_string(), advice);
                return;
            }
        }
    };
    let shown: BTreeSet<GroupVersionKind> = list.iter().map(kind_of).collect();
    let owned_crds = csv.spec.custom_resource_definitions.owned.iter();
    let owned_apis = csv.spec.api_service_definitions.owned.iter();
    let owned: BTreeSet<GroupVersionKind> = owned_crds
        .map(|crd| GroupVersionKind::new(crd.group(), &crd.version, &crd.kind))
        .chain(owned_apis.map(|api| GroupVersionKind::new(&api.group, &api.version, &api.kind)))
        .collect();
    for api in shown.difference(&owned) {
        let message = format!("there is an example of {api}, which the operator does not own");
        findings.error(
            "examples",
            place,
            message,
            "remove the example, or own the API",
        );
    }
    for api in owned.difference(&shown) {
        let message = format!("there is no example of {api}");
        findings.warning("examples", place, message, "add one");
    }
}

fn kind_of(object: &Value) -> GroupVersionKind {
    let (group, version) = match text_at(object, "/apiVersion").split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", text_at(object, "/apiVersion")),
    };
    GroupVersionKind::new(group, version, text_at(object, "/kind"))
}

fn service_accounts(bundle: &Bundle, findings: &mut Findings) {
    let deployments = bundle.csv.spec.install.spec.deployments.iter();
    let used: BTreeSet<&str> = deployments
        .filter_map(|deployment| {
            let pod = deployment.spec.get("template")?.get("spec")?;
            pod.get("serviceAccountName")?.as_str()
        })
        .collect();
    let accounts = bundle
        .objects
        .iter()
        .filter(|object| object.kind() == "ServiceAccount" && object.api_version() == "v1");
    for object in accounts {
        if used.contains(object.name()) {
            let message = format!(
                "the ServiceAccount `{}` is made from the ClusterServiceVersion already",
                object.name()
            );
            let advice = "remove this file, or rename the account";
            findings.error(
                "service-account",
                (&object.file, "metadata.name"),
                message,
                advice,
            );
        }
    }
}

fn related_images(bundle: &Bundle, findings: &mut Findings) {
    for (index, related) in bundle.csv.spec.related_images.iter().enumerate() {
        let path = format!("spec.relatedImages[{index}].image");
        let place = (bundle.csv.file.as_str(), path.as_str());
        if related.image.is_empty() {
            let advice = "write the reference of the image";
            findings.error("related-image", place, "it is empty", advice);
        } else if let Err(error) = related.image.parse::<oci_distribution::Reference>() {
            let message = format!("`{}` is no image reference: {error}", related.image);
            findings.error(
                "related-image",
                place,
                message,
                "write `registry/name@sha256:…`",
            );
        }
    }
}
