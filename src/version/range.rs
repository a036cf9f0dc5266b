//! Ranges as OLM reads them.
//!
//! ```text
//! range      = all { " || " all }
//! all        = comparison { " " comparison }
//! comparison = [ "=" | "==" | "!" | "!=" | "<" | "<=" | ">" | ">=" ] version
//! version    = major "." minor "." patch [ "-" pre ] [ "+" build ]
//!            | major "." minor ".x" | major ".x" | major ".x.x"
//! ```
//!
//! Pre-releases match by plain precedence: `<2.0.0` contains `2.0.0-rc.1`. Build metadata counts
//! for nothing. The oddities of `blang/semver` that change what matches are kept, since published
//! catalogs were tested with them. They are marked below with "oddity".

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use version_ranges::Ranges;

use super::error::RangeError;
use super::number::Version;

/// A set of versions, written as OLM's catalogs have it.
///
/// Ranges are equal if they contain the same versions. The text is kept as it was written.
#[derive(Debug, Clone)]
pub struct Range {
    text: String,
    set: Ranges<Version>,
}

impl Range {
    /// Reads a range. The empty text is not one.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let alternatives = read(text)?;
        let sets = alternatives.iter().map(|all| intersection(all)).collect();
        let set = joined(sets, Ranges::union).unwrap_or_else(Ranges::empty);
        Ok(Self {
            text: text.to_owned(),
            set,
        })
    }

    /// Whether the version is in the range. Its build metadata counts for nothing.
    pub fn contains(&self, version: &Version) -> bool {
        contains(&self.set, version)
    }

    /// Whether no version at all is in the range.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The range as a set of intervals. Ask it only for versions without build metadata.
    pub fn as_set(&self) -> &Ranges<Version> {
        &self.set
    }

    /// The text the range was read from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Range {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl Eq for Range {}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        Self::parse(text)
    }
}

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// How a version is compared with the one in the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "" | "=" | "==" => Self::Equal,
            "!" | "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }
}

/// One comparison. Its version has no build metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) version: Version,
}

impl Comparison {
    pub(super) fn new(operator: Operator, version: &Version) -> Self {
        Self {
            operator,
            version: version.without_build(),
        }
    }

    pub(super) fn set(&self) -> Ranges<Version> {
        let version = self.version.clone();
        match self.operator {
            Operator::Equal => Ranges::singleton(version),
            Operator::NotEqual => Ranges::singleton(version).complement(),
            Operator::Less => Ranges::strictly_lower_than(version),
            Operator::LessOrEqual => Ranges::lower_than(version),
            Operator::Greater => Ranges::strictly_higher_than(version),
            Operator::GreaterOrEqual => Ranges::higher_than(version),
        }
    }
}

/// The versions for which all comparisons hold.
fn intersection(comparisons: &[Comparison]) -> Ranges<Version> {
    let sets = comparisons.iter().map(Comparison::set).collect();
    joined(sets, Ranges::intersection).unwrap_or_else(Ranges::full)
}

/// Joins neighbours until one is left. To join two takes as long as both together have pieces; joined to
/// a growing whole one after the other, thousands of them would take minutes.
fn joined(
    mut sets: Vec<Ranges<Version>>,
    join: impl Fn(&Ranges<Version>, &Ranges<Version>) -> Ranges<Version>,
) -> Option<Ranges<Version>> {
    while sets.len() > 1 {
        let pairs = sets.chunks(2);
        let joined = pairs.map(|pair| match pair {
            [one, other] => join(one, other),
            rest => rest.first().cloned().unwrap_or_else(Ranges::empty),
        });
        sets = joined.collect();
    }
    sets.pop()
}

pub(super) fn contains(set: &Ranges<Version>, version: &Version) -> bool {
    if version.build().is_empty() {
        set.contains(version)
    } else {
        set.contains(&version.without_build())
    }
}

/// The alternatives of a range; of each all comparisons must hold.
pub(super) fn read(text: &str) -> Result<Vec<Vec<Comparison>>, RangeError> {
    alternatives(text, &words(text))?
        .into_iter()
        .map(|words| expand(text, words))
        .collect()
}

/// A comparison as it is written, without the blanks in it.
struct Word {
    /// Where it begins, in bytes.
    offset: usize,
    text: String,
}

