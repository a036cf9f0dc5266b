//! A command that could not do what it was asked, and what to do about it.

mod hints;

use crate::controller::words;
use crate::plan::apply;

/// Why a command ends without success.
#[derive(Debug)]
pub(super) struct Failure {
    error: anyhow::Error,
    hint: Option<String>,
    exit_code: u8,
}

impl Failure {
    /// The answer is no.
    pub(super) fn no(error: impl Into<anyhow::Error>) -> Self {
        Self::new(error, 1)
    }

    /// What was typed makes no sense.
    pub(super) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(error, 2)
    }

    /// Something outside of Chandler failed: a file, a registry, a cluster.
    pub(super) fn outside(error: impl Into<anyhow::Error>) -> Self {
        Self::new(error, 3)
    }

    fn new(error: impl Into<anyhow::Error>, exit_code: u8) -> Self {
        Self {
            error: error.into(),
            hint: None,
            exit_code,
        }
    }

    /// Adds what the user could do next.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What failed and why, in one line.
    pub(super) fn words(&self) -> String {
        let lines = self.lines().into_iter();
        let told = lines.filter(|(label, _)| *label != "hint");
        let told: Vec<String> = told.map(|(_, text)| text).collect();
        told.join(": ")
    }

    /// Whether it is due to what was typed.
    pub(super) fn is_usage(&self) -> bool {
        self.exit_code == 2
    }

    /// What the API server answered with, if it was that which refused.
    pub(super) fn api_code(&self) -> Option<u16> {
        self.error.chain().find_map(|cause| {
            if let Some(kube::Error::Api(status)) = cause.downcast_ref::<kube::Error>() {
                return Some(status.code);
            }
            match cause.downcast_ref::<apply::Error>()? {
                apply::Error::Forbidden { .. } | apply::Error::Quota { .. } => Some(403),
                apply::Error::NoNamespace { .. } | apply::Error::NoSuchKind { .. } => Some(404),
                apply::Error::Conflict { .. } | apply::Error::CrdUnsafe { .. } => Some(409),
                apply::Error::Invalid { .. } => Some(422),
                apply::Error::Unavailable { .. } => Some(503),
            }
        })
    }

    /// What to do next; may be empty.
    pub(super) fn next_step(&self) -> &str {
        self.hint.as_deref().unwrap_or_default()
    }

    /// Whether somebody has to decide otherwise, rather than that something failed.
    pub(super) fn is_no(&self) -> bool {
        self.exit_code == 1
    }

    pub(super) fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The lines to show: what failed, why, and what to do next.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let labels = std::iter::once("error").chain(std::iter::repeat("cause"));
        let mut lines: Vec<_> = labels.zip(words::causes(&self.error)).collect();
        lines.extend(self.hint.iter().map(|hint| ("hint", hint.clone())));
        lines
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::Failure;

    #[test]
    fn a_failure_names_the_error_its_causes_and_the_next_step_in_this_order() {
        let error = Err::<(), _>(std::io::Error::other("disk full"))
            .context("cannot write `deploy/crds`")
            .unwrap_err();
        let failure = Failure::outside(error).hint("free some space");
        assert_eq!(
            failure.lines(),
            [
                ("error", "cannot write `deploy/crds`".to_owned()),
                ("cause", "disk full".to_owned()),
                ("hint", "free some space".to_owned()),
            ]
        );
        assert_eq!(failure.exit_code(), 3);
    }

    #[test]
    fn what_the_api_server_said_is_a_cause_in_its_own_words() {
        let status = kube::core::Status::failure("pods is forbidden", "Forbidden").with_code(403);
        let error = Err::<(), _>(kube::Error::Api(Box::new(status)))
            .context("the pods cannot be listed")
            .unwrap_err();
        assert_eq!(
            Failure::outside(error).lines(),
            [
                ("error", "the pods cannot be listed".to_owned()),
                ("cause", "pods is forbidden".to_owned()),
            ]
        );
    }
}
