//! Images in a folder, as the OCI image layout specification has it.
//!
//! ```text
//! oci-layout      says that this is one
//! index.json      names the manifests, with their tags
//! blobs/sha256/   everything else, by digest
//! ```

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use oci_distribution::manifest::{ImageIndexEntry, OCI_IMAGE_INDEX_MEDIA_TYPE, OciImageIndex};
use serde_json::json;

use super::client::RawManifest;
use super::image::Image;
use super::reference::LayoutVersion;
use super::{Digest, Error};

/// The annotation that holds a tag.
const TAG: &str = "org.opencontainers.image.ref.name";
/// How large a document of a layout may be.
const MAX_DOCUMENT: u64 = 8 * 1024 * 1024;

/// A folder with images.
#[derive(Debug, Clone)]
pub struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// A layout that is there.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let layout = Self {
            folder: folder.into(),
        };
        if !layout.folder.join("oci-layout").is_file() {
            return Err(layout.missing("file `oci-layout`, so it is no OCI layout"));
        }
        Ok(layout)
    }

    /// A layout that is made if it is not there.
    pub fn create(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let layout = Self {
            folder: folder.into(),
        };
        fs::create_dir_all(layout.folder.join("blobs").join("sha256"))?;
        let index = json!({
            "schemaVersion": 2,
            "mediaType": OCI_IMAGE_INDEX_MEDIA_TYPE,
            "manifests": [],
        });
        layout.write_new("index.json", index.to_string().as_bytes())?;
        // Last: who finds this file finds a whole layout.
        let marker = json!({ "imageLayoutVersion": "1.0.0" });
        layout.write_new("oci-layout", marker.to_string().as_bytes())?;
        Ok(layout)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its index.
    pub fn index(&self) -> Result<OciImageIndex, Error> {
        let path = self.folder.join("index.json");
        let text = self.read_small(&path, "index.json")?;
        serde_json::from_slice(&text).map_err(|error| Error::BadManifest {
            reference: self.to_string(),
            reason: format!("index.json makes no sense: {error}"),
        })
    }

    /// The tags of its images.
    pub fn tags(&self) -> Result<Vec<String>, Error> {
        let index = self.index()?;
        Ok(index
            .manifests
            .iter()
            .filter_map(tag_of)
            .map(str::to_owned)
            .collect())
    }

    /// The manifest, or index, of one of its images.
    pub fn manifest(&self, version: &LayoutVersion) -> Result<RawManifest, Error> {
        let index = self.index()?;
        let entry = match version {
            LayoutVersion::Digest(digest) => {
                let entry = index
                    .manifests
                    .iter()
                    .find(|entry| entry.digest == digest.as_str());
                let media_type = entry.map(|entry| entry.media_type.clone());
                return self.raw(digest, media_type.unwrap_or_default());
            }
            LayoutVersion::Tag(tag) => index
                .manifests
                .iter()
                // The last one, as a tag that is given anew moves.
                .rfind(|entry| tag_of(entry) == Some(tag))
                .ok_or_else(|| self.missing(&format!("tag `{tag}`{}", among(&index))))?,
            LayoutVersion::Only => match index.manifests.as_slice() {
                [] => return Err(self.missing("image")),
                [only, rest @ ..] if rest.iter().all(|entry| entry.digest == only.digest) => only,
                _ => {
                    return Err(Error::Reference {
                        reference: self.to_string(),
                        reason: format!("it has several images, say which{}", among(&index)),
                    });
                }
            },
        };
        self.raw(&entry.digest.parse()?, entry.media_type.clone())
    }

    /// The file of a blob, whether it is there or not.
    pub fn blob(&self, digest: &Digest) -> PathBuf {
        digest.file_in(&self.folder.join("blobs"))
    }

    /// Puts an image into the layout, under a tag. What has that tag loses it.
    pub fn put(&self, image: &Image, tag: Option<&str>) -> Result<(), Error> {
        for blob in image.blobs() {
            self.put_blob(&blob.bytes)?;
        }
        let manifest = RawManifest {
            media_type: image.manifest.media_type.to_owned(),
            digest: image.manifest.digest.parse()?,
            bytes: image.manifest.bytes.clone(),
        };
        self.put_manifest(&manifest, tag)
    }

    /// Puts a blob into the layout and gives its digest.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<Digest, Error> {
        let digest = Digest::of(bytes);
        let path = self.blob(&digest);
        if fs::metadata(&path).is_ok_and(|there| there.len() == bytes.len() as u64) {
            return Ok(digest);
        }
        self.replace(&path, bytes)?;
        Ok(digest)
    }

    /// Puts a manifest into the layout, whose blobs are there, and into its index, under a tag.
    pub fn put_manifest(&self, manifest: &RawManifest, tag: Option<&str>) -> Result<(), Error> {
        self.replace(&self.blob(&manifest.digest), &manifest.bytes)?;
        // One writer at a time; the system lets go of the lock when a process dies.
        let marker = fs::File::open(self.folder.join("oci-layout"))?;
        marker.file().lock()?;
        let mut index = self.index()?;
        index.manifests.retain(|entry| {
            let same_tag = tag.is_some() && tag_of(entry) == tag;
            let same = entry.digest == manifest.digest.as_str() && tag_of(entry) == tag;
            !same_tag && !same
        });
        index.manifests.push(ImageIndexEntry {
            media_type: manifest.media_type.clone(),
            digest: manifest.digest.to_string(),
            size: i64::try_from(manifest.bytes.len()).unwrap_or(i64::MAX),
            platform: None,
            annotations: tag.map(|tag| [(TAG.to_owned(), tag.to_owned())].into()),
            artifact_type: None,
        });
        let text = serde_json::to_vec(&index).map_err(|source| Error::Encode {
            what: "index",
            source,
        })?;
        self.replace(&self.folder.join("index.json"), &text)
    }

    fn raw(&self, digest: &Digest, media_type: String) -> Result<RawManifest, Error> {
        let bytes = self.read_small(&self.blob(digest), &format!("manifest {digest}"))?;
        let mut hasher = digest.hasher();
        hasher.update(&bytes);
        let actual = hasher.finish();
        if actual != *digest {
            return Err(Error::DigestMismatch {
                reference: self.to_string(),
                what: "a manifest".into(),
                expected: digest.to_string(),
                actual: actual.to_string(),
            });
        }
        Ok(RawManifest {
            media_type,
            digest: digest.clone(),
            bytes,
        })
    }

    fn read_small(&self, path: &Path, what: &str) -> Result<Vec<u8>, Error> {
        let size = match fs::metadata(path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.missing(what));
            }
            Err(error) => return Err(error.into()),
        };
        if size > MAX_DOCUMENT {
            return Err(Error::TooLarge {
                reference: self.to_string(),
                what: what.to_owned(),
                limit: MAX_DOCUMENT,
            });
        }
        Ok(fs::read(path)?)
    }

    /// Writes a file unless it is there. Of several who do, the first wins.
    fn write_new(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(name);
        match self.written(&path, content)?.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.error.into()),
        }
    }

    /// Writes a file so that nobody ever sees half of it.
    fn replace(&self, path: &Path, content: &[u8]) -> Result<(), Error> {
        self.written(path, content)?
            .persist(path)
            .map_err(|error| error.error)?;
        Ok(())
    }

    /// A file beside its place, which it gets by a rename.
    fn written(&self, path: &Path, content: &[u8]) -> Result<tempfile::NamedTempFile, Error> {
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        io::Write::write_all(&mut file, content)?;
        file.as_file().sync_data()?;
        // Temporary files are their owner's only; an image is for all who may see the folder.
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(permissions)?;
        Ok(file)
    }

    fn missing(&self, what: &str) -> Error {
        Error::NotFound {
            reference: self.to_string(),
            place: "the folder".into(),
            what: what.to_owned(),
        }
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "oci:{}", self.folder.display())
    }
}

