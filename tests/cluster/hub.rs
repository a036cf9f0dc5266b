//! The hub of a cluster: its catalogs, and what is installed.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::InstallPlanPhase;
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::gateway::Gateway;
use crate::support::process::{Process, Role};
use crate::support::scene::{Scene, manual};
use crate::support::wares::stable;

/// Asks a process.
async fn ask(address: &str, path: &str) -> anyhow::Result<Value> {
    let answer = reqwest::get(format!("http://{address}{path}")).await?;
    let text = answer.text().await?;
    serde_json::from_str(&text).with_context(|| format!("{path}: {text}"))
}

#[tokio::test]
async fn the_hub_shows_what_is_installed_why_an_upgrade_waits_and_what_a_bundle_may_do() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let rule = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
        let older = scene.operator("gopher", "1.0.0").may(&rule);
        let newer = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        scene
            .image_catalog("hub", &[stable([older, newer])])
            .await?;
        let mut chosen = manual();
        chosen["startingCSV"] = json!("gopher.v1.0.0");
        chosen["channel"] = json!("stable");
        scene.subscribe("gopher", "hub", chosen).await?;

        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let mut process = Process::start(
            case,
            &Role {
                name: "hub",
                kubeconfig: &gateway.kubeconfig(),
                namespaces: &namespaces,
                cares_for_all: false,
                lease: "hub",
                plain_http: &[],
            },
        )?;
        let address = process.address().await?;
        let events = reqwest::get(format!("http://{address}/api/v1/events")).await?;
        ensure!(events.status().is_success(), "{}", events.status());

        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        scene.approve(&plan).await?;
        // Other tests have packages of that name in catalogs of theirs.
        let catalog = format!("{}/hub", scene.namespace);
        let listed = format!("/api/v1/packages?upgradable=true&catalog={catalog}");
        let shown = format!("/api/v1/packages/gopher?catalog={catalog}");
        case.eventually("installed, and an upgrade that waits", async || {
            let page = ask(&address, &shown).await?;
            Ok(page["installations"][0]["next"] == "gopher.v2.0.0")
        })
        .await?;
        let list = ask(&address, &listed).await?;
        let versions = &list["packages"][0]["installed"]["versions"];
        ensure!(versions == &json!(["1.0.0"]), "{list}");
        let page = ask(&address, &shown).await?;
        let place = &page["installations"][0];
        ensure!(place["csv"] == "gopher.v1.0.0", "{place}");
        ensure!(place["next"] == "gopher.v2.0.0", "{place}");
        ensure!(place["planToApprove"] != "", "{place}");
        let because = place["waitsBecause"].as_str().unwrap_or_default();
        ensure!(because.contains("approve"), "{place}");

        let rights = "/api/v1/packages/gopher/versions/1.0.0/permissions";
        let rights = ask(&address, rights).await?;
        ensure!(rights["knowledge"]["state"] == "complete", "{rights}");
        let words = &rights["permissions"][0]["words"];
        ensure!(words == "may read Secrets in its namespaces", "{rights}");

        let solved = format!(
            "/api/v1/resolve?package=gopher&namespace={}",
            scene.namespace
        );
        let solved = ask(&address, &solved).await?;
        ensure!(solved["solved"] == true, "{solved}");

        // What was told while all that happened.
        let mut told = String::new();
        let mut events = events.bytes_stream();
        while !told.contains("gopher.v1.0.0") {
            let part = events.next().await.context("the stream ended")??;
            told.push_str(&String::from_utf8_lossy(&part));
        }
        ensure!(told.contains("event: installations"), "{told}");
        process.terminate().await?;
        process.ended().await
    })
    .await;
}
