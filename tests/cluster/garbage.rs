//! What goes with its owners, and not before.

use anyhow::ensure;
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::scene::Scene;
use crate::support::wares::stable;

async fn role_of(case: &Case, name: &str, owner: Value) -> anyhow::Result<()> {
    let roles = Api::<ClusterRole>::all(case.client.clone());
    let role = serde_json::from_value(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": name, "ownerReferences": [owner]}, "rules": [],
    }))?;
    roles.create(&PostParams::default(), &role).await?;
    Ok(())
}

async fn role_goes(case: &Case, name: &str) -> anyhow::Result<()> {
    let roles = Api::<ClusterRole>::all(case.client.clone());
    let is_gone = |role: Option<&ClusterRole>| role.is_none();
    case.wait(&roles, name, "gone", is_gone).await
}

#[tokio::test]
async fn the_roles_of_an_api_go_with_its_crd() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene
            .image_catalog("hub", &[stable([gopher.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let crd = gopher.crd_name("Gopher");
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let is_there = |role: Option<&ClusterRole>| role.is_some();
        let role = |access: &str| format!("{crd}-v1-{access}");
        for access in ["admin", "edit", "view", "crdview"] {
            case.wait(&roles, &role(access), "there", is_there).await?;
        }
        scene.delete::<Subscription>("gopher").await?;
        scene.delete_csv("gopher.v1.0.0").await?;
        // They are the API's, not the operator's.
        roles.get(&role("view")).await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&crd, &DeleteParams::default()).await?;
        for access in ["admin", "edit", "view", "crdview"] {
            role_goes(case, &role(access)).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_role_that_an_api_service_owns_goes_with_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let name = format!("v1.{}.example.com", scene.namespace);
        let services = Api::<APIService>::all(case.client.clone());
        let service: APIService = serde_json::from_value(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": name},
            "spec": {
                "group": format!("{}.example.com", scene.namespace), "version": "v1",
                "groupPriorityMinimum": 100, "versionPriority": 100,
            },
        }))?;
        let made = services.create(&PostParams::default(), &service).await?;
        let role = format!("{}-reader", scene.namespace);
        role_of(
            case,
            &role,
            json!({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "name": name, "uid": made.uid(),
            }),
        )
        .await?;
        services.delete(&name, &DeleteParams::default()).await?;
        role_goes(case, &role).await
    })
    .await;
}

#[tokio::test]
async fn what_two_operators_bring_stays_until_both_are_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let shared = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "shared"}, "data": {"depth": "3"},
        });
        let bring = |name: &str| scene.operator(name, "1.0.0").with(shared.clone());
        let channels = [stable([bring("left")]), stable([bring("right")])];
        scene.image_catalog("hub", &channels).await?;
        for name in ["left", "right"] {
            scene.subscribe(name, "hub", json!({})).await?;
            scene
                .in_phase(&format!("{name}.v1.0.0"), CsvPhase::Succeeded)
                .await?;
        }
        let are = |count: usize| move |it: &ConfigMap| it.owner_references().len() == count;
        let made: ConfigMap = scene.until("shared", "with two owners", are(2)).await?;
        // The one that wrote it last goes first: it must not have taken it from the other one.
        for name in ["left", "right"] {
            scene.delete::<Subscription>(name).await?;
        }
        scene.delete_csv("right.v1.0.0").await?;
        // When the collector looked at the owners, it says so by taking off the one that is gone.
        let kept: ConfigMap = scene.until("shared", "with one owner", are(1)).await?;
        ensure!(kept.uid() == made.uid(), "made anew");
        scene.delete_csv("left.v1.0.0").await?;
        scene.gone::<ConfigMap>("shared").await
    })
    .await;
}
