//! From files to the blobs of an image.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Component, Path};

use flate2::GzBuilder;
use oci_distribution::manifest::{
    IMAGE_CONFIG_MEDIA_TYPE, IMAGE_LAYER_GZIP_MEDIA_TYPE, IMAGE_LAYER_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest,
};
use serde::Serialize;
use serde_json::json;

use super::client::RawManifest;
use super::manifest::{Platform, architecture};
use super::{Digest, Error};

/// A file to be put into an image.
#[derive(Debug, Clone)]
pub struct File {
    /// Where it goes, relative to the root of the image.
    pub path: String,
    /// Its permission bits.
    pub mode: u32,
    /// What is in it.
    pub content: Vec<u8>,
}

/// How a container of the image is started.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The program and its first arguments.
    pub entrypoint: Vec<String>,
    /// The user and group it runs as, `UID:GID`.
    pub user: String,
    /// Labels of the image.
    pub labels: BTreeMap<String, String>,
    /// The architecture in the words of OCI; this machine's if there is none. An image that holds
    /// data names one of its own accord, lest its digest depend on where it was built.
    pub architecture: Option<String>,
}

/// How the layers of an image are packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compression {
    /// What every registry and engine reads.
    #[default]
    Gzip,
    /// Smaller and faster, for those that are not too old.
    Zstd,
    /// Not at all.
    None,
}

/// oci-client has no name for it.
const IMAGE_LAYER_ZSTD_MEDIA_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+zstd";

/// Bytes with their digest and media type.
#[derive(Debug, Clone)]
pub struct Blob {
    /// What the bytes are.
    pub media_type: &'static str,
    /// `sha256:` and the digest in hexadecimal.
    pub digest: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An image: its manifest and the blobs that names.
#[derive(Debug, Clone)]
pub struct Image {
    /// The manifest; its digest is the image's.
    pub manifest: Blob,
    /// The configuration.
    pub config: Blob,
    /// The layers, lowest first.
    pub layers: Vec<Blob>,
}

impl Image {
    /// Packs files into an image of one layer. The same input gives the same digest: files are
    /// sorted, owned by root and dated 1970.
    pub fn build(files: Vec<File>, start: &Start) -> Result<Self, Error> {
        Self::build_layers(vec![files], start, Compression::Gzip)
    }

    /// Packs files into an image of several layers, lowest first: what changes rarely goes into a
    /// lower one, and does not have to travel again.
    pub fn build_layers(
        layers: Vec<Vec<File>>,
        start: &Start,
        compression: Compression,
    ) -> Result<Self, Error> {
        let mut diff_ids = Vec::new();
        let mut blobs = Vec::new();
        for mut files in layers {
            files.sort_by(|a, b| a.path.cmp(&b.path));
            let tarball = archive(&files)?;
            diff_ids.push(Digest::of(&tarball).to_string());
            blobs.push(compression.pack(tarball)?);
        }
        // Written out here, because the type that oci-client has for it orders labels at random.
        let config = json!({
            "architecture": start.architecture.as_deref().unwrap_or(architecture()),
            "os": "linux",
            "config": { "Entrypoint": start.entrypoint, "User": start.user, "Labels": start.labels },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        let config = Blob::json(IMAGE_CONFIG_MEDIA_TYPE, "configuration", &config)?;
        let manifest = OciImageManifest {
            schema_version: 2,
            media_type: Some(OCI_IMAGE_MEDIA_TYPE.to_owned()),
            config: config.descriptor(),
            layers: blobs.iter().map(Blob::descriptor).collect(),
            ..OciImageManifest::default()
        };
        let manifest = Blob::json(OCI_IMAGE_MEDIA_TYPE, "manifest", &manifest)?;
        Ok(Self {
            manifest,
            config,
            layers: blobs,
        })
    }

    /// Every blob of the image, those that are referred to before those that refer to them.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config, &self.manifest])
    }
}

/// Binds images for several platforms together. Each is pushed by its digest first.
pub fn index(images: &[(Platform, &Image)]) -> Result<RawManifest, Error> {
    let manifests: Vec<_> = images
        .iter()
        .map(|(platform, image)| {
            let mut entry = json!(image.manifest.descriptor());
            entry["platform"] = json!({ "os": platform.os, "architecture": platform.architecture });
            entry
        })
        .collect();
    let index = json!({
        "schemaVersion": 2,
        "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE,
        "manifests": manifests,
    });
    let blob = Blob::json(OCI_IMAGE_INDEX_MEDIA_TYPE, "index", &index)?;
    Ok(RawManifest {
        media_type: blob.media_type.to_owned(),
        digest: blob.digest.parse()?,
        bytes: blob.bytes,
    })
}

impl Compression {
    fn pack(self, tarball: Vec<u8>) -> Result<Blob, Error> {
        Ok(match self {
            Self::None => Blob::new(IMAGE_LAYER_MEDIA_TYPE, tarball),
            Self::Gzip => {
                let mut encoder = GzBuilder::new()
                    .mtime(0)
                    .write(Vec::new(), flate2::Compression::default());
                encoder.write_all(&tarball)?;
                Blob::new(IMAGE_LAYER_GZIP_MEDIA_TYPE, encoder.finish()?)
            }
            Self::Zstd => Blob::new(IMAGE_LAYER_ZSTD_MEDIA_TYPE, zstd::encode_all(&*tarball, 0)?),
        })
    }
}

impl Blob {
    fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            media_type,
            digest: Digest::of(&bytes).to_string(),
            bytes,
        }
    }

