//! How long the bundles of a namespace may take, as its OperatorGroup says by annotation.

use std::time::Duration;

use kube::ResourceExt as _;

use crate::api::duration;
use crate::api::labels::{BUNDLE_UNPACK_MIN_RETRY_INTERVAL, BUNDLE_UNPACK_TIMEOUT};
use crate::api::operator_group::OperatorGroup;

/// OLM's, where nothing is said.
const DEFAULT_LIMIT: Duration = Duration::from_mins(10);

/// How long bundles may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long an attempt to fetch them may take; as long as it likes if that is none.
    pub limit: Option<Duration>,
    /// How long after an attempt that failed the next one begins, at least.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            limit: Some(DEFAULT_LIMIT),
            pause: Duration::ZERO,
        }
    }
}

impl Patience {
    /// What an OperatorGroup says, or which annotation makes no sense. The words are OLM's.
    pub fn of(group: &OperatorGroup) -> Result<Self, String> {
        let read = |what: &str, key: &str| {
            let text = group.annotations().get(key);
            let parsed = text.map(|text| {
                duration::parse(text).map_err(|error| {
                    format!(
                        "failed to parse unpack {what} annotation({key}: {text}): {error}; write \
                         it like `10m` or `90s`"
                    )
                })
            });
            parsed.transpose()
        };
        let limit = read("timeout", BUNDLE_UNPACK_TIMEOUT)?;
        let pause = read("retry", BUNDLE_UNPACK_MIN_RETRY_INTERVAL)?;
        Ok(Self {
            // In OLM, no time at all is as much time as it takes.
            limit: match limit {
                None => Some(DEFAULT_LIMIT),
                Some(Duration::ZERO) => None,
                Some(limit) => Some(limit),
            },
            pause: pause.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn group(key: &str, value: &str) -> OperatorGroup {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "own", "annotations": {key: value}},
        }))
        .unwrap()
    }

    #[rstest]
    #[case("other", "5m", Some(600), 0)]
    #[case(BUNDLE_UNPACK_TIMEOUT, "5m", Some(300), 0)]
    #[case(BUNDLE_UNPACK_TIMEOUT, "0", None, 0)]
    #[case(BUNDLE_UNPACK_MIN_RETRY_INTERVAL, "90s", Some(600), 90)]
    fn a_group_says_how_long_bundles_may_take(
        #[case] key: &str,
        #[case] value: &str,
        #[case] limit: Option<u64>,
        #[case] pause: u64,
    ) {
        let expected = Patience {
            limit: limit.map(Duration::from_secs),
            pause: Duration::from_secs(pause),
        };
        assert_eq!(Patience::of(&group(key, value)), Ok(expected));
    }

    #[rstest]
    #[case(BUNDLE_UNPACK_TIMEOUT, "timeout")]
    #[case(BUNDLE_UNPACK_MIN_RETRY_INTERVAL, "retry")]
    fn what_is_no_duration_is_said_in_olms_words(#[case] key: &str, #[case] what: &str) {
        let problem = Patience::of(&group(key, "soon")).unwrap_err();
        let words = format!("failed to parse unpack {what} annotation({key}: soon)");
        assert!(problem.starts_with(&words), "{problem}");
    }
}
