//! An operator with everything, for tests.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};

use super::certificates::{self, ServingCertificates};
use super::observe::Seen;
use super::{Desired, Request, desired};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::SubscriptionConfig;

pub(super) fn time(text: &str) -> Time {
    serde_json::from_value(json!(text)).unwrap()
}

pub(super) fn now() -> Time {
    time("2026-01-01T00:00:00Z")
}

/// An operator with a Deployment `op` that serves an API, a webhook of each kind, and a Deployment
/// `helper` that serves nothing.
pub(super) fn csv() -> ClusterServiceVersion {
    csv_with(&json!({
        "apiservicedefinitions": {"owned": [
            {"name": "foos", "group": "api.example.com", "version": "v1", "kind": "Foo",
             "deploymentName": "op", "containerPort": 5443},
        ]},
        "webhookdefinitions": [
            {"generateName": "v.example.com", "type": "ValidatingAdmissionWebhook",
             "deploymentName": "op", "containerPort": 9443, "targetPort": "hooks",
             "sideEffects": "None", "admissionReviewVersions": ["v1"], "webhookPath": "/validate",
             "failurePolicy": "Fail", "timeoutSeconds": 5,
             "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"],
                        "operations": ["CREATE"], "resources": ["bars"]}]},
            {"generateName": "m.example.com", "type": "MutatingAdmissionWebhook",
             "deploymentName": "op", "sideEffects": "None", "admissionReviewVersions": ["v1"],
             "reinvocationPolicy": "IfNeeded"},
            {"generateName": "c.example.com", "type": "ConversionWebhook",
             "deploymentName": "op", "sideEffects": "None", "admissionReviewVersions": ["v1"],
             "webhookPath": "/convert", "conversionCRDs": ["bars.example.com"]},
        ],
        "customresourcedefinitions": {"owned": [
            {"name": "bars.example.com", "version": "v1", "kind": "Bar"},
        ]},
        "installModes": [
            {"type": "OwnNamespace", "supported": false},
            {"type": "AllNamespaces", "supported": true},
        ],
    }))
}

/// The same operator with other fields in its spec.
pub(super) fn csv_with(more: &Value) -> ClusterServiceVersion {
    let mut csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": "op.v1",
            "namespace": "home",
            "uid": "csv-uid",
            "annotations": {
                "olm.operatorGroup": "group",
                "olm.operatorNamespace": "home",
                "olm.targetNamespaces": "",
                "alm-examples": "[]",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
            },
        },
        "spec": {
            "displayName": "op",
            "install": {"strategy": "deployment", "spec": {"deployments": [
                {"name": "op", "label": {"app": "op"}, "spec": deployment_spec("op", "op-account")},
                {"name": "helper", "spec": deployment_spec("helper", "")},
            ]}},
        },
    });
    let spec = csv["spec"].as_object_mut().unwrap();
    spec.extend(more.as_object().cloned().unwrap());
    serde_json::from_value(csv).unwrap()
}

pub(super) fn deployment_spec(name: &str, account: &str) -> Value {
    json!({
        "replicas": 1,
        "selector": {"matchLabels": {"name": name}},
        "template": {
            "metadata": {"labels": {"name": name}, "annotations": {"own": "1", "alm-examples": "mine"}},
            "spec": {
                "serviceAccountName": account,
                "initContainers": [{"name": "init", "image": "i"}],
                "containers": [
                    {"name": "manager", "image": "m", "env": [
                        {"name": "OPERATOR_CONDITION_NAME", "value": "stale"},
                        {"name": "A", "value": "1"},
                    ]},
                    {"name": "proxy", "image": "p", "resources": {"limits": {"cpu": 1}}},
                ],
            },
        },
    })
}

pub(super) fn group() -> OperatorGroup {
    group_with(&json!({}))
}

pub(super) fn group_with(spec: &Value) -> OperatorGroup {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": "group", "namespace": "home", "uid": "group-uid"},
        "spec": spec,
    }))
    .unwrap()
}

