//! The API of packages on the cluster. There is one for the whole cluster, and so tests take turns.

use std::process::{Command as Blocking, Stdio};

use anyhow::{Context as _, bail, ensure};
use http::Request;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use super::case::Case;
use super::cluster::Cluster;
use super::process::{Process, Role};
use super::scene::Scene;

/// The name of the APIService.
pub const API_SERVICE: &str = "v1.packages.operators.coreos.com";
/// The node's address in the cluster's network. The API server takes no endpoint on loopback.
const NODE: &str = "192.0.2.10";
/// The port of the first replica; each further one has the next.
const PORT: u16 = 5443;
pub const ROOT: &str = "/apis/packages.operators.coreos.com/v1";

static TURN: Mutex<()> = Mutex::const_new(());

/// The turn of a test. When it is over nothing is registered any more: an API without a server
/// would be in everybody's way.
pub struct Turn {
    kubectl: Blocking,
    _guard: MutexGuard<'static, ()>,
}

impl Turn {
    pub async fn take(case: &Case) -> anyhow::Result<Self> {
        let guard = TURN.lock().await;
        let services = Api::<APIService>::all(case.client.clone());
        // Another run may have been killed.
        let _ = services.delete(API_SERVICE, &DeleteParams::default()).await;
        let mut kubectl = Blocking::new(case.cluster.kubectl_path());
        kubectl
            .arg("--kubeconfig")
            .arg(case.cluster.kubeconfig())
            .args(["delete", "apiservice", API_SERVICE, "--ignore-not-found"])
            .stdout(Stdio::null());
        Ok(Self {
            kubectl,
            _guard: guard,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Err(error) = self.kubectl.status() {
            eprintln!("APIService {API_SERVICE} is left behind: {error}");
        }
    }
}

/// Processes that serve the API in the cluster's network.
pub struct Served<'c> {
    /// The namespace of the processes, whose catalogs are for everybody.
    pub scene: Scene<'c>,
    /// Another namespace that they care for, without an OperatorGroup.
    pub other: String,
    pub replicas: Vec<Process>,
    _turn: Turn,
}

impl<'c> Served<'c> {
    /// So many replicas, of which none is started yet. Nothing where no API server can reach them.
    pub async fn prepare(case: &'c Case, replicas: u16) -> anyhow::Result<Option<Self>> {
        if !case.cluster.runs_pods()? {
            return Ok(None);
        }
        let turn = Turn::take(case).await?;
        let scene = Scene::uncared(case).await?;
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "chandler-packages"},
                "spec": {"ports": [{"name": "packages", "port": 443}]},
            }))
            .await?;
        for at in 0..replicas {
            scene
                .create(json!({
                    "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                    "metadata": {
                        "name": format!("chandler-packages-{at}"),
                        "labels": {"kubernetes.io/service-name": "chandler-packages"},
                    },
                    "addressType": "IPv4",
                    "endpoints": [{"addresses": [NODE], "conditions": {"ready": true}}],
                    "ports": [{"name": "packages", "protocol": "TCP", "port": PORT + at}],
                }))
                .await?;
        }
        Ok(Some(Self {
            scene,
            other: case.simulated_namespace().await?,
            replicas: Vec::new(),
            _turn: turn,
        }))
    }

    /// Starts one more replica.
    pub fn start(&mut self, name: &str) -> anyhow::Result<()> {
        let at = u16::try_from(self.replicas.len())?;
        let kubeconfig = self.scene.case.cluster.kubeconfig();
        let role = Role {
            name,
            kubeconfig,
            namespaces: &[&self.scene.namespace, &self.other],
            cares_for_all: false,
            lease: "chandler",
            plain_http: &[],
        };
        let address = format!("{NODE}:{}", PORT + at);
        let process = Process::start_inside(self.scene.case, &role, &address)?;
        self.replicas.push(process);
        Ok(())
    }

    /// Waits until the API server passes requests on.
    pub async fn available(&self) -> anyhow::Result<()> {
        let services = Api::<APIService>::all(self.scene.case.client.clone());
        let is_available = |it: Option<&APIService>| {
            let status = it.and_then(|it| it.status.as_ref());
            let conditions = status.and_then(|it| it.conditions.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|it| it.type_ == "Available" && it.status == "True")
        };
        let case = self.scene.case;
        case.wait(&services, API_SERVICE, "available", is_available)
            .await
    }

    /// One replica that serves.
    pub async fn one(case: &'c Case) -> anyhow::Result<Option<Self>> {
        let Some(mut served) = Self::prepare(case, 1).await? else {
            return Ok(None);
        };
        served.start("one")?;
        served.available().await?;
        Ok(Some(served))
    }

    /// What kubectl prints.
    pub async fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.scene.case.cluster.kubectl(arguments).await
    }

    /// A path of the API, through the API server.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let path = format!("{ROOT}/{path}");
        let text = self.kubectl(&["get", "--raw", &path]).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// What a replica answers to somebody who goes to its port with a token. The error is what it
    /// said.
    pub async fn straight(
        &self,
        replica: u16,
        token: &str,
        path: &str,
    ) -> anyhow::Result<Result<String, String>> {
        let cluster = self.scene.case.cluster;
        let output = Cluster::inside()
            .arg(cluster.kubectl_path())
            .args(["--kubeconfig", "/dev/null", "--insecure-skip-tls-verify"])
            .args(["--server", &format!("https://{NODE}:{}", PORT + replica)])
            .args(["--token", token, "get", "--raw", path])
            .stdin(Stdio::null())
            .output()
            .await?;
        if output.status.success() {
            return Ok(Ok(String::from_utf8(output.stdout)?));
        }
        Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// A token of a new ServiceAccount, which may look at packages or not.
    pub async fn token(&self, account: &str, may_look: bool) -> anyhow::Result<String> {
        let namespace = &self.scene.namespace;
        let account_object = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account},
        });
        self.scene.create(account_object).await?;
        if may_look {
            let packages = json!({
                "apiGroups": ["packages.operators.coreos.com"],
                "resources": ["packagemanifests", "packagemanifests/icon"], "verbs": ["get", "list"],
            });
            self.scene
                .create(json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                    "metadata": {"name": account}, "rules": [packages],
                }))
                .await?;
            let subject =
                json!({"kind": "ServiceAccount", "name": account, "namespace": namespace});
            self.scene
                .create(json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                    "metadata": {"name": account}, "subjects": [subject],
                    "roleRef": {
                        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account,
                    },
                }))
                .await?;
        }
        let create = ["create", "token", account, "-n", namespace];
        let token = self.kubectl(&create).await?.trim().to_owned();
        if token.is_empty() {
            bail!("no token for {account}");
        }
        Ok(token)
    }

    /// Waits until the API shows a package to a namespace.
    pub async fn shows(&self, namespace: &str, package: &str) -> anyhow::Result<Value> {
        let path = format!("namespaces/{namespace}/packagemanifests/{package}");
        let case = self.scene.case;
        case.eventually(&format!("shown {package}"), async || {
            Ok(self.get(&path).await.is_ok())
        })
        .await?;
        self.get(&path).await.context("it was there")
    }
}

/// Says to be somebody in headers, straight at the port of a pod: the proxy of the API server leads
/// there with whatever headers one likes, but without the API server's certificate.
pub async fn forge(case: &Case, home: &str) -> anyhow::Result<()> {
    let port = format!("/api/v1/namespaces/{home}/services/https:chandler-packages:packages/proxy");
    let health = Request::get(format!("{port}/healthz")).body(Vec::new())?;
    ensure!(case.client.request_text(health).await? == "ok");
    for (name, value) in [
        ("x-remote-user", "system:admin"),
        ("X-Remote-Group", "system:masters"),
    ] {
        let request = Request::get(format!("{port}{ROOT}/namespaces/{home}/packagemanifests"))
            .header("x-remote-user", "system:kube-aggregator")
            .header("x-remote-group", "system:masters")
            .header(name, value)
            .body(Vec::new())?;
        let answer = case.client.request_text(request).await;
        let Err(kube::Error::Api(status)) = answer else {
            bail!("forged headers are believed: {answer:?}");
        };
        ensure!(
            status.code == 403 && status.message.contains("system:anonymous"),
            "{status:?}"
        );
    }
    Ok(())
}
