//! Certificates of webhooks and APIs are renewed while requests go on.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::ListParams;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::expiring;
use crate::support::life::{phase, status};
use crate::support::load::Load;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, create, gopher, tunnels, two_versions, webhook};
use crate::support::wares::stable;

/// How long before its end a certificate is renewed.
const DAY: Duration = Duration::from_hours(24);
/// How long the first certificate is to be used.
const SOON: Duration = Duration::from_secs(40);

#[tokio::test]
async fn certificates_are_renewed_under_load_without_a_failed_request() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group_with(json!({})).await?;
        let group = format!("api.{}.example.com", scene.namespace);
        let operator = scene.operator("gopher", "1.0.0").owns("Gopher");
        let hooks = ["validate", "mutate", "convert"].map(|does| webhook(&operator, does));
        let api = tunnels(&operator, &group);
        let crd = two_versions(&operator);
        let mut doing = stand_in.doing(&["operate", "gopher", "hooks", "api"]);
        doing["spec"]["replicas"] = json!(2);
        let operator = operator
            .with(crd)
            .supports(&["AllNamespaces"])
            .deployment_with(doing)
            .csv_with(json!({"spec": {
                "webhookdefinitions": hooks,
                "apiservicedefinitions": {"owned": [api]},
            }}));
        let expiring = expiring::secret(&scene.namespace, "gopher-service", DAY + SOON)?;
        let due = tokio::time::Instant::now() + SOON;
        scene.create(expiring).await?;
        let name = "gopher-service-cert";
        let before = scene.api::<Secret>().get(name).await?;
        scene
            .image_catalog("hub", &[stable([operator.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let csv = scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        ensure!(status(&csv).certs_rotate_at.is_some(), "{csv:?}");
        let used = scene.api::<Secret>().get(name).await?;
        ensure!(used.data == before.data, "a good certificate was not used");
        let pods = pods(&scene).await?;

        let gophers = scene.gophers(&operator, "v1");
        let stored = gopher(
            &operator,
            "v1",
            "stored",
            &json!({"address": "burrow:8080"}),
        );
        create(case, &gophers, &stored)
            .await?
            .map_err(anyhow::Error::msg)?;
        let mut load = Load::start(&scene, &operator).await?;
        // It is not yet time for it to be looked at by itself: that is done once in a minute at most.
        tokio::time::sleep_until(due).await;
        scene
            .patch::<ClusterServiceVersion>(
                "gopher.v1.0.0",
                json!({"metadata": {"labels": {"looked": "at"}}}),
            )
            .await?;
        scene
            .until(name, "renewed", |secret: &Secret| {
                secret.data != before.data
            })
            .await?;
        let csv = scene
            .until(
                "gopher.v1.0.0",
                "as before",
                |csv: &ClusterServiceVersion| {
                    let has_rotated = status(csv)
                        .conditions
                        .iter()
                        .any(|it| it.reason == CsvReason::NeedsCertRotation);
                    has_rotated && phase(csv) == CsvPhase::Succeeded
                },
            )
            .await?;
        ensure!(status(&csv).certs_last_updated.is_some(), "{csv:?}");
        let are_new = async || {
            let now = self::pods(&scene).await?;
            Ok(now.len() == 2 && now.iter().all(|pod| !pods.contains(pod)))
        };
        case.eventually("other Pods", are_new).await?;
        load.at_least(500).await?;
        load.stop(&case.name).await?;

        // The former CA stays, for whoever still serves with its certificate.
        let renewed = scene.api::<Secret>().get(name).await?;
        let renewed = renewed.data.context("no data")?;
        let former = &before.data.context("no data")?["olmCAKey"];
        let kept = renewed.values().filter(|it| *it == former).count();
        ensure!(kept == 1 && &renewed["olmCAKey"] != former);
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

/// The Pods of the operator.
async fn pods(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let ours = ListParams::default().labels("app=gopher");
    let pods = scene.api::<Pod>().list(&ours).await?;
    let names = pods.items.into_iter().filter_map(|pod| pod.metadata.name);
    Ok(names.collect())
}
