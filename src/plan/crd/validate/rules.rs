//! Rules in CEL (`x-kubernetes-validations`).
//!
//! The API server bounds what a rule may cost before it takes a CRD. Here a rule is asked before the
//! API server has seen it, by an interpreter that knows no bounds and needs a lot of stack, so that a
//! rule is asked only if its [`Cost`] is small, and on a thread of its own. What is not asked is
//! reported.

mod cost;

use std::collections::HashMap;

use kube_cel::cel::ExecutionError;
use kube_cel::{CompiledSchema, ErrorKind, ValidationError, Validator, compile_schema};
use serde_json::{Value, json};

use super::super::apiextensions::{JSONSchemaProps, ValidationRule};
use super::super::limits::{children, weight};
use super::super::{Others, field_of, items_of, others_of, text};
use super::{Found, ViolationKind};
use cost::Cost;

/// The stack for rules: reading a pair of parentheses takes some 150 KB in a debug build.
const STACK: usize = 64 << 20;
/// The steps that all rules of one object may take: some seconds at worst.
const STEPS: u64 = 5_000_000;
/// How many rules of one schema are asked.
const MOST_RULES: usize = 2_000;

/// Whether there is any rule in a schema.
pub(super) fn are_in(schema: &JSONSchemaProps) -> bool {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        if schema
            .x_kubernetes_validations
            .as_ref()
            .is_some_and(|rules| !rules.is_empty())
        {
            return true;
        }
        open.extend(children(schema));
    }
    false
}

/// The rules of a schema, prepared when they are first asked.
#[derive(Default)]
pub(super) struct Rules<'a> {
    /// By the address of the schema they stand in, which is only compared.
    known: HashMap<usize, Vec<Prepared<'a>>>,
    count: usize,
    /// The interpreter with its functions, made when the first rule is asked.
    validator: Option<Validator>,
}

/// A rule that can be asked, or why it cannot.
struct Prepared<'a> {
    rule: &'a ValidationRule,
    ready: Result<(Cost, CompiledSchema), &'static str>,
}

impl<'a> Rules<'a> {
    /// Adds which rules an object violates.
    pub(super) fn check(&mut self, schema: &'a JSONSchemaProps, object: &Value, found: &mut Found) {
        let is_done = std::thread::scope(|scope| {
            let ask = || {
                let validator = self.validator.take();
                let mut asking = Asking {
                    rules: self,
                    found,
                    validator: validator.unwrap_or_default(),
                    path: String::new(),
                    steps: STEPS,
                };
                asking.value(schema, object);
                let validator = asking.validator;
                self.validator = Some(validator);
            };
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread
                .spawn_scoped(scope, ask)
                .is_ok_and(|thread| thread.join().is_ok())
        });
        if !is_done {
            let words = "the interpreter of CEL failed: not all rules were asked";
            found.unchecked.insert(words.to_owned());
        }
    }

    /// The rules that stand in a schema itself.
    fn of(&mut self, schema: &'a JSONSchemaProps) -> &[Prepared<'a>] {
        let count = &mut self.count;
        let address = std::ptr::from_ref(schema).addr();
        self.known.entry(address).or_insert_with(|| {
            let rules = schema
                .x_kubernetes_validations
                .as_deref()
                .unwrap_or_default();
            if rules.is_empty() {
                return Vec::new();
            }
            let plain = plain(schema);
            let prepare = |rule: &'a ValidationRule| {
                *count += 1;
                let ready = match Cost::of(&rule.rule) {
                    _ if *count > MOST_RULES => Err("there are too many rules"),
                    Ok(cost) => compiled(&plain, rule).map(|compiled| (cost, compiled)),
                    Err(why) => Err(why),
                };
                Prepared { rule, ready }
            };
            rules.iter().map(prepare).collect()
        })
    }
}

/// A schema without its rules and defaults: what the interpreter needs to know of types.
fn plain(schema: &JSONSchemaProps) -> Value {
    fn strip(schema: &mut Value) {
        let Some(keywords) = schema.as_object_mut() else {
            return;
        };
        keywords.retain(|keyword, _| KEPT.contains(&keyword.as_str()));
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(fields)) => fields.values_mut().for_each(strip),
                ("items" | "additionalProperties", value) => strip(value),
                _ => {}
            }
        }
    }
    const KEPT: [&str; 8] = [
        "type",
        "format",
        "properties",
        "items",
        "additionalProperties",
        "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ];
    let mut plain = serde_json::to_value(schema).unwrap_or_default();
    strip(&mut plain);
    plain
}

