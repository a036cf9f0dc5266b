//! Catalogs and bundles out of registries, with the pull secrets of a catalog.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::{RwLock, RwLockReadGuard, Semaphore, SemaphorePermit};

use super::words;
use crate::catalog::source::{self, Sources};
use crate::oci::Digest;
use crate::oci::auth::AuthConfig;
use crate::oci::client::{Registry, Settings};
use crate::oci::pull::{PullOptions, blobs_of};
use crate::publish::{self, PulledBundle, pull_bundle};

/// Where images come from.
pub(crate) struct Images {
    client: Client,
    settings: Settings,
    cache: PathBuf,
    /// Without any pull secrets.
    plain: Sources,
    /// Whoever pulls has it for reading, so that nothing is taken away from under them.
    pulling: RwLock<()>,
    turns: Turns,
}

/// How many catalogs of a kind are fetched at once: each takes memory and a core.
const FETCHES: usize = 4;
/// How many of those are that failed the last time.
const DOUBTFUL_FETCHES: usize = 2;

/// Fetching a catalog may take as long as a registry that says nothing is waited for. Those that
/// are known for that wait for each other, and nobody else for them.
struct Turns {
    images: Semaphore,
    addresses: Semaphore,
    doubtful: Semaphore,
}

/// What kind of catalog waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// An image in a registry that answers.
    Image,
    /// What a remote registry serves.
    Address,
    /// Anything that failed the last time.
    Doubtful,
}

/// How long the text of a digest is.
pub(crate) const DIGEST: usize = "sha256:".len() + 64;

/// Why an image cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "pull secret {namespace}/{name} cannot be read: {}",
        words::of_api(source)
    )]
    Secret {
        namespace: String,
        name: String,
        source: kube::Error,
    },
    #[error(
        "pull secret {namespace}/{name} has neither `.dockerconfigjson` nor `.dockercfg`: \
         make one with `kubectl create secret docker-registry`"
    )]
    NoPullSecret { namespace: String, name: String },
    #[error(transparent)]
    Image(#[from] crate::oci::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Catalog(#[from] source::Error),
    #[error(transparent)]
    Bundle(#[from] publish::Error),
}

impl Images {
    pub(crate) fn new(
        client: Client,
        settings: Settings,
        cache: PathBuf,
    ) -> Result<Self, source::Error> {
        let options = PullOptions::new(Registry::new(settings.clone()));
        Ok(Self {
            client,
            plain: Sources::new(&cache, options)?,
            pulling: RwLock::default(),
            turns: Turns {
                images: Semaphore::new(FETCHES),
                addresses: Semaphore::new(FETCHES),
                doubtful: Semaphore::new(DOUBTFUL_FETCHES),
            },
            settings,
            cache,
        })
    }

    /// Opens catalogs with these pull secrets of a namespace.
    pub(crate) async fn sources(
        &self,
        namespace: &str,
        secrets: &[String],
    ) -> Result<Sources, Error> {
        if secrets.is_empty() {
            return Ok(self.plain.clone());
        }
        let api = Api::<Secret>::namespaced(self.client.clone(), namespace);
        let mut settings = self.settings.clone();
        for name in secrets {
            let secret = api.get(name).await.map_err(|source| Error::Secret {
                namespace: namespace.to_owned(),
                name: name.clone(),
                source,
            })?;
            settings.keychain = settings.keychain.with(login(namespace, name, &secret)?);
        }
        let options = PullOptions::new(Registry::new(settings));
        Ok(Sources::new(&self.cache, options)?)
    }

    /// Has everything that is in the cache stay there, until what this gives is dropped.
    pub(crate) async fn pulling(&self) -> RwLockReadGuard<'_, ()> {
        self.pulling.read().await
    }

    /// Waits until a catalog may be fetched; it may until what this gives is dropped.
    pub(crate) async fn turn(&self, fetch: Fetch) -> Option<SemaphorePermit<'_>> {
        let turns = match fetch {
            Fetch::Image => &self.turns.images,
            Fetch::Address => &self.turns.addresses,
            Fetch::Doubtful => &self.turns.doubtful,
        };
        // Nobody closes it, and if somebody did, nobody would have to wait.
        turns.acquire().await.ok()
    }

    /// Takes out of the cache what belongs to none of these images and was not used for a while.
    /// Nothing is done, and false returned, while somebody pulls.
    pub(crate) async fn prune(
        &self,
        needed: BTreeSet<Digest>,
        unused_for: Duration,
    ) -> Result<bool, Error> {
        let Ok(_alone) = self.pulling.try_write() else {
            return Ok(false);
        };
        let store = self.plain.blobs().clone();
        let pruned = tokio::task::spawn_blocking(move || {
            let mut keep = BTreeSet::new();
            for image in &needed {
                keep.extend(blobs_of(image, &store)?);
            }
            store.prune(&keep, unused_for)
        });
        let pruned = pruned.await.map_err(std::io::Error::other)??;
        if pruned.files > 0 {
            let (files, bytes) = (pruned.files, pruned.bytes);
            tracing::info!(files, bytes, "removed from the cache what nobody needs");
        }
        Ok(true)
    }

    /// Pulls a bundle of a catalog with these pull secrets.
    pub(crate) async fn bundle(
        &self,
        image: &str,
        namespace: &str,
        secrets: &[String],
    ) -> Result<PulledBundle, Error> {
        let sources = self.sources(namespace, secrets).await?;
        let location = image.parse()?;
        let _pulling = self.pulling().await;
        Ok(pull_bundle(&location, sources.options(), sources.blobs()).await?)
    }
}

fn login(namespace: &str, name: &str, secret: &Secret) -> Result<AuthConfig, Error> {
    let data = secret.data.as_ref();
    let value = |key: &str| data.and_then(|data| data.get(key)).map(|it| &it.0);
    let origin = format!("secret {namespace}/{name}");
    if let Some(config) = value(".dockerconfigjson") {
        return Ok(AuthConfig::from_docker_config(config, &origin)?);
    }
    if let Some(config) = value(".dockercfg") {
        return Ok(AuthConfig::from_dockercfg(config, &origin)?);
    }
    Err(Error::NoPullSecret {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
