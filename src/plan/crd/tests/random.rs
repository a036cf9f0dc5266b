//! Small random schemas, changed at random, and random objects.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::validate::as_read;
use super::super::{Severity, compare, schema_of, validate, validate_ratcheted};
use super::{CustomResourceDefinition, crd, ship};

/// Numbers out of a seed.
struct Dice {
    state: u64,
    /// One in so many things changes.
    change: u64,
}

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    fn one_of(&mut self, values: &[Value]) -> Value {
        let at = usize::try_from(self.roll(values.len() as u64)).unwrap();
        values[at].clone()
    }
}

/// The same keyword before and after: mostly the same or missing, sometimes another.
fn keyword(dice: &mut Dice, name: &str, values: &[Value], old: &mut Value, new: &mut Value) {
    let set = |dice: &mut Dice, schema: &mut Value, value: Option<Value>| {
        if let Some(value) = value.or_else(|| dice.one_in(3).then(|| dice.one_of(values))) {
            schema[name] = value;
        }
    };
    if dice.one_in(dice.change) {
        set(dice, old, None);
        set(dice, new, None);
    } else if dice.one_in(3) {
        let same = dice.one_of(values);
        set(dice, old, Some(same.clone()));
        set(dice, new, Some(same));
    }
}

/// A schema before and after.
fn pair(dice: &mut Dice, depth: u32) -> (Value, Value) {
    let kinds = if depth == 0 { 4 } else { 7 };
    if dice.one_in(dice.change * 8) {
        let (old, _) = pair(dice, 0);
        let (_, new) = pair(dice, 0);
        return (old, new);
    }
    let (mut old, mut new) = match dice.roll(kinds) {
        0 => number(dice),
        1 => string(dice),
        2 => (json!({"type": "boolean"}), json!({"type": "boolean"})),
        3 => (
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true}),
        ),
        4 => list(dice, depth),
        _ => object(dice, depth),
    };
    keyword(
        dice,
        "nullable",
        &[json!(true), json!(false)],
        &mut old,
        &mut new,
    );
    if dice.one_in(4) {
        let default = value(dice, &old);
        for schema in [&mut old, &mut new] {
            let probe = crd(&json!({"type": "object", "properties": {"x": schema.clone()}}));
            let is_right = validate(&ship(&json!({"x": default})), &probe, "v1").is_empty();
            if is_right && !dice.one_in(dice.change) {
                schema["default"] = default.clone();
            }
        }
    }
    (old, new)
}

