//! OCI images: how they are made, where they go, and how they come back.
//!
//! [`image`] turns files into the blobs of an image, without a container engine and always into
//! the same bytes. [`client`] speaks to registries, with the credentials of [`auth`] and by way of
//! [`mirror`]s; [`layout`] keeps images in a folder. Whatever comes from either goes into a
//! [`blob_store`] first, and [`layer`] reads the files out of it. Most callers need two functions:
//!
//! ```no_run
//! # async fn example() -> Result<(), chandler::oci::Error> {
//! use chandler::oci::blob_store::BlobStore;
//! use chandler::oci::client::{Registry, Settings};
//! use chandler::oci::layer::Limits;
//! use chandler::oci::pull::{PullOptions, files_of, pull_image};
//!
//! let store = BlobStore::open("cache")?;
//! let options = PullOptions::new(Registry::new(Settings::default()));
//! let image = pull_image(&"quay.io/operatorhubio/catalog:latest".parse()?, &options, &store).await?;
//! let files = files_of(&image, "/configs", &Limits::default())?;
//! # Ok(())
//! # }
//! ```

pub mod auth;
pub mod blob_store;
pub mod client;
mod digest;
mod error;
pub mod image;
pub mod layer;
pub mod layout;
pub mod manifest;
pub mod mirror;
pub mod pull;
pub mod push;
pub mod reference;

pub use digest::{Digest, Hasher};
pub use error::Error;
pub use reference::{ImageReference, Location};

/// Is told how far the transfer of a blob is. Whoever shows it decides how often.
pub trait Reporter: Send + Sync {
    /// So many of a blob's bytes are there.
    fn progress(&self, digest: &Digest, done: u64, total: u64);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn progress(&self, _digest: &Digest, _done: u64, _total: u64) {}
}
