//! Operators for all namespaces, of which there are many.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::SubscriptionConditionType as Type;
use chandler::api::olm_config::{self, OlmConfig};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::data::skipped;
use crate::support::gateway::{Gateway, lines};
use crate::support::process::{Process, Role};
use crate::support::scene::Scene;
use crate::support::wares::stable;

const OPERATORS: usize = 15;
const NAMESPACES: usize = 1_000;
/// How much more memory that may take.
const BUDGET: u64 = 10 * 1024;
/// How much more memory a copy may take where copies are wanted, in KiB: there is one of each operator in each namespace.
const OF_A_COPY: usize = 2;
/// What is written beside copies, for each operator: its own status, and that of the OLMConfig.
const BESIDE: usize = 20;
/// How long nothing is written once everything is done.
const QUIET: Duration = Duration::from_secs(10);
/// Namespaces of the crowd are called so, and are known by that.
const CROWD: &str = "crowd-of-many";

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_namespaces_cost_operators_for_all_of_them_next_to_nothing() {
    if std::env::var_os("CHANDLER_SOAK").is_none() {
        skipped(
            "a_thousand_namespaces_cost_operators_for_all_of_them_next_to_nothing",
            "it takes long; `make soak` runs it",
        );
        return;
    }
    on_cluster(async |case| {
        let outcome = crowd(case).await;
        copy_csvs(case, false).await?;
        disperse(case).await?;
        outcome
    })
    .await;
}

#[allow(
    clippy::print_stdout,
    reason = "the figures are what the test is run for"
)]
async fn crowd(case: &Case) -> anyhow::Result<()> {
    let scene = Scene::for_all(case).await?;
    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &[&scene.namespace, CROWD]).await?;
    let process = Process::start(
        case,
        &Role {
            name: "crowd",
            kubeconfig: &gateway.kubeconfig(),
            namespaces: &namespaces,
            cares_for_all: true,
            lease: "crowd",
            plain_http: &[],
        },
    )?;
    let packages: Vec<String> = (0..OPERATORS).map(|it| format!("operator-{it}")).collect();
    let channels: Vec<_> = packages
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let operator = scene
                .operator(name, "1.0.0")
                .owns(&format!("Thing{number}"));
            // As long as those that people write.
            stable([operator.csv_with(json!({"spec": {"description": "word ".repeat(4_000)}}))])
        })
        .collect();
    scene.image_catalog("hub", &channels).await?;
    for package in &packages {
        scene.subscribe(package, "hub", json!({})).await?;
    }
    for package in &packages {
        scene.said(package, Type::Healthy).await?;
    }
    gateway.quiet(QUIET).await;
    let (settled, before) = (gateway.writes().len(), process.resident()?);
    println!("{OPERATORS} operators: {settled} writes, {before} KiB");

    gather(case).await?;
    gateway.quiet(QUIET).await;
    let writes = gateway.writes().split_off(settled);
    let after = process.resident()?;
    println!(
        "{NAMESPACES} namespaces more: {} writes, {after} KiB",
        writes.len()
    );
    ensure!(
        writes.is_empty(),
        "written for nothing:\n{}",
        lines(&writes[..writes.len().min(20)])
    );
    ensure!(
        after.saturating_sub(before) <= BUDGET,
        "{before} KiB became {after} KiB"
    );

    copy_csvs(case, true).await?;
    let copies = copies(case, OPERATORS * NAMESPACES).await?;
    gateway.quiet(QUIET).await;
    let written = gateway.writes().len() - settled;
    let with_copies = process.resident()?;
    println!("{copies} copies: {written} writes, {with_copies} KiB");
    ensure!(
        written <= 2 * copies + BESIDE * OPERATORS,
        "a copy and its status are more than two writes"
    );
    let more = usize::try_from(with_copies.saturating_sub(after))?;
    ensure!(
        more <= OF_A_COPY * copies,
        "{copies} copies take {more} KiB"
    );
    copy_csvs(case, false).await?;
    self::copies(case, 0).await?;
    gateway.quiet(QUIET).await;
    let written = gateway.writes().len() - settled - written;
    println!("no copies: {written} writes, {} KiB", process.resident()?);
    ensure!(
        written <= copies + BESIDE * OPERATORS,
        "to delete a copy is more than one write"
    );
    Ok(())
}

/// Creates the namespaces.
async fn gather(case: &Case) -> anyhow::Result<()> {
    let api = Api::<Namespace>::all(case.client.clone());
    for number in 0..NAMESPACES {
        let namespace = serde_json::from_value(json!({
            "metadata": {
                "name": format!("{CROWD}-{number:04}"), "labels": {CROWD: ""},
                // What somebody applied to it is of no use to anybody here.
                "annotations": {"example.com/owner": "somebody ".repeat(50)},
            },
        }))?;
        api.create(&PostParams::default(), &namespace).await?;
    }
    Ok(())
}

async fn disperse(case: &Case) -> anyhow::Result<()> {
    let api = Api::<Namespace>::all(case.client.clone());
    for number in 0..NAMESPACES {
        let name = format!("{CROWD}-{number:04}");
        if api.get_metadata_opt(&name).await?.is_some() {
            api.delete(&name, &DeleteParams::default()).await?;
        }
    }
    Ok(())
}

/// Has operators that serve all namespaces copied to them, or not.
async fn copy_csvs(case: &Case, are_wanted: bool) -> anyhow::Result<()> {
    let api = Api::<OlmConfig>::all(case.client.clone());
    let config = json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig",
        "metadata": {"name": olm_config::NAME},
        "spec": {"features": {"disableCopiedCSVs": !are_wanted}},
    });
    let parameters = PatchParams::apply("crowd").force();
    api.patch(olm_config::NAME, &parameters, &Patch::Apply(config))
        .await?;
    Ok(())
}

/// Waits until there are so many copies in the crowd.
async fn copies(case: &Case, wanted: usize) -> anyhow::Result<usize> {
    let api = Api::<ClusterServiceVersion>::all(case.client.clone());
    let selector = ListParams::default().labels("olm.copiedFrom").limit(500);
    let deadline = tokio::time::Instant::now() + Duration::from_mins(20);
    loop {
        let mut count = 0;
        let mut page = selector.clone();
        loop {
            let list = api.list_metadata(&page).await?;
            let of_crowd = list.items.iter().filter(|it| {
                let namespace = it.metadata.namespace.as_deref();
                namespace.is_some_and(|it| it.starts_with(CROWD))
            });
            count += of_crowd.count();
            match list.metadata.continue_.filter(|it| !it.is_empty()) {
                Some(more) => page = page.continue_token(&more),
                None => break,
            }
        }
        if count == wanted {
            return Ok(count);
        }
        let is_late = tokio::time::Instant::now() > deadline;
        (!is_late)
            .then_some(())
            .with_context(|| format!("{count} copies instead of {wanted}"))?;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}
