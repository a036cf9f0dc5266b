//! Values in a rule.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::resolver::budget::Budget;

/// A value; cheap to clone.
#[derive(Debug, Clone)]
pub(in crate::resolver) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<Vec<Self>>),
    Map(Arc<BTreeMap<Key, Self>>),
}

/// The key of a map. A whole number is the same key whatever its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::resolver) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(Arc<str>),
}

impl Value {
    /// The variable `properties`. A value that is no JSON leaves an empty map, as in OLM.
    pub(in crate::resolver) fn of_properties<'a>(
        properties: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let property = |(kind, value): (&str, &str)| {
            let fields = serde_json::from_str::<Json>(value).map(|value| {
                BTreeMap::from([
                    (Key::String("type".into()), Self::String(kind.into())),
                    (Key::String("value".into()), Self::from(&value)),
                ])
            });
            Self::Map(Arc::new(fields.unwrap_or_default()))
        };
        Self::List(Arc::new(properties.map(property).collect()))
    }

    /// Whether two values are the same. Those of different types are not, numbers excepted.
    /// Nothing if there are not enough steps left to tell.
    pub(super) fn equals(&self, other: &Self, budget: &Budget) -> Option<bool> {
        if !budget.spend(1) {
            return None;
        }
        Some(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && all(a.iter().zip(b.iter()), |(a, b)| a.equals(b, budget))?
            }
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len()
                    && all(a.iter().zip(b.iter()), |((name, a), (other, b))| {
                        Some(name == other && a.equals(b, budget)?)
                    })?
            }
            (Self::String(a), Self::String(b)) => {
                a.len() == b.len() && budget.spend(a.len() / 32).then(|| a == b)?
            }
            _ => self.compare(other) == Some(Ordering::Equal),
        })
    }

    /// The order of two values, if they have one.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Double(a), _) => compare_double(*a, other.as_whole()?),
            (_, Self::Double(b)) => compare_double(*b, self.as_whole()?).map(Ordering::reverse),
            _ => Some(self.as_whole()?.cmp(&other.as_whole()?)),
        }
    }

    fn as_whole(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some((*int).into()),
            Self::Uint(uint) => Some((*uint).into()),
            _ => None,
        }
    }

    /// The value as the key of a map, if it can be one.
    pub(super) fn as_key(&self) -> Option<Key> {
        match self {
            Self::Bool(bool) => Some(Key::Bool(*bool)),
            Self::String(text) => Some(Key::String(Arc::clone(text))),
            Self::Int(int) => Some(Key::Int(*int)),
            Self::Uint(uint) => Some(i64::try_from(*uint).map_or(Key::Uint(*uint), Key::Int)),
            Self::Double(double) => whole(*double).map(Key::Int),
            _ => None,
        }
    }
}

/// Whether something is so of all; nothing as soon as one cannot tell.
fn all<T>(
    items: impl Iterator<Item = T>,
    mut is_so: impl FnMut(T) -> Option<bool>,
) -> Option<bool> {
    for item in items {
        if !is_so(item)? {
            return Some(false);
        }
    }
    Some(true)
}

/// Whole numbers of 64 bits lie between these, and doubles are exact there.
const LIMIT: f64 = 18_446_744_073_709_551_616.0;

fn compare_double(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double.abs() >= LIMIT {
        return double.partial_cmp(&0.0);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it was compared with the limit above"
    )]
    let floor = double.floor() as i128;
    let order = floor.cmp(&whole);
    Some(if order == Ordering::Equal && double.fract() != 0.0 {
        Ordering::Greater
    } else {
        order
    })
}

/// The double as an integer, if it is one.
pub(super) fn whole(double: f64) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only integers of 63 bits pass"
    )]
    (double.fract() == 0.0 && double.abs() < LIMIT / 2.0).then_some(double as i64)
}

/// JSON as Go's decoder gives it to a rule: every number is a double.
impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(bool) => Self::Bool(*bool),
            Json::Number(number) => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::String(text.as_str().into()),
            Json::Array(items) => Self::List(Arc::new(items.iter().map(Self::from).collect())),
            Json::Object(fields) => Self::Map(Arc::new(
                fields
                    .iter()
                    .map(|(name, value)| (Key::String(name.as_str().into()), Self::from(value)))
                    .collect(),
            )),
        }
    }
}

impl From<&Key> for Value {
    fn from(key: &Key) -> Self {
        match key {
            Key::Bool(bool) => Self::Bool(*bool),
            Key::Int(int) => Self::Int(*int),
            Key::Uint(uint) => Self::Uint(*uint),
            Key::String(text) => Self::String(Arc::clone(text)),
        }
    }
}
