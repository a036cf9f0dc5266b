//! Chandler's controllers, running inside a test and caring for its namespaces only.

use anyhow::Context as _;
use chandler::controller::{Controllers, Settings};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::case::Case;

/// Controllers that run until this is dropped or stopped.
pub struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<Result<(), chandler::controller::Error>>>,
    _cache: TempDir,
}

/// Starts controllers that care for these namespaces; their Lease is in the first.
pub async fn start(case: &Case, namespaces: &[&str]) -> anyhow::Result<Running> {
    let cache = tempfile::tempdir()?;
    let home = namespaces.first().context("name a namespace")?;
    let settings = Settings {
        namespace: (*home).to_owned(),
        lease: "chandler".to_owned(),
        identity: case.name.clone(),
        global_namespaces: Vec::new(),
        watched_namespaces: namespaces.iter().map(ToString::to_string).collect(),
        cache: cache.path().to_owned(),
        registries: chandler::oci::client::Settings::default(),
        kube_version: None,
    };
    let controllers = Controllers::new(case.client.clone(), settings)?;
    let stop = CancellationToken::new();
    let task = tokio::spawn(controllers.run(stop.clone()));
    Ok(Running {
        stop,
        task: Some(task),
        _cache: cache,
    })
}

impl Running {
    /// Stops the controllers and waits until they are.
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
