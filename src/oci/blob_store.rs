//! Blobs on disk, by their digest.
//!
//! ```text
//! blobs/sha256/HEX     whole blobs
//! partial/sha256-HEX   a download that is under way, or was interrupted (.1, .2: others of the same)
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

/// How many may download the same blob at the same time.
const SLOTS: usize = 64;

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
        for slot in 0..SLOTS {
            let path = self.partial(digest, slot);
            if let Some(file) = lock(&path)? {
                return Download::resume(self, digest, file, path);
            }
        }
        Err(Error::Io(io::Error::other(format!(
            "{SLOTS} downloads of {digest} are under way already"
        ))))
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
            // A lock means that somebody is at it.
            if let Some(_locked) = lock(path)? {
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

    fn partial(&self, digest: &Digest, slot: usize) -> PathBuf {
        let name = format!("{}-{}", digest.algorithm(), digest.hex());
        self.partials().join(match slot {
            0 => name,
            slot => format!("{name}.{slot}"),
        })
    }

    /// Removes what others left of a blob that is whole now.
    fn remove_leftovers(&self, digest: &Digest) -> Result<(), Error> {
        for slot in 0..SLOTS {
            let path = self.partial(digest, slot);
            if path.exists()
                && let Some(_locked) = lock(&path)?
            {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

/// Opens a partial file and locks it; none when somebody else has.
fn lock(path: &Path) -> Result<Option<File>, Error> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.file().try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // Between opening and locking, somebody may have finished or removed it.
        let open = file.metadata()?;
        let same = fs::metadata(path)
            .is_ok_and(|named| (open.dev(), open.ino()) == (named.dev(), named.ino()));
        if same {
            return Ok(Some(file));
        }
    }
}

/// A blob that is being fetched. Dropping it keeps what was written, to go on with later.
#[derive(Debug)]
pub struct Download {
    file: File,
    path: PathBuf,
    store: BlobStore,
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
            store: store.clone(),
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
        let target = self.store.path(&self.digest);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(&self.path, &target)?;
        self.store.remove_leftovers(&self.digest)?;
        Ok(target)
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
mod tests;
