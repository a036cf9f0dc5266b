//! What is remembered of installs: it saves writes, and may be forgotten at any time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::circumstances::Circumstances;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvReason;
use crate::api::subscription::SubscriptionConfig;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::lifecycle::install::{Key, Seen};
use crate::lifecycle::phase::{self, SinceGivenUp};

/// What is remembered of installs.
#[derive(Debug, Default)]
pub(in crate::controller) struct Attempts {
    /// The generation that an object had right after we wrote it.
    generations: Mutex<HashMap<Key, i64>>,
    /// The installs that were given up.
    given_up: Mutex<HashMap<ObjectKey, GivenUp>>,
}

/// An install that was given up.
#[derive(Clone, Copy, Debug)]
struct GivenUp {
    /// How things were.
    circumstances: u64,
    /// How often it was tried again although they were the same.
    tries: u32,
    /// When it is tried again although they are the same.
    again: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked with it left a map that is at worst incomplete.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Attempts {
    /// Remembers what an object was like right after it was written.
    pub(super) fn wrote(&self, key: Key, generation: i64) {
        lock(&self.generations).insert(key, generation);
    }

    /// Tells which objects are as the API server wanted them when they were written.
    pub(super) fn settled(&self, mut seen: Seen, keys: Vec<Key>) -> Seen {
        let generations = lock(&self.generations);
        for key in keys {
            if let Some(generation) = generations.get(&key) {
                seen = seen.settled(key, *generation);
            }
        }
        seen
    }

    /// Forgets what is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        lock(&self.given_up).remove(key);
        lock(&self.generations).retain(|object, _| object.namespace != key.namespace);
    }

    /// How things are compared to when an install was given up.
    pub(super) async fn since_given_up(
        &self,
        context: &Context,
        csv: &ClusterServiceVersion,
        config: Option<&SubscriptionConfig>,
    ) -> Result<SinceGivenUp, Error> {
        let status = csv.status.as_ref();
        let key = ObjectKey::of(csv);
        if status.is_none_or(|it| it.reason != CsvReason::InstallComponentFailedNoRetry) {
            lock(&self.given_up).remove(&key);
            return Ok(SinceGivenUp::Changed);
        }
        let now = Circumstances::read(context, csv, config).await?.number();
        let given_up = lock(&self.given_up).get(&key).copied();
        Ok(match given_up {
            Some(then) if then.circumstances == now => SinceGivenUp::Same {
                rest: then.again.saturating_duration_since(Instant::now()),
            },
            _ => SinceGivenUp::Changed,
        })
    }

    /// Remembers how things were when an install was given up.
    pub(super) async fn give_up(
        &self,
        context: &Context,
        csv: &ClusterServiceVersion,
        config: Option<&SubscriptionConfig>,
    ) -> Result<(), Error> {
        let circumstances = Circumstances::read(context, csv, config).await?.number();
        let mut given_up = lock(&self.given_up);
        let before = given_up.get(&ObjectKey::of(csv));
        let tries = before.map_or(0, |before| before.tries.saturating_add(1));
        let now = GivenUp {
            circumstances,
            tries,
            again: Instant::now() + phase::rest(tries),
        };
        given_up.insert(ObjectKey::of(csv), now);
        Ok(())
    }
}
