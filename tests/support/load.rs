//! Requests that go on while something happens to an operator, and are counted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{bail, ensure};
use kube::api::{ListParams, PostParams};
use serde_json::json;
use tokio::task::JoinHandle;

use super::case::DEADLINE;
use super::scene::Scene;
use super::stand_in::gopher;
use super::wares::Operator;

/// How long each of those who ask rests between two requests.
const REST: Duration = Duration::from_millis(10);
/// How many failures are shown.
const SHOWN: usize = 5;

/// Requests that go on until they are stopped.
pub struct Load {
    tally: Arc<Mutex<Tally>>,
    asking: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Tally {
    done: usize,
    failures: Vec<String>,
}

impl Load {
    /// Has Gophers created (and not kept), one read in its other version if it has one, and Tunnels
    /// listed.
    pub async fn start(scene: &Scene<'_>, operator: &Operator) -> anyhow::Result<Self> {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let mut load = Self {
            tally,
            asking: Vec::new(),
        };
        for version in ["v1", "v1", "v2"] {
            let gophers = scene.gophers(operator, version);
            // A version that is not there is not asked for.
            if gophers.list(&ListParams::default()).await.is_err() {
                continue;
            }
            let nobody = json!({"changedBy": "nobody"});
            let object = gopher(operator, version, "passing", &nobody);
            load.ask("create", move || {
                let (gophers, object) = (gophers.clone(), object.clone());
                async move {
                    let parameters = PostParams {
                        dry_run: true,
                        ..PostParams::default()
                    };
                    let created = gophers.create(&parameters, &object).await?;
                    ensure!(created.data["spec"]["changedBy"] != "nobody", "not changed");
                    gophers.list(&ListParams::default()).await?;
                    Ok(())
                }
            });
        }
        let group = format!("api.{}.example.com", scene.namespace);
        for _ in 0..2 {
            let tunnels = scene.objects(&group, "v1", "Tunnel");
            load.ask("get", move || {
                let tunnels = tunnels.clone();
                async move {
                    tunnels.get("north").await?;
                    Ok(())
                }
            });
        }
        load.at_least(50).await?;
        Ok(load)
    }

    fn ask<F>(&mut self, what: &'static str, request: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = anyhow::Result<()>> + Send,
    {
        let tally = Arc::clone(&self.tally);
        self.asking.push(tokio::spawn(async move {
            loop {
                let outcome = request().await;
                {
                    let mut tally = tally.lock().unwrap();
                    tally.done += 1;
                    if let Err(error) = outcome {
                        tally.failures.push(format!("{what}: {error:#}"));
                    }
                }
                tokio::time::sleep(REST).await;
            }
        }));
    }

    /// Waits until so many more requests were made.
    pub async fn at_least(&mut self, more: usize) -> anyhow::Result<()> {
        let done = || self.tally.lock().unwrap().done;
        let wanted = done() + more;
        let deadline = tokio::time::Instant::now() + DEADLINE;
        while done() < wanted {
            if tokio::time::Instant::now() > deadline {
                bail!("{} requests in all this time", done());
            }
            tokio::time::sleep(REST).await;
        }
        Ok(())
    }

    /// Says how many were made for a test, if none failed.
    pub async fn stop(mut self, test: &str) -> anyhow::Result<()> {
        for asking in self.asking.drain(..) {
            asking.abort();
            // It was aborted.
            let _ = asking.await;
        }
        let tally = self.tally.lock().unwrap();
        let failures = &tally.failures;
        ensure!(
            failures.is_empty(),
            "{} of {} requests failed:\n{}",
            failures.len(),
            tally.done,
            failures[..failures.len().min(SHOWN)].join("\n")
        );
        eprintln!("{test}: {} requests, none failed", tally.done);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for asking in &self.asking {
            asking.abort();
        }
    }
}
