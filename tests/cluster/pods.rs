//! Pods that really run, from an image that this project built.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use chandler::oci::image::{File, Image, Start};
use chandler::oci::push::{Transport, push};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::{LogParams, PostParams};
use kube::runtime::conditions;
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::data::skipped;

#[tokio::test]
async fn an_image_of_ours_runs_as_a_pod_and_is_reached_through_its_service() {
    on_cluster(async |case| {
        let Some(image) = stand_in_image(case).await? else {
            return Ok(());
        };
        let namespace = case.namespace().await?;
        let deployments = Api::<Deployment>::namespaced(case.client.clone(), &namespace);
        let services = Api::<Service>::namespaced(case.client.clone(), &namespace);
        let pods = Api::<Pod>::namespaced(case.client.clone(), &namespace);

        deployments
            .create(&PostParams::default(), &deployment(&image)?)
            .await?;
        let service = services.create(&PostParams::default(), &service()?).await?;
        let available = conditions::is_deployment_completed();
        case.wait(&deployments, "stand-in", "rolled out", available)
            .await?;

        // Another pod asks, at the Service's address: the way every client inside a cluster takes.
        let address = service
            .spec
            .and_then(|spec| spec.cluster_ip)
            .context("no cluster address")?;
        pods.create(
            &PostParams::default(),
            &client(&image, &format!("{address}:80"))?,
        )
        .await?;
        let ended = |pod: Option<&Pod>| {
            let phase = pod
                .and_then(|pod| pod.status.as_ref())
                .and_then(|status| status.phase.as_deref());
            matches!(phase, Some("Succeeded" | "Failed"))
        };
        case.wait(&pods, "client", "at its end", ended).await?;
        let answer = pods.logs("client", &LogParams::default()).await?;
        ensure!(answer.contains("HTTP/1.1 200 OK"), "{answer}");
        ensure!(answer.contains("stand-in at stand-in-"), "{answer}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_pod_in_a_simulated_namespace_turns_ready_although_its_image_does_not_exist() {
    on_cluster(async |case| {
        let namespace = case.simulated_namespace().await?;
        let deployments = Api::<Deployment>::namespaced(case.client.clone(), &namespace);
        deployments
            .create(
                &PostParams::default(),
                &deployment("example.com/not/there:1")?,
            )
            .await?;
        let available = conditions::is_deployment_completed();
        case.wait(&deployments, "stand-in", "rolled out", available)
            .await
    })
    .await;
}

/// Pushes the stand-in to the cluster's registry; none where that could not run.
async fn stand_in_image(case: &Case) -> anyhow::Result<Option<String>> {
    if !case.cluster.real_node {
        skipped(&case.name, "no real node: that needs root on Linux");
        return Ok(None);
    }
    let Some(registry) = &case.cluster.registry else {
        skipped(
            &case.name,
            "CHANDLER_REGISTRY names no registry that your cluster can pull from",
        );
        return Ok(None);
    };
    let content =
        fs_err::read(stand_in_binary()?).context("run `make test-cluster`, which builds it")?;
    ensure!(
        !content.windows(9).any(|window| window == b"/ld-linux"),
        "the stand-in is not static, and an image holds nothing else: run `make test-cluster`"
    );
    let start = Start {
        entrypoint: vec!["/stand-in".to_owned()],
        user: "65532:65532".to_owned(),
        ..Start::default()
    };
    let image = Image::build(
        vec![File {
            path: "stand-in".to_owned(),
            mode: 0o755,
            content,
        }],
        &start,
    )?;
    let reference = format!("{registry}/chandler-test/stand-in:latest");
    let pushed = push(&image, &reference, Transport::Plain).await?;
    ensure!(pushed.ends_with(&image.manifest.digest), "{pushed}");
    Ok(Some(pushed))
}

/// The example's binary, beside the folder of this test's own.
fn stand_in_binary() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let profile = own
        .parent()
        .and_then(|deps| deps.parent())
        .context("no target folder")?;
    Ok(profile.join("examples/stand-in"))
}

fn deployment(image: &str) -> anyhow::Result<Deployment> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "stand-in" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "stand-in" } },
            "template": {
                "metadata": { "labels": { "app": "stand-in" } },
                "spec": { "containers": [{
                    "name": "stand-in",
                    "image": image,
                    "args": ["serve", "0.0.0.0:8080"],
                    "readinessProbe": { "httpGet": { "path": "/readyz", "port": 8080 }, "periodSeconds": 1 },
                }] },
            },
        },
    }))?)
}

fn service() -> anyhow::Result<Service> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "stand-in" },
        "spec": { "selector": { "app": "stand-in" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
    }))?)
}

fn client(image: &str, address: &str) -> anyhow::Result<Pod> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "client" },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "client", "image": image, "args": ["fetch", address, "/"] }],
        },
    }))?)
}
