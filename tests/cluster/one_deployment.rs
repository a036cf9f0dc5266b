//! Several ClusterServiceVersions that ask for a Deployment of the same name.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::gateway::{Gateway, lines};
use crate::support::killing::role;
use crate::support::life::status;
use crate::support::process::Process;
use crate::support::scene::Scene;

/// For how long a newer version is given the chance to write in between.
const MEANWHILE: Duration = Duration::from_secs(5);

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "operator", "image": image}]}}}})
}

fn is_of(deployment: &Deployment, csv: &str) -> bool {
    deployment.labels().get("olm.owner").map(String::as_str) == Some(csv)
}

// It would put back what it saw before the newer version wrote, which is one rollout to and one fro.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_slow_to_look_does_not_put_its_deployment_back_over_that_of_the_next() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("first", &kubeconfig, &namespaces))?;
        let old = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .requires("Burrow");
        scene.with_crd(&old, "Gopher").await?;
        scene.with_crd(&old, "Burrow").await?;
        scene.runs(&old).await?;
        // From its first step as one that is replaced on, the older one is slow.
        let crd = old.crd_name("Burrow");
        let is_replaced = AtomicBool::new(false);
        let held = gateway.hold(move |method, path| {
            if method == "PUT" && path.contains("gopher.v1.0.0/status") {
                is_replaced.store(true, Ordering::SeqCst);
            }
            method == "GET" && path.contains(&crd) && is_replaced.load(Ordering::SeqCst)
        });
        let newer = scene
            .operator("gopher", "2.0.0")
            .owns("Gopher")
            .replaces("1.0.0")
            .deployment_with(image("example.com/operator:v2"));
        scene.by_hand(&newer).await?;
        held.is_reached().await;
        let is_newer = |it: &Deployment| is_of(it, "gopher.v2.0.0");
        let meanwhile = scene.until("gopher", "the newer one's", is_newer);
        // It may as well wait until the older one is done.
        let _ = tokio::time::timeout(MEANWHILE, meanwhile).await;
        held.release();
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let writes = gateway.writes();
        let of_deployment = writes.iter().filter(|it| it.is("PATCH", "deployments"));
        let mut after = of_deployment.skip_while(|it| !it.says("gopher.v2.0.0"));
        ensure!(
            after.all(|it| it.says("gopher.v2.0.0")),
            "{}",
            lines(&writes)
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_deployment_of_another_operator_is_left_to_it_until_that_is_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let labels = json!({"app": "manager"});
        let manager = |picture: &str| {
            let mut manager = image(picture);
            manager["name"] = json!("manager");
            manager["spec"]["selector"] = json!({"matchLabels": labels});
            manager["spec"]["template"]["metadata"] = json!({"labels": labels});
            manager
        };
        let gopher = scene.operator("gopher", "1.0.0");
        scene
            .runs(&gopher.deployment_with(manager("example.com/gopher:v1")))
            .await?;
        let before = scene.api::<Deployment>().get("manager").await?;
        let mole = scene.operator("mole", "1.0.0");
        scene
            .by_hand(&mole.deployment_with(manager("example.com/mole:v1")))
            .await?;
        let refused = scene
            .because("mole.v1.0.0", CsvReason::OwnerConflict)
            .await?;
        let message = status(&refused).message;
        for word in ["Deployment manager", "gopher.v1.0.0"] {
            ensure!(message.contains(word), "no {word} in {message}");
        }
        let after = scene.api::<Deployment>().get("manager").await?;
        ensure!(after.metadata.generation == before.metadata.generation);
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;

        scene.delete_csv("gopher.v1.0.0").await?;
        scene.in_phase("mole.v1.0.0", CsvPhase::Succeeded).await?;
        let after = scene.api::<Deployment>().get("manager").await?;
        ensure!(is_of(&after, "mole.v1.0.0"), "{after:?}");
        Ok(())
    })
    .await;
}
