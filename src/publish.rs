//! From the files of an author to something that others can install, and back.
//!
//! ```text
//! init ─▶ folder ─ image ─▶ Image ─ push ─▶ registry or OCI layout ─ pull ─▶ folder
//!            │                                    │
//!            └──────────── render ◀───────────────┘
//!                            │
//!                           add ─▶ a catalog with one more bundle
//! ```
//!
//! - [`bundle_image`] and [`catalog_image`] make images that opm, skopeo and OLM read, without a
//!   container engine and always into the same bytes; [`push()`] and [`pull_bundle`] move them.
//! - [`Renderer`] turns whatever holds a catalog or a bundle into the blobs of a file-based
//!   catalog.
//! - [`add()`] puts a bundle into a channel, and refuses what would break the upgrade graph.
//! - [`init`] writes the first files of a bundle or of a package.

mod add;
mod edit;
mod error;
mod image;
pub mod init;
mod pull;
mod push;
mod render;
mod template;
mod write;

pub use add::{Added, NewBundle, Placement, Refusal, add};
pub use error::Error;
pub use image::{bundle_image, catalog_image};
pub use pull::{PulledBundle, bundle_of, pull_bundle, write_bundle};
pub use push::push;
pub use render::{Input, Problem, Rendered, Renderer};

/// Is told what is being done, beside the bytes that [`Reporter`](crate::oci::Reporter) is told of.
pub trait Progress: Send + Sync {
    /// Work on something begins: an image is pulled, a bundle is rendered.
    fn begins(&self, what: &str);
}

impl Progress for crate::oci::Silent {
    fn begins(&self, _what: &str) {}
}
