//! What an old schema left open, written out.

use serde_json::{Map, Value, json};

const KEEPS: &str = "x-kubernetes-preserve-unknown-fields";
const METADATA: &str = "metadata";
/// What every object has.
const IMPLIED: [&str; 3] = ["apiVersion", "kind", METADATA];
const EITHER: &str = "x-kubernetes-int-or-string";

/// Makes a schema structural where that does not change its meaning, and says what it did.
pub(super) fn schema(
    schema: &mut Value,
    keeps_unknown: bool,
    version: &str,
    notes: &mut Vec<String>,
) {
    let mut mend = Mend {
        keeps_unknown,
        types: 0,
        left_out: 0,
        left_out_of_metadata: false,
    };
    mend.root(schema);
    if keeps_unknown {
        notes.push(format!(
            "version {version} kept fields that its schema does not name, and now says so at every object"
        ));
    }
    if mend.types > 0 {
        notes.push(format!(
            "the schema of version {version} left out types in {} places, and now has them",
            mend.types
        ));
    }
    if mend.left_out > 0 {
        notes.push(format!(
            "the schema of version {version} forbade further fields or repeated items in {} places, which v1 cannot say: that was left out",
            mend.left_out
        ));
    }
    if mend.left_out_of_metadata {
        notes.push(format!(
            "the schema of version {version} said more about metadata than v1 allows, which is name and generateName: that was left out"
        ));
    }
}

struct Mend {
    keeps_unknown: bool,
    types: usize,
    left_out: usize,
    left_out_of_metadata: bool,
}

/// A text, whatever else was said of it.
fn text(mut said: Value) -> Value {
    if let Some(keywords) = said.as_object_mut() {
        keywords.insert("type".to_owned(), json!("string"));
    }
    said
}

impl Mend {
    /// Every object has apiVersion, kind and metadata, of which a schema may say next to nothing.
    fn root(&mut self, schema: &mut Value) {
        let implied = schema
            .get_mut("properties")
            .and_then(Value::as_object_mut)
            .map(|fields| IMPLIED.map(|name| (name, fields.shift_remove(name))));
        self.node(schema, true);
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        let (Some(fields), Some(implied)) = (fields, implied) else {
            return;
        };
        for (name, said) in implied {
            if let Some(said) = said {
                let said = if name == METADATA {
                    self.metadata(said)
                } else {
                    text(said)
                };
                fields.insert(name.to_owned(), said);
            }
        }
    }

    /// The API server knows the rest itself, and refuses a schema that says more.
    fn metadata(&mut self, said: Value) -> Value {
        let mut allowed = json!({ "type": "object" });
        let Value::Object(mut said) = said else {
            return allowed;
        };
        let Some(Value::Object(mut fields)) = said.remove("properties") else {
            return allowed;
        };
        let names: Map<String, Value> = ["name", "generateName"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), text(fields.remove(name)?))))
            .collect();
        self.left_out_of_metadata |= !fields.is_empty();
        if !names.is_empty() {
            allowed["properties"] = Value::Object(names);
        }
        allowed
    }

    fn node(&mut self, schema: &mut Value, is_root: bool) {
        let Some(keywords) = schema.as_object_mut() else {
            return;
        };
        self.leave_out(keywords);
        self.add_type(keywords, is_root);
        let is_object = keywords.get("type").and_then(Value::as_str) == Some("object");
        let has_others = keywords
            .get("additionalProperties")
            .is_some_and(|others| !others.is_null());
        if self.keeps_unknown && is_object && !has_others {
            keywords.insert(KEEPS.to_owned(), Value::Bool(true));
        }
        if let Some(Value::Object(fields)) = keywords.get_mut("properties") {
            fields
                .values_mut()
                .for_each(|field| self.node(field, false));
        }
        for name in ["items", "additionalProperties"] {
            if let Some(below) = keywords.get_mut(name) {
                self.node(below, false);
            }
        }
    }

    fn leave_out(&mut self, keywords: &mut Map<String, Value>) {
        if keywords.get("additionalProperties") == Some(&Value::Bool(false)) {
            keywords.remove("additionalProperties");
            self.left_out += 1;
        }
        if keywords.remove("uniqueItems") == Some(Value::Bool(true)) {
            self.left_out += 1;
        }
    }

    fn add_type(&mut self, keywords: &mut Map<String, Value>, is_root: bool) {
        let has = |name: &str| keywords.get(name).is_some_and(|value| !value.is_null());
        if has("type") || (!is_root && (has(EITHER) || has(KEEPS))) {
            return;
        }
        self.types += 1;
        let is_either = keywords
            .get("anyOf")
            .and_then(Value::as_array)
            .is_some_and(|any| {
                let types: Vec<Option<&Value>> = any.iter().map(|one| one.get("type")).collect();
                let wanted = [json!("integer"), json!("string")];
                types.len() == 2 && wanted.iter().all(|wanted| types.contains(&Some(wanted)))
            });
        let (keyword, value) = if is_root || has("properties") || has("additionalProperties") {
            ("type", json!("object"))
        } else if has("items") {
            ("type", json!("array"))
        } else if is_either {
            (EITHER, Value::Bool(true))
        } else {
            // It said nothing, and so anything is allowed.
            (KEEPS, Value::Bool(true))
        };
        keywords.insert(keyword.to_owned(), value);
    }
}
