//! File-based catalogs: a catalog as a stream of JSON or YAML blobs.
//!
//! ```text
//! folder ─ walk ─▶ files ─ frame ─▶ one blob's text ─ decode ─▶ Meta ─▶ Catalog ─ validate ─▶ served
//! ```
//!
//! - [`read`] takes one file apart, blob by blob: no more than one blob is in memory at a time.
//! - [`load_dir`] and [`load_tree`] gather a folder into a [`Catalog`], and what could not be read
//!   into a list beside it.
//! - [`validate()`](validate::validate) says what is wrong with a package, [`Loaded::check`] leaves the broken packages out
//!   and keeps the others.
//! - [`write_json`] and [`write_yaml`] write a catalog as `opm render` does.
//!
//! Keys are matched without regard to case, as in Go. Two keys of a blob that differ only in case
//! are an error.

pub mod blob;
mod catalog;
mod decode;
mod error;
mod frame;
mod load;
mod read;
pub mod validate;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use blob::{
    Bundle, Channel, DeprecatedReference, Deprecation, Deprecations, Entry, Icon, Meta, Other,
    Package,
};
pub use catalog::{Catalog, PackageBlobs};
pub(crate) use decode::Fields;
pub use decode::decode;
pub use error::{Error, Origin};
pub use frame::MAX_BLOB;
pub use load::{Checked, Loaded, load_dir, load_tree};
pub(crate) use read::RawSink;
pub use read::{Blob, Blobs, read};
pub use validate::{Problem, Rule, validate};
pub(crate) use walk::Rules;
pub use walk::{INDEX_IGNORE, open, walk};
pub use write::{meta_to_json, meta_to_value, write_json, write_yaml};
