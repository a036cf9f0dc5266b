//! The gopher operator on real pods: gophers come and go, the operator too, and the gophers API knows.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::yaml;
use futures::{AsyncBufReadExt as _, StreamExt as _};
use http::Request;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{DEADLINE, on_cluster};
use crate::support::cluster::repository;
use crate::support::fleet::{For, Stage};

/// The label of the operator's pods.
const OPERATOR: &str = "app.kubernetes.io/name=gopher-operator";

/// A stage on which gophers and a gophers API run.
struct Burrow<'c> {
    stage: Stage<'c>,
}

impl<'c> Burrow<'c> {
    async fn dig(stage: Stage<'c>) -> anyhow::Result<Self> {
        let text = fs_err::read_to_string(repository().join("examples/fleet/gophers.yaml"))?;
        for object in yaml::values("gophers.yaml", &stage.fleet.renamed(&text))? {
            stage.scene.create(object).await?;
        }
        Ok(Self { stage })
    }

    /// A GopherAPI for the gophers API.
    async fn gopher_api(&self, version: &str, key: &Value) -> anyhow::Result<Value> {
        // There is no DNS in the cluster.
        let service = self.stage.scene.api::<Service>().get("gophers-api").await?;
        let address = service
            .spec
            .and_then(|it| it.cluster_ip)
            .context("no address")?;
        Ok(json!({
            "apiVersion": format!("lostinbrittany.dev/{version}"), "kind": "GopherAPI",
            "metadata": {"name": format!("of-{version}")},
            "spec": {"endpoint": format!("http://{address}:8080"), "apiKey": key},
        }))
    }

    async fn scale(&self, gophers: usize) -> anyhow::Result<()> {
        let replicas = format!("--replicas={gophers}");
        let namespace = &self.stage.scene.namespace;
        let scale = [
            "scale",
            "deployment/random-gopher",
            &replicas,
            "-n",
            namespace,
        ];
        self.stage.scene.case.cluster.kubectl(&scale).await?;
        Ok(())
    }

    fn path(&self, path: &str) -> String {
        let namespace = &self.stage.scene.namespace;
        format!("/api/v1/namespaces/{namespace}/services/gophers-api:http/proxy/{path}")
    }

    /// What the gophers API answers to everybody who may look.
    async fn get(&self, path: &str) -> anyhow::Result<String> {
        let request = Request::get(self.path(path)).body(Vec::new())?;
        Ok(self.stage.scene.case.client.request_text(request).await?)
    }

    /// The pods whose gophers the API knows.
    async fn known(&self) -> anyhow::Result<Vec<String>> {
        // The API may be on its way.
        let Ok(text) = self.get("gophers").await else {
            return Ok(Vec::new());
        };
        shown(&serde_json::from_str(&text)?)
    }

    /// The pods that are gophers.
    async fn pods(&self) -> anyhow::Result<Vec<String>> {
        let gophers = ListParams::default().labels("run=random-gopher");
        let pods = self.stage.scene.api::<Pod>().list(&gophers).await?;
        let staying = pods
            .iter()
            .filter(|it| it.metadata.deletion_timestamp.is_none());
        let mut names: Vec<String> = staying.map(kube::ResourceExt::name_any).collect();
        names.sort();
        Ok(names)
    }

    /// Waits until the API knows exactly the pods that there are, and as many as there should be.
    async fn knows(&self, gophers: usize) -> anyhow::Result<()> {
        let what = format!("known {gophers} gophers");
        let case = self.stage.scene.case;
        case.within(Duration::from_mins(2), &what, async || {
            let known = self.known().await?;
            Ok(known.len() == gophers && known == self.pods().await?)
        })
        .await
    }

    /// Kills pods without letting them say goodbye.
    async fn kill(&self, label: &str) -> anyhow::Result<()> {
        let now = DeleteParams::default().grace_period(0);
        let pods = self.stage.scene.api::<Pod>();
        let found = pods.list(&ListParams::default().labels(label)).await?;
        ensure!(!found.items.is_empty(), "no pod has the label {label}");
        for pod in found {
            pods.delete(&pod.name_any(), &now).await?;
        }
        Ok(())
    }
}

fn shown(list: &Value) -> anyhow::Result<Vec<String>> {
    let gophers = list.as_array().context("no list")?.iter();
    let names = gophers.map(|it| it["displayname"].as_str().map(str::to_owned));
    let mut names: Vec<String> = names.collect::<Option<_>>().context("no name")?;
    names.sort();
    Ok(names)
}

