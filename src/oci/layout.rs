//! An image in a folder, as the OCI image layout specification has it.
//!
//! ```text
//! oci-layout      says that this is one
//! index.json      names the manifests, with their tags
//! blobs/sha256/   everything else, by digest
//! ```

use std::path::Path;

use oci_distribution::manifest::{OCI_IMAGE_INDEX_MEDIA_TYPE, OciImageIndex};
use serde_json::json;

use super::Error;
use super::image::Image;

/// Writes an image into a folder as its only content, under a tag.
pub fn write(folder: &Path, tag: &str, image: &Image) -> Result<(), Error> {
    let blobs = folder.join("blobs").join("sha256");
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    fs_err::create_dir_all(&blobs)?;
    for blob in image.blobs() {
        let name = blob.digest.trim_start_matches("sha256:");
        fs_err::write(blobs.join(name), &blob.bytes)?;
    }
    let mut descriptor = json!(image.manifest.descriptor());
    descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": tag });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE,
        "manifests": [descriptor],
    });
    fs_err::write(folder.join("index.json"), index.to_string())?;
    // Last: who finds this file finds a whole layout.
    fs_err::write(
        folder.join("oci-layout"),
        json!({ "imageLayoutVersion": "1.0.0" }).to_string(),
    )?;
    Ok(())
}

/// Reads the index of a layout.
pub fn index(folder: &Path) -> Result<OciImageIndex, Error> {
    let text = fs_err::read(folder.join("index.json"))?;
    serde_json::from_slice(&text).map_err(|source| Error::Encode {
        what: "index",
        source,
    })
}
