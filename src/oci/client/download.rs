//! Blobs from a registry, from where the last attempt broke off.

use std::path::PathBuf;

use http::header::{CONTENT_RANGE, RANGE};
use http::{Method, StatusCode};
use reqwest::Response;
use tokio::time::Instant;

use super::Registry;
use super::http::{Access, network};
use super::retry::Pauses;
use crate::oci::blob_store::{BlobStore, Download};
use crate::oci::{Digest, Error, ImageReference, Reporter};

impl Registry {
    /// Fetches a blob into the store, unless it is there already, and gives its file. What an
    /// earlier attempt got, in this process or in one before, is not fetched again. Mirrors are not
    /// looked at here: an image is fetched from one place as a whole.
    pub async fn pull_blob(
        &self,
        image: &ImageReference,
        digest: &Digest,
        size: u64,
        store: &BlobStore,
        reporter: &dyn Reporter,
    ) -> Result<PathBuf, Error> {
        if size > self.settings.blob_bytes {
            return Err(Error::TooLarge {
                reference: image.to_string(),
                what: format!("the blob {digest} of {size} bytes"),
                limit: self.settings.blob_bytes,
            });
        }
        let mut pauses = Pauses::new(&self.settings.retry);
        let mut second_chance = true;
        loop {
            let mut download = begin(store, digest).await?;
            let resumed = download.written() > 0;
            if download.written() > size {
                download.restart()?;
            }
            reporter.progress(digest, download.written(), size);
            while download.written() < size {
                let before = download.written();
                let result = self
                    .pull_rest(image, digest, size, &mut download, reporter)
                    .await;
                if let Err(error) = result {
                    if download.written() > before {
                        pauses.reset();
                    }
                    if let Error::DigestMismatch { .. } = error {
                        download.discard()?;
                        return Err(error);
                    }
                    pauses.after(error).await?;
                }
            }
            match finish(download, image).await {
                // What an earlier attempt left may have been bad.
                Err(Error::DigestMismatch { .. }) if resumed && second_chance => {
                    second_chance = false;
                }
                result => return result,
            }
        }
    }

    /// Whether a registry has a blob.
    pub async fn has_blob(&self, image: &ImageReference, digest: &Digest) -> Result<bool, Error> {
        self.has_blob_for(image, digest, Access::Pull).await
    }

    pub(super) async fn has_blob_for(
        &self,
        image: &ImageReference,
        digest: &Digest,
        access: Access,
    ) -> Result<bool, Error> {
        let url = self.url(image, &format!("blobs/{digest}"));
        let found = self
            .retried(|| async {
                let request = self.request(image, Method::HEAD, &url)?;
                self.send(image, access, request, "blob").await
            })
            .await;
        match found {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// One request, for what is missing.
    async fn pull_rest(
        &self,
        image: &ImageReference,
        digest: &Digest,
        size: u64,
        download: &mut Download,
        reporter: &dyn Reporter,
    ) -> Result<(), Error> {
        let url = self.url(image, &format!("blobs/{digest}"));
        let mut request = self.request(image, Method::GET, &url)?;
        let offset = download.written();
        if offset > 0 {
            request = request.header(RANGE, format!("bytes={offset}-"));
        }
        let what = format!("blob {digest}");
        let mut response = match self.send(image, Access::Pull, request, &what).await {
            // It cannot go on from there, and so from the start.
            Err(Error::Answer { status: 416, .. }) if offset > 0 => {
                download.restart()?;
                let request = self.request(image, Method::GET, &url)?;
                self.send(image, Access::Pull, request, &what).await?
            }
            response => response?,
        };
        if download.written() > 0 && !continues(&response, download.written()) {
            download.restart()?;
        }
        let broken = |reason: String| Error::Unreachable {
            reference: image.to_string(),
            registry: image.registry().to_owned(),
            reason,
        };
        let window = self.settings.read_timeout;
        let (mut since, mut from) = (Instant::now(), download.written());
        loop {
            let chunk = response
                .chunk()
                .await
                .map_err(|error| network(image, &error))?;
            let Some(chunk) = chunk else { break };
            if download.written() + chunk.len() as u64 > size {
                return Err(Error::DigestMismatch {
                    reference: image.to_string(),
                    what,
                    expected: format!("{size} bytes"),
                    actual: "more".into(),
                });
            }
            download.write(&chunk)?;
            reporter.progress(digest, download.written(), size);
            if since.elapsed() >= window {
                let got = download.written() - from;
                if got < self.settings.slowest {
                    return Err(broken(format!(
                        "only {got} bytes came in {} s",
                        window.as_secs()
                    )));
                }
                (since, from) = (Instant::now(), download.written());
            }
        }
        let written = download.written();
        if written < size {
            return Err(broken(format!(
                "the answer ended after {written} of {size} bytes"
            )));
        }
        Ok(())
    }
}

/// Whether an answer begins where it was asked to.
fn continues(response: &Response, offset: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE);
    let range = range.and_then(|range| range.to_str().ok()).unwrap_or("");
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.starts_with(&format!("bytes {offset}-"))
}

async fn begin(store: &BlobStore, digest: &Digest) -> Result<Download, Error> {
    // Reads what is there already.
    let (store, digest) = (store.clone(), digest.clone());
    blocking(move || store.download(&digest)).await
}

async fn finish(download: Download, image: &ImageReference) -> Result<PathBuf, Error> {
    let result = blocking(move || download.finish("a blob")).await;
    result.map_err(|error| match error {
        Error::DigestMismatch {
            reference: digest,
            expected,
            actual,
            ..
        } => Error::DigestMismatch {
            reference: image.to_string(),
            what: format!("the blob {digest} of {}", image.registry()),
            expected,
            actual,
        },
        other => other,
    })
}

/// Work on files, apart from the network's threads.
pub(in crate::oci) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::Io(std::io::Error::other(error))),
    }
}
