//! The compact form of a catalog: written once per digest, opened in milliseconds, read by offset.
//!
//! A catalog of seven thousand bundles is two hundred megabytes of JSON. Of that the resolver, the
//! browse API and the search need a few percent at a time, and so only the cards of the packages
//! ([`Summary`]) and two small tables live in memory; everything else is read when it is asked for.
//!
//! ```text
//! blobs ─ Builder::add ─▶ spool ─ Builder::finish ─▶ one file:  blobs │ packages │ tables │ footer
//!                        (as they come, any order)   (a package at a time, in parallel)
//!                                                          └── Index::open reads the footer
//! ```
//!
//! The file is a cache: every piece of it carries a checksum, and whoever gets
//! [`Error::Corrupt`] deletes the file and builds it anew. It is never mapped into memory, because
//! a file that is cut short under a mapping kills the process.

mod build;
mod file;
mod head;
mod package;
mod read;
mod record;
mod spool;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use build::{Builder, Problem};
pub use read::{Index, LeftOut};
pub use record::{
    BrokenChannel, BundleRecord, ChannelRecord, EntryRecord, InstallModes, PackageRecord, Span,
    Summary,
};

/// What can go wrong with an index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not what was written: cut short, overwritten, or of another version.
    #[error("the index {path} is damaged ({what}); delete it, it is built anew")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
