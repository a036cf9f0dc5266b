//! What Go reads although YAML forbids it.
//!
//! ```yaml
//! description: "the second line
//! is not indented deeper than the key"# and this comment lacks a blank
//! ```
//!
//! Published bundles contain such quoted text, up to two hundred times in one file. How far a line
//! inside quotes is indented has no part in the value, so we indent the lines and read again. Only
//! what the parser complains of is touched: the quoted text it names, from the line it names to its
//! end.

use std::borrow::Cow;

use serde_yaml::granit_parser::{ErrorKind, Scanner, StrInput};

use super::compose::{Problem, ProblemKind, compose};
use super::node::Node;

/// How often a chunk is mended, and how many bytes we are willing to read again for it. Once is
/// enough for all quoted text in it, as a rule; comments take a time each.
const MAX_TIMES: usize = 200;
const MAX_BYTES: usize = 1 << 28;

/// How much deeper than the node before we try to indent a line.
const MAX_DEEPER: usize = 1_000;

/// Composes the documents of a chunk, mending it where needed.
pub(super) fn compose_mending(chunk: &str, lines_before: usize) -> Result<Vec<Node>, Problem> {
    let mut text = Cow::Borrowed(chunk);
    let mut mender = Mender::default();
    loop {
        let mut problem = match compose(&text, lines_before) {
            Ok(documents) => return Ok(documents),
            Err(problem) => problem,
        };
        if let Some(better) = mender.mend(&text, &problem) {
            text = Cow::Owned(better);
            continue;
        }
        if matches!(problem.kind, ProblemKind::Indentation(_)) {
            "a line inside quotes; are the quotes before it closed?".clone_into(&mut problem.text);
        }
        return Err(problem);
    }
}

/// A line inside quotes that is not indented enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flaw {
    /// Where its first character is, in bytes.
    pub(super) offset: usize,
    /// Where what stands before the quoted text ends, in bytes.
    pub(super) after: usize,
    /// An indentation that is likely to be enough.
    pub(super) enough: usize,
}

impl Flaw {
    /// Whether the parser's complaint is about such a line.
    pub(super) fn is_named_by(kind: &ErrorKind) -> bool {
        matches!(
            kind,
            ErrorKind::InvalidQuotedScalarIndent | ErrorKind::TabInIndentation
        )
    }
}

#[derive(Default)]
struct Mender {
    times: usize,
    bytes: usize,
    last_line: u32,
    deeper: usize,
}

impl Mender {
    /// The text without the problem, if we know how and have not done it too often.
    fn mend(&mut self, text: &str, problem: &Problem) -> Option<String> {
        let mended = match problem.kind {
            ProblemKind::Comment { offset } => {
                let (before, comment) = text.split_at_checked(offset)?;
                format!("{before} {comment}")
            }
            ProblemKind::Indentation(flaw) => {
                // The same line again: it was not enough.
                let again = self.last_line == problem.at.line;
                self.deeper = if again { self.deeper * 2 + 8 } else { 0 };
                self.last_line = problem.at.line;
                if self.deeper > MAX_DEEPER {
                    return None;
                }
                indent_all(text, flaw, self.deeper)?
            }
            ProblemKind::Syntax | ProblemKind::Limit => return None,
        };
        self.times += 1;
        self.bytes = self.bytes.saturating_add(mended.len());
        (self.times <= MAX_TIMES && self.bytes <= MAX_BYTES).then_some(mended)
    }
}

/// Mends a flaw and all that follow it. None if the first cannot be mended.
fn indent_all(text: &str, first: Flaw, deeper: usize) -> Option<String> {
    let mut mended = String::with_capacity(text.len() + text.len() / 8);
    let mut copied = 0;
    let mut next = Some(first);
    while let Some(flaw) = next {
        let Some(end) = closing_quote(text.as_bytes(), flaw.after, flaw.offset) else {
            break;
        };
        let line_start = text
            .get(..flaw.offset)?
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        mended.push_str(text.get(copied..line_start)?);
        let blanks = " ".repeat(flaw.enough.saturating_add(deeper));
        for line in text.get(line_start..end)?.split_inclusive('\n') {
            mended.push_str(&blanks);
            mended.push_str(line);
        }
        copied = end;
        let rest_of_line = text.get(end..)?.find('\n');
        next = rest_of_line.and_then(|newline| next_flaw(text, end + newline + 1));
    }
    mended.push_str(text.get(copied..)?);
    (copied > 0).then_some(mended)
}

/// The next flaw from the beginning of a line on, which is not inside quotes. To begin in the middle
/// of a document costs the scanner nothing that matters here: how deep a line is indented does not
/// depend on what is around it.
fn next_flaw(text: &str, line_start: usize) -> Option<Flaw> {
    let rest = text.get(line_start..)?;
    let mut after = line_start;
    let mut enough = 1;
    for token in Scanner::new(StrInput::new(rest)) {
        match token {
            Ok(token) => {
                let span = token.span();
                after = line_start + span.end.byte_offset()?;
                enough = span.start.col() + 1;
            }
            Err(error) if Flaw::is_named_by(error.kind()) => {
                let offset = line_start + error.marker().byte_offset()?;
                return Some(Flaw {
                    offset,
                    after,
                    enough,
                });
            }
            Err(_) => return None,
        }
    }
    None
}

/// Where the quoted text that contains `inside` ends. It is one of the first things that follow
/// `after`, where the last node ended. None if it does not end, or is not where we expect it.
fn closing_quote(bytes: &[u8], after: usize, inside: usize) -> Option<usize> {
    let mut at = after;
    loop {
        at = match *bytes.get(at)? {
            quote @ (b'\'' | b'"') => match close(bytes, at, quote)? {
                end if end >= inside => return Some(end),
                end => end + 1,
            },
            b'#' => at + bytes.get(at..)?.iter().position(|&byte| byte == b'\n')?,
            b' ' | b'\t' | b'\r' | b'\n' | b':' | b'-' | b'?' => at + 1,
            // The properties of a node: `&anchor` and `!tag`.
            b'&' | b'!' => at + bytes.get(at..)?.iter().position(u8::is_ascii_whitespace)?,
            _ => return None,
        };
    }
}

/// Where the quote that opens at `start` closes.
fn close(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            &byte if byte == quote => {
                if quote == b'"' || bytes.get(at + 1) != Some(&quote) {
                    return Some(at);
                }
                at += 2;
            }
            _ => at += 1,
        }
    }
}
