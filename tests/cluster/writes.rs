//! Visitors of the page, each with a token of their own.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::{CsvPhase, InstallPlanPhase};
use chandler::api::subscription::Subscription;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::{Api, Resource as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::process::{Process, Role};
use crate::support::scene::Scene;
use crate::support::wares::stable;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A visitor of a hub.
struct Visitor<'a> {
    address: &'a str,
    token: Option<&'a str>,
    origin: Option<&'a str>,
}

impl Visitor<'_> {
    /// The status and what was said.
    async fn post(&self, path: &str, body: Value) -> anyhow::Result<(u16, Value)> {
        let client = reqwest::Client::new();
        let mut request = client
            .post(format!("http://{}{path}", self.address))
            .header("content-type", "application/json")
            .body(body.to_string());
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(origin) = self.origin {
            request = request.header("origin", origin);
        }
        let answer = request.send().await?;
        let (status, text) = (answer.status().as_u16(), answer.text().await?);
        let said = serde_json::from_str(&text).with_context(|| format!("{path}: {text}"))?;
        Ok((status, said))
    }
}

/// An account and a token of it.
async fn account(scene: &Scene<'_>, name: &str) -> anyhow::Result<String> {
    scene
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}))
        .await?;
    let asked = TokenRequest::default();
    let made = scene
        .api::<ServiceAccount>()
        .create_token_request(name, &PostParams::default(), &asked)
        .await?;
    Ok(made.status.context("there is no token")?.token)
}

/// Lets an account look after operators, and nothing else.
async fn promote(scene: &Scene<'_>, account: &str) -> anyhow::Result<()> {
    let namespaces = Api::<Namespace>::all(scene.case.client.clone());
    let owner = namespaces.get(&scene.namespace).await?.owner_ref(&());
    let name = format!("{}-{account}", scene.namespace);
    // They go with the namespace.
    let metadata = json!({"name": name, "ownerReferences": [owner]});
    create::<ClusterRole>(
        scene,
        json!({"metadata": metadata, "rules": [
            {"apiGroups": ["operators.coreos.com"], "resources": ["*"], "verbs": ["*"]},
            {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list"]},
        ]}),
    )
    .await?;
    create::<ClusterRoleBinding>(
        scene,
        json!({
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": scene.namespace}],
        }),
    )
    .await
}

async fn create<K>(scene: &Scene<'_>, object: Value) -> anyhow::Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::ClusterResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Serialize,
{
    let object: K = serde_json::from_value(object)?;
    let api = Api::<K>::all(scene.case.client.clone());
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_do_what_their_own_rights_allow_and_nothing_else() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let older = scene.operator("gopher", "1.0.0");
        scene.image_catalog("hub", &[stable([older])]).await?;
        let stranger = account(&scene, "stranger").await?;
        let captain = account(&scene, "captain").await?;
        promote(&scene, "captain").await?;

        let namespaces = [scene.namespace.as_str()];
        let kubeconfig = case.cluster.kubeconfig();
        let role = Role {
            name: "writes",
            kubeconfig,
            namespaces: &namespaces,
            cares_for_all: false,
            lease: "writes",
            plain_http: &[],
        };
        let mut process = Process::start_with(case, &role, &["--allow-writes"])?;
        let address = process.address().await?;
        let visitor = |token| Visitor {
            address: &address,
            token,
            origin: None,
        };
        let catalog = format!("{}/hub", scene.namespace);
        scene.ready_catalog("hub").await?;
        let shown = format!("http://{address}/api/v1/packages/gopher?catalog={catalog}");
        case.eventually("the catalog is shown", async || {
            Ok(reqwest::get(&shown).await?.status().is_success())
        })
        .await?;
        let install = json!({
            "package": "gopher", "catalog": catalog, "namespace": scene.namespace,
            "approval": "Manual",
        });
        let path = "/api/v1/installations";

        // Without a token, with a forged one, from another site, without rights.
        let (status, said) = visitor(None).post(path, install.clone()).await?;
        ensure!(
            status == 401 && said["error"]["code"] == "unauthorized",
            "{status} {said}"
        );
        let (status, said) = visitor(Some("made.up.token"))
            .post(path, install.clone())
            .await?;
        ensure!(
            status == 401 && said["error"]["code"] == "unauthorized",
            "{status} {said}"
        );
        let elsewhere = Visitor {
            origin: Some("https://evil.example"),
            ..visitor(Some(&captain))
        };
        let (status, said) = elsewhere.post(path, install.clone()).await?;
        ensure!(
            status == 403 && said["error"]["message"] == "the request is of another site",
            "{said}"
        );
        let (status, said) = visitor(Some(&stranger)).post(path, install.clone()).await?;
        let message = said["error"]["message"].as_str().unwrap_or_default();
        let who = format!("system:serviceaccount:{}:stranger", scene.namespace);
        ensure!(status == 403 && message.contains(&who), "{status} {said}");
        ensure!(scene.names::<Subscription>().await?.is_empty());

        // Shown, and then done.
        let captain = visitor(Some(&captain));
        let mut look = install.clone();
        look["dryRun"] = json!(true);
        let (status, said) = captain.post(path, look).await?;
        ensure!(status == 200, "{status} {said}");
        ensure!(
            said["makes"][0]["kind"] == "Subscription" && said["makes"][1].is_null(),
            "{said}"
        );
        ensure!(said["keeps"][0]["kind"] == "OperatorGroup", "{said}");
        ensure!(
            said["components"][0]["install"][0]["bundle"] == "gopher.v1.0.0",
            "{said}"
        );
        ensure!(
            scene.names::<Subscription>().await?.is_empty(),
            "a look does nothing"
        );
        let (status, said) = captain.post(path, install.clone()).await?;
        ensure!(status == 200, "{status} {said}");
        ensure!(scene.names::<Subscription>().await? == ["gopher"]);
        let mut other = install.clone();
        other["approval"] = json!("Automatic");
        let (status, said) = captain.post(path, other).await?;
        ensure!(
            status == 409 && said["error"]["code"] == "conflict",
            "{status} {said}"
        );

        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let approve = json!({"installPlan": plan.metadata.name});
        let place = format!("/api/v1/installations/{}/gopher", scene.namespace);
        let path = format!("{place}/approve");
        let (status, said) = visitor(Some(&stranger))
            .post(&path, approve.clone())
            .await?;
        ensure!(status == 403, "{status} {said}");
        let (status, said) = captain.post(&path, approve.clone()).await?;
        ensure!(status == 200, "{status} {said}");
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let (status, said) = captain.post(&path, approve).await?;
        ensure!(status == 409, "approved twice: {status} {said}");

        let path = format!("{place}/uninstall");
        let (status, said) = visitor(Some(&stranger)).post(&path, json!({})).await?;
        ensure!(status == 403, "{status} {said}");
        let (status, said) = captain.post(&path, json!({"dryRun": true})).await?;
        ensure!(status == 200, "{status} {said}");
        let goes = said["goes"].to_string();
        ensure!(goes.contains("gopher.v1.0.0"), "{said}");
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let (status, said) = captain.post(&path, json!({})).await?;
        ensure!(status == 200, "{status} {said}");
        scene.gone::<Subscription>("gopher").await?;
        case.eventually("the operator is gone", async || {
            Ok(scene.csvs().await?.is_empty())
        })
        .await?;
        process.terminate().await?;
        process.ended().await
    })
    .await;
}
