//! A client of registries.
//!
//! What oci-client offers for this has no retries and no resuming, hides the headers of answers
//! (`Retry-After`), reads answers of any length into memory and knows one login per registry. So
//! the requests are made here, in four parts: [`http`] sends one and tells what its answer means,
//! [`token`] gets in, [`retry`] tries again; this file has what others call to read, `upload` what
//! they call to write. The types of manifests are oci-client's.

mod download;
mod http;
mod retry;
mod token;
mod upload;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::http::{Method, header};
use oci_distribution::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE, OciImageIndex,
};
use serde::Deserialize;

pub(super) use self::download::blocking;
use self::http::{Access, Answer};
pub use self::retry::Retry;
pub use self::upload::{Content, Pushed};
use super::auth::Keychain;
use super::mirror::Mirrors;
use super::{Digest, Error, ImageReference};

/// How registries are spoken to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Registries (`HOST[:PORT]`) that are spoken to without TLS. Never guessed from a name.
    pub plain_http: BTreeSet<String>,
    /// Certificates in PEM of authorities that are trusted for one registry, by its host.
    pub certificates: BTreeMap<String, Vec<u8>>,
    /// Where else images may be.
    pub mirrors: Mirrors,
    /// Credentials.
    pub keychain: Keychain,
    /// What is tried again, and when.
    pub retry: Retry,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a registry may be silent.
    pub read_timeout: Duration,
    /// The slowest that a download may be before it is begun anew where it stands: so many bytes
    /// in each [`Settings::read_timeout`].
    pub slowest: u64,
    /// How large a manifest may be.
    pub manifest_bytes: u64,
    /// How large a blob may be.
    pub blob_bytes: u64,
    /// How large all layers of an image may be together, packed.
    pub image_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            plain_http: BTreeSet::new(),
            certificates: BTreeMap::new(),
            mirrors: Mirrors::default(),
            keychain: Keychain::default(),
            retry: Retry::default(),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            slowest: 16 * 1024,
            // Twice what registries take.
            manifest_bytes: 8 * 1024 * 1024,
            blob_bytes: 4 * 1024 * 1024 * 1024,
            image_bytes: 4 * 1024 * 1024 * 1024,
        }
    }
}

/// A client of all registries. Cheap to clone; clones share connections and logins.
#[derive(Clone)]
pub struct Registry {
    settings: Arc<Settings>,
    /// One client for all registries, under the empty name, and one for each that has
    /// certificates of its own.
    clients: Arc<Mutex<HashMap<String, reqwest::Client>>>,
    logins: Arc<Mutex<HashMap<token::Scope, token::Authorization>>>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A manifest as the registry has it.
#[derive(Debug, Clone)]
pub struct RawManifest {
    /// What kind of manifest it is, as the registry says.
    pub media_type: String,
    /// Its digest, which was checked.
    pub digest: Digest,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What we can read, in `Accept` headers.
const MANIFESTS: [&str; 4] = [
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];
/// How many pages of a list are followed.
const MAX_PAGES: usize = 1000;

impl Registry {
    /// A client with these settings. Nothing is connected yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            clients: Arc::default(),
            logins: Arc::default(),
        }
    }

