//! Ranges as users write them into a Subscription.
//!
//! Everything that [`Range`](super::Range) documents, and besides:
//!
//! | written | means |
//! |---|---|
//! | `1.2`, `1.2.x`, `1.2.*` | `>=1.2.0 <1.3.0` |
//! | `1`, `1.x`, `1.x.x` | `>=1.0.0 <2.0.0` |
//! | `*`, `x` | every release |
//! | `^1.2.3`, `^0.2.3`, `^0.0.3` | from there below 2.0.0, 0.3.0, 0.0.4 |
//! | `~1.2.3`, `~1.2`, `~1` | from there below 1.3.0, 1.3.0, 2.0.0 |
//! | `>1.2`, `<=1.2` | `>=1.3.0`, `<1.3.0`: the whole of 1.2 counts |
//! | `!=1.2` | all but the whole of 1.2 |
//!
//! A missing number thus stands for all numbers. Blanks around `||` and a leading `v` are optional.
//!
//! A pre-release is in the range only if one of the comparisons that must hold names a pre-release
//! of the same `major.minor.patch`: `>=1.0.0-rc.1` contains `1.0.0-rc.2`, but neither `1.1.0-rc.1`
//! nor, written as `<2.0.0`, `2.0.0-rc.1`. That is how npm and Cargo have it, and it keeps those
//! who did not ask for unfinished versions from getting them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use version_ranges::Ranges;

use super::error::RangeError;
use super::number::Version;
use super::range::{Comparison, Operator, contains};

/// What a person can still mean; every part of a range is compared with every version there is.
const LONGEST: usize = 1_000;

/// A set of versions, written by a user.
#[derive(Debug, Clone)]
pub struct UserRange {
    text: String,
    alternatives: Vec<Alternative>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Alternative {
    set: Ranges<Version>,
    /// The versions whose pre-releases were asked for.
    pre_releases_of: Vec<Version>,
}

impl UserRange {
    /// Reads a range. The empty text is not one.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        if text.len() > LONGEST {
            let problem = format!("expected at most {LONGEST} bytes, found {}", text.len());
            return Err(RangeError::user(text, 0, problem));
        }
        let mut alternatives = Vec::new();
        let mut offset = 0;
        for part in text.split("||") {
            alternatives.push(
                Parser {
                    text,
                    rest: part,
                    offset,
                }
                .alternative()?,
            );
            offset += part.len() + 2;
        }
        Ok(Self {
            text: text.to_owned(),
            alternatives,
        })
    }

    /// Whether the version is in the range. Its build metadata counts for nothing.
    pub fn contains(&self, version: &Version) -> bool {
        self.alternatives
            .iter()
            .any(|alternative| alternative.contains(version))
    }

    /// The text the range was read from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Alternative {
    fn contains(&self, version: &Version) -> bool {
        let asked_for = !version.is_pre_release()
            || self
                .pre_releases_of
                .iter()
                .any(|named| *named == release(version));
        asked_for && contains(&self.set, version)
    }
}

fn release(version: &Version) -> Version {
    Version::new(version.major(), version.minor(), version.patch())
}

impl PartialEq for UserRange {
    fn eq(&self, other: &Self) -> bool {
        self.alternatives == other.alternatives
    }
}

impl Eq for UserRange {}

impl fmt::Display for UserRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for UserRange {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        Self::parse(text)
    }
}

impl Serialize for UserRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for UserRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// A version of which the last numbers may be left open.
enum Partial {
    Any,
    Major(u64),
    Minor(u64, u64),
    Full(Version),
}

impl Partial {
    /// The first release it covers.
    fn first(&self) -> Version {
        match self {
            Self::Any => Version::new(0, 0, 0),
            Self::Major(major) => Version::new(*major, 0, 0),
            Self::Minor(major, minor) => Version::new(*major, *minor, 0),
            Self::Full(version) => version.clone(),
        }
    }

    /// The first release behind all that it covers. None for a full version.
    fn behind(&self) -> Option<Version> {
        match self {
            Self::Any | Self::Full(_) => None,
            Self::Major(major) => Some(Version::new(major.checked_add(1)?, 0, 0)),
            Self::Minor(major, minor) => Some(Version::new(*major, minor.checked_add(1)?, 0)),
        }
    }

    /// The first release that `^` leaves out: where the first number that is not zero changes.
    fn behind_caret(&self) -> Option<Version> {
        match self {
            Self::Any => None,
            Self::Major(_) | Self::Minor(0, _) => self.behind(),
            Self::Minor(major, _) => Self::Major(*major).behind(),
            Self::Full(version) => match (version.major(), version.minor(), version.patch()) {
                (0, 0, patch) => Some(Version::new(0, 0, patch.checked_add(1)?)),
                (0, minor, _) => Self::Minor(0, minor).behind(),
                (major, ..) => Self::Major(major).behind(),
            },
        }
    }

    /// The first release that `~` leaves out: where the second number changes, if there is one.
    fn behind_tilde(&self) -> Option<Version> {
        match self {
            Self::Full(version) => Self::Minor(version.major(), version.minor()).behind(),
            partial => partial.behind(),
        }
    }
}

