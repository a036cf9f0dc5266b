//! What can go wrong with YAML, and where.

use std::fmt;
use std::sync::Arc;

/// A position in a named text. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name that the caller gave to the text, usually a path.
    pub name: Arc<str>,
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.name, self.line, self.column)
    }
}

/// Why a text could not be read or a value could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not YAML, or not the YAML that Kubernetes reads.
    #[error("{place}: {problem}")]
    Syntax {
        /// Where.
        place: Place,
        /// What was found and what was expected.
        problem: String,
    },
    /// The text is YAML but more than we are willing to expand.
    #[error("{place}: {problem}")]
    Limit {
        /// Where the limit was passed.
        place: Place,
        /// Which limit.
        problem: String,
    },
    /// A value does not fit the type it is read into.
    #[error("{place}: {}{problem}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
    Type {
        /// Where the value is.
        place: Place,
        /// The way to the value, such as `spec.install.spec.deployments[0].name`.
        path: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// There are more documents than the one expected.
    #[error("{place}: expected one document, found a second one (the first is on line {first})")]
    SecondDocument {
        /// Where the second one begins.
        place: Place,
        /// The line of the first one.
        first: usize,
    },
    /// The value has no form in YAML.
    #[error("cannot be written as YAML: {0}")]
    Write(String),
}

impl Error {
    /// Where in the text the error is. None if there was no text.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Syntax { place, .. }
            | Self::Limit { place, .. }
            | Self::Type { place, .. }
            | Self::SecondDocument { place, .. } => Some(place),
            Self::Write(_) => None,
        }
    }
}
