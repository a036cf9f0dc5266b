//! A gophers API, as its client sees it.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};

use super::diff::Change;
use super::resource::Trouble;
use crate::gopher::Gopher;

/// How long an API may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest list that is read: that of ten thousand gophers with all fields as long as they may be is longer,
/// but nobody has that.
const LONGEST: usize = 4 * 1024 * 1024;

/// A client for all APIs. It follows nobody elsewhere: the key is for one of them.
pub(crate) fn client() -> reqwest::Result<reqwest::Client> {
    let builder = || {
        reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
    };
    // An image without certificates trusts nobody, which does not matter without TLS.
    let secure = builder().build();
    secure.or_else(|_| builder().tls_certs_only([]).build())
}

/// One API.
pub(crate) struct GophersApi<'a> {
    http: &'a reqwest::Client,
    endpoint: &'a str,
    key: &'a str,
}

impl<'a> GophersApi<'a> {
    pub(crate) fn new(http: &'a reqwest::Client, endpoint: &'a str, key: &'a str) -> Self {
        let endpoint = endpoint.trim_end_matches('/');
        Self {
            http,
            endpoint,
            key,
        }
    }

    /// All that it knows.
    pub(crate) async fn list(&self) -> Result<Vec<Gopher>, Trouble> {
        let url = format!("{}/gophers", self.endpoint);
        let (status, body) = answer(self.http.get(&url)).await?;
        if !status.is_success() {
            return Err(Trouble::Refused(said(status, &body)));
        }
        serde_json::from_slice(&body)
            .map_err(|error| Trouble::Refused(format!("{url} answers no list of gophers: {error}")))
    }

    /// Tells all of it: one gopher that is refused keeps nobody else out.
    pub(crate) async fn tell_all(&self, changes: &[Change]) -> Result<(), Trouble> {
        let mut refused = Vec::new();
        for change in changes {
            match self.tell(change).await? {
                Told::Done => {}
                Told::Refused(words) => refused.push(words),
            }
        }
        match refused.first() {
            None => Ok(()),
            Some(first) => Err(Trouble::Refused(format!(
                "{} of {} changes, such as {first}",
                refused.len(),
                changes.len()
            ))),
        }
    }

    async fn tell(&self, change: &Change) -> Result<Told, Trouble> {
        let url = format!("{}/gopher", self.endpoint);
        let request = match change {
            Change::Add(gopher) => self.send(Method::POST, &url, gopher),
            Change::Update(gopher) => self.send(Method::PUT, &url, gopher),
            Change::Remove(id) => {
                let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
                self.http.delete(format!("{url}?id={id}"))
            }
        };
        let (status, body) = answer(request.header("x-api-key", self.key)).await?;
        match (change, status) {
            (_, status) if status.is_success() => Ok(Told::Done),
            // Somebody was faster; whether it is as it should be is looked at in the next round.
            (Change::Add(_), StatusCode::CONFLICT) | (Change::Remove(_), StatusCode::NOT_FOUND) => {
                Ok(Told::Done)
            }
            // It will be the same for everybody.
            (_, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Err(Trouble::Refused(said(status, &body)))
            }
            _ => Ok(Told::Refused(said(status, &body))),
        }
    }

    fn send(&self, method: Method, url: &str, gopher: &Gopher) -> RequestBuilder {
        // A gopher is made of text, which is always JSON.
        let body = serde_json::to_string(gopher).unwrap_or_default();
        let request = self.http.request(method, url).body(body);
        request.header("content-type", "application/json")
    }
}

/// What became of a change.
enum Told {
    Done,
    /// This one is not taken; others may be.
    Refused(String),
}

/// An answer, if it is not longer than it may be.
async fn answer(request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), Trouble> {
    let unreachable = |error: reqwest::Error| Trouble::Unreachable(words(&error));
    let mut response = request.send().await.map_err(unreachable)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return Err(Trouble::Refused(format!(
                "the answer is longer than {LONGEST} bytes"
            )));
        }
    }
    Ok((response.status(), body))
}

/// The beginning of an answer that is not good.
fn said(status: StatusCode, body: &[u8]) -> String {
    let said: String = String::from_utf8_lossy(body).chars().take(200).collect();
    format!("{status}: {said}")
}

/// An error with its causes, which is where the interesting part is.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |it| it.source());
    let mut words = error.to_string();
    for cause in causes {
        words = format!("{words}: {cause}");
    }
    words
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::Router;
    use axum::body::Bytes;
    use axum::routing::post;

    use super::*;

    /// Serves `/gopher` and keeps what was told; what is in `odd` is answered with that status.
    async fn serve(odd: &'static [(&str, u16)]) -> (String, Arc<Mutex<Vec<String>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let hear = move |body: Bytes| async move {
            let text = String::from_utf8_lossy(&body).into_owned();
            let found = odd.iter().find(|(words, _)| text.contains(words));
            hears.lock().expect("a list").push(text);
            let status = found.map_or(200, |(_, status)| *status);
            http::StatusCode::from_u16(status).expect("a status")
        };
        let gone = async || http::StatusCode::NOT_FOUND;
        let router = Router::new().route("/gopher", post(hear).delete(gone));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        (format!("http://{address}"), heard)
    }

    fn add(id: &str) -> Change {
        Change::Add(Gopher {
            id: id.to_owned(),
            ..Gopher::default()
        })
    }

    async fn tell(
        odd: &'static [(&str, u16)],
        changes: &[Change],
    ) -> (Result<(), Trouble>, Vec<String>) {
        // Somebody else may have installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (endpoint, heard) = serve(odd).await;
        let http = client().expect("a client");
        let outcome = GophersApi::new(&http, &endpoint, "key")
            .tell_all(changes)
            .await;
        let heard = heard.lock().expect("a list").clone();
        (outcome, heard)
    }

    #[tokio::test]
    async fn a_gopher_that_is_refused_keeps_nobody_else_out() {
        let changes = [add("one"), add("two"), add("three")];
        let (outcome, heard) = tell(&[("one", 400)], &changes).await;
        let words = outcome.expect_err("one was refused").to_string();
        assert!(words.contains("1 of 3 changes"), "{words}");
        assert_eq!(heard.len(), 3);
    }

    #[tokio::test]
    async fn what_is_done_already_is_done() {
        let changes = [add("one"), Change::Remove("two".to_owned())];
        let (outcome, _) = tell(&[("one", 409)], &changes).await;
        assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_key_that_is_wrong_is_not_tried_again_and_again() {
        let (outcome, heard) = tell(&[("o", 403)], &[add("one"), add("two")]).await;
        assert!(matches!(outcome, Err(Trouble::Refused(_))));
        assert_eq!(heard.len(), 1);
    }

    #[tokio::test]
    async fn an_api_that_is_not_there_is_unreachable() {
        // Somebody else may have installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = client().expect("a client");
        let api = GophersApi::new(&http, "http://127.0.0.1:1/", "key");
        assert!(matches!(api.list().await, Err(Trouble::Unreachable(_))));
    }
}
