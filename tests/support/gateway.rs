//! A door between a process and the API server, which sees everything that is written and can be
//! shut after any single write, for good or for a while.
//!
//! Towards the process it speaks plain HTTP on loopback; to the API server it goes with the rights of
//! an admin.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use http::{HeaderMap, Method, StatusCode, header};
use kube::Client;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::case::DEADLINE;

/// The API server takes no larger ones either.
const LARGEST: usize = 8 * 1024 * 1024;

/// How often a process renews its Lease before it is believed to have nothing to write.
const BEATS: usize = 2;

/// Something that the process wrote, or tried to.
#[derive(Debug, Clone)]
pub struct Write {
    pub method: Method,
    /// The path, with its query.
    pub path: String,
    pub status: StatusCode,
    body: Bytes,
}

impl Write {
    /// Whether the API server did it.
    pub fn is_done(&self) -> bool {
        self.status.is_success()
    }

    /// Whether it is about an object of a kind, by the plural of its name; `KIND/status` is only
    /// about the status.
    pub fn is(&self, method: &str, kind: &str) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        let (kind, part) = kind.split_once('/').unwrap_or((kind, ""));
        let mut parts = path.split('/').skip_while(|it| *it != kind).skip(2);
        self.method == method
            && path.split('/').any(|it| it == kind)
            && parts.next().unwrap_or_default() == part
    }

    /// Whether its object says this somewhere.
    pub fn says(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.body).contains(text)
    }

    /// Whether it is about something in these namespaces, or about something else because of them.
    fn concerns(&self, namespaces: &[String]) -> bool {
        let mut names = namespaces.iter();
        names.any(|name| self.path.contains(name.as_str()) || self.says(name))
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({})",
            self.method,
            self.path,
            self.status.as_u16()
        )
    }
}

/// Says after which write the door is shut, given those that were done.
type Shut = Box<dyn Fn(&[Write]) -> bool + Send>;

/// Says which requests are meant, by their method and path.
type Meant = Box<dyn Fn(&Method, &str) -> bool + Send + Sync>;

/// Requests that wait at the door until they are let through.
struct Hold {
    is_meant: Meant,
    /// How those that waited are answered instead of being let through, and whoever asks for the same later.
    refusal: Option<Refusal>,
    refused: Mutex<HashSet<String>>,
    reached: CancellationToken,
    released: CancellationToken,
}

/// How the API server says that what a watch wants to go on from is too long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// By not beginning the watch.
    Status,
    /// In the answer to the watch.
    Event,
}

impl Refusal {
    fn answer(self) -> Response {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
            "reason": "Expired", "message": "too old resource version",
        });
        let (code, body) = match self {
            Self::Status => (StatusCode::GONE, status),
            Self::Event => (StatusCode::OK, json!({"type": "ERROR", "object": status})),
        };
        let mut response = Response::new(Body::from(format!("{body}\n")));
        *response.status_mut() = code;
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// The API server is gone for a while once certain writes were done.
struct Outage {
    after: Shut,
    time: Duration,
}

/// What waits at the door.
pub struct Held(Arc<Hold>);

impl Held {
    /// Waits until a request is held.
    pub async fn is_reached(&self) {
        self.0.reached.cancelled().await;
    }

    /// Lets all of them through, and whatever comes later.
    pub fn release(&self) {
        self.0.released.cancel();
    }
}

/// A running gateway; it ends when this is dropped.
pub struct Gateway {
    inner: Arc<Inner>,
    folder: TempDir,
    task: JoinHandle<()>,
}

struct Inner {
    client: Client,
    namespaces: Vec<String>,
    /// What was written, without Leases, Events and questions.
    writes: watch::Sender<Vec<Write>>,
    /// How often a Lease was renewed.
    beats: watch::Sender<usize>,
    shut_after: Mutex<Option<Shut>>,
    outage: Mutex<Option<Outage>>,
    is_away: watch::Sender<bool>,
    /// Ends all answers that are not whole yet.
    cut: Mutex<CancellationToken>,
    hold: Mutex<Option<Arc<Hold>>>,
    shut: CancellationToken,
    /// Writes go through one after the other, so that none slips through beside the last one.
    one: tokio::sync::Mutex<()>,
}

