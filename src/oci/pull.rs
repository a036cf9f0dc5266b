//! An image from wherever it is into the store, and its files out of there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use oci_distribution::manifest::OciImageManifest;
use serde::Deserialize;

use super::blob_store::BlobStore;
use super::client::{RawManifest, Registry, blocking};
use super::layer::{Layer, Limits, Sink, walk, walk_folders};
use super::layout::Layout;
use super::manifest::{Manifest, Platform, choose, descriptor};
use super::reference::LayoutVersion;
use super::{Digest, Error, ImageReference, Location, Reporter, Silent};

/// How an image is pulled.
#[derive(Clone)]
pub struct PullOptions {
    /// The client for images that are in a registry.
    pub registry: Registry,
    /// Which of several platforms is meant.
    pub platform: Platform,
    /// Who is told about progress.
    pub reporter: Arc<dyn Reporter>,
    /// How many layers travel at once.
    pub at_once: usize,
}

impl PullOptions {
    /// This machine's platform, silently.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            platform: Platform::default(),
            reporter: Arc::new(Silent),
            at_once: 4,
        }
    }
}

/// An image that is in the store.
#[derive(Debug, Clone)]
pub struct PulledImage {
    /// What its location names: the digest to compare with [`Registry::digest`].
    pub digest: Digest,
    /// The digest of the manifest for this platform; the same for an image of only one.
    pub manifest_digest: Digest,
    /// The manifest.
    pub manifest: OciImageManifest,
    /// The labels of its configuration.
    pub labels: BTreeMap<String, String>,
    /// The layers, lowest first.
    pub layers: Vec<PulledLayer>,
    store: BlobStore,
}

/// A layer that is in the store.
#[derive(Debug, Clone)]
pub struct PulledLayer {
    /// Its digest.
    pub digest: Digest,
    /// Its media type.
    pub media_type: String,
    /// Its size, compressed.
    pub size: u64,
    /// Its file. Read it through the store, which verifies it.
    pub path: PathBuf,
}

impl PulledImage {
    /// Everything in the store that belongs to the image, for [`BlobStore::prune`].
    pub fn blobs(&self) -> Vec<Digest> {
        let config = self.manifest.config.digest.parse().ok();
        [self.digest.clone(), self.manifest_digest.clone()]
            .into_iter()
            .chain(config)
            .chain(self.layers.iter().map(|layer| layer.digest.clone()))
            .collect()
    }

    fn lost(&self, layer: &PulledLayer) -> Error {
        Error::NotFound {
            reference: self.digest.to_string(),
            place: "the cache".into(),
            what: format!(
                "whole layer {} any more; pull the image again",
                layer.digest
            ),
        }
    }
}

/// How deep indexes may lie in each other.
const MAX_DEPTH: usize = 4;
/// How many layers an image may have: one more than container engines take.
const MAX_LAYERS: usize = 128;
/// How large a manifest or a configuration may be.
const MAX_DOCUMENT: u64 = 8 * 1024 * 1024;

/// Brings an image into the store. What is there already is verified and not fetched again; an
/// image that is named by its digest and is there whole needs no network at all.
pub async fn pull_image(
    location: &Location,
    options: &PullOptions,
    store: &BlobStore,
) -> Result<PulledImage, Error> {
    match location {
        Location::Layout(reference) => {
            let layout = Layout::open(&reference.folder)?;
            let pull = Pull {
                source: Source::Layout(layout),
                name: location.to_string(),
                options,
                store,
            };
            let version = reference.version.clone();
            pull.image(None, &version).await
        }
        Location::Registry(image) => {
            let mut places = options.registry.places(image)?;
            while let Some(place) = places.next() {
                let digest = place.digest().cloned();
                let pull = Pull {
                    name: place.to_string(),
                    source: Source::Registry(place),
                    options,
                    store,
                };
                match pull.image(digest, &LayoutVersion::Only).await {
                    Ok(image) => return Ok(image),
                    Err(error) => places.failed(error),
                }
            }
            Err(places.error())
        }
    }
}

