//! Operators that really answer: webhooks that refuse, change and convert, and APIs beside the API server.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::life::status;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, create, gopher, tunnels, two_versions, webhook};
use crate::support::wares::{Operator, stable};

/// A version of an operator with these webhooks, which says of itself who it is.
fn with_hooks(scene: &Scene<'_>, stand_in: &StandIn, version: &str, hooks: &[&str]) -> Operator {
    let gopher = scene.operator("gopher", version).owns("Gopher");
    let definitions: Vec<Value> = hooks.iter().map(|does| webhook(&gopher, does)).collect();
    let name = format!("gopher {version}");
    gopher
        .deployment_with(stand_in.doing(&["operate", &name, "hooks"]))
        .csv_with(json!({"spec": {"webhookdefinitions": definitions}}))
}

#[tokio::test]
async fn webhooks_of_an_operator_refuse_and_change_what_is_created_where_it_serves() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group("own").await?;
        let operator = with_hooks(&scene, &stand_in, "1.0.0", &["validate", "mutate"]);
        scene
            .image_catalog("hub", &[stable([operator.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;

        let gophers = scene.gophers(&operator, "v1");
        let bad = gopher(&operator, "v1", "bad", &json!({"forbidden": "yes"}));
        let refused = create(case, &gophers, &bad).await?;
        let refused = refused.err().context("it was taken")?;
        ensure!(
            refused.contains("gopher 1.0.0 takes nothing that has spec.forbidden")
                && refused.contains("admission webhook \"validate."),
            "{refused}"
        );
        let good = gopher(&operator, "v1", "good", &json!({"depth": 3}));
        let created = create(case, &gophers, &good).await?;
        let created = created.map_err(anyhow::Error::msg)?;
        ensure!(created.data["spec"] == json!({"depth": 3, "changedBy": "gopher 1.0.0"}));

        // Nobody is asked for namespaces that the operator does not serve.
        let elsewhere = Scene {
            case,
            namespace: case.namespace().await?,
            running: None,
        };
        let gophers = elsewhere.gophers(&operator, "v1");
        let created = create(case, &gophers, &bad).await?;
        let created = created.map_err(anyhow::Error::msg)?;
        ensure!(created.data["spec"] == json!({"forbidden": "yes"}));
        scene.delete_csv("gopher.v1.0.0").await?;
        let gophers = scene.gophers(&operator, "v1");
        let created = create(case, &gophers, &bad).await?;
        created.map(|_| ()).map_err(anyhow::Error::msg)
    })
    .await;
}

#[tokio::test]
async fn a_conversion_webhook_lets_objects_be_read_in_another_version() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group_with(json!({})).await?;
        let hooks = ["validate", "mutate", "convert"];
        let operator = with_hooks(&scene, &stand_in, "1.0.0", &hooks).supports(&["AllNamespaces"]);
        let crd = two_versions(&operator);
        let operator = operator.with(crd);
        scene
            .image_catalog("hub", &[stable([operator.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;

        // All namespaces are served.
        let elsewhere = Scene {
            case,
            namespace: case.namespace().await?,
            running: None,
        };
        let (old, new) = (
            elsewhere.gophers(&operator, "v1"),
            elsewhere.gophers(&operator, "v2"),
        );
        let first = gopher(&operator, "v1", "first", &json!({"address": "burrow:8080"}));
        let first = create(case, &old, &first).await?;
        first.map_err(anyhow::Error::msg)?;
        let second = gopher(
            &operator,
            "v2",
            "second",
            &json!({"host": "hill", "port": 9090}),
        );
        let second = create(case, &new, &second).await?;
        second.map_err(anyhow::Error::msg)?;
        let by = "gopher 1.0.0";
        let read = new.get("first").await?;
        ensure!(
            read.data["spec"] == json!({"changedBy": by, "host": "burrow", "port": 8080}),
            "{read:?}"
        );
        let read = old.get("second").await?;
        ensure!(
            read.data["spec"] == json!({"changedBy": by, "address": "hill:9090"}),
            "{read:?}"
        );
        let resource = format!("gophers.v2.{}", operator.group);
        let host = "-o=jsonpath={.items[*].spec.host}";
        let hosts = ["get", &resource, "-n", &elsewhere.namespace, host];
        let hosts = case.cluster.kubectl(&hosts).await?;
        ensure!(hosts == "burrow hill", "{hosts}");
        let bad = gopher(&operator, "v2", "bad", &json!({"forbidden": "yes"}));
        let refused = create(case, &new, &bad).await?;
        let refused = refused.err().context("it was taken")?;
        ensure!(refused.contains("gopher 1.0.0 takes nothing"), "{refused}");

        // What is left when the operator goes can be read.
        scene.delete_csv("gopher.v1.0.0").await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let crd = crds.get(&operator.crd_name("Gopher")).await?;
        let conversion = crd.spec.conversion.context("no conversion")?;
        ensure!(conversion.strategy == "None", "{conversion:?}");
        case.eventually("readable", async || Ok(new.get("first").await.is_ok()))
            .await
    })
    .await;
}

/// A version of an operator that serves the kind `Tunnel` of some groups.
fn with_api(scene: &Scene<'_>, stand_in: &StandIn, version: &str, groups: &[String]) -> Operator {
    let gopher = scene.operator("gopher", version);
    let owned: Vec<Value> = groups.iter().map(|group| tunnels(&gopher, group)).collect();
    let name = format!("gopher {version}");
    gopher
        .deployment_with(stand_in.doing(&["operate", &name, "api"]))
        .csv_with(json!({"spec": {"apiservicedefinitions": {"owned": owned}}}))
}

/// Who dug the tunnel that `kubectl get` shows.
async fn dug_by(case: &Case, namespace: &str, group: &str) -> anyhow::Result<String> {
    let resource = format!("tunnels.v1.{group}");
    let output = "-o=jsonpath={.spec.dugBy}";
    let arguments = ["get", &resource, "north", "-n", namespace, output];
    case.cluster.kubectl(&arguments).await
}

#[tokio::test]
async fn owned_apis_are_served_by_the_pod_of_the_operator_and_then_by_that_of_its_next_version() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group("own").await?;
        let groups = ["one", "two"].map(|name| format!("{name}.{}.example.com", scene.namespace));
        let first = with_api(&scene, &stand_in, "1.0.0", &groups);
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let apis = Api::<APIService>::all(case.client.clone());
        for group in &groups {
            let api = apis.get(&format!("v1.{group}")).await?;
            ensure!(api.labels()["olm.owner"] == "gopher.v1.0.0");
            let by = dug_by(case, &scene.namespace, group).await?;
            ensure!(by == "gopher 1.0.0", "{by}");
        }
        let all = ["get", &format!("tunnels.{}", groups[0]), "--all-namespaces"];
        let all = case.cluster.kubectl(&all).await?;
        ensure!(all.contains("north"), "{all}");

        let second = with_api(&scene, &stand_in, "2.0.0", &groups).replaces("1.0.0");
        let content = [stable([first, second])];
        scene.shop().push_catalog("hub", &content).await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        for group in &groups {
            let api = apis.get(&format!("v1.{group}")).await?;
            ensure!(api.labels()["olm.owner"] == "gopher.v2.0.0");
            let is_new =
                async || Ok(dug_by(case, &scene.namespace, group).await? == "gopher 2.0.0");
            case.eventually("dug by the next version", is_new).await?;
        }

        scene.delete_csv("gopher.v2.0.0").await?;
        for group in &groups {
            ensure!(apis.get_opt(&format!("v1.{group}")).await?.is_none());
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_has_one_server_in_the_whole_cluster_and_another_when_that_goes() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let names = [case.namespace().await?, case.namespace().await?];
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let running = Running::start(case, &all).await?;
        let [first, second] = names.map(|namespace| Scene {
            case,
            namespace,
            running: None,
        });
        let group = [format!("api.{}.example.com", first.namespace)];
        for scene in [&first, &second] {
            scene.group("own").await?;
        }
        first
            .runs(&with_api(&first, &stand_in, "1.0.0", &group))
            .await?;
        // The same operator once more.
        let again = with_api(&first, &stand_in, "1.0.0", &group);
        second.by_hand(&again).await?;
        let refused = second
            .because("gopher.v1.0.0", CsvReason::OwnerConflict)
            .await?;
        let words = status(&refused).message;
        let owner = format!("{}/gopher.v1.0.0", first.namespace);
        ensure!(
            words.contains(&format!("v1.{}", group[0])) && words.contains(&owner),
            "{words}"
        );
        let by = dug_by(case, "default", &group[0]).await?;
        ensure!(by == "gopher 1.0.0", "{by}");

        first.delete_csv("gopher.v1.0.0").await?;
        second
            .in_phase("gopher.v1.0.0", CsvPhase::Succeeded)
            .await?;
        let apis = Api::<APIService>::all(case.client.clone());
        let api = apis.get(&format!("v1.{}", group[0])).await?;
        ensure!(api.labels()["olm.owner.namespace"] == second.namespace);
        second.delete_csv("gopher.v1.0.0").await?;
        running.stop().await
    })
    .await;
}
