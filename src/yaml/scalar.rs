//! What an unquoted word means: the rules of Go's `yaml.v2`, which Kubernetes reads with.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The meaning of a scalar. Text is whatever has no other meaning, timestamps included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text,
}

impl Meaning {
    /// Names the meaning for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Uint(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text => "text",
        }
    }
}

/// The meaning of a plain, untagged scalar.
pub(super) fn resolve(text: &str) -> Meaning {
    let Some(first) = text.bytes().next() else {
        return Meaning::Null;
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => match text {
            ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" => Meaning::Float(f64::INFINITY),
            _ => separators_removed(text)
                .filter(|plain| is_decimal(plain))
                .and_then(|plain| finite(&plain))
                .map_or(Meaning::Text, Meaning::Float),
        },
        b'+' | b'-' | b'0'..=b'9' => match text {
            "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
            _ => number(text).unwrap_or(Meaning::Text),
        },
        _ => Meaning::Text,
    }
}

fn word(text: &str) -> Meaning {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Meaning::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Meaning::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Meaning::Null,
        _ => Meaning::Text,
    }
}

/// Numbers that begin with a digit or a sign. Underscores count for nothing wherever they stand.
fn number(text: &str) -> Option<Meaning> {
    let plain: Cow<'_, str> = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        text.into()
    };
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, plain.get(1..)?),
        b'+' => (false, plain.get(1..)?),
        _ => (false, &*plain),
    };
    let signed = digits.len() != plain.len();
    if let Some(magnitude) = magnitude(digits) {
        if let Some(int) = with_sign(negative, magnitude) {
            return Some(Meaning::Int(int));
        }
        if !signed {
            return Some(Meaning::Uint(magnitude));
        }
    }
    if is_decimal(&plain) {
        return finite(&plain).map(Meaning::Float);
    }
    // A quirk: the sign of a binary number may also follow its prefix.
    let digits = plain.strip_prefix("0b")?;
    let (negative, digits) = match digits.as_bytes().first()? {
        b'-' => (true, digits.get(1..)?),
        b'+' => (false, digits.get(1..)?),
        _ => return None,
    };
    with_sign(negative, in_radix(digits, 2)?).map(Meaning::Int)
}

/// An unsigned integer; the prefix tells the radix, and a mere `0` in front means octal.
fn magnitude(digits: &str) -> Option<u64> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    in_radix(digits, radix)
}

fn in_radix(digits: &str, radix: u32) -> Option<u64> {
    // `from_str_radix` would also take a sign.
    let unsigned = digits
        .bytes()
        .next()
        .is_some_and(|byte| byte != b'+' && byte != b'-');
    unsigned
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
}

fn with_sign(negative: bool, magnitude: u64) -> Option<i64> {
    if negative {
        0_i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// Whether the text is `[sign] digits [. digits] [e [sign] digits]` with a digit before or after
/// the point.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)),
        ),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// What is too great for a float is not a number: it stays text.
fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|float: &f64| float.is_finite())
}

/// Without the underscores, if each of them stands between two digits.
fn separators_removed(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(text.into());
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut after_digit = false;
    while let Some(char) = chars.next() {
        if char == '_' {
            if !after_digit
                || !chars
                    .peek()
                    .is_some_and(|next| next.is_ascii_digit() || *next == '_')
            {
                return None;
            }
            after_digit = false;
        } else {
            after_digit = char.is_ascii_digit();
            plain.push(char);
        }
    }
    Some(plain.into())
}

/// A float as Go names it when it must become a string: shortest digits of single precision, with
/// an exponent below -4 and from 6 on.
pub(super) fn float_text(float: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the loss is part of the dialect"
    )]
    let float = float as f32;
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return float.to_string();
    }
    let mut text = mantissa.to_owned();
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a string cannot fail.
    let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
    text
}
