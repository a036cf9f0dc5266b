//! A stream of documents, and what can be made of one.

use std::sync::Arc;
use std::vec;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::compose::{Problem, ProblemKind};
use super::decode::{Decoder, Strings};
use super::error::{Error, Place};
use super::mend::compose_mending;
use super::node::{Data, Node, Position};

/// One document of a text.
#[derive(Debug, Clone)]
pub struct Document {
    name: Arc<str>,
    root: Node,
}

impl Document {
    pub(super) fn null(name: &str) -> Self {
        Self {
            name: name.into(),
            root: Node {
                at: Position::START,
                data: Data::Null,
            },
        }
    }

    /// The line on which the content of the document begins.
    pub fn line(&self) -> usize {
        self.root.at.line as usize
    }

    /// The document as JSON. Keys stay in the order in which they were written.
    pub fn into_value(self) -> Value {
        self.root.into_value()
    }

    /// Reads a `T` from the document.
    pub fn decode<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.decode_with(Strings::Strict)
    }

    /// Reads a `T`; a number or a boolean may stand where it wants a string.
    pub fn decode_coercing<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.decode_with(Strings::Coerce)
    }

    fn decode_with<T: DeserializeOwned>(self, strings: Strings) -> Result<T, Error> {
        let start = self.root.at;
        T::deserialize(Decoder::new(self.root, strings)).map_err(|mismatch| Error::Type {
            place: place(&self.name, mismatch.at.unwrap_or(start)),
            path: mismatch.path(),
            problem: mismatch.problem,
        })
    }

    pub(super) fn unexpected(&self, first: usize) -> Error {
        Error::SecondDocument {
            place: place(&self.name, self.root.at),
            first,
        }
    }
}

fn place(name: &Arc<str>, at: Position) -> Place {
    Place {
        name: Arc::clone(name),
        line: at.line as usize,
        column: at.column as usize,
    }
}

/// The documents of a text, read one after the other. See [`documents`](super::documents).
#[derive(Debug)]
pub struct Documents<'text> {
    name: Arc<str>,
    rest: &'text str,
    /// Lines of the text before `rest`.
    lines_before: usize,
    ready: vec::IntoIter<Node>,
}

impl<'text> Documents<'text> {
    pub(super) fn new(name: &str, text: &'text str) -> Self {
        let mut documents = Self {
            name: name.into(),
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            lines_before: 0,
            ready: Vec::new().into_iter(),
        };
        if let Some(values) = json(documents.rest) {
            documents.ready = values.into_iter();
            documents.rest = "";
        }
        documents
    }

    /// Reads the next chunk.
    fn advance(&mut self) -> Result<(), Error> {
        let (chunk, rest) = split_chunk(self.rest);
        match compose_mending(chunk, self.lines_before) {
            Ok(nodes) => {
                self.ready = nodes.into_iter();
                self.rest = rest;
                self.lines_before += lines(chunk);
                Ok(())
            }
            Err(problem) => {
                self.rest = "";
                Err(self.error(problem))
            }
        }
    }

    fn error(
        &self,
        Problem {
            at,
            kind,
            text: problem,
        }: Problem,
    ) -> Error {
        let place = place(&self.name, at);
        match kind {
            ProblemKind::Limit => Error::Limit { place, problem },
            _ => Error::Syntax { place, problem },
        }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(root) = self.ready.by_ref().find(|root| !root.is_null()) {
                return Some(Ok(Document {
                    name: Arc::clone(&self.name),
                    root,
                }));
            }
            if self.rest.is_empty() {
                return None;
            }
            if let Err(error) = self.advance() {
                return Some(Err(error));
            }
        }
    }
}

/// Text that begins with a brace is usually JSON, and Kubernetes then reads it as JSON: quicker,
/// and without YAML's limits on tabs and on the length of keys.
fn json(text: &str) -> Option<Vec<Node>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut nodes = Vec::new();
    let mut line = 1;
    let mut read = 0;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    while let Some(value) = values.next() {
        let value = value.ok()?;
        // The stream stops behind a value: what lies before the value are blanks.
        let begin = text.get(read..)?.trim_start();
        let start = text.len() - begin.len();
        line += lines(text.get(read..start)?);
        nodes.push(Node::from_json(Position::of(line, 0), value));
        line += lines(text.get(start..values.byte_offset())?);
        read = values.byte_offset();
    }
    Some(nodes)
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// Splits before the first `---` line behind the start, so that only one document needs to be in
/// memory. Such a line always separates documents, inside quotes and block text too.
fn split_chunk(text: &str) -> (&str, &str) {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("\n---")) {
        let marker = from + found + 1;
        let ends = text
            .as_bytes()
            .get(marker + 3)
            .is_none_or(u8::is_ascii_whitespace);
        if let Some((chunk, rest)) = text.split_at_checked(marker)
            && ends
            && !only_directives(chunk)
        {
            return (chunk, rest);
        }
        from = marker;
    }
    (text, "")
}

/// Directives such as `%YAML 1.1` belong to the document behind the marker.
fn only_directives(chunk: &str) -> bool {
    let mut any = false;
    chunk.lines().all(|line| {
        any |= line.starts_with('%');
        line.starts_with(['%', '#']) || line.trim().is_empty()
    }) && any
}
