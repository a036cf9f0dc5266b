//! A rule as a tree, and the types in it.

use std::fmt;

use super::function::Function;
use super::value::{Key, Value};

/// A part of a rule. Names are resolved, types have been looked at.
#[derive(Debug)]
pub(super) enum Node {
    Literal(Value),
    Properties,
    /// The variable of a macro, counted from the outermost.
    Local(usize),
    List(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Field(Box<Self>, Key),
    /// `has(a.b)`.
    Has(Box<Self>, Key),
    Index(Box<[Self; 2]>),
    Not(Box<Self>),
    Negate(Box<Self>),
    /// `a && b && …`
    Every(Vec<Self>),
    /// `a || b || …`
    Some(Vec<Self>),
    /// `a ? b : c`
    Choice(Box<[Self; 3]>),
    Binary(Operator, Box<[Self; 2]>),
    Call(Function, Vec<Self>),
    Matches(Box<Self>, Pattern),
    Macro(Macro, Box<Loop>),
}

/// A pattern that is ready.
pub(super) struct Pattern {
    /// Whether a text matches. A function, because a `Regex` has a cache inside, and needs that hold
    /// one could not be keys of a map.
    pub(super) matches: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// How many steps a byte of text takes. A pattern goes through the text once, but may try many
    /// ways at each place.
    pub(super) cost: usize,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pattern")
    }
}

/// What a macro goes through, and what it asks of each.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) range: Node,
    /// Which to look at; only of `map` with three arguments.
    pub(super) filter: Option<Node>,
    pub(super) body: Node,
}

/// The macros that go through a list or the keys of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl Macro {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "exists" => Self::Exists,
            "exists_one" | "existsOne" => Self::ExistsOne,
            "filter" => Self::Filter,
            "map" => Self::Map,
            _ => return None,
        })
    }
}

/// What stands between two operands, but for `&&`, `||` and `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    const ALL: [(&'static str, Self); 12] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("in", Self::In),
        ("+", Self::Add),
        ("-", Self::Subtract),
        ("*", Self::Multiply),
        ("/", Self::Divide),
        ("%", Self::Remainder),
    ];

    pub(super) fn written(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find_map(|(written, operator)| (*written == text).then_some(*operator))
    }

    /// What binds tighter has more.
    pub(super) fn strength(self) -> u8 {
        match self {
            Self::Multiply | Self::Divide | Self::Remainder => 3,
            Self::Add | Self::Subtract => 2,
            _ => 1,
        }
    }

    /// The type of the result, if the operator takes such operands.
    pub(super) fn result(self, left: &Type, right: &Type) -> Option<Type> {
        use Type::{Bool, Bytes, Double, Dyn, Int, List, Map, String, Uint};
        if self == Self::In {
            let fits = match right {
                List(item) => left.fits(item),
                Map(key, _) => left.fits(key),
                other => *other == Dyn,
            };
            return fits.then_some(Bool);
        }
        if !left.fits(right) {
            return None;
        }
        let known = if *left == Dyn { right } else { left };
        let taken = match self {
            Self::Equal | Self::NotEqual => true,
            Self::Add => matches!(known, Int | Uint | Double | String | Bytes | List(_) | Dyn),
            Self::Subtract | Self::Multiply | Self::Divide => {
                matches!(known, Int | Uint | Double | Dyn)
            }
            Self::Remainder => matches!(known, Int | Uint | Dyn),
            _ => matches!(known, Bool | Int | Uint | Double | String | Bytes | Dyn),
        };
        taken.then(|| match self.strength() {
            1 => Bool,
            _ if left == right => left.clone(),
            _ => match known {
                List(_) => List(Box::new(Dyn)),
                known => known.clone(),
            },
        })
    }
}

/// What is known of a value before it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    /// Anything: the value of a property.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
}

impl Type {
    /// Whether a value of both types is thinkable.
    pub(super) fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b)) => a.fits(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.fits(c) && b.fits(d),
            _ => self == other,
        }
    }

    /// The type of a value that is one or the other.
    pub(super) fn or(self, other: &Self) -> Self {
        if self == *other { self } else { Self::Dyn }
    }

    /// The type of all, of none anything.
    pub(super) fn of_all<'a>(mut types: impl Iterator<Item = &'a Self>) -> Self {
        let first = types.next().cloned().unwrap_or(Self::Dyn);
        types.fold(first, Self::or)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn => "anything",
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Int => "an integer",
            Self::Uint => "an unsigned integer",
            Self::Double => "a double",
            Self::String => "a string",
            Self::Bytes => "bytes",
            Self::List(_) => "a list",
            Self::Map(..) => "a map",
        })
    }
}
