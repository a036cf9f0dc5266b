//! Commands that change a cluster.

use std::process::Output;

use anyhow::ensure;
use chandler::api::conditions::{CsvPhase, CsvReason, InstallPlanPhase};
use chandler::api::install_plan::InstallPlan;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::command_uninstall::chandler;
use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::stable;

async fn install(scene: &Scene<'_>, more: &[&str]) -> anyhow::Result<(Option<i32>, String)> {
    let kubeconfig = scene.case.cluster.kubeconfig().to_string_lossy();
    let output: Output = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(["install", "gopher", "--no-wait", "-n", &scene.namespace])
        .args(["--kubeconfig", &kubeconfig])
        .args(more)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code(), said))
}

#[tokio::test]
async fn an_install_may_be_repeated_but_not_say_something_else() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": "hub"}, "spec": {"sourceType": "grpc", "image": "127.0.0.1:1/hub:v1"},
            }))
            .await?;
        // The only catalog that the namespace may use, whatever other tests have in theirs.
        let (code, said) = install(&scene, &["--channel", "stable"]).await?;
        ensure!(code == Some(0) && said.contains("is made"), "{code:?} {said}");
        for again in [&["--channel", "stable"][..], &[]] {
            let (code, said) = install(&scene, again).await?;
            ensure!(
                code == Some(0) && said.contains("Subscription gopher is there already"),
                "{code:?} {said}"
            );
        }
        let (code, said) = install(&scene, &["--channel", "beta"]).await?;
        ensure!(
            code == Some(1)
                && said.contains("its channel is stable, not beta")
                && said.contains("kubectl patch subscription gopher"),
            "{code:?} {said}"
        );
        let (code, said) = install(&scene, &["--approval", "sometimes"]).await?;
        ensure!(code == Some(2), "{code:?} {said}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_process_in_a_terminal_makes_the_namespace_of_its_lease() {
    on_cluster(async |case| {
        let home = format!("{}-home", case.namespace().await?);
        let scene = Scene::with(case, |settings| settings.namespace.clone_from(&home)).await?;
        let leases = Api::<Lease>::namespaced(case.client.clone(), &home);
        case.wait(&leases, "chandler", "held", |lease: Option<&Lease>| {
            let spec = lease.and_then(|lease| lease.spec.as_ref());
            spec.is_some_and(|spec| spec.holder_identity.is_some())
        })
        .await?;
        drop(scene);
        let namespaces = Api::<Namespace>::all(case.client.clone());
        namespaces.delete(&home, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_without_a_subscription_is_told_of_with_its_reason_and_counts() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let (code, text, said) = chandler(&scene, &["status"]).await?;
        ensure!(code == 0 && text == "no operators\n", "{text} {said}");
        let gopher = scene.operator("gopher", "1.0.0");
        scene.runs(&gopher).await?;
        let (code, text, said) = chandler(&scene, &["status"]).await?;
        ensure!(
            code == 0 && text.contains("\thealthy, without a Subscription\t"),
            "{code} {text} {said}"
        );
        // One that lacks something, and one whose next version does.
        let mole = scene.operator("mole", "1.0.0").requires("Nothing");
        scene.by_hand(&mole).await?;
        let next = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        scene.by_hand(&next.requires("Nothing")).await?;
        for csv in ["mole.v1.0.0", "gopher.v2.0.0"] {
            scene.because(csv, CsvReason::RequirementsNotMet).await?;
        }
        scene.in_phase("gopher.v1.0.0", CsvPhase::Replacing).await?;
        let missing = scene.crd_of("Nothing");
        let (code, text, said) = chandler(&scene, &["status"]).await?;
        ensure!(
            code == 1
                && said.contains("not healthy: mole.v1.0.0")
                && said.contains("not upgraded as it should be: gopher.v2.0.0"),
            "{code} {text} {said}"
        );
        let (code, text, said) = chandler(&scene, &["status", "mole.v1.0.0"]).await?;
        ensure!(
            code == 1
                && text.starts_with("mole.v1.0.0: installing, without a Subscription\n")
                && text.contains(&missing),
            "{code} {text} {said}"
        );
        let (code, text, said) = chandler(&scene, &["list", "-o", "json"]).await?;
        let rows: Value = serde_json::from_str(&text)?;
        let why = rows[1]["message"].as_str().unwrap_or_default();
        ensure!(
            code == 0
                && rows[0]["clusterServiceVersion"] == "gopher.v1.0.0"
                && rows[0]["upgrade"]["state"] == "stuck"
                && rows[1]["clusterServiceVersion"] == "mole.v1.0.0"
                && why.contains(&missing),
            "{rows} {said}"
        );
        let (code, text, said) = chandler(&scene, &["status", "vole"]).await?;
        ensure!(
            code == 1 && text.is_empty() && said.contains("there is no Subscription vole"),
            "{code} {text} {said}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_is_installed_is_told_of_although_no_plan_is_left_that_installed_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let mole = scene.operator("mole", "1.0.0");
        let none_tells = |text: &str, csv: &str| {
            text.lines().count() == 1
                && text.contains(&format!("\t{csv}\t"))
                && text.contains("\tdone\t\tno InstallPlan that is left tells of it; ")
                && text.contains(" is Succeeded since ")
        };
        // One that was there first, and is adopted.
        scene.runs(&gopher).await?;
        let content = [stable([gopher]), stable([mole])];
        scene.config_map_catalog("hub", &content).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let (code, text, said) = chandler(&scene, &["history", "gopher"]).await?;
        ensure!(
            code == 0 && said.is_empty() && none_tells(&text, "gopher.v1.0.0"),
            "{code} {text} {said}"
        );
        // One whose plan is gone.
        scene.subscribe("mole", "hub", json!({})).await?;
        scene.in_phase("mole.v1.0.0", CsvPhase::Succeeded).await?;
        let plan = scene.plan_of("mole", InstallPlanPhase::Complete).await?;
        scene.at_latest("mole", "mole.v1.0.0").await?;
        scene.delete::<InstallPlan>(&plan.name_any()).await?;
        let (code, text, said) = chandler(&scene, &["history", "mole"]).await?;
        ensure!(
            code == 0
                && said.contains("older entries may be missing")
                && none_tells(&text, "mole.v1.0.0"),
            "{code} {text} {said}"
        );
        Ok(())
    })
    .await;
}
