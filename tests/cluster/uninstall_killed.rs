//! A process that is killed with `kill -9` after any single write of a removal: the next one finishes the
//! job, and in the end nothing is left.

use anyhow::ensure;
use chandler::api::subscription::Subscription;
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::data::skipped;
use crate::support::gateway::Write;
use crate::support::install::{done, stock};
use crate::support::inventory::{self, Extent};
use crate::support::killing::{self, last, walk};
use crate::support::scene::Scene;

/// Installs, and removes with a process that is killed at a certain moment.
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
    scene.make("Gopher", "one", &[]).await?;
    scene.make("Burrow", "one", &[]).await?;
    let crds = ["Gopher", "Burrow"].map(|kind| scene.crd_of(kind));
    scene.give_up("gopher", &crds).await?;
    let has_finalizer = |it: &Subscription| it.metadata.finalizers.is_some();
    scene
        .until("gopher", "with a finalizer", has_finalizer)
        .await?;
    scene.stop().await?;
    let is_done = async || inventory::is_as(&case.client, &extent, &before, |_| false).await;
    let begin = scene.delete::<Subscription>("gopher");
    killing::killed(&scene, moment, begin, is_done).await
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
        let moments = walk(|count| killed(case, move |writes| writes.len() == count)).await?;
        ensure!(moments > 8, "only {moments} moments came");
        Ok(())
    })
    .await;
}
