//! Plans that wait for somebody, and plans that are out of date.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{InstallPlanPhase, SubscriptionConditionType as Type};
use chandler::api::install_plan::{Approval, InstallPlan};
use chandler::api::subscription::Subscription;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::scene::{Scene, condition, manual, plan_name};
use crate::support::wares::stable;

#[tokio::test]
async fn a_manual_plan_waits_until_somebody_approves_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        ensure!(
            plan.spec.approval == Approval::Manual && !plan.spec.approved,
            "{:?}",
            plan.spec
        );
        let pending = scene.said("gopher", Type::InstallPlanPending).await?;
        ensure!(pending.reason == "RequiresApproval", "{pending:?}");
        ensure!(scene.csvs().await?.is_empty(), "nobody approved it");
        scene.approve(&plan).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.unsaid("gopher", Type::InstallPlanPending).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn one_manual_subscription_does_not_hold_up_its_neighbours() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let channels = [
            stable([scene.operator("gopher", "1.0.0")]),
            stable([scene.operator("mole", "1.0.0")]),
        ];
        scene.config_map_catalog("hub", &channels).await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        scene.subscribe("mole", "hub", json!({})).await?;
        scene.at_latest("mole", "mole.v1.0.0").await?;
        scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        ensure!(
            scene.csvs().await? == ["mole.v1.0.0"],
            "{:?}",
            scene.csvs().await?
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_patch_policy_lets_patches_through_and_asks_for_the_rest() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        let patch = scene.operator("gopher", "1.0.1").replaces("1.0.0");
        let minor = scene.operator("gopher", "1.1.0").replaces("1.0.1");
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene
            .subscribe("gopher", "hub", json!({"policy": {"approval": "Patch"}}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene
            .restock("hub", &[stable([first.clone(), patch.clone()])])
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.1").await?;
        let csvs = scene.api::<ClusterServiceVersion>();
        csvs.delete("gopher.v1.0.0", &DeleteParams::default())
            .await?;
        scene
            .restock("hub", &[stable([first, patch, minor])])
            .await?;
        let waiting = scene
            .until("gopher", "asked for approval", |it: &Subscription| {
                condition(it, &Type::InstallPlanPending)
                    .is_some_and(|it| it.reason == "RequiresApproval")
            })
            .await?;
        ensure!(plan_name(&waiting).is_some(), "{:?}", waiting.status);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_pending_plan_that_is_out_of_date_is_made_anew() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let stale = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let second = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        scene.restock("hub", &[stable([first, second])]).await?;
        let offered = scene
            .until("gopher", "offered 2.0.0", |it: &Subscription| {
                let status = it.status.clone().unwrap_or_default();
                status.current_csv == "gopher.v2.0.0"
                    && plan_name(it).is_some_and(|it| it != stale.name_any())
            })
            .await?;
        let gone = scene
            .api::<InstallPlan>()
            .get_opt(&stale.name_any())
            .await?;
        ensure!(gone.is_none(), "the old plan could still be approved");
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        ensure!(
            Some(plan.name_any()) == plan_name(&offered),
            "{:?}",
            plan.name_any()
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_deleted_pending_plan_is_made_anew() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let uid = plan.uid();
        scene
            .api::<InstallPlan>()
            .delete(&plan.name_any(), &DeleteParams::default())
            .await?;
        scene
            .until("gopher", "with another plan", |it: &Subscription| {
                let reference = it
                    .status
                    .as_ref()
                    .and_then(|it| it.install_plan_ref.clone());
                reference.is_some_and(|it| it.uid.is_some() && it.uid != uid)
            })
            .await?;
        Ok(())
    })
    .await;
}
