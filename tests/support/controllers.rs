//! Controllers that run in the process of a test and care for its namespaces alone.

use std::time::Duration;

use anyhow::Context as _;
use chandler::controller::{Controllers, Error, Health, Settings};
use chandler::oci::client;
use chandler::version::Version;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::case::Case;

/// Controllers that run until they are stopped or this is dropped.
pub struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<Result<(), Error>>>,
    health: Health,
    // Goes with its folder.
    _cache: TempDir,
}

impl Running {
    /// Starts controllers for these namespaces; the first one has their Lease.
    pub async fn start(case: &Case, namespaces: &[&str]) -> anyhow::Result<Self> {
        Self::start_with(case, namespaces, |_| {}).await
    }

    /// Starts controllers whose settings differ in something.
    pub async fn start_with(
        case: &Case,
        namespaces: &[&str],
        differ: impl FnOnce(&mut Settings),
    ) -> anyhow::Result<Self> {
        let cache = tempfile::tempdir()?;
        let first = namespaces.first().context("no namespace")?;
        let mut registries = client::Settings::default();
        registries.plain_http.extend(case.cluster.registry.clone());
        // Tests do without registries that come back.
        registries.plain_http.insert("127.0.0.1:1".to_owned());
        let version = case.client.apiserver_version().await?;
        let mut settings = Settings {
            namespace: (*first).to_owned(),
            lease: "chandler".to_owned(),
            identity: format!("{}-{}", case.name, cache.path().display()),
            global_namespaces: Vec::new(),
            protected_copies: std::collections::BTreeSet::new(),
            watched_namespaces: namespaces.iter().map(|it| (*it).to_owned()).collect(),
            cache: cache.path().to_owned(),
            cache_rest: Duration::from_hours(1),
            rest: Duration::from_mins(5),
            registries,
            // One of its own, if there is one: tests do not share a proxy.
            proxy: (*first).to_owned(),
            package_api: false,
            version_rest: Duration::from_hours(1),
            kube_version: Version::parse_tolerant(&version.git_version).ok(),
        };
        differ(&mut settings);
        let controllers = Controllers::new(case.cluster.client().await?, settings)?;
        let stop = CancellationToken::new();
        let health = controllers.health();
        Ok(Self {
            task: Some(tokio::spawn(controllers.run(stop.clone()))),
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
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            task.await??;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
