//! What a ClusterServiceVersion needs before anything of it is installed.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, RequirementState};
use chandler::controller::Settings;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::{reason, requirement, status};
use crate::support::scene::Scene;
use crate::support::wares::Operator;

/// The CRD of an API, with the mark by which a plan notes which CSV it came with.
fn came_with(operator: &Operator, kind: &str, namespace: &str, csv: &str) -> Value {
    let mut crd = operator.crd(kind);
    crd["metadata"]["labels"] = json!({"olm.managed": "true"});
    crd["metadata"]["annotations"] = json!({
        "operatorframework.io/installed-alongside-0": format!("{namespace}/{csv}"),
    });
    crd
}

#[tokio::test]
async fn a_crd_serves_the_version_it_came_with_and_a_newer_one_waits_for_its_own() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0").owns("Gopher");
        let crd = first.crd_name("Gopher");
        scene
            .crd(came_with(
                &first,
                "Gopher",
                &scene.namespace,
                &first.csv_name(),
            ))
            .await?;
        let csv = scene.runs(&first).await?;
        let there = requirement(&csv, &crd).context("the CRD is not told of")?;
        ensure!(there.status == RequirementState::Present, "{there:?}");
        let second = scene
            .operator("gopher", "2.0.0")
            .owns("Gopher")
            .replaces("1.0.0");
        scene.by_hand(&second).await?;
        let csv = scene
            .because(&second.csv_name(), CsvReason::RequirementsNotMet)
            .await?;
        let waits = requirement(&csv, &crd).context("the CRD is not told of")?;
        ensure!(
            waits.status == RequirementState::PresentNotSatisfied
                && waits.message == "CRD installed alongside other CSV(s): gopher.v1.0.0",
            "{waits:?}"
        );
        // What is told to do helps.
        let (key, value) = status(&csv)
            .message
            .split_once("creates it with the annotation ")
            .and_then(|(_, advice)| advice.trim_end_matches(')').split_once(": "))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .context("nobody says what to do")?;
        let api = Api::<CustomResourceDefinition>::all(case.client.clone());
        let also = json!({"metadata": {"annotations": {key: value}}});
        api.patch(&crd, &PatchParams::default(), &Patch::Merge(also))
            .await?;
        scene
            .in_phase(&second.csv_name(), CsvPhase::Succeeded)
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_gives_way_to_the_one_that_their_crd_came_with() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0").owns("Gopher");
        let second = scene
            .operator("gopher", "2.0.0")
            .owns("Gopher")
            .requires("Burrow")
            .replaces("1.0.0");
        scene
            .crd(came_with(
                &first,
                "Gopher",
                &scene.namespace,
                &second.csv_name(),
            ))
            .await?;
        // It is there for the older one as well, as long as the newer one has to wait.
        scene.by_hand(&second).await?;
        scene
            .because(&second.csv_name(), CsvReason::RequirementsNotMet)
            .await?;
        let csv = scene.runs(&first).await?;
        let crd = first.crd_name("Gopher");
        let there = requirement(&csv, &crd).context("the CRD is not told of")?;
        ensure!(there.status == RequirementState::Present, "{there:?}");
        scene.with_crd(&second, "Burrow").await?;
        scene
            .in_phase(&second.csv_name(), CsvPhase::Succeeded)
            .await?;
        scene.gone::<ClusterServiceVersion>(&first.csv_name()).await
    })
    .await;
}