    fn json(
        media_type: &'static str,
        what: &'static str,
        value: &impl Serialize,
    ) -> Result<Self, Error> {
        let bytes = serde_json::to_vec(value).map_err(|source| Error::Encode { what, source })?;
        Ok(Self::new(media_type, bytes))
    }

    /// How others refer to this blob.
    pub fn descriptor(&self) -> OciDescriptor {
        OciDescriptor {
            media_type: self.media_type.to_owned(),
            digest: self.digest.clone(),
            // A blob is in memory, and memory is smaller than an i64.
            size: i64::try_from(self.bytes.len()).unwrap_or(i64::MAX),
            ..OciDescriptor::default()
        }
    }
}

fn archive(files: &[File]) -> Result<Vec<u8>, Error> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let path = Path::new(&file.path);
        if !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
            || file.path.is_empty()
        {
            return Err(Error::Path(file.path.clone()));
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(file.content.len() as u64);
        header.set_mode(file.mode);
        header.set_mtime(0);
        archive.append_data(&mut header, path, file.content.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::{Error, File, Image, Start};

    fn file(path: &str) -> File {
        File {
            path: path.to_owned(),
            mode: 0o755,
            content: path.as_bytes().to_vec(),
        }
    }

    #[test]
    fn the_same_files_in_any_order_make_the_same_image() {
        let labels = ["a", "b", "c", "d"].map(|key| (key.to_owned(), String::new()));
        let start = Start {
            labels: labels.into(),
            ..Start::default()
        };
        let one = Image::build(vec![file("a"), file("b/c")], &start).unwrap();
        let other = Image::build(vec![file("b/c"), file("a")], &start).unwrap();
        assert_eq!(one.manifest.digest, other.manifest.digest);
    }

    #[test]
    fn another_content_makes_another_image() {
        let one = Image::build(vec![file("a")], &Start::default()).unwrap();
        let other = Image::build(vec![file("b")], &Start::default()).unwrap();
        assert_ne!(one.manifest.digest, other.manifest.digest);
    }

    #[test]
    fn a_path_that_leads_out_of_the_image_is_refused() {
        for path in ["/etc/passwd", "../x", "a/../../x", ""] {
            let error = Image::build(vec![file(path)], &Start::default()).unwrap_err();
            assert!(matches!(error, Error::Path(_)), "{path}: {error}");
        }
    }
}
