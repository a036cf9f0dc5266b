//! An install with everything in it, from images, for tests that disturb it.

use anyhow::ensure;
use chandler::api::conditions::{InstallPlanPhase, SubscriptionConditionType};
use chandler::api::install_plan::InstallPlan;
use serde_json::json;

use super::scene::Scene;
use super::wares::stable;

/// A catalog, and a Subscription to what is in it.
pub async fn order(scene: &Scene<'_>) -> anyhow::Result<()> {
    stock(scene).await?;
    scene.subscribe("gopher", "hub", json!({})).await
}

/// A catalog of a package with all that can be in a plan, and of one that it depends on, which gets
/// a Subscription.
pub async fn stock(scene: &Scene<'_>) -> anyhow::Result<()> {
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
    let everywhere = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
    let gopher = scene
        .operator("gopher", "1.0.0")
        .owns("Gopher")
        .requires("Burrow")
        .may(&rule)
        .may_everywhere(&everywhere)
        .with(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gopher-config"}, "data": {"depth": "3"},
        }));
    let burrow = scene.operator("burrow", "1.0.0").owns("Burrow").may(&rule);
    scene
        .image_catalog("hub", &[stable([gopher]), stable([burrow])])
        .await
}

/// Waits for the end of the install: everything is there, and by one plan.
pub async fn done(scene: &Scene<'_>) -> anyhow::Result<()> {
    scene.at_latest("gopher", "gopher.v1.0.0").await?;
    let generated = format!("burrow-stable-hub-{}", scene.namespace);
    scene.at_latest(&generated, "burrow.v1.0.0").await?;
    let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
    for subscription in ["gopher", &generated] {
        scene
            .said(subscription, SubscriptionConditionType::Healthy)
            .await?;
    }
    let plans = scene.names::<InstallPlan>().await?;
    ensure!(
        plans.len() == 1,
        "{:?} is not the only plan: {plans:?}",
        plan.metadata.name
    );
    Ok(())
}
