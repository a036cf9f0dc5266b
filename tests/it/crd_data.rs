//! CRDs of real operators, each version beside the one before it.

use std::collections::BTreeMap;

use chandler::plan::crd::{SchemaChange, Severity, compare, upgrade_v1beta1};
use chandler::version::Version;
use chandler::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::support::data::each_yaml_file;

/// One in so many packages is looked at, and of these the latest versions: all of them would take
/// minutes without optimisation.
const ONE_IN: usize = 5;
const LATEST: usize = 3;

/// Texts with CRDs in them, with their paths, by package and version.
type Texts = BTreeMap<String, BTreeMap<Version, Vec<(String, String)>>>;

fn keep(texts: &mut Texts, path: String, text: String) {
    let mut parts = path.trim_start_matches("community/").split('/');
    let (Some(folder), Some(package), Some(version)) = (parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let number: usize = package.bytes().map(usize::from).sum();
    if !number.is_multiple_of(ONE_IN) || !text.contains("kind: CustomResourceDefinition") {
        return;
    }
    if let Ok(version) = Version::parse(version.trim_start_matches('v')) {
        let versions = texts.entry(format!("{folder}/{package}")).or_default();
        versions.entry(version).or_default().push((path, text));
        if versions.len() > LATEST {
            versions.pop_first();
        }
    }
}

#[derive(Default)]
struct Seen {
    /// CRDs by package and name, in the order of their versions.
    crds: BTreeMap<(String, String), Vec<(Version, CustomResourceDefinition)>>,
    upgraded: usize,
    notes: usize,
    refused: Vec<String>,
    unreadable: Vec<String>,
}

impl Seen {
    fn text(&mut self, package: &str, version: &Version, path: &str, text: &str) {
        for value in yaml::values(path, text).unwrap() {
            if value.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
                match self.crd(path, value) {
                    Ok(crd) => {
                        let name = crd.metadata.name.clone().unwrap_or_default();
                        let versions = self.crds.entry((package.to_owned(), name)).or_default();
                        versions.push((version.clone(), crd));
                    }
                    Err(error) => self.unreadable.push(format!("{path}: {error}")),
                }
            }
        }
    }

    /// A CRD as it would be in a cluster: with the version that its objects are stored in.
    fn crd(&mut self, path: &str, value: Value) -> anyhow::Result<CustomResourceDefinition> {
        let is_old =
            value.get("apiVersion").and_then(Value::as_str) == Some("apiextensions.k8s.io/v1beta1");
        let mut crd: CustomResourceDefinition = if is_old {
            let upgraded = upgrade_v1beta1(value).inspect_err(|error| {
                self.refused.push(format!("{path}: {error}"));
            })?;
            self.upgraded += 1;
            self.notes += upgraded.notes.len();
            upgraded.crd
        } else {
            serde_json::from_value(value)?
        };
        let stored = crd.spec.versions.iter().find(|version| version.storage);
        let stored = stored.map(|version| version.name.clone());
        crd.status = serde_json::from_value(json!({ "storedVersions": stored.as_slice() }))?;
        Ok(crd)
    }
}

#[test]
fn real_crds_can_be_compared() {
    let mut texts = Texts::new();
    let found = each_yaml_file("real_crds_can_be_compared", |file| {
        keep(&mut texts, file.path, file.text);
    })
    .unwrap();
    if !found {
        return;
    }
    let mut seen = Seen::default();
    for (package, versions) in &texts {
        for (version, texts) in versions {
            for (path, text) in texts {
                seen.text(package, version, path, text);
            }
        }
    }
    let (mut pairs, mut equal, mut harmless, mut refusals) = (0, 0, 0, 0);
    let mut counts: BTreeMap<(Severity, String), (usize, String)> = BTreeMap::new();
    for ((package, name), versions) in &seen.crds {
        for (_, crd) in versions {
            assert_eq!(compare(crd, crd), [], "{package} {name}");
        }
        for two in versions.windows(2) {
            let [(before, old), (now, new)] = two else {
                continue;
            };
            let changes = compare(old, new);
            pairs += 1;
            equal += usize::from(changes.is_empty());
            let is_harmless = |change: &SchemaChange| change.severity == Severity::Harmless;
            harmless += usize::from(!changes.is_empty() && changes.iter().all(is_harmless));
            let is_refused = |change: &SchemaChange| change.severity == Severity::Refused;
            refusals += usize::from(changes.iter().any(is_refused));
            for change in changes {
                let key = (change.severity, format!("{:?}", change.kind));
                let example = || {
                    (
                        0,
                        format!("{name} of {package} {before} to {now}: {change}"),
                    )
                };
                counts.entry(key).or_insert_with(example).0 += 1;
            }
        }
    }
    let packages: std::collections::BTreeSet<&String> =
        seen.crds.keys().map(|(package, _)| package).collect();
    println!(
        "{} packages, {} CRDs, {pairs} pairs: {equal} without change, {harmless} harmless, {refusals} refused",
        packages.len(),
        seen.crds.len()
    );
    println!(
        "v1beta1: {} upgraded with {} notes, {} refused",
        seen.upgraded,
        seen.notes,
        seen.refused.len()
    );
    for refusal in &seen.unreadable {
        println!("  {refusal}");
    }
    for ((severity, kind), (count, example)) in &counts {
        println!("{severity:?} {kind} {count}: {example}");
    }
    assert_eq!(
        seen.unreadable.len(),
        seen.refused.len(),
        "{:?}",
        seen.unreadable
    );
    assert!(
        packages.len() >= 8 && pairs > 60,
        "{} {pairs}",
        packages.len()
    );
    assert!(
        equal > pairs / 4,
        "CRDs of most versions are those of the version before"
    );
}
