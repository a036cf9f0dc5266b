//! From memory to a registry.

use http::HeaderValue;
use oci_distribution::client::{ClientConfig, ClientProtocol};
use oci_distribution::secrets::RegistryAuth;
use oci_distribution::{Client, Reference, RegistryOperation};

use super::Error;
use super::image::Image;

/// Whether a registry is spoken to without TLS. Never guessed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// HTTPS.
    Tls,
    /// Plain HTTP, because the caller said so.
    Plain,
}

/// Pushes an image to the place its reference names, and gives `REPOSITORY@DIGEST`.
pub async fn push(image: &Image, reference: &str, transport: Transport) -> Result<String, Error> {
    let target: Reference = reference.parse().map_err(|source| Error::Reference {
        reference: reference.to_owned(),
        source,
    })?;
    let protocol = match transport {
        Transport::Tls => ClientProtocol::Https,
        Transport::Plain => ClientProtocol::HttpsExcept(vec![target.resolve_registry().to_owned()]),
    };
    let client = Client::new(ClientConfig {
        protocol,
        ..ClientConfig::default()
    });
    let upload = async {
        client
            .auth(&target, &RegistryAuth::Anonymous, RegistryOperation::Push)
            .await?;
        for blob in image.layers.iter().chain([&image.config]) {
            client
                .push_blob(&target, blob.bytes.clone(), &blob.digest)
                .await?;
        }
        // The very bytes that were built: encoded anew, they could have another digest.
        let media_type = HeaderValue::from_static(image.manifest.media_type);
        client
            .push_manifest_raw(&target, image.manifest.bytes.clone(), media_type)
            .await
    };
    upload.await.map_err(|source| Error::Registry {
        reference: reference.to_owned(),
        source: Box::new(source),
    })?;
    Ok(format!(
        "{}/{}@{}",
        target.registry(),
        target.repository(),
        image.manifest.digest
    ))
}
