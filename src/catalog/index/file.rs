//! A file of checked pieces with a footer: the container of an index.
//!
//! ```text
//! MAGIC │ piece │ piece │ … │ footer │ its length (u32) │ its checksum (u32) │ MAGIC
//! piece = checksum (u32) + bytes          a Span leads to the bytes
//! ```
//!
//! The footer comes last, so that a file whose writer was killed has none.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::FileExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Error, Span};

/// Changes with every change of the records, and of what goes into them: an index of another version is built anew.
const MAGIC: &[u8; 8] = b"chanidx5";
const CHECKSUM: u64 = 4;
const TRAILER: usize = 16;

/// Pieces on their way into a new file.
pub(super) struct FileWriter {
    path: PathBuf,
    file: BufWriter<fs_err::File>,
    offset: u64,
}

impl FileWriter {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let file = fs_err::File::create(path).map_err(Error::io(path))?;
        let mut writer = Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 20, file),
            offset: 0,
        };
        writer.write(MAGIC)?;
        Ok(writer)
    }

    /// Appends a piece.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<Span, Error> {
        let length = u32::try_from(bytes.len()).map_err(|_| Error::Io {
            path: self.path.clone(),
            source: std::io::Error::other("a single blob of more than 4 GiB"),
        })?;
        self.write(&crc32fast::hash(bytes).to_le_bytes())?;
        let span = Span {
            offset: self.offset,
            length,
        };
        self.write(bytes)?;
        Ok(span)
    }

    /// Appends a value.
    pub(super) fn append_value(&mut self, value: &impl Serialize) -> Result<Span, Error> {
        let bytes = encode(&self.path, value)?;
        self.append(&bytes)
    }

    /// Writes the footer, and waits until everything is on the disk.
    pub(super) fn finish(mut self, footer: &impl Serialize) -> Result<(), Error> {
        let bytes = encode(&self.path, footer)?;
        self.write(&bytes)?;
        // The footer holds a few spans and the name of the catalog.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.write(&length.to_le_bytes())?;
        self.write(&crc32fast::hash(&bytes).to_le_bytes())?;
        self.write(MAGIC)?;
        let io = Error::io(&self.path);
        let file = self
            .file
            .into_inner()
            .map_err(|error| io(error.into_error()))?;
        file.sync_all().map_err(Error::io(&self.path))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

fn encode(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(value)
        .map_err(|error| Error::io(path)(std::io::Error::other(format!("cannot encode: {error}"))))
}

/// A finished file.
#[derive(Debug)]
pub(super) struct FileReader {
    path: PathBuf,
    file: fs_err::File,
    length: u64,
}

impl FileReader {
    /// Opens a file and reads its footer.
    pub(super) fn open<F: DeserializeOwned>(path: &Path) -> Result<(Self, F), Error> {
        let file = fs_err::File::open(path).map_err(Error::io(path))?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let reader = Self {
            path: path.to_owned(),
            file,
            length,
        };
        let footer = reader.footer()?;
        Ok((reader, footer))
    }

    fn footer<F: DeserializeOwned>(&self) -> Result<F, Error> {
        let end = self
            .length
            .checked_sub(TRAILER as u64)
            .ok_or_else(|| self.corrupt("it is too short"))?;
        let trailer = self.bytes(end, TRAILER)?;
        let (numbers, magic) = trailer.split_at(TRAILER - MAGIC.len());
        if magic != MAGIC {
            return Err(self.corrupt("it has no end, or was written by another version"));
        }
        let length = number(numbers, 0);
        let start = end
            .checked_sub(u64::from(length))
            .ok_or_else(|| self.corrupt("the footer's length"))?;
        let bytes = self.bytes(start, length as usize)?;
        self.check(&bytes, number(numbers, 4))?;
        self.decode(&bytes)
    }

    /// Reads a piece.
    pub(super) fn read(&self, span: Span) -> Result<Vec<u8>, Error> {
        let start = span
            .offset
            .checked_sub(CHECKSUM)
            .ok_or_else(|| self.corrupt("a piece before the start"))?;
        let mut bytes = self.bytes(start, span.length as usize + 4)?;
        let checksum = number(&bytes, 0);
        bytes.drain(..4);
        self.check(&bytes, checksum)?;
        Ok(bytes)
    }

    /// Reads a value.
    pub(super) fn read_value<T: DeserializeOwned>(&self, span: Span) -> Result<T, Error> {
        self.decode(&self.read(span)?)
    }

    fn bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        // Before memory is taken: a length out of a damaged file may be anything.
        if offset
            .checked_add(length as u64)
            .is_none_or(|end| end > self.length)
        {
            return Err(self.corrupt("a piece behind the end"));
        }
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::UnexpectedEof => self.corrupt("it was cut short"),
                _ => Error::io(&self.path)(source),
            })?;
        Ok(bytes)
    }

    fn check(&self, bytes: &[u8], checksum: u32) -> Result<(), Error> {
        if crc32fast::hash(bytes) == checksum {
            return Ok(());
        }
        Err(self.corrupt("a checksum"))
    }

    fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Error> {
        postcard::from_bytes(bytes).map_err(|error| self.corrupt(&error.to_string()))
    }

    pub(super) fn corrupt(&self, what: &str) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            what: what.to_owned(),
        }
    }
}

/// A number of four bytes; zero where there are none, which no checksum forgives.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}
