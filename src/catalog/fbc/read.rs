//! A file, blob by blob.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use serde_json::Value;

use super::blob::Meta;
use super::decode::{Fault, decode_fault};
use super::error::{Error, Origin};
use super::frame::{Frame, Framer, Kind, newlines};
use crate::yaml;

/// A blob and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Blob {
    /// What it says.
    pub meta: Meta,
    /// Where it begins.
    pub origin: Origin,
}

/// Reads the blobs of a file one after the other. `name` stands for the file in errors.
///
/// JSON and YAML may be mixed. An error does not end the iteration: what follows the broken blob
/// is still read, unless the file itself cannot be read.
pub fn read<R: Read>(name: &str, reader: R) -> Blobs<R> {
    Blobs {
        file: name.into(),
        framer: Framer::new(reader),
        ready: VecDeque::new(),
        failed: false,
    }
}

/// Takes the blobs of a file, understood or not.
pub(crate) trait RawSink {
    /// What ends the reading.
    type Error;

    /// Is offered the text of each JSON blob, and says whether that was enough.
    fn text(&mut self, text: &[u8]) -> Result<bool, Self::Error>;

    /// Takes every other blob, and what cannot be read.
    fn blob(&mut self, blob: Result<Blob, Error>) -> Result<(), Self::Error>;
}

/// The blobs of a file. See [`read`].
pub struct Blobs<R> {
    file: Arc<str>,
    framer: Framer<R>,
    ready: VecDeque<Result<Blob, Error>>,
    failed: bool,
}

impl<R: Read> Iterator for Blobs<R> {
    type Item = Result<Blob, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(blob) = self.ready.pop_front() {
                return Some(blob);
            }
            if self.failed {
                return None;
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(source) => {
                    self.failed = true;
                    let file = Arc::clone(&self.file);
                    return Some(Err(Error::Io { file, source }));
                }
            }
        }
    }
}

impl<R: Read> Blobs<R> {
    /// Reads the file to its end for somebody who need not understand every blob.
    pub(crate) fn feed<S: RawSink>(mut self, sink: &mut S) -> Result<(), S::Error> {
        loop {
            // What is no JSON, or cannot even be read, is met again by `next`.
            while let Ok(Some(frame)) = self.framer.frame() {
                if frame.kind != Kind::Json || !sink.text(self.framer.text(frame))? {
                    break;
                }
                self.framer.go_on(frame);
            }
            match self.next() {
                Some(blob) => sink.blob(blob)?,
                None => return Ok(()),
            }
            while let Some(blob) = self.ready.pop_front() {
                sink.blob(blob)?;
            }
        }
    }

    /// Reads the next text. False at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(frame) = self.framer.frame()? else {
            return Ok(false);
        };
        match frame.kind {
            Kind::Json => self.json(frame)?,
            Kind::Yaml => {
                let documents = documents(&self.file, self.framer.text(frame), frame.line);
                match documents {
                    Ok(documents) => {
                        self.framer.go_on(frame);
                        self.take(documents);
                    }
                    Err(error) => {
                        self.ready.push_back(Err(error));
                        self.framer.go_on_to_boundary()?;
                    }
                }
            }
            Kind::TornJson => {
                let error = json_error(&self.file, self.framer.text(frame), frame.line);
                self.torn(frame, error)?;
            }
            Kind::TooLarge => {
                let problem = format!(
                    "the blob is larger than {} MiB: is a brace or a `---` line missing?",
                    super::MAX_BLOB >> 20
                );
                let package = guess_package(self.framer.text(frame));
                let error = syntax(&self.file, frame.line, package, problem);
                self.ready.push_back(Err(error));
                self.framer.go_on_to_boundary()?;
            }
        }
        Ok(true)
    }

    fn json(&mut self, frame: Frame) -> io::Result<()> {
        let text = self.framer.text(frame);
        if let Ok(value) = serde_json::from_slice::<Value>(text) {
            self.framer.go_on(frame);
            self.take(vec![(frame.line, value)]);
            return Ok(());
        }
        // YAML may begin with a brace as well.
        if let Ok(documents) = documents(&self.file, text, frame.line) {
            self.framer.go_on(frame);
            self.take(documents);
            return Ok(());
        }
        let error = json_error(&self.file, text, frame.line);
        let length = text.len();
        if let Some(longer) = self.framer.text_to_boundary()?
            && longer.len() > length
            && let Ok(documents) = documents(&self.file, longer, frame.line)
        {
            self.framer.go_on_to_boundary()?;
            self.take(documents);
            return Ok(());
        }
        self.ready.push_back(Err(error));
        self.framer.go_on(frame);
        Ok(())
    }

    /// A text without its closing brace, unless it is YAML, where braces may stand in plain text.
    fn torn(&mut self, frame: Frame, error: Error) -> io::Result<()> {
        let read = match self.framer.text_to_boundary()? {
            Some(text) => documents(&self.file, text, frame.line).ok(),
            None => None,
        };
        self.framer.go_on_to_boundary()?;
        match read {
            Some(documents) => self.take(documents),
            None => self.ready.push_back(Err(error)),
        }
        Ok(())
    }

    fn take(&mut self, documents: Vec<(usize, Value)>) {
        for (line, value) in documents {
            let origin = Origin {
                file: Arc::clone(&self.file),
                line,
            };
            self.ready.push_back(match decode_fault(value) {
                Ok(meta) => Ok(Blob { meta, origin }),
                Err(Fault { package, problem }) => Err(Error::Blob {
                    origin,
                    package,
                    problem,
                }),
            });
        }
    }
}

