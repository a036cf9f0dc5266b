//! Pages that say what is wrong.

use std::any::Any;

use askama::Template;
use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::shell::Shell;
use super::words::sentence;
use crate::server::hub::{Error, ErrorKind, cut};
use crate::server::limits::Refusal;

/// Why a page is not shown.
#[derive(Debug)]
pub(super) struct Failure(Error);

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    shell: Shell,
    title: &'a str,
    message: &'a str,
    hint: &'a str,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let (status, title) = match error.kind {
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "Not aboard"),
            ErrorKind::BadRequest => (StatusCode::BAD_REQUEST, "That makes no sense"),
            ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "Not now"),
            ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "Something broke here"),
        };
        if error.kind == ErrorKind::Internal {
            tracing::error!(error = %error, "a page could not be shown");
        }
        page(
            status,
            title,
            &sentence(&error.message),
            &sentence(&error.hint),
        )
    }
}

/// There is no such page; perhaps there is one of nearly the same address.
pub(super) async fn nothing_here(request: Request) -> Response {
    if let Some(near) = nearest(request.uri()) {
        return Redirect::permanent(&near).into_response();
    }
    let path = cut(request.uri().path(), 200);
    page(
        StatusCode::NOT_FOUND,
        "Not aboard",
        &format!("There is no page {path}."),
        "Search for an operator above, or look at all of them.",
    )
}

/// Where somebody wanted to go who wrote a slash too many, or took away the end of an address. Only within
/// `/packages`: an address that begins with two slashes would lead to another server.
fn nearest(uri: &Uri) -> Option<String> {
    let path = uri.path().strip_prefix("/packages")?;
    let path = match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed if trimmed.len() < path.len() && trimmed.starts_with('/') => {
            format!("/packages{trimmed}")
        }
        _ => return None,
    };
    let query = uri.query().map(|query| format!("?{query}"));
    Some(path + &query.unwrap_or_default())
}

/// Pages are looked at, and nothing else.
pub(super) async fn wrong_method(request: Request) -> Response {
    let path = cut(request.uri().path(), 200);
    page(
        StatusCode::METHOD_NOT_ALLOWED,
        "That makes no sense",
        &format!("{} cannot be used with {path}.", request.method()),
        "Pages are only looked at; /api/v1/openapi.json tells what programs can do.",
    )
}

/// There is no room for the request, or it takes too long.
pub(super) fn refused(refusal: Refusal) -> Response {
    let (status, title) = match refusal {
        Refusal::LongAddress => (StatusCode::URI_TOO_LONG, "That makes no sense"),
        Refusal::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "Not now"),
        Refusal::Late => (StatusCode::GATEWAY_TIMEOUT, "Not now"),
    };
    let (message, hint) = (sentence(&refusal.message()), sentence(refusal.hint()));
    page(status, title, &message, &hint)
}

/// A handler panicked, which is a mistake of ours.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let said = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic
            .downcast::<&str>()
            .map(|text| (*text).to_owned())
            .unwrap_or_default(),
    };
    tracing::error!(panic = said, "a page panicked");
    page(
        StatusCode::INTERNAL_SERVER_ERROR,
        "Something broke here",
        "The page could not be made.",
        "The log of the server says more; please report it.",
    )
}

fn page(status: StatusCode, title: &str, message: &str, hint: &str) -> Response {
    let page = FailurePage {
        shell: Shell::default(),
        title,
        message,
        hint,
    };
    let text = page.render().unwrap_or_else(|_| message.to_owned());
    (status, Html(text)).into_response()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::nearest;

    #[rstest]
    #[case("/packages", Some("/"))]
    #[case("/packages/?q=x", Some("/?q=x"))]
    #[case("/packages/etcd/?channel=beta", Some("/packages/etcd?channel=beta"))]
    #[case("/packages/etcd/versions//", Some("/packages/etcd/versions"))]
    #[case("/packages/etcd/nonsense", None)]
    #[case("/packagesx/", None)]
    #[case("//example.com/packages/", None)]
    fn an_address_that_is_nearly_right_leads_on(
        #[case] address: &str,
        #[case] expected: Option<&str>,
    ) {
        let near = nearest(&address.parse().unwrap());
        assert_eq!(near.as_deref(), expected);
    }
}
