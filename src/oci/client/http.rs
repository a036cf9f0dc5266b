//! One request, and what its answer means.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, LINK, RETRY_AFTER};
use http::{HeaderMap, Method, StatusCode};
use reqwest::{RequestBuilder, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Registry;
use super::token::Challenge;
use crate::oci::auth::Credentials;
use crate::oci::reference::DOCKER_HUB;
use crate::oci::{Digest, Error, ImageReference};

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Access {
    Pull,
    Push,
}

/// A small answer.
pub(super) struct Answer {
    headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// How much of a registry's explanation is read, and how much of that is told.
const MAX_EXPLANATION: u64 = 16 * 1024;
const TOLD: usize = 300;

impl Registry {
    pub(super) fn url(&self, image: &ImageReference, rest: &str) -> String {
        let registry = image.registry();
        let scheme = if self.settings.plain_http.contains(registry) {
            "http"
        } else {
            "https"
        };
        let host = if registry == DOCKER_HUB {
            "registry-1.docker.io"
        } else {
            registry
        };
        format!("{scheme}://{host}/v2/{}/{rest}", image.repository())
    }

    pub(super) fn request(
        &self,
        image: &ImageReference,
        method: Method,
        url: &str,
    ) -> Result<RequestBuilder, Error> {
        Ok(self.client(image)?.request(method, url))
    }

    /// Sends a request, gets in if the registry wants that, and makes an error of an answer that
    /// is one. `what` is what a 404 says is missing. A request whose body is a stream must find
    /// the login done: it cannot be sent twice.
    pub(super) async fn send(
        &self,
        image: &ImageReference,
        access: Access,
        request: RequestBuilder,
        what: &str,
    ) -> Result<Response, Error> {
        let again = request.try_clone();
        let known = self.known_login(image, access);
        let first = match &known {
            Some(login) => request.header(AUTHORIZATION, login.header()),
            None => request,
        };
        let response = first.send().await.map_err(|error| network(image, &error))?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.checked(image, response, what).await;
        }
        let challenges = Challenge::all(response.headers());
        let Some(again) = again else {
            return self.checked(image, response, what).await;
        };
        let Some(login) = self.log_in(image, access, &challenges).await? else {
            return self.checked(image, response, what).await;
        };
        let response = again
            .header(AUTHORIZATION, login.header())
            .send()
            .await
            .map_err(|error| network(image, &error))?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.forget_login(image, access);
        }
        self.checked(image, response, what).await
    }

    /// Reads an answer that has to be small.
    pub(super) async fn small(
        &self,
        image: &ImageReference,
        response: Response,
        what: &str,
    ) -> Result<Answer, Error> {
        let headers = response.headers().clone();
        let limit = self.settings.manifest_bytes;
        let body = self.body(image, response, limit).await?;
        let body = body.ok_or_else(|| Error::TooLarge {
            reference: image.to_string(),
            what: format!("the {what} of {}", image.registry()),
            limit,
        })?;
        Ok(Answer { headers, body })
    }

    /// The body of an answer; none when it is larger than allowed.
    async fn body(
        &self,
        image: &ImageReference,
        mut response: Response,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut body = Vec::new();
        let read = async {
            while let Some(chunk) = response
                .chunk()
                .await
                .map_err(|error| network(image, &error))?
            {
                body.extend_from_slice(&chunk);
                if body.len() as u64 > limit {
                    return Ok::<bool, Error>(false);
                }
            }
            Ok(true)
        };
        // Silence has its own timeout; this one is for those who send a byte now and then.
        let patience = self.settings.read_timeout * 4;
        let whole =
            tokio::time::timeout(patience, read)
                .await
                .map_err(|_| Error::Unreachable {
                    reference: image.to_string(),
                    registry: image.registry().to_owned(),
                    reason: format!("its answer took longer than {} s", patience.as_secs()),
                })??;
        Ok(whole.then_some(body))
    }

    pub(super) async fn checked(
        &self,
        image: &ImageReference,
        response: Response,
        what: &str,
    ) -> Result<Response, Error> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let reference = image.to_string();
        let registry = image.registry().to_owned();
        let retry_after = retry_after(response.headers());
        Err(match status {
            StatusCode::NOT_FOUND => Error::NotFound {
                reference,
                place: registry,
                what: what.to_owned(),
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.refused(image, status.as_u16()).await
            }
            StatusCode::TOO_MANY_REQUESTS => Error::RateLimited {
                reference,
                registry,
                retry_after,
            },
            status => {
                let body = self.body(image, response, MAX_EXPLANATION).await;
                Error::Answer {
                    reference,
                    registry,
                    status: status.as_u16(),
                    message: explanation(&body.ok().flatten().unwrap_or_default()),
                    retry_after,
                }
            }
        })
    }

    pub(super) async fn refused(&self, image: &ImageReference, status: u16) -> Error {
        let credentials = self.settings.keychain.find(image).await;
        let credentials = credentials.unwrap_or_else(|_| Credentials::anonymous());
        Error::Unauthorised {
            reference: image.to_string(),
            registry: image.registry().to_owned(),
            status,
            credentials: credentials.to_string(),
        }
    }

    fn client(&self, image: &ImageReference) -> Result<reqwest::Client, Error> {
        let host = image.registry();
        let certificate = self.settings.certificates.get(host);
        let key = certificate.map_or("", |_| host);
        // A panic while it was held cannot have left half a client behind.
        let mut clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(client) = clients.get(key) {
            return Ok(client.clone());
        }
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("chandler/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(self.settings.connect_timeout)
                .read_timeout(self.settings.read_timeout)
        };
        let tls = |reason: String| Error::Tls {
            reference: image.to_string(),
            registry: host.to_owned(),
            reason,
        };
        let mut secure = builder();
        if let Some(pem) = certificate {
            let certificates = reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|error| tls(format!("its certificates cannot be read: {error}")))?;
            secure = secure.tls_certs_merge(certificates);
        }
        let client = match secure.build() {
            Ok(client) => client,
            // Without TLS it does not matter that this machine trusts nobody.
            Err(_) if self.settings.plain_http.contains(host) => builder()
                .tls_certs_only([])
                .build()
                .map_err(|error| tls(causes(&error)))?,
            Err(error) => {
                return Err(tls(format!(
                    "{}; are there CA certificates on this machine (SSL_CERT_FILE)?",
                    causes(&error)
                )));
            }
        };
        clients.insert(key.to_owned(), client.clone());
        Ok(client)
    }
}

