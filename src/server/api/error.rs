//! One form for every failure.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::server::hub::{self, ErrorKind};

/// What every failure looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The failure.
    pub(crate) error: ProblemDetail,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ProblemDetail {
    /// What kind of failure, for programs.
    pub(crate) code: Code,
    /// What is wrong, for people.
    pub(crate) message: String,
    /// What to do next; may be empty.
    pub(crate) hint: String,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Code {
    /// The request makes no sense.
    BadRequest,
    /// It takes a token of a visitor, and this is none.
    Unauthorized,
    /// That is not allowed.
    Forbidden,
    /// What was asked for is not there.
    NotFound,
    /// It does not go together with what is there.
    Conflict,
    /// The method cannot be used here.
    MethodNotAllowed,
    /// The request is too large.
    TooLarge,
    /// The body is of another type.
    UnsupportedMediaType,
    /// It took too long.
    Timeout,
    /// There is too much to do.
    Overloaded,
    /// It cannot be answered now.
    Unavailable,
    /// Something is broken here.
    Internal,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Overloaded | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A failure on its way to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    code: Code,
    message: String,
    hint: String,
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: String::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl From<hub::Error> for ApiError {
    fn from(error: hub::Error) -> Self {
        let code = match error.kind {
            ErrorKind::NotFound => Code::NotFound,
            ErrorKind::BadRequest => Code::BadRequest,
            ErrorKind::Unavailable => Code::Unavailable,
            ErrorKind::Internal => Code::Internal,
        };
        if code == Code::Internal {
            tracing::error!(error = error.message, "a question could not be answered");
        }
        Self {
            code,
            message: error.message,
            hint: error.hint,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let problem = Problem {
            error: ProblemDetail {
                code: self.code,
                message: self.message,
                hint: self.hint,
            },
        };
        let mut response = (status, Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The failures that every route may have, for the `OpenAPI` document.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only its type says something, to the document")]
pub(crate) enum Problems {
    /// The request makes no sense.
    #[response(status = 400)]
    BadRequest(Problem),
    /// What was asked for is not there.
    #[response(status = 404)]
    NotFound(Problem),
    /// The request is too large.
    #[response(status = 413)]
    TooLarge(Problem),
    /// Something is broken here.
    #[response(status = 500)]
    Internal(Problem),
    /// There is too much to do, or it cannot be answered now.
    #[response(status = 503)]
    Unavailable(Problem),
    /// It took too long.
    #[response(status = 504)]
    Timeout(Problem),
}

/// The failures that writes may have beside those, for the `OpenAPI` document.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only its type says something, to the document")]
pub(crate) enum WriteProblems {
    /// It takes a token, and the cluster does not know this one.
    #[response(status = 401)]
    Unauthorized(Problem),
    /// Writes are off, the request is of another site, the token could be read on the way, or the
    /// cluster does not allow it.
    #[response(status = 403)]
    Forbidden(Problem),
    /// It does not go together with what is there.
    #[response(status = 409)]
    Conflict(Problem),
    /// The body is not JSON.
    #[response(status = 415)]
    UnsupportedMediaType(Problem),
}
