//! The version that runs, while the next one is held or does not come up.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
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

#[tokio::test]
async fn what_the_older_version_has_alone_is_put_right_while_the_newer_one_does_not_come_up() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = with_hook(scene.operator("gopher", "1.0.0"), "gopher", json!({}));
        scene.runs(&first).await?;
        let nowhere =
            json!({"spec": {"template": {"spec": {"nodeSelector": {"there-is": "none"}}}}});
        let second = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        scene.by_hand(&with_hook(second, "burrow", nowhere)).await?;
        scene
            .because("gopher.v2.0.0", CsvReason::InstallWaiting)
            .await?;

        let image = |it: &Deployment| {
            let pod = it.spec.as_ref()?.template.spec.as_ref()?;
            pod.containers[0].image.clone()
        };
        let before = image(&scene.api::<Deployment>().get("gopher").await?);
        let other = json!([{"name": "operator", "image": "example.com/other"}]);
        let change = json!({"spec": {"template": {"spec": {"containers": other}}}});
        scene.patch::<Deployment>("gopher", change).await?;
        scene
            .until("gopher", "as before", |it: &Deployment| image(it) == before)
            .await?;

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
        case.eventually("served with a certificate that is trusted", async || {
            let secrets = scene.api::<Secret>();
            let secret = secrets.get_opt("gopher-service-cert").await?;
            let authority = secret.and_then(|it| it.data?.get("olmCAKey").cloned());
            let Some(authority) = authority else {
                return Ok(false);
            };
            let found = configurations(&case.client, &scene, "gopher.v1.0.0").await?;
            let webhooks = found.into_iter().filter_map(|it| it.webhooks).flatten();
            let mut bundles = webhooks.filter_map(|it| it.client_config.ca_bundle);
            Ok(bundles.any(|it| it.0.starts_with(&authority.0)))
        })
        .await?;
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
