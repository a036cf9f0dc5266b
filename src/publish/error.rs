//! What can go wrong with publishing.

use std::io;
use std::path::PathBuf;

use super::Refusal;
use crate::catalog::{fbc, source, template};
use crate::{bundle, oci};

/// What can go wrong with publishing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files or an image that should be a bundle are none.
    #[error("{what} is no bundle: {reason}")]
    Bundle {
        /// The folder or image.
        what: String,
        /// Why not.
        reason: bundle::Error,
    },
    /// An image that should be a bundle is something else.
    #[error("{0} is no bundle: it has no folders `manifests` and `metadata`")]
    NotABundle(String),
    /// A folder that should be a catalog holds nothing of one.
    #[error("{} holds no catalog", .0.display())]
    NoCatalog(PathBuf),
    /// An image could not be read, made or moved.
    #[error(transparent)]
    Image(#[from] oci::Error),
    /// A catalog could not be opened.
    #[error(transparent)]
    Source(#[from] source::Error),
    /// A template could not be read or expanded.
    #[error(transparent)]
    Template(#[from] template::Error),
    /// Parts of a catalog could not be read.
    #[error("{what}: {} of it cannot be read", count(errors))]
    Unreadable {
        /// The catalog.
        what: String,
        /// Why.
        errors: Vec<fbc::Error>,
    },
    /// The bundle cannot be added to the catalog.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something is where something else should be written.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A name, version or option makes no sense.
    #[error("{0}")]
    Input(String),
    /// A layout is a target only by its tag.
    #[error("`{0}` is no place to push to: name a tag, not a digest")]
    Target(String),
    /// A file could not be read or written; the message names it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Work in the background was ended.
    #[error("the work was interrupted: {0}")]
    Interrupted(String),
}

fn count(errors: &[fbc::Error]) -> String {
    match errors {
        [only] => format!("a part ({only})"),
        [first, ..] => format!("{} parts (the first: {first})", errors.len()),
        [] => "nothing".to_owned(),
    }
}
