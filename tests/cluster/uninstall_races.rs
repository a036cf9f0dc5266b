//! Removals by a process that hears of things late, or is in the middle of something else.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, SubscriptionConditionType};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::gateway::Gateway;
use crate::support::killing::role;
use crate::support::process::Process;
use crate::support::scene::{Scene, condition};
use crate::support::wares::stable;

fn everything() -> Value {
    json!({"policy": {"removal": "Everything"}})
}

async fn has_finalizer(scene: &Scene<'_>) -> anyhow::Result<()> {
    let has = |it: &Subscription| it.metadata.finalizers.is_some();
    scene.until("gopher", "with a finalizer", has).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_goes_is_asked_for_and_not_taken_from_a_watch_that_is_behind() {
    on_cluster(async |case| {
        let scene = Scene::for_all(case).await?;
        let elsewhere = case.namespace().await?;
        let namespaces = [elsewhere.as_str(), &scene.namespace];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        // Nothing is heard of namespaces after they were listed.
        let held = gateway
            .hold(|_, path| path.starts_with("/api/v1/namespaces?") && path.contains("watch="));
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("deaf", &kubeconfig, &namespaces))?;
        held.is_reached().await;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .supports(&["AllNamespaces"]);
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", everything()).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        has_finalizer(&scene).await?;
        scene.give_up("gopher", &[scene.crd_of("Gopher")]).await?;
        let abroad = json!({
            "apiVersion": format!("{}.example.com/v1", scene.namespace), "kind": "Gopher",
            "metadata": {"name": "abroad"}, "spec": {},
        });
        scene.create_in(&elsewhere, abroad).await?;
        let all = Api::<Namespace>::all(case.client.clone());
        all.delete(&scene.namespace, &DeleteParams::default())
            .await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.gone::<Subscription>("gopher").await?;
        let abroad = scene.resources_in(&elsewhere, "Gopher");
        let abroad = abroad.get("abroad").await?;
        ensure!(abroad.metadata.deletion_timestamp.is_none(), "it goes");
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&scene.crd_of("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_made_at_the_last_moment_keeps_its_crd() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("slow", &kubeconfig, &namespaces))?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", everything()).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        has_finalizer(&scene).await?;
        // When it looks for what is left of the package it has seen that nobody has a gopher.
        let held = gateway.hold(|_, path| {
            path.contains("/priorityclasses?")
                && path.contains("gopher.")
                && !path.contains("watch=")
        });
        scene.delete::<Subscription>("gopher").await?;
        held.is_reached().await;
        scene.make("Gopher", "late", &[]).await?;
        held.release();
        scene.gone::<Subscription>("gopher").await?;
        let late = scene.resources("Gopher").get("late").await?;
        ensure!(late.metadata.deletion_timestamp.is_none(), "it goes");
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let crd = crds.get(&scene.crd_of("Gopher")).await?;
        ensure!(crd.metadata.deletion_timestamp.is_none(), "its CRD goes");
        crds.delete(&scene.crd_of("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_after_all_while_it_is_looked_at_stays() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("patient", &kubeconfig, &namespaces))?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", everything()).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        has_finalizer(&scene).await?;
        scene.make("Gopher", "digger", &[]).await?;
        scene.give_up("gopher", &[scene.crd_of("Gopher")]).await?;
        // To list them takes long where there are many.
        let held = gateway.hold(|method, path| {
            method == http::Method::GET && path.contains("/gophers?") && path.contains("limit=")
        });
        scene.delete::<Subscription>("gopher").await?;
        held.is_reached().await;
        let keep = json!({"spec": {"policy": {"removal": "Keep"}}});
        scene.patch::<Subscription>("gopher", keep).await?;
        held.release();
        scene.gone::<Subscription>("gopher").await?;
        let digger = scene.resources("Gopher").get("digger").await?;
        ensure!(digger.metadata.deletion_timestamp.is_none(), "it goes");
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene
            .delete::<ClusterServiceVersion>("gopher.v1.0.0")
            .await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&scene.crd_of("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_being_carried_out_brings_nothing_back() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        // The last write of an install is on its way for long.
        let held = gateway.hold(|method, path| {
            method == http::Method::POST && path.contains("/clusterserviceversions?")
        });
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("busy", &kubeconfig, &namespaces))?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", everything()).await?;
        has_finalizer(&scene).await?;
        held.is_reached().await;
        scene.delete::<Subscription>("gopher").await?;
        let is_stopped = async || Ok(scene.names::<InstallPlan>().await?.is_empty());
        case.eventually("stopped", is_stopped).await?;
        let waits = |it: &Subscription| {
            let removing = condition(it, &SubscriptionConditionType::Removing);
            removing.is_some_and(|it| it.reason == "InstallPlanUnderway")
        };
        scene.until("gopher", "waiting for the plan", waits).await?;
        held.release();
        scene.gone::<Subscription>("gopher").await?;
        ensure!(scene.csvs().await?.is_empty(), "{:?}", scene.csvs().await?);
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &scene.crd_of("Gopher"), "gone", is_gone)
            .await
    })
    .await;
}
