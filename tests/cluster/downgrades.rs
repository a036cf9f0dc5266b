//! Back to an older version, and on again.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, SubscriptionState};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::phase;
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
    version_with(scene, version, json!({}))
}

/// The same, with something else about its Deployment.
fn version_with(scene: &Scene<'_>, version: &str, mut spec: Value) -> Operator {
    let containers = json!([{"name": "operator", "image": image_of(version)}]);
    spec["template"]["spec"]["containers"] = containers;
    let operator = scene.operator("gopher", version).owns("Gopher");
    operator.deployment_with(json!({"spec": spec}))
}

/// What keeps the Pods of a Deployment from being anywhere.
fn nowhere() -> Value {
    json!({"template": {"spec": {"nodeSelector": {"there-is": "none"}}}})
}

/// Waits until a version runs and no other is there. Then its Deployment was written so many times.
async fn ends_with(scene: &Scene<'_>, version: &str, written: i64) -> anyhow::Result<()> {
    let deployment = ends_alone(scene, version).await?;
    let generation = deployment.metadata.generation;
    ensure!(generation == Some(written), "{deployment:?}");
    Ok(())
}

/// Waits until a version runs and no other is there, and gives its Deployment.
async fn ends_alone(scene: &Scene<'_>, version: &str) -> anyhow::Result<Deployment> {
    let csv = format!("gopher.v{version}");
    scene.at_latest("gopher", &csv).await?;
    scene.in_phase(&csv, CsvPhase::Succeeded).await?;
    let is_alone = async || Ok(scene.csvs().await? == [csv.as_str()]);
    let what = format!("{csv} alone");
    scene.case.eventually(&what, is_alone).await?;
    let deployment = scene.api::<Deployment>().get("gopher").await?;
    ensure!(image(&deployment) == image_of(version), "{deployment:?}");
    Ok(deployment)
}

fn pinned(to: Option<&str>) -> Value {
    json!({"spec": {"version": to}})
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

        let back = pinned(Some("~1.1"));
        scene.patch::<Subscription>("gopher", back).await?;
        ends_with(&scene, "1.1.0", 2).await?;
        // Each says that it replaces the other.
        let older = scene.api::<ClusterServiceVersion>();
        let older = older.get("gopher.v1.1.0").await?;
        ensure!(older.spec.replaces == "gopher.v1.2.0", "{older:?}");

        let on = pinned(None);
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

        let back = pinned(Some("~1.1"));
        scene.patch::<Subscription>("gopher", back).await?;
        ends_with(&scene, "1.1.0", 1).await?;
        let plans = scene.names::<InstallPlan>().await?;
        ensure!(plans.len() == 3, "{plans:?}");
        Ok(())
    })
    .await;
}

/// An operator that may do something everywhere, and is about to get a version whose Pods are nowhere. That version as
/// it should be.
async fn upgrading(scene: &Scene<'_>) -> anyhow::Result<Operator> {
    let rule = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
    let first = version(scene, "1.1.0").may_everywhere(&rule);
    let second = |spec: Value| {
        let second = version_with(scene, "1.2.0", spec).replaces("1.1.0");
        second.may_everywhere(&rule)
    };
    scene
        .config_map_catalog("hub", &[stable([first.clone()])])
        .await?;
    scene.subscribe("gopher", "hub", json!({})).await?;
    ends_with(scene, "1.1.0", 1).await?;
    scene
        .restock("hub", &[stable([first, second(nowhere())])])
        .await?;
    scene
        .because("gopher.v1.2.0", CsvReason::InstallWaiting)
        .await?;
    Ok(second(json!({})))
}

/// The CSV of a name, if it stays.
fn staying<'a>(csvs: &'a [ClusterServiceVersion], name: &str) -> Option<&'a ClusterServiceVersion> {
    let mut csvs = csvs.iter();
    csvs.find(|csv| csv.name_any() == name && csv.metadata.deletion_timestamp.is_none())
}

