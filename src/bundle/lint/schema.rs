//! Changes of CustomResourceDefinitions that objects of users do not survive.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::crds::versions;
use super::{Findings, Severity};
use crate::bundle::{Bundle, Object, text_at};

/// Bounds below which a value must not be.
const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
/// Bounds above which a value must not be.
const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

pub(super) fn check(old: &Bundle, new: &Bundle, findings: &mut Findings) {
    let is_crd = |object: &&Object| object.is_crd();
    for before in old.objects.iter().filter(is_crd) {
        let now = new
            .objects
            .iter()
            .filter(is_crd)
            .find(|now| now.name() == before.name());
        if let Some(now) = now {
            compare(before, now, findings);
        } else {
            let message = format!(
                "{} is no longer in the bundle; it and its objects stay in the cluster, unattended",
                before.name()
            );
            let advice = "keep it, or tell users how to move away from it";
            findings.warning("crd-removed", ("manifests/", ""), message, advice);
        }
    }
}

fn compare(before: &Object, now: &Object, findings: &mut Findings) {
    let file = now.file.as_str();
    let (old_scope, new_scope) = (
        text_at(&before.value, "/spec/scope"),
        text_at(&now.value, "/spec/scope"),
    );
    if old_scope != new_scope && !old_scope.is_empty() {
        let message = format!("the scope was {old_scope} and is now {new_scope}");
        findings.error(
            "crd-scope",
            (file, "spec.scope"),
            message,
            "make a new kind instead",
        );
    }
    let new_versions = versions(&now.value);
    for old in versions(&before.value) {
        let Some(new) = new_versions.iter().find(|new| new.name == old.name) else {
            if old.served || old.storage {
                let message = format!(
                    "version {} is gone, in which objects may be stored",
                    old.name
                );
                let advice = "keep it with `served: false` until all objects have been moved";
                findings.error(
                    "crd-version-removed",
                    (file, "spec.versions"),
                    message,
                    advice,
                );
            }
            continue;
        };
        if old.served && !new.served {
            let message = format!("version {} is no longer served", old.name);
            let advice = "serve it until nobody uses it";
            findings.error(
                "crd-version-removed",
                (file, "spec.versions"),
                message,
                advice,
            );
        }
        if let (Some(old_schema), Some(new_schema)) = (old.schema, new.schema) {
            let mut walk = Walk { file, findings };
            walk.node(&format!("{} ", old.name), old_schema, new_schema);
        }
    }
}

struct Walk<'a, 'b> {
    file: &'a str,
    findings: &'b mut Findings,
}

impl Walk<'_, '_> {
    /// The status is written by the operator itself, so only readers of it are surprised.
    fn breaks(&mut self, rule: &'static str, path: &str, message: impl Into<String>, advice: &str) {
        let severity = if path.contains(" .status") {
            Severity::Warning
        } else {
            Severity::Error
        };
        let path = if path.ends_with(' ') {
            format!("{path}.")
        } else {
            path.to_owned()
        };
        self.findings
            .add(severity, rule, (self.file, &path), message, advice);
    }