/// Writes an image into a folder as its only content, under a tag.
pub fn write(folder: &Path, tag: &str, image: &Image) -> Result<(), Error> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Layout::create(folder)?.put(image, Some(tag))
}

fn tag_of(entry: &ImageIndexEntry) -> Option<&str> {
    entry.annotations.as_ref()?.get(TAG).map(String::as_str)
}

fn among(index: &OciImageIndex) -> String {
    let tags: Vec<&str> = index.manifests.iter().filter_map(tag_of).collect();
    if tags.is_empty() {
        String::new()
    } else {
        format!(" (there is {})", tags.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, Layout, LayoutVersion};
    use crate::oci::Error;
    use crate::oci::image::{File, Start};

    fn image(content: &str) -> Image {
        let file = File {
            path: "f".into(),
            mode: 0o644,
            content: content.into(),
        };
        Image::build(vec![file], &Start::default()).unwrap()
    }

    fn tag(tag: &str) -> LayoutVersion {
        LayoutVersion::Tag(tag.into())
    }

    #[test]
    fn several_images_are_found_by_tag_and_by_digest() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        let (one, two) = (image("one"), image("two"));
        layout.put(&one, Some("1")).unwrap();
        layout.put(&two, Some("2")).unwrap();
        let layout = Layout::open(folder.path()).unwrap();
        for (version, image) in [("1", &one), ("2", &two)] {
            let found = layout.manifest(&tag(version)).unwrap();
            assert_eq!(found.bytes, image.manifest.bytes);
            let by_digest = LayoutVersion::Digest(found.digest);
            assert_eq!(layout.manifest(&by_digest).unwrap().bytes, found.bytes);
        }
        let error = layout.manifest(&LayoutVersion::Only).unwrap_err();
        assert!(error.to_string().contains("there is 1, 2"), "{error}");
        let error = layout.manifest(&tag("3")).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }

    #[test]
    fn a_tag_that_is_given_anew_moves() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        layout.put(&image("one"), Some("1")).unwrap();
        layout.put(&image("two"), Some("1")).unwrap();
        let found = layout.manifest(&LayoutVersion::Only).unwrap();
        assert_eq!(found.bytes, image("two").manifest.bytes);
    }

    #[test]
    fn the_only_image_needs_no_tag() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        assert!(layout.manifest(&LayoutVersion::Only).is_err());
        layout.put(&image("one"), None).unwrap();
        layout.put(&image("one"), Some("also")).unwrap();
        assert!(layout.manifest(&LayoutVersion::Only).is_ok());
    }

    #[test]
    fn a_damaged_manifest_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        let image = image("one");
        layout.put(&image, Some("1")).unwrap();
        let digest = image.manifest.digest.parse().unwrap();
        fs_err::write(layout.blob(&digest), b"{}").unwrap();
        let error = layout.manifest(&tag("1")).unwrap_err();
        assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
    }

    #[test]
    fn a_folder_that_is_no_layout_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Layout::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("no OCI layout"), "{error}");
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = folder.path();
                scope.spawn(move || {
                    let text = number.to_string();
                    let layout = Layout::create(path).unwrap();
                    layout.put(&image(&text), Some(&text)).unwrap();
                });
            }
        });
        let mut tags = Layout::open(folder.path()).unwrap().tags().unwrap();
        tags.sort();
        assert_eq!(tags, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    }
}
