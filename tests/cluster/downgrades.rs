//! Back to an older version, and on again.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::{Operator, stable};

fn image_of(version: &str) -> String {
    format!("example.com/operator:v{version}")
}

fn image(deployment: &Deployment) -> String {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let pod = template.and_then(|template| template.spec.as_ref());
    let image = pod.and_then(|pod| pod.containers.first()?.image.clone());
    image.unwrap_or_default()
}

/// A version of an operator whose Deployment has the same name in all of them.
fn version(scene: &Scene<'_>, version: &str) -> Operator {
    let containers = json!([{"name": "operator", "image": image_of(version)}]);
    let doing = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let operator = scene.operator("gopher", version).owns("Gopher");
    operator.deployment_with(doing)
}

/// Waits until a version runs and no other is there. Then its Deployment was written so many times.
async fn ends_with(scene: &Scene<'_>, version: &str, written: i64) -> anyhow::Result<()> {
    let csv = format!("gopher.v{version}");
    scene.at_latest("gopher", &csv).await?;
    scene.in_phase(&csv, CsvPhase::Succeeded).await?;
    let is_alone = async || Ok(scene.csvs().await? == [csv.as_str()]);
    let what = format!("{csv} alone");
    scene.case.eventually(&what, is_alone).await?;
    let deployment = scene.api::<Deployment>().get("gopher").await?;
    ensure!(image(&deployment) == image_of(version), "{deployment:?}");
    let generation = deployment.metadata.generation;
    ensure!(generation == Some(written), "{deployment:?}");
    Ok(())
}

#[tokio::test]
async fn a_version_before_the_installed_one_takes_its_place_if_asked_for_and_gives_it_back() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let versions = [
            version(&scene, "1.1.0"),
            version(&scene, "1.2.0").replaces("1.1.0"),
        ];
        scene.config_map_catalog("hub", &[stable(versions)]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        ends_with(&scene, "1.2.0", 1).await?;

        let pinned = |to: Value| json!({"spec": {"version": to}});
        let back = pinned(json!("~1.1"));
        scene.patch::<Subscription>("gopher", back).await?;
        ends_with(&scene, "1.1.0", 2).await?;
        // Each says that it replaces the other.
        let older = scene.api::<ClusterServiceVersion>();
        let older = older.get("gopher.v1.1.0").await?;
        ensure!(older.spec.replaces == "gopher.v1.2.0", "{older:?}");

        let on = pinned(Value::Null);
        scene.patch::<Subscription>("gopher", on).await?;
        ends_with(&scene, "1.2.0", 3).await
    })
    .await;
}

#[tokio::test]
async fn a_version_whose_successor_does_not_come_up_takes_its_place_again_if_asked_for() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = version(&scene, "1.1.0");
        let nowhere = json!([{"group": "nowhere.example.com", "version": "v1", "kind": "Hat"}]);
        let second = version(&scene, "1.2.0")
            .replaces("1.1.0")
            .csv_with(json!({"spec": {"nativeAPIs": nowhere}}));
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        ends_with(&scene, "1.1.0", 1).await?;
        scene.restock("hub", &[stable([first, second])]).await?;
        scene
            .because("gopher.v1.2.0", CsvReason::RequirementsNotMet)
            .await?;

        let back = json!({"spec": {"version": "~1.1"}});
        scene.patch::<Subscription>("gopher", back).await?;
        ends_with(&scene, "1.1.0", 1).await?;
        let plans = scene.names::<InstallPlan>().await?;
        ensure!(plans.len() == 3, "{plans:?}");
        Ok(())
    })
    .await;
}
