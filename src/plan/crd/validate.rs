//! A live object against a schema, as the API server would see it when it is written next.

mod format;
mod pattern;
mod read;
mod rules;
mod structure;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::apiextensions::{CustomResourceDefinition, JSONSchemaProps};
use super::{limits, schema_of, version_of};
use pattern::Patterns;
use read::dropped;

pub(super) use read::as_read;
use rules::Rules;

/// How many violations of one object are told apart; nobody reads more.
const MOST_VIOLATIONS: usize = 100;

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationKind {
    /// It is missing.
    Required,
    /// It is of another type, or null.
    Type,
    /// It is none of the values that are allowed.
    Enum,
    /// It is too small, too large, too short or too long.
    Bound(&'static str),
    /// Its text does not match the pattern.
    Pattern,
    /// It does not have the format.
    Format,
    /// An item is there twice.
    Duplicate,
    /// It is no whole object where one has to be.
    Resource,
    /// `allOf`, `anyOf`, `oneOf` or `not` does not hold.
    Logic(&'static str),
    /// A rule in CEL does not hold.
    Rule(String),
}

/// What a schema does not allow about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// The field, for example `spec.nodes[2].name`; empty for the whole object.
    pub path: String,
    /// What is wrong.
    pub kind: ViolationKind,
    /// The same in words that follow the path: "must be one of …".
    pub words: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "the object"
        } else {
            &self.path
        };
        write!(f, "{path} {}", self.words)
    }
}

/// What is wrong with an object by the schema of a version. Fields that the schema does not name are
/// no violation: they are dropped. A version that the CRD does not have allows everything.
///
/// Rules that compare with what was before (`oldSelf`) see the object itself: as if somebody wrote it
/// again unchanged.
pub fn validate(object: &Value, crd: &CustomResourceDefinition, version: &str) -> Vec<Violation> {
    Checker::new(crd, version).check(object).violations
}

/// What is wrong with an object by the new schema of a version that was not already wrong by the old
/// schema of that version.
pub fn validate_ratcheted(
    object: &Value,
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    version: &str,
) -> Vec<Violation> {
    let found = Checker::new(new, version).check(object);
    ratcheted(found.violations, || {
        Checker::new(old, version).check(object).violations
    })
}

/// Leaves out what was wrong before, which is only looked at when something is wrong now.
pub(super) fn ratcheted(
    now: Vec<Violation>,
    before: impl FnOnce() -> Vec<Violation>,
) -> Vec<Violation> {
    if now.is_empty() {
        return now;
    }
    let before: BTreeSet<(String, ViolationKind)> = before()
        .into_iter()
        .map(|violation| (violation.path, violation.kind))
        .collect();
    let is_new =
        |violation: &Violation| !before.contains(&(violation.path.clone(), violation.kind.clone()));
    now.into_iter().filter(is_new).collect()
}

/// What a look at an object gave.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) violations: Vec<Violation>,
    /// What could not be looked at, and why, as sentences.
    pub(super) unchecked: BTreeSet<String>,
}

impl Found {
    pub(super) fn add(&mut self, path: &str, kind: ViolationKind, words: impl Into<String>) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(Violation {
                path: path.to_owned(),
                kind,
                words: words.into(),
            });
        }
    }
}

/// Looks at many objects of one version: patterns and rules are prepared once.
pub(super) struct Checker<'a> {
    schema: Option<&'a JSONSchemaProps>,
    keeps_unknown: bool,
    has_rules: bool,
    patterns: Patterns<'a>,
    rules: Rules<'a>,
    /// Why nothing is looked at.
    refusal: Option<String>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(crd: &'a CustomResourceDefinition, version: &str) -> Self {
        let schema = version_of(crd, version).and_then(schema_of);
        let too_deep = schema.is_some_and(limits::is_too_deep);
        let refusal = too_deep.then(|| {
            format!(
                "the schema of version {version} nests deeper than {} levels: objects were not checked against it",
                limits::MAX_DEPTH
            )
        });
        let schema = schema.filter(|_| !too_deep);
        Self {
            schema,
            keeps_unknown: crd.spec.preserve_unknown_fields == Some(true),
            has_rules: schema.is_some_and(rules::are_in),
            patterns: Patterns::default(),
            rules: Rules::default(),
            refusal,
        }
    }

    /// Looks at one object.
    pub(super) fn check(&mut self, object: &Value) -> Found {
        let mut found = Found::default();
        found.unchecked.extend(self.refusal.clone());
        let Some(schema) = self.schema else {
            return found;
        };
        if limits::value_is_too_deep(object) {
            let words = format!("nests deeper than {} levels", limits::MAX_DEPTH);
            found
                .unchecked
                .insert(format!("an object {words} and was not checked"));
            return found;
        }
        let object = as_read(schema, self.keeps_unknown, object);
        structure::check(schema, &object, &mut self.patterns, &mut found);
        if self.has_rules {
            self.rules.check(schema, &object, &mut found);
        }
        found
    }

    /// The fields that an object has by the schema before and loses by this one.
    pub(super) fn loses(&self, before: &Checker<'_>, object: &Value) -> Vec<String> {
        let Some(schema) = self.schema.filter(|_| !self.keeps_unknown) else {
            return Vec::new();
        };
        match before.schema {
            Some(old) => dropped(schema, &as_read(old, before.keeps_unknown, object)),
            None => dropped(schema, object),
        }
    }
}
