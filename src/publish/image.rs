//! Bundles and catalogs as images.

use std::io::Read as _;
use std::path::Path;

use super::Error;
use crate::bundle::{self, FileTree, labels};
use crate::catalog::fbc;
use crate::catalog::source::CONFIGS_LABEL;
use crate::oci::image::{File, Image, Start};

/// Where the files of a catalog are in its image.
const CONFIGS: &str = "configs";
/// What else of a bundle's folder belongs into its image.
const SCORECARD: &str = "tests/scorecard/";

/// Makes an image of a bundle: its manifests, its metadata and its scorecard, and its annotations
/// as labels. `what` stands for the bundle in errors. The same files give the same digest.
pub fn bundle_image(what: &str, tree: &FileTree) -> Result<Image, Error> {
    let bundle = bundle::load(tree).map_err(|reason| Error::Bundle {
        what: what.to_owned(),
        reason,
    })?;
    let mut all_labels = bundle.annotations;
    for (key, usual) in [
        (labels::MEDIA_TYPE, "registry+v1"),
        (labels::MANIFESTS, "manifests/"),
        (labels::METADATA, "metadata/"),
    ] {
        let label = all_labels.entry(key.to_owned()).or_default();
        if label.is_empty() {
            usual.clone_into(label);
        }
    }
    let folders = folders(&all_labels);
    let files = tree
        .iter()
        .filter(|(path, _)| folders.iter().any(|folder| path.starts_with(folder)))
        .filter(|(path, _)| !path.split('/').any(|part| part.starts_with('.')))
        .map(|(path, content)| file(path.clone(), content.clone()))
        .collect();
    let start = Start {
        labels: all_labels,
        ..data()
    };
    Ok(Image::build(files, &start)?)
}

/// The folders of a bundle that has these annotations, or labels.
pub(super) fn folders(annotations: &std::collections::BTreeMap<String, String>) -> Vec<String> {
    let named = [labels::MANIFESTS, labels::METADATA]
        .into_iter()
        .filter_map(|key| annotations.get(key))
        .map(|folder| folder.trim_start_matches("./").trim_matches('/'))
        .filter(|folder| !folder.is_empty() && !folder.split('/').any(|part| part == ".."))
        .map(|folder| format!("{folder}/"));
    let usual = ["manifests/", "metadata/", SCORECARD].map(str::to_owned);
    let mut folders: Vec<String> = usual.into_iter().chain(named).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Makes an image of a folder with a file-based catalog. Only the catalog's own files go into it,
/// so that nothing has to be left out when it is read. The same files give the same digest.
pub fn catalog_image(folder: &Path) -> Result<Image, Error> {
    let mut files = Vec::new();
    for path in fbc::walk(folder)? {
        let mut content = Vec::new();
        fbc::open(&folder.join(&path))?.read_to_end(&mut content)?;
        let Some(inside) = path.to_str() else {
            return Err(Error::Input(format!(
                "the name of the file {} is not UTF-8",
                folder.join(&path).display()
            )));
        };
        files.push(file(format!("{CONFIGS}/{inside}"), content));
    }
    if files.is_empty() {
        return Err(Error::NoCatalog(folder.to_owned()));
    }
    let start = Start {
        labels: [(CONFIGS_LABEL.to_owned(), format!("/{CONFIGS}"))].into(),
        ..data()
    };
    Ok(Image::build(files, &start)?)
}

/// An image that holds files and no program: the same wherever it is built. It has to name an
/// architecture, and this is the one that all publishers of bundles name.
fn data() -> Start {
    Start {
        architecture: Some("amd64".to_owned()),
        ..Start::default()
    }
}

fn file(path: String, content: Vec<u8>) -> File {
    File {
        path,
        mode: 0o644,
        content,
    }
}

#[cfg(test)]
mod tests {
    use super::{bundle_image, catalog_image};
    use crate::publish::{Error, init};

    #[test]
    fn the_same_bundle_makes_the_same_image_whatever_else_is_in_its_folder() {
        let mut tree = init::bundle("gopher-operator", "1.0.0").unwrap();
        let one = bundle_image("x", &tree).unwrap();
        tree.insert("README.md".to_owned(), b"text".to_vec());
        tree.insert("manifests/.swp".to_owned(), b"rest".to_vec());
        let same = bundle_image("x", &tree).unwrap();
        assert_eq!(one.manifest.digest, same.manifest.digest);
        let scorecard = "tests/scorecard/config.yaml".to_owned();
        tree.insert(scorecard, b"{}".to_vec());
        let other = bundle_image("x", &tree).unwrap();
        assert_ne!(one.manifest.digest, other.manifest.digest);
    }

    #[test]
    fn a_catalog_image_leaves_out_what_the_catalog_leaves_out() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs_err::write(folder.path().join(name), text).unwrap();
        put("catalog.yaml", "schema: olm.package\nname: a\n");
        let one = catalog_image(folder.path()).unwrap();
        put("README.md", "text");
        put(".indexignore", "README.md");
        let same = catalog_image(folder.path()).unwrap();
        assert_eq!(one.manifest.digest, same.manifest.digest);
    }

    #[test]
    fn an_empty_folder_is_no_catalog() {
        let folder = tempfile::tempdir().unwrap();
        let error = catalog_image(folder.path()).unwrap_err();
        assert!(matches!(error, Error::NoCatalog(_)), "{error}");
    }
}
