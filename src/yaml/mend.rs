//! What Go reads although YAML forbids it.
//!
//! ```yaml
//! description: "the second line
//! is not indented deeper than the key"# and this comment lacks a blank
//! ```
//!
//! Published bundles contain such quoted text. How far a line inside quotes is indented has no part
//! in the value, so we indent the lines and read again. Only what the parser complained of is
//! touched: the quoted text it names, from the line it names to its end.

use std::borrow::Cow;

use super::compose::{Problem, ProblemKind, compose};
use super::node::Node;

/// How often a chunk is mended, and how many bytes we are willing to read again for it. Each time
/// costs another reading of the chunk; published bundles need it a dozen times at the most.
const MAX_TIMES: usize = 1_000;
const MAX_BYTES: usize = 1 << 28;

/// How much deeper than the last node we try to indent a line.
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
        if matches!(problem.kind, ProblemKind::Indentation { .. }) {
            "a line inside quotes; are the quotes before it closed?".clone_into(&mut problem.text);
        }
        return Err(problem);
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
            ProblemKind::Indentation {
                offset,
                after,
                enough,
            } => {
                // The same line again: it was not enough.
                let again = self.last_line == problem.at.line;
                self.deeper = if again { self.deeper * 2 + 8 } else { 0 };
                self.last_line = problem.at.line;
                if self.deeper > MAX_DEEPER {
                    return None;
                }
                indent(text, offset, after, enough.saturating_add(self.deeper))?
            }
            ProblemKind::Syntax | ProblemKind::Limit => return None,
        };
        self.times += 1;
        self.bytes = self.bytes.saturating_add(mended.len());
        (self.times <= MAX_TIMES && self.bytes <= MAX_BYTES).then_some(mended)
    }
}

/// Indents the line at `offset` and those that follow it inside the same quotes.
fn indent(text: &str, offset: usize, after: usize, by: usize) -> Option<String> {
    let line_start = text
        .get(..offset)?
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = closing_quote(text.as_bytes(), after, offset)?;
    let blanks = " ".repeat(by);
    let mut mended = String::with_capacity(text.len() + by * 8);
    mended.push_str(text.get(..line_start)?);
    for line in text.get(line_start..end)?.split_inclusive('\n') {
        mended.push_str(&blanks);
        mended.push_str(line);
    }
    mended.push_str(text.get(end..)?);
    Some(mended)
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
