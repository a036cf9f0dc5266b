//! The format of a bundle: annotations, dependencies, kinds, size.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Findings;
use crate::bundle::metadata::{annotation, labels};
use crate::bundle::{Bundle, Property, go, property};
use crate::version::Range;

const METADATA: &str = "metadata/";

/// What a bundle may hold beside what its `ClusterServiceVersion` describes.
const KINDS: [&str; 22] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterServiceVersion",
    "ConfigMap",
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsolePlugin",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "CustomResourceDefinition",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PodMonitor",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];

/// Bytes that the compressed manifests may have: they travel in one `ConfigMap`.
const MAX_SIZE: usize = 1 << 20;

pub(super) fn check(bundle: &Bundle, findings: &mut Findings) {
    for warning in &bundle.warnings {
        let line = warning
            .line
            .map_or_else(String::new, |l| format!("line {l}"));
        let advice = "correct the file, or remove it from the bundle";
        findings.warning("file", (&warning.file, &line), &warning.problem, advice);
    }
    annotations(bundle, findings);
    for dependency in &bundle.dependencies {
        self::dependency(dependency, findings);
    }
    for object in &bundle.objects {
        if !KINDS.contains(&object.kind()) {
            findings.error(
                "kind",
                (&object.file, "kind"),
                format!("a bundle cannot hold a {}", object.kind()),
                "let the operator make this object, or describe it in the ClusterServiceVersion",
            );
        }
        if object.api_version().is_empty() {
            let advice = "add the apiVersion of the kind";
            let place = (object.file.as_str(), "apiVersion");
            findings.error("api-version", place, "there is none", advice);
        }
    }
    twins(bundle, findings);
    size(bundle, findings);
}

/// All objects of a bundle go into one namespace, whatever they say.
fn twins(bundle: &Bundle, findings: &mut Findings) {
    let mut seen: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
    for object in bundle.objects.iter().filter(|it| !it.name().is_empty()) {
        let group = object.api_version().rsplit_once('/');
        let group = group.map_or("", |(group, _)| group);
        let key = (group, object.kind(), object.name());
        let Some(first) = seen.get(&key) else {
            seen.insert(key, &object.file);
            continue;
        };
        findings.warning(
            "twins",
            (&object.file, "metadata.name"),
            format!(
                "{} `{}` is also in {first}, and takes its place",
                object.kind(),
                object.name()
            ),
            "keep one of them, or give it another name",
        );
    }
}

fn annotations(bundle: &Bundle, findings: &mut Findings) {
    let expected = [
        (labels::MEDIA_TYPE, "registry+v1"),
        (labels::MANIFESTS, "manifests/"),
        (labels::METADATA, "metadata/"),
    ];
    for (key, expected) in expected {
        let found = annotation(&bundle.annotations, key);
        if found != expected {
            findings.error(
                "annotation",
                (METADATA, key),
                format!("expected `{expected}`, found `{found}`"),
                format!("write `{key}: {expected}`"),
            );
        }
    }
    if bundle.channels.is_empty() {
        let advice = "name the channels of the bundle, with commas between them";
        let place = (METADATA, labels::CHANNELS);
        findings.error("annotation", place, "the bundle is in no channel", advice);
    }
    for channel in bundle.channels.iter().filter(|c| c.trim() != c.as_str()) {
        let message = format!("the blanks belong to the name of the channel `{channel}`");
        let advice = "write the channels with commas and without blanks between them";
        findings.error("annotation", (METADATA, labels::CHANNELS), message, advice);
    }
    if bundle
        .annotations
        .get(labels::DEFAULT_CHANNEL)
        .is_some_and(String::is_empty)
    {
        let advice = "name a channel, or remove the annotation";
        let place = (METADATA, labels::DEFAULT_CHANNEL);
        findings.error("annotation", place, "it is empty", advice);
    }
}

fn dependency(dependency: &Property, findings: &mut Findings) {
    let value = &dependency.value;
    let text = |key: &str| {
        go::get(value, key)
            .and_then(serde_json::Value::as_str)
            .unwrap_or("")
    };
    let needs = |keys: &[&str]| keys.iter().any(|key| text(key).is_empty());
    let (message, advice) = match dependency.kind.as_str() {
        property::GVK if needs(&["group", "version", "kind"]) => (
            "it needs `group`, `version` and `kind`".to_owned(),
            "name the API that the operator needs",
        ),
        property::PACKAGE if needs(&["packageName", "version"]) => (
            "it needs `packageName` and `version`".to_owned(),
            "name the package and a range of versions",
        ),
        property::PACKAGE => match Range::parse(text("version")) {
            Ok(_) => return,
            Err(error) => (
                error.to_string(),
                error
                    .hint()
                    .unwrap_or("write a range such as `>=1.0.0 <2.0.0`"),
            ),
        },
        "olm.label" if needs(&["label"]) => ("it needs `label`".to_owned(), "name the label"),
        property::GVK | property::CONSTRAINT | "olm.label" => return,
        other => (
            format!("`{other}` is no known kind of dependency"),
            "use olm.package, olm.gvk or olm.constraint",
        ),
    };
    let path = format!("dependencies: {}", dependency.kind);
    findings.error("dependency", (METADATA, &path), message, advice);
}

fn size(bundle: &Bundle, findings: &mut Findings) {
    let values = std::iter::once(&bundle.csv.value).chain(bundle.objects.iter().map(|o| &o.value));
    let size: usize = values.map(|value| compressed(&go::to_json(value))).sum();
    let message = format!(
        "the manifests have {size} bytes when compressed; at most {MAX_SIZE} can be installed"
    );
    let advice = "shorten descriptions in CustomResourceDefinitions, or move examples elsewhere";
    if size > MAX_SIZE {
        findings.error("size", ("manifests/", ""), message, advice);
    } else if size > MAX_SIZE / 100 * 85 {
        findings.warning("size", ("manifests/", ""), message, advice);
    }
}

fn compressed(text: &str) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(text.as_bytes());
    // Writing to memory does not fail.
    written
        .and_then(|()| encoder.finish())
        .map_or(0, |bytes| bytes.len())
}