    fn node(&mut self, path: &str, old: &Value, new: &Value) {
        self.kind(path, old, new);
        self.required(path, old, new);
        self.choices(path, old, new);
        self.bounds(path, old, new);
        self.fields(path, old, new);
        if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
            self.node(&format!("{path}[]"), old, new);
        }
        if let (Some(old @ Value::Object(_)), Some(new @ Value::Object(_))) = (
            old.get("additionalProperties"),
            new.get("additionalProperties"),
        ) {
            self.node(&format!("{path}.*"), old, new);
        }
    }

    fn kind(&mut self, path: &str, old: &Value, new: &Value) {
        let (before, now) = (kind(old), kind(new));
        let widened = now.is_empty()
            || (before == "integer" && now == "number")
            || (before != "object"
                && now == "int-or-string"
                && ["integer", "string"].contains(&before));
        if before != now && !widened {
            let before = if before.is_empty() {
                "anything"
            } else {
                before
            };
            let message = format!("the type was {before} and is now {now}");
            self.breaks(
                "field-retyped",
                path,
                message,
                "add a field of another name instead",
            );
        }
        let nullable = |schema: &Value| schema.get("nullable") == Some(&Value::Bool(true));
        if nullable(old) && !nullable(new) {
            self.breaks(
                "field-narrowed",
                path,
                "it may no longer be null",
                "keep `nullable`",
            );
        }
    }

    fn required(&mut self, path: &str, old: &Value, new: &Value) {
        let before = texts(old.get("required"));
        for name in texts(new.get("required")).difference(&before) {
            let field = new.get("properties").and_then(|fields| fields.get(name));
            if field.is_none_or(|field| field.get("default").is_none()) {
                let path = format!("{path}.{name}");
                let advice = "give it a default, or let it be optional";
                self.breaks("field-required", &path, "it is now required", advice);
            }
        }
    }

    fn choices(&mut self, path: &str, old: &Value, new: &Value) {
        let list = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
        match (list(old), list(new)) {
            (None, Some(_)) => {
                let message = "only certain values are allowed now";
                self.breaks(
                    "field-narrowed",
                    path,
                    message,
                    "make a new version of the API",
                );
            }
            (Some(before), Some(now)) => {
                let gone: Vec<String> = before
                    .iter()
                    .filter(|value| !now.contains(value))
                    .map(ToString::to_string)
                    .collect();
                if !gone.is_empty() {
                    let message = format!("no longer allowed: {}", gone.join(", "));
                    self.breaks("field-narrowed", path, message, "keep the values");
                }
            }
            _ => {}
        }
        let pattern = |schema: &Value| {
            schema
                .get("pattern")
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        if let Some(now) = pattern(new)
            && pattern(old).as_ref() != Some(&now)
        {
            let message = format!("it must now match `{now}`");
            let advice = "make sure that all values that were allowed still match";
            self.breaks("field-narrowed", path, message, advice);
        }
    }

    fn bounds(&mut self, path: &str, old: &Value, new: &Value) {
        let number = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_f64);
        let keys = LOWER
            .iter()
            .map(|key| (*key, true))
            .chain(UPPER.iter().map(|key| (*key, false)));
        for (key, is_lower) in keys {
            let Some(now) = number(new, key) else {
                continue;
            };
            // A minimum of nothing is no bound for lengths.
            let narrower = match number(old, key) {
                Some(before) if is_lower => now > before,
                Some(before) => now < before,
                None => !(is_lower && now <= 0.0 && key != "minimum"),
            };
            if narrower {
                let was =
                    number(old, key).map_or_else(|| "none".to_owned(), |before| before.to_string());
                let message = format!("{key} was {was} and is now {now}");
                self.breaks("field-narrowed", path, message, "keep the bound");
            }
        }
    }

    fn fields(&mut self, path: &str, old: &Value, new: &Value) {
        let Some(before) = fields(old) else { return };
        let keeps_unknown = new.get("x-kubernetes-preserve-unknown-fields")
            == Some(&Value::Bool(true))
            || new
                .get("additionalProperties")
                .is_some_and(|more| *more != Value::Bool(false));
        let now = fields(new);
        for (name, old_field) in before {
            let path = format!("{path}.{name}");
            match now.and_then(|now| now.get(name)) {
                Some(new_field) => self.node(&path, old_field, new_field),
                None if keeps_unknown => {}
                None => {
                    let advice = "keep the field and ignore it, or make a new version of the API";
                    self.breaks(
                        "field-removed",
                        &path,
                        "it is gone, and what users wrote there is lost",
                        advice,
                    );
                }
            }
        }
    }
}

fn kind(schema: &Value) -> &str {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return "int-or-string";
    }
    text_at(schema, "/type")
}

fn fields(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn texts(list: Option<&Value>) -> BTreeSet<&str> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}
