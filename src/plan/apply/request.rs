//! Requests to the API server of which one can see the warnings.
//!
//! `kube::Api` hides the headers of an answer, and the warnings are there.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, StatusCode};
use kube::core::Status;
use serde_json::Value;

use super::Account;

/// How long an answer may take. Admission webhooks have thirty seconds at most.
const PATIENCE: Duration = Duration::from_secs(45);

/// A way to the API server.
#[derive(Clone)]
pub(super) struct Connection {
    client: kube::Client,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    Empty,
    Object(&'a Value),
    Apply(&'a Value),
    JsonPatch(&'a Value),
    MergePatch(&'a Value),
}

impl Body<'_> {
    fn content_type(self) -> &'static str {
        match self {
            Self::Empty | Self::Object(_) => "application/json",
            // JSON is YAML; a content type of its own for JSON came only later.
            Self::Apply(_) => "application/apply-patch+yaml",
            Self::JsonPatch(_) => "application/json-patch+json",
            Self::MergePatch(_) => "application/merge-patch+json",
        }
    }

    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Object(value)
            | Self::Apply(value)
            | Self::JsonPatch(value)
            | Self::MergePatch(value) => value.to_string().into_bytes(),
        }
    }
}

/// What the API server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) is_created: bool,
    pub(super) warnings: Vec<String>,
    pub(super) body: Value,
}

/// Why there is no such answer.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The API server said no.
    Status(Box<Status>),
    /// It said nothing that can be understood.
    Silence(String),
}

impl Refusal {
    pub(super) fn is_not_found(&self) -> bool {
        self.is(404)
    }

    pub(super) fn is_wrong_method(&self) -> bool {
        self.is(405)
    }

    pub(super) fn is_already_exists(&self) -> bool {
        matches!(self, Self::Status(status) if status.is_already_exists())
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Self::Status(status) => &status.message,
            Self::Silence(message) => message,
        }
    }

    fn is(&self, code: u16) -> bool {
        matches!(self, Self::Status(status) if status.code == code)
    }
}

impl Connection {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Sends one request, with our own rights or with those of an account.
    pub(super) async fn send(
        &self,
        account: Option<&Account>,
        method: Method,
        url: &str,
        body: Body<'_>,
    ) -> Result<Answer, Refusal> {
        let mut request = Request::builder()
            .method(method)
            .uri(url)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, body.content_type());
        if let Some(account) = account {
            // Given no groups, the API server adds those of the ServiceAccount, and we need no right
            // to act as any group.
            request = request.header("Impersonate-User", account.user());
        }
        let request = request
            .body(kube::client::Body::from(body.bytes()))
            .map_err(|error| Refusal::Silence(format!("{url} is no request: {error}")))?;
        match tokio::time::timeout(PATIENCE, self.exchange(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Refusal::Silence(format!(
                "the API server did not answer within {} seconds",
                PATIENCE.as_secs()
            ))),
        }
    }

    async fn exchange(&self, request: Request<kube::client::Body>) -> Result<Answer, Refusal> {
        let silence = |error: kube::Error| Refusal::Silence(words(&error));
        let response = self.client.send(request).await.map_err(silence)?;
        let (head, body) = response.into_parts();
        let bytes = body.collect_bytes().await.map_err(silence)?;
        if !head.status.is_success() {
            return Err(Refusal::Status(Box::new(status(head.status, &bytes))));
        }
        let body = serde_json::from_slice(&bytes)
            .map_err(|error| Refusal::Silence(format!("the answer cannot be read: {error}")))?;
        Ok(Answer {
            is_created: head.status == StatusCode::CREATED,
            warnings: warnings(&head.headers),
            body,
        })
    }
}

/// The reason for a refusal; proxies between us and the API server give none in its form.
fn status(code: StatusCode, bytes: &[u8]) -> Status {
    let mut status = serde_json::from_slice::<Status>(bytes).unwrap_or_else(|_| {
        let text: String = String::from_utf8_lossy(bytes).chars().take(1000).collect();
        Status::failure(text.trim(), "")
    });
    status.code = code.as_u16();
    status
}

/// An error with its causes in one line, nothing twice.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// The texts of all headers `Warning: 299 - "text"`.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for value in headers.get_all("warning") {
        let text = String::from_utf8_lossy(value.as_bytes());
        for warning in quoted(&text) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// The texts of one header, which may hold several: `299 - "a", 299 - "b" "date"`.
fn quoted(header: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = header;
    while let Some((_, after)) = rest.split_once("299 ") {
        let Some((_, inside)) = after.split_once('"') else {
            break;
        };
        let mut text = String::new();
        let mut letters = inside.char_indices();
        let mut end = inside.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => text.extend(letters.next().map(|(_, letter)| letter)),
                _ => text.push(letter),
            }
        }
        texts.push(text);
        rest = inside.get(end..).unwrap_or_default();
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(r#"299 - "plain""#, &["plain"])]
    #[case(r#"299 - "unknown field \"spec.x\"""#, &["unknown field \"spec.x\""])]
    #[case(r#"299 - "a, 299 b", 299 kube "c" "Mon""#, &["a, 299 b", "c"])]
    #[case(r#"110 - "stale""#, &[])]
    #[case(r#"299 - "cut"#, &["cut"])]
    fn warnings_are_read_out_of_their_header(#[case] header: &str, #[case] texts: &[&str]) {
        assert_eq!(quoted(header), texts);
    }
}
