//! The indexes of catalogs on the disk, by digest.
//!
//! ```text
//! CACHE/catalogs/HEX.index    one for each digest that was served
//! ```
//!
//! It is a cache: it may be deleted at any time, whole or in part, and whatever is damaged is
//! deleted and built anew by whoever notices. Several processes may share it; a file appears when
//! it is whole, and two that build the same digest write the same bytes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::index::{Builder, Error, Index};

const EXTENSION: &str = "index";
/// What a killed process may have left of an index, and how old it must be to be surely its.
const UNFINISHED: &str = ".index-";
const ABANDONED: std::time::Duration = std::time::Duration::from_hours(1);

/// The folder of all indexes.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens the store below a cache folder, which is made if need be.
    pub fn open(cache: &Path) -> Result<Self, Error> {
        let folder = cache.join("catalogs");
        fs_err::create_dir_all(&folder).map_err(Error::io(&folder))?;
        Ok(Self { folder })
    }

    /// The index of a digest, if it is there and whole.
    pub fn get(&self, digest: &str) -> Result<Option<Index>, Error> {
        let path = self.path(digest);
        match Index::open(&path) {
            Ok(index) => {
                used_now(&path);
                Ok(Some(index))
            }
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(Error::Corrupt { what, .. }) => {
                tracing::warn!(digest, what, "the index is damaged and is built anew");
                self.forget(digest)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The index of a digest; built from what `fill` adds when it is not there.
    pub fn get_or_build<E: From<Error>>(
        &self,
        digest: &str,
        fill: impl FnOnce(&mut Builder) -> Result<(), E>,
    ) -> Result<Index, E> {
        if let Some(index) = self.get(digest)? {
            return Ok(index);
        }
        let mut builder = Builder::new(&self.folder)?;
        fill(&mut builder)?;
        let path = self.path(digest);
        builder.finish(&path)?;
        Ok(Index::open(&path)?)
    }

    /// Deletes an index, for instance because a later read found it damaged.
    pub fn forget(&self, digest: &str) -> Result<(), Error> {
        let path = self.path(digest);
        match fs_err::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Deletes old indexes: all but those in use and the `history` newest others. Also what killed
    /// processes left.
    pub fn prune(&self, in_use: &BTreeSet<String>, history: usize) -> Result<(), Error> {
        let kept: BTreeSet<PathBuf> = in_use.iter().map(|digest| self.path(digest)).collect();
        let mut others = Vec::new();
        for entry in fs_err::read_dir(&self.folder).map_err(Error::io(&self.folder))? {
            let path = entry.map_err(Error::io(&self.folder))?.path();
            // Somebody else may prune too: what is gone needs no deleting.
            let Some(written) = path
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok()
            else {
                continue;
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(UNFINISHED) {
                if written.elapsed().is_ok_and(|age| age > ABANDONED) {
                    remove(&path)?;
                }
            } else if path
                .extension()
                .is_some_and(|extension| extension == EXTENSION)
                && !kept.contains(&path)
            {
                others.push((written, path));
            }
        }
        others.sort_by_key(|(written, _): &(SystemTime, _)| std::cmp::Reverse(*written));
        others
            .iter()
            .skip(history)
            .try_for_each(|(_, path)| remove(path))
    }

    /// A digest may come from anywhere; only its letters and digits make a name.
    fn path(&self, digest: &str) -> PathBuf {
        let name: String = digest
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        self.folder.join(name).with_extension(EXTENSION)
    }
}

/// What is used is not old. A folder that cannot be written to serves all the same.
fn used_now(path: &Path) {
    let file = fs_err::OpenOptions::new().append(true).open(path);
    let touched = file.and_then(|file| file.file().set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(%error, "the time of use is not kept");
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tempfile::TempDir;

    use super::Store;
    use crate::catalog::index::{Builder, Error};

    const CATALOG: &str = "
schema: olm.package
name: gopher
defaultChannel: alpha
---
schema: olm.channel
package: gopher
name: alpha
entries: [{name: gopher.v1.0.0}]
---
schema: olm.bundle
package: gopher
name: gopher.v1.0.0
image: example.com/gopher:1
properties: [{type: olm.package, value: {packageName: gopher, version: 1.0.0}}]
";

    fn fill(builder: &mut Builder) -> Result<(), Error> {
        builder.add_file("catalog.yaml", CATALOG.as_bytes())
    }

    fn names(store: &Store) -> Vec<String> {
        let entries = fs_err::read_dir(&store.folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_index_is_built_once() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(store.get("sha256:a").unwrap().is_none());
        store.get_or_build("sha256:a", fill).unwrap();
        let again = store.get_or_build("sha256:a", |_| -> Result<(), Error> {
            panic!("built twice")
        });
        assert_eq!(again.unwrap().packages().len(), 1);
    }

    #[test]
    fn what_is_used_is_not_old() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for digest in ["sha256:a", "sha256:b"] {
            store.get_or_build(digest, fill).unwrap();
            let file = fs_err::OpenOptions::new()
                .append(true)
                .open(store.path(digest))
                .unwrap();
            file.file()
                .set_modified(std::time::SystemTime::UNIX_EPOCH)
                .unwrap();
        }
        assert!(store.get("sha256:b").unwrap().is_some());
        store.prune(&BTreeSet::new(), 1).unwrap();
        assert!(store.get("sha256:a").unwrap().is_none());
        assert!(store.get("sha256:b").unwrap().is_some());
    }

    #[test]
    fn a_damaged_index_heals() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.get_or_build("sha256:a", fill).unwrap();
        fs_err::write(
            store.path("sha256:a"),
            b"rubbish that is long enough to have an end",
        )
        .unwrap();
        assert_eq!(
            store
                .get_or_build("sha256:a", fill)
                .unwrap()
                .packages()
                .len(),
            1
        );
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let failed = store.get_or_build("sha256:a", |builder| {
            fill(builder)?;
            Err(Error::Corrupt {
                path: "x".into(),
                what: "y".to_owned(),
            })
        });
        assert!(failed.is_err());
        assert_eq!(names(&store), Vec::<String>::new());
    }

    #[test]
    fn pruning_keeps_what_is_in_use_and_the_newest_others() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let now = std::time::SystemTime::now();
        for (age, digest) in (0..).zip(["e", "d", "c", "b", "a"]) {
            store.get_or_build(digest, fill).unwrap();
            let file = fs_err::File::options()
                .write(true)
                .open(store.path(digest))
                .unwrap();
            let written = now - std::time::Duration::from_secs(60 * age);
            file.file().set_modified(written).unwrap();
        }
        store.prune(&BTreeSet::from(["a".to_owned()]), 2).unwrap();
        assert_eq!(names(&store), ["a.index", "d.index", "e.index"]);
    }

    #[test]
    fn a_digest_cannot_lead_out_of_the_folder() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(
            store.path("../../etc/passwd").parent().unwrap(),
            store.folder
        );
    }
}
