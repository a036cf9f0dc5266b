//! Catalogs and bundles out of registries, with the pull secrets of a catalog.
//!
//! What was pulled is kept, and had from there the next time without asking anybody, so that an outage of a
//! registry stops nobody. But only by those who may have it: a digest is no secret, and no login. What was
//! pulled without any pull secret anybody may have. What was pulled with those of a namespace is kept
//! apart for that namespace (`private/HASH`), and others who name it have to pull it themselves.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::{RwLock, RwLockReadGuard, Semaphore, SemaphorePermit};

use super::words;
use crate::catalog::source::{self, Sources};
use crate::oci::auth::AuthConfig;
use crate::oci::blob_store::{BlobStore, Pruned};
use crate::oci::client::{Registry, Settings};
use crate::oci::pull::{PullOptions, PulledImage, blobs_of, kept_image, pull_image};
use crate::oci::{Digest, ImageReference, Location};
use crate::publish::{self, PulledBundle, bundle_of};
use crate::resolver::CatalogKey;

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
    /// A bundle is whole in memory when it is read, and strangers decide how large it is.
    reading: Semaphore,
}

/// How many bundles are read out of their images at once, whoever wants them.
const BUNDLES: usize = 2;

/// How many catalogs of a kind are fetched at once: each takes memory and a core.
const FETCHES: usize = 4;
/// How many of those are whose content is whole in memory until it is read.
const ADDRESS_FETCHES: usize = 2;
/// How many of those are that failed the last time.
const DOUBTFUL_FETCHES: usize = 2;

/// How long an image may take to come.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// Something did not come in time.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} was not here after {} minutes; what was fetched is kept, and the next attempt goes on from there",
    PATIENCE.as_secs() / 60
)]
pub(crate) struct Late {
    what: String,
}

/// Gives up what takes longer than [`PATIENCE`]: a registry that drips holds up nobody for good.
pub(crate) async fn in_time<T, E: From<Late>>(
    what: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let timely = tokio::time::timeout(PATIENCE, work).await;
    timely.unwrap_or_else(|_| {
        let what = what.to_owned();
        Err(Late { what }.into())
    })
}

/// Fetching a catalog may take as long as a registry that says nothing is waited for. Those that
/// are known for that wait for each other, and nobody else for them.
struct Turns {
    images: Line,
    addresses: Line,
    doubtful: Line,
}

/// Those who wait for a turn, and are called when it is theirs: nobody has to stand there.
struct Line {
    free: Semaphore,
    waiting: Mutex<VecDeque<(CatalogKey, Call)>>,
}

type Call = Box<dyn FnOnce() + Send>;

impl Line {
    fn new(at_once: usize) -> Self {
        Self {
            free: Semaphore::new(at_once),
            waiting: Mutex::default(),
        }
    }

