//! How much of what takes long may be asked at once.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{ApiError, Code};
use crate::server::limits::{Refusal, turn};

/// How large a body may be.
pub(super) const LARGEST_BODY: usize = 64 << 10;
/// How many questions to the resolver are answered at once.
const RESOLVING: usize = 2;
/// How many are sent whole catalogs, and how many are told of changes. The former end; the latter do not, and
/// cost next to nothing.
const CATALOGS: usize = 32;
const WATCHERS: usize = 256;
/// How many visitors change something at once.
const WRITING: usize = 4;

/// Who may do what takes long.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    resolving: Arc<Semaphore>,
    catalogs: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
    writing: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        let turns = |most| Arc::new(Semaphore::new(most));
        Self {
            resolving: turns(RESOLVING),
            catalogs: turns(CATALOGS),
            watchers: turns(WATCHERS),
            writing: turns(WRITING),
        }
    }
}

impl Turns {
    /// Waits for a turn to ask the resolver.
    pub(super) async fn resolving(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Ok(turn(&self.resolving).await?)
    }

    /// Waits for a turn to change something.
    pub(super) async fn writing(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Ok(turn(&self.writing).await?)
    }

    /// A turn to be sent a whole catalog.
    pub(super) fn catalog(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        at_once(&self.catalogs)
    }

    /// A turn to be told of changes.
    pub(super) fn watcher(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        at_once(&self.watchers)
    }
}

fn at_once(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    let turn = turns.clone().try_acquire_owned();
    turn.map_err(|_| Refusal::Overloaded.into())
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::LongAddress => Code::TooLarge,
            Refusal::Overloaded => Code::Overloaded,
            Refusal::Late => Code::Timeout,
        };
        Self::new(code, refusal.message()).hint(refusal.hint())
    }
}

/// A refusal in the form of the API.
pub(super) fn refuse(refusal: Refusal) -> Response {
    ApiError::from(refusal).into_response()
}
