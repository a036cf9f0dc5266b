//! Blobs as they come, kept in a temporary file until their package is complete.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use fs_err::os::unix::fs::FileExt as _;

use super::{Error, Span};

/// What a blob is, as far as it must be known to put it to its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Package,
    Channel,
    Bundle,
    Deprecations,
    Other,
}

/// The blobs of a catalog, by package, on the disk.
pub(super) struct Spool {
    path: std::path::PathBuf,
    file: BufWriter<fs_err::File>,
    offset: u64,
    packages: BTreeMap<String, Vec<(Kind, Span)>>,
}

impl Spool {
    /// A spool in a file without a name: it is gone with this process, however that ends.
    pub(super) fn new(folder: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(folder).map_err(Error::io(folder))?;
        Ok(Self {
            path: folder.to_owned(),
            file: BufWriter::with_capacity(1 << 20, fs_err::File::from_parts(file, folder)),
            offset: 0,
            packages: BTreeMap::new(),
        })
    }

    pub(super) fn add(&mut self, package: &str, kind: Kind, blob: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(blob.len()).map_err(|_| {
            Error::io(&self.path)(std::io::Error::other("a blob of more than 4 GiB"))
        })?;
        self.file.write_all(blob).map_err(Error::io(&self.path))?;
        let span = Span {
            offset: self.offset,
            length,
        };
        self.offset += u64::from(length);
        match self.packages.get_mut(package) {
            Some(blobs) => blobs.push((kind, span)),
            None => {
                self.packages.insert(package.to_owned(), vec![(kind, span)]);
            }
        }
        Ok(())
    }

    /// Forgets all blobs.
    pub(super) fn clear(&mut self) {
        // What was written stays where it is, and nothing leads there.
        self.packages.clear();
    }

    /// Ends the writing.
    pub(super) fn finish(self) -> Result<Spooled, Error> {
        let io = Error::io(&self.path);
        let file = self
            .file
            .into_inner()
            .map_err(|error| io(error.into_error()))?;
        Ok(Spooled {
            file,
            packages: self.packages.into_iter().collect(),
        })
    }
}

/// A complete spool.
pub(super) struct Spooled {
    file: fs_err::File,
    /// The packages by name, each with its blobs in the order in which they came.
    pub(super) packages: Vec<(String, Vec<(Kind, Span)>)>,
}

impl Spooled {
    pub(super) fn read(&self, span: Span) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; span.length as usize];
        self.file
            .read_exact_at(&mut bytes, span.offset)
            .map_err(Error::io(self.file.path()))?;
        Ok(bytes)
    }
}
