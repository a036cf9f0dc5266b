//! How much may be asked at once, and for how long.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{ApiError, Code};

/// How many requests are worked on at once, and how long others wait for their turn.
const REQUESTS: usize = 64;
const WAIT: Duration = Duration::from_secs(5);
/// How long one may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long an address may be.
const LONGEST_ADDRESS: usize = 8 << 10;
/// How large a body may be.
pub(super) const LARGEST_BODY: usize = 64 << 10;
/// How many questions to the resolver are answered at once, and how many answers of any length.
const RESOLVING: usize = 2;
const STREAMS: usize = 32;
/// How many visitors change something at once.
const WRITING: usize = 4;

/// Who may do what takes long.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    requests: Arc<Semaphore>,
    resolving: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    writing: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            requests: Arc::new(Semaphore::new(REQUESTS)),
            resolving: Arc::new(Semaphore::new(RESOLVING)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            writing: Arc::new(Semaphore::new(WRITING)),
        }
    }
}

impl Turns {
    /// Waits for a turn to ask the resolver.
    pub(super) async fn resolving(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        turn(&self.resolving).await
    }

    /// Waits for a turn to change something.
    pub(super) async fn writing(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        turn(&self.writing).await
    }

    /// A turn for an answer that goes on for long.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let turn = self.streams.clone().try_acquire_owned();
        turn.map_err(|_| overloaded())
    }
}

async fn turn(of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    let turn = tokio::time::timeout(WAIT, of.clone().acquire_owned()).await;
    turn.ok().and_then(Result::ok).ok_or_else(overloaded)
}

fn overloaded() -> ApiError {
    ApiError::new(Code::Overloaded, "there is too much to do").hint("try again in a moment")
}

/// Lets a request in when there is room, and out when it takes too long.
pub(super) async fn limit(State(turns): State<Turns>, request: Request, next: Next) -> Response {
    let uri = request.uri();
    let length = uri.path().len() + uri.query().map_or(0, str::len);
    if length > LONGEST_ADDRESS {
        let message = format!("the address is longer than {LONGEST_ADDRESS} bytes");
        return ApiError::new(Code::TooLarge, message).into_response();
    }
    let turn = match turn(&turns.requests).await {
        Ok(turn) => turn,
        Err(error) => return error.into_response(),
    };
    let answer = tokio::time::timeout(TIMEOUT, next.run(request)).await;
    drop(turn);
    answer.unwrap_or_else(|_| {
        ApiError::new(Code::Timeout, "the answer took too long")
            .hint("try again later, or ask for less")
            .into_response()
    })
}