fn compiled(plain: &Value, rule: &ValidationRule) -> Result<CompiledSchema, &'static str> {
    let mut schema = plain.clone();
    if let Some(keywords) = schema.as_object_mut() {
        let rule = json!([{ "rule": rule.rule, "optionalOldSelf": rule.optional_old_self }]);
        keywords.insert("x-kubernetes-validations".to_owned(), rule);
    }
    let compiled = compile_schema(&schema);
    if compiled.has_errors() {
        return Err("it cannot be read");
    }
    Ok(compiled)
}

/// The rules being asked about one object.
struct Asking<'a, 'b> {
    rules: &'b mut Rules<'a>,
    found: &'b mut Found,
    validator: Validator,
    path: String,
    steps: u64,
}

impl<'a> Asking<'a, '_> {
    fn value(&mut self, schema: &'a JSONSchemaProps, value: &Value) {
        // The API server asks no rules about nulls.
        if !value.is_null() {
            self.ask(schema, value);
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (field_of(schema, name), others_of(schema)) {
                        (Some(field), _) | (None, Others::Typed(field)) => {
                            self.below(name, field, value);
                        }
                        _ => {}
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = items_of(schema) {
                    for (at, item) in items.iter().enumerate() {
                        self.below(&format!("[{at}]"), schema, item);
                    }
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, step: &str, schema: &'a JSONSchemaProps, value: &Value) {
        let length = self.path.len();
        if length > 0 && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        self.value(schema, value);
        self.path.truncate(length);
    }

    fn ask(&mut self, schema: &'a JSONSchemaProps, value: &Value) {
        let rules = self.rules.of(schema);
        if rules.is_empty() {
            return;
        }
        let weight = weight(value);
        for Prepared { rule, ready } in rules {
            let outcome = match ready {
                Ok((cost, _)) if cost.steps(weight) > self.steps => {
                    Err("it takes too long for an object of this size")
                }
                Ok((cost, compiled)) => {
                    self.steps -= cost.steps(weight);
                    answer(&self.validator, compiled, value)
                }
                Err(why) => Err(*why),
            };
            match outcome {
                Ok(true) => {}
                Ok(false) => {
                    let kind = ViolationKind::Rule(rule.rule.trim().to_owned());
                    self.found.add(&self.path, kind, words(rule));
                }
                Err(why) => {
                    let rule = text::quote(&rule.rule);
                    let words = format!("the rule `{rule}` was not asked: {why}");
                    self.found.unchecked.insert(words);
                }
            }
        }
    }
}

/// Whether a rule holds, or why that cannot be said.
fn answer(
    validator: &Validator,
    compiled: &CompiledSchema,
    value: &Value,
) -> Result<bool, &'static str> {
    let Err(errors) = validator.validate_compiled(compiled, value, Some(value)) else {
        return Ok(true);
    };
    // There is one rule, and so one answer.
    match errors.first() {
        None => Ok(true),
        Some(error) => match error.kind {
            ErrorKind::ValidationFailure => Ok(false),
            ErrorKind::EvaluationError if is_the_objects_fault(error) => Ok(false),
            ErrorKind::UnsupportedReference => Err("it uses functions that are not known here"),
            ErrorKind::SchemaTooDeep => Err("it stands above a schema that nests too deep"),
            _ => Err("it could not be answered"),
        },
    }
}

/// Whether the API server would fail in the same way. It knows the types of all fields, so that
/// failures about types are the interpreter's.
fn is_the_objects_fault(error: &ValidationError) -> bool {
    let source = std::error::Error::source(error);
    matches!(
        source.and_then(|source| source.downcast_ref::<ExecutionError>()),
        Some(
            ExecutionError::NoSuchKey(_)
                | ExecutionError::DivisionByZero(_)
                | ExecutionError::RemainderByZero(_)
                | ExecutionError::Overflow(..)
                | ExecutionError::IndexOutOfBounds(_)
        )
    )
}

fn words(rule: &ValidationRule) -> String {
    let asked = text::quote(rule.rule.trim());
    match rule
        .message
        .as_deref()
        .filter(|message| !message.is_empty())
    {
        Some(message) => format!("violates a rule: {} (`{asked}`)", text::quote(message)),
        None => format!("violates the rule `{asked}`"),
    }
}
