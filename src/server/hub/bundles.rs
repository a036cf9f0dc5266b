//! What is inside of bundles, where the catalog does not say it.
//!
//! A catalog has what people want to know of a bundle, but neither its rights nor the schemas of its
//! APIs, unless it is of the older form that carries all manifests. Those come from the bundle
//! itself, which is read when somebody looks at it for the first time. Reading goes on when the
//! one who asked is gone, so that the next one finds it done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::about::{self, CsvFacts};
use super::error::Error;
use super::list::install_modes;
use super::recent::Recent;
use super::supply::{Supply, WantedBundle};
use super::views::{ImageView, InstallModeName, Knowledge};
use super::{Found, dependencies};
use crate::bundle::Bundle;
use crate::catalog::index::BundleRecord;

/// How many bundles are read at once, and how many may wait for that. A registry gets a part of it, so
/// that one that does not answer holds up nobody who asks another.
const AT_ONCE: usize = 4;
const AT_ONCE_OF_ONE: usize = 2;
const MOST_UNDERWAY: usize = 32;
const MOST_UNDERWAY_OF_ONE: usize = 12;
/// How many are unpacked at once.
const UNPACKED: usize = 2;
/// How long reading one may take, and how long somebody who asks is made to wait for it.
const LONGEST_READ: Duration = Duration::from_mins(2);
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long a failure is not tried again, and how many are remembered.
const FAILURE_LASTS: Duration = Duration::from_mins(5);
const MOST_FAILURES: usize = 1_000;
/// How much is kept of what was read last, packed. A bundle of 100 KB takes 10.
const MOST_BYTES: usize = 4 << 20;
/// How much a bundle may have, unpacked. The greatest real one has 7 MB.
const LARGEST: usize = 64 << 20;

/// What a catalog says of a bundle that somebody looks into.
#[derive(Debug)]
pub(super) struct Listed {
    /// The content of the catalog, the package and the bundle: the same key is always the same bundle.
    /// Two packages may have bundles of one name.
    key: String,
    name: String,
    wanted: WantedBundle,
    facts: CsvFacts,
    /// All manifests, if the catalog carries them.
    manifests: Option<Vec<Value>>,
    requires: Vec<String>,
    images: Vec<ImageView>,
    install_modes: Vec<InstallModeName>,
}

impl Listed {
    pub(super) fn new(found: &Found, bundle: &BundleRecord) -> Result<Self, Error> {
        let blob = found.blob(bundle)?;
        let manifests = about::manifests(&blob);
        Ok(Self {
            key: format!(
                "{} {} {}",
                found.content.digest, found.record.name, bundle.name
            ),
            name: bundle.name.clone(),
            wanted: WantedBundle {
                catalog: found.catalog.key.clone(),
                package: found.record.name.clone(),
                version: bundle.version.clone(),
                image: bundle.image.clone(),
            },
            facts: CsvFacts::of_blob(&blob),
            manifests: (!manifests.is_empty()).then_some(manifests),
            requires: dependencies::in_words(&found.record, bundle),
            images: about::related_images(&blob),
            install_modes: install_modes(bundle.install_modes),
        })
    }
}

/// A bundle as far as it could be read, still packed.
pub(super) struct Stored {
    listed: Listed,
    manifests: Result<Arc<[u8]>, String>,
}

/// A bundle as far as it could be read.
pub(super) struct Contents {
    /// Its name.
    pub(super) name: String,
    /// Whether everything is known.
    pub(super) knowledge: Knowledge,
    /// What its CSV says to people.
    pub(super) facts: CsvFacts,
    /// Its manifests, the CSV among them; none if they are not known.
    pub(super) manifests: Vec<Value>,
    /// What it needs, in words.
    pub(super) requires: Vec<String>,
    /// The images it uses.
    pub(super) images: Vec<ImageView>,
    /// The install modes it supports.
    pub(super) install_modes: Vec<InstallModeName>,
}

impl Stored {
    /// Unpacks it, which takes a while for a large one.
    pub(super) fn read(self) -> Result<Contents, Error> {
        let listed = self.listed;
        let (manifests, knowledge) = match (listed.manifests, self.manifests) {
            (Some(manifests), _) => (manifests, Knowledge::Complete),
            (None, Ok(packed)) => (unpack(&packed)?, Knowledge::Complete),
            (None, Err(why)) => (Vec::new(), Knowledge::Partial { why }),
        };
        Ok(Contents {
            name: listed.name,
            knowledge,
            facts: listed.facts,
            manifests,
            requires: listed.requires,
            images: listed.images,
            install_modes: listed.install_modes,
        })
    }
}

/// Bundles that were looked into.
#[derive(Clone)]
pub(super) struct Bundles(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    turns: Semaphore,
    unpacking: Arc<Semaphore>,
}

struct State {
    /// What was read.
    packed: Recent,
    failures: HashMap<String, (Instant, String)>,
    underway: HashMap<String, Underway>,
    /// Who reads from which registry. There are no more than catalogs name.
    registries: HashMap<String, Arc<Semaphore>>,
}

/// A bundle that is being read.
struct Underway {
    registry: String,
    done: watch::Receiver<bool>,
}

impl Default for Bundles {
    fn default() -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(State {
                packed: Recent::new(MOST_BYTES),
                failures: HashMap::new(),
                underway: HashMap::new(),
                registries: HashMap::new(),
            }),
            turns: Semaphore::new(AT_ONCE),
            unpacking: Arc::new(Semaphore::new(UNPACKED)),
        }))
    }
}

