//! Installs that were given up, and what lets them go on.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use chandler::api::subscription::Subscription;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::status;
use crate::support::scene::Scene;
use crate::support::stand_in::webhook;
use crate::support::wares::stable;

/// Waits until an install is given up, and gives what is said of it.
async fn is_given_up(scene: &Scene<'_>, csv: &str) -> anyhow::Result<String> {
    let given_up = |csv: &ClusterServiceVersion| {
        let status = status(csv);
        status.phase == CsvPhase::Failed
            && status.reason == CsvReason::InstallComponentFailedNoRetry
    };
    let csv = scene.until(csv, "given up", given_up).await?;
    Ok(status(&csv).message)
}

#[tokio::test]
async fn a_csv_that_makes_no_sense_goes_on_once_its_author_mends_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let mut hook = webhook(&gopher, "validate");
        hook["failurePolicy"] = json!("Ignore");
        hook["deploymentName"] = json!("nobody");
        let with = |hook: &Value| {
            let hooks = json!({"spec": {"webhookdefinitions": [hook]}});
            gopher.clone().csv_with(hooks)
        };
        scene.by_hand(&with(&hook)).await?;
        let message = is_given_up(&scene, "gopher.v1.0.0").await?;
        ensure!(
            message.contains("missing deployment nobody")
                && message.contains("tried again when the ClusterServiceVersion"),
            "{message}"
        );
        hook["deploymentName"] = json!("gopher");
        scene.change_to(&with(&hook)).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_configuration_that_makes_no_sense_can_be_corrected_in_the_subscription() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        let nonsense = json!({"matchExpressions": [{"key": "app", "operator": "Resembles"}]});
        let config = json!({"config": {"selector": nonsense}});
        scene.subscribe("gopher", "hub", config).await?;
        let message = is_given_up(&scene, "gopher.v1.0.0").await?;
        ensure!(message.contains("spec.config.selector"), "{message}");
        let corrected = json!({"spec": {"config": {"selector": null}}});
        scene.patch::<Subscription>("gopher", corrected).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_a_policy_refuses_goes_on_once_the_policy_is_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let policies = Api::<ValidatingAdmissionPolicy>::all(case.client.clone());
        let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(case.client.clone());
        let name = &scene.namespace;
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
        let policy = json!({
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "namespaceSelector": selector,
                    "resourceRules": [{
                        "apiGroups": ["apps"], "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
                    }],
                },
                "validations": [{"expression": "false", "message": "no Deployments on Fridays"}],
            },
        });
        let binding = json!({
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        let asking = PostParams::default();
        policies
            .create(&asking, &serde_json::from_value(policy)?)
            .await?;
        bindings
            .create(&asking, &serde_json::from_value(binding)?)
            .await?;
        case.eventually("refused by the policy", async || refuses(&scene).await)
            .await?;

        scene.by_hand(&scene.operator("gopher", "1.0.0")).await?;
        let message = is_given_up(&scene, "gopher.v1.0.0").await?;
        ensure!(
            message.contains("no Deployments on Fridays") && message.contains("policy"),
            "{message}"
        );
        bindings.delete(name, &DeleteParams::default()).await?;
        policies.delete(name, &DeleteParams::default()).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

/// Whether a Deployment, which is not kept, would be refused.
async fn refuses(scene: &Scene<'_>) -> anyhow::Result<bool> {
    let labels = json!({"app": "probe"});
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "probe"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "probe", "image": "example.com/probe"}]},
            },
        },
    }))?;
    let asking = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let outcome = scene.api::<Deployment>().create(&asking, &deployment).await;
    Ok(outcome.is_err_and(|error| error.to_string().contains("no Deployments on Fridays")))
}
