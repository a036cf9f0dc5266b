//! Versions and ranges that cannot be read.

/// In quotes, and of a long text only its beginning: it may be a megabyte of somebody else's.
fn quoted(text: &str) -> String {
    const LENGTH: usize = 200;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid version {}: {problem}", quoted(text))]
pub struct VersionError {
    /// What was to be read.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A text that is not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid version range {}: column {column}: {problem}", quoted(text))]
pub struct RangeError {
    /// What was to be read.
    pub text: String,
    /// Where the problem is, in characters from 1.
    pub column: usize,
    /// What was expected and what was found.
    pub problem: String,
    hint: Option<&'static str>,
}

impl RangeError {
    /// Of a range in OLM's grammar. `offset` counts bytes from the start of `text`.
    pub(super) fn olm(text: &str, offset: usize, problem: impl Into<String>) -> Self {
        Self::new(
            text,
            offset,
            problem.into(),
            hint(&COMMON, text).or_else(|| hint(&OLM, text)),
        )
    }

    /// Of a range in the users' grammar. `offset` counts bytes from the start of `text`.
    pub(super) fn user(text: &str, offset: usize, problem: impl Into<String>) -> Self {
        Self::new(text, offset, problem.into(), hint(&COMMON, text))
    }

    fn new(text: &str, offset: usize, problem: String, hint: Option<&'static str>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        Self {
            text: text.to_owned(),
            column: before.chars().count() + 1,
            problem,
            hint,
        }
    }

    /// What the writer may have meant, if the text looks like a common mistake.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

/// What people bring along from other tools, and what to tell them.
const COMMON: [(&str, &str); 6] = [
    (
        ",",
        "separate comparisons with a blank instead of a comma: `>=1.0.0 <2.0.0`",
    ),
    (
        "&&",
        "comparisons next to each other must all hold: write `>=1.0.0 <2.0.0`",
    ),
    ("~>", "instead of `~>1.2` write `>=1.2.0 <2.0.0`"),
    ("=>", "greater or equal is `>=`"),
    ("=<", "less or equal is `<=`"),
    (" - ", "instead of `1.0.0 - 2.0.0` write `>=1.0.0 <=2.0.0`"),
];

/// What only the users' grammar knows.
const OLM: [(&str, &str); 5] = [
    (
        "|",
        "alternatives are separated by `||`, with a blank on each side",
    ),
    ("^", "instead of `^1.2.3` write `>=1.2.3 <2.0.0`"),
    ("~", "instead of `~1.2.3` write `>=1.2.3 <1.3.0`"),
    (
        "*",
        "instead of `1.*` write `1.x`; for every version write `>=0.0.0`",
    ),
    ("v", "write versions without the leading `v`"),
];

fn hint(hints: &[(&str, &'static str)], text: &str) -> Option<&'static str> {
    hints
        .iter()
        .find(|(mistake, _)| text.contains(mistake))
        .map(|(_, hint)| *hint)
}
