//! Reading a rule.
//!
//! ```text
//! rule     = or [ "?" or ":" rule ]
//! or       = and { "||" and }
//! and      = compare { "&&" compare }
//! compare  = unary { operator unary }       by the strength of the operators
//! unary    = { "!" } member | { "-" } member
//! member   = primary { "." name [ "(" … ")" ] | "[" rule "]" }
//! primary  = name [ "(" … ")" ] | literal | "(" rule ")" | "[" … "]" | "{" … "}"
//! ```
//!
//! Names and types are checked on the way, as far as OLM checks them: what is `dyn` to it, such as
//! the value of a property, fits everywhere.

use regex::RegexBuilder;

use super::function::Function;
use super::lex::{Token, Word, words};
use super::syntax::{Loop, Macro, Node, Operator, Pattern, Type};
use super::value::{Key, Value};

/// How deep brackets may nest. Reading them recurses, and a thread may have little stack.
const MAX_NESTING: usize = 20;
/// How deep the tree may be. Answering and dropping it recurse.
const MAX_DEPTH: usize = 50;
/// How much room a pattern may take when it is prepared, in bytes, and what a byte of text then
/// costs. `\w` is larger than it looks: it knows all letters there are.
const PATTERNS: [(usize, usize); 2] = [(1 << 14, 4), (1 << 17, 32)];

/// Reads a rule, which has to be boolean. `patterns` is how many patterns it may still have.
pub(super) fn rule(text: &str, patterns: &mut usize) -> Result<Node, String> {
    let at = |(offset, problem): (usize, String)| {
        let before = text.get(..offset).unwrap_or(text);
        format!("column {}: {problem}", before.chars().count() + 1)
    };
    let mut parser = Parser {
        words: &words(text).map_err(at)?,
        position: 0,
        end: text.len(),
        depth: 0,
        locals: Vec::new(),
        patterns,
    };
    let rule = parser.whole().map_err(at)?;
    match rule.kind {
        Type::Bool => Ok(rule.node),
        kind => Err(format!("the rule has to be a boolean, but is {kind}")),
    }
}

/// Where something is wrong, in bytes, and what.
type Problem = (usize, String);

/// A part of a rule, with what is known of it.
struct Part {
    node: Node,
    kind: Type,
    /// How many levels there are below it.
    depth: usize,
}

