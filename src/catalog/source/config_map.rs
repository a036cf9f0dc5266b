//! A catalog in a ConfigMap: the oldest kind of CatalogSource (`configmap`, `internal`).
//!
//! Its data are three YAML lists: `clusterServiceVersions`, `customResourceDefinitions` and
//! `packages`, the last in the words of the package-manifest format. Each package becomes the
//! blobs of a file-based catalog; as there is no image, bundles carry their manifests in line.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bundle::package_manifest::{Package, load_package};
use crate::bundle::{Bundle, FileTree, Form, render_as};
use crate::catalog::fbc::{self, Meta};
use crate::yaml;

/// Why the data of a ConfigMap are no catalog.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A list cannot be read.
    #[error("{0}")]
    Yaml(#[from] yaml::Error),
    /// What should be a list is something else.
    #[error("`{key}` of the ConfigMap is not a list")]
    NoList {
        /// The key of the data.
        key: &'static str,
    },
    /// There are no packages.
    #[error("the ConfigMap has no `packages`: expected a YAML list of package manifests")]
    NoPackages,
}

/// What a ConfigMap holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The blobs of all packages.
    pub blobs: Vec<Meta>,
    /// Packages and bundles that are left out, and why.
    pub problems: Vec<(String, String)>,
}

/// Reads the data of a ConfigMap.
pub fn load(data: &BTreeMap<String, String>) -> Result<Loaded, Error> {
    let csvs = list(data, "clusterServiceVersions")?;
    let crds = list(data, "customResourceDefinitions")?;
    let packages = list(data, "packages")?;
    if packages.is_empty() {
        return Err(Error::NoPackages);
    }
    let mut loaded = Loaded::default();
    for package in packages {
        let name = package["packageName"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        match load_package(&files(&package, &csvs, &crds)) {
            Ok(package) => add(&package, &mut loaded),
            Err(error) => loaded.problems.push((name, error.to_string())),
        }
    }
    Ok(loaded)
}

fn list(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<Value>, Error> {
    let Some(text) = data.get(key) else {
        return Ok(Vec::new());
    };
    match yaml::from_str(key, text)? {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        _ => Err(Error::NoList { key }),
    }
}

/// The files that the package would have as a folder: a version for every `ClusterServiceVersion`
/// that one of its channels leads to, each with the CRDs that it owns.
fn files(package: &Value, csvs: &[Value], crds: &[Value]) -> FileTree {
    let mut files = FileTree::from([("package.yaml".to_owned(), package.to_string().into_bytes())]);
    let by_name: BTreeMap<&str, &Value> = csvs.iter().map(|csv| (name(csv), csv)).collect();
    let heads = package["channels"].as_array().into_iter().flatten();
    for head in heads {
        let mut next = head["currentCSV"].as_str().unwrap_or_default();
        while let Some(csv) = by_name.get(next) {
            let file = format!("{next}/csv.json");
            // Met before: another channel leads here too, or the chain bites its tail.
            if files.insert(file, csv.to_string().into_bytes()).is_some() {
                break;
            }
            let owned = csv["spec"]["customresourcedefinitions"]["owned"].as_array();
            for owned in owned.into_iter().flatten() {
                let crd = crds
                    .iter()
                    .find(|crd| Some(name(crd)) == owned["name"].as_str());
                if let Some(crd) = crd {
                    let file = format!("{next}/{}.crd.json", name(crd));
                    files.insert(file, crd.to_string().into_bytes());
                }
            }
            next = csv["spec"]["replaces"].as_str().unwrap_or_default();
        }
    }
    files
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn add(package: &Package, loaded: &mut Loaded) {
    let manifest = &package.manifest;
    for (folder, error) in &package.broken {
        let why = format!("{}: {error}", folder.trim_end_matches('/'));
        loaded.problems.push((manifest.package.clone(), why));
    }
    loaded.blobs.push(Meta::Package(fbc::Package {
        name: manifest.package.clone(),
        default_channel: manifest.default_channel().to_owned(),
        ..fbc::Package::default()
    }));
    let bundles: BTreeMap<&str, &Bundle> = package
        .bundles
        .iter()
        .map(|bundle| (bundle.name.as_str(), bundle))
        .collect();
    for channel in &manifest.channels {
        loaded.blobs.push(Meta::Channel(fbc::Channel {
            package: manifest.package.clone(),
            name: channel.name.clone(),
            entries: chain(&channel.current_csv, &bundles),
            properties: Vec::new(),
        }));
    }
    for bundle in &package.bundles {
        match render_as(bundle, "", Form::BundleObjects) {
            Ok(rendered) => loaded.blobs.push(Meta::Bundle(rendered.into())),
            Err(error) => {
                loaded.problems.push((
                    manifest.package.clone(),
                    format!("{}: {error}", bundle.name),
                ));
            }
        }
    }
}

/// The entries of a channel: from its head along `replaces`.
fn chain(head: &str, bundles: &BTreeMap<&str, &Bundle>) -> Vec<fbc::Entry> {
    let mut entries: Vec<fbc::Entry> = Vec::new();
    let mut next = head;
    while let Some(bundle) = bundles.get(next) {
        if entries.iter().any(|entry| entry.name == bundle.name) {
            break;
        }
        let spec = &bundle.csv.value["spec"];
        let skips = spec["skips"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        entries.push(fbc::Entry {
            name: bundle.name.clone(),
            replaces: spec["replaces"].as_str().unwrap_or_default().to_owned(),
            skips: skips.map(str::to_owned).collect(),
            skip_range: bundle.csv.skip_range().to_owned(),
        });
        next = spec["replaces"].as_str().unwrap_or_default();
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSVS: &str = "
- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: gopher.v1.0.0}
  spec:
    displayName: Gopher
    version: 1.0.0
    replaces: gopher.v0.9.0
    customresourcedefinitions: {owned: [{name: gophers.example.com, version: v1, kind: Gopher}]}
    install: {strategy: deployment}
- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: gopher.v0.9.0}
  spec: {displayName: Gopher, version: 0.9.0, install: {strategy: deployment}}
- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: stray.v1.0.0}
  spec: {displayName: Stray, version: 1.0.0, install: {strategy: deployment}}
";
    const CRDS: &str = "
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: gophers.example.com}
  spec:
    group: example.com
    names: {kind: Gopher, plural: gophers}
    scope: Namespaced
    versions: [{name: v1, served: true, storage: true}]
";

    fn data(packages: &str) -> BTreeMap<String, String> {
        [
            ("clusterServiceVersions", CSVS),
            ("customResourceDefinitions", CRDS),
            ("packages", packages),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    #[test]
    fn a_package_becomes_its_channels_and_the_bundles_they_lead_to() {
        let loaded = load(&data(
            "- packageName: gopher\n  channels: [{name: alpha, currentCSV: gopher.v1.0.0}]\n",
        ))
        .unwrap();
        assert_eq!(loaded.problems, []);
        let names: Vec<String> = loaded
            .blobs
            .iter()
            .map(|blob| match blob {
                Meta::Package(package) => format!("{} {}", package.name, package.default_channel),
                Meta::Channel(channel) => channel
                    .entries
                    .iter()
                    .map(|e| format!("{}<{}", e.name, e.replaces))
                    .collect::<Vec<_>>()
                    .join(" "),
                Meta::Bundle(bundle) => bundle.name.clone(),
                _ => "unexpected".to_owned(),
            })
            .collect();
        assert_eq!(
            names,
            [
                "gopher alpha",
                "gopher.v1.0.0<gopher.v0.9.0 gopher.v0.9.0<",
                "gopher.v0.9.0",
                "gopher.v1.0.0"
            ]
        );
    }

    #[test]
    fn a_bundle_provides_the_apis_of_its_crds_and_carries_its_manifests() {
        let loaded = load(&data(
            "- packageName: gopher\n  channels: [{name: alpha, currentCSV: gopher.v1.0.0}]\n",
        ))
        .unwrap();
        let newest = loaded.blobs.iter().find_map(|blob| match blob {
            Meta::Bundle(bundle) if bundle.name == "gopher.v1.0.0" => Some(bundle),
            _ => None,
        });
        let kinds: Vec<&str> = newest
            .unwrap()
            .properties
            .iter()
            .map(|p| p.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            [
                "olm.gvk",
                "olm.package",
                "olm.bundle.object",
                "olm.bundle.object"
            ]
        );
    }

    #[test]
    fn a_chain_that_bites_its_tail_ends() {
        let csvs = CSVS.replace(
            "version: 0.9.0,",
            "version: 0.9.0, replaces: gopher.v1.0.0,",
        );
        let mut data =
            data("- packageName: gopher\n  channels: [{name: alpha, currentCSV: gopher.v1.0.0}]\n");
        data.insert("clusterServiceVersions".to_owned(), csvs);
        assert!(load(&data).unwrap().blobs.len() >= 4);
    }

    #[test]
    fn what_is_no_list_or_no_yaml_is_refused_in_words() {
        let mut broken = data("{}");
        assert!(matches!(
            load(&broken),
            Err(Error::NoList { key: "packages" })
        ));
        broken.insert("packages".to_owned(), "a: b: c".to_owned());
        assert!(
            load(&broken)
                .unwrap_err()
                .to_string()
                .starts_with("packages:1:")
        );
        broken.remove("packages");
        assert!(matches!(load(&broken), Err(Error::NoPackages)));
    }
}
