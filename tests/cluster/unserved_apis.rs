//! APIs beside the API server that nobody answers for: whoever needs them waits and says so, and whoever was to serve them
//! can be replaced.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, RequirementState};
use chandler::api::subscription::Subscription;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::life::{phase, reason, requirement, status};
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, tunnels};
use crate::support::wares::{Operator, stable};

fn apis(case: &Case) -> Api<APIService> {
    Api::all(case.client.clone())
}

/// Whether the API server says that nobody answers for an API.
fn is_unavailable(api: &APIService) -> bool {
    let status = api.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.unwrap_or_default().iter();
    conditions.any(|it| it.type_ == "Available" && it.status == "False")
}

/// Waits until the API server found out that nobody answers for an API.
async fn unanswered(case: &Case, name: &str) -> anyhow::Result<()> {
    let holds = |api: Option<&APIService>| api.is_some_and(is_unavailable);
    case.wait(&apis(case), name, "unavailable", holds).await
}

#[tokio::test]
async fn an_operator_waits_for_an_api_that_nobody_answers_for_and_goes_on_when_it_is_there() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let name = format!("v1.{}", gopher.group);
        let api: APIService = serde_json::from_value(json!({
            // Whatever comes of the test, it is not in the way of others.
            "metadata": {"name": name, "labels": {"olm.owner.namespace": scene.namespace}},
            "spec": {
                "group": gopher.group, "version": "v1", "groupPriorityMinimum": 100,
                "versionPriority": 15, "insecureSkipTLSVerify": true,
                "service": {"namespace": scene.namespace, "name": "nobody", "port": 443},
            },
        }))?;
        apis(case).create(&PostParams::default(), &api).await?;
        unanswered(case, &name).await?;
        let required = json!([{
            "name": "burrows", "group": gopher.group, "version": "v1", "kind": "Burrow",
        }]);
        let gopher =
            gopher.csv_with(json!({"spec": {"apiservicedefinitions": {"required": required}}}));
        scene.by_hand(&gopher).await?;
        let csv = gopher.csv_name();
        let waits = scene.because(&csv, CsvReason::RequirementsNotMet).await?;
        let lacks = requirement(&waits, &name).context("what lacks is not told")?;
        ensure!(lacks.status == RequirementState::NotPresent, "{lacks:?}");
        let told = status(&waits);
        ensure!(
            told.phase == CsvPhase::Pending && told.message.contains(&name),
            "{told:?}"
        );

        // The API server serves it by itself now, as an APIService of the same name.
        apis(case).delete(&name, &DeleteParams::default()).await?;
        scene.with_crd(&gopher, "Burrow").await?;
        scene.in_phase(&csv, CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

/// A version of an operator that is to serve an API.
fn serving(scene: &Scene<'_>, version: &str) -> Operator {
    let operator = scene.operator("gopher", version);
    let owned = [tunnels(&operator, &group(scene))];
    operator.csv_with(json!({"spec": {"apiservicedefinitions": {"owned": owned}}}))
}

fn group(scene: &Scene<'_>) -> String {
    format!("api.{}.example.com", scene.namespace)
}

#[tokio::test]
async fn an_operator_that_does_not_serve_its_api_says_so() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        // Its Pods are simulated, and answer nobody.
        let gopher = serving(&scene, "1.0.0");
        scene.by_hand(&gopher).await?;
        let name = format!("v1.{}", group(&scene));
        unanswered(case, &name).await?;
        let words = format!("apiServices not installed: APIService {name} is not available");
        let tells = |csv: &ClusterServiceVersion| {
            phase(csv) == CsvPhase::Installing && status(csv).message.contains(&words)
        };
        scene
            .until(&gopher.csv_name(), "telling what is missing", tells)
            .await?;
        // Nothing of that keeps it from being removed.
        scene.delete_csv(&gopher.csv_name()).await?;
        ensure!(apis(case).get_opt(&name).await?.is_none());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_that_never_served_its_api_is_replaced_by_the_next_that_does() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group("own").await?;
        let crashes = stand_in.doing(&["crash", "cannot find the burrow"]);
        let first = serving(&scene, "1.0.0").deployment_with(crashes);
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let crashes = |csv: &ClusterServiceVersion| reason(csv) == CsvReason::ComponentUnhealthy;
        scene.until("gopher.v1.0.0", "crashing", crashes).await?;
        unanswered(case, &format!("v1.{}", group(&scene))).await?;

        let serves = stand_in.doing(&["operate", "gopher 2.0.0", "api"]);
        let second = serving(&scene, "2.0.0")
            .replaces("1.0.0")
            .deployment_with(serves);
        let content = [stable([first, second])];
        scene.shop().push_catalog("hub", &content).await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let tunnels = scene.objects(&group(&scene), "v1", "Tunnel");
        let north = tunnels.get("north").await?;
        ensure!(north.data["spec"]["dugBy"] == "gopher 2.0.0", "{north:?}");
        scene.delete::<Subscription>("gopher").await?;
        scene.delete_csv("gopher.v2.0.0").await
    })
    .await;
}
