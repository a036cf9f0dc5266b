//! Rules in CEL, as `olm.constraint` has them.
//!
//! A rule is a question about the properties of one operator:
//!
//! ```text
//! properties.exists(p, p.type == "olm.package" && p.value.packageName == "a"
//!     && semver_compare(p.value.version, "1.2.0") >= 0)
//! ```
//!
//! Rules come out of catalogs, and anyone can write a catalog. So a rule is read by a parser that
//! bounds how deep it nests, and every evaluation has a [`Budget`]: what takes more steps than that
//! does not hold. The interpreters there are have neither, and a dozen parentheses overflow the
//! stack of a worker thread in the usual one; it is the oracle of the tests instead.
//!
//! What rules know: all operators and macros of CEL, `size`, `contains`, `startsWith`, `endsWith`,
//! `matches` with a pattern that is written out, the conversions `bool`, `bytes`, `double`, `dyn`,
//! `int`, `string` and `uint`, and `semver_compare(a, b)`. Messages, times and durations they do
//! not know: there are none among properties.

mod evaluate;
mod function;
mod lex;
mod parse;
mod syntax;
mod value;

#[cfg(test)]
mod tests;

pub(super) use value::Value;

use super::budget::Budget;
use syntax::Node;

/// What one question about one operator may take: a few milliseconds, and a hundred times what
/// ordinary rules need.
pub(super) const QUESTION: usize = 100_000;

/// How many patterns (`matches`) the rules of one bundle may have: each takes time to prepare.
pub(super) const MAX_PATTERNS: usize = 8;

/// A rule that can be asked.
#[derive(Debug)]
pub(super) struct Rule {
    node: Node,
}

impl Rule {
    /// Reads a rule. `patterns` is how many patterns it may still have.
    pub(super) fn compile(text: &str, patterns: &mut usize) -> Result<Self, String> {
        parse::rule(text, patterns).map(|node| Self { node })
    }

    /// Whether the rule holds. It does not if it cannot be answered: a field that is missing, a
    /// value of the wrong type, or more steps than there are left.
    pub(super) fn holds(&self, properties: &Value, budget: &Budget) -> bool {
        let answer = evaluate::evaluate(&self.node, properties, budget);
        !budget.is_spent() && matches!(answer, Ok(Value::Bool(true)))
    }
}
