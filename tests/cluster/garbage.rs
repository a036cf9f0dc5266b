//! What goes with its owners, and not before.

use anyhow::ensure;
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, tunnels};
use crate::support::wares::stable;

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
async fn the_roles_of_an_api_that_is_served_go_with_its_api_service() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let mut scene = Scene::on_real_node(case).await?;
        scene.group("own").await?;
        let group = format!("api.{}.example.com", scene.namespace);
        let gopher = scene.operator("gopher", "1.0.0");
        let owned = [tunnels(&gopher, &group)];
        let gopher = gopher
            .csv_with(json!({"spec": {"apiservicedefinitions": {"owned": owned}}}))
            .deployment_with(stand_in.doing(&["operate", "gopher", "api"]));
        scene.runs(&gopher).await?;
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let is_there = |role: Option<&ClusterRole>| role.is_some();
        let role = |access: &str| format!("tunnels.{group}-v1-{access}");
        for access in ["admin", "edit", "view"] {
            case.wait(&roles, &role(access), "there", is_there).await?;
        }
        // Whoever deletes it, and though nobody looks after them.
        scene.stop().await?;
        let services = Api::<APIService>::all(case.client.clone());
        let name = format!("v1.{group}");
        services.delete(&name, &DeleteParams::default()).await?;
        for access in ["admin", "edit", "view"] {
            role_goes(case, &role(access)).await?;
        }
        let running = Running::start(case, &[&scene.namespace]).await?;
        scene.delete_csv("gopher.v1.0.0").await?;
        running.stop().await
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
