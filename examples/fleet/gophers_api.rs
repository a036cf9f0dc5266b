//! A list of gophers that lives outside of what Kubernetes knows, with a page that shows it as it changes.
//!
//! ```text
//! GET    /              the page
//! GET    /gophers       all gophers                         DELETE /gophers      forgets them
//! GET    /gopher?id=    one of them                         DELETE /gopher?id=   forgets it
//! POST   /gopher        a new one                           PUT    /gopher       another look for it
//! GET    /picture/NAME.svg, /events (the list, whenever it changes), /healthz, /readyz
//! ```
//!
//! Whoever changes something has to know the key. The list is in memory only: who feeds it looks whether
//! it is still right.

mod burrow;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use futures::{Stream, StreamExt as _, stream};
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use self::burrow::{Burrow, Refusal};
use crate::gopher::Gopher;
use crate::{drawing, serving};

/// The longest body that is read.
const LONGEST_BODY: usize = 16 * 1024;
/// How many may look on at once.
const ONLOOKERS: usize = 64;
/// The header that has the key.
const KEY: &str = "x-api-key";
/// Nothing from elsewhere, and nothing that somebody wrote into a gopher, is run or loaded.
const POLICY: &str = "default-src 'none'; connect-src 'self'; img-src 'self'; script-src 'self'; \
                      style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// How it is started. Without a key, one is chosen and logged.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Where it is served
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// The key that changes need
    #[arg(
        long,
        value_name = "KEY",
        env = "GOPHERS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    /// A file with that key
    #[arg(long, value_name = "FILE", conflicts_with = "api_key")]
    api_key_file: Option<PathBuf>,
}

/// What the handlers share.
#[derive(Clone)]
struct Shared {
    burrow: Burrow,
    key: Arc<str>,
    onlookers: Arc<Semaphore>,
    stop: CancellationToken,
}

pub(crate) async fn run(args: &Args, stop: CancellationToken) -> anyhow::Result<()> {
    let key = key(args)?;
    let router = router(Burrow::default(), &key, stop.clone());
    tracing::info!(address = %args.listen, "the burrow is open");
    serving::serve(args.listen, router, stop).await
}

/// The key without blanks around it: a header has none, and what is made of a file often does.
fn key(args: &Args) -> anyhow::Result<String> {
    let given = match (&args.api_key, &args.api_key_file) {
        (Some(key), _) => key.clone(),
        (None, Some(file)) => fs_err::read_to_string(file)?,
        (None, None) => {
            let key = random_key()?;
            tracing::info!(key, "nobody gave me a key, so this is it");
            key
        }
    };
    let key = given.trim();
    ensure!(!key.is_empty(), "the API key is empty");
    Ok(key.to_owned())
}

fn random_key() -> anyhow::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0; 30];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut random)
        .map_err(|_| anyhow!("this system has no random numbers"))?;
    let letter = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
    Ok(random.into_iter().map(letter).collect())
}

fn router(burrow: Burrow, key: &str, stop: CancellationToken) -> Router {
    let shared = Shared {
        burrow,
        key: key.into(),
        onlookers: Arc::new(Semaphore::new(ONLOOKERS)),
        stop,
    };
    Router::new()
        .route("/gophers", get(list).delete(clear))
        .route("/gopher", get(read).post(create).put(update).delete(remove))
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .route("/events", get(events))
        .route("/picture/{file}", get(picture))
        .route(
            "/",
            get(async || {
                asset(
                    "text/html; charset=utf-8",
                    include_str!("gophers_api/page.html"),
                )
            }),
        )
        .route(
            "/page.css",
            get(async || {
                asset(
                    "text/css; charset=utf-8",
                    include_str!("gophers_api/page.css"),
                )
            }),
        )
        .route(
            "/page.js",
            get(async || {
                asset(
                    "text/javascript; charset=utf-8",
                    include_str!("gophers_api/page.js"),
                )
            }),
        )
        .with_state(shared)
        .merge(serving::probes())
}

/// Lets everybody look, and those change something who know the key.
async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    if request.method().is_safe() || knows_key(request.headers(), &shared.key) {
        return next.run(request).await;
    }
    let words = format!("a change needs the API key in the header {KEY}");
    refused(StatusCode::FORBIDDEN, &words)
}