impl Answer {
    pub(super) fn without_body(response: &Response) -> Self {
        Self {
            headers: response.headers().clone(),
            body: Vec::new(),
        }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The digest that the registry says its manifest has.
    pub(super) fn digest(&self) -> Option<Digest> {
        self.header("docker-content-digest").parse().ok()
    }

    pub(super) fn json<T: DeserializeOwned>(
        &self,
        image: &ImageReference,
        what: &str,
    ) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::BadManifest {
            reference: image.to_string(),
            reason: format!("the {what} of {} makes no sense: {error}", image.registry()),
        })
    }

    /// The next page of a list, at the same registry.
    pub(super) fn next_page(&self, url: &str) -> Option<String> {
        let link = self.header(LINK.as_str());
        let (target, parameters) = link.strip_prefix('<')?.split_once('>')?;
        if !parameters.contains("next") {
            return None;
        }
        let base = Url::parse(url).ok()?;
        let next = base.join(target).ok()?;
        (next.origin() == base.origin()).then(|| next.to_string())
    }
}

pub(super) fn accept(request: RequestBuilder, types: &[&str]) -> RequestBuilder {
    if types.is_empty() {
        request
    } else {
        request.header(ACCEPT, types.join(", "))
    }
}

/// What went wrong on the way.
pub(super) fn network(image: &ImageReference, error: &reqwest::Error) -> Error {
    let reference = image.to_string();
    let registry = image.registry().to_owned();
    if let Some(tls) = tls_error(error) {
        let hint = match tls {
            rustls::Error::InvalidCertificate(_) => {
                "; if it has an authority of its own, that must be made known"
            }
            rustls::Error::InvalidMessage(_) => {
                "; if it speaks plain HTTP, that must be said expressly"
            }
            _ => "",
        };
        return Error::Tls {
            reference,
            registry,
            reason: format!("{tls}{hint}"),
        };
    }
    Error::Unreachable {
        reference,
        registry,
        reason: if error.is_timeout() {
            "it did not answer in time".to_owned()
        } else {
            causes(error)
        },
    }
}

fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        cause = match inner {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    None
}

/// An error with its causes, but without the URL: that can hold tokens.
fn causes(error: &reqwest::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if parts.last().is_none_or(|last| *last != text) {
            parts.push(text);
        }
        cause = error.source();
    }
    if parts.is_empty() {
        parts.push(if error.is_body() || error.is_decode() {
            "the answer broke off".to_owned()
        } else {
            "the request failed".to_owned()
        });
    }
    parts.join(": ")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// A registry's own words about an error, on one line and not too many.
fn explanation(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Envelope {
        errors: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let text = match serde_json::from_slice::<Envelope>(body) {
        Ok(envelope) => envelope
            .errors
            .iter()
            .map(|item| format!("{} {}", item.code, item.message).trim().to_owned())
            .collect::<Vec<_>>()
            .join(", "),
        // A page for browsers tells nobody anything.
        Err(_) if body.trim_ascii_start().starts_with(b"<") => String::new(),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars()
        .filter(|c| !c.is_control())
        .take(TOLD)
        .collect()
}
