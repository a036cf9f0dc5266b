//! Which folders are packages and which are versions.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Problem;
use super::graph::UpdateGraph;
use crate::yaml;

/// The folder of a package.
#[derive(Debug)]
pub(super) struct PackageFolder {
    pub(super) path: PathBuf,
    pub(super) content: Content,
    pub(super) update_graph: UpdateGraph,
}

/// What is in it.
#[derive(Debug)]
pub(super) enum Content {
    /// The folders of its versions.
    Versions(Vec<PathBuf>),
    /// All versions, in the older format.
    PackageManifest,
}

/// The packages below a folder, or the one that it is itself.
pub(super) fn packages(root: &Path, problems: &mut Vec<Problem>) -> io::Result<Vec<PackageFolder>> {
    if root.join("manifests").is_dir() {
        return Ok(vec![PackageFolder {
            path: root.to_owned(),
            content: Content::Versions(vec![root.to_owned()]),
            update_graph: UpdateGraph::Replaces,
        }]);
    }
    let operators = root.join("operators");
    let root = if operators.is_dir() { &operators } else { root };
    if let Some(package) = package(root, problems)? {
        return Ok(vec![package]);
    }
    let mut found = Vec::new();
    for folder in folders(root)? {
        match package(&folder, problems)? {
            Some(package) => found.push(package),
            // A package that is announced but has no version yet is nothing wrong.
            None if folders(&folder)?.is_empty() => {}
            None => {
                let why = "holds no bundles: expected folders such as VERSION/manifests";
                problems.push(Problem::left_out(&folder, why));
            }
        }
    }
    Ok(found)
}

fn package(folder: &Path, problems: &mut Vec<Problem>) -> io::Result<Option<PackageFolder>> {
    let mut versions = folders(folder)?;
    versions.retain(|version| version.join("manifests").is_dir());
    let content = if !versions.is_empty() {
        Content::Versions(versions)
    } else if has_package_manifest(folder)? {
        Content::PackageManifest
    } else {
        return Ok(None);
    };
    Ok(Some(PackageFolder {
        path: folder.to_owned(),
        content,
        update_graph: update_graph(folder, problems)?,
    }))
}

/// The folders in a folder, in the order of their names; hidden ones do not count.
fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn has_package_manifest(folder: &Path) -> io::Result<bool> {
    for entry in fs_err::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".package.yaml") || name.ends_with(".package.yml") {
            return Ok(true);
        }
    }
    Ok(false)
}

#[derive(Deserialize)]
struct Ci {
    #[serde(rename = "updateGraph", default)]
    update_graph: Option<String>,
}

/// What `ci.yaml` says about how versions lead to each other.
fn update_graph(folder: &Path, problems: &mut Vec<Problem>) -> io::Result<UpdateGraph> {
    let path = folder.join("ci.yaml");
    if !path.is_file() {
        return Ok(UpdateGraph::default());
    }
    let content = fs_err::read(&path)?;
    let text = String::from_utf8_lossy(&content);
    let ci = yaml::from_str_coercing::<Option<Ci>>("ci.yaml", &text);
    let word = match ci {
        Ok(ci) => ci.and_then(|ci| ci.update_graph).unwrap_or_default(),
        Err(error) => {
            let why = format!("{error}; taken for `updateGraph: replaces-mode`");
            problems.push(Problem::warning(&path, why));
            String::new()
        }
    };
    let (mode, is_legal) = UpdateGraph::parse(&word);
    if !is_legal {
        let why = format!(
            "updateGraph: expected replaces-mode, semver-mode or semver-skippatch, found \
             `{word}`; taken for `{mode}`"
        );
        problems.push(Problem::warning(&path, why));
    }
    Ok(mode)
}
