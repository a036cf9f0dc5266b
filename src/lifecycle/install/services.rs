//! The Services in front of Deployments that others call, and the rights that go with being called.
//!
//! A Deployment is called when a webhook or an owned APIService names it. It gets one Service for all of
//! them, one certificate, and rights to read that certificate and to ask the API server who calls.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::error::InstallError;
use super::object::{home, owner_labels, owner_reference, seal};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::apis::ApiServiceDescription;
use crate::api::cluster_service_version::install::{DeploymentTemplate, STRATEGY_DEPLOYMENT};
use crate::api::cluster_service_version::webhook::{DEFAULT_CONTAINER_PORT, WebhookDefinition};
use crate::api::hash::base36_sha256;

/// Kubernetes' limit for the name of a Service.
const SERVICE_NAME_LIMIT: usize = 63;
/// The ServiceAccount of Pods that name none.
const DEFAULT_SERVICE_ACCOUNT: &str = "default";
/// Where the API server keeps what one needs to know who calls.
pub(super) const KUBE_SYSTEM: &str = "kube-system";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A Deployment that others call.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// Its name.
    pub deployment: String,
    /// The Service in front of it.
    pub service: String,
    /// The ports of the Service.
    pub ports: Vec<Value>,
    /// The ServiceAccount of its Pods.
    pub service_account: String,
}

impl Served {
    /// Name of the Secret of the certificate, and of the Role and RoleBinding to read it.
    pub fn secret(&self) -> String {
        secret_name(&self.service)
    }
}

/// Name of the Service in front of a Deployment.
///
/// A Deployment's name may have dots and may be longer than a Service's: dots become hyphens, and a
/// name that is too long is cut and gets a hash. OLM has two names for a Deployment with dots, and a
/// Service of the one does not answer calls to the other.
pub fn service_name(deployment: &str) -> String {
    let name = format!("{}-service", deployment.replace('.', "-"));
    if name.len() <= SERVICE_NAME_LIMIT {
        return name;
    }
    let hash: String = base36_sha256(deployment.as_bytes())
        .chars()
        .take(8)
        .collect();
    let room = SERVICE_NAME_LIMIT - "--service".len() - hash.len();
    let start = name[..name.floor_char_boundary(room)].trim_end_matches('-');
    format!("{start}-{hash}-service")
}

/// Name of the Secret of a Service's certificate.
pub fn secret_name(service: &str) -> String {
    format!("{service}-cert")
}

/// Name of the ClusterRoleBinding by which a server may ask who calls. OLM leaves the namespace out, and
/// two operators whose Deployments are called the same then take it from each other.
fn auth_delegator_name(service: &str, namespace: &str) -> String {
    format!("{namespace}:{service}-system:auth-delegator")
}

/// Name of the RoleBinding in `kube-system` by which a server may read whose certificates to trust.
fn auth_reader_name(service: &str, namespace: &str) -> String {
    format!("{namespace}:{service}-auth-reader")
}

/// The names that callers know a Service by.
pub fn hosts(service: &str, namespace: &str) -> Vec<String> {
    ["", ".svc", ".svc.cluster.local"]
        .map(|end| format!("{service}.{namespace}{end}"))
        .to_vec()
}

/// The Deployments that others call, in the order of the strategy.
pub fn serving(csv: &ClusterServiceVersion) -> Result<Vec<Served>, InstallError> {
    let install = &csv.spec.install;
    if install.strategy != STRATEGY_DEPLOYMENT {
        return Err(InstallError::Strategy {
            strategy: install.strategy.clone(),
        });
    }
    let templates = &install.spec.deployments;
    for (deployment, of, _) in calls(csv) {
        if !templates.iter().any(|template| template.name == deployment) {
            return Err(InstallError::NoDeployment {
                deployment: deployment.to_owned(),
                of,
            });
        }
    }
    let called = templates.iter().filter_map(|template| {
        let mut ports: Vec<Value> = Vec::new();
        for (_, _, port) in calls(csv).filter(|(name, ..)| *name == template.name) {
            // The name of a port is its number: OLM gives two ports of one name to a Service when
            // their targets differ, which no API server takes. The first one counts.
            if !ports.iter().any(|other| other["name"] == port["name"]) {
                ports.push(port);
            }
        }
        (!ports.is_empty()).then(|| Served {
            deployment: template.name.clone(),
            service: service_name(&template.name),
            ports,
            service_account: service_account(template),
        })
    });
    Ok(called.collect())
}

