//! Pods that really run, from an image that this project built.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::{LogParams, PostParams};
use kube::runtime::conditions;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::stand_in::StandIn;

#[tokio::test]
async fn an_image_of_ours_runs_as_a_pod_and_is_reached_through_its_service() {
    on_cluster(async |case| {
        let Some(StandIn { image }) = StandIn::at_hand(case).await? else {
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
