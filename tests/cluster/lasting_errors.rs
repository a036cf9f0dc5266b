//! Steps of plans that fail again and again, for a reason that somebody may end.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::conditions::{ConditionStatus, InstallPlanConditionType, InstallPlanPhase};
use chandler::api::install_plan::InstallPlan;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// OLM lets a plan fail for good by then.
const A_MINUTE: Duration = Duration::from_mins(1);
/// The longest pause between two attempts, and some more.
const NEXT_ATTEMPT: Duration = Duration::from_secs(150);

/// Has ConfigMaps of a name looked at by a webhook that nobody answers for.
async fn break_webhook(scene: &Scene<'_>, name: &str) -> anyhow::Result<()> {
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        // By the label it goes with the namespace, also when the test fails.
        "metadata": {"name": scene.namespace, "labels": {"olm.owner.namespace": scene.namespace}},
        "webhooks": [{
            "name": "nobody.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": ["configmaps"],
            }],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}},
            "matchConditions": [
                {"name": "of-a-name", "expression": format!("object.metadata.name == '{name}'")},
            ],
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    }))?;
    let api = Api::<ValidatingWebhookConfiguration>::all(scene.case.client.clone());
    api.create(&PostParams::default(), &configuration).await?;
    Ok(())
}

#[tokio::test]
async fn a_step_that_fails_for_longer_than_a_minute_is_tried_again_until_it_succeeds() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let tunnels = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tunnels"},
        });
        break_webhook(&scene, "tunnels").await?;
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let config_maps = scene.api::<ConfigMap>();
        let object: ConfigMap = serde_json::from_value(tunnels.clone())?;
        let is_broken = async || Ok(config_maps.create(&dry, &object).await.is_err());
        case.eventually("broken", is_broken).await?;
        let gopher = scene.operator("gopher", "1.0.0").with(tunnels);
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let name = scene
            .plan_of("gopher", InstallPlanPhase::Installing)
            .await?
            .name_any();
        let is_told = |plan: &InstallPlan| {
            let status = plan.status.as_ref();
            status.is_some_and(|it| {
                it.phase == InstallPlanPhase::Installing
                    && it.message.starts_with("retrying execution due to error: ")
                    && it.message.contains("ConfigMap")
                    && it
                        .message
                        .contains("failed calling webhook \"nobody.example.com\"")
            })
        };
        let told = scene.until(&name, "told what is wrong", is_told).await?;
        let begun = told.status.as_ref().and_then(|it| it.start_time.clone());
        let begun = begun.context("it has not begun")?.0;
        let plans = scene.api::<InstallPlan>();
        let has_lasted = async || {
            let age = Timestamp::now().duration_since(begun).unsigned_abs();
            Ok(age > A_MINUTE + Duration::from_secs(5))
        };
        case.within(2 * A_MINUTE, "so for long", has_lasted).await?;
        let later = plans.get(&name).await?;
        ensure!(is_told(&later), "{:?}", later.status);
        ensure!(
            later.resource_version() == told.resource_version(),
            "the same was said again: {:?} and then {:?}",
            told.status,
            later.status
        );
        ensure!(
            scene.csvs().await?.is_empty(),
            "an operator without what it needs"
        );
        let webhooks = Api::<ValidatingWebhookConfiguration>::all(case.client.clone());
        webhooks
            .delete(&scene.namespace, &DeleteParams::default())
            .await?;
        let is_done = async || {
            let status = plans.get(&name).await?.status.unwrap_or_default();
            let installed = status.condition(&InstallPlanConditionType::Installed);
            let is_true = installed.is_some_and(|it| it.status == ConditionStatus::True);
            Ok(status.phase == InstallPlanPhase::Complete && is_true)
        };
        case.within(NEXT_ATTEMPT, "done", is_done).await?;
        config_maps.get("tunnels").await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        Ok(())
    })
    .await;
}