/// Each call: the Deployment, who calls it, and the port.
fn calls(csv: &ClusterServiceVersion) -> impl Iterator<Item = (&str, String, Value)> {
    let apis = csv.spec.api_service_definitions.owned.iter().map(|api| {
        let of = format!("owned APIServices {}", api.api_service_name());
        let port = api_port(api);
        (
            api.deployment_name.as_str(),
            of,
            port_of(port, &json!(port)),
        )
    });
    let webhooks = csv.spec.webhook_definitions.iter().map(|webhook| {
        let of = format!("WebhookDescription {}", webhook.generate_name);
        let port = webhook_port(webhook);
        let target = webhook.target_port.as_ref().map(|target| json!(target));
        let target = target.unwrap_or_else(|| json!(port));
        (webhook.deployment_name.as_str(), of, port_of(port, &target))
    });
    apis.chain(webhooks)
}

fn port_of(port: i32, target: &Value) -> Value {
    json!({ "name": port.to_string(), "port": port, "protocol": "TCP", "targetPort": target })
}

/// The port that an APIService is called at; zero and less mean the default, as for OLM.
pub(super) fn api_port(api: &ApiServiceDescription) -> i32 {
    let port = api.container_port.filter(|port| *port > 0);
    port.unwrap_or(DEFAULT_CONTAINER_PORT)
}

/// The port that a webhook is called at.
pub(super) fn webhook_port(webhook: &WebhookDefinition) -> i32 {
    let port = Some(webhook.service_port()).filter(|port| *port > 0);
    port.unwrap_or(DEFAULT_CONTAINER_PORT)
}

/// The ServiceAccount of a Deployment's Pods.
pub(super) fn service_account(template: &DeploymentTemplate) -> String {
    let pod = template
        .spec
        .get("template")
        .and_then(|pod| pod.get("spec"));
    let name = |field| pod?.get(field)?.as_str().filter(|name| !name.is_empty());
    // `serviceAccount` is the old name of the field.
    let account = name("serviceAccountName").or_else(|| name("serviceAccount"));
    account.unwrap_or(DEFAULT_SERVICE_ACCOUNT).to_owned()
}

/// The Service in front of a Deployment.
pub fn service(csv: &ClusterServiceVersion, served: &Served) -> Result<Value, InstallError> {
    let templates = &csv.spec.install.spec.deployments;
    let template = templates
        .iter()
        .find(|template| template.name == served.deployment);
    let selector = template
        .and_then(|template| {
            template
                .spec
                .get("selector")?
                .get("matchLabels")?
                .as_object()
        })
        .filter(|labels| !labels.is_empty())
        .ok_or_else(|| InstallError::NoSelector {
            deployment: served.deployment.clone(),
        })?;
    Ok(seal(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": served.service,
            "namespace": home(csv),
            "labels": owner_labels(csv),
            "ownerReferences": [owner_reference(csv)],
        },
        "spec": { "ports": served.ports, "selector": selector },
    })))
}

/// The ServiceAccount of a Deployment that others call, as RBAC names it.
pub(super) fn account(csv: &ClusterServiceVersion, served: &Served) -> Value {
    json!({
        "kind": "ServiceAccount",
        "name": served.service_account,
        "namespace": home(csv),
    })
}

/// The rights that go with being called.
///
/// All carry the owner labels, also the RoleBinding in `kube-system`, which OLM forgets when the operator
/// goes because nothing says whose it is. `others` have the same rights: the version before may run as
/// another ServiceAccount, and serves until this one does.
pub fn rbac(csv: &ClusterServiceVersion, served: &Served, others: &[Value]) -> Vec<Value> {
    let namespace = home(csv);
    let secret = served.secret();
    let account = account(csv, served);
    let others = others.iter().filter(|other| **other != account).cloned();
    let subjects: Vec<Value> = std::iter::once(account.clone()).chain(others).collect();
    let metadata = |name: &str, namespace: &str| {
        let mut metadata = json!({ "name": name, "labels": owner_labels(csv) });
        if let Some(metadata) = metadata.as_object_mut().filter(|_| !namespace.is_empty()) {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
        metadata
    };
    let owned = |name: &str| {
        let mut metadata = metadata(name, &namespace);
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("ownerReferences".to_owned(), json!([owner_reference(csv)]));
        }
        metadata
    };
    let role = json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": owned(&secret),
        "rules": [{
            "verbs": ["get"],
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret],
        }],
    });
    let binding = |kind: &str, metadata: Value, role_kind: &str, role: &str| {
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": kind,
            "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": role_kind, "name": role },
            "subjects": subjects,
        })
    };
    let reads_secret = binding("RoleBinding", owned(&secret), "Role", &secret);
    let delegates = binding(
        "ClusterRoleBinding",
        metadata(&auth_delegator_name(&served.service, &namespace), ""),
        "ClusterRole",
        "system:auth-delegator",
    );
    let reads_authentication = binding(
        "RoleBinding",
        metadata(&auth_reader_name(&served.service, &namespace), KUBE_SYSTEM),
        "Role",
        "extension-apiserver-authentication-reader",
    );
    [role, reads_secret, delegates, reads_authentication]
        .map(seal)
        .to_vec()
}
