//! Changes to the Pods of a Deployment, on JSON as it was written.

use serde_json::{Map, Value, json};

use super::object::{list, map};

/// Fields whose values are texts under keys that users choose.
const TEXT_MAPS: [&str; 4] = ["annotations", "labels", "matchLabels", "nodeSelector"];
/// Fields that hold quantities under the names of resources.
const QUANTITY_MAPS: [&str; 2] = ["limits", "requests"];

/// The Pods' spec in the spec of a Deployment.
pub(super) fn pod_spec(spec: &mut Map<String, Value>) -> &mut Map<String, Value> {
    map(map(spec, "template"), "spec")
}

/// The Pods' annotations in the spec of a Deployment.
pub(super) fn pod_annotations(spec: &mut Map<String, Value>) -> &mut Map<String, Value> {
    map(map(map(spec, "template"), "metadata"), "annotations")
}

/// The containers of a Pod's spec, without those that only run at its start.
pub(super) fn containers(
    pod: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    let containers = list(pod, "containers").iter_mut();
    containers.filter_map(Value::as_object_mut)
}

/// Sets environment variables of a container: those that exist in their place, others at the end. Each
/// name is left once, with its last value: that is the one that counts, and server-side apply takes no
/// name twice.
pub(super) fn set_env(container: &mut Map<String, Value>, variables: &[Value]) {
    let env = list(container, "env");
    let mut merged: Vec<Value> = Vec::new();
    for variable in env.iter().chain(variables) {
        put(&mut merged, variable.clone(), |other| {
            other.get("name") == variable.get("name")
        });
    }
    *env = merged;
    if env.is_empty() {
        container.shift_remove("env");
    }
}

/// Puts an item in the place of the first that it stands for, or at the end.
pub(super) fn put(items: &mut Vec<Value>, item: Value, stands_for: impl Fn(&Value) -> bool) {
    match items.iter_mut().find(|other| stands_for(other)) {
        Some(place) => *place = item,
        None => items.push(item),
    }
}

/// Writes the spec of a Deployment as an API server would read it: `null` is nothing, or an empty text
/// where texts are, and a number is a quantity where quantities are.
pub(super) fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            for (key, value) in fields.iter_mut() {
                if TEXT_MAPS.contains(&key.as_str()) {
                    tidy_text(value);
                    continue;
                }
                if QUANTITY_MAPS.contains(&key.as_str()) {
                    tidy_quantities(value);
                }
                tidy(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn tidy_text(texts: &mut Value) {
    let texts = texts.as_object_mut().into_iter().flatten();
    for (_, text) in texts.filter(|(_, text)| text.is_null()) {
        *text = json!("");
    }
}

fn tidy_quantities(quantities: &mut Value) {
    for (_, quantity) in quantities.as_object_mut().into_iter().flatten() {
        if let Value::Number(number) = quantity {
            *quantity = json!(number.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn a_variable_is_set_where_it_stands_and_a_new_one_at_the_end() {
        let mut container = container(&json!({"env": [
            {"name": "A", "value": "1"}, {"name": "B", "value": "2"},
        ]}));
        set_env(
            &mut container,
            &[
                json!({"name": "C", "value": "3"}),
                json!({"name": "A", "value": "4"}),
            ],
        );
        assert_eq!(
            container["env"],
            json!([
                {"name": "A", "value": "4"},
                {"name": "B", "value": "2"},
                {"name": "C", "value": "3"},
            ])
        );
    }

    #[test]
    fn a_variable_that_is_there_twice_keeps_its_last_value() {
        let mut container = container(&json!({"env": [
            {"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"},
        ]}));
        set_env(&mut container, &[]);
        assert_eq!(
            container["env"],
            json!([{"name": "A", "value": "2"}, {"name": "B"}])
        );
    }

    #[test]
    fn a_container_without_variables_gets_no_empty_list() {
        let mut container = container(&json!({"name": "c", "env": null}));
        set_env(&mut container, &[]);
        assert_eq!(Value::Object(container), json!({"name": "c"}));
    }

    #[test]
    fn null_is_nothing_but_an_empty_text_among_texts() {
        let mut spec = json!({
            "strategy": null,
            "template": {
                "metadata": {"creationTimestamp": null, "labels": {"a": null}},
                "spec": {"nodeSelector": {"infra": null}, "volumes": [{"name": "v", "emptyDir": null}]},
            },
        });
        tidy(&mut spec);
        assert_eq!(
            spec,
            json!({
                "template": {
                    "metadata": {"labels": {"a": ""}},
                    "spec": {"nodeSelector": {"infra": ""}, "volumes": [{"name": "v"}]},
                },
            })
        );
    }

    #[test]
    fn a_number_among_quantities_becomes_one() {
        let mut spec =
            json!({"resources": {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": 0.5}}});
        tidy(&mut spec);
        assert_eq!(
            spec,
            json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "0.5"}}})
        );
    }
}
