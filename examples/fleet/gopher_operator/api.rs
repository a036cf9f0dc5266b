//! A gophers API, as its client sees it.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};

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
        let body = answer(self.http.get(&url)).await?;
        serde_json::from_slice(&body)
            .map_err(|error| Trouble::Refused(format!("{url} answers no list of gophers: {error}")))
    }

    pub(crate) async fn tell(&self, change: &Change) -> Result<(), Trouble> {
        let url = format!("{}/gopher", self.endpoint);
        let request = match change {
            Change::Add(gopher) => self.send(Method::POST, &url, gopher),
            Change::Update(gopher) => self.send(Method::PUT, &url, gopher),
            Change::Remove(id) => {
                let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
                self.http.delete(format!("{url}?id={id}"))
            }
        };
        answer(request.header("x-api-key", self.key)).await?;
        Ok(())
    }

    fn send(&self, method: Method, url: &str, gopher: &Gopher) -> RequestBuilder {
        // A gopher is made of text, which is always JSON.
        let body = serde_json::to_string(gopher).unwrap_or_default();
        let request = self.http.request(method, url).body(body);
        request.header("content-type", "application/json")
    }
}

/// The body of an answer that is good.
async fn answer(request: RequestBuilder) -> Result<Vec<u8>, Trouble> {
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
    let status = response.status();
    if status.is_success() {
        return Ok(body);
    }
    let said: String = String::from_utf8_lossy(&body).chars().take(200).collect();
    Err(Trouble::Refused(format!("{status}: {said}")))
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
    use super::*;

    #[tokio::test]
    async fn an_api_that_is_not_there_is_unreachable() {
        // Somebody else may have installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = client().expect("a client");
        let api = GophersApi::new(&http, "http://127.0.0.1:1/", "key");
        assert!(matches!(api.list().await, Err(Trouble::Unreachable(_))));
    }
}
