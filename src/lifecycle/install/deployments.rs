//! The Deployments of an install strategy.

#[cfg(test)]
mod tests;

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::Request;
use super::certificates::{self, ServingCertificate};
use super::error::InstallError;
use super::object::{hash, home, list, map, owner_labels, owner_reference};
use super::services::{self, Served};
use super::{pod, subscription_config};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::install::DeploymentTemplate;
use crate::api::labels;

/// The variable by which an operator finds its OperatorCondition.
const OPERATOR_CONDITION_NAME: &str = "OPERATOR_CONDITION_NAME";
/// Nobody rolls an operator back, and each old ReplicaSet costs memory everywhere.
const REVISION_HISTORY_LIMIT: i32 = 1;
/// What `kubectl apply` left on the CSV says nothing about Pods, is as long as the CSV itself, and would
/// replace all Pods whenever it changes.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Where certificates appear in containers: the name of the volume, the path, and the names of the files
/// of the certificate and its key. The first is what API servers made with Kubernetes' library look for,
/// the second what operators made with controller-runtime do.
const MOUNTS: [(&str, &str, &str, &str); 2] = [
    (
        "apiservice-cert",
        "/apiserver.local.config/certificates",
        "apiserver.crt",
        "apiserver.key",
    ),
    (
        "webhook-cert",
        "/tmp/k8s-webhook-server/serving-certs",
        "tls.crt",
        "tls.key",
    ),
];

/// The Deployments of the strategy.
pub fn deployments(request: &Request<'_>) -> Result<Vec<Value>, InstallError> {
    let serving = services::serving(request.csv)?;
    let templates = request.csv.spec.install.spec.deployments.iter();
    templates
        .map(|template| {
            let served = serving
                .iter()
                .find(|served| served.deployment == template.name);
            deployment(request, template, served)
        })
        .collect()
}

fn deployment(
    request: &Request<'_>,
    template: &DeploymentTemplate,
    served: Option<&Served>,
) -> Result<Value, InstallError> {
    let csv = request.csv;
    let mut spec = Value::Object(template.spec.0.clone());
    pod::tidy(&mut spec);
    if let (Some(spec), Some(served)) = (spec.as_object_mut(), served) {
        let certificate = request.certificates.get(&served.deployment);
        serve(spec, served, certificate);
    }
    if let Some(spec) = spec.as_object_mut() {
        annotate(spec, csv);
    }
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": template.name,
            "namespace": home(csv),
            "labels": deployment_labels(csv, template),
            "ownerReferences": [owner_reference(csv)],
        },
        "spec": spec,
    });
    subscription_config::merge(&mut deployment, request.config, request.proxy)?;
    let condition = json!({ "name": OPERATOR_CONDITION_NAME, "value": csv.name_any() });
    if let Some(fields) = deployment.as_object_mut() {
        let spec = map(fields, "spec");
        for container in pod::containers(pod::pod_spec(spec)) {
            pod::set_env(container, std::slice::from_ref(&condition));
        }
        let limit = json!(REVISION_HISTORY_LIMIT);
        spec.insert("revisionHistoryLimit".to_owned(), limit);
        let hash = hash(&Value::Object(spec.clone()));
        let labels = map(map(fields, "metadata"), "labels");
        labels.insert(labels::DEPLOYMENT_SPEC_HASH.to_owned(), json!(hash));
    }
    Ok(deployment)
}

/// The labels that the strategy asks for, and by which the Deployment is found to be the CSV's.
fn deployment_labels(
    csv: &ClusterServiceVersion,
    template: &DeploymentTemplate,
) -> Map<String, Value> {
    let asked = template.label.iter();
    let mut labels: Map<_, _> = asked
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    labels.extend(owner_labels(csv));
    labels
}

/// Puts the CSV's annotations on Pods, where operators read what their OperatorGroup says.
fn annotate(spec: &mut Map<String, Value>, csv: &ClusterServiceVersion) {
    let annotations = csv.annotations().iter();
    let annotations: Vec<_> = annotations
        .filter(|(key, _)| *key != LAST_APPLIED)
        .collect();
    if annotations.is_empty() {
        return;
    }
    let own = pod::pod_annotations(spec);
    for (key, value) in annotations {
        own.insert(key.clone(), json!(value));
    }
}

/// Lets Pods serve with their certificate. Its CA's hash among the annotations replaces all Pods when
/// the certificate is renewed: not every operator reads its files again.
fn serve(spec: &mut Map<String, Value>, served: &Served, certificate: Option<&ServingCertificate>) {
    let pod = pod::pod_spec(spec);
    pod.insert(
        "serviceAccountName".to_owned(),
        json!(served.service_account),
    );
    for (volume, path, certificate, key) in MOUNTS {
        let source = json!({
            "name": volume,
            "secret": {
                "secretName": served.secret(),
                "items": [
                    { "key": certificates::CERTIFICATE, "path": certificate },
                    { "key": certificates::KEY, "path": key },
                ],
            },
        });
        pod::put(list(pod, "volumes"), source, |other| {
            other["name"] == volume
        });
        for container in pod::containers(pod) {
            mount(list(container, "volumeMounts"), volume, path);
        }
    }
    if let Some(certificate) = certificate {
        let hash = json!(certificate.authority_hash());
        pod::pod_annotations(spec).insert(labels::CA_HASH.to_owned(), hash);
    }
}

/// Mounts a volume, unless the container does so itself; what is mounted at the path gives way.
fn mount(mounts: &mut Vec<Value>, volume: &str, path: &str) {
    let mount = json!({ "name": volume, "mountPath": path });
    let by_itself = mounts
        .iter()
        .position(|other| other["name"] == volume || other["mountPath"] == path);
    match by_itself.and_then(|at| mounts.get_mut(at)) {
        Some(other) if other["name"] == volume => {}
        Some(other) => *other = mount,
        None => mounts.push(mount),
    }
}
