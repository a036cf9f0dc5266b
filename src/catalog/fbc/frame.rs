//! Cuts a stream into the texts of single blobs, without understanding them.
//!
//! A blob of JSON ends with the brace that closes it, a blob of YAML before the next `---` line.
//! Only the blob at hand is in memory. Where a brace is missing, the next line that begins with
//! `{` or `---` is taken for the beginning of the next blob, so that one torn blob does not take
//! the rest of the file with it.

use std::io::{self, Read};

/// The greatest blob that is read: a catalog has to pass through a cluster's API, which takes
/// objects of a few MiB.
pub const MAX_BLOB: usize = 64 << 20;

const CHUNK: usize = 256 << 10;

/// What the text at hand looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// From a brace to the one that closes it.
    Json,
    /// Begins with a brace that nothing closes.
    TornJson,
    /// Up to a `---` line or the end.
    Yaml,
    /// Longer than [`MAX_BLOB`].
    TooLarge,
}

/// The text of a blob: `text()` of the framer until it is told to go on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// The line on which it begins.
    pub(super) line: usize,
    length: usize,
}

pub(super) struct Framer<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What lies before this is done with.
    start: usize,
    /// The line of `start`.
    line: usize,
    ended: bool,
    /// Whether a brace was missing before: then a line that begins with `{` ends a blob.
    careful: bool,
    limit: usize,
}

impl<R: Read> Framer<R> {
    pub(super) fn new(reader: R) -> Self {
        Self::with_limit(reader, MAX_BLOB)
    }

