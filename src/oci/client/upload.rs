//! Blobs and manifests to a registry.

use std::path::PathBuf;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{Method, StatusCode};
use reqwest::{Body, Response, Url};
use tokio_util::io::ReaderStream;

use super::http::{Access, network};
use super::{RawManifest, Registry};
use crate::oci::image::Image;
use crate::oci::{Digest, Error, ImageReference};

/// The bytes of a blob.
#[derive(Debug, Clone)]
pub enum Content {
    /// In memory.
    Bytes(Bytes),
    /// In a file, which is streamed.
    File(PathBuf),
}

/// How a blob got to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It was there.
    Existed,
    /// The registry had it in another repository.
    Mounted,
    /// It was sent.
    Sent,
}

/// How many blobs travel at once.
const AT_ONCE: usize = 4;

impl Registry {
    /// Pushes an image to the place that a reference names, and gives `REPOSITORY@DIGEST`.
    pub async fn push_image(
        &self,
        image: &Image,
        target: &ImageReference,
    ) -> Result<ImageReference, Error> {
        let blobs: Vec<(Digest, u64, Content)> = image
            .layers
            .iter()
            .chain([&image.config])
            .map(|blob| {
                let content = Content::Bytes(Bytes::copy_from_slice(&blob.bytes));
                Ok((blob.digest.parse()?, blob.bytes.len() as u64, content))
            })
            .collect::<Result<_, Error>>()?;
        // Not mapped within the stream: that would not be known to move between threads.
        let pushes: Vec<_> = blobs
            .iter()
            .map(|(digest, size, content)| self.push_blob(target, digest, *size, content, None))
            .collect();
        stream::iter(pushes)
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<_>>()
            .await?;
        let manifest = RawManifest {
            media_type: image.manifest.media_type.to_owned(),
            digest: image.manifest.digest.parse()?,
            bytes: image.manifest.bytes.clone(),
        };
        self.push_manifest(target, &manifest).await?;
        Ok(target.at(manifest.digest))
    }

    /// Pushes a blob, unless it is there. When it may be in another repository of the same
    /// registry, `mount_from` names that, and nothing has to travel.
    pub async fn push_blob(
        &self,
        target: &ImageReference,
        digest: &Digest,
        size: u64,
        content: &Content,
        mount_from: Option<&str>,
    ) -> Result<Pushed, Error> {
        if self.has_blob_for(target, digest, Access::Push).await? {
            return Ok(Pushed::Existed);
        }
        self.retried(|| async {
            let begun = self.begin_upload(target, digest, mount_from).await?;
            if begun.status() == StatusCode::CREATED && mount_from.is_some() {
                return Ok(Pushed::Mounted);
            }
            self.send_blob(target, digest, size, content, &begun)
                .await?;
            Ok(Pushed::Sent)
        })
        .await
    }

    /// Pushes the very bytes of a manifest, under the reference's tag, or its digest if it has
    /// no tag.
    pub async fn push_manifest(
        &self,
        target: &ImageReference,
        manifest: &RawManifest,
    ) -> Result<(), Error> {
        let version = match (target.tag(), target.digest()) {
            (Some(tag), _) => tag,
            (None, Some(_)) => manifest.digest.as_str(),
            (None, None) => "latest",
        };
        let url = self.url(target, &format!("manifests/{version}"));
        let response = self
            .retried(|| async {
                let request = self
                    .request(target, Method::PUT, &url)?
                    .header(CONTENT_TYPE, &manifest.media_type)
                    .body(manifest.bytes.clone());
                self.send(target, Access::Push, request, "place for manifests")
                    .await
            })
            .await?;
        let stored = response.headers().get("docker-content-digest");
        let stored = stored.and_then(|digest| digest.to_str().ok());
        match stored {
            Some(stored) if stored != manifest.digest.as_str() => Err(Error::DigestMismatch {
                reference: target.to_string(),
                what: "the manifest that the registry stored".into(),
                expected: manifest.digest.to_string(),
                actual: stored.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Gives an image that is in the registry another tag in the same repository.
    pub async fn tag(&self, image: &ImageReference, tag: &str) -> Result<(), Error> {
        let manifest = self.manifest_at(image).await?;
        let target: ImageReference = format!("{}:{tag}", image.name()).parse()?;
        self.push_manifest(&target, &manifest).await
    }

    async fn begin_upload(
        &self,
        target: &ImageReference,
        digest: &Digest,
        mount_from: Option<&str>,
    ) -> Result<Response, Error> {
        let query = match mount_from {
            Some(from) => format!("?mount={digest}&from={from}"),
            None => String::new(),
        };
        let url = self.url(target, &format!("blobs/uploads/{query}"));
        let request = self
            .request(target, Method::POST, &url)?
            .header(CONTENT_LENGTH, 0);
        self.send(target, Access::Push, request, "place for uploads")
            .await
    }

    async fn send_blob(
        &self,
        target: &ImageReference,
        digest: &Digest,
        size: u64,
        content: &Content,
        begun: &Response,
    ) -> Result<(), Error> {
        let location = begun.headers().get(LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        let url = location.and_then(|location| begun.url().join(location).ok());
        let mut url: Url = url.ok_or_else(|| Error::Answer {
            reference: target.to_string(),
            registry: target.registry().to_owned(),
            status: begun.status().as_u16(),
            message: "it did not say where to upload to".into(),
            retry_after: None,
        })?;
        url.query_pairs_mut().append_pair("digest", digest.as_str());
        let body = match content {
            Content::Bytes(bytes) => Body::from(bytes.clone()),
            Content::File(path) => {
                let file = tokio::fs::File::open(path).await?;
                Body::wrap_stream(ReaderStream::with_capacity(file, 64 * 1024))
            }
        };
        let mut request = self
            .request(target, Method::PUT, url.as_str())?
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, size)
            .body(body);
        // Storage elsewhere has its own key in the URL, and must not see ours.
        if url.origin() == begun.url().origin()
            && let Some(login) = self.known_login(target, Access::Push)
        {
            request = request.header(AUTHORIZATION, login.header());
        }
        let response = request
            .send()
            .await
            .map_err(|error| network(target, &error))?;
        self.checked(target, response, "upload of that name")
            .await?;
        Ok(())
    }
}
