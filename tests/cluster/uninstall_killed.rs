//! A process that is killed with `kill -9` after any single write of a removal: the next one finishes the
//! job, and in the end nothing is left.

use std::time::Duration;

use anyhow::{bail, ensure};
use chandler::api::subscription::Subscription;
use futures::future::try_join_all;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::data::skipped;
use crate::support::gateway::{Gateway, Write, lines};
use crate::support::install::{done, stock};
use crate::support::inventory::{self, Extent};
use crate::support::process::{Process, Role};
use crate::support::scene::Scene;

/// How many removals go on at once.
const AT_ONCE: usize = 4;
/// How long nothing is written once a removal is over.
const QUIET: Duration = Duration::from_secs(2);

/// Installs, and removes with a process that is killed at a certain moment, and another one after that.
/// Says after which write it was killed; nothing if it was over before the moment came.
async fn killed(
    case: &Case,
    moment: impl Fn(&[Write]) -> bool + Send + 'static,
) -> anyhow::Result<Option<String>> {
    let mut scene = Scene::uncared(case).await?;
    let namespaces = [scene.namespace.as_str()];
    scene.running = Some(Running::start(case, &namespaces).await?);
    stock(&scene).await?;
    scene.ready_catalog("hub").await?;
    let extent = Extent::Of(vec![scene.namespace.clone()]);
    let before = inventory::settled(&case.client, &extent).await?;
    let policy = json!({"policy": {"removal": "Everything"}});
    scene.subscribe("gopher", "hub", policy).await?;
    done(&scene).await?;
    make(&scene, "Gopher").await?;
    make(&scene, "Burrow").await?;
    let has_finalizer = |it: &Subscription| it.metadata.finalizers.is_some();
    scene
        .until("gopher", "with a finalizer", has_finalizer)
        .await?;
    scene.stop().await?;

    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    gateway.shut_after(moment);
    scene.delete::<Subscription>("gopher").await?;
    let kubeconfig = gateway.kubeconfig();
    let role = |name| Role {
        name,
        kubeconfig: &kubeconfig,
        namespaces: &namespaces,
        cares_for_all: false,
        lease: name,
        plain_http: &[],
    };
    let first = Process::start(case, &role("first"))?;
    let over = async {
        inventory::is_as(&case.client, &extent, &before, |_| false).await?;
        gateway.quiet(QUIET).await;
        anyhow::Ok(())
    };
    tokio::select! {
        () = gateway.is_shut() => {}
        over = over => {
            over?;
            return Ok(None);
        }
    }
    first.kill().await?;
    let written = gateway.writes();
    let last = written.last().map(ToString::to_string).unwrap_or_default();
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    let kubeconfig = gateway.kubeconfig();
    let role = Role {
        kubeconfig: &kubeconfig,
        ..role("second")
    };
    let _second = Process::start(case, &role)?;
    if let Err(error) = inventory::is_as(&case.client, &extent, &before, |_| false).await {
        bail!(
            "killed after {last}: {error:#}\nwritten before:\n{}\nwritten after:\n{}",
            lines(&written),
            lines(&gateway.writes())
        );
    }
    Ok(Some(last))
}

async fn make(scene: &Scene<'_>, kind: &str) -> anyhow::Result<()> {
    let group = format!("{}.example.com", scene.namespace);
    let resource = ApiResource {
        api_version: format!("{group}/v1"),
        version: "v1".to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        kind: kind.to_owned(),
        group: group.clone(),
    };
    let client = scene.case.client.clone();
    let api = Api::<DynamicObject>::namespaced_with(client, &scene.namespace, &resource);
    let object = serde_json::from_value(json!({
        "apiVersion": format!("{group}/v1"), "kind": kind,
        "metadata": {"name": "one"}, "spec": {},
    }))?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// The last write was this.
fn last(method: &'static str, kind: &'static str) -> impl Fn(&[Write]) -> bool + Send + 'static {
    move |writes| writes.last().is_some_and(|write| write.is(method, kind))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_ends_the_same_wherever_its_process_is_killed() {
    on_cluster(async |case| {
        // A dependency that has its wish, and is not deleted yet.
        let wish = |writes: &[Write]| {
            let is_wish = |write: &Write| {
                write.is("PATCH", "subscriptions") && write.says(r#""removal":"Everything""#)
            };
            writes.last().is_some_and(is_wish)
        };
        let wish = Box::pin(killed(case, wish));
        let resource = Box::pin(killed(case, last("DELETE", "gophers")));
        let csv = Box::pin(killed(case, last("DELETE", "clusterserviceversions")));
        let crd = Box::pin(killed(case, last("DELETE", "customresourcedefinitions")));
        let (wish, resource, csv, crd) = tokio::try_join!(wish, resource, csv, crd)?;
        for moment in [wish, resource, csv, crd] {
            ensure!(moment.is_some(), "a moment did not come");
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_ends_the_same_whichever_write_was_the_last() {
    if std::env::var_os("CHANDLER_SOAK").is_none() {
        skipped(
            "a_removal_ends_the_same_whichever_write_was_the_last",
            "it takes long; `make soak` runs it",
        );
        return;
    }
    on_cluster(async |case| {
        let mut first = 1;
        loop {
            let moments = (first..first + AT_ONCE)
                .map(|count| killed(case, move |writes| writes.len() == count));
            let moments = try_join_all(moments).await?;
            for (count, moment) in (first..).zip(&moments) {
                println!(
                    "{count:3} {}",
                    moment.as_deref().unwrap_or("was over before")
                );
            }
            if moments.iter().all(Option::is_none) {
                break;
            }
            first += AT_ONCE;
        }
        ensure!(first > 8, "only {first} moments came");
        Ok(())
    })
    .await;
}
