//! From a source to an index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::grpc::Remote;
use super::{BUNDLE_LABEL, CONFIGS_LABEL, DATABASE_LABEL, Error, Source, bundle_tree, config_map};
use crate::catalog::fbc::{self, INDEX_IGNORE, Meta, Rules};
use crate::catalog::index::{Builder, Index};
use crate::catalog::store::Store;
use crate::oci::blob_store::BlobStore;
use crate::oci::layer::Limits;
use crate::oci::pull::{PullOptions, PulledImage, each_file, kept_image, pull_image};
use crate::oci::{Digest, Hasher, Location};

/// Where the files of a catalog are in its image, unless the image says otherwise.
const CONFIGS: &str = "configs";

/// How many indexes are kept beside those that are in use.
const HISTORY: usize = 32;

/// Opens catalogs, with a cache.
#[derive(Clone)]
pub struct Sources {
    store: Store,
    blobs: BlobStore,
    options: PullOptions,
    limits: Limits,
    in_use: BTreeSet<String>,
}

/// A catalog that can be asked.
#[derive(Debug)]
pub struct Opened {
    /// What was opened: the digest of an image, or a fingerprint of files.
    pub digest: String,
    /// Its content.
    pub index: Index,
}

impl Sources {
    /// Opens catalogs with a cache in this folder, which may be deleted at any time.
    pub fn new(cache: &Path, options: PullOptions) -> Result<Self, Error> {
        Ok(Self {
            store: Store::open(cache)?,
            blobs: BlobStore::open(cache)?,
            options,
            limits: Limits::default(),
            in_use: BTreeSet::new(),
        })
    }

    /// The same, which leaves the indexes of these digests alone when it clears away old ones.
    #[must_use]
    pub fn keeping(mut self, in_use: BTreeSet<String>) -> Self {
        self.in_use = in_use;
        self
    }

    /// The same with images in a folder of their own, apart from those of others.
    pub fn with_images_in(mut self, folder: &Path) -> Result<Self, Error> {
        self.blobs = BlobStore::open(folder)?;
        Ok(self)
    }

    /// Where images are kept.
    pub fn blobs(&self) -> &BlobStore {
        &self.blobs
    }

    /// How images are pulled.
    pub fn options(&self) -> &PullOptions {
        &self.options
    }

    /// Opens a catalog.
    pub async fn open(&self, source: &Source) -> Result<Opened, Error> {
        match source {
            Source::Folder(path) => {
                let digest = fingerprint("files", path)?;
                let path = path.clone();
                self.build(digest, move |builder| add_folder(builder, &path))
                    .await
            }
            Source::Bundles(path) => {
                let digest = fingerprint("bundles", path)?;
                let path = path.clone();
                self.build(digest, move |builder| add_bundles(builder, &path))
                    .await
            }
            Source::Image(location) => self.open_image(location).await,
            Source::Remote(address) => {
                let blobs = Remote::connect(address).await?.blobs().await?;
                let digest = digest_of(&blobs);
                self.build(digest, move |builder| {
                    Ok(blobs.iter().try_for_each(|blob| builder.add(blob))?)
                })
                .await
            }
        }
    }

    /// The index of a catalog that was opened before, if it is still in the cache.
    pub fn cached(&self, digest: &str) -> Result<Option<Index>, Error> {
        Ok(self.store.get(digest)?)
    }

    /// The index of a catalog image that was opened before: also made anew of the image, if only that is
    /// still in the cache. Nobody is asked.
    pub async fn kept(
        &self,
        image: &Digest,
        folder: Option<&str>,
    ) -> Result<Option<Opened>, Error> {
        let digest = index_digest(image, folder);
        let (store, wanted) = (self.store.clone(), digest.clone());
        let found = tokio::task::spawn_blocking(move || store.get(&wanted));
        let found = found
            .await
            .map_err(|error| Error::Interrupted(error.to_string()))??;
        if let Some(index) = found {
            return Ok(Some(Opened { digest, index }));
        }
        let Some(image) = kept_image(image, &self.options, &self.blobs).await? else {
            return Ok(None);
        };
        let name = digest.clone();
        self.build_image(image, folder, &name).await.map(Some)
    }

    /// Opens a catalog image. Its index is enough: layers are pulled only when that is missing.
    pub async fn open_image(&self, location: &Location) -> Result<Opened, Error> {
        self.open_image_folder(location, None).await
    }

