//! Where catalogs come from.
//!
//! A [`Source`] is what a person names on the command line or a CatalogSource in a cluster;
//! [`Sources::open`] turns it into an [`Index`], from the cache where that has it.

pub mod bundle_tree;
pub mod config_map;
pub mod grpc;
mod open;

use std::path::{Path, PathBuf};

pub use open::{Opened, Sources, index_digest};

use super::index;
use crate::oci::{self, Location};

/// The label of a catalog image that names the folder with its files.
pub const CONFIGS_LABEL: &str = "operators.operatorframework.io.index.configs.v1";
/// The label of an old catalog image that holds a database instead.
pub const DATABASE_LABEL: &str = "operators.operatorframework.io.index.database.v1";
/// The label of an image that is a bundle, not a catalog.
pub const BUNDLE_LABEL: &str = "operators.operatorframework.io.bundle.mediatype.v1";

/// Anything that holds a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A folder of file-based catalogs.
    Folder(PathBuf),
    /// A folder of bundles in OperatorHub.io's layout.
    Bundles(PathBuf),
    /// A catalog image, in a registry or in an OCI layout.
    Image(Location),
    /// A registry that speaks gRPC, `HOST:PORT`.
    Remote(String),
}

impl Source {
    /// Understands what a person typed: a folder, `oci:DIR[:TAG]`, `grpc://HOST:PORT` or the
    /// reference of an image. What looks like a path is one, so that a typing error is not taken
    /// for the name of an image.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if let Some(address) = text.strip_prefix("grpc://") {
            return Ok(Self::Remote(address.to_owned()));
        }
        let path = Path::new(text);
        if path.is_dir() {
            return Ok(Self::of_folder(path));
        }
        if text.starts_with(['.', '/']) || path.exists() {
            return Err(Error::NoFolder(path.to_owned()));
        }
        Ok(Self::Image(text.parse()?))
    }

    fn of_folder(path: &Path) -> Self {
        if path.join("oci-layout").is_file()
            && let Ok(location) = format!("oci:{}", path.display()).parse()
        {
            return Self::Image(location);
        }
        if bundle_tree::holds_bundles(path) {
            return Self::Bundles(path.to_owned());
        }
        Self::Folder(path.to_owned())
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path) | Self::Bundles(path) => path.display().fmt(f),
            Self::Image(location) => location.fmt(f),
            Self::Remote(address) => write!(f, "grpc://{address}"),
        }
    }
}

/// Why a catalog could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What looks like a path leads nowhere.
    #[error("{} is not a folder", .0.display())]
    NoFolder(PathBuf),
    /// A folder of bundles cannot be read.
    #[error(transparent)]
    Bundles(#[from] bundle_tree::Error),
    /// A ConfigMap is no catalog.
    #[error(transparent)]
    ConfigMap(#[from] config_map::Error),
    /// A folder cannot be read; the message names it.
    #[error(transparent)]
    Folder(#[from] std::io::Error),
    /// The image cannot be had.
    #[error(transparent)]
    Image(#[from] oci::Error),
    /// The index cannot be read or written.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// The remote registry cannot be read.
    #[error(transparent)]
    Remote(#[from] grpc::Error),
    /// An image of the kind that was made before file-based catalogs.
    #[error(
        "{0} holds its catalog as an SQLite database, which is deprecated and not read here: \
         `opm migrate {0} DIR` turns it into a file-based catalog, `chandler catalog push DIR REFERENCE` publishes that"
    )]
    Database(String),
    /// An image of another kind.
    #[error("{0} is a bundle, not a catalog: `chandler catalog add` puts it into one")]
    Bundle(String),
    /// An image of which nothing is known.
    #[error("{image} is no catalog: it has no label `{CONFIGS_LABEL}` and no files in /configs")]
    NoCatalog {
        /// The image.
        image: String,
    },
    /// A task was ended.
    #[error("the work was interrupted: {0}")]
    Interrupted(String),
}
