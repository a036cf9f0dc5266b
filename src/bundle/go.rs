//! JSON as Go reads and writes it.
//!
//! Go's `encoding/json` finds the field of a struct without regard to case. Published bundles make
//! use of that, for example with `spec.MinKubeVersion`. And it writes keys in order, with `<`, `>`
//! and `&` as escapes, which decides the order of a bundle's properties.

use std::fmt::{self, Write as _};

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess,
    SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Reads a `T`; the keys of structs may be in any case.
pub(super) fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, Mismatch> {
    T::deserialize(Folding(value))
}

/// The value of a key in any case. Of several the last in alphabetical order counts, as in Go.
pub(super) fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    object.get(key).or_else(|| {
        object
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(key))
            .max_by_key(|(other, _)| other.as_str())
            .map(|(_, value)| value)
    })
}

/// What does not fit, and the way to it.
#[derive(Debug)]
pub(super) struct Mismatch {
    steps: Vec<String>,
    pub(super) problem: String,
}

impl Mismatch {
    /// The way to the value, such as `spec.install.spec.deployments[0].name`.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }

    fn below(mut self, step: String) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.problem)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self {
            steps: Vec::new(),
            problem: problem.to_string(),
        }
    }
}

struct Folding<'a>(&'a Value);

impl<'de> Deserializer<'de> for Folding<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Number(number) => number.deserialize_any(visitor).map_err(de::Error::custom),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.as_str(), value));
                visitor.visit_map(Fields::new(fields.collect()))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.0.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Object(object) => visitor.visit_map(Fields::new(folded(object, fields))),
            // Serde would also take a list for a struct, as if its fields had numbers.
            Value::Array(_) => Err(de::Error::invalid_type(
                de::Unexpected::Seq,
                &"an object with fields",
            )),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::String(text) => {
                let text: StrDeserializer<'_, Mismatch> = text.as_str().into_deserializer();
                visitor.visit_enum(text)
            }
            other => other
                .deserialize_enum(name, variants, visitor)
                .map_err(de::Error::custom),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The entries under the names that the struct has for them.
fn folded<'a>(
    object: &'a Map<String, Value>,
    fields: &[&'static str],
) -> Vec<(&'a str, &'a Value)> {
    if object.keys().all(|key| fields.contains(&key.as_str())) {
        return object
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect();
    }
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort_unstable();
    let mut entries: Vec<(&str, &Value)> = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(value) = object.get(key) else {
            continue;
        };
        let exact = fields.iter().find(|field| **field == key);
        let field = exact.or_else(|| fields.iter().find(|field| field.eq_ignore_ascii_case(key)));
        let name = field.map_or(key.as_str(), |field| field);
        match entries.iter_mut().find(|(other, _)| *other == name) {
            Some(entry) => entry.1 = value,
            None => entries.push((name, value)),
        }
    }
    entries
}

struct Items<'a>(std::iter::Enumerate<std::slice::Iter<'a, Value>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Mismatch> {
        let Some((index, item)) = self.0.next() else {
            return Ok(None);
        };
        seed.deserialize(Folding(item))
            .map(Some)
            .map_err(|mismatch| mismatch.below(format!("[{index}]")))
    }
}

struct Fields<'a> {
    entries: std::vec::IntoIter<(&'a str, &'a Value)>,
    current: Option<(&'a str, &'a Value)>,
}

impl<'a> Fields<'a> {
    fn new(entries: Vec<(&'a str, &'a Value)>) -> Self {
        Self {
            entries: entries.into_iter(),
            current: None,
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Mismatch> {
        self.current = self.entries.next();
        match self.current {
            None => Ok(None),
            Some((key, _)) => seed
                .deserialize(BorrowedStrDeserializer::new(key))
                .map(Some),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Mismatch> {
        let Some((key, value)) = self.current.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Folding(value))
            .map_err(|mismatch| mismatch.below(key.to_owned()))
    }
}

/// The value as Go's `json.Marshal` writes it: no blanks, keys in order, `<`, `>` and `&` escaped.
pub(super) fn to_json(value: &Value) -> String {
    let mut json = String::new();
    write_json(value, true, &mut json);
    json
}

/// The same without the escapes.
pub(super) fn to_plain_json(value: &Value) -> String {
    let mut json = String::new();
    write_json(value, false, &mut json);
    json
}

fn write_json(value: &Value, escape: bool, json: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            json.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_text(key, escape, json);
                json.push(':');
                if let Some(value) = fields.get(key) {
                    write_json(value, escape, json);
                }
            }
            json.push('}');
        }
        Value::Array(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_json(item, escape, json);
            }
            json.push(']');
        }
        Value::String(text) => write_text(text, escape, json),
        other => {
            // Writing to a String does not fail.
            let _ = write!(json, "{other}");
        }
    }
}

fn write_text(text: &str, escape: bool, json: &mut String) {
    json.push('"');
    for char in text.chars() {
        match char {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '<' | '>' | '&' if !escape => json.push(char),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(json, "\\u{:04x}", u32::from(char));
            }
            _ => json.push(char),
        }
    }
    json.push('"');
}
