//! Operator bundles: one version of an operator, as its author publishes it.

pub mod property;

pub use property::{Property, RelatedImage};

use std::collections::BTreeMap;

/// The files of a bundle or a catalog by their path below its root, wherever they come from.
pub type FileTree = BTreeMap<String, Vec<u8>>;