    /// The same registry, tried again in another way. Connections and logins are shared.
    #[must_use]
    pub fn with_retry(&self, retry: Retry) -> Self {
        let settings = Settings {
            retry,
            ..Settings::clone(&self.settings)
        };
        Self {
            settings: Arc::new(settings),
            ..self.clone()
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The digest that an image has now, without its manifest: what polling asks for. For an
    /// image of several platforms it is the digest of the whole.
    pub async fn digest(&self, image: &ImageReference) -> Result<Digest, Error> {
        let mut places = self.places(image)?;
        while let Some(place) = places.next() {
            match self.digest_at(&place).await {
                Ok(digest) => return Ok(digest),
                Err(error) => places.failed(error),
            }
        }
        Err(places.error())
    }

    /// An image's manifest, or its index if it is for several platforms, from the first mirror
    /// that has it.
    pub async fn manifest(&self, image: &ImageReference) -> Result<RawManifest, Error> {
        let mut places = self.places(image)?;
        while let Some(place) = places.next() {
            match self.manifest_at(&place).await {
                Ok(manifest) => return Ok(manifest),
                Err(error) => places.failed(error),
            }
        }
        Err(places.error())
    }

    /// All tags of a repository.
    pub async fn tags(&self, image: &ImageReference) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Tags {
            // Some registries say `null` when there are none.
            tags: Option<Vec<String>>,
        }
        let mut tags = Vec::new();
        let mut next = Some(self.url(image, "tags/list"));
        for _ in 0..MAX_PAGES {
            let Some(url) = next else { break };
            let answer = self
                .get(image, &url, "repository of that name", &[])
                .await?;
            let page: Tags = answer.json(image, "list of tags")?;
            tags.extend(page.tags.unwrap_or_default());
            next = answer.next_page(&url);
        }
        Ok(tags)
    }

    /// What refers to a manifest: signatures, SBOMs and the like. Registries that do not know the
    /// question are asked for the tag that takes its place.
    pub async fn referrers(
        &self,
        image: &ImageReference,
        digest: &Digest,
        artifact_type: Option<&str>,
    ) -> Result<OciImageIndex, Error> {
        let url = self.url(image, &format!("referrers/{digest}"));
        let accept = [OCI_IMAGE_INDEX_MEDIA_TYPE];
        let answer = match self.get(image, &url, "list of referrers", &accept).await {
            Err(error) if error.is_not_found() => {
                let tag = format!("{}-{}", digest.algorithm(), digest.hex());
                let url = self.url(image, &format!("manifests/{tag}"));
                self.get(image, &url, "list of referrers", &accept).await
            }
            answer => answer,
        };
        let mut index = match answer {
            Ok(answer) => answer.json(image, "list of referrers")?,
            Err(error) if error.is_not_found() => OciImageIndex {
                schema_version: 2,
                media_type: Some(OCI_IMAGE_INDEX_MEDIA_TYPE.to_owned()),
                manifests: Vec::new(),
                artifact_type: None,
                annotations: None,
            },
            Err(error) => return Err(error),
        };
        if let Some(wanted) = artifact_type {
            index
                .manifests
                .retain(|entry| entry.artifact_type.as_deref() == Some(wanted));
        }
        Ok(index)
    }

    /// Where an image may be, one after the other.
    pub(super) fn places(&self, image: &ImageReference) -> Result<Places, Error> {
        Ok(Places {
            left: self.settings.mirrors.places(image)?.into_iter(),
            image: image.clone(),
            attempts: Vec::new(),
        })
    }

    pub(super) async fn manifest_at(&self, image: &ImageReference) -> Result<RawManifest, Error> {
        let version = image.version();
        let url = self.url(image, &format!("manifests/{version}"));
        let what = format!("manifest `{version}`");
        let answer = self.get(image, &url, &what, &MANIFESTS).await?;
        let expected = match image.digest() {
            Some(digest) => Some(digest.clone()),
            None => answer.digest(),
        };
        let mut hasher = expected.as_ref().map(Digest::hasher).unwrap_or_default();
        hasher.update(&answer.body);
        let digest = hasher.finish();
        if let Some(expected) = expected.filter(|expected| *expected != digest) {
            return Err(Error::DigestMismatch {
                reference: image.to_string(),
                what: "the manifest".into(),
                expected: expected.to_string(),
                actual: digest.to_string(),
            });
        }
        Ok(RawManifest {
            media_type: answer.header(header::CONTENT_TYPE.as_str()).to_owned(),
            digest,
            bytes: answer.body,
        })
    }

    async fn digest_at(&self, image: &ImageReference) -> Result<Digest, Error> {
        let version = image.version();
        let url = self.url(image, &format!("manifests/{version}"));
        let answer = self
            .retried(|| async {
                let request = self.request(image, Method::HEAD, &url)?;
                let request = http::accept(request, &MANIFESTS);
                let what = format!("manifest `{version}`");
                let response = self.send(image, Access::Pull, request, &what).await?;
                Ok(Answer::without_body(&response))
            })
            .await?;
        match answer.digest() {
            Some(digest) => Ok(digest),
            // Not every registry tells it.
            None => Ok(self.manifest_at(image).await?.digest),
        }
    }

    /// A small answer, whole and in memory.
    async fn get(
        &self,
        image: &ImageReference,
        url: &str,
        what: &str,
        accept: &[&str],
    ) -> Result<Answer, Error> {
        self.retried(|| async {
            let request = http::accept(self.request(image, Method::GET, url)?, accept);
            let response = self.send(image, Access::Pull, request, what).await?;
            self.small(image, response, what).await
        })
        .await
    }
}

/// The places that an image may be at, and what those said that were asked.
pub(super) struct Places {
    left: std::vec::IntoIter<ImageReference>,
    image: ImageReference,
    attempts: Vec<Error>,
}

impl Places {
    pub(super) fn next(&mut self) -> Option<ImageReference> {
        self.left.next()
    }

    pub(super) fn failed(&mut self, error: Error) {
        tracing::debug!(%error, "one place does not have the image");
        self.attempts.push(error);
    }

    /// What to tell when all were asked in vain.
    pub(super) fn error(mut self) -> Error {
        match self.attempts.pop() {
            Some(only) if self.attempts.is_empty() => only,
            last => {
                self.attempts.extend(last);
                Error::NoSource {
                    reference: self.image.to_string(),
                    attempts: self.attempts,
                }
            }
        }
    }
}
