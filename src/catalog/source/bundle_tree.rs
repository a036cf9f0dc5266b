//! A folder of bundles in OperatorHub.io's layout, as a catalog.
//!
//! ```text
//! operators/PACKAGE/ci.yaml                     how versions lead to each other
//! operators/PACKAGE/VERSION/{manifests,metadata}
//! operators/PACKAGE/PACKAGE.package.yaml        the older format
//! ```
//!
//! The folder above the packages may be called otherwise or be left out, and a single package will
//! do as well. Channels are what `opm index add` makes of the bundles in the order of their
//! versions. What is broken is reported and left out; the rest is served.

mod graph;
mod layout;
mod read;

#[cfg(test)]
mod tests;

pub use graph::UpdateGraph;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::bundle::Form;
use crate::catalog::fbc;
use graph::{Heads, Node};
use layout::PackageFolder;
use read::{Ready, Unit, read_all};

/// Why a folder is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder could not be read; the message names it.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// There is no bundle anywhere.
    #[error(
        "{} holds no bundles: expected folders such as PACKAGE/VERSION/manifests, or \
         operators/PACKAGE/VERSION/manifests",
        .0.display()
    )]
    NoBundles(PathBuf),
}

/// A catalog, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The packages, in the order of their names.
    pub packages: Vec<PackageBlobs>,
    /// What is broken or looks like a mistake.
    pub problems: Vec<Problem>,
}

/// The blobs of one package.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PackageBlobs {
    /// The package.
    pub package: fbc::Package,
    /// Its channels, in the order of their names.
    pub channels: Vec<fbc::Channel>,
    /// Its bundles, in the order of their versions.
    pub bundles: Vec<fbc::Bundle>,
    /// Where the files of each bundle are.
    pub folders: BTreeMap<String, PathBuf>,
}

/// Something that is broken or looks like a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The folder or file.
    pub path: PathBuf,
    /// What was found and what was expected.
    pub why: String,
    /// Whether something is missing in the catalog because of it.
    pub left_out: bool,
}

/// How bundles are rendered.
#[derive(Debug, Clone)]
pub struct Options {
    /// The reference of a bundle's image; `{package}` and `{version}` stand for what they say.
    pub image: String,
    /// How the `ClusterServiceVersion` is carried.
    pub form: Form,
}

/// Where OperatorHub.io publishes its bundles.
pub const OPERATORHUB_IMAGE: &str = "quay.io/operatorhubio/{package}:v{version}";

impl Default for Options {
    fn default() -> Self {
        Self {
            image: OPERATORHUB_IMAGE.to_owned(),
            form: Form::default(),
        }
    }
}

/// Whether a folder holds bundles in a layout that [`load`] knows.
pub fn holds_bundles(root: &Path) -> bool {
    layout::packages(root, &mut Vec::new()).is_ok_and(|packages| !packages.is_empty())
}

/// Where the files of a bundle are, if its folders are named after its package and version, as
/// OperatorHub.io demands it.
pub fn folder_of(root: &Path, package: &str, version: &str) -> Option<PathBuf> {
    let is_plain = |name: &str| {
        let mut parts = Path::new(name).components();
        matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none()
    };
    if !is_plain(package) || !is_plain(version) {
        return None;
    }
    let of_package = Path::new(package).join(version);
    let places = [
        root.join("operators").join(&of_package),
        root.join(&of_package),
        root.join(version),
        root.to_owned(),
    ];
    let mut places = places.into_iter();
    places.find(|folder| folder.join("manifests").is_dir())
}

/// Reads a folder of bundles.
pub fn load(root: &Path) -> Result<Loaded, Error> {
    load_with(root, &Options::default())
}

/// Like [`load`], with options.
pub fn load_with(root: &Path, options: &Options) -> Result<Loaded, Error> {
    let mut loaded = Loaded::default();
    let folders = layout::packages(root, &mut loaded.problems)?;
    let units: Vec<Unit<'_>> = folders.iter().flat_map(Unit::of).collect();
    if units.is_empty() {
        return Err(Error::NoBundles(root.to_owned()));
    }
    let mut read = read_all(&units, options).into_iter();

    let mut names = BTreeSet::new();
    for folder in &folders {
        let count = Unit::of(folder).count();
        let mut versions = Vec::new();
        let mut heads = None;
        for unit in read.by_ref().take(count) {
            versions.extend(unit.versions);
            heads = heads.or(unit.heads);
            loaded.problems.extend(unit.problems);
        }
        for blobs in assemble(folder, versions, heads.as_ref(), &mut loaded.problems) {
            if names.insert(blobs.package.name.clone()) {
                loaded.packages.push(blobs);
            } else {
                let why = format!(
                    "package `{}` is already in another folder",
                    blobs.package.name
                );
                loaded.problems.push(Problem::left_out(&folder.path, why));
            }
        }
    }
    loaded
        .packages
        .sort_by(|a, b| a.package.name.cmp(&b.package.name));
    Ok(loaded)
}

