//! Blobs on disk, by their digest.
//!
//! ```text
//! blobs/sha256/HEX     whole blobs
//! partial/sha256-HEX   a download that is under way, or was interrupted
//! ```
//!
//! Two processes may share a store, and either may be killed at any point: a blob gets its name
//! only when its digest was checked, by a rename; whoever downloads holds a lock on the partial
//! file, which the system releases with the process. And what a disk did to a blob since is
//! noticed: blobs are verified whenever they are read, and a damaged one is removed, so that it is
//! fetched again. Everything here can be deleted at any time.

use std::collections::BTreeSet;
use std::fs::TryLockError;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fs_err::{self as fs, File, OpenOptions};

use super::{Digest, Error, Hasher};

/// A folder of blobs.
#[derive(Debug, Clone)]
pub struct BlobStore {
    root: PathBuf,
}

/// What [`BlobStore::prune`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many files.
    pub files: usize,
    /// How many bytes.
    pub bytes: u64,
}

impl BlobStore {
    /// The store in a folder, which is made if it is not there.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let store = Self { root: root.into() };
        fs::create_dir_all(store.blobs().join("sha256"))?;
        fs::create_dir_all(store.partials())?;
        Ok(store)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a blob, whether it is there or not.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        digest.file_in(&self.blobs())
    }

    /// The size of a blob that is there. Its content is not looked at.
    pub fn size(&self, digest: &Digest) -> Option<u64> {
        fs::metadata(self.path(digest))
            .ok()
            .filter(std::fs::Metadata::is_file)
            .map(|metadata| metadata.len())
    }

    /// Opens a blob for streaming, if it is there. Its digest is verified when its end is
    /// reached: then a damaged blob is removed and the last read fails.
    pub fn reader(&self, digest: &Digest) -> Result<Option<BlobReader>, Error> {
        let path = self.path(digest);
        let Some(file) = open_if_there(&path)? else {
            return Ok(None);
        };
        Ok(Some(BlobReader {
            file,
            path,
            expected: digest.clone(),
            hasher: Some(digest.hasher()),
        }))
    }

    /// Reads a small blob whole. A damaged one is removed and counts as absent.
    pub fn read(&self, digest: &Digest, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        if self.size(digest).is_some_and(|size| size > limit) {
            return Err(Error::TooLarge {
                reference: digest.to_string(),
                what: "a blob of the cache".into(),
                limit,
            });
        }
        let Some(mut reader) = self.reader(digest)? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        match reader.read_to_end(&mut content) {
            Ok(_) => Ok(Some(content)),
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a blob is there and whole; reads all of it. A damaged one is removed. One that is
    /// whole counts as used now, so that [`Self::prune`] spares it.
    pub fn verify(&self, digest: &Digest) -> Result<bool, Error> {
        let Some(mut reader) = self.reader(digest)? else {
            return Ok(false);
        };
        match io::copy(&mut reader, &mut io::sink()) {
            Ok(_) => {
                // Only a hint for pruning; a file that another user owns cannot be touched.
                let _ = reader.file.file().set_modified(SystemTime::now());
                Ok(true)
            }
            Err(error) if is_damage(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a small blob into the store and gives its digest.
    pub fn put(&self, content: &[u8]) -> Result<Digest, Error> {
        let digest = Digest::of(content);
        self.put_as(&digest, content)?;
        Ok(digest)
    }

    /// Puts a small blob of a known digest into the store.
    pub fn put_as(&self, digest: &Digest, content: &[u8]) -> Result<(), Error> {
        if !self.verify(digest)? {
            let mut download = self.download(digest)?;
            download.restart()?;
            download.write(content)?;
            download.finish("a blob")?;
        }
        Ok(())
    }

    /// Begins a download, or goes on with one that was interrupted. When somebody else is
    /// downloading the same blob, this one gets a file of its own.
    pub fn download(&self, digest: &Digest) -> Result<Download, Error> {
        let path = self.partial(digest);
        for _ in 0..100 {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            match file.file().try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // Between opening and locking, somebody may have finished it under its own name.
            let same = fs::metadata(&path).is_ok_and(|named| {
                file.metadata()
                    .is_ok_and(|open| (open.dev(), open.ino()) == (named.dev(), named.ino()))
            });
            if same {
                return Download::resume(self, digest, file, path);
            }
        }
        let (file, path) = tempfile::Builder::new()
            .prefix(&format!("{}.", partial_name(digest)))
            .tempfile_in(self.partials())?
            .keep()
            .map_err(|error| error.error)?;
        let file = File::from_parts(file, &path);
        // A name nobody else knows: the lock only tells pruning that it is in use.
        let _ = file.file().try_lock();
        Download::resume(self, digest, file, path)
    }

    /// Removes every blob that is neither kept nor was used within `unused_for`, and downloads
    /// that nobody went on with for that long. The grace protects what another process is just
    /// fetching.
    pub fn prune(&self, keep: &BTreeSet<Digest>, unused_for: Duration) -> Result<Pruned, Error> {
        let mut pruned = Pruned::default();
        for algorithm in ["sha256", "sha512"] {
            let folder = self.blobs().join(algorithm);
            each_file(&folder, |path, name| {
                let digest: Option<Digest> = format!("{algorithm}:{name}").parse().ok();
                if digest.is_none_or(|digest| !keep.contains(&digest)) {
                    remove_if_old(path, unused_for, &mut pruned)?;
                }
                Ok(())
            })?;
        }
        each_file(&self.partials(), |path, _| {
            let Some(file) = open_if_there(path)? else {
                return Ok(());
            };
            // A lock means that somebody is at it.
            if file.file().try_lock().is_ok() {
                remove_if_old(path, unused_for, &mut pruned)?;
            }
            Ok(())
        })?;
        Ok(pruned)
    }

    fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    fn partials(&self) -> PathBuf {
        self.root.join("partial")
    }

    fn partial(&self, digest: &Digest) -> PathBuf {
        self.partials().join(partial_name(digest))
    }
}

fn partial_name(digest: &Digest) -> String {
    format!("{}-{}", digest.algorithm(), digest.hex())
}

/// A blob that is being fetched. Dropping it keeps what was written, to go on with later.
#[derive(Debug)]
pub struct Download {
    file: File,
    path: PathBuf,
    target: PathBuf,
    digest: Digest,
    hasher: Hasher,
    written: u64,
}

impl Download {
    fn resume(
        store: &BlobStore,
        digest: &Digest,
        file: File,
        path: PathBuf,
    ) -> Result<Self, Error> {
        let mut download = Self {
            file,
            path,
            target: store.path(digest),
            digest: digest.clone(),
            hasher: digest.hasher(),
            written: 0,
        };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = download.file.read(&mut buffer)?;
            if count == 0 {
                return Ok(download);
            }
            download.hasher.update(&buffer[..count]);
            download.written += count as u64;
        }
    }

    /// How many bytes are there already.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what was written.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.file.file().set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = self.digest.hasher();
        self.written = 0;
        Ok(())
    }

    /// Checks the digest and gives the blob its place in the store. When it is not what it should
    /// be, nothing of it is kept.
    pub fn finish(self, what: &str) -> Result<PathBuf, Error> {
        let actual = self.hasher.finish();
        if actual != self.digest {
            fs::remove_file(&self.path)?;
            return Err(Error::DigestMismatch {
                reference: self.digest.to_string(),
                what: what.to_owned(),
                expected: self.digest.to_string(),
                actual: actual.to_string(),
            });
        }
        // A file that is whole before it has its name stays so when the power goes. The folder
        // is not synchronised: a name that got lost only means to fetch again.
        self.file.file().sync_data()?;
        if let Some(folder) = self.target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(&self.path, &self.target)?;
        Ok(self.target)
    }

    /// Removes what was written.
    pub fn discard(self) -> Result<(), Error> {
        Ok(fs::remove_file(&self.path)?)
    }
}

/// A blob that is verified while it is read.
#[derive(Debug)]
pub struct BlobReader {
    file: File,
    path: PathBuf,
    expected: Digest,
    hasher: Option<Hasher>,
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if count > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
        } else if !buffer.is_empty()
            && let Some(hasher) = self.hasher.take()
        {
            let actual = hasher.finish();
            if actual != self.expected {
                // Whether or not it can be removed, its content is not used.
                let _ = fs::remove_file(&self.path);
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    Damaged {
                        expected: self.expected.clone(),
                        actual,
                    },
                ));
            }
        }
        Ok(count)
    }
}