impl Gateway {
    /// A gateway that sees what is written in these namespaces or because of them.
    pub async fn start(client: Client, namespaces: &[&str]) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let inner = Arc::new(Inner {
            client,
            namespaces: namespaces.iter().map(|it| (*it).to_owned()).collect(),
            writes: watch::Sender::default(),
            beats: watch::Sender::default(),
            shut_after: Mutex::default(),
            outage: Mutex::default(),
            is_away: watch::Sender::default(),
            cut: Mutex::default(),
            hold: Mutex::default(),
            shut: CancellationToken::new(),
            one: tokio::sync::Mutex::default(),
        });
        let folder = tempfile::tempdir()?;
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "gateway",
            "clusters": [{"name": "gateway", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "gateway", "user": {}}],
            "contexts": [{"name": "gateway", "context": {"cluster": "gateway", "user": "gateway"}}],
        });
        fs_err::write(folder.path().join("kubeconfig"), kubeconfig.to_string())?;
        let router = Router::new().fallback(hand_on).with_state(inner.clone());
        let task = tokio::spawn(async move {
            // It ends with its task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            inner,
            folder,
            task,
        })
    }

    /// Shuts the door for everything as soon as the writes that were done are such.
    pub fn shut_after(&self, writes: impl Fn(&[Write]) -> bool + Send + 'static) {
        *self.inner.shut_after.lock().unwrap() = Some(Box::new(writes));
    }

    /// Has the API server go away as soon as the writes that were done are such, for some time. Whoever waits for an
    /// answer then gets none, also to what was done.
    pub fn away_after(&self, writes: impl Fn(&[Write]) -> bool + Send + 'static, time: Duration) {
        *self.inner.outage.lock().unwrap() = Some(Outage {
            after: Box::new(writes),
            time,
        });
    }

    /// Waits until the API server was away and is back.
    pub async fn was_away(&self) {
        let mut is_away = self.inner.is_away.subscribe();
        // The sender is part of the gateway.
        let _ = is_away.wait_for(|is_away| *is_away).await;
        let _ = is_away.wait_for(|is_away| !*is_away).await;
    }

    /// Ends all answers that are not whole yet, above all those to watches.
    pub fn cut(&self) {
        self.inner.cut();
    }

    /// Has requests wait, by their method and their path with its query. Others go on.
    pub fn hold(&self, is_meant: impl Fn(&Method, &str) -> bool + Send + Sync + 'static) -> Held {
        self.hold_back(is_meant, None)
    }

    /// Has watches wait, by their path with its query, and tells them then that they are too late.
    pub fn outdate(
        &self,
        is_meant: impl Fn(&str) -> bool + Send + Sync + 'static,
        refusal: Refusal,
    ) -> Held {
        self.hold_back(move |_, path| is_meant(path), Some(refusal))
    }

    fn hold_back(
        &self,
        is_meant: impl Fn(&Method, &str) -> bool + Send + Sync + 'static,
        refusal: Option<Refusal>,
    ) -> Held {
        let hold = Arc::new(Hold {
            is_meant: Box::new(is_meant),
            refusal,
            refused: Mutex::default(),
            reached: CancellationToken::new(),
            released: CancellationToken::new(),
        });
        *self.inner.hold.lock().unwrap() = Some(hold.clone());
        Held(hold)
    }

    /// Waits until the door is shut.
    pub async fn is_shut(&self) {
        self.inner.shut.cancelled().await;
    }

    /// How a process gets through.
    pub fn kubeconfig(&self) -> PathBuf {
        self.path().join("kubeconfig")
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What was written, without Leases, Events and questions.
    pub fn writes(&self) -> Vec<Write> {
        self.inner.writes.borrow().clone()
    }

    /// Waits until nothing was written for some time, in which the process also got to renew its Lease some times:
    /// one that does not get to anything, because others have the machine, is not done for that.
    pub async fn quiet(&self, time: Duration) {
        let mut writes = self.inner.writes.subscribe();
        let mut beats = self.inner.beats.subscribe();
        loop {
            beats.mark_unchanged();
            let is_alive = async {
                for _ in 0..BEATS {
                    // The sender is part of the gateway.
                    let _ = beats.changed().await;
                }
            };
            let idle = async {
                tokio::time::sleep(time).await;
                // One that was stopped has no pulse, and writes nothing.
                let _ = tokio::time::timeout(DEADLINE, is_alive).await;
            };
            tokio::select! {
                changed = writes.changed() => if changed.is_err() { return },
                () = idle => return,
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.inner.shut.cancel();
        self.task.abort();
    }
}

/// One in each line.
pub fn lines(writes: &[Write]) -> String {
    let lines = writes.iter().enumerate();
    let lines: Vec<String> = lines
        .map(|(at, write)| format!("{:3} {write}", at + 1))
        .collect();
    lines.join("\n")
}

/// Hands a request on, unless the door is shut: then there is never an answer.
async fn hand_on(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let answer = tokio::select! {
        answer = answer(&inner, request) => answer,
        () = inner.shut.cancelled() => std::future::pending().await,
    };
    answer.unwrap_or_else(|error| {
        let mut response = Response::new(Body::from(format!("{error:#}")));
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    })
}

async fn answer(inner: &Arc<Inner>, request: Request) -> anyhow::Result<Response> {
    anyhow::ensure!(!*inner.is_away.borrow(), "nobody is there");
    let refusal = inner
        .waits(request.method(), &request.uri().to_string())
        .await;
    if let Some(refusal) = refusal {
        return Ok(refusal.answer());
    }
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, LARGEST).await?;
    parts.headers.remove(header::HOST);
    without_hops(&mut parts.headers);
    let (method, path) = (parts.method.clone(), parts.uri.to_string());
    let upstream = http::Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
    if !changes_something(&method, &path) {
        let answer = inner.client.send(upstream).await?;
        if method != Method::GET && path.contains("/leases/") {
            inner.beats.send_modify(|beats| *beats += 1);
        }
        return Ok(passed(inner, answer));
    }
    let inner = inner.clone();
    // On its own, so that a client that goes away does not end what is on its way.
    let done = tokio::spawn(async move {
        let one = inner.one.lock().await;
        if inner.shut.is_cancelled() {
            std::future::pending::<()>().await;
        }
        let answer = inner.client.send(upstream).await?;
        let write = Write {
            method,
            path,
            status: answer.status(),
            body,
        };
        if write.concerns(&inner.namespaces) {
            inner.note(write);
        }
        drop(one);
        anyhow::ensure!(!*inner.is_away.borrow(), "nobody is there any more");
        anyhow::Ok(passed(&inner, answer))
    });
    done.await?
}

impl Inner {
    async fn waits(&self, method: &Method, path: &str) -> Option<Refusal> {
        let hold = self.hold.lock().unwrap().clone();
        let hold = hold.filter(|hold| (hold.is_meant)(method, path))?;
        let is_refused = {
            let mut refused = hold.refused.lock().unwrap();
            if hold.released.is_cancelled() {
                refused.contains(path)
            } else {
                refused.insert(path.to_owned());
                true
            }
        };
        hold.reached.cancel();
        hold.released.cancelled().await;
        hold.refusal.filter(|_| is_refused)
    }

    fn note(self: &Arc<Self>, write: Write) {
        let is_done = write.is_done();
        self.writes.send_modify(|writes| writes.push(write));
        let shut_after = self.shut_after.lock().unwrap();
        let mut outage = self.outage.lock().unwrap();
        // Of tens of thousands, nobody goes through all after each.
        if !is_done || (shut_after.is_none() && outage.is_none()) {
            return;
        }
        let writes = self.writes.borrow();
        let done: Vec<Write> = writes.iter().filter(|it| it.is_done()).cloned().collect();
        if shut_after.as_ref().is_some_and(|is_over| is_over(&done)) {
            self.shut.cancel();
        }
        if let Some(Outage { time, .. }) = outage.take_if(|it| (it.after)(&done)) {
            self.go_away(time);
        }
    }

    fn go_away(self: &Arc<Self>, time: Duration) {
        self.is_away.send_replace(true);
        self.cut();
        let inner = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            inner.is_away.send_replace(false);
        });
    }

    fn cut(&self) {
        std::mem::take(&mut *self.cut.lock().unwrap()).cancel();
    }
}

/// Leases are renewed all the time, Events are told once and again, and a review is a question.
fn changes_something(method: &Method, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let is_of = |kind: &str| path.split('/').any(|part| part == kind);
    ["POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str())
        && !is_of("leases")
        && !is_of("events")
        && !is_of("authentication.k8s.io")
        && !is_of("authorization.k8s.io")
}

/// The answer as it comes, until the door is shut.
fn passed(inner: &Inner, answer: http::Response<kube::client::Body>) -> Response {
    let (mut parts, body) = answer.into_parts();
    without_hops(&mut parts.headers);
    let shut = inner.shut.clone().cancelled_owned();
    let cut = inner.cut.lock().unwrap().clone().cancelled_owned();
    let body = Body::new(body).into_data_stream();
    let body = body.take_until(shut).take_until(cut);
    Response::from_parts(parts, Body::from_stream(body))
}

/// These are about one connection only.
fn without_hops(headers: &mut HeaderMap) {
    headers.remove(header::CONNECTION);
    headers.remove(header::TRANSFER_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
}
