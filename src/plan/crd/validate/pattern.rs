//! Patterns and choices of schemas, prepared once.

use std::collections::{HashMap, HashSet};

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::super::apiextensions::JSONSchemaProps;
use super::super::text;

/// How much memory one prepared pattern may take: the usual ones take a few kilobytes.
const LARGEST_PATTERN: usize = 4 << 20;
/// How many patterns are prepared for one schema.
const MOST_PATTERNS: usize = 2_000;

/// The patterns and choices of a schema that were asked for.
#[derive(Default)]
pub(super) struct Patterns<'a> {
    known: HashMap<&'a str, Option<Regex>>,
    /// By the address of the schema they stand in, which is only compared.
    choices: HashMap<usize, HashSet<String>>,
}

impl<'a> Patterns<'a> {
    /// Whether a text matches; nothing for a pattern that cannot be tried.
    pub(super) fn matches(&mut self, pattern: &'a str, text: &str) -> Option<bool> {
        if !self.known.contains_key(pattern) && self.known.len() >= MOST_PATTERNS {
            return None;
        }
        let regex = self
            .known
            .entry(pattern)
            .or_insert_with(|| prepare(pattern));
        regex.as_ref().map(|regex| regex.is_match(text))
    }

    /// Whether a value is one of the choices, if there are any.
    pub(super) fn allow(&mut self, schema: &'a JSONSchemaProps, value: &Value) -> bool {
        let Some(allowed) = &schema.enum_ else {
            return true;
        };
        let address = std::ptr::from_ref(schema).addr();
        let choices = self.choices.entry(address).or_insert_with(|| {
            let allowed = allowed.iter();
            allowed.map(|value| text::canonical(&value.0)).collect()
        });
        choices.contains(&text::canonical(value))
    }
}

/// The API server's patterns are Go's, where `\d` and `\w` mean ASCII. Here that is only possible for
/// patterns that cannot end in the middle of a letter; the others are read as Unicode.
fn prepare(pattern: &str) -> Option<Regex> {
    let build = |unicode: bool| {
        let mut builder = RegexBuilder::new(pattern);
        builder
            .unicode(unicode)
            .size_limit(LARGEST_PATTERN)
            .nest_limit(100);
        builder.build().ok()
    };
    build(false).or_else(|| build(true))
}
