//! The plugin `kubectl operator`, as it is published, against Chandler.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, SubscriptionState};
use chandler::api::operator::Operator;
use chandler::api::operator_group::OperatorGroup;
use chandler::api::subscription::Subscription;
use kube::Api;
use kube::api::ListParams;
use tokio::process::Command;

use crate::support::case::on_cluster;
use crate::support::cluster::tool;
use crate::support::data::skipped;
use crate::support::packages::Served;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// Runs the plugin in a namespace and gives what it printed.
async fn plugin(
    binary: &Path,
    kubeconfig: &Path,
    namespace: &str,
    arguments: &[&str],
) -> anyhow::Result<String> {
    let output = Command::new(binary)
        .args(arguments)
        .args(["-n", namespace, "--timeout", "1m"])
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .output()
        .await?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if !output.status.success() {
        bail!("`kubectl operator {}` failed: {said}", arguments.join(" "));
    }
    Ok(said)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plugin_lists_installs_upgrades_and_uninstalls_an_operator() {
    on_cluster(async |case| {
        let Some(binary) = tokio::task::spawn_blocking(|| tool("kubectl-operator")).await?? else {
            skipped(&case.name, "the plugin cannot be built here");
            return Ok(());
        };
        let Some(served) = Served::one(case).await? else {
            skipped(
                &case.name,
                "the API server reaches no process here: that needs root on Linux",
            );
            return Ok(());
        };
        let home = &served.scene;
        let old = home.operator("gopher", "1.0.0").owns("Gopher");
        let new = home
            .operator("gopher", "1.1.0")
            .owns("Gopher")
            .replaces("1.0.0");
        home.config_map_catalog("hub", &[stable([old, new])])
            .await?;
        let namespace = served.other.as_str();
        served.shows(namespace, "gopher").await?;
        let kubeconfig = case.cluster.kubeconfig();
        let run =
            async |arguments: &[&str]| plugin(&binary, kubeconfig, namespace, arguments).await;
        let available = run(&["list-available"]).await?;
        ensure!(available.contains("gopher.v1.1.0"), "{available}");
        let of_catalog = run(&["list-available", "-c", "hub"]).await?;
        ensure!(of_catalog.contains("gopher"), "{of_catalog}");
        let described = run(&["describe", "gopher"]).await?;
        ensure!(described.contains("gopher 1.1.0"), "{described}");

        let install = [
            "install",
            "gopher",
            "--create-operator-group",
            "-v",
            "1.0.0",
            "-a",
            "Manual",
        ];
        let installed = run(&install).await?;
        ensure!(installed.contains("gopher.v1.0.0"), "{installed}");
        let target = Scene {
            case,
            namespace: namespace.to_owned(),
            running: None,
        };
        target
            .in_phase("gopher.v1.0.0", CsvPhase::Succeeded)
            .await?;
        let listed = run(&["list"]).await?;
        ensure!(listed.contains("gopher.v1.0.0"), "{listed}");

        target
            .until("gopher", "offered an upgrade", |it: &Subscription| {
                let status = it.status.clone().unwrap_or_default();
                status.state == SubscriptionState::UpgradePending
                    && status.current_csv == "gopher.v1.1.0"
            })
            .await?;
        let upgraded = run(&["upgrade", "gopher"]).await?;
        ensure!(upgraded.contains("gopher.v1.1.0"), "{upgraded}");
        target.at_latest("gopher", "gopher.v1.1.0").await?;
        // The plugin looks for operands by the first version that it finds, and refuses if that one
        // does not run: the former has to be gone, also from the Operator.
        target
            .gone::<ClusterServiceVersion>("gopher.v1.0.0")
            .await?;
        let operators = Api::<Operator>::all(case.client.clone());
        let of_package = format!("gopher.{namespace}");
        let knows_new_only = |it: Option<&Operator>| {
            let text = it.map_or(String::new(), |it| serde_json::json!(it.status).to_string());
            text.contains("gopher.v1.1.0") && !text.contains("gopher.v1.0.0")
        };
        case.wait(
            &operators,
            &of_package,
            "of the new version",
            knows_new_only,
        )
        .await?;
        target
            .in_phase("gopher.v1.1.0", CsvPhase::Succeeded)
            .await?;
        let again = run(&["upgrade", "gopher"])
            .await
            .err()
            .context("upgraded twice")?;
        ensure!(again.to_string().contains("latest"), "{again:#}");

        let gone = run(&["uninstall", "gopher", "-X"]).await?;
        ensure!(gone.contains("gopher"), "{gone}");
        ensure!(target.names::<Subscription>().await?.is_empty());
        ensure!(
            target.csvs().await?.is_empty(),
            "{:?}",
            target.csvs().await?
        );
        let groups = Api::<OperatorGroup>::namespaced(case.client.clone(), namespace);
        let groups = groups.list(&ListParams::default()).await?;
        let groups: Vec<String> = groups.iter().map(kube::ResourceExt::name_any).collect();
        ensure!(groups.is_empty(), "{groups:?}");
        target.gone::<ClusterServiceVersion>("gopher.v1.1.0").await
    })
    .await;
}