impl Problem {
    fn left_out(path: &Path, why: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            why: why.into(),
            left_out: true,
        }
    }

    fn warning(path: &Path, why: impl Into<String>) -> Self {
        Self {
            left_out: false,
            ..Self::left_out(path, why)
        }
    }
}

/// Makes packages of the versions in a folder; usually that is one.
fn assemble(
    folder: &PackageFolder,
    versions: Vec<Ready>,
    heads: Option<&Heads>,
    problems: &mut Vec<Problem>,
) -> Vec<PackageBlobs> {
    let mut by_package: BTreeMap<String, Vec<Ready>> = BTreeMap::new();
    for version in versions {
        let package = version.bundle.package.clone();
        by_package.entry(package).or_default().push(version);
    }
    if by_package.len() > 1 {
        let names: Vec<&str> = by_package.keys().map(String::as_str).collect();
        let why = format!("the bundles are of several packages: {}", names.join(", "));
        problems.push(Problem::warning(&folder.path, why));
    }
    by_package
        .into_iter()
        .filter_map(|(name, versions)| package(folder, &name, versions, heads, problems))
        .collect()
}

fn package(
    folder: &PackageFolder,
    name: &str,
    versions: Vec<Ready>,
    heads: Option<&Heads>,
    problems: &mut Vec<Problem>,
) -> Option<PackageBlobs> {
    let mut versions = without_doubles(versions, problems);
    let nodes: Vec<&Node> = versions.iter().map(|version| &version.node).collect();
    let graph = match heads {
        Some(heads) => graph::of_heads(&nodes, heads.clone()),
        None => graph::of_versions(&nodes, folder.update_graph),
    };
    for (about, why) in graph.problems {
        let version = versions.iter().find(|version| version.node.name == about);
        let path = version.map_or(&folder.path, |version| &version.path);
        problems.push(Problem::warning(path, why));
    }
    if graph.channels.is_empty() {
        problems.push(Problem::left_out(
            &folder.path,
            "no bundle is in any channel",
        ));
        return None;
    }

    let head = graph.channels.get(&graph.default_channel).map(|c| &c.head);
    let head = versions.iter().find(|v| Some(&v.node.name) == head);
    let (icon, description) = head.map_or((None, String::new()), |head| {
        (head.icon.clone(), head.description.clone())
    });
    let mut blobs = PackageBlobs {
        package: fbc::Package {
            name: name.to_owned(),
            default_channel: graph.default_channel,
            icon,
            description,
            properties: Vec::new(),
        },
        ..PackageBlobs::default()
    };
    let mut reached = BTreeSet::new();
    for (channel, found) in graph.channels {
        reached.extend(found.entries.iter().map(|entry| entry.name.clone()));
        blobs.channels.push(fbc::Channel {
            package: name.to_owned(),
            name: channel,
            entries: found.entries,
            properties: Vec::new(),
        });
    }
    versions.retain(|version| {
        let keep = reached.contains(&version.node.name);
        if !keep {
            let why = format!(
                "`{}` is in no channel: no later version replaces or skips it",
                version.node.name
            );
            problems.push(Problem::left_out(&version.path, why));
        }
        keep
    });
    for version in versions {
        blobs.folders.insert(version.node.name, version.path);
        blobs.bundles.push(version.bundle);
    }
    Some(blobs)
}

/// The versions in their order. Of several with the same name or version the first one stays.
fn without_doubles(mut versions: Vec<Ready>, problems: &mut Vec<Problem>) -> Vec<Ready> {
    versions.sort_by(|a, b| a.node.version.cmp(&b.node.version));
    let mut kept: Vec<Ready> = Vec::with_capacity(versions.len());
    for version in versions {
        let node = &version.node;
        let double = kept
            .iter()
            .find(|other| other.node.name == node.name || other.node.version == node.version);
        match double {
            None => kept.push(version),
            Some(other) => {
                let why = format!(
                    "`{}` {} is already there as `{}` {} in {}",
                    node.name,
                    node.version,
                    other.node.name,
                    other.node.version,
                    other.path.display()
                );
                problems.push(Problem::left_out(&version.path, why));
            }
        }
    }
    kept
}
