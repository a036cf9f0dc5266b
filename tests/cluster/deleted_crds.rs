//! CRDs that somebody deletes under an operator, or under its install.

use anyhow::ensure;
use chandler::api::conditions::{
    CsvPhase, CsvReason, InstallPlanPhase, RequirementState, SubscriptionConditionType,
};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::life::{requirement, status};
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// Deletes the CRD of gophers, and waits until it is gone.
async fn delete_crd(scene: &Scene<'_>) -> anyhow::Result<()> {
    let crds = Api::<CustomResourceDefinition>::all(scene.case.client.clone());
    let name = scene.crd_of("Gopher");
    crds.delete(&name, &DeleteParams::default()).await?;
    let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
    scene.case.wait(&crds, &name, "gone", is_gone).await
}

/// Waits until it is told that gopher lacks its CRD, by the operator and by its Subscription.
async fn is_missed(scene: &Scene<'_>) -> anyhow::Result<()> {
    let csv = scene
        .because("gopher.v1.0.0", CsvReason::RequirementsNotMet)
        .await?;
    let crd = scene.crd_of("Gopher");
    let lacks = requirement(&csv, &crd);
    ensure!(
        lacks.as_ref().is_some_and(|it| {
            it.status == RequirementState::NotPresent && it.message == "CRD is not present"
        }),
        "{lacks:?}"
    );
    let message = status(&csv).message;
    let advice = format!("{crd}: CRD is not present (it is the operator's own: create it from");
    ensure!(message.contains(&advice), "{message}");
    let tells = |it: &Subscription| {
        let status = it.status.as_ref();
        let healthy = status.and_then(|it| it.condition(&SubscriptionConditionType::Healthy));
        healthy.is_some_and(|it| it.message.contains(&advice))
    };
    scene
        .until("gopher", "telling what is missing", tells)
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_without_its_crd_says_so_and_has_it_again_when_it_is_installed_anew() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.make("Gopher", "digger", &[]).await?;
        delete_crd(&scene).await?;
        is_missed(&scene).await?;
        // What ran goes on running: whoever deleted the CRD may bring it back.
        ensure!(
            scene
                .names::<k8s_openapi::api::apps::v1::Deployment>()
                .await?
                == ["gopher"]
        );
        let first: Vec<String> = scene.names::<InstallPlan>().await?;
        scene.delete_csv("gopher.v1.0.0").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let name = plan.metadata.name.unwrap_or_default();
        ensure!(!first.contains(&name), "{name} was done before");
        scene.make("Gopher", "digger", &[]).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_that_goes_while_its_operator_is_installed_is_missed_until_somebody_brings_it_back() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        // Its Pods have to wait for a node.
        let nowhere =
            json!({"spec": {"template": {"spec": {"nodeSelector": {"there-is": "none"}}}}});
        let stuck = gopher.clone().deployment_with(nowhere);
        scene.image_catalog("hub", &[stable([stuck])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene
            .because("gopher.v1.0.0", CsvReason::InstallWaiting)
            .await?;
        delete_crd(&scene).await?;
        scene.change_to(&gopher).await?;
        // That its Pods run now does not make it an operator that works.
        is_missed(&scene).await?;
        scene.with_crd(&gopher, "Gopher").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        Ok(())
    })
    .await;
}
