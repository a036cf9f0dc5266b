//! What a bundle says about itself to the resolver and to people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The package and version of a bundle; every bundle has exactly one.
pub const PACKAGE: &str = "olm.package";
/// A package that the bundle needs.
pub const PACKAGE_REQUIRED: &str = "olm.package.required";
/// An API that the bundle provides.
pub const GVK: &str = "olm.gvk";
/// An API that the bundle needs.
pub const GVK_REQUIRED: &str = "olm.gvk.required";
/// A constraint that is more than one package or API.
pub const CONSTRAINT: &str = "olm.constraint";
/// What people want to know of the bundle's `ClusterServiceVersion`.
pub const CSV_METADATA: &str = "olm.csv.metadata";
/// A whole manifest of the bundle, the older way to carry its `ClusterServiceVersion`.
pub const BUNDLE_OBJECT: &str = "olm.bundle.object";

/// A typed piece of information on a bundle, package or channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// What the value means, for example `olm.gvk`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value, in a form that the type defines.
    pub value: Value,
}

/// An image that the bundle uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelatedImage {
    /// What it is for; may be empty.
    pub name: String,
    /// Where it is.
    pub image: String,
}