#[tokio::test]
async fn a_crd_that_came_with_another_operator_is_there_for_all() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours(case).await?;
        home.group("own").await?;
        other.group("own").await?;
        let owner = home.operator("gopher", "1.0.0").owns("Gopher");
        let crd = owner.crd_name("Gopher");
        home.crd(came_with(
            &owner,
            "Gopher",
            &home.namespace,
            &owner.csv_name(),
        ))
        .await?;
        home.runs(&owner).await?;
        let user = home.operator("visitor", "1.0.0").requires("Gopher");
        for csv in [home.runs(&user).await?, other.runs(&owner).await?] {
            let there = requirement(&csv, &crd).context("the CRD is not told of")?;
            ensure!(there.status == RequirementState::Present, "{there:?}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_the_api_server_lacks_is_told_and_nothing_is_installed_before_it_comes() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let of = |package: &str, spec: Value| {
            let operator = scene.operator(package, "1.0.0");
            operator.csv_with(json!({"spec": spec}))
        };
        let nowhere = format!("{}.nowhere.example.com", scene.namespace);
        let server = |group: &str, kind: &str| {
            let required = json!([{"name": "hats", "group": group, "version": "v1", "kind": kind}]);
            of(
                "server",
                json!({"apiservicedefinitions": {"required": required}}),
            )
        };
        let native = |group: &str, kind: &str| {
            let api = json!({"group": group, "version": "v1", "kind": kind});
            of("native", json!({"nativeAPIs": [api]}))
        };
        for (operator, name, words, advice) in [
            (
                of("young", json!({"minKubeVersion": "999.999.999"})),
                "young.v1.0.0".to_owned(),
                "999.999.999",
                "(upgrade the cluster, or ",
            ),
            (
                server(&nowhere, "Hat"),
                format!("v1.{nowhere}"),
                "",
                "(install an operator that owns the API ",
            ),
            (
                native(&nowhere, "Hat"),
                format!("v1.{nowhere}"),
                "Native API does not exist",
                "(the API server has no kind Hat in ",
            ),
        ] {
            scene.by_hand(&operator).await?;
            let csv = operator.csv_name();
            let csv = scene.because(&csv, CsvReason::RequirementsNotMet).await?;
            let lacks = requirement(&csv, &name).context("what lacks is not told")?;
            ensure!(
                lacks.status != RequirementState::Present && lacks.message.contains(words),
                "{lacks:?}"
            );
            let message = status(&csv).message;
            ensure!(
                message.contains(&name) && message.contains(advice),
                "{message}"
            );
        }
        ensure!(scene.names::<Deployment>().await?.is_empty());
        // What every API server has.
        for operator in [server("apps", "Deployment"), native("", "Pod")] {
            scene.change_to(&operator).await?;
            let csv = operator.csv_name();
            scene.in_phase(&csv, CsvPhase::Succeeded).await?;
            let met = scene.told(&csv, "AllRequirementsMet").await?;
            ensure!(met.type_.as_deref() == Some("Normal"), "{met:?}");
            let unmet = scene.told(&csv, "RequirementsNotMet").await?;
            ensure!(unmet.message.unwrap_or_default().contains(&nowhere));
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_whose_name_is_none_is_told_as_missing() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let of = |package: &str, spec: Value| {
            let operator = scene.operator(package, "1.0.0");
            operator.csv_with(json!({"spec": spec}))
        };
        let native = |package: &str, group: &str, version: &str| {
            let api = json!({"group": group, "version": version, "kind": "Pod"});
            of(package, json!({"nativeAPIs": [api]}))
        };
        let crd = json!({"name": "no name", "kind": "Hat", "version": "v1"});
        let crds = json!({"customresourcedefinitions": {"required": [crd]}});
        for (operator, name, words) in [
            (native("empty", "", ""), ".", "Native API does not exist"),
            (
                native("spaced", "a b", "v1"),
                "v1.a b",
                "Native API does not exist",
            ),
            (of("crd", crds), "no name", "CRD is not present"),
        ] {
            scene.by_hand(&operator).await?;
            let csv = operator.csv_name();
            let csv = scene.because(&csv, CsvReason::RequirementsNotMet).await?;
            let lacks = requirement(&csv, name).context("what lacks is not told")?;
            ensure!(lacks.message == words, "{lacks:?}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_of_a_crd_that_is_not_served_is_told() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.with_crd(&gopher, "Gopher").await?;
        let crd = gopher.crd_name("Gopher");
        // What some authors write where the version belongs.
        let owned = json!([{"name": crd, "kind": "Gopher", "version": "apiextensions.k8s.io/v1"}]);
        let wrong =
            gopher.csv_with(json!({"spec": {"customresourcedefinitions": {"owned": owned}}}));
        scene.by_hand(&wrong).await?;
        let csv = scene
            .until(&wrong.csv_name(), "told", |csv| {
                requirement(csv, &crd).is_some()
            })
            .await?;
        ensure!(reason(&csv) == CsvReason::RequirementsNotMet, "{csv:?}");
        let lacks = requirement(&csv, &crd).unwrap();
        ensure!(
            lacks.status == RequirementState::NotPresent
                && lacks.message == "CRD version not served"
                && lacks.group == "apiextensions.k8s.io"
                && lacks.kind == "CustomResourceDefinition",
            "{lacks:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_whose_crd_goes_fails_and_recovers_when_it_comes_back() {
    on_cluster(async |case| {
        // Somebody else's CRD carries no label, and nobody tells of it.
        let often = |settings: &mut Settings| settings.rest = Duration::from_secs(1);
        let scene = Scene::with(case, often).await?;
        scene.group("own").await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let crd = gopher.crd("Burrow");
        scene.crd(crd.clone()).await?;
        scene.runs(&gopher).await?;
        let api = Api::<CustomResourceDefinition>::all(case.client.clone());
        let name = gopher.crd_name("Burrow");
        api.delete(&name, &DeleteParams::default()).await?;
        let csv = scene
            .because(&gopher.csv_name(), CsvReason::RequirementsNotMet)
            .await?;
        ensure!(status(&csv).message.contains(&name), "{csv:?}");
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&api, &name, "gone", is_gone).await?;
        scene.crd(crd).await?;
        scene
            .in_phase(&gopher.csv_name(), CsvPhase::Succeeded)
            .await?;
        Ok(())
    })
    .await;
}
