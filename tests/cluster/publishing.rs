//! An author's way from an empty folder to clusters that upgrade by themselves, with nothing but commands.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::CsvPhase;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::support::case::on_cluster;
use crate::support::process::{Process, Role};
use crate::support::scene::Scene;
use crate::support::stand_in::StandIn;

#[tokio::test]
async fn what_an_author_publishes_is_offered_by_the_cluster_and_then_runs_there_by_itself() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene {
            case,
            namespace: case.namespace().await?,
            running: None,
        };
        scene.group("own").await?;
        let author = Author::new(&scene)?;
        let package = author.package.clone();

        // The first version, and a cluster that has it.
        author.begins("0.1.0", &stand_in.image).await?;
        author.does(&["bundle", "lint", &package]).await?;
        author.publishes("0.1.0").await?;
        let init = ["catalog", "init", &package, "--default-channel", "stable"];
        let init = [&init[..], &["--output-dir", "catalog"]].concat();
        author.does(&init).await?;
        author.offers("0.1.0").await?;
        scene
            .catalog_of("hub", &author.image("catalog:latest"), json!({}))
            .await?;
        let mut process = Process::start(
            case,
            &Role {
                name: "chandler",
                kubeconfig: case.cluster.kubeconfig(),
                namespaces: &[&scene.namespace],
                cares_for_all: false,
                lease: "publishing",
                plain_http: &[],
            },
        )?;
        let hub = process.address().await?;
        let kubeconfig = case.cluster.kubeconfig().to_string_lossy().into_owned();
        let install = [
            "install",
            &package,
            "--catalog",
            "hub",
            "-n",
            &scene.namespace,
        ];
        let install = [&install[..], &["--kubeconfig", &kubeconfig]].concat();
        author.does(&install).await?;
        let running = ready_versions(&scene).await?;
        ensure!(running == ["0.1.0"], "{running:?}");

        // The next one: nobody touches the cluster from here on.
        author.edits(&[("0.1.0", "0.2.0")])?;
        let before = author.bundle("0.1.0");
        author
            .does(&["bundle", "lint", &package, "--previous", &before])
            .await?;
        author.publishes("0.2.0").await?;
        author.offers("0.2.0").await?;
        let asked = format!(
            "http://{hub}/api/v1/packages/{package}?catalog={}/hub",
            scene.namespace
        );
        case.eventually("offered by the cluster", async || {
            let answer: Value = serde_json::from_str(&reqwest::get(&asked).await?.text().await?)?;
            Ok(answer["card"]["version"] == "0.2.0")
        })
        .await?;
        scene
            .in_phase(&format!("{package}.v0.2.0"), CsvPhase::Succeeded)
            .await?;
        scene
            .gone::<ClusterServiceVersion>(&format!("{package}.v0.1.0"))
            .await?;
        case.eventually("run by the next version", async || {
            Ok(ready_versions(&scene).await? == ["0.2.0"])
        })
        .await?;
        process.terminate().await?;
        process.ended().await
    })
    .await;
}

/// Whoever writes an operator: a folder to work in, and a registry to publish to.
struct Author {
    folder: TempDir,
    /// Called after the namespace of the test, because APIs are for the whole cluster.
    package: String,
    registry: String,
}

impl Author {
    fn new(scene: &Scene<'_>) -> anyhow::Result<Self> {
        let suffix = scene.namespace.rsplit('-').next().context("no suffix")?;
        let registry = scene.case.cluster.registry.clone();
        Ok(Self {
            folder: tempfile::tempdir()?,
            package: format!("gopher-{suffix}"),
            registry: registry.context("no registry")?,
        })
    }

    /// Makes a bundle, and writes into it what nobody else can know: the image, and what it is told.
    async fn begins(&self, version: &str, image: &str) -> anyhow::Result<()> {
        let init = ["bundle", "init", &self.package, "--version", version];
        self.does(&init).await?;
        let labels = "              metadata:\n                labels:\n";
        let label = format!("                  app.kubernetes.io/version: {version}\n");
        let default = format!("registry.example.com/{}:v{version}", self.package);
        let arguments = "\n                    args: [serve, \"0.0.0.0:8080\"]";
        self.edits(&[
            (labels, &format!("{labels}{label}")),
            (&default, &format!("{image}{arguments}")),
        ])
    }

    /// Replaces words of the ClusterServiceVersion, as one does in an editor.
    fn edits(&self, changes: &[(&str, &str)]) -> anyhow::Result<()> {
        let file = format!("{0}/manifests/{0}.clusterserviceversion.yaml", self.package);
        let file = self.folder.path().join(file);
        let mut text = fs_err::read_to_string(&file)?;
        for (old, new) in changes {
            ensure!(text.contains(old), "no {old} in {text}");
            text = text.replace(old, new);
        }
        Ok(fs_err::write(file, text)?)
    }

    async fn publishes(&self, version: &str) -> anyhow::Result<()> {
        let push = ["bundle", "push", &self.package, &self.bundle(version)];
        self.does(&push).await
    }

    /// Puts a bundle into the catalog, and that into the registry.
    async fn offers(&self, version: &str) -> anyhow::Result<()> {
        let bundle = self.bundle(version);
        self.does(&["catalog", "add", "catalog", &bundle, "--channel", "stable"])
            .await?;
        self.does(&["catalog", "lint", "catalog"]).await?;
        self.does(&["catalog", "push", "catalog", &self.image("catalog:latest")])
            .await
    }

    fn bundle(&self, version: &str) -> String {
        self.image(&format!("bundle:v{version}"))
    }

    fn image(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.registry, self.package)
    }

    /// Runs a command that has to succeed.
    async fn does(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = Command::new(env!("CARGO_BIN_EXE_chandler"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CHANDLER_PLAIN_HTTP", &self.registry)
            .env("CHANDLER_CACHE_DIR", self.folder.path().join("cache"))
            .output()
            .await?;
        ensure!(
            output.status.success(),
            "`chandler {}`: {}\n{}{}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

/// The versions of which a pod is ready.
async fn ready_versions(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let pods = scene.api::<Pod>().list(&ListParams::default()).await?;
    let is_ready = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|it| it.conditions.as_ref());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|it| it.type_ == "Ready" && it.status == "True")
    };
    let ready = pods.iter().filter(|pod| is_ready(pod));
    let versions = ready.filter_map(|pod| pod.labels().get("app.kubernetes.io/version"));
    Ok(versions.cloned().collect())
}
