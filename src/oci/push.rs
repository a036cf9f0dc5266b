//! From memory to a registry, in one call.

use super::Error;
use super::client::{Registry, Settings};
use super::image::Image;
use super::reference::ImageReference;

/// Whether a registry is spoken to without TLS. Never guessed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// HTTPS.
    Tls,
    /// Plain HTTP, because the caller said so.
    Plain,
}

/// Pushes an image, without credentials, to the place its reference names, and gives
/// `REPOSITORY@DIGEST`. Who needs more uses [`Registry::push_image`].
pub async fn push(image: &Image, reference: &str, transport: Transport) -> Result<String, Error> {
    let target: ImageReference = reference.parse()?;
    let mut settings = Settings::default();
    if transport == Transport::Plain {
        settings.plain_http.insert(target.registry().to_owned());
    }
    let pushed = Registry::new(settings).push_image(image, &target).await?;
    Ok(pushed.to_string())
}
