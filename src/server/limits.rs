//! How much may be asked at once, and for how long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many requests are worked on at once, and how long others wait for their turn.
const REQUESTS: usize = 64;
const WAIT: Duration = Duration::from_secs(5);
/// How long one may take until its answer begins.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long an address may be.
pub(super) const LONGEST_ADDRESS: usize = 8 << 10;

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Its address is too long.
    LongAddress,
    /// There is too much to do.
    Overloaded,
    /// The answer took too long.
    Late,
}

impl Refusal {
    /// What is wrong, for people.
    pub(super) fn message(self) -> String {
        match self {
            Self::LongAddress => format!("the address is longer than {LONGEST_ADDRESS} bytes"),
            Self::Overloaded => "there is too much to do".to_owned(),
            Self::Late => "the answer took too long".to_owned(),
        }
    }

    /// What to do next.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::LongAddress => "ask for less",
            Self::Overloaded => "try again in a moment",
            Self::Late => "try again later, or ask for less",
        }
    }
}

/// Lets a number of requests in, and says no to others in its own form.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    turns: Arc<Semaphore>,
    refuse: fn(Refusal) -> Response,
}

impl Gate {
    pub(super) fn new(refuse: fn(Refusal) -> Response) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(REQUESTS)),
            refuse,
        }
    }
}

/// Marks an answer that goes on for long, and that has a limit of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct GoesOn;

/// Waits for a turn, although not for ever.
pub(super) async fn turn(of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let turn = tokio::time::timeout(WAIT, of.clone().acquire_owned()).await;
    turn.ok().and_then(Result::ok).ok_or(Refusal::Overloaded)
}

/// Lets a request in when there is room, and out when it takes too long. Its place is free again when its
/// answer was read, or when nobody is there to read it any more.
pub(super) async fn limit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let uri = request.uri();
    let length = uri.path().len() + uri.query().map_or(0, str::len);
    if length > LONGEST_ADDRESS {
        return (gate.refuse)(Refusal::LongAddress);
    }
    let turn = match turn(&gate.turns).await {
        Ok(turn) => turn,
        Err(refusal) => return (gate.refuse)(refusal),
    };
    let Ok(answer) = tokio::time::timeout(TIMEOUT, next.run(request)).await else {
        return (gate.refuse)(Refusal::Late);
    };
    if answer.extensions().get::<GoesOn>().is_some() {
        return answer;
    }
    answer.map(|body| Body::new(Held { body, _turn: turn }))
}

/// An answer that keeps its turn until it is over.
struct Held {
    body: Body,
    _turn: OwnedSemaphorePermit,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn_with_state;
    use axum::response::IntoResponse as _;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    fn refuse(refusal: Refusal) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, refusal.message()).into_response()
    }

    async fn ask(router: &Router, path: &str) -> Response {
        let request = Request::get(path).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_nobody_reads_keep_their_turns_and_those_that_go_on_do_not() {
        let going_on = || async { (axum::Extension(GoesOn), "and on").into_response() };
        let router = Router::new()
            .route("/", get(|| async { "whole" }))
            .route("/on", get(going_on))
            .layer(from_fn_with_state(Gate::new(refuse), limit));
        let mut going_on = Vec::new();
        for _ in 0..REQUESTS {
            going_on.push(ask(&router, "/on").await);
        }
        let mut unread = Vec::new();
        for _ in 0..REQUESTS {
            unread.push(ask(&router, "/").await);
            assert_eq!(unread.last().unwrap().status(), StatusCode::OK);
        }
        let late = ask(&router, "/").await;
        assert_eq!(late.status(), StatusCode::SERVICE_UNAVAILABLE);
        unread.pop();
        assert_eq!(ask(&router, "/").await.status(), StatusCode::OK);
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_given_up_and_leaves_its_turn_to_others() {
        let router = Router::new()
            .route("/", get(std::future::pending::<&'static str>))
            .layer(from_fn_with_state(Gate::new(refuse), limit));
        for _ in 0..=REQUESTS {
            let answer = ask(&router, "/").await;
            let body = axum::body::to_bytes(answer.into_body(), 1000)
                .await
                .unwrap();
            assert_eq!(body, Refusal::Late.message());
        }
    }

    #[tokio::test]
    async fn an_address_of_any_length_is_not_looked_at() {
        let router = Router::new()
            .fallback(|| async { "looked at" })
            .layer(from_fn_with_state(Gate::new(refuse), limit));
        let long = format!("/?q={}", "x".repeat(LONGEST_ADDRESS));
        let answer = ask(&router, &long).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
