//! Objects that OLM wrote, on their way to us.
//!
//! Server-side apply removes a value when its manager stops to want it. Values that OLM wrote have
//! OLM's managers, which never will: without more, whatever a new version of an operator no longer has
//! would stay for ever. So the fields of OLM's managers become ours before the first apply.

use serde_json::{Map, Value, json};

use super::Writer;

/// The managers that OLM wrote by what is ours now. Its two halves are called like their binaries:
/// `catalog` carried out plans, with the help of two labellers; `olm` ran what they brought, and
/// wrote Services by a name of their own.
fn predecessors(writer: Writer) -> &'static [&'static str] {
    match writer {
        Writer::Plan => &["catalog", "olm-ownership-labeller", "olm-hash-labeller"],
        Writer::Lifecycle => &["olm", "olm.install"],
    }
}

/// A JSON patch that makes the fields of OLM's managers those of a writer of ours, if there are any. It
/// only works on the object as it was read.
pub(super) fn patch(live: &Value, writer: Writer, api_version: &str) -> Option<Value> {
    let manager = writer.field_manager();
    let entries = live.pointer("/metadata/managedFields")?.as_array()?;
    let version = live.pointer("/metadata/resourceVersion")?;
    let (olm, others): (Vec<&Value>, Vec<&Value>) = entries
        .iter()
        .partition(|entry| is_of_olm(entry, writer) && text(entry, "apiVersion") == api_version);
    if olm.is_empty() {
        return None;
    }
    let mut fields = Value::Object(Map::new());
    let mut kept = Vec::new();
    for entry in others {
        if text(entry, "manager") == manager
            && text(entry, "operation") == "Apply"
            && text(entry, "subresource").is_empty()
        {
            unite(&mut fields, entry.get("fieldsV1"));
        } else {
            kept.push(entry.clone());
        }
    }
    for entry in &olm {
        unite(&mut fields, entry.get("fieldsV1"));
    }
    let time = olm.iter().find_map(|entry| entry.get("time"));
    kept.push(json!({
        "manager": manager, "operation": "Apply", "apiVersion": api_version,
        "fieldsType": "FieldsV1", "fieldsV1": fields, "time": time,
    }));
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": kept},
        // Refused with a conflict if somebody wrote the object meanwhile.
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]))
}

/// Whether an entry of managedFields is of a manager that this writer takes over from.
pub(super) fn is_of_olm(entry: &Value, writer: Writer) -> bool {
    predecessors(writer).contains(&text(entry, "manager")) && text(entry, "subresource").is_empty()
}

fn text<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Adds one set of fields to another. A set is a tree of names, and so is the union of two.
fn unite(set: &mut Value, other: Option<&Value>) {
    let (Some(set), Some(Value::Object(other))) = (set.as_object_mut(), other) else {
        return;
    };
    for (name, below) in other {
        let own = set
            .entry(name.clone())
            .or_insert_with(|| Value::Object(Map::new()));
        unite(own, Some(below));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"resourceVersion": "7", "managedFields": entries}})
    }

    #[test]
    fn the_fields_of_olm_and_ours_become_one_set() {
        let live = object(&[
            entry("kubectl", "Update", &json!({"f:data": {"f:theirs": {}}})),
            entry(
                "catalog",
                "Update",
                &json!({"f:data": {".": {}, "f:old": {}}}),
            ),
            entry(
                "olm-ownership-labeller",
                "Apply",
                &json!({"f:metadata": {"f:labels": {"f:a": {}}}}),
            ),
            entry("chandler-plan", "Apply", &json!({"f:data": {"f:ours": {}}})),
        ]);
        let patch = patch(&live, Writer::Plan, "v1").unwrap();
        let managers = patch[0]["value"].as_array().unwrap();
        assert_eq!(managers.len(), 2);
        assert_eq!(managers[0]["manager"], "kubectl");
        assert_eq!(
            managers[1]["fieldsV1"],
            json!({
                "f:data": {"f:ours": {}, ".": {}, "f:old": {}},
                "f:metadata": {"f:labels": {"f:a": {}}},
            })
        );
        assert_eq!(managers[1]["operation"], "Apply");
        assert_eq!(patch[1]["value"], "7");
    }

    #[test]
    fn an_object_that_olm_never_wrote_is_left_alone() {
        let live = object(&[
            entry("kubectl", "Update", &json!({})),
            entry("chandler-plan", "Apply", &json!({})),
            entry("olm", "Update", &json!({"f:spec": {"f:conversion": {}}})),
        ]);
        assert_eq!(patch(&live, Writer::Plan, "v1"), None);
    }

    #[test]
    fn each_writer_follows_another_half_of_olm() {
        let live = object(&[
            entry("catalog", "Update", &json!({"f:a": {}})),
            entry("olm", "Update", &json!({"f:b": {}})),
        ]);
        for (writer, fields) in [
            (Writer::Plan, json!({"f:a": {}})),
            (Writer::Lifecycle, json!({"f:b": {}})),
        ] {
            let patch = patch(&live, writer, "v1").unwrap();
            let managers = patch[0]["value"].as_array().unwrap();
            assert_eq!(managers[1]["manager"], writer.field_manager());
            assert_eq!(managers[1]["fieldsV1"], fields);
        }
    }

    #[test]
    fn what_olm_wrote_in_another_version_or_subresource_is_left_alone() {
        let mut status = entry("catalog", "Update", &json!({"f:status": {}}));
        status["subresource"] = json!("status");
        let mut old = entry("catalog", "Update", &json!({"f:spec": {}}));
        old["apiVersion"] = json!("v1beta1");
        assert_eq!(patch(&object(&[status, old]), Writer::Plan, "v1"), None);
    }
}
