//! What is in the cluster, kept up to date.
//!
//! One watch for each kind (or for each kind and namespace, if only some namespaces are watched), shared
//! by all controllers. Of an object, only what somebody needs is kept, and one that cannot be read
//! stops nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::ready;
use futures::{Stream, StreamExt as _, stream};
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::key::ObjectKey;
use super::words;

/// Objects per request of a list: the memory that a list takes is theirs.
const PAGE: u32 = 250;

/// The objects of one kind.
#[derive(Debug)]
pub(crate) struct Cache<K> {
    objects: RwLock<BTreeMap<ObjectKey, Arc<K>>>,
    /// How many watches have not listed everything yet.
    missing: watch::Sender<usize>,
}

impl<K> Cache<K> {
    /// A cache that so many watches will fill.
    pub(crate) fn new(watches: usize) -> Arc<Self> {
        Arc::new(Self {
            objects: RwLock::default(),
            missing: watch::Sender::new(watches),
        })
    }

    /// Waits until everything was listed once.
    pub(crate) async fn is_ready(&self) {
        // The sender is part of the cache, so that waiting for it cannot fail.
        let _ = self
            .missing
            .subscribe()
            .wait_for(|missing| *missing == 0)
            .await;
    }

    /// Whether everything was listed once.
    pub(crate) fn is_listed(&self) -> bool {
        *self.missing.borrow() == 0
    }

    /// An object.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.read(|objects| objects.get(key).cloned())
    }

    /// The objects of a namespace, by name.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let from = ObjectKey::new(namespace, "");
        self.read(|objects| {
            let of_namespace = objects
                .range(from..)
                .take_while(|(key, _)| key.namespace == namespace);
            of_namespace.map(|(_, object)| object.clone()).collect()
        })
    }

    /// All objects, by namespace and name.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.read(|objects| objects.values().cloned().collect())
    }

    /// Some of the objects, by namespace and name.
    pub(crate) fn filter(&self, is_meant: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        self.read(|objects| {
            let meant = objects.values().filter(|it| is_meant(it));
            meant.cloned().collect()
        })
    }

    fn read<T>(&self, look: impl FnOnce(&BTreeMap<ObjectKey, Arc<K>>) -> T) -> T {
        // A thread that panicked with the lock held left a whole map: changes are single calls.
        look(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut BTreeMap<ObjectKey, Arc<K>>) -> T) -> T {
        change(&mut self.objects.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How soon everything is listed anew after a watch could not go on.
const ANEW: Duration = Duration::from_secs(1);

/// What is told of the objects of a kind, for ever. A watch that broke goes on from where it was; if that is too long
/// ago for the API server, everything is listed anew. `kube` does so itself if it is told in the answer to a
/// watch, but if the API server refuses to begin one it would ask for the same again and again.
pub(crate) fn events<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let begin = move |pause: Duration| {
        let wait = stream::once(tokio::time::sleep(pause)).filter_map(|()| ready(None));
        let events = watcher(api.clone(), config.clone()).default_backoff();
        let until_over = events
            .flat_map(|event| {
                let end = event.as_ref().is_err_and(is_too_late).then_some(None);
                stream::iter(std::iter::once(Some(event)).chain(end))
            })
            .take_while(|event| ready(event.is_some()))
            .filter_map(ready);
        wait.chain(until_over)
    };
    let pauses = std::iter::once(Duration::ZERO).chain(std::iter::repeat(ANEW));
    stream::iter(pauses).map(begin).flatten()
}

/// Whether a watch was refused because it asks for what is too long ago.
fn is_too_late(error: &watcher::Error) -> bool {
    let watcher::Error::WatchStartFailed(kube::Error::Api(status)) = error else {
        return false;
    };
    status.code == 410
}

/// What is kept of an object: itself, or a part of it.
pub(crate) trait Kept {
    /// Which version of the object it is of.
    fn version(&self) -> Option<String>;
    /// Whether it concerns the same others as an older version of it.
    fn concerns_the_same(&self, before: &Self) -> bool;
}

impl<K: Resource> Kept for K {
    fn version(&self) -> Option<String> {
        self.resource_version()
    }

    fn concerns_the_same(&self, before: &Self) -> bool {
        self.labels() == before.labels()
    }
}

/// What a watch is about.
pub(crate) struct Watch<K, T = K> {
    /// The kind, and the namespace if only one is watched.
    pub(crate) api: Api<DeserializeGuard<K>>,
    /// The namespace, if only one is watched.
    pub(crate) namespace: Option<String>,
    /// Which objects.
    pub(crate) config: watcher::Config,
    /// Takes out of an object what somebody needs.
    pub(crate) keep: fn(K) -> T,
}

impl<K, T> Watch<K, T>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    T: Kept,
{
    /// Keeps the cache up to date, and tells whenever an object came, changed or went.
    pub(crate) async fn follow(
        self,
        cache: Arc<Cache<T>>,
        stop: CancellationToken,
        tell: impl Fn(&T) + Send,
    ) {
        let config = self.config.clone().page_size(PAGE);
        let events = events(self.api.clone(), config);
        let mut events = std::pin::pin!(events.take_until(stop.cancelled()));
        let mut seen = BTreeSet::new();
        let mut is_first = true;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => seen.clear(),
                Ok(Event::InitApply(object)) => {
                    seen.insert(ObjectKey::of(&object));
                    self.put(&cache, object, &tell);
                }
                Ok(Event::InitDone) => {
                    self.forget_others(&cache, &seen, &tell);
                    seen.clear();
                    if std::mem::take(&mut is_first) {
                        cache.missing.send_modify(|missing| *missing -= 1);
                    }
                }
                Ok(Event::Apply(object)) => self.put(&cache, object, &tell),
                Ok(Event::Delete(object)) => {
                    let key = ObjectKey::of(&object);
                    if let Some(gone) = cache.write(|objects| objects.remove(&key)) {
                        tell(&gone);
                    }
                }
                Err(error) => {
                    let kind = K::kind(&());
                    tracing::warn!(%kind, error = words::of_watch(&error), "the watch failed and is begun anew");
                }
            }
        }
    }

    fn put(&self, cache: &Cache<T>, object: DeserializeGuard<K>, tell: &impl Fn(&T)) {
        let key = ObjectKey::of(&object);
        let mut object = match object.0 {
            Ok(object) => object,
            Err(error) => {
                let kind = K::kind(&());
                tracing::warn!(%kind, %key, %error, "the object cannot be read and is left alone");
                cache.write(|objects| objects.remove(&key));
                return;
            }
        };
        object.meta_mut().managed_fields = None;
        let object = Arc::new((self.keep)(object));
        let before = cache.write(|objects| objects.insert(key, object.clone()));
        if let Some(before) = before {
            if before.version() == object.version() {
                return;
            }
            // Whom it named before, it concerns as well.
            if !object.concerns_the_same(&before) {
                tell(&before);
            }
        }
        tell(&object);
    }

    /// After a list: what it did not have is gone.
    fn forget_others(&self, cache: &Cache<T>, seen: &BTreeSet<ObjectKey>, tell: &impl Fn(&T)) {
        let is_ours = |key: &ObjectKey| {
            let namespace = self.namespace.as_ref();
            namespace.is_none_or(|namespace| key.namespace == *namespace)
        };
        let gone: Vec<Arc<T>> = cache.write(|objects| {
            let gone = objects.extract_if(.., |key, _| is_ours(key) && !seen.contains(key));
            gone.map(|(_, object)| object).collect()
        });
        for object in &gone {
            tell(object);
        }
    }
}
