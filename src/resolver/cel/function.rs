//! The functions that rules can call.

use std::sync::Arc;

use crate::version::Version;

use super::evaluate::Fault;
use super::syntax::Type;
use super::value::Value;
use crate::resolver::budget::Budget;

/// A function. `matches` is none: its pattern is part of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    ToBool,
    ToBytes,
    ToDouble,
    ToDyn,
    ToInt,
    ToString,
    ToUint,
    SemverCompare,
}

impl Function {
    /// The function of that name, called as `a.name(b)` if it is a method, else as `name(a, b)`.
    pub(super) fn named(name: &str, is_method: bool) -> Option<Self> {
        Some(match (name, is_method) {
            ("size", _) => Self::Size,
            ("contains", true) => Self::Contains,
            ("startsWith", true) => Self::StartsWith,
            ("endsWith", true) => Self::EndsWith,
            ("bool", false) => Self::ToBool,
            ("bytes", false) => Self::ToBytes,
            ("double", false) => Self::ToDouble,
            ("dyn", false) => Self::ToDyn,
            ("int", false) => Self::ToInt,
            ("string", false) => Self::ToString,
            ("uint", false) => Self::ToUint,
            ("semver_compare", false) => Self::SemverCompare,
            _ => return None,
        })
    }

    /// The type of the result, if the function takes such arguments.
    pub(super) fn result(self, arguments: &[Type]) -> Option<Type> {
        use Type::{Bool, Bytes, Double, Dyn, Int, List, Map, String, Uint};
        match (self, arguments) {
            (Self::Size, [String | Bytes | List(_) | Map(..) | Dyn])
            | (Self::ToInt, [Double | Int | Uint | String | Dyn])
            | (Self::SemverCompare, [_, _]) => Some(Int),
            (Self::Contains | Self::StartsWith | Self::EndsWith, [String | Dyn, String | Dyn])
            | (Self::ToBool, [Bool | String | Dyn]) => Some(Bool),
            (Self::ToDyn, [_]) => Some(Dyn),
            (Self::ToBytes, [Bytes | String | Dyn]) => Some(Bytes),
            (Self::ToDouble, [Double | Int | Uint | String | Dyn]) => Some(Double),
            (Self::ToUint, [Double | Int | Uint | String | Dyn]) => Some(Uint),
            (Self::ToString, [Bool | Bytes | Double | Int | Uint | String | Dyn]) => Some(String),
            _ => None,
        }
    }

    /// Calls the function.
    pub(super) fn call(self, arguments: &[Value], budget: &Budget) -> Result<Value, Fault> {
        use Value::{Bool, Bytes, Double, Int, String, Uint};
        // Reading two versions takes as long as twenty other steps.
        let work = if self == Self::SemverCompare { 20 } else { 0 };
        if !budget.spend(work + arguments.iter().map(length).sum::<usize>() / 16) {
            return Err(Fault);
        }
        Ok(match (self, arguments) {
            (Self::Size, [value]) => Int(size(value)?),
            (Self::Contains, [String(a), String(b)]) => Bool(a.contains(&**b)),
            (Self::StartsWith, [String(a), String(b)]) => Bool(a.starts_with(&**b)),
            (Self::EndsWith, [String(a), String(b)]) => Bool(a.ends_with(&**b)),
            (Self::SemverCompare, [a, b]) => Int(version(a)?.precedence(&version(b)?) as i64),
            (Self::ToDyn, [value])
            | (Self::ToBool, [value @ Bool(_)])
            | (Self::ToBytes, [value @ Bytes(_)])
            | (Self::ToDouble, [value @ Double(_)])
            | (Self::ToInt, [value @ Int(_)])
            | (Self::ToString, [value @ String(_)])
            | (Self::ToUint, [value @ Uint(_)]) => value.clone(),
            (Self::ToBool, [String(text)]) => Bool(bool(text)?),
            (Self::ToBytes, [String(text)]) => Bytes(text.as_bytes().into()),
            (Self::ToString, [Bytes(bytes)]) => {
                String(std::str::from_utf8(bytes).map_err(|_| Fault)?.into())
            }
            (Self::ToString, [value]) => String(plain(value)?),
            (Self::ToDouble, [value @ (Int(_) | Uint(_) | String(_))]) => {
                Double(plain(value)?.parse().map_err(|_| Fault)?)
            }
            (Self::ToInt, [Double(double)]) => Int(truncate(*double)?),
            (Self::ToInt, [value @ (Uint(_) | String(_))]) => {
                Int(plain(value)?.parse().map_err(|_| Fault)?)
            }
            (Self::ToUint, [Double(double)]) => {
                Uint(truncate(*double)?.try_into().map_err(|_| Fault)?)
            }
            (Self::ToUint, [value @ (Int(_) | String(_))]) => {
                Uint(plain(value)?.parse().map_err(|_| Fault)?)
            }
            _ => return Err(Fault),
        })
    }
}

/// How much there is to go through.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

fn size(value: &Value) -> Result<i64, Fault> {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        _ => return Err(Fault),
    };
    size.try_into().map_err(|_| Fault)
}

/// A version as OLM reads it from whatever there is: `1.2` may be a number.
fn version(value: &Value) -> Result<Version, Fault> {
    Version::parse_tolerant(&plain(value)?).map_err(|_| Fault)
}

/// A text or number as it is written.
fn plain(value: &Value) -> Result<Arc<str>, Fault> {
    Ok(match value {
        Value::String(text) => Arc::clone(text),
        Value::Bool(bool) => bool.to_string().into(),
        Value::Int(int) => int.to_string().into(),
        Value::Uint(uint) => uint.to_string().into(),
        Value::Double(double) => double.to_string().into(),
        _ => return Err(Fault),
    })
}

fn bool(text: &str) -> Result<bool, Fault> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Ok(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Ok(false),
        _ => Err(Fault),
    }
}

fn truncate(double: f64) -> Result<i64, Fault> {
    super::value::whole(double.trunc()).ok_or(Fault)
}
