//! Why a reconcile did not get to its end.

use std::fmt::Display;
use std::time::Duration;

use tracing::Instrument as _;

use super::queue::Next;
use super::words;

/// A reconcile was stopped by something that may be over the next time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The API server refused or did not answer.
    #[error("{what}: {}", words::of_api(source))]
    Api {
        /// What was tried.
        what: String,
        source: kube::Error,
    },
    /// An object could not be written or read.
    #[error(transparent)]
    Object(#[from] crate::plan::apply::Error),
    /// Nobody may write what is to be written, and why.
    #[error("{0}")]
    NotAllowed(String),
    /// Work on another thread was ended.
    #[error("the work was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl Error {
    /// Says what was tried.
    pub(crate) fn while_(what: impl Display) -> impl FnOnce(kube::Error) -> Self {
        let what = what.to_string();
        move |source| Self::Api { what, source }
    }

    /// Somebody else changed the object since it was read, or it is gone. The cache is about to
    /// hear of it.
    pub(crate) fn is_stale(&self) -> bool {
        let Self::Api { source, .. } = self else {
            return false;
        };
        matches!(source, kube::Error::Api(status) if status.code == 409 || status.code == 404)
    }

    /// Somebody may have to do something before it is over: what is written is refused by a rule of the cluster.
    pub(crate) fn is_lasting(&self) -> bool {
        use crate::plan::apply;
        match self {
            Self::Api {
                source: kube::Error::Api(status),
                ..
            } => matches!(status.code, 400 | 403 | 422),
            Self::Object(apply::Error::Forbidden { .. } | apply::Error::Quota { .. })
            | Self::NotAllowed(_) => true,
            Self::Object(error) => error.is_permanent(),
            Self::Api { .. } | Self::Interrupted(_) => false,
        }
    }

    /// What the API server said, if it is that somebody may not do it.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match self {
            Self::Api {
                source: kube::Error::Api(status),
                ..
            } if status.code == 403 => Some(&status.message),
            Self::Object(crate::plan::apply::Error::Forbidden { message, .. }) => Some(message),
            _ => None,
        }
    }
}

/// The first of several failures: what fails in one place keeps nobody from doing the rest.
#[derive(Debug, Default)]
pub(crate) struct Failures(Option<Error>);

impl Failures {
    /// Takes note of what came of one of them, and says whether it was done.
    pub(crate) fn note(&mut self, outcome: Result<(), Error>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.0.get_or_insert(error);
                false
            }
        }
    }

    /// The first failure, if there was one.
    pub(crate) fn first(&self) -> Option<&Error> {
        self.0.as_ref()
    }

    /// What came of all of them.
    pub(crate) fn outcome(self) -> Result<(), Error> {
        self.0.map_or(Ok(()), Err)
    }
}

/// How long the cache may take to hear of a change.
const CATCH_UP: Duration = Duration::from_millis(100);

/// Looks at something, in a span of its own, and says what comes after.
pub(crate) async fn attend(
    kind: &'static str,
    key: &impl Display,
    reconcile: impl Future<Output = Result<Next, Error>>,
) -> Next {
    let span = tracing::info_span!("reconcile", kind, %key);
    let outcome = reconcile.instrument(span).await;
    next(kind, key, outcome)
}

fn next(kind: &str, key: &impl Display, outcome: Result<Next, Error>) -> Next {
    match outcome {
        Ok(next) => next,
        Err(error) if error.is_stale() => {
            tracing::debug!(kind, %key, %error, "the cache was behind");
            Next::After(CATCH_UP)
        }
        Err(error) => {
            tracing::warn!(kind, %key, %error, "the reconcile failed and is tried again");
            Next::Retry
        }
    }
}
