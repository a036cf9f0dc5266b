//! Controllers that run in the process of a test and care for its namespaces alone.

use anyhow::Context as _;
use chandler::controller::{Controllers, Error, Health, Settings};
use chandler::oci::client;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::case::Case;

/// Controllers that run until they are stopped.
pub struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), Error>>,
    health: Health,
    // Goes with its folder.
    _cache: TempDir,
}

impl Running {
    /// Starts controllers for these namespaces; the first one has their Lease.
    pub async fn start(case: &Case, namespaces: &[&str]) -> anyhow::Result<Self> {
        let cache = tempfile::tempdir()?;
        let first = namespaces.first().context("no namespace")?;
        let mut registries = client::Settings::default();
        registries.plain_http.extend(case.cluster.registry.clone());
        let settings = Settings {
            namespace: (*first).to_owned(),
            lease: "chandler".to_owned(),
            identity: case.name.clone(),
            global_namespaces: Vec::new(),
            watched_namespaces: namespaces.iter().map(|it| (*it).to_owned()).collect(),
            cache: cache.path().to_owned(),
            registries,
            kube_version: None,
        };
        let controllers = Controllers::new(case.cluster.client().await?, settings)?;
        let stop = CancellationToken::new();
        let health = controllers.health();
        Ok(Self {
            task: tokio::spawn(controllers.run(stop.clone())),
            stop,
            health,
            _cache: cache,
        })
    }

    /// What they counted.
    pub fn metrics(&self) -> String {
        self.health.metrics()
    }

    /// Stops them, and says why they stopped before if they did.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.task.await??;
        Ok(())
    }
}
