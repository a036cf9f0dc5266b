//! A process that is killed with `kill -9` after any single write of an install: the next one
//! finishes the job, and in the end nobody can tell.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{bail, ensure};
use serde_json::Value;

use crate::support::case::{Case, DEADLINE, on_cluster};
use crate::support::data::skipped;
use crate::support::gateway::{Gateway, Write, lines};
use crate::support::install::{done, order};
use crate::support::killing::{self, QUIET, last, role, walk};
use crate::support::process::Process;
use crate::support::scene::Scene;
use crate::support::snapshot;

pub(crate) type Snapshot = BTreeMap<String, Value>;

pub(crate) struct Undisturbed {
    pub(crate) writes: Vec<Write>,
    pub(crate) left: Snapshot,
}

pub(crate) async fn undisturbed(case: &Case) -> anyhow::Result<Undisturbed> {
    let scene = Scene::uncared(case).await?;
    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    order(&scene).await?;
    let kubeconfig = gateway.kubeconfig();
    let _process = Process::start(case, &role("undisturbed", &kubeconfig, &namespaces))?;
    done(&scene).await?;
    gateway.quiet(QUIET).await;
    let left = snapshot::of(&case.client, &scene.namespace).await?;
    Ok(Undisturbed {
        writes: gateway.writes(),
        left,
    })
}

/// One install whose process is killed at a certain moment.
async fn killed(
    case: &Case,
    moment: impl Fn(&[Write]) -> bool + Send + 'static,
    expected: &Snapshot,
) -> anyhow::Result<Option<String>> {
    let scene = Scene::uncared(case).await?;
    let is_done = async || {
        done(&scene).await?;
        same(case, &scene.namespace, expected).await
    };
    killing::killed(&scene, moment, order(&scene), is_done).await
}

/// Waits until a namespace is as another one is.
pub(crate) async fn same(case: &Case, namespace: &str, expected: &Snapshot) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let found = snapshot::of(&case.client, namespace).await?;
        let differences = snapshot::differences(expected, &found);
        if differences.is_empty() {
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            bail!("{}", differences.join("\n"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_install_ends_the_same_wherever_its_process_is_killed() {
    on_cluster(async |case| {
        let expected = undisturbed(case).await?.left;
        let complete = |writes: &[Write]| {
            let is_last = |write: &Write| {
                write.is("PUT", "installplans/status") && write.says(r#""phase":"Complete""#)
            };
            writes.last().is_some_and(is_last)
        };
        // A plan that has no steps yet.
        let plan = Box::pin(killed(case, last("POST", "installplans"), &expected));
        let crd = last("PATCH", "customresourcedefinitions");
        let crd = Box::pin(killed(case, crd, &expected));
        // Its objects have no owner yet.
        let csv = last("POST", "clusterserviceversions");
        let csv = Box::pin(killed(case, csv, &expected));
        let generated = Box::pin(killed(case, last("POST", "subscriptions"), &expected));
        // Nobody knows of what was installed.
        let complete = Box::pin(killed(case, complete, &expected));
        let moments = tokio::try_join!(plan, crd, csv, generated, complete)?;
        let (plan, crd, csv, generated, complete) = moments;
        for moment in [plan, crd, csv, generated, complete] {
            ensure!(moment.is_some(), "a moment did not come");
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_install_ends_the_same_whichever_write_was_the_last() {
    if std::env::var_os("CHANDLER_SOAK").is_none() {
        skipped(
            "an_install_ends_the_same_whichever_write_was_the_last",
            "it takes long; `make soak` runs it",
        );
        return;
    }
    on_cluster(async |case| {
        let Undisturbed { writes, left } = undisturbed(case).await?;
        println!("an undisturbed install:\n{}", lines(&writes));
        let moments = walk(|count| killed(case, move |writes| writes.len() == count, &left));
        let moments = moments.await?;
        ensure!(moments > writes.len() / 2, "only {moments} moments came");
        Ok(())
    })
    .await;
}
