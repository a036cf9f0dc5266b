//! The version that runs, while the next one is held or does not come up.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use chandler::api::operator_condition::OperatorCondition;
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::expiring;
use crate::support::life::{phase, status};
use crate::support::scene::Scene;
use crate::support::stand_in::webhook;
use crate::support::wares::Operator;

#[tokio::test]
async fn a_group_that_changes_while_an_upgrade_is_held_reaches_the_version_that_runs() {
    on_cluster(async |case| {
        let (home, [one, two]) = Scene::with_neighbours(case).await?;
        home.group_with(json!({"targetNamespaces": [one.namespace]}))
            .await?;
        home.runs(&home.operator("gopher", "1.0.0")).await?;
        let next = home.operator("gopher", "2.0.0").replaces("1.0.0");
        home.by_hand(&next.requires("Nothing")).await?;
        home.in_phase("gopher.v1.0.0", CsvPhase::Replacing).await?;

        let moved = json!({"spec": {"targetNamespaces": [two.namespace]}});
        home.patch::<OperatorGroup>("own", moved).await?;
        // Pods read from it which namespaces they serve.
        let knows = |it: &Deployment| {
            let spec = it.spec.clone().unwrap_or_default();
            let pod = spec.template.metadata.unwrap_or_default();
            let annotations = pod.annotations.unwrap_or_default();
            annotations.get("olm.targetNamespaces") == Some(&two.namespace)
        };
        home.until("gopher", "told of its new namespace", knows)
            .await?;
        let there = |_: &ClusterServiceVersion| true;
        let copy = two.until("gopher.v1.0.0", "copied", there).await?;
        one.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        // Whatever was done about copies meanwhile, that one stayed.
        home.delete_csv("gopher.v2.0.0").await?;
        home.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let is_told = |it: &ClusterServiceVersion| phase(it) == CsvPhase::Succeeded;
        let later = two
            .until("gopher.v1.0.0", "told of its phase", is_told)
            .await?;
        ensure!(later.uid() == copy.uid(), "it was made anew: {later:?}");
        Ok(())
    })
    .await;
}

/// An operator with a webhook, whose Deployment is called like this.
fn with_hook(operator: Operator, deployment: &str, mut changes: Value) -> Operator {
    let mut hook = webhook(&operator, "validate");
    hook["deploymentName"] = json!(deployment);
    // Nobody answers here.
    hook["failurePolicy"] = json!("Ignore");
    changes["name"] = json!(deployment);
    operator
        .deployment_with(changes)
        .csv_with(json!({"spec": {"webhookdefinitions": [hook]}}))
}

/// The webhook configurations of a version.
async fn configurations(
    client: &Client,
    scene: &Scene<'_>,
    csv: &str,
) -> anyhow::Result<Vec<ValidatingWebhookConfiguration>> {
    let of = format!("olm.owner.namespace={},olm.owner={csv}", scene.namespace);
    let api = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    Ok(api.list(&ListParams::default().labels(&of)).await?.items)
}

/// What keeps the Pods of a Deployment from being anywhere.
fn nowhere() -> Value {
    json!({"spec": {"template": {"spec": {"nodeSelector": {"there-is": "none"}}}}})
}

/// What somebody changes in a Deployment is changed back.
async fn is_put_right(scene: &Scene<'_>, deployment: &str) -> anyhow::Result<()> {
    let image = |it: &Deployment| {
        let pod = it.spec.as_ref()?.template.spec.as_ref()?;
        pod.containers[0].image.clone()
    };
    let before = image(&scene.api::<Deployment>().get(deployment).await?);
    let other = json!([{"name": "operator", "image": "example.com/other"}]);
    let change = json!({"spec": {"template": {"spec": {"containers": other}}}});
    scene.patch::<Deployment>(deployment, change).await?;
    let as_before = |it: &Deployment| image(it) == before;
    scene.until(deployment, "as before", as_before).await?;
    Ok(())
}

