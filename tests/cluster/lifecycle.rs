//! The life of a ClusterServiceVersion: installed, watched, upgraded, removed.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use chandler::api::operator_condition::OperatorCondition;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::reason;
use crate::support::scene::Scene;
use crate::support::wares::stable;

#[tokio::test]
async fn an_operator_from_a_catalog_ends_in_succeeded_with_its_deployment_running() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .may(&json!({
                "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"],
            }));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let csv = scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let status = csv.status.as_ref().unwrap();
        ensure!(
            status.message == "install strategy completed with no errors",
            "{status:?}"
        );
        let phases: Vec<&str> = status
            .conditions
            .iter()
            .map(|it| it.phase.as_str())
            .collect();
        let wanted = ["Pending", "InstallReady", "Installing", "Succeeded"];
        let mut order = phases.clone();
        order.dedup();
        ensure!(order == wanted, "{phases:?}");
        let deployment = scene.api::<Deployment>().get("gopher").await?;
        let template = deployment.spec.unwrap().template;
        let annotations = template.metadata.unwrap().annotations.unwrap();
        ensure!(
            annotations["olm.targetNamespaces"] == scene.namespace,
            "{annotations:?}"
        );
        let environment = json!(template.spec.unwrap().containers[0].env);
        ensure!(
            environment[0] == json!({"name": "OPERATOR_CONDITION_NAME", "value": "gopher.v1.0.0"}),
            "{environment}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_csv_waits_for_a_crd_that_is_missing_and_goes_on_when_it_comes() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let operator = scene.operator("needy", "1.0.0").requires("Ship");
        scene.by_hand(&operator).await?;
        let csv = scene
            .until("needy.v1.0.0", "RequirementsNotMet", |csv| {
                reason(csv) == CsvReason::RequirementsNotMet
            })
            .await?;
        let status = csv.status.unwrap();
        ensure!(
            status.message.contains(&operator.crd_name("Ship")),
            "{}",
            status.message
        );
        ensure!(status.requirement_status.iter().any(|it| {
            it.kind == "CustomResourceDefinition" && it.status.as_str() == "NotPresent"
        }));
        scene.with_crd(&operator, "Ship").await?;
        scene.in_phase("needy.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_somebody_changes_in_a_deployment_is_changed_back() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.by_hand(&scene.operator("firm", "1.0.0")).await?;
        scene.in_phase("firm.v1.0.0", CsvPhase::Succeeded).await?;
        let image = |deployment: &Deployment| {
            let template = &deployment.spec.as_ref().unwrap().template;
            let container = &template.spec.as_ref().unwrap().containers[0];
            container.image.clone().unwrap_or_default()
        };
        let patch = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "operator", "image": "example.com/else:v1"},
        ]}}}});
        scene.patch::<Deployment>("firm", patch).await?;
        scene
            .until("firm", "with its own image", |it| {
                image(it) == "example.com/operator:v1"
            })
            .await?;
        scene.in_phase("firm.v1.0.0", CsvPhase::Succeeded).await?;
        scene
            .api::<Deployment>()
            .delete("firm", &DeleteParams::default())
            .await?;
        scene
            .until("firm", "made anew", |_: &Deployment| true)
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_newer_version_takes_over_and_the_older_one_goes() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.by_hand(&scene.operator("gopher", "1.0.0")).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let before = scene.api::<Deployment>().get("gopher").await?;
        scene
            .by_hand(&scene.operator("gopher", "2.0.0").replaces("1.0.0"))
            .await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        let api = scene.api::<ClusterServiceVersion>();
        let is_gone = |csv: Option<&ClusterServiceVersion>| csv.is_none();
        case.wait(&api, "gopher.v1.0.0", "gone", is_gone).await?;
        let after = scene.api::<Deployment>().get("gopher").await?;
        ensure!(before.uid() == after.uid(), "the Deployment was not kept");
        let owners: Vec<&str> = after
            .owner_references()
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        ensure!(owners == ["gopher.v2.0.0"], "{owners:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_says_it_is_not_upgradeable_is_not_replaced_until_it_is() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.by_hand(&scene.operator("gopher", "1.0.0")).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let said = json!({"spec": {"conditions": [{
            "type": "Upgradeable", "status": "False", "reason": "Busy",
            "message": "moving the burrow", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        scene
            .patch::<OperatorCondition>("gopher.v1.0.0", said)
            .await?;
        scene
            .until("gopher.v1.0.0", "noted", |it: &OperatorCondition| {
                it.status
                    .as_ref()
                    .is_some_and(|status| !status.conditions.is_empty())
            })
            .await?;
        scene
            .by_hand(&scene.operator("gopher", "2.0.0").replaces("1.0.0"))
            .await?;
        let csv = scene
            .until("gopher.v2.0.0", "held", |csv| {
                reason(csv) == CsvReason::OperatorConditionNotUpgradeable
            })
            .await?;
        let message = csv.status.unwrap().message;
        ensure!(message.contains("moving the burrow"), "{message}");
        let overruled = json!({"spec": {"overrides": [{
            "type": "Upgradeable", "status": "True", "reason": "Admin", "message": "go",
        }]}});
        scene
            .patch::<OperatorCondition>("gopher.v1.0.0", overruled)
            .await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_an_operator_has_outside_its_namespace_goes_with_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").may_everywhere(&json!({
            "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"],
        }));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let ours =
            ListParams::default().labels(&format!("olm.owner.namespace={}", scene.namespace));
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let bindings = Api::<ClusterRoleBinding>::all(case.client.clone());
        let count = bindings.list(&ours).await?.items.len();
        ensure!(count == 1, "{count} ClusterRoleBindings");
        scene.delete_csv("gopher.v1.0.0").await?;
        ensure!(bindings.list(&ours).await?.items.is_empty());
        let left = roles.list(&ours).await?;
        let left: Vec<String> = left
            .items
            .iter()
            .filter(|it| {
                it.labels().get("olm.owner.kind").map(String::as_str)
                    == Some("ClusterServiceVersion")
            })
            .map(kube::ResourceExt::name_any)
            .collect();
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_validating_webhook_gets_a_service_a_certificate_and_a_configuration() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let hook: Value = json!({"spec": {"webhookdefinitions": [{
            "type": "ValidatingAdmissionWebhook", "generateName": "check.gopher.example.com",
            "deploymentName": "gopher", "containerPort": 8443, "targetPort": 8443,
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "webhookPath": "/check",
            "rules": [{
                "apiGroups": ["gopher.example.com"], "apiVersions": ["v1"],
                "resources": ["gophers"], "operations": ["CREATE"],
            }],
        }]}});
        scene
            .by_hand(&scene.operator("gopher", "1.0.0").csv_with(hook))
            .await?;
        let csv = scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        ensure!(csv.status.unwrap().certs_rotate_at.is_some());
        let configurations = Api::<
            k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
        >::all(case.client.clone());
        let ours =
            ListParams::default().labels(&format!("olm.owner.namespace={}", scene.namespace));
        let found = configurations.list(&ours).await?.items;
        ensure!(found.len() == 1, "{found:?}");
        let webhook = &found[0].webhooks.as_ref().unwrap()[0];
        let service = webhook.client_config.service.as_ref().unwrap();
        ensure!(service.name == "gopher-service", "{service:?}");
        ensure!(webhook.client_config.ca_bundle.is_some());
        scene.delete_csv("gopher.v1.0.0").await?;
        ensure!(configurations.list(&ours).await?.items.is_empty());
        Ok(())
    })
    .await;
}