#[tokio::test]
async fn who_goes_back_while_the_upgrade_ends_keeps_the_newer_version_until_the_older_one_runs() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let mended = upgrading(&scene).await?;
        let csvs = scene.api::<ClusterServiceVersion>();
        let first = csvs.get("gopher.v1.1.0").await?;
        let back = pinned(Some("~1.1"));
        scene.patch::<Subscription>("gopher", back).await?;
        // With that, the older version is to go, and to come back.
        scene.change_to(&mended).await?;
        case.eventually("back at the older version", async || {
            let csvs = csvs.list(&ListParams::default()).await?.items;
            let older = staying(&csvs, "gopher.v1.1.0");
            let is_back =
                older.is_some_and(|it| it.uid() != first.uid() && phase(it) == CsvPhase::Succeeded);
            let is_there = staying(&csvs, "gopher.v1.2.0").is_some();
            ensure!(is_back || is_there, "neither version is there to stay");
            Ok(is_back)
        })
        .await?;
        ends_with(&scene, "1.1.0", 4).await
    })
    .await;
}

/// What somebody puts on a CSV, so that it does not go.
const HOLD: &str = "example.com/dig";

async fn hold(scene: &Scene<'_>, csv: &str) -> anyhow::Result<()> {
    let live = scene.api::<ClusterServiceVersion>().get(csv).await?;
    let mut finalizers = live.finalizers().to_vec();
    finalizers.push(HOLD.to_owned());
    let held = json!({"metadata": {"finalizers": finalizers}});
    scene.patch::<ClusterServiceVersion>(csv, held).await
}

async fn let_go(scene: &Scene<'_>, csv: &str) -> anyhow::Result<()> {
    let free = json!({"metadata": {"finalizers": null}});
    scene.patch::<ClusterServiceVersion>(csv, free).await
}

/// Waits until a plan says that it waits for a CSV that somebody holds.
async fn waits_for(scene: &Scene<'_>, csv: &str) -> anyhow::Result<()> {
    let words = format!("{csv} (held by {HOLD})");
    let says = async || {
        let plans = scene.api::<InstallPlan>();
        let plans = plans.list(&ListParams::default()).await?.items;
        let mut said = plans.iter().filter_map(|plan| plan.status.as_ref());
        Ok(said.any(|status| status.message.contains(&words)))
    };
    let what = format!("a plan that waits for {words}");
    scene.case.eventually(&what, says).await
}

#[tokio::test]
async fn a_version_that_is_on_its_way_out_is_waited_for_while_the_newer_one_runs() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let mended = upgrading(&scene).await?;
        hold(&scene, "gopher.v1.1.0").await?;
        let back = pinned(Some("~1.1"));
        scene.patch::<Subscription>("gopher", back).await?;
        scene.change_to(&mended).await?;
        waits_for(&scene, "gopher.v1.1.0").await?;

        let newer = scene.in_phase("gopher.v1.2.0", CsvPhase::Succeeded).await?;
        ensure!(newer.metadata.deletion_timestamp.is_none(), "{newer:?}");
        // Whatever is written for the older one now would go with it.
        let of = format!(
            "olm.owner=gopher.v1.1.0,olm.owner.namespace={}",
            scene.namespace
        );
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let roles = roles.list(&ListParams::default().labels(&of)).await?.items;
        ensure!(roles.is_empty(), "{roles:?}");
        let pending = |it: &Subscription| {
            it.status.as_ref().is_some_and(|status| {
                status.state == SubscriptionState::UpgradePending
                    && status.installed_csv == "gopher.v1.2.0"
                    && status.current_csv == "gopher.v1.1.0"
            })
        };
        scene.until("gopher", "on its way back", pending).await?;

        let_go(&scene, "gopher.v1.1.0").await?;
        ends_with(&scene, "1.1.0", 4).await
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_waits_for_a_newer_version_to_go_says_for_which_and_who_holds_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = version(&scene, "1.1.0");
        let mut stuck = nowhere();
        stuck["progressDeadlineSeconds"] = json!(2);
        let second = version_with(&scene, "1.2.0", stuck).replaces("1.1.0");
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        ends_with(&scene, "1.1.0", 1).await?;
        scene.restock("hub", &[stable([first, second])]).await?;
        scene.in_phase("gopher.v1.2.0", CsvPhase::Failed).await?;
        hold(&scene, "gopher.v1.2.0").await?;

        let back = pinned(Some("~1.1"));
        scene.patch::<Subscription>("gopher", back).await?;
        waits_for(&scene, "gopher.v1.2.0").await?;
        let_go(&scene, "gopher.v1.2.0").await?;
        ends_alone(&scene, "1.1.0").await?;
        Ok(())
    })
    .await;
}
