//! When everything is as it should be, nothing is written.

use std::time::Duration;

use anyhow::ensure;
use chandler::api::conditions::SubscriptionConditionType as Type;
use chandler::api::operator_group::OperatorGroup;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::data::skipped;
use crate::support::gateway::{Gateway, Write, lines};
use crate::support::install::{done, order};
use crate::support::process::{Process, Role};
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// How long nothing is written once everything is done.
const QUIET: Duration = Duration::from_secs(2);

/// What was written of anything but one object. The OLMConfig is for all tests of the cluster.
fn others(writes: &[Write], name: &str) -> Vec<Write> {
    let is_about = |it: &Write, what: &str| it.path.contains(what) || it.says(what);
    let others = writes
        .iter()
        .filter(|it| !is_about(it, name) && !it.path.contains("/olmconfigs/"));
    others.cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_what_is_settled_writes_nothing_and_neither_does_a_start() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let mut gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        order(&scene).await?;
        let start = |name, gateway: &Gateway| {
            let kubeconfig = gateway.kubeconfig();
            let role = Role {
                name,
                kubeconfig: &kubeconfig,
                namespaces: &namespaces,
                cares_for_all: false,
                lease: name,
                plain_http: &[],
            };
            Process::start(case, &role)
        };
        let process = start("first", &gateway)?;
        done(&scene).await?;
        gateway.quiet(QUIET).await;
        let settled = gateway.writes().len();
        scene
            .patch::<OperatorGroup>("own", json!({"metadata": {"labels": {"a": "b"}}}))
            .await?;
        // It is looked at in the same pass as the others, or in a later one.
        scene.subscribe("no-such-package", "hub", json!({})).await?;
        scene
            .said("no-such-package", Type::ResolutionFailed)
            .await?;
        gateway.quiet(QUIET).await;
        let written = others(&gateway.writes()[settled..], "no-such-package");
        ensure!(
            written.is_empty(),
            "written for nothing:\n{}",
            lines(&written)
        );

        process.terminate().await?;
        process.ended().await?;
        gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let _process = start("second", &gateway)?;
        scene
            .subscribe("nor-this-package", "hub", json!({}))
            .await?;
        scene
            .said("nor-this-package", Type::ResolutionFailed)
            .await?;
        gateway.quiet(QUIET).await;
        let written = others(&gateway.writes(), "nor-this-package");
        ensure!(
            written.is_empty(),
            "written by a start:\n{}",
            lines(&written)
        );
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_for_fifty_subscriptions_that_have_what_they_want() {
    if std::env::var_os("CHANDLER_SOAK").is_none() {
        skipped(
            "nothing_is_written_for_fifty_subscriptions_that_have_what_they_want",
            "it takes long; `make soak` runs it",
        );
        return;
    }
    let seconds = std::env::var("CHANDLER_STEADY_SECONDS").ok();
    let time = seconds
        .and_then(|it| it.parse().ok())
        .map_or(Duration::from_mins(10), Duration::from_secs);
    on_cluster(async |case| {
        let mut scenes = Vec::new();
        for _ in 0..10 {
            scenes.push(Scene::uncared(case).await?);
        }
        let namespaces: Vec<&str> = scenes.iter().map(|it| it.namespace.as_str()).collect();
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let _process = Process::start(
            case,
            &Role {
                name: "steady",
                kubeconfig: &gateway.kubeconfig(),
                namespaces: &namespaces,
                cares_for_all: false,
                lease: "steady",
                plain_http: &[],
            },
        )?;
        let packages = ["ant", "bee", "cat", "dog", "eel"];
        let kind = |package: &str| format!("A{package}");
        for scene in &scenes {
            let channels =
                packages.map(|name| stable([scene.operator(name, "1.0.0").owns(&kind(name))]));
            scene.config_map_catalog("hub", &channels).await?;
            for package in packages {
                scene.subscribe(package, "hub", json!({})).await?;
            }
        }
        for scene in &scenes {
            for package in packages {
                scene
                    .at_latest(package, &format!("{package}.v1.0.0"))
                    .await?;
                scene.said(package, Type::Healthy).await?;
            }
        }
        gateway.quiet(Duration::from_secs(10)).await;
        let settled = gateway.writes();
        println!("settled after {} writes", settled.len());
        // Here time is what is asked about: nothing happens, and nothing tells that it will not.
        tokio::time::sleep(time).await;
        let written = gateway.writes().split_off(settled.len());
        ensure!(
            written.is_empty(),
            "written for nothing:\n{}",
            lines(&written)
        );
        Ok(())
    })
    .await;
}
