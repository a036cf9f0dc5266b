//! Writing YAML that Go reads back as the same value.

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_yaml::DoubleQuoted;

use super::error::Error;

/// Goes through JSON, so that a type is written as the API server would see it.
pub(super) fn emit<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let value = serde_json::to_value(value).map_err(|error| Error::Write(error.to_string()))?;
    // The defaults quote what YAML 1.1 would misread. Long lines stay in one piece: folded, an
    // image with its digest would get a block of its own, and nobody could search for it.
    let options = serde_yaml::ser_options! { folded_wrap_chars: usize::MAX };
    serde_yaml::to_string_with_options(&Written(&value), options)
        .map_err(|error| Error::Write(error.to_string()))
}

/// A value whose strings are quoted where Go needs it and the YAML crate does not know.
struct Written<'a>(&'a Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if block_begins_with_tab(text) => {
                DoubleQuoted(text.as_str()).serialize(serializer)
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(Written)),
            Value::Object(map) => {
                serializer.collect_map(map.iter().map(|(key, value)| (key, Written(value))))
            }
            value => value.serialize(serializer),
        }
    }
}

/// Go takes a tab at the beginning of a block for indentation, and refuses it.
fn block_begins_with_tab(text: &str) -> bool {
    text.contains('\n') && text.trim_start_matches([' ', '\n']).starts_with('\t')
}