/// Splits at blanks, except behind `<`, `>` and `=`, so that `>= 1.0.0` is one word. Only the blank
/// itself separates, no tab. Oddity: words of one character are dropped.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = ' ';
    let mut push = |start: usize, end: usize| {
        if let Some(raw) = text.get(start..end)
            && raw.len() > 1
        {
            words.push(Word {
                offset: start,
                text: raw.replace(' ', ""),
            });
        }
    };
    for (index, char) in text.char_indices() {
        if char == ' ' && !matches!(last, '<' | '>' | '=') {
            push(start, index);
            start = index + 1;
        } else if char != ' ' {
            last = char;
        }
    }
    push(start, text.len());
    words
}

/// Splits at the words `||`.
fn alternatives<'a>(text: &str, words: &'a [Word]) -> Result<Vec<&'a [Word]>, RangeError> {
    let alternatives: Vec<_> = words.split(|word| word.text == "||").collect();
    let mut next = 0;
    for alternative in &alternatives {
        next += alternative.len();
        if alternative.is_empty() {
            let offset = words.get(next).map_or(text.len(), |word| word.offset);
            return Err(RangeError::olm(
                text,
                offset,
                "expected a comparison such as `>=1.0.0`",
            ));
        }
        next += 1;
    }
    Ok(alternatives)
}

fn expand(text: &str, words: &[Word]) -> Result<Vec<Comparison>, RangeError> {
    let mut comparisons = Vec::with_capacity(words.len());
    for word in words {
        let Some(digit) = word.text.find(char::is_numeric) else {
            let problem = format!("expected a version, found `{}`", word.text);
            return Err(RangeError::olm(text, word.offset, problem));
        };
        let (operator, version) = word.text.split_at(digit);
        let (operator, error) = (operator.trim(), |p: String| {
            RangeError::olm(text, word.offset, p)
        });
        // Oddity: an `x` anywhere, in a pre-release too, makes the version a wildcard.
        if word.text.contains('x') {
            for (operator, version) in expand_wildcard(operator, version).map_err(error)? {
                comparisons.push(comparison(operator, &version).map_err(error)?);
            }
        } else {
            let operator = Operator::parse(operator)
                .ok_or_else(|| error(format!("expected a comparison, found `{operator}`")))?;
            comparisons.push(comparison(operator, version).map_err(error)?);
        }
    }
    Ok(comparisons)
}

fn comparison(operator: Operator, version: &str) -> Result<Comparison, String> {
    Version::parse(version)
        .map(|version| Comparison::new(operator, &version))
        .map_err(|error| {
            format!(
                "expected a version, found `{}`: {}",
                error.text, error.problem
            )
        })
}

/// What a comparison with `1.2.x` or `1.x` stands for. All parts of the answer must hold.
fn expand_wildcard(operator: &str, version: &str) -> Result<Vec<(Operator, String)>, String> {
    use Operator::{Equal, GreaterOrEqual, Less};
    let first = first_of(version);
    Ok(match operator {
        ">=" => vec![(GreaterOrEqual, first)],
        "<" => vec![(Less, first)],
        ">" => vec![(GreaterOrEqual, behind(version, &first)?)],
        "<=" => vec![(Less, behind(version, &first)?)],
        "" | "=" | "==" => {
            let behind = behind(version, &first)?;
            vec![(GreaterOrEqual, first), (Less, behind)]
        }
        // Oddity: both must hold, so nothing is in such a range.
        "!" | "!=" => {
            let behind = behind(version, &first)?;
            vec![(Less, first), (GreaterOrEqual, behind)]
        }
        // Oddity: `^1.x` means 1.0.0 and nothing else.
        _ => vec![(Equal, first)],
    })
}

/// The version with zeros for the wildcards.
fn first_of(version: &str) -> String {
    let mut first = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    if first.matches('.').count() == 1 {
        first.push_str(".0");
    }
    first
}

/// The first version behind all that the wildcard covers. Oddity: for `1.x.x` that is 1.1.0, since
/// only the number of parts is looked at.
fn behind(version: &str, first: &str) -> Result<String, String> {
    let cannot = || format!("`{version}` with an `x` cannot stand behind this comparison");
    let last_is_wildcard = version.rsplit('.').next() == Some("x");
    let counted = match version.split('.').count() {
        2 if last_is_wildcard => 0,
        3 if last_is_wildcard => 1,
        _ => return Err(cannot()),
    };
    let mut parts: Vec<String> = first.split('.').map(str::to_owned).collect();
    let number = parts.get_mut(counted).ok_or_else(cannot)?;
    let value: i64 = number.parse().map_err(|_| cannot())?;
    *number = value.checked_add(1).ok_or_else(cannot)?.to_string();
    Ok(parts.join("."))
}
