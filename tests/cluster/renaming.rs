//! An operator whose Deployment is called otherwise from one moment to the next, while requests go on.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::CsvPhase;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::{phase, status};
use crate::support::load::Load;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, create, gopher, tunnels, two_versions, webhook};
use crate::support::wares::Operator;

/// The operator with its only Deployment called so, which answers webhooks and serves an API.
fn called(scene: &Scene<'_>, stand_in: &StandIn, deployment: &str) -> Operator {
    let operator = scene.operator("gopher", "1.0.0").owns("Gopher");
    let group = format!("api.{}.example.com", scene.namespace);
    let named = |mut call: Value| {
        call["deploymentName"] = json!(deployment);
        call
    };
    let hooks = ["validate", "mutate", "convert"].map(|does| named(webhook(&operator, does)));
    let api = named(tunnels(&operator, &group));
    let mut doing = stand_in.doing(&["operate", "gopher", "hooks", "api"]);
    doing["name"] = json!(deployment);
    // Pods of two Deployments must not be taken for each other's.
    let labels = json!({"app": deployment});
    doing["spec"]["selector"] = json!({"matchLabels": labels});
    doing["spec"]["template"]["metadata"] = json!({"labels": labels});
    operator
        .supports(&["AllNamespaces"])
        .deployment_with(doing)
        .csv_with(json!({"spec": {
            "webhookdefinitions": hooks,
            "apiservicedefinitions": {"owned": [api]},
        }}))
}

#[tokio::test]
async fn a_deployment_that_is_called_otherwise_takes_over_without_a_failed_request() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group_with(json!({})).await?;
        let before = called(&scene, &stand_in, "gopher");
        scene.crd(two_versions(&before)).await?;
        let csv = scene.runs(&before).await?;
        let gophers = scene.gophers(&before, "v1");
        let spec = json!({"address": "burrow:8080"});
        let stored = gopher(&before, "v1", "stored", &spec);
        create(case, &gophers, &stored)
            .await?
            .map_err(anyhow::Error::msg)?;
        let mut load = Load::start(&scene, &before).await?;

        scene
            .change_to(&called(&scene, &stand_in, "burrow"))
            .await?;
        scene.gone::<Deployment>("gopher").await?;
        load.at_least(200).await?;
        let after = scene
            .until(
                "gopher.v1.0.0",
                "as before",
                |it: &ClusterServiceVersion| {
                    it.metadata.generation != csv.metadata.generation
                        && phase(it) == CsvPhase::Succeeded
                },
            )
            .await?;
        load.at_least(200).await?;
        load.stop(&case.name).await?;
        ensure!(scene.names::<Deployment>().await? == ["burrow"]);
        ensure!(after.uid() == csv.uid(), "{:?}", status(&after));
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}
