//! The older package-manifest format: all versions of an operator in one folder.
//!
//! ```text
//! etcd/etcd.package.yaml     packageName, defaultChannel, channels: name and currentCSV of each
//! etcd/0.9.4/*.yaml          a ClusterServiceVersion and its CustomResourceDefinitions
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::metadata::{Metadata, labels};
use super::{Bundle, Error, FileTree, Object, load, manifests, text_at};
use crate::yaml;

/// What a package manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageManifest {
    /// The file it comes from.
    pub file: String,
    /// The name of the package.
    pub package: String,
    /// The channel that the package has as default; may be empty.
    pub default_channel: String,
    /// The channels.
    pub channels: Vec<PackageChannel>,
}

/// A channel of a package manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageChannel {
    /// Its name.
    pub name: String,
    /// The bundle at its head.
    pub current_csv: String,
}

/// A package in the package-manifest format.
#[derive(Debug)]
pub struct Package {
    /// Its manifest.
    pub manifest: PackageManifest,
    /// Its versions. Their channels are those of which they are the head.
    pub bundles: Vec<Bundle>,
    /// The folders of versions that cannot be used, and why.
    pub broken: Vec<(String, Error)>,
}

impl PackageManifest {
    /// The default channel: the one that is named, or the only one.
    pub fn default_channel(&self) -> &str {
        match self.channels.as_slice() {
            [only] if self.default_channel.is_empty() => &only.name,
            _ => &self.default_channel,
        }
    }
}

/// Finds the package manifest among the files of a folder.
pub fn find(tree: &FileTree) -> Option<PackageManifest> {
    tree.iter()
        .filter(|(path, _)| !path.contains('/') && !path.starts_with('.'))
        .find_map(|(path, content)| read_manifest(path, content))
}

/// Reads a package from the files of its folder.
pub fn load_package(tree: &FileTree) -> Result<Package, Error> {
    let Some(manifest) = find(tree) else {
        return Err(Error::NoPackageManifest {
            folder: String::new(),
        });
    };
    let mut package = Package {
        manifest,
        bundles: Vec::new(),
        broken: Vec::new(),
    };
    for folder in folders(tree) {
        for bundle in bundles(tree, &folder, &package.manifest) {
            match bundle {
                Ok(bundle) => package.bundles.push(bundle),
                Err(error) => package.broken.push((folder.clone(), error)),
            }
        }
    }
    Ok(package)
}

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "packageName", default)]
    package_name: Option<String>,
    #[serde(rename = "defaultChannel", default)]
    default_channel: Option<String>,
    #[serde(default)]
    channels: Option<Vec<WrittenChannel>>,
}

#[derive(Deserialize)]
struct WrittenChannel {
    #[serde(default)]
    name: Option<String>,
    #[serde(rename = "currentCSV", default)]
    current_csv: Option<String>,
}

fn read_manifest(path: &str, content: &[u8]) -> Option<PackageManifest> {
    let text = std::str::from_utf8(content).ok()?;
    let document = yaml::documents(path, text).next()?.ok()?;
    let written: Written = document.decode_coercing().ok()?;
    let package = written.package_name.filter(|name| !name.is_empty())?;
    let channels = written.channels.unwrap_or_default();
    Some(PackageManifest {
        file: path.to_owned(),
        package,
        default_channel: written.default_channel.unwrap_or_default(),
        channels: channels
            .into_iter()
            .map(|channel| PackageChannel {
                name: channel.name.unwrap_or_default(),
                current_csv: channel.current_csv.unwrap_or_default(),
            })
            .collect(),
    })
}

/// The folders that hold files, hidden ones left out. The root has an empty name.
fn folders(tree: &FileTree) -> BTreeSet<String> {
    tree.keys()
        .map(|path| path.rfind('/').map_or("", |end| &path[..=end]).to_owned())
        .filter(|folder| !folder.split('/').any(|name| name.starts_with('.')))
        .collect()
}

/// One bundle for each `ClusterServiceVersion` of a folder; the other objects belong to all.
fn bundles(
    tree: &FileTree,
    folder: &str,
    manifest: &PackageManifest,
) -> Vec<Result<Bundle, Error>> {
    let mut warnings = Vec::new();
    let objects = manifests::read(tree, folder, &mut warnings);
    let (csvs, others): (Vec<Object>, Vec<Object>) = objects
        .into_iter()
        .partition(|object| object.kind() == "ClusterServiceVersion");
    // The manifest itself is no Kubernetes object, and that is no fault.
    warnings.retain(|warning| warning.file != manifest.file);
    csvs.into_iter()
        .map(|csv| {
            let metadata = metadata(manifest, text_at(&csv.value, "/metadata/name"));
            let mut objects = vec![csv];
            objects.extend(others.iter().cloned());
            load::assemble(tree, folder, objects, metadata, warnings.clone())
        })
        .collect()
}

/// The annotations that a bundle would have.
fn metadata(manifest: &PackageManifest, csv: &str) -> Metadata {
    let heads = manifest
        .channels
        .iter()
        .filter(|channel| channel.current_csv == csv);
    let channels: Vec<&str> = heads.map(|channel| channel.name.as_str()).collect();
    let annotations = BTreeMap::from([
        (labels::PACKAGE.to_owned(), manifest.package.clone()),
        (labels::CHANNELS.to_owned(), channels.join(",")),
        (
            labels::DEFAULT_CHANNEL.to_owned(),
            manifest.default_channel().to_owned(),
        ),
    ]);
    Metadata {
        annotations: Some((manifest.file.clone(), annotations)),
        ..Metadata::default()
    }
}
