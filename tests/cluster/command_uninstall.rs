//! `chandler uninstall`, `list` and `history` on a cluster.

use std::path::Path;
use std::process::Stdio;

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use http::Method;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::case::on_cluster;
use crate::support::controllers::Running;
use crate::support::gateway::Gateway;
use crate::support::install::{done, order};
use crate::support::inventory::{self, Extent};
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// A command, about the namespace of a scene.
fn command(scene: &Scene<'_>, arguments: &[&str], kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chandler"));
    command
        .args(arguments)
        .args(["-n", &scene.namespace])
        .arg("--kubeconfig")
        .arg(kubeconfig);
    command
}

/// What a command said: its exit code, its data, and its words.
pub(crate) async fn chandler(
    scene: &Scene<'_>,
    arguments: &[&str],
) -> anyhow::Result<(i32, String, String)> {
    let kubeconfig = scene.case.cluster.kubeconfig();
    let output = command(scene, arguments, kubeconfig).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_shown_then_asked_for_then_done() {
    on_cluster(async |case| {
        let mut scene = Scene::uncared(case).await?;
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        order(&scene).await?;
        done(&scene).await?;
        let (code, text, said) = chandler(&scene, &["uninstall", "gopher", "--dry-run"]).await?;
        ensure!(code == 0, "{code} {said}");
        println!("{text}");
        for word in [
            "goes\tClusterServiceVersion\t",
            "goes\tDeployment\t",
            "goes\tConfigMap\t",
            "goes\tClusterRole\t",
            "stays\tCustomResourceDefinition\tgophers.",
            "stays\tSubscription\t",
            "--prune-dependencies removes that as well",
        ] {
            ensure!(text.contains(word), "no {word} in\n{text}");
        }
        let asked = [
            "uninstall",
            "gopher",
            "--everything",
            "--dry-run",
            "-o",
            "json",
        ];
        let (code, text, said) = chandler(&scene, &asked).await?;
        ensure!(code == 0, "{code} {said}");
        let shown: Value = serde_json::from_str(&text)?;
        let parts: Vec<&Value> = shown["removals"].as_array().unwrap().iter().collect();
        ensure!(parts.len() == 2, "{shown}");
        ensure!(
            parts[1]["package"] == "burrow" && parts[1]["blockers"] == json!([]),
            "{shown}"
        );
        ensure!(text.contains("DeleteDefinitions"), "{text}");

        // What people have is only given up by name.
        scene.make("Gopher", "digger", &[]).await?;
        let everything = ["uninstall", "gopher", "--everything", "--yes"];
        let (code, _, said) = chandler(&scene, &everything).await?;
        let crd = scene.crd_of("Gopher");
        ensure!(
            code == 1 && said.contains(&format!("--delete-crds {crd}")),
            "{code} {said}"
        );
        let (code, text, said) = chandler(&scene, &asked[..4]).await?;
        ensure!(
            code == 0 && text.contains(&format!("stays\tCustomResourceDefinition\t{crd}\t")),
            "{code} {text} {said}"
        );

        // Nobody can be asked in a pipe, and nothing happened so far.
        let (code, _, said) = chandler(&scene, &["uninstall", "gopher"]).await?;
        ensure!(code == 2 && said.contains("--yes"), "{code} {said}");
        let wrong = [
            "uninstall",
            "gopher",
            "--yes",
            "--delete-crds",
            "ships.example.com",
        ];
        let (code, _, said) = chandler(&scene, &wrong).await?;
        ensure!(
            code == 1 && said.contains("there is no CRD"),
            "{code} {said}"
        );
        let (code, _, said) = chandler(&scene, &["uninstall", "burrow", "--yes"]).await?;
        ensure!(
            code == 1 && said.contains("gopher.v1.0.0 needs"),
            "{code} {said}"
        );
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;

        let really = ["uninstall", "gopher", "--prune-dependencies", "--yes"];
        let (code, text, said) = chandler(&scene, &really).await?;
        ensure!(
            code == 0 && text.contains("gopher is removed"),
            "{code} {text} {said}"
        );
        ensure!(scene.csvs().await?.is_empty(), "{:?}", scene.csvs().await?);
        ensure!(scene.names::<Subscription>().await?.is_empty());
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.get(&format!("gophers.{}.example.com", scene.namespace))
            .await?;
        let (code, _, said) = chandler(&scene, &["uninstall", "gopher", "--yes"]).await?;
        ensure!(
            code == 1 && said.contains("there is no Subscription"),
            "{code} {said}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_wished_that_was_stopped_is_not_wished_by_the_next_one() {
    on_cluster(async |case| {
        let mut scene = Scene::uncared(case).await?;
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        order(&scene).await?;
        done(&scene).await?;
        scene.make("Gopher", "digger", &[]).await?;
        let crd = scene.crd_of("Gopher");
        let gateway = Gateway::start(case.client.clone(), &[&scene.namespace]).await?;
        let held =
            gateway.hold(|method, path| method == "DELETE" && path.contains("subscriptions"));
        let all = [
            "uninstall",
            "gopher",
            "--everything",
            "--delete-crds",
            &crd,
            "--yes",
        ];
        let mut stopped = command(&scene, &all, &gateway.kubeconfig())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        held.is_reached().await;
        stopped.kill().await?;
        let written = scene.api::<Subscription>().get("gopher").await?;
        ensure!(
            written.metadata.deletion_timestamp.is_none()
                && written.annotations().contains_key("chandler.delete-crds"),
            "it was not stopped in between: {written:?}"
        );
        let (code, text, said) = chandler(&scene, &["uninstall", "gopher", "--yes"]).await?;
        ensure!(code == 0, "{code} {text} {said}");
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.resources("Gopher").get("digger").await?;
        // Neither the CRDs nor what was installed for it was given up by anybody who got to the end.
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        for kind in ["Gopher", "Burrow"] {
            let crd = crds.get(&scene.crd_of(kind)).await?;
            ensure!(crd.metadata.deletion_timestamp.is_none(), "{kind} goes");
        }
        ensure!(scene.csvs().await? == ["burrow.v1.0.0"]);
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_that_could_not_be_followed_for_all_attempts_is_taken_back() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let gateway = Gateway::start(case.client.clone(), &[&scene.namespace]).await?;
        // Somebody else writes to it whenever it is about to be deleted.
        let subscriptions = scene.api::<Subscription>();
        let meddle = async {
            loop {
                let is_meant = |method: &Method, path: &str| {
                    method == "DELETE" && path.contains("subscriptions")
                };
                let held = gateway.hold(is_meant);
                held.is_reached().await;
                let note = json!({"metadata": {"annotations": {"note": held_at()}}});
                let written = subscriptions
                    .patch("gopher", &PatchParams::default(), &Patch::Merge(note))
                    .await;
                if let Err(error) = written {
                    break anyhow::Error::from(error);
                }
                held.release();
            }
        };
        let asked = ["uninstall", "gopher", "--everything", "--yes", "--no-wait"];
        let mut stopped = command(&scene, &asked, &gateway.kubeconfig());
        let output = tokio::select! {
            output = stopped.output() => output?,
            error = meddle => return Err(error),
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success(), "{said}");
        let left = subscriptions.get("gopher").await?;
        ensure!(left.metadata.deletion_timestamp.is_none(), "{left:?}");
        ensure!(left.metadata.finalizers.is_none(), "{left:?}");
        let removal = left.spec.policy.map(|policy| policy.removal.to_string());
        ensure!(removal.unwrap_or_default().is_empty(), "it keeps the wish");
        Ok(())
    })
    .await;
}

/// Something that is different each time.
fn held_at() -> String {
    k8s_openapi::jiff::Timestamp::now().to_string()
}

/// The ClusterRoles that an operator has, by its labels.
async fn rights(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let roles = Api::<ClusterRole>::all(scene.case.client.clone());
    let selector = format!(
        "olm.owner=gopher.v1.0.0,olm.owner.namespace={}",
        scene.namespace
    );
    let found = roles.list(&ListParams::default().labels(&selector)).await?;
    Ok(found.iter().map(ResourceExt::name_any).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_looks_after_the_cluster_a_removal_is_done_from_the_command() {
    on_cluster(async |case| {
        let mut scene = Scene::uncared(case).await?;
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        let extent = Extent::Of(vec![scene.namespace.clone()]);
        crate::support::install::stock(&scene).await?;
        scene.ready_catalog("hub").await?;
        let before = inventory::settled(&case.client, &extent).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        done(&scene).await?;
        scene.make("Gopher", "digger", &["example.com/dig"]).await?;
        scene.stop().await?;
        let has = rights(&scene).await?;
        ensure!(!has.is_empty(), "it has no rights");
        let crd = scene.crd_of("Gopher");
        let asked = [
            "uninstall",
            "gopher",
            "--everything",
            "--delete-crds",
            &crd,
            "--yes",
        ];
        let worked_off = async {
            let gophers = scene.resources("Gopher");
            let is_going = async || {
                Ok(gophers
                    .get("digger")
                    .await?
                    .metadata
                    .deletion_timestamp
                    .is_some())
            };
            case.eventually("deleted", is_going).await?;
            // Whoever works its finalizer off still has the rights to do that, and nobody told it to go.
            let csv = scene.api::<ClusterServiceVersion>();
            let csv = csv.get("gopher.v1.0.0").await?;
            ensure!(csv.metadata.deletion_timestamp.is_none(), "it has to go");
            let still = rights(&scene).await?;
            ensure!(still == has, "{still:?} is left of {has:?}");
            let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            gophers
                .patch("digger", &PatchParams::default(), &patch)
                .await?;
            anyhow::Ok(())
        };
        let ((code, text, said), ()) = tokio::try_join!(chandler(&scene, &asked), worked_off)?;
        ensure!(code == 0, "{code} {text} {said}");
        ensure!(said.contains("it is done from here"), "{said}");
        // What only somebody who looks after the namespace keeps up to date.
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        inventory::is_as(&case.client, &extent, &before, |_| false).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_and_how_it_came_to_be_is_told() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene.operator("gopher", "1.0.0");
        let new = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        scene.image_catalog("hub", &[stable([old.clone()])]).await?;
        let manual = json!({"policy": {"approval": "Minor"}, "channel": "stable"});
        scene.subscribe("gopher", "hub", manual).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene
            .patch::<Subscription>(
                "gopher",
                json!({"spec": {"policy": {"approval": "Manual"}}}),
            )
            .await?;
        scene
            .shop()
            .push_catalog("hub", &[stable([old, new])])
            .await?;
        let waits = async || {
            let (code, text, said) = chandler(&scene, &["list"]).await?;
            ensure!(code == 0, "{said}");
            Ok(text.contains("gopher.v1.1.0: waits for approval"))
        };
        case.eventually("told of the upgrade", waits).await?;
        let (_, text, _) = chandler(&scene, &["list"]).await?;
        println!("{text}");
        ensure!(
            text.contains("\tgopher\t1.0.0\tgopher.v1.0.0\tstable\t"),
            "{text}"
        );
        let (code, text, _) = chandler(&scene, &["list", "-o", "json"]).await?;
        let rows: Value = serde_json::from_str(&text)?;
        ensure!(
            code == 0
                && rows[0]["health"] == "healthy"
                && rows[0]["upgrade"]["to"] == "gopher.v1.1.0"
                && rows[0]["upgrade"]["state"] == "waitsForApproval",
            "{rows}"
        );
        // That it waits is what somebody wanted: nothing is wrong.
        let (code, text, said) = chandler(&scene, &["status", "gopher"]).await?;
        println!("{text}");
        ensure!(code == 0, "{said}");
        ensure!(
            text.starts_with("gopher: healthy\n")
                && text.contains("upgrade    gopher.v1.1.0: waits for approval"),
            "{text}"
        );
        let (code, _, said) = chandler(&scene, &["approve", "gopher"]).await?;
        ensure!(code == 0, "{said}");
        scene.in_phase("gopher.v1.1.0", CsvPhase::Succeeded).await?;
        let (code, text, said) = chandler(&scene, &["history", "gopher"]).await?;
        println!("{text}");
        ensure!(code == 0, "{said}");
        let rows: Vec<&str> = text.lines().collect();
        ensure!(rows.len() == 2, "{text}");
        ensure!(
            rows[0].contains("\tgopher.v1.0.0\tgopher\tautomatic\tdone\t"),
            "{text}"
        );
        ensure!(
            rows[1].contains("\tgopher.v1.1.0\tgopher\tapproved by chandler-approve\t"),
            "{text}"
        );
        Ok(())
    })
    .await;
}
