//! OCI images: how they are made and where they go.
//!
//! [`image`] turns files into the blobs of an image, without a container engine and always into
//! the same bytes; [`layout`] keeps them in a folder; [`push`] brings them to a registry.

pub mod image;
pub mod layout;
pub mod push;

/// What can go wrong with an image.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reference of an image cannot be read.
    #[error("`{reference}` is no image reference: {source}")]
    Reference {
        /// What was given.
        reference: String,
        /// What the parser says.
        source: oci_distribution::ParseError,
    },
    /// A path inside of the image is not a plain relative path.
    #[error("`{0}` cannot be a path in an image: it must be relative, without `..`")]
    Path(String),
    /// A layer or a layout could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A document of the image could not be encoded.
    #[error("cannot encode the image's {what}: {source}")]
    Encode {
        /// Which document.
        what: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// The registry refused, or could not be reached.
    #[error("cannot push `{reference}`: {source}")]
    Registry {
        /// The image.
        reference: String,
        /// What the registry or the network said.
        source: Box<oci_distribution::errors::OciDistributionError>,
    },
}
