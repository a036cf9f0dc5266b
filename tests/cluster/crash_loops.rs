//! A new version that ends as soon as it starts: the old one goes on answering, and it is said what is wrong.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, SubscriptionConditionType};
use chandler::api::subscription::Subscription;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::case::on_cluster;
use crate::support::life::{phase, status};
use crate::support::load::Load;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, create, gopher, tunnels, two_versions, webhook};
use crate::support::wares::{Operator, stable};

/// A version of an operator with webhooks, a conversion and an API, whose Deployment is called like this.
fn version(scene: &Scene<'_>, version: &str, deployment: &str, mut doing: Value) -> Operator {
    let operator = scene.operator("gopher", version).owns("Gopher");
    let group = format!("api.{}.example.com", scene.namespace);
    let mut hooks = json!(["validate", "mutate", "convert"].map(|does| webhook(&operator, does)));
    let mut api = tunnels(&operator, &group);
    for called in hooks.as_array_mut().into_iter().flatten().chain([&mut api]) {
        called["deploymentName"] = json!(deployment);
    }
    if version != "1.0.0" {
        // What the old version does not answer.
        for hook in hooks.as_array_mut().into_iter().flatten() {
            hook["webhookPath"] = json!("/of-the-next-version");
        }
    }
    doing["name"] = json!(deployment);
    let crd = two_versions(&operator);
    let operator = operator.with(crd).supports(&["AllNamespaces"]);
    operator.deployment_with(doing).csv_with(json!({"spec": {
        "webhookdefinitions": hooks,
        "apiservicedefinitions": {"owned": [api]},
    }}))
}

/// What `chandler status` says.
async fn said_by_status(scene: &Scene<'_>) -> anyhow::Result<String> {
    let kubeconfig = scene.case.cluster.kubeconfig().to_string_lossy();
    let output = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(["status", "gopher", "-n", &scene.namespace])
        .args(["--kubeconfig", &kubeconfig])
        .output()
        .await?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

async fn a_version_that_crashes(deployment: &str) {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group_with(json!({})).await?;
        let answers = stand_in.doing(&["operate", "gopher 1.0.0", "hooks", "api"]);
        let first = version(&scene, "1.0.0", "gopher", answers);
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let gophers = scene.gophers(&first, "v1");
        let good = gopher(&first, "v1", "good", &json!({"address": "burrow:8080"}));
        create(case, &gophers, &good)
            .await?
            .map_err(anyhow::Error::msg)?;

        let mut load = Load::start(&scene, &first).await?;
        let crashes = stand_in.doing(&["crash", "cannot find the burrow"]);
        let second = version(&scene, "2.0.0", deployment, crashes).replaces("1.0.0");
        let content = [stable([first.clone(), second])];
        scene.shop().push_catalog("hub", &content).await?;
        let words = [
            "container operator of Pod ",
            "CrashLoopBackOff",
            "exit code 42 (Error)",
            "cannot find the burrow",
            "--previous",
        ];
        let tells = |text: &str| words.iter().all(|word| text.contains(word));
        let what = "telling what is wrong";
        let csv = scene
            .until("gopher.v2.0.0", what, |csv: &ClusterServiceVersion| {
                tells(&status(csv).message)
            })
            .await?;
        ensure!(phase(&csv) == CsvPhase::Installing, "{csv:?}");
        scene
            .until("gopher", what, |subscription: &Subscription| {
                let status = subscription.status.clone().unwrap_or_default();
                let healthy = status.condition(&SubscriptionConditionType::Healthy);
                healthy.is_some_and(|healthy| tells(&healthy.message))
            })
            .await?;
        let said = said_by_status(&scene).await?;
        ensure!(tells(&said), "{said}");

        let first_csv = scene.api::<ClusterServiceVersion>();
        let first_csv = first_csv.get("gopher.v1.0.0").await?;
        ensure!(phase(&first_csv) == CsvPhase::Replacing, "{first_csv:?}");
        load.at_least(200).await?;
        load.stop(&case.name).await?;
        let bad = gopher(&first, "v1", "bad", &json!({"forbidden": "yes"}));
        let refused = create(case, &gophers, &bad).await?;
        let refused = refused.err().context("it was taken")?;
        ensure!(refused.contains("gopher 1.0.0 takes nothing"), "{refused}");
        let converted = || async {
            let read = scene.gophers(&first, "v2").get("good").await?;
            ensure!(read.data["spec"]["port"] == 8080, "{read:?}");
            Ok(())
        };
        converted().await?;

        // When somebody takes it away, the old one takes its place again.
        scene.delete::<Subscription>("gopher").await?;
        scene.delete_csv("gopher.v2.0.0").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let created = create(
            case,
            &gophers,
            &gopher(&first, "v1", "another", &json!({"address": "hill:9090"})),
        )
        .await?;
        let created = created.map_err(anyhow::Error::msg)?;
        ensure!(created.data["spec"]["changedBy"] == "gopher 1.0.0");
        converted().await?;
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_version_that_crashes_leaves_the_old_one_answering_and_says_why() {
    a_version_that_crashes("gopher").await;
}

#[tokio::test]
async fn a_version_that_crashes_in_a_deployment_of_another_name_does_too() {
    a_version_that_crashes("gopher-next").await;
}

#[tokio::test]
async fn a_version_that_crashes_gives_way_at_once_to_one_that_mends_it() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group_with(json!({})).await?;
        let answers = |version: &str| {
            stand_in.doing(&["operate", &format!("gopher {version}"), "hooks", "api"])
        };
        let mut versions = vec![version(&scene, "1.0.0", "gopher", answers("1.0.0"))];
        scene
            .image_catalog("hub", &[stable(versions.clone())])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;

        let crashes = stand_in.doing(&["crash", "cannot find the burrow"]);
        versions.push(version(&scene, "2.0.0", "gopher", crashes).replaces("1.0.0"));
        scene
            .shop()
            .push_catalog("hub", &[stable(versions.clone())])
            .await?;
        scene
            .until(
                "gopher.v2.0.0",
                "crashing",
                |csv: &ClusterServiceVersion| status(csv).reason == CsvReason::ComponentUnhealthy,
            )
            .await?;

        // Long before the install times out.
        versions.push(version(&scene, "3.0.0", "gopher", answers("3.0.0")).replaces("2.0.0"));
        scene
            .shop()
            .push_catalog("hub", &[stable(versions)])
            .await?;
        scene.in_phase("gopher.v3.0.0", CsvPhase::Succeeded).await?;
        let is_alone = async || Ok(scene.csvs().await? == ["gopher.v3.0.0"]);
        case.eventually("the only one", is_alone).await?;
        scene.delete::<Subscription>("gopher").await?;
        scene.delete_csv("gopher.v3.0.0").await
    })
    .await;
}
