//! A version and its order.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::error::VersionError;

/// A semantic version.
///
/// Versions are ordered by precedence, and those that differ in nothing but build metadata by that
/// metadata. So `Ord` agrees with `Eq`; to compare as OLM does, use [`Version::precedence`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

impl Version {
    /// The release `major.minor.patch`.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }

    /// Reads a version as the specification of semantic versions has it.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let error = |problem: String| VersionError {
            text: text.to_owned(),
            problem,
        };
        let version = semver::Version::parse(text).map_err(|e| error(e.to_string()))?;
        // OLM keeps numbers of pre-releases in 64 bits.
        for identifier in version.pre.split('.') {
            let is_number = identifier.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && !identifier.is_empty() && identifier.parse::<u64>().is_err() {
                return Err(error(format!(
                    "pre-release number {identifier} is too great"
                )));
            }
        }
        Ok(Self(version))
    }

    /// Reads the oldest Kubernetes that an operator asks for (`minKubeVersion`); nothing if it asks for none.
    pub fn of_kubernetes(text: &str) -> Result<Option<Self>, VersionError> {
        if text.is_empty() {
            return Ok(None);
        }
        Self::parse(text.strip_prefix('v').unwrap_or(text)).map(Some)
    }

    /// Reads a version as OLM reads those of bundles: blanks around it, one `v` before it, leading
    /// zeros and missing numbers at the end are no fault.
    pub fn parse_tolerant(text: &str) -> Result<Self, VersionError> {
        let bare = text.trim();
        let bare = bare.strip_prefix('v').unwrap_or(bare);
        let mut numbers: Vec<String> = bare.splitn(3, '.').map(without_leading_zeros).collect();
        if numbers.len() < 3 {
            if numbers.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err(VersionError {
                    text: text.to_owned(),
                    problem: "a pre-release or build needs all three numbers before it".to_owned(),
                });
            }
            numbers.resize(3, "0".to_owned());
        }
        Self::parse(&numbers.join(".")).map_err(|error| VersionError {
            text: text.to_owned(),
            ..error
        })
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.0.major
    }

    /// The second number.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The third number.
    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// What follows the `-`, or nothing.
    pub fn pre_release(&self) -> &str {
        &self.0.pre
    }

    /// What follows the `+`, or nothing.
    pub fn build(&self) -> &str {
        &self.0.build
    }

    /// Whether this is a pre-release.
    pub fn is_pre_release(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// Compares by precedence: build metadata counts for nothing.
    pub fn precedence(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }

    /// The same version without its build metadata.
    #[must_use]
    pub fn without_build(&self) -> Self {
        Self(semver::Version {
            build: semver::BuildMetadata::EMPTY,
            ..self.0.clone()
        })
    }
}

/// `007` becomes `7`, `0-rc` stays, `00-rc` becomes `0-rc`.
fn without_leading_zeros(number: &str) -> String {
    if number.len() <= 1 {
        return number.to_owned();
    }
    let rest = number.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) {
        rest.to_owned()
    } else {
        format!("0{rest}")
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}
