//! How Subscriptions and their InstallPlans go together, and what each says of the other.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{InstallPlanPhase, SubscriptionConditionType as Type};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::{Scene, condition, manual, plan_name};
use crate::support::wares::stable;

/// Has the status of a plan say something else, as nobody does who means well.
async fn overwrite(scene: &Scene<'_>, plan: &InstallPlan, status: Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"status": status}));
    let api = scene.api::<InstallPlan>();
    api.patch_status(&plan.name_any(), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

async fn says(scene: &Scene<'_>, type_: Type, reason: &str) -> anyhow::Result<()> {
    let what = format!("{type_} for {reason}");
    scene
        .until("gopher", &what, |it: &Subscription| {
            condition(it, &type_).is_some_and(|it| it.reason == reason)
        })
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_subscription_says_how_its_plan_is() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        says(&scene, Type::InstallPlanPending, "RequiresApproval").await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let waiting = scene.api::<Subscription>().get("gopher").await?;
        let installed = waiting.status.unwrap_or_default();
        let installed = installed.condition(&Type::Installed).cloned();
        let approve = format!(
            "`chandler approve {} -n {}`",
            plan.name_any(),
            scene.namespace
        );
        ensure!(
            installed
                .as_ref()
                .is_some_and(|it| it.message.contains(&approve)),
            "{installed:?}"
        );
        scene.approve(&plan).await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.unsaid("gopher", Type::InstallPlanPending).await?;
        overwrite(
            &scene,
            &plan,
            json!({"phase": "Failed", "conditions": null}),
        )
        .await?;
        says(&scene, Type::InstallPlanFailed, "InstallPlanFailed").await?;
        let failed = json!({"conditions": [
            {"type": "Installed", "status": "False", "reason": "InstallComponentFailed"},
        ]});
        overwrite(&scene, &plan, failed).await?;
        says(&scene, Type::InstallPlanFailed, "InstallComponentFailed").await?;
        scene.delete::<InstallPlan>(&plan.name_any()).await?;
        says(
            &scene,
            Type::InstallPlanMissing,
            "ReferencedInstallPlanNotFound",
        )
        .await?;
        scene.unsaid("gopher", Type::InstallPlanFailed).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_failed_is_made_anew_when_its_cause_and_it_are_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        // What one has, no other can have.
        let service = |name: &str, address: &str| {
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"clusterIP": address, "ports": [{"port": 80}], "selector": {"a": "b"}},
            })
        };
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "first"},
                "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
            }))
            .await?;
        let first = scene.api::<Service>().get("first").await?;
        let address = first.spec.and_then(|spec| spec.cluster_ip);
        let address = address.unwrap_or_default();
        let gopher = scene
            .operator("gopher", "1.0.0")
            .with(service("second", &address));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Failed).await?;
        let named = scene
            .until("gopher", "told of the failure", |it: &Subscription| {
                condition(it, &Type::InstallPlanFailed).is_some()
            })
            .await?;
        let status = named.status.unwrap_or_default();
        let installed = status.condition(&Type::Installed).cloned();
        let delete = format!(
            "`kubectl delete installplan {} -n {}`",
            plan.name_any(),
            scene.namespace
        );
        ensure!(
            installed.as_ref().is_some_and(
                |it| it.message.contains(&delete) && it.message.contains("already allocated")
            ),
            "{installed:?}"
        );
        scene.delete::<Service>("first").await?;
        scene.delete::<InstallPlan>(&plan.name_any()).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene.unsaid("gopher", Type::InstallPlanFailed).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_etcd_would_not_take_is_refused_in_words() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        // Without an image, the plan has to hold everything.
        let description = "long ".repeat(400_000);
        let big = scene
            .operator("gopher", "1.0.0")
            .csv_with(json!({"spec": {"description": description}}));
        let blobs = crate::support::wares::blobs(&[stable([big])], &[]);
        let catalog = scene.shop().push_blobs("hub", &blobs).await?;
        scene.catalog_of("hub", &catalog, json!({})).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::BundleUnpackFailed).await?;
        ensure!(
            failed.message.contains("etcd takes no more than")
                && failed
                    .message
                    .contains("catalog hub has bundle gopher.v1.0.0"),
            "{failed:?}"
        );
        ensure!(scene.names::<InstallPlan>().await?.is_empty());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_with_a_very_long_name_gets_its_rights() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let package = format!("gopher-{}", "very-".repeat(10));
        let package = format!("{package}long");
        let rule = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
        let gopher = scene.operator(&package, "1.0.0").csv_with(
            json!({"spec": {"install": {"spec": {"clusterPermissions": [
                {"serviceAccountName": "gopher", "rules": [rule]},
            ]}}}}),
        );
        let csv = gopher.csv_name();
        ensure!(csv.len() > 63, "{csv}");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe(&package, "hub", json!({})).await?;
        scene.at_latest(&package, &csv).await?;
        scene.plan_of(&package, InstallPlanPhase::Complete).await?;
        scene.api::<ClusterServiceVersion>().get(&csv).await?;
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let ours = ListParams::default().labels(&format!(
            "olm.owner.kind=ClusterServiceVersion,olm.owner.namespace={}",
            scene.namespace
        ));
        let found = roles.list(&ours).await?.items;
        ensure!(found.len() == 1, "{found:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_approval_of_a_plan_follows_its_subscription() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let automatic = json!({"spec": {"installPlanApproval": "Automatic"}});
        scene.patch::<Subscription>("gopher", automatic).await?;
        let done = scene.at_latest("gopher", "gopher.v1.0.0").await?;
        ensure!(
            plan_name(&done) != Some(plan.name_any()),
            "{:?}",
            done.status
        );
        ensure!(scene.names::<InstallPlan>().await?.len() == 1);
        Ok(())
    })
    .await;
}
