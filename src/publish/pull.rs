//! A bundle's image back into its files.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;
use super::image::folders;
use crate::bundle::{self, Bundle, FileTree, labels};
use crate::oci::blob_store::BlobStore;
use crate::oci::layer::Limits;
use crate::oci::pull::{PullOptions, PulledImage, files_below, pull_image};
use crate::oci::{Digest, Location};

/// A bundle that was pulled.
#[derive(Debug)]
pub struct PulledBundle {
    /// The digest of its image.
    pub digest: Digest,
    /// The labels of its image.
    pub labels: BTreeMap<String, String>,
    /// Its files.
    pub tree: FileTree,
    /// What they say.
    pub bundle: Bundle,
}

/// Pulls a bundle's image. Whatever else is in the image is not looked at.
pub async fn pull_bundle(
    location: &Location,
    options: &PullOptions,
    store: &BlobStore,
) -> Result<PulledBundle, Error> {
    let image = pull_image(location, options, store).await?;
    bundle_of(location.to_string(), image).await
}

/// Reads a bundle out of an image that was pulled. All of it is in memory meanwhile.
pub async fn bundle_of(what: String, image: PulledImage) -> Result<PulledBundle, Error> {
    // Layers are unpacked: not on a thread that others wait for.
    let read = tokio::task::spawn_blocking(move || read(&what, &image));
    read.await
        .map_err(|error| Error::Interrupted(error.to_string()))?
}

fn read(what: &str, image: &PulledImage) -> Result<PulledBundle, Error> {
    let tree: FileTree = files_below(image, &folders(&image.labels), &limits())?;
    if tree.is_empty() && !image.labels.contains_key(labels::MEDIA_TYPE) {
        return Err(Error::NotABundle(what.to_owned()));
    }
    let bundle =
        bundle::load_with_labels(&tree, &image.labels).map_err(|reason| Error::Bundle {
            what: what.to_owned(),
            reason,
        })?;
    Ok(PulledBundle {
        digest: image.digest.clone(),
        labels: image.labels.clone(),
        tree,
        bundle,
    })
}

/// What a bundle may be: in an image no more than in a folder. Below its files an image may have others,
/// which nobody keeps.
fn limits() -> Limits {
    let of_folder = bundle::Limits::default();
    Limits {
        file_bytes: of_folder.file,
        wanted_bytes: of_folder.total,
        entries: 100_000,
        ..Limits::default()
    }
}

/// Writes the files of a bundle into a folder that is not there yet, or is empty. The folder is
/// complete or not there: files are written beside it first.
pub fn write_bundle(tree: &FileTree, folder: &Path) -> Result<(), Error> {
    super::write::new_folder(folder, tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::client::{Registry, Settings};
    use crate::publish::{bundle_image, init, push};

    /// Pulls a bundle with these files beside its own out of an OCI layout.
    async fn pull_with(files: &[(&str, usize)]) -> Result<PulledBundle, Error> {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = init::bundle("gopher-operator", "1.0.0").unwrap();
        // Small when packed, but not so small that it is refused for that alone.
        let block: Vec<u8> = (0..=255_u8).flat_map(|n| [n, 0, 0, 0].repeat(16)).collect();
        for (path, size) in files {
            let mut content = block.repeat(size / block.len() + 1);
            content.truncate(*size);
            tree.insert((*path).to_owned(), content);
        }
        let image = bundle_image("test", &tree).unwrap();
        let layout = folder.path().join("layout");
        let location: Location = format!("oci:{}:v1", layout.display()).parse().unwrap();
        let options = PullOptions::new(Registry::new(Settings::default()));
        push(&image, &location, &options.registry, &crate::oci::Silent)
            .await
            .unwrap();
        let store = BlobStore::open(folder.path().join("cache")).unwrap();
        pull_bundle(&location, &options, &store).await
    }

    #[tokio::test]
    async fn a_bundle_comes_back_as_it_was_whatever_folders_its_labels_name() {
        let pulled = pull_with(&[("tests/scorecard/config.yaml", 3)])
            .await
            .unwrap();
        let paths: Vec<&str> = pulled.tree.keys().map(String::as_str).collect();
        assert!(paths.contains(&"tests/scorecard/config.yaml"), "{paths:?}");
        assert!(paths.contains(&"metadata/annotations.yaml"), "{paths:?}");
        let name = pulled.bundle.csv.value.pointer("/metadata/name");
        assert_eq!(
            name.and_then(|it| it.as_str()),
            Some("gopher-operator.v1.0.0")
        );
    }

    #[tokio::test]
    async fn a_small_layer_with_a_file_larger_than_any_of_a_bundle_is_refused() {
        let error = pull_with(&[("tests/scorecard/a", (32 << 20) + 1)]).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("the file `tests/scorecard/a` is larger than the 33554432 bytes"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_small_layer_with_more_in_all_than_a_bundle_has_is_refused() {
        let files: Vec<String> = (0..5).map(|n| format!("tests/scorecard/{n}")).collect();
        let files: Vec<(&str, usize)> = files.iter().map(|it| (it.as_str(), 30 << 20)).collect();
        let error = pull_with(&files).await.unwrap_err().to_string();
        assert!(
            error.contains(
                "tests/scorecard, unpacked and all together, is larger than the 134217728 bytes"
            ),
            "{error}"
        );
    }
}
