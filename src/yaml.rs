//! The YAML that Kubernetes reads and writes.
//!
//! This is the only module that names the YAML crate. Manifests reach a cluster through Go's
//! `sigs.k8s.io/yaml`, which is YAML 1.1 after the manner of `yaml.v2`, turned into JSON. A bundle
//! must mean the same to us as it means to the API server, so we take the crate's *events* and
//! give them that dialect's meaning ourselves:
//!
//! ```text
//! text ─ split at `---` ─▶ chunk ─ events ─▶ compose ─▶ Document ─▶ serde_json::Value
//!                            ▲                  │            └────▶ any T, errors with a line
//!                            └──── mend ◀───────┘ what Go reads although YAML forbids it
//! ```
//!
//! - `y`, `yes`, `on`, `n`, `no`, `off` are booleans, `010` is 8, `1_000` is 1000, timestamps stay
//!   strings, `1.0` is the integer 1 (Go writes it so into its JSON);
//! - of duplicate keys the last one wins; `<<` merges *in place*, so it overrides the keys before
//!   it and yields to those after it;
//! - keys that are not strings become strings; null and collections cannot be keys;
//! - `.inf` and `.nan` are refused: JSON cannot hold them;
//! - text that starts with `{` is read as JSON if it is JSON, several values in a row included.
//!
//! Hostile input is refused in words. Nesting is limited to [`MAX_DEPTH`], and what aliases may
//! add is limited in proportion to what was written.
//!
//! Two calls read types: [`from_str`] is strict, as the API server is. [`from_str_coercing`] lets a
//! number or a boolean stand where a string is wanted, as Go tools do when they read straight into
//! their own types (`annotations.yaml`, `dependencies.yaml`, `ci.yaml`).

mod compose;
mod decode;
mod document;
mod emit;
mod error;
mod mapping;
mod mend;
mod mismatch;
mod node;
mod scalar;
mod tag;

#[cfg(test)]
mod tests;

pub use compose::MAX_DEPTH;
pub use document::{Document, Documents};
pub use error::{Error, Place};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the one document in `text`. Without any document `T` is read from null.
///
/// `name` stands before line and column in errors: usually the path of the file.
pub fn from_str<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Error> {
    only_document(name, text)?.decode()
}

/// Like [`from_str`], but a number or a boolean may stand where `T` wants a string.
pub fn from_str_coercing<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Error> {
    only_document(name, text)?.decode_coercing()
}

/// The documents in `text`, one at a time. Empty documents are left out.
///
/// The first error ends the iteration.
pub fn documents<'text>(name: &str, text: &'text str) -> Documents<'text> {
    Documents::new(name, text)
}

/// All documents in `text` as JSON values.
pub fn values(name: &str, text: &str) -> Result<Vec<Value>, Error> {
    documents(name, text)
        .map(|document| document.map(Document::into_value))
        .collect()
}

/// Writes one document. Strings that YAML 1.1 or Kubernetes would take for something else, such as
/// `yes`, `010` or `2001-01-01`, are quoted.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    emit::emit(value)
}

fn only_document(name: &str, text: &str) -> Result<Document, Error> {
    let mut documents = documents(name, text);
    let Some(first) = documents.next().transpose()? else {
        return Ok(Document::null(name));
    };
    match documents.next().transpose()? {
        None => Ok(first),
        Some(second) => Err(second.unexpected(first.line())),
    }
}
