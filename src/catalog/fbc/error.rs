//! What can be wrong with the text of a catalog, and where.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Where a blob begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Why a file, or a blob of it, could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read to its end.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: Arc<str>,
        /// Why.
        source: io::Error,
    },
    /// The text is neither JSON nor YAML.
    #[error("{origin}: {problem}")]
    Syntax {
        /// Where the problem is.
        origin: Origin,
        /// The package that the text seems to belong to.
        package: Option<String>,
        /// What was found and what was expected.
        problem: String,
    },
    /// The text is JSON or YAML, but not a blob.
    #[error("{origin}: {problem}")]
    Blob {
        /// Where the blob begins.
        origin: Origin,
        /// The package that it belongs to, if it says so.
        package: Option<String>,
        /// What was found and what was expected.
        problem: String,
    },
}

impl Error {
    /// The package that misses something because of this error, as far as that is known.
    pub fn package(&self) -> Option<&str> {
        match self {
            Self::Io { .. } => None,
            Self::Syntax { package, .. } | Self::Blob { package, .. } => package.as_deref(),
        }
    }

    /// The file with the error.
    pub fn file(&self) -> &str {
        match self {
            Self::Io { file, .. } => file,
            Self::Syntax { origin, .. } | Self::Blob { origin, .. } => &origin.file,
        }
    }
}
