//! Whether an object of the cluster is as it was asked for.
//!
//! Only what is asked for is compared, as server-side apply does: what the API server fills in and what
//! others add is theirs. Lists whose items have names are compared name by name, others as a whole.

#[cfg(test)]
mod tests;

use serde_json::{Map, Number, Value};

use super::quantity;

/// Lists whose items server-side apply tells apart, by these fields. A missing one counts as `TCP`, the
/// only such field that may be missing being the protocol of a port.
const NAMED: [(&str, &[&str]); 13] = [
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("ownerReferences", &["uid"]),
    ("ports", &["containerPort", "port", "protocol"]),
    (
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("webhooks", &["name"]),
];
/// Objects that server-side apply replaces as a whole: what others added to them does not stay.
const WHOLE: [&str; 7] = [
    "labelSelector",
    "matchLabels",
    "namespaceSelector",
    "nodeSelector",
    "objectSelector",
    "roleRef",
    "selector",
];
/// Fields that hold quantities, or objects of quantities.
const QUANTITIES: [&str; 5] = ["divisor", "limits", "requests", "sizeLimit", "storage"];
/// Switches of which the API server writes nothing when they are off. Of others it keeps that they are.
const UNWRITTEN: [&str; 8] = [
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "paused",
    "readOnly",
    "stdin",
    "stdinOnce",
    "tty",
];
/// Numbers of which zero means that nothing is asked for, and which may get a default then.
const ZERO_IS_UNASKED: [&str; 7] = [
    "failureThreshold",
    "hostPort",
    "initialDelaySeconds",
    "minReadySeconds",
    "periodSeconds",
    "successThreshold",
    "timeoutSeconds",
];
/// Empty objects that mean something.
const EMPTY_COUNTS: [&str; 4] = [
    "emptyDir",
    "labelSelector",
    "namespaceSelector",
    "objectSelector",
];
/// Where an empty text is a value like any other, and not one that is left to the API server.
const TEXTS: [&str; 4] = ["annotations", "labels", "matchLabels", "nodeSelector"];

/// Where an object is not as it was asked for, as a path; nothing if it is.
pub(super) fn difference(asked: &Value, live: &Value) -> Option<String> {
    let mut path = Vec::new();
    let compare = Compare {
        whole: false,
        quantities: false,
    };
    compare.values(asked, Some(live), &mut path).then_some(())?;
    Some(path.join("."))
}

#[derive(Clone, Copy)]
struct Compare {
    whole: bool,
    quantities: bool,
}

impl Compare {
    /// Whether two values differ; if so, the path says where.
    fn values(self, asked: &Value, live: Option<&Value>, path: &mut Vec<String>) -> bool {
        let Some(live) = live else {
            return is_missed(asked, path);
        };
        match (asked, live) {
            (Value::Null, _) => false,
            (Value::Object(asked), Value::Object(live)) => self.objects(asked, live, path),
            (Value::Array(asked), _) if asked.is_empty() => false,
            (Value::Array(asked), Value::Array(live)) => self.lists(asked, live, path),
            (Value::Number(asked), Value::Number(live)) => {
                asked.as_f64() != live.as_f64() && !is_unasked(asked, path)
            }
            (Value::String(asked), Value::String(live)) => {
                let is_left = asked.is_empty() && !is_text(path);
                asked != live && !is_left && !(self.quantities && quantity::same(asked, live))
            }
            (asked, live) => asked != live,
        }
    }

    fn objects(
        self,
        asked: &Map<String, Value>,
        live: &Map<String, Value>,
        path: &mut Vec<String>,
    ) -> bool {
        for (key, value) in asked {
            path.push(key.clone());
            let of_key = Self {
                whole: self.whole || WHOLE.contains(&key.as_str()),
                quantities: self.quantities || QUANTITIES.contains(&key.as_str()),
            };
            if of_key.values(value, live.get(key), path) {
                return true;
            }
            path.pop();
        }
        let added = live
            .iter()
            .find(|(key, value)| self.whole && !asked.contains_key(*key) && is_missed(value, path));
        if let Some((key, _)) = added {
            path.push(key.clone());
        }
        added.is_some()
    }

    fn lists(self, asked: &[Value], live: &[Value], path: &mut Vec<String>) -> bool {
        let field = path.last().map(String::as_str);
        let named = NAMED.iter().find(|(list, _)| Some(*list) == field);
        if let Some((_, keys)) = named.filter(|_| asked.iter().all(Value::is_object)) {
            return asked.iter().any(|item| {
                let name = name_of(item, keys);
                let other = live.iter().find(|other| name_of(other, keys) == name);
                path.push(name.join("/"));
                let differs = self.values(item, other, path);
                if !differs {
                    path.pop();
                }
                differs
            });
        }
        if asked.len() != live.len() {
            return true;
        }
        asked
            .iter()
            .zip(live)
            .enumerate()
            .any(|(at, (asked, live))| {
                path.push(at.to_string());
                let differs = self.values(asked, Some(live), path);
                if !differs {
                    path.pop();
                }
                differs
            })
    }
}

/// What tells an item from the others of its list.
fn name_of(item: &Value, keys: &[&str]) -> Vec<String> {
    let names = keys.iter().filter_map(|key| match item.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => (*key == "protocol").then(|| "TCP".to_owned()),
    });
    names.collect()
}

/// Whether a value that was asked for should be seen, since the API server would have written it.
fn is_missed(asked: &Value, path: &[String]) -> bool {
    let is_one_of = |keys: &[&str]| path.last().is_some_and(|key| keys.contains(&key.as_str()));
    match asked {
        Value::Null => false,
        Value::Bool(value) => *value || !is_one_of(&UNWRITTEN),
        Value::Number(number) => !is_unasked(number, path),
        Value::String(text) => !text.is_empty() || is_among_texts(path),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) if fields.is_empty() => is_one_of(&EMPTY_COUNTS),
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let path: Vec<String> = path.iter().chain([key]).cloned().collect();
            is_missed(value, &path)
        }),
    }
}

fn is_unasked(number: &Number, path: &[String]) -> bool {
    let key = path.last().map(String::as_str).unwrap_or_default();
    number.as_f64() == Some(0.0) && ZERO_IS_UNASKED.contains(&key)
}

/// Whether a path leads to a text that may as well be empty.
fn is_text(path: &[String]) -> bool {
    is_among_texts(path) || path.last().is_some_and(|key| key == "value")
}

fn is_among_texts(path: &[String]) -> bool {
    let map = path.len().checked_sub(2).and_then(|at| path.get(at));
    map.is_some_and(|map| TEXTS.contains(&map.as_str()))
}
