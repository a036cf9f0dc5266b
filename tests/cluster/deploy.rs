//! Chandler as its users run it: as pods, from the manifests that `chandler deploy` prints.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::ensure;
use chandler::oci::image::{Compression, File, Image, Start};
use chandler::oci::push::{Transport, push};
use chandler::yaml;
use k8s_openapi::api::apps::v1::Deployment;
use kube::runtime::conditions;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::case::{Case, on_cluster};
use crate::support::cluster::repository;
use crate::support::data::skipped;
use crate::support::opm;
use crate::support::packages::{API_SERVICE, Turn, forge};
use crate::support::scene::Scene;
use crate::support::wares::{blobs, stable};

#[tokio::test]
async fn two_replicas_run_as_pods_without_any_rights_on_their_node_and_install_operators() {
    on_cluster(async |case| {
        if !case.cluster.runs_pods()? {
            skipped(&case.name, "no real node: that needs root on Linux");
            return Ok(());
        }
        let Some(registry) = &case.cluster.registry else {
            skipped(
                &case.name,
                "CHANDLER_REGISTRY names no registry that your cluster can pull from",
            );
            return Ok(());
        };
        let scene = Scene {
            case,
            namespace: case.namespace().await?,
            running: None,
        };
        let image = push_image(registry).await?;
        let turn = Turn::take(case).await?;
        deploy(case, &scene.namespace, &image).await?;
        let deployments = scene.api::<Deployment>();
        case.wait(
            &deployments,
            "chandler",
            "rolled out",
            conditions::is_deployment_completed(),
        )
        .await?;
        scene.group("own").await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        install_from_a_registry_behind_a_service(&scene, registry).await?;
        look_at_packages(&scene).await?;
        forge(case, &scene.namespace).await?;
        let reader = "rolebinding/chandler:extension-apiserver-authentication-reader";
        let delegator = "clusterrolebinding/chandler:auth-delegator";
        for binding in ["clusterrolebinding/chandler", delegator, reader] {
            let delete = ["delete", "-n", "kube-system", binding, "--ignore-not-found"];
            case.cluster.kubectl(&delete).await?;
        }
        drop(turn);
        Ok(())
    })
    .await;
}

/// Both replicas answer, behind the API server.
async fn look_at_packages(scene: &Scene<'_>) -> anyhow::Result<()> {
    let case = scene.case;
    let list = [
        "get",
        "packagemanifests",
        "-n",
        &scene.namespace,
        "-o",
        "name",
    ];
    let shown = async || {
        let names = case.cluster.kubectl(&list).await;
        Ok(names.is_ok_and(|it| it.contains("/gopher") && it.contains("/mole")))
    };
    case.eventually("shown as packages", shown).await?;
    for _ in 0..20 {
        let names = case.cluster.kubectl(&list).await?;
        ensure!(
            names.contains("/gopher") && names.contains("/mole"),
            "{names}"
        );
    }
    let services = [
        "get",
        "apiservice",
        API_SERVICE,
        "-o",
        "jsonpath={.metadata.ownerReferences}",
    ];
    let owners = case.cluster.kubectl(&services).await?;
    ensure!(
        owners.contains("ClusterRole"),
        "it would stay for ever: {owners}"
    );
    Ok(())
}

/// The name of the Service is looked up through the API: no DNS runs in the cluster of the tests.
async fn install_from_a_registry_behind_a_service(
    scene: &Scene<'_>,
    registry: &str,
) -> anyhow::Result<()> {
    let Some(opm) = opm::binary()? else {
        skipped(&scene.case.name, "opm cannot be built here");
        return Ok(());
    };
    let mole = scene.operator("mole", "1.0.0").owns("Mole");
    let lines: Vec<String> = blobs(&[stable([mole])], &[])
        .iter()
        .map(ToString::to_string)
        .collect();
    let files = vec![
        File {
            path: "opm".to_owned(),
            mode: 0o755,
            content: fs_err::read(opm)?,
        },
        File {
            path: "configs/catalog.json".to_owned(),
            mode: 0o644,
            content: lines.join("\n").into_bytes(),
        },
    ];
    let start = Start {
        entrypoint: vec!["/opm".to_owned()],
        user: "65532:65532".to_owned(),
        ..Start::default()
    };
    let image = Image::build_layers(vec![files], &start, Compression::None)?;
    let name = format!("{registry}/chandler-test/opm:latest");
    let image = push(&image, &name, Transport::Plain).await?;
    scene
        .create(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "registry", "labels": {"app": "registry"}},
            "spec": {
                "containers": [{
                    "name": "opm", "image": image,
                    "args": [
                        "serve", "/configs", "--port", "50051", "--pprof-addr", "",
                        "--cache-dir", "/tmp/cache", "--cache-enforce-integrity=false",
                    ],
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                    "securityContext": {
                        "allowPrivilegeEscalation": false, "runAsNonRoot": true,
                        "capabilities": {"drop": ["ALL"]},
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                }],
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        }))
        .await?;
    scene
        .create(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "registry"},
            "spec": {"selector": {"app": "registry"}, "ports": [{"port": 50051}]},
        }))
        .await?;
    let address = format!("registry.{}.svc:50051", scene.namespace);
    scene.catalog_at("remote", &address).await?;
    scene.ready_catalog("remote").await?;
    scene.subscribe("mole", "remote", json!({})).await?;
    scene.at_latest("mole", "mole.v1.0.0").await?;
    Ok(())
}