pub(super) fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "bars.example.com"},
        "spec": {"group": "example.com", "conversion": {"strategy": "None"}},
    })
}

/// A cluster that has nothing of the operator but its CRD.
pub(super) fn empty_cluster() -> Seen {
    Seen::new([crd()])
}

/// Nothing was made that could not be written.
pub(super) const NONE: ServingCertificates = ServingCertificates::new();

/// Certificates made just now.
pub(super) fn certificates(csv: &ClusterServiceVersion) -> ServingCertificates {
    let outlook = certificates::look(csv, &Seen::default(), &now());
    certificates::renew(csv, &outlook, &NONE, &now()).unwrap()
}

pub(super) fn install(csv: &ClusterServiceVersion, certificates: &ServingCertificates) -> Desired {
    install_with(csv, certificates, None, &empty_cluster())
}

pub(super) fn install_with(
    csv: &ClusterServiceVersion,
    certificates: &ServingCertificates,
    config: Option<&SubscriptionConfig>,
    seen: &Seen,
) -> Desired {
    // It serves as this one does, and by its own account.
    let older = self::csv();
    desired(&Request {
        csv,
        group: &group(),
        config,
        proxy: &[],
        certificates,
        takes_over: !csv.spec.replaces.is_empty(),
        predecessors: &[&older],
        seen,
    })
    .unwrap()
}

/// What a cluster has after all of it was applied: with what an API server fills in, and CRDs as a whole.
pub(super) fn cluster_after(desired: &Desired) -> Seen {
    Seen::new(desired.objects().map(|object| {
        let mut live = object.clone();
        if live["kind"] == "CustomResourceDefinition" {
            live["spec"]["group"] = json!("example.com");
        }
        fill_in(&mut live);
        if live["kind"] == "Deployment" {
            make_ready(&mut live);
        }
        live
    }))
}

pub(super) fn make_ready(deployment: &mut Value) {
    deployment["metadata"]["generation"] = json!(1);
    deployment["status"] = json!({
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ],
    });
}

/// Fills in defaults as an API server does: fields that were not given, and quantities in its own words.
pub(super) fn fill_in(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let had: Vec<String> = fields.keys().cloned().collect();
            let default = |fields: &mut Map<String, Value>, key: &str, value: Value| {
                fields.entry(key).or_insert(value);
            };
            if had.iter().any(|key| key == "image") {
                default(fields, "imagePullPolicy", json!("IfNotPresent"));
                default(
                    fields,
                    "terminationMessagePath",
                    json!("/dev/termination-log"),
                );
                default(fields, "resources", json!({}));
            }
            if had.iter().any(|key| key == "containers") {
                default(fields, "restartPolicy", json!("Always"));
                default(fields, "securityContext", json!({}));
                default(fields, "dnsPolicy", json!("ClusterFirst"));
            }
            if had
                .iter()
                .any(|key| key == "containerPort" || key == "targetPort")
            {
                default(fields, "protocol", json!("TCP"));
            }
            if had.iter().any(|key| key == "secretName") {
                default(fields, "defaultMode", json!(420));
            }
            if had.iter().any(|key| key == "clientConfig") {
                default(fields, "matchPolicy", json!("Equivalent"));
                default(fields, "objectSelector", json!({}));
            }
            if had.iter().any(|key| key == "operations") {
                default(fields, "scope", json!("*"));
            }
            fields.retain(|key, value| !is_unwritten(key, value));
            for (key, value) in fields.iter_mut() {
                if let (true, Some("1")) = (key == "cpu", value.as_str()) {
                    *value = json!("1000m");
                }
                fill_in(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fill_in),
        _ => {}
    }
}

fn is_unwritten(key: &str, value: &Value) -> bool {
    let is_switch = ["readOnly", "hostNetwork", "tty", "stdin"].contains(&key);
    value.is_null() || (is_switch && *value == json!(false))
}
