use super::*;
use rstest::rstest;
use serde_json::json;

#[rstest]
#[case::defaults(json!({"a": 1}), json!({"a": 1, "b": 2}))]
#[case::null(json!({"creationTimestamp": null}), json!({}))]
#[case::empty(json!({"resources": {}, "args": [], "schedulerName": ""}), json!({"schedulerName": "default"}))]
#[case::unwritten(json!({"volumeMounts": [{"mountPath": "/a", "readOnly": false}]}),
                  json!({"volumeMounts": [{"mountPath": "/a"}]}))]
#[case::zero_gets_a_default(json!({"livenessProbe": {"periodSeconds": 0}}),
                            json!({"livenessProbe": {"periodSeconds": 10}}))]
#[case::quantities(json!({"limits": {"cpu": "0.5", "memory": "1024Mi"}}),
                   json!({"limits": {"cpu": "500m", "memory": "1Gi"}}))]
#[case::another_container(json!({"containers": [{"name": "a"}]}),
                          json!({"containers": [{"name": "sidecar"}, {"name": "a"}]}))]
#[case::another_variable(json!({"env": [{"name": "A", "value": "1"}]}),
                         json!({"env": [{"name": "A", "value": "1"}, {"name": "B"}]}))]
#[case::protocol(json!({"ports": [{"containerPort": 1}]}),
                 json!({"ports": [{"containerPort": 1, "protocol": "TCP"}]}))]
#[case::others_labels(json!({"labels": {"a": "1"}}), json!({"labels": {"a": "1", "b": "2"}}))]
#[case::numbers(json!({"a": 1}), json!({"a": 1.0}))]
fn what_others_add_is_no_difference(#[case] asked: Value, #[case] live: Value) {
    assert_eq!(difference(&asked, &live), None);
}

#[rstest]
#[case(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), "a.b")]
#[case(json!({"a": {"b": 1}}), json!({}), "a")]
#[case(json!({"containers": [{"name": "c", "image": "one"}]}),
       json!({"containers": [{"name": "c", "image": "two"}]}), "containers.c.image")]
#[case(json!({"containers": [{"name": "c"}]}), json!({"containers": []}), "containers.c")]
#[case::of_another_length(json!({"args": ["a"]}), json!({"args": ["a", "b"]}), "args")]
#[case(json!({"args": ["a", "b"]}), json!({"args": ["a", "c"]}), "args.1")]
#[case::whole(json!({"nodeSelector": {"a": "1"}}), json!({"nodeSelector": {"a": "1", "b": "2"}}),
              "nodeSelector.b")]
#[case::all_namespaces(json!({"namespaceSelector": {}}),
                       json!({"namespaceSelector": {"matchLabels": {"a": "1"}}}),
                       "namespaceSelector.matchLabels")]
#[case::security(json!({"securityContext": {"allowPrivilegeEscalation": false}}), json!({}),
                 "securityContext")]
#[case::user_zero(json!({"securityContext": {"runAsUser": 0}}),
                  json!({"securityContext": {"runAsUser": 7}}), "securityContext.runAsUser")]
#[case::volume(json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
               json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "volumes.v.emptyDir")]
#[case::switched_on(json!({"hostNetwork": false}), json!({"hostNetwork": true}), "hostNetwork")]
#[case::emptied(json!({"env": [{"name": "A", "value": ""}]}),
                json!({"env": [{"name": "A", "value": "1"}]}), "env.A.value")]
#[case::annotation(json!({"annotations": {"olm.targetNamespaces": ""}}), json!({"annotations": {}}),
                   "annotations.olm.targetNamespaces")]
#[case::no_quantity(json!({"value": "1"}), json!({"value": "1000m"}), "value")]
#[case::port(json!({"ports": [{"port": 443, "targetPort": 1}]}),
             json!({"ports": [{"port": 443, "targetPort": 2, "protocol": "TCP"}]}),
             "ports.443/TCP.targetPort")]
fn what_was_changed_is_found(#[case] asked: Value, #[case] live: Value, #[case] path: &str) {
    assert_eq!(difference(&asked, &live).as_deref(), Some(path));
}
