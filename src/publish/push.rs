//! An image to where it should be.

use bytes::Bytes;

use super::Error;
use crate::oci::client::{Content, RawManifest, Registry};
use crate::oci::image::Image;
use crate::oci::layout::Layout;
use crate::oci::reference::LayoutVersion;
use crate::oci::{Digest, Location, Reporter};

/// The tag of an image whose target names none, as in registries.
const LATEST: &str = "latest";

/// Pushes an image to a registry or into an OCI layout, which is made if it is not there. Gives
/// the place by digest: what to write where it must not change any more.
pub async fn push(
    image: &Image,
    target: &Location,
    registry: &Registry,
    reporter: &dyn Reporter,
) -> Result<Location, Error> {
    let digest: Digest = image.manifest.digest.parse()?;
    match target {
        Location::Layout(layout) => {
            let tag = match &layout.version {
                LayoutVersion::Tag(tag) => tag,
                LayoutVersion::Only => LATEST,
                LayoutVersion::Digest(_) => return Err(Error::Target(target.to_string())),
            };
            Layout::create(&layout.folder)?.put(image, Some(tag))?;
            let mut pushed = layout.clone();
            pushed.version = LayoutVersion::Digest(digest);
            Ok(Location::Layout(pushed))
        }
        Location::Registry(reference) => {
            if reference.digest().is_some_and(|wanted| *wanted != digest) {
                return Err(Error::Target(target.to_string()));
            }
            for blob in image.layers.iter().chain([&image.config]) {
                let (digest, size) = (blob.digest.parse()?, blob.bytes.len() as u64);
                let content = Content::Bytes(Bytes::copy_from_slice(&blob.bytes));
                reporter.progress(&digest, 0, size);
                registry
                    .push_blob(reference, &digest, size, &content, None)
                    .await?;
                reporter.progress(&digest, size, size);
            }
            let manifest = RawManifest {
                media_type: image.manifest.media_type.to_owned(),
                digest: digest.clone(),
                bytes: image.manifest.bytes.clone(),
            };
            registry.push_manifest(reference, &manifest).await?;
            Ok(Location::Registry(reference.at(digest)))
        }
    }
}