    fn enter(&self, who: &CatalogKey, call: impl FnOnce() + Send + 'static) -> Option<Turn<'_>> {
        let mut waiting = self.lock();
        if let Ok(permit) = self.free.try_acquire() {
            waiting.retain(|(other, _)| other != who);
            return Some(Turn {
                line: self,
                permit: Some(permit),
            });
        }
        if !waiting.iter().any(|(other, _)| other == who) {
            waiting.push_back((who.clone(), Box::new(call)));
        }
        None
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(CatalogKey, Call)>> {
        // Whoever panicked with the lock held left a whole line: changes are single calls.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever has it may fetch a catalog, until it is dropped.
pub(crate) struct Turn<'l> {
    line: &'l Line,
    permit: Option<SemaphorePermit<'l>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let next = {
            let mut waiting = self.line.lock();
            drop(self.permit.take());
            waiting.pop_front()
        };
        if let Some((_, call)) = next {
            call();
        }
    }
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
    #[error(transparent)]
    Image(#[from] crate::oci::Error),
    #[error("{error}; {lacks}")]
    Lacking {
        error: crate::oci::Error,
        lacks: String,
    },
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
                images: Line::new(FETCHES),
                addresses: Line::new(ADDRESS_FETCHES),
                doubtful: Line::new(DOUBTFUL_FETCHES),
            },
            reading: Semaphore::new(BUNDLES),
            settings,
            cache,
        })
    }

    /// Opens catalogs without any pull secrets.
    pub(crate) fn plain(&self) -> &Sources {
        &self.plain
    }

    /// Opens catalogs with these pull secrets of a namespace. One that is missing, or makes no sense, is
    /// left out, as by kubelets: the image may be for everybody.
    pub(crate) async fn sources(
        &self,
        namespace: &str,
        secrets: &[String],
    ) -> Result<Access, Error> {
        if secrets.is_empty() {
            return Ok(Access {
                sources: self.plain.clone(),
                lacks: Vec::new(),
            });
        }
        let api = Api::<Secret>::namespaced(self.client.clone(), namespace);
        let mut settings = self.settings.clone();
        let mut lacks = Vec::new();
        for name in secrets {
            let found = api.get_opt(name).await.map_err(|source| Error::Secret {
                namespace: namespace.to_owned(),
                name: name.clone(),
                source,
            })?;
            match login(namespace, name, found.as_ref()) {
                Ok(login) => settings.keychain = settings.keychain.with(login),
                Err(why) => lacks.push(why),
            }
        }
        let options = PullOptions::new(Registry::new(settings));
        let sources = Sources::new(&self.cache, options)?;
        Ok(Access {
            sources: sources.with_images_in(&self.private(namespace))?,
            lacks,
        })
    }

    /// Where everything is kept that a namespace may have without asking anybody.
    pub(crate) fn kept_for(&self, namespace: &str) -> Result<Vec<Sources>, source::Error> {
        let mut kept = vec![self.plain.clone()];
        let private = self.private(namespace);
        if private.is_dir() {
            kept.push(self.plain.clone().with_images_in(&private)?);
        }
        Ok(kept)
    }

    /// Where is kept what the pull secrets of a namespace opened. Plans may name any namespace they like, and so it is
    /// a hash.
    fn private(&self, namespace: &str) -> PathBuf {
        let hash = Digest::of(namespace.as_bytes());
        self.private_root().join(hash.hex())
    }

    fn private_root(&self) -> PathBuf {
        self.cache.join("private")
    }

    /// Has everything that is in the cache stay there, until what this gives is dropped.
    pub(crate) async fn pulling(&self) -> RwLockReadGuard<'_, ()> {
        self.pulling.read().await
    }

    /// The turn of a catalog to be fetched. If it is not its turn, `call` is called when it may be: that
    /// is to try again.
    pub(crate) fn turn(
        &self,
        fetch: Fetch,
        who: &CatalogKey,
        call: impl FnOnce() + Send + 'static,
    ) -> Option<Turn<'_>> {
        let line = match fetch {
            Fetch::Image => &self.turns.images,
            Fetch::Address => &self.turns.addresses,
            Fetch::Doubtful => &self.turns.doubtful,
        };
        line.enter(who, call)
    }

    /// Takes out of the cache what belongs to none of these images and was not used for a while.
    /// If that is to be done `alone`, nothing is done, and false returned, while somebody pulls. Otherwise
    /// the while has to be longer than anybody pulls.
    pub(crate) async fn prune(
        &self,
        needed: BTreeSet<Digest>,
        unused_for: Duration,
        alone: bool,
    ) -> Result<bool, Error> {
        let guard = self.pulling.try_write();
        if alone && guard.is_err() {
            return Ok(false);
        }
        let (store, private) = (self.plain.blobs().clone(), self.private_root());
        let pruned = tokio::task::spawn_blocking(move || {
            let mut pruned = prune(&store, &needed, unused_for)?;
            // Folders stay when they are empty: somebody may be about to fill them.
            for folder in folders(&private)? {
                let of_namespace = prune(&BlobStore::open(folder)?, &needed, unused_for)?;
                pruned.files += of_namespace.files;
                pruned.bytes += of_namespace.bytes;
            }
            Ok::<_, crate::oci::Error>(pruned)
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
        let _pulling = self.pulling().await;
        let pulled = self.image(image, namespace, secrets).await?;
        let _turn = self.reading.acquire().await;
        Ok(bundle_of(image.to_owned(), pulled).await?)
    }

    /// Sees to it that a bundle of a catalog is in the cache, without reading it.
    pub(crate) async fn fetch(
        &self,
        image: &str,
        namespace: &str,
        secrets: &[String],
    ) -> Result<(), Error> {
        let _pulling = self.pulling().await;
        self.image(image, namespace, secrets).await?;
        Ok(())
    }

    async fn image(
        &self,
        image: &str,
        namespace: &str,
        secrets: &[String],
    ) -> Result<PulledImage, Error> {
        // Never of a folder where this process runs.
        let image: ImageReference = image.parse()?;
        match Box::pin(self.kept(&image, namespace)).await? {
            Some(kept) => Ok(kept),
            None => Box::pin(self.pull(image, namespace, secrets)).await,
        }
    }

    /// An image that is named by its digest, if it is whole where a namespace may have it from.
    async fn kept(
        &self,
        image: &ImageReference,
        namespace: &str,
    ) -> Result<Option<PulledImage>, Error> {
        let Some(digest) = image.digest() else {
            return Ok(None);
        };
        for sources in self.kept_for(namespace)? {
            let kept = kept_image(digest, sources.options(), sources.blobs()).await?;
            if kept.is_some() {
                return Ok(kept);
            }
        }
        Ok(None)
    }

    async fn pull(
        &self,
        image: ImageReference,
        namespace: &str,
        secrets: &[String],
    ) -> Result<PulledImage, Error> {
        let Access { sources, lacks } = self.sources(namespace, secrets).await?;
        let location = Location::Registry(image);
        let pulled = pull_image(&location, sources.options(), sources.blobs()).await;
        pulled.map_err(|error| match lacks.as_slice() {
            [] => Error::Image(error),
            lacks => Error::Lacking {
                error,
                lacks: lacks.join("; "),
            },
        })
    }
}

fn prune(
    store: &BlobStore,
    needed: &BTreeSet<Digest>,
    unused_for: Duration,
) -> Result<Pruned, crate::oci::Error> {
    let mut keep = BTreeSet::new();
    for image in needed {
        keep.extend(blobs_of(image, store)?);
    }
    store.prune(&keep, unused_for)
}

/// The folders in a folder, if that is there.
fn folders(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs_err::read_dir(root)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// A way to catalogs.
pub(crate) struct Access {
    pub(crate) sources: Sources,
    /// What is wrong with pull secrets that had to be left out.
    pub(crate) lacks: Vec<String>,
}

/// The login in a pull secret. Whoever may make one does not get to run programs here: helpers that it
/// names are left out. The error is for people.
fn login(namespace: &str, name: &str, secret: Option<&Secret>) -> Result<AuthConfig, String> {
    let Some(secret) = secret else {
        return Err(format!(
            "pull secret {namespace}/{name} is not there: create it, or take its name away"
        ));
    };
    let data = secret.data.as_ref();
    let value = |key: &str| data.and_then(|data| data.get(key)).map(|it| &it.0);
    let origin = format!("secret {namespace}/{name}");
    let config = if let Some(config) = value(".dockerconfigjson") {
        AuthConfig::from_docker_config(config, &origin)
    } else if let Some(config) = value(".dockercfg") {
        AuthConfig::from_dockercfg(config, &origin)
    } else {
        return Err(format!(
            "pull secret {namespace}/{name} has neither `.dockerconfigjson` nor `.dockercfg`: \
             make one with `kubectl create secret docker-registry`"
        ));
    };
    let config = config.map_err(|error| format!("pull {error}"))?;
    Ok(config.without_helpers())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::ByteString;

    use super::*;
    use crate::oci::auth::Keychain;

    fn secret(key: &str, text: &str) -> Secret {
        Secret {
            data: Some([(key.to_owned(), ByteString(text.into()))].into()),
            ..Secret::default()
        }
    }

    #[test]
    fn a_pull_secret_that_cannot_be_used_is_said_with_what_to_do() {
        let missing = login("port", "pull", None).unwrap_err();
        assert!(
            missing.starts_with("pull secret port/pull is not there"),
            "{missing}"
        );
        let other = login("port", "pull", Some(&secret("password", "x"))).unwrap_err();
        assert!(
            other.contains("kubectl create secret docker-registry"),
            "{other}"
        );
        let nonsense = login("port", "pull", Some(&secret(".dockerconfigjson", "{"))).unwrap_err();
        assert!(nonsense.starts_with("pull secret port/pull"), "{nonsense}");
    }

    #[tokio::test]
    async fn a_pull_secret_runs_no_programs() {
        let text = r#"{"auths": {"example.com": {"username": "gopher", "password": "x"}},
            "credHelpers": {"example.com": "evil", "other.example.com": "evil"}, "credsStore": "evil"}"#;
        let config = login("port", "pull", Some(&secret(".dockerconfigjson", text))).unwrap();
        let keychain = Keychain::new(vec![config]);
        let of = async |image: &str| {
            let found = keychain.find(&image.parse().unwrap()).await;
            // To run a program that is not there is an error.
            found.unwrap().to_string()
        };
        assert!(
            of("example.com/a:v1")
                .await
                .contains("password of `gopher`")
        );
        assert!(
            of("other.example.com/a:v1")
                .await
                .starts_with("no credentials")
        );
        assert!(
            of("elsewhere.example.com/a:v1")
                .await
                .starts_with("no credentials")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_come_is_given_up_in_words() {
        let never = std::future::pending::<anyhow::Result<()>>();
        let error = in_time("example.com/catalog:v1", never).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "example.com/catalog:v1 was not here after 10 minutes; what was fetched is kept, and the next attempt goes on from there"
        );
    }

    #[test]
    fn whoever_has_to_wait_is_called_in_order_and_once() {
        let line = Line::new(1);
        let called = Arc::new(Mutex::new(Vec::new()));
        let count = Arc::new(AtomicUsize::new(0));
        let enter = |name: &'static str| {
            let (called, count) = (called.clone(), count.clone());
            line.enter(&CatalogKey::new("port", name), move || {
                called.lock().unwrap().push(name);
                count.fetch_add(1, Ordering::SeqCst);
            })
        };
        let first = enter("first").expect("nobody is there");
        for _ in 0..2 {
            assert!(enter("second").is_none());
            assert!(enter("third").is_none());
        }
        drop(first);
        assert_eq!(*called.lock().unwrap(), ["second"]);
        let second = enter("second").expect("it was called");
        drop(second);
        assert_eq!(*called.lock().unwrap(), ["second", "third"]);
        drop(enter("third").expect("it was called"));
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