/// Takes as long for a key that is nearly right as for one that is not.
fn knows_key(headers: &HeaderMap, key: &str) -> bool {
    let Some(said) = headers.get(KEY) else {
        return false;
    };
    let (said, key) = (said.as_bytes(), key.as_bytes());
    let pairs = said.iter().zip(key);
    let differences = pairs.fold(0, |all, (said, key)| all | (said ^ key));
    differences == 0 && said.len() == key.len()
}

async fn list(State(shared): State<Shared>) -> Response {
    axum::Json(shared.burrow.all()).into_response()
}

async fn clear(State(shared): State<Shared>) -> StatusCode {
    shared.burrow.clear();
    StatusCode::NO_CONTENT
}

async fn read(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let found = id(query.as_deref()).and_then(|id| shared.burrow.get(&id));
    answer(found.map(|gopher| axum::Json(gopher).into_response()))
}

async fn create(State(shared): State<Shared>, body: Bytes) -> Response {
    let created = gopher(&body).and_then(|gopher| shared.burrow.create(gopher));
    answer(created.map(|gopher| (StatusCode::CREATED, axum::Json(gopher)).into_response()))
}

async fn update(State(shared): State<Shared>, body: Bytes) -> Response {
    let updated = gopher(&body).and_then(|gopher| shared.burrow.update(gopher));
    answer(updated.map(|gopher| axum::Json(gopher).into_response()))
}

async fn remove(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let removed = id(query.as_deref()).and_then(|id| shared.burrow.remove(&id));
    answer(removed.map(|()| StatusCode::NO_CONTENT.into_response()))
}

/// The gopher that is asked about.
fn id(query: Option<&str>) -> Result<String, Refusal> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let id = pairs.find_map(|(key, value)| (key == "id").then(|| value.into_owned()));
    id.filter(|id| !id.is_empty())
        .ok_or_else(|| Refusal::Malformed("which gopher? say ?id=".to_owned()))
}

/// The gopher in a body.
fn gopher(body: &[u8]) -> Result<Gopher, Refusal> {
    let gopher: Gopher = serde_json::from_slice(body)
        .map_err(|error| Refusal::Malformed(format!("this is no gopher: {error}")))?;
    match gopher.problem() {
        Some(problem) => Err(Refusal::Malformed(problem)),
        None => Ok(gopher),
    }
}

fn answer(outcome: Result<Response, Refusal>) -> Response {
    let refusal = match outcome {
        Ok(response) => return response,
        Err(refusal) => refusal,
    };
    let status = match &refusal {
        Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
        Refusal::Unknown(_) => StatusCode::NOT_FOUND,
        Refusal::Exists(_) => StatusCode::CONFLICT,
        Refusal::Full => StatusCode::INSUFFICIENT_STORAGE,
    };
    refused(status, &refusal.to_string())
}

fn refused(status: StatusCode, words: &str) -> Response {
    (status, axum::Json(json!({"error": words}))).into_response()
}

/// The list now, and again whenever it changed, as long as somebody looks.
async fn events(State(shared): State<Shared>) -> Response {
    let Ok(seat) = shared.onlookers.try_acquire_owned() else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "too many look on already");
    };
    let lists = lists(shared.burrow.follow())
        .take_until(shared.stop.cancelled_owned())
        .map(move |list| {
            // Until the stream ends.
            let _ = &seat;
            let event = Event::default().json_data(list).unwrap_or_default();
            Ok::<_, Infallible>(event)
        });
    Sse::new(lists)
        .keep_alive(KeepAlive::default())
        .into_response()
}

fn lists(mut burrow: watch::Receiver<burrow::Gophers>) -> impl Stream<Item = Vec<Gopher>> + Send {
    burrow.mark_changed();
    stream::unfold(burrow, async |mut burrow| {
        burrow.changed().await.ok()?;
        let list = burrow.borrow_and_update().values().cloned().collect();
        Some((list, burrow))
    })
}

async fn picture(Path(file): Path<String>) -> Response {
    let name = file.strip_suffix(".svg").unwrap_or(&file);
    asset("image/svg+xml", drawing::picture(name))
}

fn asset(kind: &'static str, content: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, content).into_response()
}

#[cfg(test)]
mod tests;
