//! What is said in the status of each kind: the fields that its CRD has, filled as if all were well.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

use crate::statement::{Statement, conditions};

/// What every message begins with.
const HONESTLY: &str = "A stand-in says so, and nothing runs behind it";

/// The status to write, if it is news. What is there besides is left alone.
pub(crate) fn status(operator: &str, object: &DynamicObject, now: Timestamp) -> Option<Value> {
    let before = &object.data["status"];
    let mut wanted = fields(object);
    let told: &[&str] = match kind(object) {
        // These say how they are in other words.
        "VmGroup" | "EtcdBackup" | "EtcdRestore" | "postgresql" => &[],
        "EtcdCluster" | "Prometheus" | "Alertmanager" => &["Available"],
        "HarborCluster" => &[
            "Ready",
            "CacheReady",
            "DatabaseReady",
            "StorageReady",
            "ServiceReady",
            "ConfigurationReady",
        ],
        _ => &["Ready"],
    };
    if !told.is_empty() {
        let message = format!("{HONESTLY} ({operator})");
        let statements: Vec<Statement> = told.iter().map(|type_| said(type_, &message)).collect();
        let conditions = conditions(&statements, &before["conditions"], now);
        wanted.insert("conditions".to_owned(), conditions);
    }
    let is_told = wanted.iter().all(|(field, value)| before[field] == *value);
    (!is_told).then_some(Value::Object(wanted))
}

fn said(type_: &'static str, message: &str) -> Statement {
    Statement {
        type_,
        holds: true,
        reason: "StandIn",
        message: message.to_owned(),
    }
}

fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |it| it.kind.as_str())
}

/// Everything but conditions.
fn fields(object: &DynamicObject) -> Map<String, Value> {
    let spec = &object.data["spec"];
    let name = object.name_any();
    let count = |field: &str, otherwise: u64| spec[field].as_u64().unwrap_or(otherwise);
    let members = |count: u64| -> Vec<String> {
        // As many as anybody can read; specs of real ones have bounds of their own.
        (0..count.min(100))
            .map(|at| format!("{name}-{at}"))
            .collect()
    };
    let fields = match kind(object) {
        "VmGroup" => {
            let replicas = count("replicas", 0);
            json!({
                "phase": "RUNNING", "currentReplicas": replicas, "desiredReplicas": replicas,
                "lastMessage": HONESTLY,
            })
        }
        "EtcdCluster" => json!({
            "phase": "Running", "reason": HONESTLY, "size": count("size", 1),
            "members": {"ready": members(count("size", 1))},
            "currentVersion": spec["version"].as_str().unwrap_or("3.2.13"),
            "serviceName": format!("{name}-client"), "clientPort": 2379,
        }),
        // Nobody must believe in a backup that is not there.
        "EtcdBackup" | "EtcdRestore" => json!({"succeeded": false, "Reason": HONESTLY}),
        "HarborCluster" | "Harbor" => json!({
            "status": "healthy", "observedGeneration": object.metadata.generation,
            "operator": {"controllerName": "stand-in"},
        }),
        "LoadBalancer" => json!({
            // An address that is only for examples.
            "phase": "Ready", "address": "203.0.113.10",
            "healthyBackends": spec["backends"].as_array().map_or(0, Vec::len),
        }),
        "Memcached" => json!({"nodes": members(count("size", 1))}),
        "MySql" => {
            let namespace = object.namespace().unwrap_or_default();
            json!({
                "phase": "Running", "readyReplicas": count("replicas", 1),
                "endpoint": format!("{name}.{namespace}.svc:3306"),
            })
        }
        "postgresql" => json!({"PostgresClusterStatus": "Running"}),
        "Tenant" => json!({"currentState": "Initialized", "availableReplicas": servers(spec)}),
        "Prometheus" | "Alertmanager" => {
            let replicas = count("replicas", 1);
            json!({
                "paused": false, "replicas": replicas, "updatedReplicas": replicas,
                "availableReplicas": replicas, "unavailableReplicas": 0,
            })
        }
        _ => json!({}),
    };
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn servers(spec: &Value) -> u64 {
    let pools = spec["pools"].as_array().into_iter().flatten();
    let servers = pools.map(|pool| pool["servers"].as_u64().unwrap_or_default());
    servers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, spec: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "example.com/v1", "kind": kind,
            "metadata": {"name": "one", "namespace": "here"}, "spec": spec,
        }))
        .expect("an object")
    }

    fn told(kind: &str, spec: &Value) -> Value {
        status("some-operator", &object(kind, spec), Timestamp::UNIX_EPOCH).expect("news")
    }

    #[test]
    fn a_group_of_machines_is_as_large_as_it_should_be() {
        let status = told("VmGroup", &json!({"replicas": 3}));
        assert_eq!(status["phase"], "RUNNING");
        assert_eq!(
            (&status["currentReplicas"], &status["desiredReplicas"]),
            (&json!(3), &json!(3))
        );
        assert!(status.get("conditions").is_none());
    }

    #[test]
    fn a_harbor_is_healthy_in_all_its_parts_and_says_who_says_so() {
        let status = told("HarborCluster", &json!({}));
        assert_eq!(status["status"], "healthy");
        let conditions = status["conditions"].as_array().expect("conditions");
        assert_eq!(conditions.len(), 6);
        let is_honest = |it: &Value| {
            it["message"]
                .as_str()
                .is_some_and(|it| it.contains("stand-in"))
        };
        assert!(
            conditions
                .iter()
                .all(|it| it["status"] == "True" && is_honest(it))
        );
    }

    #[test]
    fn a_kind_that_nobody_knows_is_ready() {
        assert_eq!(told("Burrow", &json!({}))["conditions"][0]["type"], "Ready");
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let mut object = object("Memcached", &json!({"size": 2}));
        let first = status("it", &object, Timestamp::UNIX_EPOCH).expect("news");
        assert_eq!(first["nodes"], json!(["one-0", "one-1"]));
        object.data["status"] = first;
        object.data["status"]["byOthers"] = json!(1);
        let later = Timestamp::from_second(9).expect("a time");
        assert!(status("it", &object, later).is_none());
        object.data["spec"]["size"] = json!(1);
        assert!(status("it", &object, later).is_some());
    }

    #[test]
    fn a_spec_of_any_shape_is_no_trouble() {
        for spec in [
            json!(null),
            json!([]),
            json!({"size": -1, "replicas": "x", "pools": 3}),
        ] {
            for kind in [
                "VmGroup",
                "EtcdCluster",
                "MySql",
                "Tenant",
                "LoadBalancer",
                "Prometheus",
            ] {
                told(kind, &spec);
            }
        }
    }
}
