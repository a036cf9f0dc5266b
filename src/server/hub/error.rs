//! Why the hub cannot answer.

use std::fmt::Display;

/// Why the hub cannot answer, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What is wrong.
    pub message: String,
    /// What to do next; may be empty.
    pub hint: String,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked for is not there.
    NotFound,
    /// The question makes no sense.
    BadRequest,
    /// It cannot be answered now.
    Unavailable,
    /// Something is broken here.
    Internal,
}

impl Error {
    /// Something is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A question makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadRequest, message)
    }

    /// Something cannot be answered now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// Something is broken here.
    pub fn internal(message: impl Display) -> Self {
        Self::new(ErrorKind::Internal, message.to_string())
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl From<crate::catalog::index::Error> for Error {
    fn from(error: crate::catalog::index::Error) -> Self {
        Self::internal(error).hint("the catalog is read anew soon; try again later")
    }
}
