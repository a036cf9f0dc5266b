//! One version of an operator after the other, and changes of a version while it runs.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::{phase, status};
use crate::support::scene::Scene;

fn image(deployment: &Deployment) -> String {
    let template = &deployment.spec.as_ref().unwrap().template;
    let container = &template.spec.as_ref().unwrap().containers[0];
    container.image.clone().unwrap_or_default()
}

/// Another image for the Deployment of an operator.
fn with_image(image: &str) -> Value {
    let containers = json!([{"name": "operator", "image": image}]);
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

#[tokio::test]
async fn a_version_that_calls_its_deployment_otherwise_leaves_none_of_the_older_ones_behind() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&scene.operator("gopher", "1.0.0")).await?;
        let second = scene
            .operator("gopher", "2.0.0")
            .replaces("1.0.0")
            .deployment_with(json!({"name": "burrow"}));
        scene.runs(&second).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        // Kubernetes removes what was owned by the older version.
        scene.gone::<Deployment>("gopher").await?;
        ensure!(scene.names::<Deployment>().await? == ["burrow"]);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn versions_that_come_together_end_with_the_newest_alone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&scene.operator("gopher", "1.0.0")).await?;
        let third = scene
            .operator("gopher", "3.0.0")
            .replaces("2.0.0")
            .deployment_with(with_image("example.com/operator:v3"));
        scene.by_hand(&third).await?;
        let second = scene
            .operator("gopher", "2.0.0")
            .replaces("1.0.0")
            .deployment_with(with_image("example.com/operator:v2"));
        scene.by_hand(&second).await?;
        scene.in_phase("gopher.v3.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.gone::<ClusterServiceVersion>("gopher.v2.0.0").await?;
        let deployment = scene.api::<Deployment>().get("gopher").await?;
        ensure!(image(&deployment) == "example.com/operator:v3");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_that_comes_back_after_it_was_replaced_changes_nothing_and_goes() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        scene.runs(&first).await?;
        let second = scene
            .operator("gopher", "2.0.0")
            .replaces("1.0.0")
            .deployment_with(with_image("example.com/operator:v2"));
        scene.runs(&second).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let before = scene.api::<Deployment>().get("gopher").await?;
        // As from a backup, or by somebody who applies what was there once.
        scene.by_hand(&first).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let after = scene.api::<Deployment>().get("gopher").await?;
        ensure!(after.uid() == before.uid(), "it was made anew");
        ensure!(
            after.metadata.generation == before.metadata.generation,
            "it was changed"
        );
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_csv_that_is_edited_changes_what_runs() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.runs(&gopher).await?;
        let before = scene.api::<Deployment>().get("gopher").await?;
        let image_of = "example.com/operator:hotfix";
        scene
            .change_to(&gopher.clone().deployment_with(with_image(image_of)))
            .await?;
        let fixed = scene
            .until("gopher", "fixed", |it: &Deployment| image(it) == image_of)
            .await?;
        ensure!(
            before.uid() == fixed.uid(),
            "it was made anew instead of changed"
        );
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        // Under another name it is another one.
        scene
            .change_to(&gopher.deployment_with(json!({"name": "burrow"})))
            .await?;
        scene.gone::<Deployment>("gopher").await?;
        scene
            .until("burrow", "there", |_: &Deployment| true)
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_of_an_api_that_is_no_longer_served_does_not_keep_the_old_operator_in_the_way() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let versions = |old_is_served: bool| {
            let version = |name: &str, served: bool, storage: bool| {
                json!({
                    "name": name, "served": served, "storage": storage,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                })
            };
            json!([
                version("v1", old_is_served, false),
                version("v2", true, true)
            ])
        };
        let owning = |version: &str, api_versions: &[&str]| {
            let operator = scene.operator("gopher", version);
            let name = operator.crd_name("Gopher");
            let owned = api_versions
                .iter()
                .map(|version| json!({"name": name, "kind": "Gopher", "version": version}));
            let owned: Vec<Value> = owned.collect();
            operator.csv_with(json!({"spec": {"customresourcedefinitions": {"owned": owned}}}))
        };
        let first = owning("1.0.0", &["v1"]);
        let mut crd = first.crd("Gopher");
        crd["metadata"]["labels"] = json!({"olm.managed": "true"});
        crd["spec"]["versions"] = versions(true);
        scene.crd(crd).await?;
        scene.runs(&first).await?;
        let api = Api::<CustomResourceDefinition>::all(case.client.clone());
        let retired = json!({"spec": {"versions": versions(false)}});
        let name = first.crd_name("Gopher");
        api.patch(&name, &PatchParams::default(), &Patch::Merge(retired))
            .await?;
        let csv = scene
            .because("gopher.v1.0.0", CsvReason::RequirementsNotMet)
            .await?;
        let message = status(&csv).message;
        ensure!(message.contains("CRD version not served"), "{message}");
        scene
            .runs(&owning("2.0.0", &["v1", "v2"]).replaces("1.0.0"))
            .await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn an_operator_whose_successor_is_taken_away_works_again_and_can_be_replaced() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&scene.operator("gopher", "1.0.0")).await?;
        let second = scene
            .operator("gopher", "2.0.0")
            .replaces("1.0.0")
            .requires("Nothing");
        scene.by_hand(&second).await?;
        scene
            .because("gopher.v2.0.0", CsvReason::RequirementsNotMet)
            .await?;
        let replaced = scene.in_phase("gopher.v1.0.0", CsvPhase::Replacing).await?;
        let said = status(&replaced).message;
        ensure!(said == "being replaced by csv: gopher.v2.0.0", "{said}");
        scene.delete_csv("gopher.v2.0.0").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene
            .runs(&scene.operator("gopher", "3.0.0").replaces("1.0.0"))
            .await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn an_operator_of_two_pods_needs_no_more_than_its_deployment_says() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
        let gopher = scene
            .operator("gopher", "1.0.0")
            .deployment_with(json!({"spec": {"replicas": 2, "strategy": rolling}}));
        scene.runs(&gopher).await?;
        let ready = |count: i32| {
            move |it: &Deployment| {
                it.status.as_ref().and_then(|status| status.ready_replicas) == Some(count)
            }
        };
        scene.until("gopher", "with two Pods", ready(2)).await?;
        let pods = scene.api::<Pod>();
        let of = ListParams::default().labels("app=gopher");
        let pod = pods.list(&of).await?.items.remove(0).name_any();
        let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        pods.patch_status(&pod, &PatchParams::default(), &Patch::Strategic(unready))
            .await?;
        scene.until("gopher", "with one Pod", ready(1)).await?;
        // What goes meanwhile is made anew: so somebody looked, and once more after that.
        for _ in 0..2 {
            let right = scene.api::<Role>().get("gopher.v1.0.0").await?;
            scene.delete::<Role>("gopher.v1.0.0").await?;
            let is_new = |it: &Role| it.uid() != right.uid();
            scene.until("gopher.v1.0.0", "made anew", is_new).await?;
        }
        let csv = scene
            .api::<ClusterServiceVersion>()
            .get("gopher.v1.0.0")
            .await?;
        ensure!(phase(&csv) == CsvPhase::Succeeded, "{csv:?}");
        let history = status(&csv).conditions;
        ensure!(
            history.iter().all(|it| it.phase != CsvPhase::Failed),
            "{history:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn annotations_of_a_csv_reach_its_pods_and_labels_of_a_deployment_stay_on_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let template =
            json!({"metadata": {"annotations": {"both": "template", "own": "template"}}});
        let gopher = scene
            .operator("gopher", "1.0.0")
            .csv_with(json!({"metadata": {"annotations": {"both": "csv"}}}))
            .deployment_with(json!({
                "label": {"application": "nginx", "application.type": "proxy"},
                "spec": {"template": template},
            }));
        scene.runs(&gopher).await?;
        let deployment = scene.api::<Deployment>().get("gopher").await?;
        let labels = deployment.labels();
        for (key, value) in [
            ("application", "nginx"),
            ("application.type", "proxy"),
            ("olm.owner", "gopher.v1.0.0"),
            ("olm.owner.kind", "ClusterServiceVersion"),
            ("olm.owner.namespace", scene.namespace.as_str()),
            ("olm.managed", "true"),
        ] {
            ensure!(
                labels.get(key).map(String::as_str) == Some(value),
                "{key}: {labels:?}"
            );
        }
        let pods = deployment.spec.unwrap().template.metadata.unwrap();
        let annotations = pods.annotations.unwrap_or_default();
        for (key, value) in [
            ("both", "csv"),
            ("own", "template"),
            ("olm.operatorGroup", "own"),
            ("olm.operatorNamespace", scene.namespace.as_str()),
        ] {
            let found = annotations.get(key).map(String::as_str);
            ensure!(found == Some(value), "{key}: {annotations:?}");
        }
        Ok(())
    })
    .await;
}
