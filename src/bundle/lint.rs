//! What is wrong with a bundle, or could be better, and what to do about it.
//!
//! [`lint`] looks at one bundle: what `operator-sdk bundle validate` checks, with its optional
//! suites, and whether images are pinned. [`lint_upgrade`] compares a bundle with the version before
//! it. Both are plain functions on plain data.

mod crds;
mod csv;
mod format;
mod hub;
pub(crate) mod names;
mod practice;
mod removed_apis;
mod rights;
mod schema;
mod upgrade;

#[cfg(test)]
mod tests;

use std::fmt;

use super::Bundle;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The bundle does not work, or not everywhere it should.
    Error,
    /// The bundle works but could be better.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// Something that is wrong or could be better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule, such as `csv-name`.
    pub rule: &'static str,
    /// The file.
    pub file: String,
    /// The way to the value in the object, such as `spec.installModes`; may be empty.
    pub path: String,
    /// What was found.
    pub message: String,
    /// What to do.
    pub advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            rule,
            file,
            path,
            message,
            advice,
        } = self;
        write!(f, "{severity} [{rule}] {file}: ")?;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{message}")?;
        if !advice.is_empty() {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

/// What is wrong with a bundle; errors first.
pub fn lint(bundle: &Bundle) -> Vec<Finding> {
    let mut findings = Findings::default();
    format::check(bundle, &mut findings);
    csv::check(bundle, &mut findings);
    crds::check(bundle, &mut findings);
    hub::check(bundle, &mut findings);
    practice::check(bundle, &mut findings);
    removed_apis::check(bundle, &mut findings);
    findings.sorted()
}

/// What is wrong with going from one bundle to the next; errors first.
pub fn lint_upgrade(old: &Bundle, new: &Bundle) -> Vec<Finding> {
    let mut findings = Findings::default();
    upgrade::check(old, new, &mut findings);
    schema::check(old, new, &mut findings);
    rights::check(old, new, &mut findings);
    findings.sorted()
}

/// Collects findings.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn error(
        &mut self,
        rule: &'static str,
        (file, path): (&str, &str),
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(Severity::Error, rule, (file, path), message, advice);
    }

    fn warning(
        &mut self,
        rule: &'static str,
        (file, path): (&str, &str),
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(Severity::Warning, rule, (file, path), message, advice);
    }

    fn add(
        &mut self,
        severity: Severity,
        rule: &'static str,
        (file, path): (&str, &str),
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.0.push(Finding {
            severity,
            rule,
            file: file.to_owned(),
            path: path.to_owned(),
            message: message.into(),
            advice: advice.into(),
        });
    }

    fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| finding.severity);
        self.0
    }
}
