//! The cluster that the tutorials are followed on, one after the other: Chandler looks after all of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::cluster::{Cluster, repository};
use crate::session::Session;

/// A cluster, for one tutorial at a time.
pub(crate) struct Stage {
    pub(crate) cluster: &'static Cluster,
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::const_new(());
static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

impl Stage {
    /// A cluster without Chandler, whose registry has all images; none where pods do not run.
    pub(crate) async fn bare() -> anyhow::Result<Option<Self>> {
        let turn = TURN.lock().await;
        let cluster = CLUSTER
            .get_or_try_init(async || {
                let cluster = Cluster::find_or_start().await?;
                if let (true, Some(registry)) = (cluster.runs_pods()?, &cluster.registry) {
                    publish(registry)?;
                }
                anyhow::Ok(cluster)
            })
            .await?;
        if cluster.registry.is_none() || !cluster.runs_pods()? {
            eprintln!("SKIPPED: pods have to run, and to be pulled from a registry");
            return Ok(None);
        }
        Ok(Some(Self {
            cluster,
            _turn: turn,
        }))
    }

    /// The same with Chandler and the fleet's catalog in it.
    pub(crate) async fn cared_for() -> anyhow::Result<Option<Self>> {
        let Some(stage) = Self::bare().await? else {
            return Ok(None);
        };
        let mut admin = stage.session()?;
        let samples = repository().join("deploy/samples");
        admin.write(
            "catalog.yaml",
            &fs_err::read_to_string(samples.join("catalog.yaml"))?,
        )?;
        for line in [
            "chandler deploy --image registry.example.com/fleet/chandler:v1 \
             --run-argument=--mirror=registry.example.com=mirror.example.com \
             --run-argument=--plain-http=mirror.example.com | kubectl apply --server-side -f -",
            "kubectl rollout status deployment/chandler -n chandler-system --timeout=3m",
            "kubectl apply -f catalog.yaml",
        ] {
            admin.does(line, &[])?;
        }
        Ok(Some(stage))
    }

    /// A shell of somebody who may do everything in the cluster.
    pub(crate) fn session(&self) -> anyhow::Result<Session> {
        let registry = self.cluster.registry.as_deref().context("no registry")?;
        let for_pods = self.cluster.pod_registry.as_deref().unwrap_or(registry);
        let kubeconfig = self.cluster.kubeconfig().to_string_lossy();
        let variables = [
            ("KUBECONFIG", kubeconfig.as_ref()),
            ("CHANDLER_PLAIN_HTTP", registry),
        ];
        Session::start(&variables)?
            .knows("registry.example.com", registry)
            .knows("mirror.example.com", for_pods)
            .with_program("kubectl", self.cluster.kubectl_path())
    }
}

/// What the demo publishes: images, bundles and the catalog.
fn publish(registry: &str) -> anyhow::Result<()> {
    let status = Command::new(repository().join("deploy/demo/publish"))
        .arg(registry)
        .arg(built()?)
        .env("CHANDLER_PLAIN_HTTP", registry)
        .status()?;
    ensure!(status.success(), "deploy/demo/publish: {status}");
    Ok(())
}

/// Where cargo put the binaries.
fn built() -> anyhow::Result<PathBuf> {
    let binary = Path::new(env!("CARGO_BIN_EXE_chandler"));
    Ok(binary.parent().context("no folder")?.to_owned())
}
