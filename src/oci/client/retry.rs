//! Trying again.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use super::Registry;
use crate::oci::Error;

/// What is tried again, and when. Only what is transient is: connections that fail or break,
/// timeouts, 429 and 5xx.
#[derive(Debug, Clone)]
pub struct Retry {
    /// How many times, after the first.
    pub times: usize,
    /// The first pause; each one after it is twice as long, and all are shaken a little.
    pub first_pause: Duration,
    /// The longest pause. A registry that wants to be left alone for longer than that is not
    /// waited for: the error tells when to come again.
    pub longest_pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 5,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_mins(1),
        }
    }
}

/// The pauses of one undertaking.
pub(super) struct Pauses {
    retry: Retry,
    pauses: ExponentialBackoff,
}

impl Pauses {
    pub(super) fn new(retry: &Retry) -> Self {
        Self {
            pauses: Self::pauses(retry),
            retry: retry.clone(),
        }
    }

    /// Something was achieved: count anew.
    pub(super) fn reset(&mut self) {
        self.pauses = Self::pauses(&self.retry);
    }

    /// Waits before the next attempt, or gives the error back when there is none.
    pub(super) async fn after(&mut self, error: Error) -> Result<(), Error> {
        if !error.is_transient() {
            return Err(error);
        }
        let Some(pause) = self.pauses.next() else {
            return Err(error);
        };
        let asked = error.retry_after().unwrap_or_default();
        if asked > self.retry.longest_pause {
            return Err(error);
        }
        let pause = pause.max(asked);
        tracing::debug!(%error, ?pause, "trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }

    fn pauses(retry: &Retry) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(retry.first_pause)
            .with_max_delay(retry.longest_pause)
            .with_max_times(retry.times)
            .with_jitter()
            .build()
    }
}

impl Registry {
    /// Does something, again and again if need be.
    ///
    /// Not an async closure: its future would not be known to move between threads.
    pub(super) async fn retried<T, F: Future<Output = Result<T, Error>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        let mut pauses = Pauses::new(&self.settings.retry);
        loop {
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) => pauses.after(error).await?,
            }
        }
    }
}
