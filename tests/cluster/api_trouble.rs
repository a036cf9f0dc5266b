//! An API server that goes away in the middle of an install, and watches that it does not go on with.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::conditions::InstallPlanPhase;
use chandler::api::subscription::Subscription;
use serde_json::json;

use crate::killed::{Snapshot, same, undisturbed};
use crate::support::case::{Case, on_cluster};
use crate::support::gateway::{Gateway, Refusal, Write};
use crate::support::install::{done, order};
use crate::support::killing::{last, role};
use crate::support::process::Process;
use crate::support::scene::{Scene, manual};
use crate::support::wares::stable;

/// Longer than anything is waited for in one go, and not so long that somebody else has to lead.
const AWAY: Duration = Duration::from_secs(5);

/// An install during which the API server goes away after a certain write.
async fn interrupted(
    case: &Case,
    moment: impl Fn(&[Write]) -> bool + Send + 'static,
    expected: &Snapshot,
) -> anyhow::Result<()> {
    let scene = Scene::uncared(case).await?;
    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    gateway.away_after(moment, AWAY);
    order(&scene).await?;
    let kubeconfig = gateway.kubeconfig();
    let process = Process::start(case, &role("patient", &kubeconfig, &namespaces))?;
    tokio::time::timeout(Duration::from_mins(2), gateway.was_away())
        .await
        .context("the moment did not come")?;
    done(&scene).await?;
    same(case, &scene.namespace, expected).await?;
    // The very same process.
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_install_ends_the_same_although_the_api_server_goes_away_in_the_middle() {
    on_cluster(async |case| {
        let expected = undisturbed(case).await?.left;
        // What was written is done, and nobody was told so. One after the other: each takes a process.
        for (method, kind) in [
            ("POST", "installplans"),
            ("POST", "clusterserviceversions"),
            ("PATCH", "deployments"),
        ] {
            let moment = last(method, kind);
            let ended = Box::pin(interrupted(case, moment, &expected)).await;
            ended.with_context(|| format!("gone after {method} {kind}"))?;
        }
        Ok(())
    })
    .await;
}

fn is_watch(path: &str, kind: &str) -> bool {
    path.contains(&format!("/{kind}?")) && path.contains("watch=")
}

/// What happened while a watch was away is heard of although it cannot go on from where it was.
async fn outdated(case: &Case, refusal: Refusal) -> anyhow::Result<()> {
    let scene = Scene::uncared(case).await?;
    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    let packages = ["gopher", "mole", "vole", "hare"];
    let channels = packages.map(|it| stable([scene.operator(it, "1.0.0")]));
    scene.config_map_catalog("hub", &channels).await?;
    let kubeconfig = gateway.kubeconfig();
    let mut process = Process::start(case, &role("late", &kubeconfig, &namespaces))?;
    let metrics = format!("http://{}/metrics", process.address().await?);
    for package in ["gopher", "mole", "vole"] {
        scene.subscribe(package, "hub", manual()).await?;
        scene
            .plan_of(package, InstallPlanPhase::RequiresApproval)
            .await?;
    }
    let knows = async |count: usize| {
        let text = reqwest::get(&metrics).await?.text().await?;
        let line = format!("subscription_count {count}");
        anyhow::Ok(text.lines().any(|it| it == line))
    };
    ensure!(
        knows(3).await?,
        "it does not know of what it made plans for"
    );
    let outdated = gateway.outdate(|path| is_watch(path, "subscriptions"), refusal);
    gateway.cut();
    outdated.is_reached().await;
    // One comes and two go, and nobody tells.
    for package in ["mole", "vole"] {
        scene.delete::<Subscription>(package).await?;
    }
    scene.subscribe("hare", "hub", json!({})).await?;
    ensure!(knows(3).await?, "it heard of it although nobody told");
    outdated.release();
    scene.at_latest("hare", "hare.v1.0.0").await?;
    case.eventually("rid of those that are gone", async || knows(2).await)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_hears_that_it_is_too_late_begins_with_all_that_there_is() {
    on_cluster(async |case| outdated(case, Refusal::Event).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_refused_because_it_is_too_late_does_so_too() {
    on_cluster(async |case| outdated(case, Refusal::Status).await).await;
}
