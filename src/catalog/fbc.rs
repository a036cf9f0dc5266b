//! File-based catalogs: a catalog as a stream of JSON or YAML blobs.

pub mod blob;

pub use blob::{
    Bundle, Channel, DeprecatedReference, Deprecation, Deprecations, Entry, Icon, Meta, Other,
    Package,
};