/// Waits until the certificate of a Deployment is one that those trust who ask the webhooks of a version.
async fn is_trusted(
    client: &Client,
    scene: &Scene<'_>,
    csv: &str,
    deployment: &str,
) -> anyhow::Result<()> {
    let name = format!("{deployment}-service-cert");
    let is_trusted = async || {
        let secret = scene.api::<Secret>().get_opt(&name).await?;
        let authority = secret.and_then(|it| it.data?.get("olmCAKey").cloned());
        let Some(authority) = authority else {
            return Ok(false);
        };
        let found = configurations(client, scene, csv).await?;
        let webhooks = found.into_iter().filter_map(|it| it.webhooks).flatten();
        let mut bundles = webhooks.filter_map(|it| it.client_config.ca_bundle);
        Ok(bundles.any(|it| it.0.starts_with(&authority.0)))
    };
    let what = format!("{deployment} serving with a certificate that {csv} trusts");
    scene.case.eventually(&what, is_trusted).await
}

#[tokio::test]
async fn what_the_older_version_has_alone_is_put_right_while_the_newer_one_does_not_come_up() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = with_hook(scene.operator("gopher", "1.0.0"), "gopher", json!({}));
        scene.runs(&first).await?;
        let second = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        let second = with_hook(second, "burrow", nowhere());
        scene.by_hand(&second).await?;
        scene
            .because("gopher.v2.0.0", CsvReason::InstallWaiting)
            .await?;
        is_put_right(&scene, "gopher").await?;

        let found = configurations(&case.client, &scene, "gopher.v1.0.0").await?;
        let old = found.first().context("no configuration")?.clone();
        let api = Api::<ValidatingWebhookConfiguration>::all(case.client.clone());
        api.delete(&old.name_any(), &DeleteParams::default())
            .await?;
        case.eventually("asked again", async || {
            let found = configurations(&case.client, &scene, "gopher.v1.0.0").await?;
            Ok(found.iter().any(|it| it.uid() != old.uid()))
        })
        .await?;

        scene.delete::<Secret>("gopher-service-cert").await?;
        is_trusted(&case.client, &scene, "gopher.v1.0.0", "gopher").await?;
        let told = status(
            &scene
                .api::<ClusterServiceVersion>()
                .get("gopher.v1.0.0")
                .await?,
        );
        ensure!(told.phase == CsvPhase::Replacing, "{told:?}");
        ensure!(
            told.message == "being replaced by csv: gopher.v2.0.0",
            "{told:?}"
        );
        scene.delete_csv("gopher.v2.0.0").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn two_versions_that_share_a_certificate_trust_the_one_that_the_newer_makes() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = with_hook(scene.operator("gopher", "1.0.0"), "gopher", json!({}));
        scene.runs(&first).await?;
        // By the same name, it has the Service and the Secret of the first.
        let second = || scene.operator("gopher", "2.0.0").replaces("1.0.0");
        let mut stuck = nowhere();
        stuck["spec"]["progressDeadlineSeconds"] = json!(2);
        scene.by_hand(&with_hook(second(), "gopher", stuck)).await?;
        scene
            .because("gopher.v2.0.0", CsvReason::InstallCheckFailed)
            .await?;
        let secret = "gopher-service-cert";
        let owner = |it: &Secret| it.labels().get("olm.owner").cloned();
        let shared = scene.api::<Secret>().get(secret).await?;
        ensure!(owner(&shared).as_deref() == Some("gopher.v2.0.0"));
        let asked = configurations(&case.client, &scene, "gopher.v2.0.0").await?;
        ensure!(asked.is_empty(), "nobody could answer: {asked:?}");

        let hour = Duration::from_hours(1);
        let expiring = expiring::secret(&scene.namespace, "gopher-service", hour)?;
        let data = expiring["data"].clone();
        scene.patch::<Secret>(secret, json!({"data": data})).await?;
        let is_another = |it: &Secret| {
            serde_json::to_value(&it.data).is_ok_and(|now| now["tls.crt"] != data["tls.crt"])
        };
        scene.until(secret, "renewed", is_another).await?;
        is_trusted(&case.client, &scene, "gopher.v1.0.0", "gopher").await?;
        scene.delete::<Secret>(secret).await?;
        is_trusted(&case.client, &scene, "gopher.v1.0.0", "gopher").await?;
        let older = scene.api::<ClusterServiceVersion>();
        let told = status(&older.get("gopher.v1.0.0").await?);
        ensure!(
            told.phase == CsvPhase::Replacing
                && told.message == "being replaced by csv: gopher.v2.0.0",
            "{told:?}"
        );

        let mended = with_hook(second(), "gopher", json!({}));
        scene.change_to(&mended).await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        is_trusted(&case.client, &scene, "gopher.v2.0.0", "gopher").await?;
        scene.delete_csv("gopher.v2.0.0").await
    })
    .await;
}