    /// Opens a catalog image whose files are in a certain folder of it, whatever it says itself.
    pub async fn open_image_folder(
        &self,
        location: &Location,
        folder: Option<&str>,
    ) -> Result<Opened, Error> {
        let image = pull_image(location, &self.options, &self.blobs).await?;
        self.build_image(image, folder, &location.to_string()).await
    }

    async fn build_image(
        &self,
        image: PulledImage,
        folder: Option<&str>,
        name: &str,
    ) -> Result<Opened, Error> {
        let digest = index_digest(&image.digest, folder);
        let folder = match folder {
            Some(folder) => folder.trim_matches('/').to_owned(),
            None => configs_folder(&image, name)?,
        };
        let name = name.to_owned();
        let limits = self.limits.clone();
        self.build(digest, move |builder| {
            let files = add_image(builder, &image, &folder, &limits)?;
            if files == 0 {
                return Err(Error::NoCatalog { image: name });
            }
            Ok(())
        })
        .await
    }

    /// Opens a catalog in the data of a ConfigMap.
    pub async fn open_config_map(&self, data: BTreeMap<String, String>) -> Result<Opened, Error> {
        let mut hasher = Hasher::default();
        for (key, value) in &data {
            for text in [key, value] {
                hasher.update(&text.len().to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        let digest = format!("configmap-{}", hasher.finish().hex());
        self.build(digest, move |builder| {
            let loaded = config_map::load(&data)?;
            for blob in &loaded.blobs {
                builder.add(blob)?;
            }
            for (package, problem) in loaded.problems {
                builder.report(&package, problem);
            }
            Ok(())
        })
        .await
    }

    /// Building takes seconds of computing: not on a thread that others wait for.
    async fn build(
        &self,
        digest: String,
        fill: impl FnOnce(&mut Builder) -> Result<(), Error> + Send + 'static,
    ) -> Result<Opened, Error> {
        let (store, mut in_use) = (self.store.clone(), self.in_use.clone());
        let built = tokio::task::spawn_blocking(move || {
            let index = store.get_or_build(&digest, fill)?;
            in_use.insert(digest.clone());
            // Old ones are kept for a while, for history and for those who go back and forth.
            store.prune(&in_use, HISTORY)?;
            Ok(Opened { digest, index })
        });
        built
            .await
            .map_err(|error| Error::Interrupted(error.to_string()))?
    }
}

/// What the index of an image is called: an image can be read in more than one way.
pub fn index_digest(image: &Digest, folder: Option<&str>) -> String {
    match folder.map(|folder| folder.trim_matches('/')) {
        None => image.to_string(),
        Some(folder) => format!("{image}-{}", Digest::of(folder.as_bytes()).hex()),
    }
}

fn configs_folder(image: &PulledImage, name: &str) -> Result<String, Error> {
    if let Some(folder) = image.labels.get(CONFIGS_LABEL) {
        return Ok(folder.trim_start_matches('/').to_owned());
    }
    if image.labels.contains_key(DATABASE_LABEL) {
        return Err(Error::Database(name.to_owned()));
    }
    if image.labels.contains_key(BUNDLE_LABEL) {
        return Err(Error::Bundle(name.to_owned()));
    }
    Ok(CONFIGS.to_owned())
}

/// Adds the files of an image, and says how many there were.
///
/// Layers are read once, from the top down, and so a file may be met before the `.indexignore`
/// that leaves it out, or before the second one of its name that counts instead. When that
/// happened, everything is read again by somebody who knows.
fn add_image(
    builder: &mut Builder,
    image: &PulledImage,
    folder: &str,
    limits: &Limits,
) -> Result<usize, Error> {
    let mut known = Seen::default();
    loop {
        let mut seen = Seen::default();
        let mut added = 0;
        let mut failed = None;
        each_file(image, folder, limits, &mut |path, content, _| {
            let path = PathBuf::from(path);
            let time = seen.meet(&path);
            if path.file_name().is_some_and(|name| name == INDEX_IGNORE) {
                let mut text = String::new();
                content.read_to_string(&mut text)?;
                seen.ignores.insert(path, text);
            } else if known.counts(&path, time) && failed.is_none() {
                failed = builder.add_file(&path.display().to_string(), content).err();
                added += 1;
            }
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if seen.agrees_with(&known) {
            return Ok(added);
        }
        builder.clear();
        known = seen.with_rules();
    }
}

/// What was met in an image.
#[derive(Default)]
struct Seen {
    times: BTreeMap<PathBuf, usize>,
    ignores: BTreeMap<PathBuf, String>,
    rules: Rules,
}

impl Seen {
    fn meet(&mut self, path: &Path) -> usize {
        let times = self.times.entry(path.to_owned()).or_default();
        *times += 1;
        *times
    }

    /// Whether a file that is met for the so-many-th time is part of the catalog. Nothing is known
    /// in the first round, and everything seems to be.
    fn counts(&self, path: &Path, time: usize) -> bool {
        self.times.get(path).is_none_or(|times| *times == time) && !self.rules.leave_out(path)
    }

    fn with_rules(mut self) -> Self {
        for (path, text) in &self.ignores {
            self.rules.add(path, text);
        }
        self
    }

    /// Whether the round that ended here was read with all that was to be known.
    fn agrees_with(&self, known: &Self) -> bool {
        let first = known.times.is_empty();
        !first || (self.ignores.is_empty() && self.times.values().all(|times| *times == 1))
    }
}

fn add_folder(builder: &mut Builder, path: &Path) -> Result<(), Error> {
    for file in fbc::walk(path)? {
        match fbc::open(&path.join(&file)) {
            Ok(content) => builder.add_file(&file.display().to_string(), content)?,
            Err(error) => builder.report("", error.to_string()),
        }
    }
    Ok(())
}

fn add_bundles(builder: &mut Builder, path: &Path) -> Result<(), Error> {
    let loaded = bundle_tree::load(path)?;
    for package in loaded.packages {
        builder.add(&Meta::Package(package.package))?;
        for channel in package.channels {
            builder.add(&Meta::Channel(channel))?;
        }
        for bundle in package.bundles {
            builder.add(&Meta::Bundle(bundle))?;
        }
    }
    for problem in loaded.problems {
        if problem.left_out {
            // The rest of the package is sound without it.
            builder.report("", format!("{}: {}", problem.path.display(), problem.why));
        }
    }
    Ok(())
}

/// Names, sizes and times of files: what changes when a file does. Reading two hundred megabytes
/// to find out that nothing changed would cost more than it is worth.
fn fingerprint(kind: &str, root: &Path) -> Result<String, Error> {
    let mut hasher = Hasher::default();
    hasher.update(root.as_os_str().as_encoded_bytes());
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs_err::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(fs_err::DirEntry::path).collect();
        paths.sort();
        for path in paths {
            hasher.update(path.as_os_str().as_encoded_bytes());
            // A file that is gone by now is noticed when it is read.
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            let written = metadata
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            hasher.update(&metadata.len().to_le_bytes());
            hasher.update(&written.unwrap_or_default().as_nanos().to_le_bytes());
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(format!("{kind}-{}", hasher.finish().hex()))
}

fn digest_of(blobs: &[Meta]) -> String {
    let mut hasher = Hasher::default();
    for blob in blobs {
        hasher.update(fbc::meta_to_value(blob).to_string().as_bytes());
    }
    format!("remote-{}", hasher.finish().hex())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::client::{Registry, Settings};

    fn data(name: &str) -> BTreeMap<String, String> {
        let blobs = format!("- packageName: {name}\n");
        [("packages".to_owned(), blobs)].into()
    }

    #[tokio::test]
    async fn what_is_in_use_stays_however_many_catalogs_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let options = PullOptions::new(Registry::new(Settings::default()));
        let mut sources = Sources::new(folder.path(), options).unwrap();
        let mut in_use = BTreeSet::new();
        for number in 0..HISTORY + 8 {
            let opened = sources.open_config_map(data(&format!("p{number}"))).await;
            in_use.insert(opened.unwrap().digest);
            sources = sources.keeping(in_use.clone());
        }
        for digest in &in_use {
            assert!(
                sources.cached(digest).unwrap().is_some(),
                "{digest} is gone"
            );
        }
        sources = sources.keeping(BTreeSet::new());
        sources.open_config_map(data("last")).await.unwrap();
        let left = in_use
            .iter()
            .filter(|it| sources.cached(it).unwrap().is_some());
        assert_eq!(left.count(), HISTORY);
    }
}