#[tokio::test]
async fn gophers_that_come_and_go_are_known_although_the_operator_and_the_api_are_killed() {
    on_cluster(async |case| {
        let Some(stage) = Stage::set(case, &["gopher"], For::Own).await? else {
            return Ok(());
        };
        let burrow = Burrow::dig(stage).await?;
        burrow
            .stage
            .install("gopher", "stable", "gopher.v0.2.0")
            .await?;
        let wish = burrow
            .gopher_api("v1alpha1", &json!("only-an-example"))
            .await?;
        let api = burrow.stage.create(&wish).await?;
        burrow.knows(3).await?;

        // An API that forgot everything is told again.
        burrow.kill("run=gophers-api").await?;
        let has_forgotten = async || Ok(burrow.known().await?.is_empty());
        case.eventually("forgotten", has_forgotten).await?;
        burrow.knows(3).await?;

        // What the page shows is what it is told from here on.
        ensure!(burrow.get("").await?.contains("page.js"));
        let watch = Request::get(burrow.path("events")).body(Vec::new())?;
        let mut told = case.client.request_stream(watch).await?.lines();

        burrow.scale(10).await?;
        burrow.kill(OPERATOR).await?;
        burrow.knows(10).await?;
        burrow.kill(OPERATOR).await?;
        burrow.scale(1).await?;
        burrow.knows(1).await?;
        burrow
            .stage
            .says(&api, "of-v1alpha1", "/status/gophers", &json!(1))
            .await?;
        let page = async {
            let mut seen = Vec::new();
            while seen.last() != Some(&1) || !seen.contains(&10) {
                let line = told
                    .next()
                    .await
                    .context("the page lost its connection")??;
                if let Some(list) = line.strip_prefix("data:") {
                    seen.push(shown(&serde_json::from_str(list)?)?.len());
                }
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(DEADLINE, page)
            .await
            .context("the page does not show them")??;
        burrow.stage.remove("gopher").await
    })
    .await;
}

#[tokio::test]
async fn gopher_apis_of_the_first_version_live_on_in_the_second() {
    on_cluster(async |case| {
        let Some(stage) = Stage::set(case, &["gopher"], For::All).await? else {
            return Ok(());
        };
        let burrow = Burrow::dig(stage).await?;
        let stage = &burrow.stage;
        stage.install("gopher", "stable", "gopher.v0.1.0").await?;
        let wish = burrow
            .gopher_api("v1alpha1", &json!("only-an-example"))
            .await?;
        let old = stage.create(&wish).await?;
        burrow.knows(3).await?;
        stage.next("gopher", "gopher.v0.2.0").await?;
        stage
            .says(&old, "of-v1alpha1", "/status/gophers", &json!(3))
            .await?;
        stage.next("gopher", "gopher.v1.0.0").await?;

        let new: Api<DynamicObject> =
            stage
                .scene
                .objects("lostinbrittany.dev", "v1beta1", "GopherAPI");
        let is_converted = async || {
            let read = new.get("of-v1alpha1").await;
            let key = json!({"value": "only-an-example"});
            Ok(read.is_ok_and(|it| {
                it.data["spec"]["apiKey"] == key && it.data["status"]["gophers"] == 3
            }))
        };
        case.eventually("converted", is_converted).await?;

        // One that only the second version can say, kept through a change in the first.
        let secret = json!({"secretRef": {"name": "gophers-api", "key": "apiKey"}});
        stage
            .create(&burrow.gopher_api("v1beta1", &secret).await?)
            .await?;
        let condition = "/status/conditions/0/status";
        stage
            .says(&new, "of-v1beta1", condition, &json!("True"))
            .await?;
        let seen = old.get("of-v1beta1").await?;
        ensure!(seen.data["spec"]["apiKey"] == "", "{seen:?}");
        let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
        old.patch("of-v1beta1", &PatchParams::default(), &label)
            .await?;
        let back = new.get("of-v1beta1").await?;
        ensure!(back.data["spec"]["apiKey"] == secret, "{back:?}");
        ensure!(back.labels()["seen"] == "yes", "{back:?}");

        burrow.scale(1).await?;
        burrow.knows(1).await?;

        // The other one says that the API is to know them; with the last one they are forgotten.
        new.delete("of-v1alpha1", &DeleteParams::default()).await?;
        let is_gone = |it: Option<&DynamicObject>| it.is_none();
        case.wait(&new, "of-v1alpha1", "gone", is_gone).await?;
        ensure!(burrow.known().await?.len() == 1, "it is known by another");
        new.delete("of-v1beta1", &DeleteParams::default()).await?;
        case.wait(&new, "of-v1beta1", "gone", is_gone).await?;
        ensure!(burrow.get("gophers").await?.trim() == "[]", "left behind");
        stage.remove("gopher").await
    })
    .await;
}
