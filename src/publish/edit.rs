//! Changing one blob of a catalog's file and leaving every other byte as it is.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Error, write};
use crate::catalog::fbc::{self, Catalog, Entry, Meta};
use crate::yaml;

/// How the blobs of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Json,
    Yaml,
}

/// A file of a catalog.
#[derive(Debug)]
pub(super) struct CatalogFile {
    path: PathBuf,
    text: String,
}

impl CatalogFile {
    /// Reads a file.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            text: fs_err::read_to_string(path)?,
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it, all at once.
    pub(super) fn save(&self) -> Result<(), Error> {
        write::replace(&self.path, &self.text)
    }

    /// Adds a blob at the end.
    pub(super) fn append(&mut self, blob: &Meta) -> Result<(), Error> {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let added = match self.syntax() {
            Syntax::Json => fbc::meta_to_json(blob)?,
            Syntax::Yaml => {
                let mut added = Vec::new();
                let catalog: Catalog = std::iter::once(blob.clone()).collect();
                fbc::write_yaml(catalog, &mut added)?;
                String::from_utf8_lossy(&added).into_owned()
            }
        };
        self.text.push_str(&added);
        Ok(())
    }

    /// Adds an entry to a channel that is in this file. Everything else that the channel says stays.
    pub(super) fn add_entry(
        &mut self,
        package: &str,
        channel: &str,
        entry: &Entry,
    ) -> Result<(), Error> {
        let name = self.path.display().to_string();
        for range in self.blobs() {
            let text = self.text.get(range.clone()).unwrap_or_default();
            let mut read = fbc::read(&name, text.as_bytes());
            let (Some(Ok(blob)), None) = (read.next(), read.next()) else {
                continue;
            };
            let is_it = matches!(&blob.meta, Meta::Channel(found)
                if found.package == package && found.name == channel);
            if !is_it {
                continue;
            }
            let replaced = self.with_entry(text, entry)?;
            self.text.replace_range(range, &replaced);
            return Ok(());
        }
        Err(Error::Input(format!(
            "channel `{channel}` in {name} cannot be changed where it stands: separate the blobs of \
             the file by lines with `---`"
        )))
    }

    /// The text of a channel with one more entry.
    fn with_entry(&self, text: &str, entry: &Entry) -> Result<String, Error> {
        let name = self.path.display().to_string();
        let wrong = |problem: String| Error::Input(format!("{name}: {problem}"));
        let mut value = match self.syntax() {
            Syntax::Json => serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?,
            Syntax::Yaml => {
                let values = yaml::values(&name, text).map_err(|e| wrong(e.to_string()))?;
                values.into_iter().next().unwrap_or_default()
            }
        };
        let entries = entries_of(&mut value).ok_or_else(|| wrong("expected entries".to_owned()))?;
        entries.push(serde_json::to_value(entry).map_err(|e| wrong(e.to_string()))?);
        match self.syntax() {
            Syntax::Json => {
                let mut out = Vec::new();
                let pretty = PrettyFormatter::with_indent(b"    ");
                let mut serializer = serde_json::Serializer::with_formatter(&mut out, pretty);
                value
                    .serialize(&mut serializer)
                    .map_err(|e| wrong(e.to_string()))?;
                Ok(String::from_utf8_lossy(&out).into_owned())
            }
            Syntax::Yaml => yaml::to_string(&value).map_err(|e| wrong(e.to_string())),
        }
    }

    fn syntax(&self) -> Syntax {
        let json = Path::new(&self.path)
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        match self.text.trim_start().chars().next() {
            Some('{') if json_blobs(&self.text).is_some() => Syntax::Json,
            None if json => Syntax::Json,
            _ => Syntax::Yaml,
        }
    }

    /// Where the blobs of the file are.
    fn blobs(&self) -> Vec<Range<usize>> {
        match self.syntax() {
            Syntax::Json => json_blobs(&self.text).unwrap_or_default(),
            Syntax::Yaml => yaml_blobs(&self.text),
        }
    }

    /// The blobs of one package in the file as it would be saved, or what is wrong with it.
    pub(super) fn check(&self) -> Result<Vec<Meta>, Error> {
        let name = self.path.display().to_string();
        let read: Result<Vec<_>, fbc::Error> = fbc::read(&name, self.text.as_bytes()).collect();
        let blobs = read.map_err(|error| Error::Unreadable {
            what: name,
            errors: vec![error],
        })?;
        Ok(blobs.into_iter().map(|blob| blob.meta).collect())
    }
}

/// The list of entries in a channel, whatever the case of its key; made if it is not there.
fn entries_of(channel: &mut Value) -> Option<&mut Vec<Value>> {
    let map: &mut Map<String, Value> = channel.as_object_mut()?;
    let key = map
        .keys()
        .find(|key| key.eq_ignore_ascii_case("entries"))
        .cloned()
        .unwrap_or_else(|| "entries".to_owned());
    let entries = map.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if entries.is_null() {
        *entries = Value::Array(Vec::new());
    }
    entries.as_array_mut()
}

/// Where the values of a JSON stream are, if it is nothing else.
fn json_blobs(text: &str) -> Option<Vec<Range<usize>>> {
    let mut blobs = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    while let Some(value) = values.next() {
        let length = value.ok()?.get().len();
        let end = values.byte_offset();
        blobs.push(end.checked_sub(length)?..end);
    }
    Some(blobs)
}

/// Where the documents of a YAML stream are, without the comments before them. A line that begins
/// with three dashes separates documents wherever it stands: nothing else in YAML may look so.
fn yaml_blobs(text: &str) -> Vec<Range<usize>> {
    let mut blobs = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        let separates = bare == "---" || bare.starts_with("--- ") || bare.starts_with("---\t");
        if separates {
            blobs.push(start..at);
            // A document may begin behind the dashes.
            start = at + if bare == "---" { line.len() } else { 3 };
            has_content = bare != "---";
        } else if !has_content && (bare.is_empty() || bare.starts_with(['#', '%'])) {
            start = at + line.len();
        } else {
            has_content = true;
        }
        at += line.len();
    }
    blobs.push(start..text.len());
    blobs.retain(|range| range.start < range.end);
    blobs
}

#[cfg(test)]
mod tests {
    use super::{json_blobs, yaml_blobs};

    #[test]
    fn documents_are_found_without_the_comments_before_them() {
        let text = "# head\n---\n# one\na: 1\n# in one\nb: |\n  ---\n--- {c: 2}\n---\n\n---\nd: 3";
        let found: Vec<&str> = yaml_blobs(text).into_iter().map(|r| &text[r]).collect();
        assert_eq!(
            found,
            ["a: 1\n# in one\nb: |\n  ---\n", " {c: 2}\n", "d: 3"]
        );
    }

    #[test]
    fn values_of_a_stream_are_found_and_anything_else_is_no_stream() {
        let text = " {\"a\": 1}\n\n{\"b\": \"}\"} ";
        let found = json_blobs(text).unwrap();
        let found: Vec<&str> = found.into_iter().map(|r| &text[r]).collect();
        assert_eq!(found, ["{\"a\": 1}", "{\"b\": \"}\"}"]);
        assert_eq!(json_blobs("{\"a\": 1}\n---\na: 1"), None);
    }
}