struct Parser<'a> {
    words: &'a [Word],
    position: usize,
    end: usize,
    depth: usize,
    /// The variables of the macros around.
    locals: Vec<(String, Type)>,
    patterns: &'a mut usize,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Part, Problem> {
        let rule = self.rule()?;
        match self.words.get(self.position) {
            None => Ok(rule),
            Some(_) => Err(self.unexpected("the end of the rule")),
        }
    }

    fn rule(&mut self) -> Result<Part, Problem> {
        if self.depth > MAX_NESTING {
            return Err(self.too_deep(MAX_NESTING));
        }
        self.depth += 1;
        let rule = self.choice();
        self.depth -= 1;
        rule
    }

    fn choice(&mut self) -> Result<Part, Problem> {
        let condition = self.logic("||")?;
        if !self.takes("?") {
            return Ok(condition);
        }
        self.is_boolean(&condition)?;
        let yes = self.logic("||")?;
        self.expect(":")?;
        let no = self.rule()?;
        if !yes.kind.fits(&no.kind) {
            let problem = format!("one answer is {}, the other {}", yes.kind, no.kind);
            return Err(self.problem(problem));
        }
        let kind = yes.kind.clone().or(&no.kind);
        self.part(kind, [condition, yes, no], |parts| {
            Node::Choice(Box::new(parts))
        })
    }

    /// A chain of `||` or of `&&`.
    fn logic(&mut self, sign: &str) -> Result<Part, Problem> {
        let is_or = sign == "||";
        let mut parts = Vec::new();
        loop {
            let part = if is_or {
                self.logic("&&")?
            } else {
                self.compare(1)?
            };
            let goes_on = self.takes(sign);
            if parts.is_empty() && !goes_on {
                return Ok(part);
            }
            self.is_boolean(&part)?;
            parts.push(part);
            if !goes_on {
                return self.parts(
                    Type::Bool,
                    parts,
                    if is_or { Node::Some } else { Node::Every },
                );
            }
        }
    }

    /// Operands between operators that bind at least this tight.
    fn compare(&mut self, strength: u8) -> Result<Part, Problem> {
        if strength > 3 {
            return self.unary();
        }
        let mut left = self.compare(strength + 1)?;
        while let Some(operator) = self.operator(strength) {
            self.position += 1;
            let right = self.compare(strength + 1)?;
            let Some(kind) = operator.result(&left.kind, &right.kind) else {
                let problem = format!("{} and {} do not go together here", left.kind, right.kind);
                return Err(self.problem(problem));
            };
            left = self.part(kind, [left, right], |operands| {
                Node::Binary(operator, Box::new(operands))
            })?;
        }
        Ok(left)
    }

    fn operator(&self, strength: u8) -> Option<Operator> {
        let written = match self.peek()? {
            Token::Sign(sign) => sign,
            Token::Name(name) => name.as_str(),
            _ => return None,
        };
        Operator::written(written).filter(|operator| operator.strength() == strength)
    }

    fn unary(&mut self) -> Result<Part, Problem> {
        let sign = if self.is_next("!") { "!" } else { "-" };
        let mut count = 0_usize;
        while self.takes(sign) {
            count += 1;
        }
        if count > MAX_DEPTH {
            return Err(self.too_deep(MAX_DEPTH));
        }
        // A number takes its sign with it, or the least integer could not be written.
        let mut operand = match (sign, count, self.peek()) {
            ("-", 1.., Some(Token::Int(number))) if *number <= 1 << 63 => {
                let negative = 0_i64.wrapping_sub_unsigned(*number);
                self.position += 1;
                count -= 1;
                let literal = self.literal(Type::Int, Value::Int(negative))?;
                self.member(literal)?
            }
            _ => {
                let primary = self.primary()?;
                self.member(primary)?
            }
        };
        for _ in 0..count {
            let kind = match (sign, &operand.kind) {
                ("!", Type::Bool | Type::Dyn) => Type::Bool,
                ("-", Type::Int | Type::Double | Type::Dyn) => operand.kind.clone(),
                (_, kind) => return Err(self.problem(format!("`{sign}` does not fit {kind}"))),
            };
            operand = self.part(kind, [operand], |[operand]| match sign {
                "!" => Node::Not(Box::new(operand)),
                _ => Node::Negate(Box::new(operand)),
            })?;
        }
        Ok(operand)
    }

    /// Fields, methods and indices behind a value.
    fn member(&mut self, mut of: Part) -> Result<Part, Problem> {
        loop {
            if self.takes(".") {
                let name = self.name()?;
                of = if self.takes("(") {
                    self.method(of, &name)?
                } else {
                    self.field(of, &name)?
                };
            } else if self.takes("[") {
                let at = self.rule()?;
                self.expect("]")?;
                let (key, kind) = match of.kind.clone() {
                    Type::List(item) => (Type::Int, *item),
                    Type::Map(key, value) => (*key, *value),
                    Type::Dyn => (Type::Dyn, Type::Dyn),
                    kind => return Err(self.problem(format!("{kind} has no elements"))),
                };
                if !at.kind.fits(&key) {
                    return Err(self.problem(format!("{} is no index here", at.kind)));
                }
                of = self.part(kind, [of, at], |operands| Node::Index(Box::new(operands)))?;
            } else {
                return Ok(of);
            }
        }
    }

    fn field(&self, of: Part, name: &str) -> Result<Part, Problem> {
        let kind = match &of.kind {
            Type::Map(key, value) if Type::String.fits(key) => (**value).clone(),
            Type::Dyn => Type::Dyn,
            kind => {
                return Err(self.problem(format!("{kind} has no field `{name}`")));
            }
        };
        let name = Key::String(name.into());
        self.part(kind, [of], |[of]| Node::Field(Box::new(of), name))
    }

    /// What is called on a value; the bracket has been read.
    fn method(&mut self, of: Part, name: &str) -> Result<Part, Problem> {
        if let Some(kind) = Macro::named(name) {
            return self.go_through(kind, of);
        }
        if name == "matches" {
            return self.matches(of);
        }
        let mut arguments = vec![of];
        arguments.extend(self.rules(")")?);
        self.call(name, true, arguments)
    }

    fn call(&self, name: &str, is_method: bool, arguments: Vec<Part>) -> Result<Part, Problem> {
        let Some(function) = Function::named(name, is_method) else {
            return Err(self.problem(format!("there is no function `{name}`")));
        };
        let kinds: Vec<Type> = arguments.iter().map(|part| part.kind.clone()).collect();
        let Some(kind) = function.result(&kinds) else {
            return Err(self.problem(format!("`{name}` does not take what it is given")));
        };
        self.parts(kind, arguments, |arguments| Node::Call(function, arguments))
    }

    fn matches(&mut self, of: Part) -> Result<Part, Problem> {
        let Some(Token::String(pattern)) = self.peek().cloned() else {
            return Err(self.problem("the pattern of `matches` has to be written out"));
        };
        self.position += 1;
        self.expect(")")?;
        if !of.kind.fits(&Type::String) {
            return Err(self.problem(format!("a pattern does not fit {}", of.kind)));
        }
        *self.patterns = self
            .patterns
            .checked_sub(1)
            .ok_or_else(|| self.problem("there are too many patterns"))?;
        let pattern = prepare(&pattern)
            .map_err(|error| self.problem(format!("`{pattern}` is no pattern: {error}")))?;
        self.part(Type::Bool, [of], |[of]| {
            Node::Matches(Box::new(of), pattern)
        })
    }

    /// A macro with its variable; the bracket has been read.
    fn go_through(&mut self, kind: Macro, range: Part) -> Result<Part, Problem> {
        let item = match &range.kind {
            Type::List(item) => (**item).clone(),
            Type::Map(key, _) => (**key).clone(),
            Type::Dyn => Type::Dyn,
            kind => return Err(self.problem(format!("{kind} has no elements"))),
        };
        let variable = self.name()?;
        self.expect(",")?;
        self.locals.push((variable, item.clone()));
        let mut body = self.rule()?;
        let mut filter = None;
        if kind == Macro::Map && self.takes(",") {
            self.is_boolean(&body)?;
            filter = Some(std::mem::replace(&mut body, self.rule()?));
        }
        self.locals.pop();
        self.expect(")")?;
        if kind != Macro::Map {
            self.is_boolean(&body)?;
        }
        let result = match kind {
            Macro::All | Macro::Exists | Macro::ExistsOne => Type::Bool,
            Macro::Filter => Type::List(Box::new(item)),
            Macro::Map => Type::List(Box::new(body.kind.clone())),
        };
        let has_filter = filter.is_some();
        let parts = filter.into_iter().chain([range, body]).collect();
        self.parts(result, parts, |mut nodes| {
            // Pushed above in this order.
            let body = nodes.pop().unwrap_or(Node::Properties);
            let range = nodes.pop().unwrap_or(Node::Properties);
            let filter = if has_filter { nodes.pop() } else { None };
            Node::Macro(
                kind,
                Box::new(Loop {
                    range,
                    filter,
                    body,
                }),
            )
        })
    }

    fn primary(&mut self) -> Result<Part, Problem> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.unexpected("a value"));
        };
        self.position += 1;
        match token {
            Token::Name(name) => self.named(&name),
            Token::Int(number) => match i64::try_from(number) {
                Ok(number) => self.literal(Type::Int, Value::Int(number)),
                Err(_) => Err(self.problem(format!("{number} is too great"))),
            },
            Token::Uint(number) => self.literal(Type::Uint, Value::Uint(number)),
            Token::Double(number) => self.literal(Type::Double, Value::Double(number)),
            Token::String(text) => self.literal(Type::String, Value::String(text.into())),
            Token::Bytes(bytes) => self.literal(Type::Bytes, Value::Bytes(bytes.into())),
            Token::Sign("(") => {
                let rule = self.rule()?;
                self.expect(")")?;
                Ok(rule)
            }
            Token::Sign("[") => {
                let items = self.rules("]")?;
                let item = Type::of_all(items.iter().map(|part| &part.kind));
                self.parts(Type::List(Box::new(item)), items, Node::List)
            }
            Token::Sign("{") => self.map(),
            Token::Sign(_) => {
                self.position -= 1;
                Err(self.unexpected("a value"))
            }
        }
    }

    fn named(&mut self, name: &str) -> Result<Part, Problem> {
        match name {
            "true" | "false" => return self.literal(Type::Bool, Value::Bool(name == "true")),
            "null" => return self.literal(Type::Null, Value::Null),
            _ => (),
        }
        if self.takes("(") {
            if name == "has" {
                return self.has();
            }
            let arguments = self.rules(")")?;
            return self.call(name, false, arguments);
        }
        // The innermost variable of that name.
        if let Some(index) = self.locals.iter().rposition(|(local, _)| local == name) {
            let kind = self
                .locals
                .get(index)
                .map_or(Type::Dyn, |(_, kind)| kind.clone());
            return self.part(kind, [], |[]| Node::Local(index));
        }
        if name == "properties" {
            let property = Type::Map(Box::new(Type::String), Box::new(Type::Dyn));
            return self.part(Type::List(Box::new(property)), [], |[]| Node::Properties);
        }
        Err(self.problem(format!("there is no `{name}`; there are `properties`")))
    }

    fn has(&mut self) -> Result<Part, Problem> {
        let part = self.rule()?;
        self.expect(")")?;
        match part.node {
            Node::Field(of, name) => Ok(Part {
                node: Node::Has(of, name),
                kind: Type::Bool,
                ..part
            }),
            _ => Err(self.problem("`has` asks for a field, as in `has(p.value.name)`")),
        }
    }

    fn map(&mut self) -> Result<Part, Problem> {
        let mut parts = Vec::new();
        while !self.takes("}") {
            let key = self.rule()?;
            self.expect(":")?;
            let value = self.rule()?;
            parts.extend([key, value]);
            if !self.takes(",") && !self.is_next("}") {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        let kinds = |skip| {
            Type::of_all(
                parts
                    .iter()
                    .skip(skip)
                    .step_by(2)
                    .map(|part: &Part| &part.kind),
            )
        };
        let kind = Type::Map(Box::new(kinds(0)), Box::new(kinds(1)));
        self.parts(kind, parts, |nodes| {
            let mut nodes = nodes.into_iter();
            Node::Map(std::iter::from_fn(|| Some((nodes.next()?, nodes.next()?))).collect())
        })
    }

    /// Rules with commas between them, up to the closing bracket.
    fn rules(&mut self, closing: &str) -> Result<Vec<Part>, Problem> {
        let mut parts = Vec::new();
        while !self.takes(closing) {
            parts.push(self.rule()?);
            let comma = self.takes(",");
            if !comma && !self.is_next(closing) || comma && closing == ")" && self.is_next(")") {
                return Err(self.unexpected(&format!("`,` or `{closing}`")));
            }
        }
        Ok(parts)
    }

    fn literal(&self, kind: Type, value: Value) -> Result<Part, Problem> {
        self.part(kind, [], |[]| Node::Literal(value))
    }

    fn part<const N: usize>(
        &self,
        kind: Type,
        below: [Part; N],
        node: impl FnOnce([Node; N]) -> Node,
    ) -> Result<Part, Problem> {
        let depth = self.deeper(below.iter())?;
        Ok(Part {
            node: node(below.map(|part| part.node)),
            kind,
            depth,
        })
    }

    fn parts(
        &self,
        kind: Type,
        below: Vec<Part>,
        node: impl FnOnce(Vec<Node>) -> Node,
    ) -> Result<Part, Problem> {
        let depth = self.deeper(below.iter())?;
        Ok(Part {
            node: node(below.into_iter().map(|part| part.node).collect()),
            kind,
            depth,
        })
    }

    fn deeper<'a>(&self, below: impl Iterator<Item = &'a Part>) -> Result<usize, Problem> {
        let depth = below.map(|part| part.depth + 1).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(self.too_deep(MAX_DEPTH));
        }
        Ok(depth)
    }

    fn is_boolean(&self, part: &Part) -> Result<(), Problem> {
        match &part.kind {
            Type::Bool | Type::Dyn => Ok(()),
            kind => Err(self.problem(format!("expected a boolean, found {kind}"))),
        }
    }

    fn name(&mut self) -> Result<String, Problem> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.position += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.words.get(self.position).map(|word| &word.token)
    }

    fn is_next(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(next)) if *next == sign)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.is_next(sign);
        self.position += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{sign}`")))
        }
    }

    fn unexpected(&self, expected: &str) -> Problem {
        let offset = self
            .words
            .get(self.position)
            .map_or(self.end, |word| word.offset);
        (offset, format!("expected {expected}"))
    }

    /// A problem with the last word that was read.
    fn problem(&self, problem: impl Into<String>) -> Problem {
        let last = self
            .position
            .checked_sub(1)
            .and_then(|last| self.words.get(last));
        (last.map_or(0, |word| word.offset), problem.into())
    }

    fn too_deep(&self, levels: usize) -> Problem {
        self.problem(format!("the rule nests more than {levels} levels deep"))
    }
}

fn prepare(pattern: &str) -> Result<Pattern, regex::Error> {
    let of_size = |(size, cost): (usize, usize)| {
        let regex = RegexBuilder::new(pattern)
            .size_limit(size)
            .nest_limit(20)
            .build()?;
        Ok(Pattern {
            matches: Box::new(move |text| regex.is_match(text)),
            cost,
        })
    };
    let [small, large] = PATTERNS;
    of_size(small).or_else(|_: regex::Error| of_size(large))
}
