//! Schemas that are too much.

use serde_json::{Value, json};

use super::schema::{Budget, fields_of_object};

#[test]
fn there_is_an_end_to_how_deep_and_how_many() {
    let mut schema = json!({"type": "string"});
    for _ in 0..60 {
        schema = json!({"type": "object", "properties": {"inner": schema}});
    }
    let (fields, is_cut) = fields_of_object(&schema, &mut Budget::new(1000));
    assert!(is_cut);
    assert_eq!(fields.len(), 1);
    let many: serde_json::Map<String, Value> = (0..100)
        .map(|at| (format!("field{at:03}"), json!({"type": "string"})))
        .collect();
    let (fields, is_cut) = fields_of_object(&json!({"properties": many}), &mut Budget::new(10));
    assert_eq!((fields.len(), is_cut), (10, true));
}

#[test]
fn what_makes_no_sense_is_passed_over() {
    let schema = json!({"required": "all", "properties": {
        "a": 7, "b": {"type": ["x"], "enum": {}, "items": [1]}, "kind": {"type": "string"},
        "c": {"x-kubernetes-int-or-string": true, "default": 3, "nullable": true},
    }});
    let (fields, is_cut) = fields_of_object(&schema, &mut Budget::new(10));
    assert!(!is_cut);
    let types: Vec<(&str, &str)> = fields
        .iter()
        .map(|field| (field.name.as_str(), field.r#type.as_str()))
        .collect();
    assert_eq!(
        types,
        [("a", "object"), ("b", "object"), ("c", "integer or string")]
    );
    assert_eq!(fields[2].default.as_deref(), Some("3"));
    assert_eq!(fields[2].rules, ["may be null"]);
}
