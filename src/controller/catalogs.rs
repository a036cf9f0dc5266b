//! The contents of catalogs, as far as they could be read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::catalog::index::Index;
use crate::resolver::CatalogKey;

/// What is known of a catalog.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// The content that serves.
    pub(crate) content: Option<Content>,
    /// Why newer content could not be read, if that is so.
    pub(crate) problem: Option<String>,
    /// What does not keep it from being read, but may soon.
    pub(crate) warning: Option<String>,
    /// What the spec named when it was last looked at.
    pub(crate) origin: String,
    /// When it was last looked at.
    pub(crate) looked: Instant,
    /// Since when newer content cannot be read.
    pub(crate) failing: Option<Instant>,
}

/// Content that was read.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    /// Its digest.
    pub(crate) digest: String,
    /// The content.
    pub(crate) index: Arc<Index>,
}

impl Known {
    /// What is served for now by somebody who did not look yet whether there is something newer.
    pub(crate) fn serving(content: Content) -> Self {
        Self {
            content: Some(content),
            problem: None,
            warning: None,
            origin: String::new(),
            looked: Instant::now(),
            failing: None,
        }
    }

    /// What others can tell apart.
    fn essence(&self) -> (Option<&str>, Option<&str>) {
        let digest = self.content.as_ref().map(|content| content.digest.as_str());
        (digest, self.problem.as_deref())
    }
}

/// The catalogs of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    known: RwLock<BTreeMap<CatalogKey, Known>>,
    /// Since when somebody waits for a catalog that was not looked at yet.
    awaited: Mutex<BTreeMap<CatalogKey, Instant>>,
}

impl Catalogs {
    /// What is known of a catalog.
    pub(crate) fn get(&self, key: &CatalogKey) -> Option<Known> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    /// The digests of all that serves.
    pub(crate) fn digests(&self) -> Vec<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let contents = known.values().filter_map(|known| known.content.as_ref());
        contents.map(|content| content.digest.clone()).collect()
    }

    /// Takes note of what was found, and says whether that is news.
    pub(crate) fn set(&self, key: &CatalogKey, mut known: Known) -> bool {
        let mut catalogs = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.remove(key);
        drop(awaited);
        let failing = catalogs.get(key).and_then(|before| before.failing);
        known.failing = known
            .problem
            .is_some()
            .then(|| failing.unwrap_or(known.looked));
        let before = catalogs.get(key).map(|before| {
            let (digest, problem) = before.essence();
            (digest.map(str::to_owned), problem.map(str::to_owned))
        });
        let (digest, problem) = known.essence();
        let now = (digest.map(str::to_owned), problem.map(str::to_owned));
        catalogs.insert(key.clone(), known);
        before != Some(now)
    }

    /// For how long newer content of a catalog could not be read.
    pub(crate) fn failing_for(&self, key: &CatalogKey) -> Duration {
        let failing = self.get(key).and_then(|known| known.failing);
        failing.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// For how long a catalog was waited for that was not looked at yet.
    pub(crate) fn awaited_for(&self, key: &CatalogKey) -> Duration {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        let since = awaited.entry(key.clone()).or_insert_with(Instant::now);
        since.elapsed()
    }

    /// Forgets a catalog, and says whether it was known.
    pub(crate) fn remove(&self, key: &CatalogKey) -> bool {
        let mut catalogs = self.known.write().unwrap_or_else(PoisonError::into_inner);
        catalogs.remove(key).is_some()
    }
}
