//! Operator bundles: one version of an operator, as its author publishes it.
//!
//! ```text
//! folder ─ files ─▶ FileTree ─ load ─▶ Bundle ─ render ─▶ Rendered, what a catalog says of it
//!                                        └────── lint ──▶ findings
//! ```
//!
//! The format is loose, and what is out there looser still. What a bundle means is therefore what
//! it means to `opm`: [`load`] takes what that tool takes and refuses what that tool refuses. What
//! looks like a mistake but does no harm becomes a [`Warning`].

mod apis;
mod error;
mod files;
mod go;
pub mod lint;
mod load;
mod manifests;
mod metadata;
pub mod package_manifest;
pub mod property;
mod render;

#[cfg(test)]
mod tests;

pub use error::{Error, Warning};
pub use files::{Limits, read_dir, read_dir_within};
pub use load::{load, load_with_labels};
pub use metadata::labels;
pub use property::{Property, RelatedImage};
pub use render::{Form, Rendered, render, render_as};

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::cluster_service_version::ClusterServiceVersionSpec;
use crate::api::gvk::GroupVersionKind;

/// The files of a bundle or a catalog by their path below its root, wherever they come from.
pub type FileTree = BTreeMap<String, Vec<u8>>;

/// One version of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Its name, which is that of its `ClusterServiceVersion`.
    pub name: String,
    /// The package it belongs to.
    pub package: String,
    /// Its version, as it was written; may be empty.
    pub version: String,
    /// Which packaging of that version it is; usually empty.
    pub release: String,
    /// The channels it wants to be in.
    pub channels: Vec<String>,
    /// The channel that it wants to be its package's default; may be empty.
    pub default_channel: String,
    /// All annotations of the bundle, or the labels of its image.
    pub annotations: BTreeMap<String, String>,
    /// The operator.
    pub csv: Csv,
    /// What else is in the bundle, in the order of the files.
    pub objects: Vec<Object>,
    /// What it needs, beside what its `ClusterServiceVersion` says.
    pub dependencies: Vec<Property>,
    /// What it says about itself, beside what can be derived.
    pub properties: Vec<Property>,
    /// The APIs it provides.
    pub provided_apis: BTreeSet<GroupVersionKind>,
    /// The APIs its `ClusterServiceVersion` needs.
    pub required_apis: BTreeSet<GroupVersionKind>,
    /// What looks like a mistake.
    pub warnings: Vec<Warning>,
}

/// The `ClusterServiceVersion` of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Csv {
    /// The file it comes from.
    pub file: String,
    /// All of it, as it was written.
    pub value: Value,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its spec. Keys were read without regard to case, as Go reads them.
    pub spec: ClusterServiceVersionSpec,
}

/// Another object of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// The file it comes from.
    pub file: String,
    /// All of it.
    pub value: Value,
}

impl Object {
    /// Its `apiVersion`; may be empty.
    pub fn api_version(&self) -> &str {
        text_at(&self.value, "/apiVersion")
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        text_at(&self.value, "/kind")
    }

    /// Its name; may be empty.
    pub fn name(&self) -> &str {
        text_at(&self.value, "/metadata/name")
    }

    /// Whether it is a CustomResourceDefinition of a version that we know.
    pub fn is_crd(&self) -> bool {
        let version = self.api_version().rsplit('/').next();
        self.kind() == "CustomResourceDefinition" && matches!(version, Some("v1" | "v1beta1"))
    }
}

impl Csv {
    /// The annotation `olm.skipRange`: versions from which this one can be reached directly.
    pub fn skip_range(&self) -> &str {
        self.annotations
            .get("olm.skipRange")
            .map_or("", String::as_str)
    }
}

/// The text at a JSON pointer, or nothing.
fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
