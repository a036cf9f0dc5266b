//! Fields that the cluster's API does not know.
//!
//! Bundles are written for many versions of Kubernetes, and by hand. What a version does not know, a
//! plain create drops with a warning; server-side apply refuses the whole object. We do what create does.

use serde_json::Value;

/// How many fields are left out at a time.
pub(super) const MOST: usize = 100;

/// How the API server says it: `.spec.ports[port=80,protocol="TCP"].shiny: field not declared in schema`.
const COMPLAINT: &str = ": field not declared in schema";

/// Takes out of an object the fields that a refusal names as unknown, and gives their paths.
pub(super) fn remove(object: &mut Value, refusal: &str) -> Vec<String> {
    let mut removed = Vec::new();
    for (at, _) in refusal.match_indices(COMPLAINT).take(MOST) {
        let before = refusal.get(..at).unwrap_or_default();
        let Some(path) = path_at_the_end(before) else {
            continue;
        };
        if let Some(steps) = steps(path)
            && take(object, &steps)
        {
            removed.push(path.trim_start_matches('.').to_owned());
        }
    }
    removed
}

/// The path that a text ends with. Values in brackets may hold anything, and are in quotes.
fn path_at_the_end(text: &str) -> Option<&str> {
    let starts = text.match_indices('.').map(|(at, _)| at);
    // The first dot from which the rest of the text is one path.
    starts
        .filter(|at| {
            let before = text.get(..*at).and_then(|before| before.chars().last());
            before.is_none_or(char::is_whitespace)
        })
        .filter_map(|at| text.get(at..))
        .find(|path| steps(path).is_some())
}

/// One step from a value to one in it.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// The item of a list that has these fields.
    Item(Vec<(String, Value)>),
    Index(usize),
}

/// A path as steps, or `None` if it is no path.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            if name.is_empty() || name.contains(char::is_whitespace) {
                return None;
            }
            steps.push(Step::Field(name.to_owned()));
            rest = after;
        } else {
            let inside = rest.strip_prefix('[')?;
            let end = closing_bracket(inside)?;
            let (inside, after) = inside.split_at(end);
            steps.push(item(inside)?);
            rest = after.strip_prefix(']')?;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

fn closing_bracket(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// `0`, or `port=80,protocol="TCP"`.
fn item(text: &str) -> Option<Step> {
    if let Ok(index) = text.parse() {
        return Some(Step::Index(index));
    }
    let mut keys = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let value = values.next()?.ok()?;
        rest = after.get(values.byte_offset()..)?.trim_start_matches(',');
        keys.push((name.to_owned(), value));
    }
    Some(Step::Item(keys))
}

/// Takes the field at the end of the path out; says whether it was there.
fn take(value: &mut Value, steps: &[Step]) -> bool {
    let Some((first, rest)) = steps.split_first() else {
        return false;
    };
    match (first, value) {
        (Step::Field(name), Value::Object(fields)) if rest.is_empty() => {
            fields.shift_remove(name).is_some()
        }
        (Step::Field(name), Value::Object(fields)) => {
            fields.get_mut(name).is_some_and(|field| take(field, rest))
        }
        (Step::Index(index), Value::Array(items)) => {
            items.get_mut(*index).is_some_and(|item| take(item, rest))
        }
        (Step::Item(keys), Value::Array(items)) => {
            // Every one that fits: which of them was meant cannot be told.
            let fitting = items.iter_mut().filter(|item| is_item(item, keys));
            fitting
                .filter_map(|item| take(item, rest).then_some(()))
                .count()
                > 0
        }
        _ => false,
    }
}

/// Whether an item has these keys. A key that it does not have has its default value, which we do not
/// know.
fn is_item(item: &Value, keys: &[(String, Value)]) -> bool {
    let fits = |(name, value): &(String, Value)| item.get(name).is_none_or(|own| own == value);
    keys.iter().all(fits) && keys.iter().any(|(name, _)| item.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_taken_out_wherever_they_are() {
        let mut service = json!({"metadata": {"name": "s"}, "shiny": 1, "spec": {
            "ports": [{"port": 80, "shiny": true}, {"port": 81, "protocol": "UDP", "shiny": true}],
            "shiny": {"a": 1},
        }});
        let refusal = "failed to create typed patch object (ns/s; /v1, Kind=Service): errors:\n  .shiny: field not declared in schema\n  .spec.shiny: field not declared in schema\n  .spec.ports[port=80,protocol=\"TCP\"].shiny: field not declared in schema";
        assert_eq!(
            remove(&mut service, refusal),
            [
                "shiny",
                "spec.shiny",
                "spec.ports[port=80,protocol=\"TCP\"].shiny"
            ]
        );
        assert_eq!(
            service,
            json!({"metadata": {"name": "s"}, "spec": {
                "ports": [{"port": 80}, {"port": 81, "protocol": "UDP", "shiny": true}],
            }})
        );
    }

    #[test]
    fn names_with_brackets_and_dots_in_quotes_are_one_step() {
        let mut object = json!({"list": [{"name": "a].b\"", "x": 1}]});
        let refusal = ".list[name=\"a].b\\\"\"].x: field not declared in schema";
        assert_eq!(remove(&mut object, refusal).len(), 1);
        assert_eq!(object, json!({"list": [{"name": "a].b\""}]}));
    }

    #[test]
    fn other_refusals_change_nothing() {
        let mut object = json!({"spec": {"a": 1}});
        for refusal in [
            "",
            "spec.a: Invalid value: 1",
            ".spec.b: field not declared in schema",
            ".: field not declared in schema",
            "[: field not declared in schema",
            ".spec[a=]: field not declared in schema",
        ] {
            assert_eq!(
                remove(&mut object, refusal),
                Vec::<String>::new(),
                "{refusal}"
            );
        }
        assert_eq!(object, json!({"spec": {"a": 1}}));
    }
}
