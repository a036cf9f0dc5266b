//! What a scalar means with its tag and its quotes, as a value and as a key.

use serde_yaml::granit_parser::{ScalarStyle, Tag};

use super::scalar::{self, Meaning};

/// The key of a mapping's entry.
pub(super) enum Key {
    Text(String),
    /// `<<`: the value's entries are to be taken in.
    Merge,
}

/// The tags that change what a scalar means. Collections keep their kind whatever their tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Bool,
    Int,
    Float,
    Null,
    Timestamp,
    Binary,
    Merge,
    /// Strings, and everything that Kubernetes has no meaning for.
    Text,
}

impl Kind {
    pub(super) fn of(tag: Option<&Tag>) -> Self {
        let Some(tag) = tag else { return Self::None };
        match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("null") => Self::Null,
            Some("timestamp") => Self::Timestamp,
            Some("binary") => Self::Binary,
            Some("merge") => Self::Merge,
            _ => Self::Text,
        }
    }
}

/// What a scalar means as a value.
pub(super) fn meaning(text: &str, style: ScalarStyle, kind: Kind) -> Result<Meaning, String> {
    let meaning = any_meaning(text, style, kind)?;
    match meaning {
        Meaning::Float(float) if !float.is_finite() => Err(format!(
            "`{text}` is not a number that JSON and Kubernetes know; quote it if it is text"
        )),
        _ => Ok(meaning),
    }
}

fn any_meaning(text: &str, style: ScalarStyle, kind: Kind) -> Result<Meaning, String> {
    let resolved = match kind {
        Kind::None if style == ScalarStyle::Plain => return Ok(scalar::resolve(text)),
        Kind::None | Kind::Text | Kind::Merge => return Ok(Meaning::Text),
        Kind::Binary => {
            return Err(
                "the tag `!!binary` is not supported: write the base64 text without it".to_owned(),
            );
        }
        _ => scalar::resolve(text),
    };
    match (kind, resolved) {
        (Kind::Bool, Meaning::Bool(_))
        | (Kind::Int, Meaning::Int(_) | Meaning::Uint(_))
        | (Kind::Float, Meaning::Float(_))
        | (Kind::Null, Meaning::Null)
        | (Kind::Timestamp, Meaning::Text) => Ok(resolved),
        #[expect(clippy::cast_precision_loss, reason = "the tag asks for a float")]
        (Kind::Float, Meaning::Int(int)) => Ok(Meaning::Float(int as f64)),
        _ => Err(format!(
            "`{text}` is {}, not what its tag says",
            resolved.name()
        )),
    }
}

/// What a scalar means as a key.
pub(super) fn scalar_key(text: &str, style: ScalarStyle, kind: Kind) -> Result<Key, String> {
    let plain = kind == Kind::None && style == ScalarStyle::Plain;
    if text == "<<" && (plain || kind == Kind::Merge) {
        return Ok(Key::Merge);
    }
    key_text(any_meaning(text, style, kind)?, text).map(Key::Text)
}

/// Keys that are not strings become strings as Go writes them.
pub(super) fn key_text(meaning: Meaning, text: &str) -> Result<String, String> {
    match meaning {
        Meaning::Text => Ok(text.to_owned()),
        Meaning::Bool(bool) => Ok(bool.to_string()),
        Meaning::Int(int) => Ok(int.to_string()),
        Meaning::Float(float) => Ok(scalar::float_text(float)),
        Meaning::Null => Err("null cannot be a mapping key; quote it if it is text".to_owned()),
        Meaning::Uint(int) => Err(format!("{int} is too great for a mapping key; quote it")),
    }
}