/// The documents of a YAML text that begins on `line`, each with its line.
fn documents(file: &Arc<str>, text: &[u8], line: usize) -> Result<Vec<(usize, Value)>, Error> {
    let decoded = str::from_utf8(text).map_err(|error| {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        let problem = "the text is not UTF-8".to_owned();
        syntax(file, line + newlines(before), guess_package(text), problem)
    })?;
    yaml::documents(file, decoded)
        .map(|document| match document {
            Ok(document) => Ok((line + document.line() - 1, document.into_value())),
            Err(error) => {
                let at = error.place().map_or(1, |place| place.line);
                let problem = match error {
                    yaml::Error::Syntax { place, problem }
                    | yaml::Error::Limit { place, problem } => {
                        format!("column {}: {problem}", place.column)
                    }
                    other => other.to_string(),
                };
                let line = line + at.saturating_sub(1);
                Err(syntax(file, line, guess_package(text), problem))
            }
        })
        .collect()
}

/// What JSON has to say about a text that it does not take.
fn json_error(file: &Arc<str>, text: &[u8], line: usize) -> Error {
    let package = guess_package(text);
    let Err(error) = serde_json::from_slice::<Value>(text) else {
        return syntax(file, line, package, "expected a blob".to_owned());
    };
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    let problem = format!("column {}: {words}", error.column());
    let at = line + error.line().saturating_sub(1);
    syntax(file, at, package, problem)
}

fn syntax(file: &Arc<str>, line: usize, package: Option<String>, problem: String) -> Error {
    Error::Syntax {
        origin: Origin {
            file: Arc::clone(file),
            line,
        },
        package,
        problem,
    }
}

/// The package that a text names which cannot be read: the value of the least indented key
/// `package`, or `name` if the text is that of a package.
fn guess_package(text: &[u8]) -> Option<String> {
    const ENOUGH: usize = 1 << 20;
    let text = String::from_utf8_lossy(text.get(..ENOUGH).unwrap_or(text));
    let is_package = value_of(&text, "schema").is_some_and(|schema| schema == "olm.package");
    value_of(&text, if is_package { "name" } else { "package" })
}

fn value_of(text: &str, key: &str) -> Option<String> {
    const DELIMITERS: [char; 6] = ['"', '\'', ',', ' ', '\r', '\t'];
    text.lines()
        .filter_map(|line| {
            let bare = line.trim_start_matches(['{', ' ', '\t']);
            let (name, value) = bare.split_once(':')?;
            let value = value.trim_matches(DELIMITERS);
            let named = name.trim_matches(DELIMITERS).eq_ignore_ascii_case(key);
            (named && !value.is_empty() && !value.contains(DELIMITERS))
                .then(|| (line.len() - bare.len(), value))
        })
        .min_by_key(|(indentation, _)| *indentation)
        .map(|(_, value)| value.to_owned())
        .or_else(|| value_in_line(text, key))
}

/// The first string behind the key in JSON without line breaks.
fn value_in_line(text: &str, key: &str) -> Option<String> {
    let (_, after) = text.split_once(&format!("\"{key}\""))?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let (value, _) = value.strip_prefix('"')?.split_once('"')?;
    (!value.is_empty()).then(|| value.to_owned())
}