/// The binary of this build in an image. Debug information would make it ten times as large.
async fn push_image(registry: &str) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let binary = folder.path().join("chandler");
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(&binary)
        .arg(env!("CARGO_BIN_EXE_chandler"))
        .status()
        .await;
    if !stripped.is_ok_and(|status| status.success()) {
        fs_err::copy(env!("CARGO_BIN_EXE_chandler"), &binary)?;
    }
    let start = Start {
        entrypoint: vec!["/chandler".to_owned()],
        user: "65532:65532".to_owned(),
        ..Start::default()
    };
    let files = vec![File {
        path: "chandler".to_owned(),
        mode: 0o755,
        content: fs_err::read(&binary)?,
    }];
    let image = Image::build_layers(vec![files], &start, Compression::None)?;
    Ok(push(
        &image,
        &format!("{registry}/chandler-test/chandler:latest"),
        Transport::Plain,
    )
    .await?)
}

async fn deploy(case: &Case, namespace: &str, image: &str) -> anyhow::Result<()> {
    let printed = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(["deploy", "--image", image, "--namespace", namespace])
        .arg(format!("--run-argument=--watch-namespace={namespace}"))
        .arg(format!(
            "--run-argument=--global-catalog-namespace={namespace}"
        ))
        .stdin(Stdio::null())
        .output()
        .await?;
    ensure!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    let file = tempfile::NamedTempFile::new()?;
    fs_err::write(file.path(), &printed.stdout)?;
    let path = file.path().to_string_lossy().into_owned();
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", &path];
    case.cluster.kubectl(&apply).await?;
    Ok(())
}

#[tokio::test]
async fn the_kustomizations_are_what_chandler_deploy_prints() {
    on_cluster(async |case| {
        let mut built = Vec::new();
        for folder in ["deploy/base", "deploy/operators"] {
            let folder = repository().join(folder);
            let text = case
                .cluster
                .kubectl(&["kustomize", &folder.to_string_lossy()])
                .await?;
            built.extend(objects(&text)?);
        }
        let printed = Command::new(env!("CARGO_BIN_EXE_chandler"))
            .args(["deploy", "--with-operators", "--image", "any"])
            .output()
            .await?;
        let printed = objects(&String::from_utf8(printed.stdout)?)?;
        let named = |objects: &[Value]| -> BTreeMap<String, Value> {
            let named = objects.iter().map(|object| {
                let metadata = &object["metadata"];
                let (namespace, name) = (&metadata["namespace"], &metadata["name"]);
                (
                    format!("{} {namespace} {name}", object["kind"]),
                    object.clone(),
                )
            });
            named.collect()
        };
        let (built, printed) = (named(&built), named(&printed));
        assert_eq!(
            built.keys().collect::<Vec<_>>(),
            printed.keys().collect::<Vec<_>>()
        );
        for (name, object) in &built {
            assert_eq!(object, &printed[name], "{name}");
        }
        Ok(())
    })
    .await;
}

/// The objects of a text but for the image, which the kustomization names by itself.
fn objects(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut objects = yaml::values("manifests", text)?;
    for object in &mut objects {
        if let Some(image) = object.pointer_mut("/spec/template/spec/containers/0/image") {
            image.take();
        }
    }
    Ok(objects)
}
