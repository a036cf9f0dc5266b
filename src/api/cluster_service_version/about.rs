//! What people read about an operator.
use crate::api::lenient::{empty, lenient};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody who maintains an operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Maintainer {
    /// Name of the person or team.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub name: String,
    /// Mail address.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub email: String,
}

/// A place to read more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Text of the link.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub name: String,
    /// Address of the link.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub url: String,
}

/// An image an operator may need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelatedImage {
    /// What the image is called.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Reference of the image.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub image: String,
}
