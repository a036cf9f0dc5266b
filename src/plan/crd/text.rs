//! Values and names in words.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// How long a quoted piece of somebody's schema or object may be.
const LONGEST_QUOTE: usize = 80;

/// A text that is the same for equal values: fields in order of their names, `1.0` as `1`.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            text.push('{');
            for name in names {
                let _ = write!(text, "{name:?}:");
                if let Some(field) = fields.get(name) {
                    write_canonical(field, text);
                }
                text.push(',');
            }
            text.push('}');
        }
        Value::Number(number) => text.push_str(&canonical_number(number)),
        Value::String(string) => {
            let _ = write!(text, "{string:?}");
        }
        Value::Bool(_) | Value::Null => {
            let _ = write!(text, "{value}");
        }
    }
}

fn canonical_number(number: &Number) -> String {
    match number.as_f64() {
        // `f64` writes whole numbers without a fraction.
        Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float}"),
        _ => number.to_string(),
    }
}

/// A piece of somebody's text, short enough for a message and on one line.
pub(super) fn quote(text: &str) -> String {
    let one_line: String = text
        .chars()
        .take(LONGEST_QUOTE + 1)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if one_line.chars().count() <= LONGEST_QUOTE {
        return one_line;
    }
    let short: String = one_line.chars().take(LONGEST_QUOTE).collect();
    format!("{short}…")
}

/// A value, short enough for a message.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", quote(text)),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) => format!("an object with {} fields", fields.len()),
        _ => value.to_string(),
    }
}

/// A few of many: `a, b and c`, `a, b, c and 12 more`.
pub(super) fn few(items: &[String]) -> String {
    const SHOWN: usize = 5;
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if items.len() <= SHOWN => format!("{} and {last}", first.join(", ")),
        _ => {
            let shown: Vec<&str> = items.iter().take(SHOWN - 1).map(String::as_str).collect();
            format!(
                "{} and {} more",
                shown.join(", "),
                items.len() - shown.len()
            )
        }
    }
}

/// `one object`, `3 objects`.
pub(super) fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("one {thing}"),
        _ => format!("{number} {thing}s"),
    }
}