/// From `first` to before `behind`, or without end.
fn between(first: Version, behind: Option<Version>) -> Ranges<Version> {
    match behind {
        Some(behind) => Ranges::between(first, behind),
        None => Ranges::higher_than(first),
    }
}

fn compare(operator: Operator, partial: &Partial) -> Ranges<Version> {
    if let Partial::Full(version) = partial {
        return Comparison::new(operator, version).set();
    }
    if matches!(partial, Partial::Any) {
        return match operator {
            Operator::Equal | Operator::LessOrEqual | Operator::GreaterOrEqual => Ranges::full(),
            Operator::NotEqual | Operator::Less | Operator::Greater => Ranges::empty(),
        };
    }
    let (first, behind) = (partial.first(), partial.behind());
    match operator {
        Operator::Equal => between(first, behind),
        Operator::NotEqual => between(first, behind).complement(),
        Operator::Less => Ranges::strictly_lower_than(first),
        Operator::GreaterOrEqual => Ranges::higher_than(first),
        Operator::LessOrEqual => behind.map_or_else(Ranges::full, Ranges::strictly_lower_than),
        Operator::Greater => behind.map_or_else(Ranges::empty, Ranges::higher_than),
    }
}

/// Reads one alternative.
struct Parser<'text> {
    text: &'text str,
    rest: &'text str,
    /// Where `rest` begins in `text`, in bytes.
    offset: usize,
}

impl<'text> Parser<'text> {
    fn alternative(mut self) -> Result<Alternative, RangeError> {
        let mut set = Ranges::full();
        let mut pre_releases_of = Vec::new();
        self.skip(char::is_whitespace);
        if self.rest.is_empty() {
            return Err(self.error(self.offset, "expected a version such as `1.2` or `>=1.2.3`"));
        }
        while !self.rest.is_empty() {
            let start = self.offset;
            let operator = self.take(is_operator);
            self.skip(char::is_whitespace);
            let (at, word) = (
                self.offset,
                self.take(|char| !char.is_whitespace() && !is_operator(char)),
            );
            let partial = partial(word).map_err(|problem| self.error(at, problem))?;
            let comparison = match operator {
                "^" => between(partial.first().without_build(), partial.behind_caret()),
                "~" => between(partial.first().without_build(), partial.behind_tilde()),
                _ => {
                    let known = Operator::parse(operator).ok_or_else(|| {
                        self.error(start, format!("expected a comparison, found `{operator}`"))
                    })?;
                    compare(known, &partial)
                }
            };
            set = set.intersection(&comparison);
            if let Partial::Full(version) = partial
                && version.is_pre_release()
                && !operator.starts_with('!')
            {
                pre_releases_of.push(release(&version));
            }
            self.skip(char::is_whitespace);
        }
        Ok(Alternative {
            set,
            pre_releases_of,
        })
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'text str {
        let end = self
            .rest
            .find(|char| !wanted(char))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.offset += end;
        taken
    }

    fn skip(&mut self, unwanted: impl Fn(char) -> bool) {
        self.take(unwanted);
    }

    fn error(&self, offset: usize, problem: impl Into<String>) -> RangeError {
        RangeError::user(self.text, offset, problem)
    }
}

fn is_operator(char: char) -> bool {
    matches!(char, '<' | '>' | '=' | '!' | '^' | '~')
}

/// Reads a version of which the last numbers may be missing or wildcards.
fn partial(word: &str) -> Result<Partial, String> {
    if word.is_empty() {
        return Err("expected a version such as `1.2` or `1.2.3`".to_owned());
    }
    let bare = word.strip_prefix('v').unwrap_or(word);
    let core_end = bare.find(['-', '+']).unwrap_or(bare.len());
    let (core, suffix) = bare.split_at(core_end);
    let parts: Vec<&str> = core.split('.').collect();
    let numbers = parts.iter().take_while(|part| !is_wildcard(part)).count();
    let wildcards = parts.iter().skip(numbers);
    if parts.len() > 3 || !wildcards.clone().all(|part| is_wildcard(part)) {
        return Err(format!("expected up to three numbers, found `{word}`"));
    }
    if numbers < 3 && !suffix.is_empty() {
        return Err(format!(
            "`{suffix}` needs all three numbers before it, found `{word}`"
        ));
    }
    if numbers == 3 {
        let version = Version::parse(bare);
        return version
            .map(Partial::Full)
            .map_err(|e| format!("{}, found `{word}`", e.problem));
    }
    let number = |index: usize| {
        let part = parts.get(index).copied().unwrap_or_default();
        // Read as a version, so that leading zeros and signs are refused here too.
        Version::parse(&format!("{part}.0.0"))
            .map(|version| version.major())
            .map_err(|_| format!("expected a number, found `{part}`"))
    };
    match numbers {
        0 => Ok(Partial::Any),
        1 => Ok(Partial::Major(number(0)?)),
        _ => Ok(Partial::Minor(number(0)?, number(1)?)),
    }
}

fn is_wildcard(part: &str) -> bool {
    matches!(part, "x" | "X" | "*")
}
