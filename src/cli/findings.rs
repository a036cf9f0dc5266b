//! What is wrong with something, as a table, as lines, or for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::args::output::Output;
use super::failure::Failure;
use super::printer;
use crate::bundle::lint;
use crate::catalog::fbc;
use crate::publish;

/// How bad a finding is; the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    Error,
    Warning,
}

/// Something that is wrong or could be better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) rule: String,
    /// The file, or the part of a catalog.
    pub(super) place: String,
    /// The way to the value; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) path: String,
    pub(super) message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) advice: String,
}

#[derive(Serialize)]
struct Report<'a> {
    errors: usize,
    warnings: usize,
    findings: &'a [Finding],
}

/// Prints findings, and says no if there is an error among them. `what` was looked at.
pub(super) fn report(
    what: &str,
    mut findings: Vec<Finding>,
    output: Output,
) -> Result<(), Failure> {
    findings.sort_by_key(|finding| finding.severity);
    if output == Output::Text {
        for finding in &mut findings {
            for text in [
                &mut finding.place,
                &mut finding.path,
                &mut finding.message,
                &mut finding.advice,
            ] {
                *text = printer::visible(text).into_owned();
            }
        }
    }
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let warnings = findings.len() - errors;
    let report = Report {
        errors,
        warnings,
        findings: &findings,
    };
    match output {
        Output::Text if printer::on_terminal() => printer::data(&table(&findings))?,
        Output::Text => printer::data(&lines(&findings))?,
        structured => printer::structured(&report, structured)?,
    }
    let counts = format!(
        "{}, {}",
        counted(errors, "error"),
        counted(warnings, "warning")
    );
    if errors > 0 {
        return Err(Failure::no(anyhow::anyhow!("{what} has {counts}")));
    }
    if warnings > 0 {
        printer::say(&format!("{what} has {counts}"));
    } else {
        printer::say(&format!("nothing is wrong with {what}"));
    }
    Ok(())
}

/// `1 error`, `2 errors`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn lines(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{finding}");
    }
    text
}

fn table(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut table = printer::table(["", "RULE", "WHERE", "WHAT", "TO DO"]);
    for finding in findings {
        let place = match finding.path.as_str() {
            "" => finding.place.clone(),
            path => format!("{}\n{path}", finding.place),
        };
        table.add_row([
            &finding.severity.to_string(),
            &finding.rule,
            &place,
            &finding.message,
            &finding.advice,
        ]);
    }
    format!("{table}\n")
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}] {}: ", self.severity, self.rule, self.place)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.message)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        Ok(())
    }
}

impl From<lint::Finding> for Finding {
    fn from(finding: lint::Finding) -> Self {
        Self {
            severity: match finding.severity {
                lint::Severity::Error => Severity::Error,
                lint::Severity::Warning => Severity::Warning,
            },
            rule: finding.rule.to_owned(),
            place: finding.file,
            path: finding.path,
            message: finding.message,
            advice: finding.advice,
        }
    }
}

impl From<fbc::Problem> for Finding {
    fn from(problem: fbc::Problem) -> Self {
        let mut place = format!("package `{}`", problem.package);
        if let Some(channel) = &problem.channel {
            let _ = write!(place, ", channel `{channel}`");
        }
        if let Some(bundle) = &problem.bundle {
            let _ = write!(place, ", bundle `{bundle}`");
        }
        let rule = serde_json::to_value(problem.rule).unwrap_or_default();
        Self {
            severity: if problem.rule.refuses() {
                Severity::Error
            } else {
                Severity::Warning
            },
            rule: rule.as_str().unwrap_or_default().to_owned(),
            place,
            path: String::new(),
            message: problem.problem,
            advice: problem.advice,
        }
    }
}

impl From<&fbc::Error> for Finding {
    fn from(error: &fbc::Error) -> Self {
        Self {
            severity: Severity::Error,
            rule: "unreadable".to_owned(),
            place: error.file().to_owned(),
            path: String::new(),
            message: error.to_string(),
            advice: "correct that file".to_owned(),
        }
    }
}

impl From<publish::Problem> for Finding {
    fn from(problem: publish::Problem) -> Self {
        Self {
            severity: if problem.left_out {
                Severity::Error
            } else {
                Severity::Warning
            },
            rule: "bundle".to_owned(),
            place: problem.place,
            path: String::new(),
            message: problem.message,
            advice: "`chandler bundle lint` tells more".to_owned(),
        }
    }
}
