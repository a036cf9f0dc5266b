//! A document in memory: JSON's kinds of values, each with its position.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

/// Line and column, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// `line` counts from 1, `column` from 0, as the parser has them.
    pub(super) fn of(line: usize, column: usize) -> Self {
        Self {
            line: saturate(line),
            column: saturate(column.saturating_add(1)),
        }
    }
}

fn saturate(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A value and where it was written.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) data: Data,
}

/// What a node holds. Floats are finite.
#[derive(Debug, Clone)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(String),
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
    /// A node with an anchor. Its aliases hold the same one, so that reading costs no copies.
    Shared(Arc<Node>),
}

/// A key and its value. The keys of a mapping are distinct.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn is_null(&self) -> bool {
        match &self.data {
            Data::Null => true,
            Data::Shared(node) => node.is_null(),
            _ => false,
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self.data {
            Data::Null => Value::Null,
            Data::Bool(bool) => Value::Bool(bool),
            Data::Int(int) => Value::Number(int.into()),
            Data::Uint(int) => Value::Number(int.into()),
            Data::Float(float) => match whole(float) {
                Some(int) => Value::Number(int.into()),
                None => Number::from_f64(float).map_or(Value::Null, Value::Number),
            },
            Data::Text(text) => Value::String(text),
            Data::Sequence(nodes) => nodes.into_iter().map(Self::into_value).collect(),
            Data::Mapping(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for entry in entries {
                    map.insert(entry.key, entry.value.into_value());
                }
                Value::Object(map)
            }
            Data::Shared(node) => Arc::unwrap_or_clone(node).into_value(),
        }
    }

    /// A JSON value as a node. JSON carries no positions: every node gets that of its document.
    pub(super) fn from_json(at: Position, value: Value) -> Self {
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(bool) => Data::Bool(bool),
            Value::Number(number) => Data::from_number(&number),
            Value::String(text) => Data::Text(text),
            Value::Array(values) => Data::Sequence(
                values
                    .into_iter()
                    .map(|value| Self::from_json(at, value))
                    .collect(),
            ),
            Value::Object(map) => Data::Mapping(
                map.into_iter()
                    .map(|(key, value)| Entry {
                        key,
                        value: Self::from_json(at, value),
                    })
                    .collect(),
            ),
        };
        Self { at, data }
    }
}

impl Data {
    fn from_number(number: &Number) -> Self {
        if let Some(int) = number.as_i64() {
            Self::Int(int)
        } else if let Some(int) = number.as_u64() {
            Self::Uint(int)
        } else {
            Self::Float(number.as_f64().unwrap_or_default())
        }
    }
}

/// The integer that a float stands for. Go writes a whole float as its shortest digits, filled up
/// with zeros and without a point, so whoever reads its JSON finds that integer.
pub(super) fn whole(float: f64) -> Option<i64> {
    if float.fract() == 0.0 && float.abs() < 1e19 {
        float.to_string().parse().ok()
    } else {
        None
    }
}