/// Why reading a blob fails when its content is not what its name says.
#[derive(Debug, thiserror::Error)]
#[error("the cached blob {expected} was damaged (it is {actual} now) and is removed; try again")]
struct Damaged {
    expected: Digest,
    actual: Digest,
}

fn is_damage(error: &io::Error) -> bool {
    let inner = error.get_ref();
    inner
        .and_then(|inner| inner.downcast_ref::<Damaged>())
        .is_some()
}

fn open_if_there(path: &Path) -> Result<Option<File>, Error> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn each_file(
    folder: &Path,
    mut each: impl FnMut(&Path, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let entry = entry?;
        each(&entry.path(), &entry.file_name().to_string_lossy())?;
    }
    Ok(())
}

fn remove_if_old(path: &Path, unused_for: Duration, pruned: &mut Pruned) -> Result<(), Error> {
    // Somebody else may have removed it meanwhile, which is just as well.
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    // A time in the future is not old.
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    if age < unused_for {
        return Ok(());
    }
    match fs::remove_file(path) {
        Ok(()) => {
            pruned.files += 1;
            pruned.bytes += metadata.len();
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read as _;
    use std::time::Duration;

    use super::{BlobStore, Digest};
    use crate::oci::Error;

    fn store() -> (tempfile::TempDir, BlobStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = BlobStore::open(folder.path()).unwrap();
        (folder, store)
    }

    #[test]
    fn what_is_put_is_read_back_by_its_digest() {
        let (_folder, store) = store();
        let digest = store.put(b"content").unwrap();
        assert_eq!(store.read(&digest, 100).unwrap().unwrap(), b"content");
        assert_eq!(store.size(&digest), Some(7));
        assert!(store.verify(&digest).unwrap());
        assert!(store.read(&Digest::of(b"other"), 100).unwrap().is_none());
        assert!(matches!(
            store.read(&digest, 6).unwrap_err(),
            Error::TooLarge { .. }
        ));
    }

    #[test]
    fn an_interrupted_download_goes_on_where_it_was() {
        let (_folder, store) = store();
        let digest = Digest::of(b"first second");
        let mut download = store.download(&digest).unwrap();
        download.write(b"first ").unwrap();
        drop(download);
        let mut download = store.download(&digest).unwrap();
        assert_eq!(download.written(), 6);
        download.write(b"second").unwrap();
        download.finish("a blob").unwrap();
        assert_eq!(store.read(&digest, 100).unwrap().unwrap(), b"first second");
        assert_eq!(store.download(&digest).unwrap().written(), 0);
    }

    #[test]
    fn a_download_with_the_wrong_content_is_refused_and_not_kept() {
        let (_folder, store) = store();
        let digest = Digest::of(b"right");
        let mut download = store.download(&digest).unwrap();
        download.write(b"wrong").unwrap();
        let error = download.finish("a blob").unwrap_err();
        assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
        assert_eq!(store.size(&digest), None);
        assert_eq!(store.download(&digest).unwrap().written(), 0);
    }

    #[test]
    fn a_damaged_blob_is_removed_and_counts_as_absent() {
        let (_folder, store) = store();
        for damage in [&b"contenT"[..], b"cont", b"content and more", b""] {
            let digest = store.put(b"content").unwrap();
            fs_err::write(store.path(&digest), damage).unwrap();
            assert!(store.read(&digest, 100).unwrap().is_none());
            assert_eq!(store.size(&digest), None);
        }
        let digest = store.put(b"content").unwrap();
        fs_err::write(store.path(&digest), b"damaged").unwrap();
        assert!(!store.verify(&digest).unwrap());
        let digest = store.put(b"content").unwrap();
        fs_err::write(store.path(&digest), b"damaged").unwrap();
        let mut reader = store.reader(&digest).unwrap().unwrap();
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
        assert_eq!(store.size(&digest), None);
    }

    #[test]
    fn two_who_download_the_same_do_not_disturb_each_other() {
        let (_folder, store) = store();
        let digest = Digest::of(b"content");
        let mut one = store.download(&digest).unwrap();
        let mut other = store.download(&digest).unwrap();
        one.write(b"con").unwrap();
        other.write(b"content").unwrap();
        other.finish("a blob").unwrap();
        one.write(b"tent").unwrap();
        one.finish("a blob").unwrap();
        assert_eq!(store.read(&digest, 100).unwrap().unwrap(), b"content");
    }

    #[test]
    fn pruning_spares_what_is_kept_or_young_or_under_way() {
        let (_folder, store) = store();
        let kept = store.put(b"kept").unwrap();
        let gone = store.put(b"gone").unwrap();
        let under_way = store.download(&Digest::of(b"x")).unwrap();
        drop(store.download(&Digest::of(b"y")).unwrap());
        let keep = BTreeSet::from([kept.clone()]);

        let pruned = store.prune(&keep, Duration::from_hours(1)).unwrap();
        assert_eq!(pruned.files, 0);
        let pruned = store.prune(&keep, Duration::ZERO).unwrap();
        assert_eq!((pruned.files, pruned.bytes), (2, 4));
        assert_eq!(store.size(&gone), None);
        assert_eq!(store.size(&kept), Some(4));
        assert!(under_way.path.exists());
    }
}