fn number(dice: &mut Dice) -> (Value, Value) {
    let mut old = json!({"type": "integer"});
    let mut new = old.clone();
    keyword(
        dice,
        "type",
        &[json!("integer"), json!("number")],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "minimum",
        &[json!(0), json!(1), json!(2)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "maximum",
        &[json!(3), json!(2), json!(1)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "exclusiveMaximum",
        &[json!(true), json!(false)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "multipleOf",
        &[json!(2), json!(1)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "enum",
        &[json!([1, 2]), json!([1, 2, 3]), json!([0])],
        &mut old,
        &mut new,
    );
    (old, new)
}

fn string(dice: &mut Dice) -> (Value, Value) {
    let mut old = json!({"type": "string"});
    let mut new = old.clone();
    keyword(
        dice,
        "minLength",
        &[json!(0), json!(1), json!(2)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "maxLength",
        &[json!(2), json!(1), json!(3)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "pattern",
        &[json!("^a"), json!("b$"), json!("")],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "enum",
        &[json!(["a", "ab"]), json!(["a"])],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "not",
        &[json!({"enum": ["ab"]}), json!({"minLength": 3})],
        &mut old,
        &mut new,
    );
    (old, new)
}

fn list(dice: &mut Dice, depth: u32) -> (Value, Value) {
    let (old_items, new_items) = pair(dice, depth - 1);
    let mut old = json!({"type": "array", "items": old_items});
    let mut new = json!({"type": "array", "items": new_items});
    keyword(dice, "minItems", &[json!(0), json!(1)], &mut old, &mut new);
    keyword(
        dice,
        "maxItems",
        &[json!(1), json!(2), json!(3)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "x-kubernetes-list-type",
        &[json!("set"), json!("atomic")],
        &mut old,
        &mut new,
    );
    (old, new)
}

fn object(dice: &mut Dice, depth: u32) -> (Value, Value) {
    let mut old = json!({"type": "object"});
    let mut new = json!({"type": "object"});
    if dice.one_in(4) {
        let (old_others, new_others) = pair(dice, depth - 1);
        old["additionalProperties"] = old_others;
        new["additionalProperties"] = new_others;
    } else {
        let (mut before, mut now) = (Map::new(), Map::new());
        for name in ["a", "b", "c"] {
            let (old_field, new_field) = pair(dice, depth - 1);
            if !dice.one_in(dice.change) {
                before.insert(name.to_owned(), old_field);
            }
            if !dice.one_in(dice.change) {
                now.insert(name.to_owned(), new_field);
            }
        }
        old["properties"] = Value::Object(before);
        new["properties"] = Value::Object(now);
        let keeps = [json!(true), json!(false)];
        keyword(
            dice,
            "x-kubernetes-preserve-unknown-fields",
            &keeps,
            &mut old,
            &mut new,
        );
    }
    keyword(
        dice,
        "required",
        &[json!(["a"]), json!([]), json!(["a", "b"])],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "maxProperties",
        &[json!(2), json!(1), json!(3)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "minProperties",
        &[json!(0), json!(1)],
        &mut old,
        &mut new,
    );
    keyword(
        dice,
        "anyOf",
        &[json!([{"required": ["a"]}, {"required": ["b"]}])],
        &mut old,
        &mut new,
    );
    if dice.one_in(12) {
        let rules = [
            json!([{"rule": "has(self.a)"}]),
            json!([{"rule": "!has(self.b)"}]),
        ];
        keyword(dice, "x-kubernetes-validations", &rules, &mut old, &mut new);
    }
    (old, new)
}

/// A value that has a chance to be right.
fn value(dice: &mut Dice, schema: &Value) -> Value {
    if dice.one_in(40) {
        return dice.one_of(&[
            Value::Null,
            json!(1),
            json!("a"),
            json!([]),
            json!({}),
            json!(1.5),
        ]);
    }
    if let Some(Value::Array(choices)) = schema.get("enum") {
        return dice.one_of(choices);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => json!(dice.roll(4)),
        Some("number") => dice.one_of(&[json!(0), json!(1), json!(1.5), json!(2), json!(3)]),
        Some("string") => {
            dice.one_of(&[json!(""), json!("a"), json!("ab"), json!("aab"), json!("b")])
        }
        Some("boolean") => json!(dice.one_in(2)),
        Some("array") => (0..dice.roll(3))
            .map(|_| value(dice, &schema["items"]))
            .collect(),
        Some("object") => {
            let mut fields = Map::new();
            for name in ["a", "b", "c"] {
                let field = schema.pointer(&format!("/properties/{name}"));
                let field = field.or_else(|| schema.get("additionalProperties"));
                if !dice.one_in(3) {
                    let value = value(dice, field.unwrap_or(&Value::Null));
                    fields.insert(name.to_owned(), value);
                }
            }
            Value::Object(fields)
        }
        _ => dice.one_of(&[json!(1), json!("a"), json!("ab")]),
    }
}

fn read(crd: &CustomResourceDefinition, object: &Value) -> Value {
    as_read(schema_of(&crd.spec.versions[0]).unwrap(), false, object)
}

thread_local! {
    /// How often harmless changes were put to the test, and how often others did harm: neither may
    /// be never.
    static TRIED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

fn try_one(seed: u64) {
    let mut dice = Dice {
        state: seed,
        change: 10 + seed % 30,
    };
    let (old_schema, new_schema) = object(&mut dice, 2);
    let (old, new) = (crd(&old_schema), crd(&new_schema));
    assert_eq!(compare(&old, &old), [], "{old_schema}");
    let changes = compare(&old, &new);
    let is_harmless = changes
        .iter()
        .all(|change| change.severity == Severity::Harmless);
    for _ in 0..6 {
        let object = read(&old, &ship(&value(&mut dice, &old_schema)));
        let before = validate(&object, &old, "v1");
        let now = validate(&object, &new, "v1");
        let (mut tried, mut harmed) = TRIED.get();
        if !before.is_empty() {
            let ratcheted = validate_ratcheted(&object, &old, &new, "v1");
            assert!(ratcheted.iter().all(|violation| now.contains(violation)));
            assert_eq!(validate_ratcheted(&object, &old, &old, "v1"), []);
        } else if is_harmless {
            let told = format!("{object}\nold {old_schema}\nnew {new_schema}\n{changes:?}");
            assert_eq!(now, [], "{told}");
            tried += u32::from(!changes.is_empty());
        } else if !now.is_empty() {
            assert_eq!(validate_ratcheted(&object, &old, &new, "v1"), now);
            harmed += 1;
        }
        TRIED.set((tried, harmed));
    }
}

#[test]
fn what_is_called_harmless_never_harms() {
    TRIED.set((0, 0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 10,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&any::<u64>(), |seed| {
            (0..40).for_each(|at| try_one(seed.wrapping_add(at)));
            Ok(())
        })
        .unwrap();
    let (tried, harmed) = TRIED.get();
    println!("{tried} harmless ones tried, {harmed} others did harm");
    assert!(tried > 30 && harmed > 20, "{tried} {harmed}");
}