/// An image that is whole in the store, without asking anybody; none if something of it is missing.
pub async fn kept_image(
    digest: &Digest,
    options: &PullOptions,
    store: &BlobStore,
) -> Result<Option<PulledImage>, Error> {
    let pull = Pull {
        source: Source::Store,
        name: digest.to_string(),
        options,
        store,
    };
    match pull.image(Some(digest.clone()), &LayoutVersion::Only).await {
        Ok(image) => Ok(Some(image)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Everything in the store that belongs to the image of a digest, as far as it is there, for
/// [`BlobStore::prune`]: of all its platforms.
pub fn blobs_of(image: &Digest, store: &BlobStore) -> Result<BTreeSet<Digest>, Error> {
    let mut found = BTreeSet::from([image.clone()]);
    let mut manifests = vec![image.clone()];
    while let Some(digest) = manifests.pop() {
        let Some(bytes) = store.read(&digest, MAX_DOCUMENT)? else {
            continue;
        };
        // What cannot be read names nothing.
        let named: Vec<String> = match Manifest::read(&bytes, "") {
            Ok(Manifest::Image(manifest)) => {
                let layers = manifest.layers.into_iter().map(|layer| layer.digest);
                layers.chain([manifest.config.digest]).collect()
            }
            Ok(Manifest::Index(index)) => {
                let listed = index.manifests.into_iter().map(|entry| entry.digest);
                let listed: Vec<String> = listed.collect();
                let new = listed.iter().filter_map(|digest| digest.parse().ok());
                manifests.extend(new.filter(|digest| !found.contains(digest)));
                listed
            }
            Err(_) => continue,
        };
        found.extend(
            named
                .iter()
                .filter_map(|digest| digest.parse::<Digest>().ok()),
        );
    }
    Ok(found)
}

/// The files below a folder of an image, by their path there. Works through all layers: call it
/// where blocking is allowed.
pub fn files_of(
    image: &PulledImage,
    folder: &str,
    limits: &Limits,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    collect(|sink| each_file(image, folder, limits, sink))
}

/// The files below any of these folders of an image, by their path with the folder's name. The layers
/// are worked through once for all folders: call it where blocking is allowed.
pub fn files_below(
    image: &PulledImage,
    folders: &[String],
    limits: &Limits,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    collect(|sink| read_layers(image, |layers| walk_folders(layers, folders, limits, sink)))
}

fn collect(
    each: impl FnOnce(&mut Sink<'_>) -> Result<(), Error>,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut files = BTreeMap::new();
    each(&mut |path, content, _| {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        files.insert(path.to_owned(), bytes);
        Ok(())
    })?;
    Ok(files)
}

/// Hands each file below a folder of an image to a sink, without holding any. What the sink got is
/// only good when this succeeds. When a layer got lost or damaged since it was pulled, the error
/// [is not found](Error::is_not_found), and another pull helps. Works through all layers: call it where blocking is allowed.
pub fn each_file(
    image: &PulledImage,
    folder: &str,
    limits: &Limits,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    read_layers(image, |layers| walk(layers, folder, limits, sink))
}

fn read_layers(
    image: &PulledImage,
    read: impl FnOnce(&[Layer<'_>]) -> Result<(), Error>,
) -> Result<(), Error> {
    let layers: Vec<Layer<'_>> = image
        .layers
        .iter()
        .map(|layer| Layer {
            digest: layer.digest.to_string(),
            media_type: layer.media_type.clone(),
            open: Box::new(|| match image.store.reader(&layer.digest)? {
                Some(reader) => Ok(Box::new(reader) as Box<dyn Read>),
                None => Err(image.lost(layer)),
            }),
        })
        .collect();
    read(&layers).map_err(|error| {
        // Whatever a damaged layer looked like, that it is damaged is what matters.
        let mut all = image.layers.iter();
        match all.find(|layer| !image.store.verify(&layer.digest).unwrap_or(true)) {
            Some(layer) => image.lost(layer),
            None => error,
        }
    })
}

enum Source {
    Registry(ImageReference),
    Layout(Layout),
    /// Only what is in the store already.
    Store,
}

struct Pull<'a> {
    source: Source,
    name: String,
    options: &'a PullOptions,
    store: &'a BlobStore,
}

impl Pull<'_> {
    async fn image(
        &self,
        digest: Option<Digest>,
        version: &LayoutVersion,
    ) -> Result<PulledImage, Error> {
        let mut raw = self.manifest(digest, version).await?;
        let top = raw.digest.clone();
        let manifest = 'found: {
            for _ in 0..MAX_DEPTH {
                match Manifest::read(&raw.bytes, &self.name)? {
                    Manifest::Image(manifest) => break 'found *manifest,
                    Manifest::Index(index) => {
                        let (digest, _) = choose(&index, &self.options.platform, &self.name)?;
                        let version = LayoutVersion::Digest(digest.clone());
                        raw = self.manifest(Some(digest), &version).await?;
                    }
                }
            }
            return Err(Error::BadManifest {
                reference: self.name.clone(),
                reason: "it leads through too many indexes".into(),
            });
        };
        let layers: Vec<PulledLayer> = manifest
            .layers
            .iter()
            .map(|layer| {
                let (digest, size) = descriptor(layer, &self.name)?;
                Ok(PulledLayer {
                    path: self.store.path(&digest),
                    media_type: layer.media_type.clone(),
                    digest,
                    size,
                })
            })
            .collect::<Result<_, Error>>()?;
        self.check_size(&layers)?;
        let config = descriptor(&manifest.config, &self.name)?;
        self.blob(&config.0, config.1).await?;
        let labels = self.labels(&config.0, &manifest.config.media_type)?;
        let wanted: BTreeMap<Digest, u64> = layers
            .iter()
            .map(|layer| (layer.digest.clone(), layer.size))
            .collect();
        // Not mapped within the stream: that would not be known to move between threads.
        let pulls: Vec<_> = wanted
            .iter()
            .map(|(digest, size)| self.blob(digest, *size))
            .collect();
        stream::iter(pulls)
            .buffer_unordered(self.options.at_once.max(1))
            .try_collect::<Vec<()>>()
            .await?;
        Ok(PulledImage {
            digest: top,
            manifest_digest: raw.digest,
            manifest,
            labels,
            layers,
            store: self.store.clone(),
        })
    }

    /// Refuses what nobody wants to wait for, before the first byte of it came.
    fn check_size(&self, layers: &[PulledLayer]) -> Result<(), Error> {
        if layers.len() > MAX_LAYERS {
            return Err(Error::BadManifest {
                reference: self.name.clone(),
                reason: format!(
                    "it has {} layers, and more than {MAX_LAYERS} are not taken",
                    layers.len()
                ),
            });
        }
        let sizes = layers.iter().map(|layer| layer.size);
        let total = sizes.fold(0, u64::saturating_add);
        let limit = self.options.registry.settings().image_bytes;
        if total > limit {
            return Err(Error::TooLarge {
                reference: self.name.clone(),
                what: format!("the image of {total} bytes in {} layers", layers.len()),
                limit,
            });
        }
        Ok(())
    }

    /// A manifest: from the store if its digest is known and it is there, otherwise from the
    /// source, and into the store.
    async fn manifest(
        &self,
        digest: Option<Digest>,
        version: &LayoutVersion,
    ) -> Result<RawManifest, Error> {
        if let Some(digest) = &digest
            && let Some(bytes) = self.store.read(digest, MAX_DOCUMENT)?
        {
            return Ok(RawManifest {
                media_type: String::new(),
                digest: digest.clone(),
                bytes,
            });
        }
        let raw = match &self.source {
            Source::Store => return Err(self.not_kept("manifest")),
            Source::Layout(layout) => layout.manifest(version)?,
            Source::Registry(image) => {
                let image = match digest {
                    Some(digest) => image.at(digest),
                    None => image.clone(),
                };
                self.options.registry.manifest_at(&image).await?
            }
        };
        let (store, digest, bytes) = (self.store.clone(), raw.digest.clone(), raw.bytes.clone());
        blocking(move || store.put_as(&digest, &bytes)).await?;
        Ok(raw)
    }

    async fn blob(&self, digest: &Digest, size: u64) -> Result<(), Error> {
        let (store, wanted) = (self.store.clone(), digest.clone());
        let reporter = self.options.reporter.as_ref();
        if blocking(move || store.verify(&wanted)).await? {
            reporter.progress(digest, size, size);
            return Ok(());
        }
        match &self.source {
            Source::Registry(image) => {
                let registry = &self.options.registry;
                registry
                    .pull_blob(image, digest, size, self.store, reporter)
                    .await?;
            }
            Source::Layout(layout) => {
                let (store, path) = (self.store.clone(), layout.blob(digest));
                let (name, copied) = (self.name.clone(), digest.clone());
                blocking(move || copy(&path, &copied, &name, &store)).await?;
                reporter.progress(digest, size, size);
            }
            Source::Store => return Err(self.not_kept(&format!("blob {digest}"))),
        }
        Ok(())
    }

    fn not_kept(&self, what: &str) -> Error {
        Error::NotFound {
            reference: self.name.clone(),
            place: "the cache".into(),
            what: what.to_owned(),
        }
    }

    fn labels(&self, digest: &Digest, media_type: &str) -> Result<BTreeMap<String, String>, Error> {
        #[derive(Deserialize)]
        struct Configuration {
            config: Option<Container>,
        }
        #[derive(Deserialize)]
        struct Container {
            #[serde(rename = "Labels")]
            labels: Option<BTreeMap<String, String>>,
        }
        // Artifacts that are no containers have configurations of other kinds.
        if !media_type.contains("image.config") && !media_type.contains("container.image") {
            return Ok(BTreeMap::new());
        }
        let bytes = self.store.read(digest, MAX_DOCUMENT)?.unwrap_or_default();
        let configuration: Configuration =
            serde_json::from_slice(&bytes).map_err(|error| Error::BadManifest {
                reference: self.name.clone(),
                reason: format!("its configuration makes no sense: {error}"),
            })?;
        Ok(configuration
            .config
            .and_then(|container| container.labels)
            .unwrap_or_default())
    }
}

fn copy(path: &Path, digest: &Digest, name: &str, store: &BlobStore) -> Result<(), Error> {
    let mut file = match fs_err::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NotFound {
                reference: name.to_owned(),
                place: "the folder".into(),
                what: format!("blob {digest}"),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let mut download = store.download(digest)?;
    download.restart()?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        download.write(&buffer[..count])?;
    }
    download.finish(&format!("the file {}", path.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oci::client::Settings;

    /// Pulls an image with layers of these sizes, none of which exists, out of an OCI layout.
    async fn pull_layers(sizes: &[u64]) -> Error {
        let folder = tempfile::tempdir().unwrap();
        let blobs = folder.path().join("layout/blobs/sha256");
        fs_err::create_dir_all(&blobs).unwrap();
        let put = |bytes: &[u8]| {
            let digest = Digest::of(bytes);
            fs_err::write(blobs.join(digest.hex()), bytes).unwrap();
            json!({"digest": digest.to_string(), "size": bytes.len()})
        };
        let with_type = |mut descriptor: serde_json::Value, kind: &str| {
            descriptor["mediaType"] = format!("application/vnd.oci.image.{kind}").into();
            descriptor
        };
        let config = with_type(put(b"{}"), "config.v1+json");
        let layers = sizes.iter().enumerate().map(|(number, size)| {
            let digest = Digest::of(number.to_string().as_bytes()).to_string();
            with_type(json!({"digest": digest, "size": size}), "layer.v1.tar+gzip")
        });
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": layers.collect::<Vec<_>>(),
        });
        let manifest = with_type(put(manifest.to_string().as_bytes()), "manifest.v1+json");
        let layout = folder.path().join("layout");
        let index = json!({"schemaVersion": 2, "manifests": [manifest]});
        fs_err::write(layout.join("index.json"), index.to_string()).unwrap();
        let version = json!({"imageLayoutVersion": "1.0.0"});
        fs_err::write(layout.join("oci-layout"), version.to_string()).unwrap();
        let options = PullOptions::new(Registry::new(Settings {
            image_bytes: 1000,
            ..Settings::default()
        }));
        let store = BlobStore::open(folder.path().join("cache")).unwrap();
        let location = format!("oci:{}", layout.display()).parse().unwrap();
        pull_image(&location, &options, &store).await.unwrap_err()
    }

    #[tokio::test]
    async fn an_image_that_is_too_large_is_refused_before_any_of_it_is_fetched() {
        let error = pull_layers(&[600, 401]).await.to_string();
        assert!(
            error.contains("the image of 1001 bytes in 2 layers is larger than the 1000 bytes"),
            "{error}"
        );
        let error = pull_layers(&[u64::MAX >> 1, u64::MAX >> 1, 5]).await;
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        // This one would be fetched, were it there.
        let error = pull_layers(&[600, 400]).await;
        assert!(error.is_not_found(), "{error}");
    }

    #[tokio::test]
    async fn an_image_of_too_many_layers_is_refused_before_any_of_it_is_fetched() {
        let error = pull_layers(&[1; MAX_LAYERS + 1]).await.to_string();
        assert!(
            error.contains("it has 129 layers, and more than 128 are not taken"),
            "{error}"
        );
    }
}