impl Bundles {
    /// Waits until a bundle may be unpacked, which takes ten times the memory of its files. It may
    /// until what this gives is dropped.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.0.unpacking.clone().acquire_owned().await.ok()
    }

    /// A bundle, as far as it can be read in reasonable time.
    pub(super) async fn get(
        &self,
        supply: &Arc<dyn Supply>,
        listed: Listed,
    ) -> Result<Stored, Error> {
        let manifests = if listed.manifests.is_some() {
            Ok(Arc::default())
        } else {
            self.manifests(supply, &listed).await
        };
        Ok(Stored { listed, manifests })
    }

    async fn manifests(
        &self,
        supply: &Arc<dyn Supply>,
        listed: &Listed,
    ) -> Result<Arc<[u8]>, String> {
        let mut done = {
            let mut state = self.0.lock();
            if let Some(known) = state.known(&listed.key) {
                return known;
            }
            match state.underway.get(&listed.key) {
                Some(underway) => underway.done.clone(),
                None if state.is_full(listed.wanted.registry()) => {
                    return Err("too many bundles are being read; try again in a moment".to_owned());
                }
                None => self.begin(&mut state, supply, listed),
            }
        };
        // The sender is dropped when the work is over, whichever way.
        let waited = tokio::time::timeout(PATIENCE, done.wait_for(|done| *done));
        let is_late = waited.await.is_err();
        let known = self.0.lock().known(&listed.key);
        known.unwrap_or_else(|| {
            let why = if is_late {
                "the bundle is being read; try again in a moment"
            } else {
                "the bundle could not be read"
            };
            Err(why.to_owned())
        })
    }

    fn begin(
        &self,
        state: &mut State,
        supply: &Arc<dyn Supply>,
        listed: &Listed,
    ) -> watch::Receiver<bool> {
        let (sender, receiver) = watch::channel(false);
        let registry = listed.wanted.registry().to_owned();
        let turns = state.turns(&registry);
        let underway = Underway {
            registry,
            done: receiver.clone(),
        };
        state.underway.insert(listed.key.clone(), underway);
        let (inner, supply) = (self.0.clone(), supply.clone());
        let (key, wanted) = (listed.key.clone(), listed.wanted.clone());
        tokio::spawn(async move {
            // Nobody closes them.
            let own_turn = turns.acquire().await;
            let turn = inner.turns.acquire().await;
            let read = tokio::time::timeout(LONGEST_READ, read(&*supply, &wanted)).await;
            drop((turn, own_turn));
            let read = read.unwrap_or_else(|_| Err("reading the bundle took too long".to_owned()));
            let mut state = inner.lock();
            state.underway.remove(&key);
            state.learn(key, read);
            drop(state);
            // Whoever waited may be gone.
            let _ = sender.send(true);
        });
        receiver
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether no more can be read from a registry for now.
    fn is_full(&self, registry: &str) -> bool {
        let underway = self.underway.values();
        let of_one = underway.filter(|it| it.registry == registry).count();
        of_one >= MOST_UNDERWAY_OF_ONE || self.underway.len() >= MOST_UNDERWAY
    }

    fn turns(&mut self, registry: &str) -> Arc<Semaphore> {
        let turns = self.registries.entry(registry.to_owned());
        turns
            .or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE_OF_ONE)))
            .clone()
    }

    fn known(&mut self, key: &str) -> Option<Result<Arc<[u8]>, String>> {
        if let Some(packed) = self.packed.get(key) {
            return Some(Ok(packed));
        }
        let (since, why) = self.failures.get(key)?;
        if since.elapsed() < FAILURE_LASTS {
            return Some(Err(why.clone()));
        }
        self.failures.remove(key);
        None
    }

    fn learn(&mut self, key: String, read: Result<Arc<[u8]>, String>) {
        match read {
            Ok(packed) => self.packed.put(key, packed),
            Err(why) => {
                if self.failures.len() >= MOST_FAILURES {
                    self.failures.clear();
                }
                self.failures.insert(key, (Instant::now(), why));
            }
        }
    }
}

async fn read(supply: &dyn Supply, wanted: &WantedBundle) -> Result<Arc<[u8]>, String> {
    let bundle = supply.bundle(wanted).await?;
    let packed = tokio::task::spawn_blocking(move || pack(bundle));
    packed.await.map_err(|error| error.to_string())?
}

fn pack(bundle: Bundle) -> Result<Arc<[u8]>, String> {
    let objects = bundle.objects.into_iter().map(|object| object.value);
    let manifests: Vec<Value> = std::iter::once(bundle.csv.value).chain(objects).collect();
    let json = serde_json::to_vec(&manifests).map_err(|error| error.to_string())?;
    if json.len() > LARGEST {
        return Err(format!("the bundle is larger than {} MiB", LARGEST >> 20));
    }
    let packed = zstd::bulk::compress(&json, 3).map_err(|error| error.to_string())?;
    Ok(packed.into())
}

fn unpack(packed: &[u8]) -> Result<Vec<Value>, Error> {
    let json = zstd::bulk::decompress(packed, LARGEST).map_err(Error::internal)?;
    serde_json::from_slice(&json).map_err(Error::internal)
}
