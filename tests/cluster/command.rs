//! Commands that change a cluster.

use std::process::Output;

use anyhow::ensure;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;
use tokio::process::Command;

use crate::support::case::on_cluster;
use crate::support::scene::Scene;

async fn install(scene: &Scene<'_>, more: &[&str]) -> anyhow::Result<(Option<i32>, String)> {
    let kubeconfig = scene.case.cluster.kubeconfig().to_string_lossy();
    let output: Output = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(["install", "gopher", "--no-wait", "-n", &scene.namespace])
        .args(["--kubeconfig", &kubeconfig])
        .args(more)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code(), said))
}

#[tokio::test]
async fn an_install_may_be_repeated_but_not_say_something_else() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": "hub"}, "spec": {"sourceType": "grpc", "image": "127.0.0.1:1/hub:v1"},
            }))
            .await?;
        // The only catalog that the namespace may use, whatever other tests have in theirs.
        let (code, said) = install(&scene, &["--channel", "stable"]).await?;
        ensure!(code == Some(0) && said.contains("is made"), "{code:?} {said}");
        for again in [&["--channel", "stable"][..], &[]] {
            let (code, said) = install(&scene, again).await?;
            ensure!(
                code == Some(0) && said.contains("Subscription gopher is there already"),
                "{code:?} {said}"
            );
        }
        let (code, said) = install(&scene, &["--channel", "beta"]).await?;
        ensure!(
            code == Some(1)
                && said.contains("its channel is stable, not beta")
                && said.contains("kubectl patch subscription gopher"),
            "{code:?} {said}"
        );
        let (code, said) = install(&scene, &["--approval", "sometimes"]).await?;
        ensure!(code == Some(2), "{code:?} {said}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_process_in_a_terminal_makes_the_namespace_of_its_lease() {
    on_cluster(async |case| {
        let home = format!("{}-home", case.namespace().await?);
        let scene = Scene::with(case, |settings| settings.namespace.clone_from(&home)).await?;
        let leases = Api::<Lease>::namespaced(case.client.clone(), &home);
        case.wait(&leases, "chandler", "held", |lease: Option<&Lease>| {
            let spec = lease.and_then(|lease| lease.spec.as_ref());
            spec.is_some_and(|spec| spec.holder_identity.is_some())
        })
        .await?;
        drop(scene);
        let namespaces = Api::<Namespace>::all(case.client.clone());
        namespaces.delete(&home, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}
