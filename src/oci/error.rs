//! What can go wrong with an image, in the words of those who wanted it.

use std::fmt::Write as _;
use std::time::Duration;

/// What can go wrong with an image.
///
/// Whatever happened on the way to or from a registry names the image and the registry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reference of an image, or its location, cannot be read.
    #[error("`{reference}` is no image reference: {reason}")]
    Reference {
        /// What was given.
        reference: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A digest cannot be read.
    #[error("`{digest}` is no digest: {reason}")]
    Digest {
        /// What was given.
        digest: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Settings (credentials, mirrors, certificates) cannot be used.
    #[error("{origin}: {reason}")]
    Settings {
        /// Where they come from.
        origin: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The registry, or the layout, has no such thing.
    #[error("`{reference}`: {place} has no {what}")]
    NotFound {
        /// The image.
        reference: String,
        /// The registry or folder.
        place: String,
        /// What is missing: a manifest, a blob, a tag.
        what: String,
    },
    /// The registry wants other credentials.
    #[error("`{reference}`: {registry} refused access ({status}) with {credentials}")]
    Unauthorised {
        /// The image.
        reference: String,
        /// The registry.
        registry: String,
        /// 401 or 403.
        status: u16,
        /// Which credentials were used, without their secret.
        credentials: String,
    },
    /// The registry wants fewer requests.
    #[error("`{reference}`: {registry} limits the rate of requests{}", wait(*retry_after))]
    RateLimited {
        /// The image.
        reference: String,
        /// The registry.
        registry: String,
        /// When to come again, if the registry said so.
        retry_after: Option<Duration>,
    },
    /// The registry does not answer, or its answer broke off.
    #[error("`{reference}`: {registry} cannot be reached: {reason}")]
    Unreachable {
        /// The image.
        reference: String,
        /// The registry.
        registry: String,
        /// What the network said.
        reason: String,
    },
    /// No secure connection to the registry can be made.
    #[error("`{reference}`: no secure connection to {registry}: {reason}")]
    Tls {
        /// The image.
        reference: String,
        /// The registry.
        registry: String,
        /// What is wrong, and what may help.
        reason: String,
    },
    /// The registry answered with an error of its own.
    #[error("`{reference}`: {registry} answered {status}{}", detail(message))]
    Answer {
        /// The image.
        reference: String,
        /// The registry.
        registry: String,
        /// The HTTP status.
        status: u16,
        /// What the registry said about it; may be empty.
        message: String,
        /// When to come again, if the registry said so.
        retry_after: Option<Duration>,
    },
    /// Content is not what its digest says.
    #[error("`{reference}`: {what} is damaged: expected {expected}, got {actual}")]
    DigestMismatch {
        /// The image.
        reference: String,
        /// What was read.
        what: String,
        /// The digest or size that was asked for.
        expected: String,
        /// The digest or size of what came.
        actual: String,
    },
    /// Something is larger than it may be.
    #[error("`{reference}`: {what} is larger than the {limit} bytes that are allowed")]
    TooLarge {
        /// The image or layer.
        reference: String,
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A manifest or configuration makes no sense.
    #[error("`{reference}`: bad manifest: {reason}")]
    BadManifest {
        /// The image.
        reference: String,
        /// What is wrong.
        reason: String,
    },
    /// An image for several platforms has none for this one.
    #[error("`{reference}` has no image for {wanted}, only for {}", available.join(", "))]
    NoPlatform {
        /// The image.
        reference: String,
        /// The platform that was wanted.
        wanted: String,
        /// Those that are there.
        available: Vec<String>,
    },
    /// An entry of a layer is refused.
    #[error("layer {layer}: entry `{entry}` is refused: {reason}")]
    Entry {
        /// The layer's digest.
        layer: String,
        /// The entry's path as it is in the layer.
        entry: String,
        /// Why.
        reason: String,
    },
    /// A layer cannot be read, or is refused as a whole.
    #[error("layer {layer}: {reason}")]
    Layer {
        /// The layer's digest.
        layer: String,
        /// Why.
        reason: String,
    },
    /// None of the mirrors has the image, and neither has its source.
    #[error("`{reference}`: {}", attempts_of(attempts))]
    NoSource {
        /// The image.
        reference: String,
        /// What each place said, in the order they were tried.
        attempts: Vec<Self>,
    },
    /// A path inside of the image is not a plain relative path.
    #[error("`{0}` cannot be a path in an image: it must be relative, without `..`")]
    Path(String),
    /// A file could not be read or written.
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
}

impl Error {
    /// Whether the same request may succeed later without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unreachable { .. } => true,
            Self::Answer { status, .. } => *status >= 500 || *status == 408,
            Self::NoSource { attempts, .. } => attempts.iter().any(Self::is_transient),
            _ => false,
        }
    }

    /// How long the registry wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Answer { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// Whether the thing asked for is simply not there.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NotFound { .. } => true,
            Self::NoSource { attempts, .. } => attempts.iter().all(Self::is_not_found),
            _ => false,
        }
    }
}

fn wait(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |wait| {
        format!(" and asks to wait {} s", wait.as_secs())
    })
}

fn detail(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

fn attempts_of(attempts: &[Error]) -> String {
    let mut text = format!("none of {} places has it", attempts.len());
    for attempt in attempts {
        // Writing to a string cannot fail.
        let _ = write!(text, "; {attempt}");
    }
    text
}