    pub(super) fn with_limit(reader: R, limit: usize) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            line: 1,
            ended: false,
            careful: false,
            limit,
        }
    }

    /// The next text, which stays until [`Self::go_on`].
    pub(super) fn frame(&mut self) -> io::Result<Option<Frame>> {
        let Some(brace) = self.skip_blanks()? else {
            return Ok(None);
        };
        let (kind, length) = if brace { self.json()? } else { self.yaml()? };
        Ok(Some(Frame {
            kind,
            line: self.line,
            length,
        }))
    }

    pub(super) fn text(&self, frame: Frame) -> &[u8] {
        let rest = self.rest();
        rest.get(..frame.length).unwrap_or(rest)
    }

    /// The text up to the next line that looks like the beginning of a blob, or to the end. None if
    /// there is too much of it.
    pub(super) fn text_to_boundary(&mut self) -> io::Result<Option<&[u8]>> {
        let mut from = 0;
        loop {
            if let Some(end) = boundary(self.rest(), from) {
                return Ok(self.rest().get(..end));
            }
            // A boundary may be cut in two by the end of the buffer.
            from = self.rest().len().saturating_sub(4);
            if self.rest().len() > self.limit {
                return Ok(None);
            }
            if !self.fill()? {
                return Ok(Some(self.rest()));
            }
        }
    }

    /// Leaves the frame behind.
    pub(super) fn go_on(&mut self, frame: Frame) {
        self.consume(frame.length);
    }

    /// Leaves everything behind up to the next line that looks like the beginning of a blob.
    pub(super) fn go_on_to_boundary(&mut self) -> io::Result<()> {
        self.careful = true;
        loop {
            if let Some(end) = boundary(self.rest(), 0) {
                self.consume(end);
                return Ok(());
            }
            self.consume(self.rest().len().saturating_sub(4));
            if !self.fill()? {
                self.consume(self.rest().len());
                return Ok(());
            }
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Reads on. False at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let read = (&mut self.reader)
            .take(CHUNK as u64)
            .read_to_end(&mut self.buffer)?;
        self.ended = read == 0;
        Ok(read > 0)
    }

    fn consume(&mut self, count: usize) {
        let end = (self.start + count).min(self.buffer.len());
        let passed = self.buffer.get(self.start..end).unwrap_or_default();
        self.line += newlines(passed);
        self.start = end;
    }

    /// Goes to the first byte of the next blob, and tells whether it is a brace. None at the end.
    fn skip_blanks(&mut self) -> io::Result<Option<bool>> {
        if self.rest().is_empty() && !self.fill()? {
            return Ok(None);
        }
        if self.line == 1 && self.rest().starts_with(b"\xef\xbb\xbf") {
            self.start += 3;
        }
        loop {
            let Some(at) = self.find_from(0, |byte| !byte.is_ascii_whitespace())? else {
                self.consume(self.rest().len());
                return Ok(None);
            };
            if self.rest().get(at) == Some(&b'{') {
                self.consume(at);
                return Ok(Some(true));
            }
            // The blanks before the first word of YAML are its indentation.
            let blank = self.rest().get(..at).unwrap_or_default();
            let line_start = blank.iter().rposition(|&byte| byte == b'\n');
            self.consume(line_start.map_or(0, |newline| newline + 1));
            if !self.at_marker()? {
                return Ok(Some(false));
            }
            // Behind `---` there may be JSON, another marker, or nothing.
            let Some(at) = self.find_from(3, |byte| !byte.is_ascii_whitespace())? else {
                self.consume(self.rest().len());
                return Ok(None);
            };
            match self.rest().get(at) {
                Some(b'{') => {
                    self.consume(at);
                    return Ok(Some(true));
                }
                Some(b'-') if is_marker(self.rest(), at) => self.consume(at),
                _ => return Ok(Some(false)),
            }
        }
    }

    fn at_marker(&mut self) -> io::Result<bool> {
        while self.rest().len() < 4 && self.fill()? {}
        Ok(is_marker(self.rest(), 0))
    }

    /// The first byte from `from` on that `wanted` takes.
    fn find_from(
        &mut self,
        from: usize,
        wanted: impl Fn(&u8) -> bool,
    ) -> io::Result<Option<usize>> {
        let mut from = from;
        loop {
            let rest = self.rest().get(from..).unwrap_or_default();
            if let Some(found) = rest.iter().position(&wanted) {
                return Ok(Some(from + found));
            }
            from = from.max(self.rest().len());
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn json(&mut self) -> io::Result<(Kind, usize)> {
        let mut scan = Scan::default();
        let mut at = 0;
        loop {
            let rest = self.rest();
            if let Some(end) = scan.run(rest, &mut at, self.careful) {
                return Ok(end);
            }
            if rest.len() > self.limit {
                return Ok((Kind::TooLarge, rest.len()));
            }
            if !self.fill()? {
                return Ok((Kind::TornJson, self.rest().len()));
            }
        }
    }

    fn yaml(&mut self) -> io::Result<(Kind, usize)> {
        let mut from = 0;
        loop {
            let rest = self.rest();
            while let Some(marker) = find_marker(rest, from) {
                if marker + 3 >= rest.len() && !self.ended {
                    break;
                }
                // Directives such as `%YAML 1.1` belong to the document behind the marker.
                if !only_directives(rest.get(..marker).unwrap_or_default()) {
                    return Ok((Kind::Yaml, marker));
                }
                from = marker + 1;
            }
            from = from.max(rest.len().saturating_sub(4));
            if rest.len() > self.limit {
                return Ok((Kind::TooLarge, rest.len()));
            }
            if !self.fill()? {
                return Ok((Kind::Yaml, self.rest().len()));
            }
        }
    }
}

/// Counts braces outside of strings.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    new_line: bool,
}

impl Scan {
    /// Goes on from `at` to the end of the blob, or of what is there.
    fn run(&mut self, text: &[u8], at: &mut usize, careful: bool) -> Option<(Kind, usize)> {
        while let Some(rest) = text.get(*at..).filter(|rest| !rest.is_empty()) {
            if self.escaped {
                self.escaped = false;
                *at += 1;
                continue;
            }
            let found = if self.in_string {
                rest.iter()
                    .position(|byte| matches!(byte, b'"' | b'\\' | b'\n'))
            } else {
                rest.iter().position(|byte| {
                    matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b'\n' | b'-')
                })
            };
            let Some(found) = found else {
                *at = text.len();
                self.new_line = false;
                return None;
            };
            let new_line = self.new_line && found == 0;
            self.new_line = false;
            *at += found;
            let byte = rest.get(found).copied().unwrap_or_default();
            // No line of one JSON value begins so unless a brace or a quote is missing before.
            if careful && new_line && self.depth > 0 && (byte == b'{' || is_marker(text, *at)) {
                return Some((Kind::TornJson, *at));
            }
            *at += 1;
            match byte {
                b'\n' => {
                    self.new_line = true;
                    // A string has no line breaks: this one lacks its end.
                    self.in_string &= !careful;
                }
                b'\\' => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some((Kind::Json, *at));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

pub(super) fn newlines(text: &[u8]) -> usize {
    lines_behind(text, 0).count() + usize::from(text.last() == Some(&b'\n'))
}

/// Whether a `---` line begins here.
fn is_marker(text: &[u8], at: usize) -> bool {
    text.get(at..).is_some_and(|rest| {
        rest.starts_with(b"---") && rest.get(3).is_none_or(u8::is_ascii_whitespace)
    })
}

/// The first `---` line that begins behind `from`.
fn find_marker(text: &[u8], from: usize) -> Option<usize> {
    lines_behind(text, from).find(|&line| is_marker(text, line))
}

/// The first line behind `from` that looks like the beginning of a blob.
fn boundary(text: &[u8], from: usize) -> Option<usize> {
    lines_behind(text, from).find(|&line| text.get(line) == Some(&b'{') || is_marker(text, line))
}

/// Where the lines behind `from` begin.
fn lines_behind(text: &[u8], from: usize) -> impl Iterator<Item = usize> {
    text.iter()
        .enumerate()
        .skip(from)
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(newline, _)| newline + 1)
        .filter(|&line| line < text.len())
}

fn only_directives(text: &[u8]) -> bool {
    let mut any = false;
    text.split(|&byte| byte == b'\n').all(|line| {
        any |= line.first() == Some(&b'%');
        matches!(line.first(), Some(b'%' | b'#')) || line.trim_ascii().is_empty()
    }) && any
}
