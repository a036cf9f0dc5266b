//! A bundle's image back into its files.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;
use super::image::folders;
use crate::bundle::{self, Bundle, FileTree, labels};
use crate::oci::blob_store::BlobStore;
use crate::oci::layer::Limits;
use crate::oci::pull::{PullOptions, PulledImage, files_of, pull_image};
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

/// Reads a bundle out of an image that was pulled.
pub(super) async fn bundle_of(what: String, image: PulledImage) -> Result<PulledBundle, Error> {
    // Layers are unpacked: not on a thread that others wait for.
    let read = tokio::task::spawn_blocking(move || read(&what, &image));
    read.await
        .map_err(|error| Error::Interrupted(error.to_string()))?
}

fn read(what: &str, image: &PulledImage) -> Result<PulledBundle, Error> {
    let mut tree = FileTree::new();
    for folder in folders(&image.labels) {
        for (path, content) in files_of(image, &folder, &Limits::default())? {
            tree.insert(format!("{folder}{path}"), content);
        }
    }
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

/// Writes the files of a bundle into a folder that is not there yet, or is empty. The folder is
/// complete or not there: files are written beside it first.
pub fn write_bundle(tree: &FileTree, folder: &Path) -> Result<(), Error> {
    super::write::new_folder(folder, tree)
}
