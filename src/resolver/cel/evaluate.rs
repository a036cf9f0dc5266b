//! Answering a rule.

use std::cmp::Ordering;
use std::sync::Arc;

use super::syntax::{Loop, Macro, Node, Operator};
use super::value::Value;
use crate::resolver::budget::Budget;

/// There is no answer. Nobody is told why: the operator is then not what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault;

/// Evaluates a rule.
pub(super) fn evaluate(node: &Node, properties: &Value, budget: &Budget) -> Result<Value, Fault> {
    Evaluation {
        properties,
        locals: Vec::new(),
        budget,
    }
    .value(node)
}

struct Evaluation<'a> {
    properties: &'a Value,
    /// The variables of the macros around, the outermost first.
    locals: Vec<Value>,
    budget: &'a Budget,
}

impl Evaluation<'_> {
    fn spend(&self, steps: usize) -> Result<(), Fault> {
        if self.budget.spend(steps) {
            Ok(())
        } else {
            Err(Fault)
        }
    }

    fn value(&mut self, node: &Node) -> Result<Value, Fault> {
        self.spend(1)?;
        Ok(match node {
            Node::Literal(value) => value.clone(),
            Node::Properties => self.properties.clone(),
            Node::Local(index) => self.locals.get(*index).cloned().ok_or(Fault)?,
            Node::List(items) => Value::List(Arc::new(self.values(items)?)),
            Node::Map(entries) => {
                let mut map = std::collections::BTreeMap::new();
                for (key, value) in entries {
                    let key = self.value(key)?.as_key().ok_or(Fault)?;
                    if map.insert(key, self.value(value)?).is_some() {
                        return Err(Fault);
                    }
                }
                Value::Map(Arc::new(map))
            }
            Node::Field(of, name) => match self.value(of)? {
                Value::Map(map) => map.get(name).cloned().ok_or(Fault)?,
                _ => return Err(Fault),
            },
            Node::Has(of, name) => match self.value(of)? {
                Value::Map(map) => Value::Bool(map.contains_key(name)),
                _ => return Err(Fault),
            },
            Node::Index(operands) => {
                let [of, at] = &**operands;
                let (of, at) = (self.value(of)?, self.value(at)?);
                index(&of, &at)?
            }
            Node::Not(operand) => Value::Bool(!self.bool(operand)?),
            Node::Negate(operand) => match self.value(operand)? {
                Value::Int(int) => Value::Int(int.checked_neg().ok_or(Fault)?),
                Value::Double(double) => Value::Double(-double),
                _ => return Err(Fault),
            },
            Node::Every(parts) => Value::Bool(!self.any_is(false, parts)?),
            Node::Some(parts) => Value::Bool(self.any_is(true, parts)?),
            Node::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                let chosen = if self.bool(condition)? { yes } else { no };
                self.value(chosen)?
            }
            Node::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(*operator, &left, &right)?
            }
            Node::Call(function, arguments) => {
                let arguments = self.values(arguments)?;
                function.call(&arguments, self.budget)?
            }
            Node::Matches(text, pattern) => match self.value(text)? {
                Value::String(text) => {
                    self.spend(text.len().saturating_mul(pattern.cost))?;
                    Value::Bool((pattern.matches)(&text))
                }
                _ => return Err(Fault),
            },
            Node::Macro(kind, parts) => self.go_through(*kind, parts)?,
        })
    }

    fn values(&mut self, nodes: &[Node]) -> Result<Vec<Value>, Fault> {
        nodes.iter().map(|node| self.value(node)).collect()
    }

    fn bool(&mut self, node: &Node) -> Result<bool, Fault> {
        match self.value(node)? {
            Value::Bool(bool) => Ok(bool),
            _ => Err(Fault),
        }
    }

    /// Whether one of the parts is `wanted`. A part without an answer only matters if none is: the
    /// order of the parts makes no difference.
    fn any_is(&mut self, wanted: bool, parts: &[Node]) -> Result<bool, Fault> {
        let mut result = Ok(false);
        for part in parts {
            match self.bool(part) {
                Ok(answer) if answer == wanted => return Ok(true),
                Ok(_) => (),
                Err(fault) => result = Err(fault),
            }
        }
        result
    }

    fn binary(&self, operator: Operator, left: &Value, right: &Value) -> Result<Value, Fault> {
        let equals = |a: &Value, b: &Value| a.equals(b, self.budget).ok_or(Fault);
        let is = |wanted: fn(Ordering) -> bool| {
            // Two that have an order are never compared to others.
            match left.compare(right) {
                Some(order) => Ok(wanted(order)),
                None if is_number(left) && is_number(right) => Ok(false),
                None => Err(Fault),
            }
        };
        Ok(Value::Bool(match operator {
            Operator::Equal => equals(left, right)?,
            Operator::NotEqual => !equals(left, right)?,
            Operator::Less => is(Ordering::is_lt)?,
            Operator::LessOrEqual => is(Ordering::is_le)?,
            Operator::Greater => is(Ordering::is_gt)?,
            Operator::GreaterOrEqual => is(Ordering::is_ge)?,
            Operator::In => match right {
                Value::List(items) => {
                    let mut found = false;
                    for item in items.iter() {
                        found = found || equals(left, item)?;
                    }
                    found
                }
                Value::Map(entries) => left.as_key().is_some_and(|key| entries.contains_key(&key)),
                _ => return Err(Fault),
            },
            _ => return self.arithmetic(operator, left, right),
        }))
    }

    fn arithmetic(&self, operator: Operator, left: &Value, right: &Value) -> Result<Value, Fault> {
        use Operator::{Add, Divide, Multiply, Remainder, Subtract};
        use Value::{Bytes, Double, Int, List, String, Uint};
        Ok(match (left, right) {
            (Int(a), Int(b)) => Int(match operator {
                Add => a.checked_add(*b),
                Subtract => a.checked_sub(*b),
                Multiply => a.checked_mul(*b),
                Divide => a.checked_div(*b),
                Remainder => a.checked_rem(*b),
                _ => None,
            }
            .ok_or(Fault)?),
            (Uint(a), Uint(b)) => Uint(
                match operator {
                    Add => a.checked_add(*b),
                    Subtract => a.checked_sub(*b),
                    Multiply => a.checked_mul(*b),
                    Divide => a.checked_div(*b),
                    Remainder => a.checked_rem(*b),
                    _ => None,
                }
                .ok_or(Fault)?,
            ),
            (Double(a), Double(b)) => Double(match operator {
                Add => a + b,
                Subtract => a - b,
                Multiply => a * b,
                Divide => a / b,
                _ => return Err(Fault),
            }),
            (String(a), String(b)) if operator == Add => {
                self.spend((a.len() + b.len()) / 8)?;
                String([&**a, &**b].concat().into())
            }
            (Bytes(a), Bytes(b)) if operator == Add => {
                self.spend((a.len() + b.len()) / 8)?;
                Bytes([&**a, &**b].concat().into())
            }
            (List(a), List(b)) if operator == Add => {
                self.spend(a.len() + b.len())?;
                List(Arc::new(a.iter().chain(b.iter()).cloned().collect()))
            }
            _ => return Err(Fault),
        })
    }

    /// Evaluates a macro: `exists` and `all` as `||` and `&&`, with the same leniency; in the others
    /// every element needs an answer.
    fn go_through(&mut self, kind: Macro, parts: &Loop) -> Result<Value, Fault> {
        let items = match self.value(&parts.range)? {
            Value::List(items) => items,
            Value::Map(entries) => {
                self.spend(entries.len())?;
                Arc::new(entries.keys().map(Value::from).collect())
            }
            _ => return Err(Fault),
        };
        let mut fault = None;
        let mut kept = Vec::new();
        for item in items.iter() {
            // Once there are no steps left, the remaining elements need not be looked at.
            self.spend(1)?;
            self.locals.push(item.clone());
            let answer = self.element(kind, parts, item);
            self.locals.pop();
            match answer {
                Ok(Some(Value::Bool(true))) if kind == Macro::Exists => {
                    return Ok(Value::Bool(true));
                }
                Ok(Some(Value::Bool(false))) if kind == Macro::All => {
                    return Ok(Value::Bool(false));
                }
                Ok(Some(value)) if matches!(kind, Macro::Filter | Macro::Map) => kept.push(value),
                Ok(Some(Value::Bool(true))) if kind == Macro::ExistsOne => {
                    kept.push(Value::Null);
                }
                Ok(_) => (),
                Err(error) => fault = Some(error),
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        Ok(match kind {
            Macro::All => Value::Bool(true),
            Macro::Exists => Value::Bool(false),
            Macro::ExistsOne => Value::Bool(kept.len() == 1),
            Macro::Filter | Macro::Map => Value::List(Arc::new(kept)),
        })
    }

    /// What a macro makes of one element, or nothing if it passes it over.
    fn element(&mut self, kind: Macro, parts: &Loop, item: &Value) -> Result<Option<Value>, Fault> {
        if let Some(filter) = &parts.filter
            && !self.bool(filter)?
        {
            return Ok(None);
        }
        Ok(match kind {
            Macro::Map => Some(self.value(&parts.body)?),
            Macro::Filter => self.bool(&parts.body)?.then(|| item.clone()),
            _ => Some(Value::Bool(self.bool(&parts.body)?)),
        })
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}

fn index(of: &Value, at: &Value) -> Result<Value, Fault> {
    let found = match of {
        Value::Map(entries) => entries.get(&at.as_key().ok_or(Fault)?),
        Value::List(items) => match at {
            Value::Int(_) | Value::Uint(_) | Value::Double(_) => match at.as_key() {
                Some(super::value::Key::Int(at)) => {
                    usize::try_from(at).ok().and_then(|at| items.get(at))
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    found.cloned().ok_or(Fault)
}
