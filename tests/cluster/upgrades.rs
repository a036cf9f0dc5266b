//! What an upgrade changes besides the CSV: rights, APIs, and what else a bundle brings.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::InstallPlanPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::{Scene, plan_name};
use crate::support::wares::{Operator, config_map_data, stable};

fn rule(resource: &str) -> Value {
    json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]})
}

/// Whether the ServiceAccount `gopher` may read something, in its namespace or everywhere.
async fn may_get(scene: &Scene<'_>, resource: &str, namespace: &str) -> anyhow::Result<bool> {
    let review: SubjectAccessReview = serde_json::from_value(json!({
        "spec": {
            "user": format!("system:serviceaccount:{}:gopher", scene.namespace),
            "resourceAttributes": {"verb": "get", "resource": resource, "namespace": namespace},
        },
    }))?;
    let reviews = Api::<SubjectAccessReview>::all(scene.case.client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[tokio::test]
async fn a_version_that_needs_more_rights_gets_them() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene
            .operator("gopher", "1.0.0")
            .may(&rule("pods"))
            .may_everywhere(&rule("nodes"));
        let new = scene
            .operator("gopher", "1.1.0")
            .replaces("1.0.0")
            .may(&rule("pods"))
            .may(&rule("secrets"))
            .may_everywhere(&rule("nodes"))
            .may_everywhere(&rule("namespaces"));
        scene
            .config_map_catalog("hub", &[stable([old.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let own = scene.namespace.as_str();
        for (resource, namespace) in [("pods", own), ("nodes", "")] {
            case.eventually(&format!("allowed to get {resource}"), async || {
                may_get(&scene, resource, namespace).await
            })
            .await?;
        }
        ensure!(!may_get(&scene, "secrets", own).await?);
        ensure!(!may_get(&scene, "namespaces", "").await?);
        scene.restock("hub", &[stable([old, new])]).await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        scene.next_plan("gopher", &plan).await?;
        for (resource, namespace) in [("secrets", own), ("namespaces", "")] {
            case.eventually(&format!("allowed to get {resource}"), async || {
                may_get(&scene, resource, namespace).await
            })
            .await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_that_needs_fewer_rights_loses_the_others_with_what_it_replaces() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene
            .operator("gopher", "1.0.0")
            .may(&rule("pods"))
            .may(&rule("secrets"));
        let new = scene
            .operator("gopher", "1.1.0")
            .replaces("1.0.0")
            .may(&rule("pods"));
        scene
            .config_map_catalog("hub", &[stable([old.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let own = scene.namespace.as_str();
        case.eventually("allowed to get secrets", async || {
            may_get(&scene, "secrets", own).await
        })
        .await?;
        scene.restock("hub", &[stable([old, new])]).await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        scene.next_plan("gopher", &plan).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        case.eventually("forbidden to get secrets", async || {
            Ok(!may_get(&scene, "secrets", own).await?)
        })
        .await?;
        ensure!(may_get(&scene, "pods", own).await?);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_dependency_replaces_its_own_predecessor() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = [
            scene.operator("gopher", "1.0.0").needs("burrow", "1.0.0"),
            scene.operator("burrow", "1.0.0"),
        ];
        let new = [
            scene
                .operator("gopher", "2.0.0")
                .replaces("1.0.0")
                .needs("burrow", "2.0.0"),
            scene.operator("burrow", "2.0.0").replaces("1.0.0"),
        ];
        let [old_gopher, old_burrow] = old;
        let [new_gopher, new_burrow] = new;
        scene
            .image_catalog(
                "hub",
                &[stable([old_gopher.clone()]), stable([old_burrow.clone()])],
            )
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let generated = format!("burrow-stable-hub-{}", scene.namespace);
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        let channels = [
            stable([old_gopher, new_gopher]),
            stable([old_burrow, new_burrow]),
        ];
        scene.shop().push_catalog("hub", &channels).await?;
        scene.at_latest("gopher", "gopher.v2.0.0").await?;
        scene.at_latest(&generated, "burrow.v2.0.0").await?;
        for package in ["gopher", "burrow"] {
            let csv = scene
                .api::<ClusterServiceVersion>()
                .get(&format!("{package}.v2.0.0"))
                .await?;
            ensure!(
                csv.spec.replaces == format!("{package}.v1.0.0"),
                "{package}: {}",
                csv.spec.replaces
            );
        }
        Ok(())
    })
    .await;
}

/// A CRD with one more version, which is not stored.
fn two_versions(operator: &Operator, kind: &str) -> Value {
    with_versions(operator, kind, &[("v1", true, true), ("v2", true, false)])
}

async fn versions(scene: &Scene<'_>, crd: &str) -> anyhow::Result<Vec<String>> {
    let crds = Api::<CustomResourceDefinition>::all(scene.case.client.clone());
    let versions = crds.get(crd).await?.spec.versions;
    Ok(versions.into_iter().map(|version| version.name).collect())
}

#[tokio::test]
async fn the_owner_of_an_api_brings_a_new_version_of_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene.operator("gopher", "1.0.0").owns("Gopher");
        let new = scene
            .operator("gopher", "1.1.0")
            .owns("Gopher")
            .replaces("1.0.0");
        let crd = two_versions(&new, "Gopher");
        let new = new.with(crd);
        let name = old.crd_name("Gopher");
        scene
            .config_map_catalog("hub", &[stable([old.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(versions(&scene, &name).await? == ["v1"]);
        scene.restock("hub", &[stable([old, new])]).await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        scene.next_plan("gopher", &plan).await?;
        ensure!(versions(&scene, &name).await? == ["v1", "v2"]);
        // Both operators that it came with are written down.
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let crd = crds.get(&name).await?;
        let mut alongside: Vec<&String> = crd
            .annotations()
            .iter()
            .filter(|(key, _)| key.starts_with("operatorframework.io/installed-alongside-"))
            .map(|(_, value)| value)
            .collect();
        alongside.sort();
        let expected = ["gopher.v1.0.0", "gopher.v1.1.0"];
        let expected = expected.map(|csv| format!("{}/{csv}", scene.namespace));
        ensure!(
            alongside == expected.iter().collect::<Vec<_>>(),
            "{alongside:?}"
        );
        crds.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

/// A CRD with these versions: name, whether it is served, whether it is stored.
fn with_versions(operator: &Operator, kind: &str, versions: &[(&str, bool, bool)]) -> Value {
    let mut crd = operator.crd(kind);
    let first = crd["spec"]["versions"][0].clone();
    let versions = versions.iter().map(|(name, served, stored)| {
        let mut version = first.clone();
        version["name"] = json!(name);
        version["served"] = json!(served);
        version["storage"] = json!(stored);
        version
    });
    crd["spec"]["versions"] = versions.collect();
    crd
}

#[tokio::test]
async fn versions_of_an_api_come_and_go_as_long_as_what_is_stored_stays() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let (v1, v2) = (("v1", true, true), ("v2", true, false));
        let cases = [
            (
                "added",
                &[v1][..],
                &[("v1", true, false), ("v2", true, true)][..],
            ),
            ("removed", &[v1, v2], &[v1, ("v3", true, false)]),
            ("unserved", &[v1], &[v1, ("v3", false, false)]),
        ];
        for (package, before, after) in cases {
            let of = |version: &str, versions: &[(&str, bool, bool)]| {
                let operator = scene.operator(package, version).owns(package);
                let crd = with_versions(&operator, package, versions);
                operator.with(crd)
            };
            let old = of("1.0.0", before);
            let new = of("1.1.0", after).replaces("1.0.0");
            let name = old.crd_name(package);
            scene
                .config_map_catalog(package, &[stable([old.clone()])])
                .await?;
            scene.subscribe(package, package, json!({})).await?;
            let plan = scene.plan_of(package, InstallPlanPhase::Complete).await?;
            scene
                .create(json!({
                    "apiVersion": format!("{}.example.com/v1", scene.namespace), "kind": package,
                    "metadata": {"name": "mine"}, "spec": {},
                }))
                .await?;
            scene.restock(package, &[stable([old, new])]).await?;
            scene.next_plan(package, &plan).await?;
            let expected: Vec<&str> = after.iter().map(|(name, _, _)| *name).collect();
            let found = versions(&scene, &name).await?;
            ensure!(found == expected, "{package}: {found:?}");
            let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
            crds.delete(&name, &DeleteParams::default()).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_that_would_lose_a_stored_version_fails_its_plan_and_changes_nothing() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let of = |version: &str, versions: &[(&str, bool, bool)]| {
            let operator = scene.operator("gopher", version).owns("Gopher");
            let crd = with_versions(&operator, "Gopher", versions);
            operator.with(crd)
        };
        let old = of("1.0.0", &[("v1", true, true)]);
        let name = old.crd_name("Gopher");
        let owned = json!([{"name": name, "version": "v2", "kind": "Gopher"}]);
        let new = of("2.0.0", &[("v2", true, true)])
            .replaces("1.0.0")
            .csv_with(json!({"spec": {"customresourcedefinitions": {"owned": owned}}}));
        scene.image_catalog("hub", &[stable([old.clone()])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene
            .shop()
            .push_catalog("hub", &[stable([old, new])])
            .await?;
        scene
            .until("gopher", "with another plan", |it: &Subscription| {
                plan_name(it).is_some_and(|name| name != plan.name_any())
            })
            .await?;
        let failed = scene.plan_of("gopher", InstallPlanPhase::Failed).await?;
        let message = failed.status.unwrap_or_default().message;
        let words = format!("risk of data loss updating \"{name}\": new CRD removes version v1");
        ensure!(message.contains(&words), "{message}");
        ensure!(versions(&scene, &name).await? == ["v1"]);
        ensure!(scene.csvs().await? == ["gopher.v1.0.0"]);
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_of_an_api_is_retired_step_by_step() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let of = |version: &str, versions: &[(&str, bool, bool)]| {
            let operator = scene.operator("gopher", version).owns("Gopher");
            let crd = with_versions(&operator, "Gopher", versions);
            // Each owns what it stores.
            let stored = versions.iter().find(|(_, _, is_stored)| *is_stored);
            let owned = json!([{
                "name": operator.crd_name("Gopher"), "kind": "Gopher",
                "version": stored.map(|(version, _, _)| version),
            }]);
            operator
                .with(crd)
                .csv_with(json!({"spec": {"customresourcedefinitions": {"owned": owned}}}))
        };
        let steps = [
            of("1.0.0", &[("v1", true, true)]),
            of("1.1.0", &[("v2", true, true), ("v1", true, false)]).replaces("1.0.0"),
            of(
                "1.2.0",
                &[
                    ("v2", true, true),
                    ("v3", true, false),
                    ("v1", false, false),
                ],
            )
            .replaces("1.1.0"),
        ];
        let name = steps[0].crd_name("Gopher");
        scene
            .config_map_catalog("hub", &[stable([steps[0].clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let mut plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene
            .create(json!({
                "apiVersion": format!("{}.example.com/v1", scene.namespace), "kind": "Gopher",
                "metadata": {"name": "old"}, "spec": {},
            }))
            .await?;
        for (count, csv, expected) in [
            (2, "gopher.v1.1.0", &["v2", "v1"][..]),
            (3, "gopher.v1.2.0", &["v2", "v3", "v1"]),
        ] {
            let known = steps[..count].iter().cloned();
            scene.restock("hub", &[stable(known)]).await?;
            scene.at_latest("gopher", csv).await?;
            plan = scene.next_plan("gopher", &plan).await?;
            let found = versions(&scene, &name).await?;
            ensure!(found == expected, "{found:?}");
            // The lifecycle of CSVs takes the old one away.
            let old = format!("gopher.v1.{}.0", count - 2);
            scene.gone::<ClusterServiceVersion>(&old).await?;
        }
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_is_left_alone_by_an_operator_that_does_not_own_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let name = gopher.crd_name("Burrow");
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let crd = serde_json::from_value(gopher.crd("Burrow"))?;
        crds.create(&PostParams::default(), &crd).await?;
        // The catalog has a newer one, and nobody in it says that it is theirs.
        let mut data = config_map_data(&[stable([gopher.clone()])]);
        let newer = json!([two_versions(&gopher, "Burrow")]);
        data["customResourceDefinitions"] = json!(newer.to_string());
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hub"}, "data": data,
            }))
            .await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": "hub"}, "spec": {"sourceType": "internal", "configMap": "hub"},
            }))
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(versions(&scene, &name).await? == ["v1"]);
        crds.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

fn settings(name: &str, depth: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"depth": depth},
    })
}

#[tokio::test]
async fn what_a_bundle_brought_goes_with_its_csv() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .with(settings("tunnels", "3"))
            .with(json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"},
                "stringData": {"word": "open sesame"},
            }));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene.api::<Secret>().get("password").await?;
        scene.delete::<Subscription>("gopher").await?;
        scene
            .delete::<ClusterServiceVersion>("gopher.v1.0.0")
            .await?;
        scene.gone::<ConfigMap>("tunnels").await?;
        scene.gone::<Secret>("password").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_changes_what_both_versions_bring_and_replaces_what_they_do_not() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene
            .operator("gopher", "1.0.0")
            .with(settings("tunnels", "3"))
            .with(settings("old-name", "1"));
        let new = scene
            .operator("gopher", "1.1.0")
            .replaces("1.0.0")
            .with(settings("tunnels", "4"))
            .with(settings("new-name", "1"));
        scene.image_catalog("hub", &[stable([old.clone()])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let before = scene.api::<ConfigMap>().get("tunnels").await?;
        scene
            .shop()
            .push_catalog("hub", &[stable([old, new])])
            .await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        scene.next_plan("gopher", &plan).await?;
        // The lifecycle of CSVs takes the old one away.
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.gone::<ConfigMap>("old-name").await?;
        scene.api::<ConfigMap>().get("new-name").await?;
        let after = scene.api::<ConfigMap>().get("tunnels").await?;
        ensure!(before.uid() == after.uid(), "made anew");
        let depth = after.data.unwrap_or_default().remove("depth");
        ensure!(depth.as_deref() == Some("4"), "{depth:?}");
        Ok(())
    })
    .await;
}