/// Has an administrator say whether a version may be replaced.
async fn overrule(scene: &Scene<'_>, csv: &str, upgradeable: &str) -> anyhow::Result<()> {
    let overrides = json!([{
        "type": "Upgradeable", "status": upgradeable, "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    scene
        .patch::<OperatorCondition>(csv, json!({"spec": {"overrides": overrides}}))
        .await
}

#[tokio::test]
async fn of_three_versions_those_that_may_run_are_looked_after_while_the_last_is_held() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = with_hook(scene.operator("gopher", "1.0.0"), "gopher", json!({}));
        scene.runs(&first).await?;
        let second = || scene.operator("gopher", "2.0.0").replaces("1.0.0");
        scene
            .by_hand(&with_hook(second(), "burrow", nowhere()))
            .await?;
        scene
            .because("gopher.v2.0.0", CsvReason::InstallWaiting)
            .await?;
        overrule(&scene, "gopher.v2.0.0", "False").await?;
        let third = scene.operator("gopher", "3.0.0").replaces("2.0.0");
        let third = with_hook(third, "warren", json!({}));
        scene.by_hand(&third).await?;
        let held = CsvReason::OperatorConditionNotUpgradeable;
        scene.because("gopher.v3.0.0", held.clone()).await?;

        for deployment in ["gopher", "burrow"] {
            is_put_right(&scene, deployment).await?;
            let secret = format!("{deployment}-service-cert");
            let before = scene.api::<Secret>().get(&secret).await?;
            scene.delete::<Secret>(&secret).await?;
            let is_another = |it: &Secret| it.uid() != before.uid();
            scene.until(&secret, "made anew", is_another).await?;
        }
        is_trusted(&case.client, &scene, "gopher.v1.0.0", "gopher").await?;

        // The second runs, and is looked after in the place of the first.
        let mended = with_hook(second(), "burrow", json!({}));
        scene.change_to(&mended).await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Replacing).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.gone::<Deployment>("gopher").await?;
        is_put_right(&scene, "burrow").await?;
        scene.delete::<Secret>("burrow-service-cert").await?;
        is_trusted(&case.client, &scene, "gopher.v2.0.0", "burrow").await?;
        scene.because("gopher.v3.0.0", held).await?;
        let deployments = scene.names::<Deployment>().await?;
        ensure!(deployments == ["burrow"], "{deployments:?}");

        overrule(&scene, "gopher.v2.0.0", "True").await?;
        scene.in_phase("gopher.v3.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v2.0.0").await?;
        scene.gone::<Deployment>("burrow").await?;
        scene.delete_csv("gopher.v3.0.0").await
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_is_held_also_if_a_version_in_between_failed_before_anybody_asked() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&scene.operator("gopher", "1.0.0")).await?;
        let says = |status: &str| {
            json!({"spec": {"conditions": [{
                "type": "Upgradeable", "status": status, "reason": "Digging", "message": "it digs",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]}})
        };
        scene
            .patch::<OperatorCondition>("gopher.v1.0.0", says("False"))
            .await?;
        // It does not suit the group, which is seen before the version that runs is asked.
        let second = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        scene.by_hand(&second.supports(&["AllNamespaces"])).await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Failed).await?;
        let third = scene.operator("gopher", "3.0.0").replaces("2.0.0");
        scene.by_hand(&third).await?;
        let held = CsvReason::OperatorConditionNotUpgradeable;
        let held = scene.because("gopher.v3.0.0", held).await?;
        ensure!(status(&held).message.contains("it digs"), "{held:?}");
        let deployment = scene.api::<Deployment>().get("gopher").await?;
        let owner = deployment.labels().get("olm.owner");
        ensure!(owner.map(String::as_str) == Some("gopher.v1.0.0"));

        scene
            .patch::<OperatorCondition>("gopher.v1.0.0", says("True"))
            .await?;
        scene.in_phase("gopher.v3.0.0", CsvPhase::Succeeded).await?;
        for older in ["gopher.v1.0.0", "gopher.v2.0.0"] {
            scene.gone::<ClusterServiceVersion>(older).await?;
        }
        Ok(())
    })
    .await;
}
