//! Somebody who tries the demo on a cluster of their own.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use tempfile::TempDir;

use crate::cluster::{Cluster, repository};

/// How long a part of the demo may take: others use this machine as well.
const PATIENCE: Duration = Duration::from_mins(20);

/// Somebody who tries the demo on a cluster of their own, and leaves nothing to who comes next, however it ends.
pub(crate) struct Guest<'c> {
    cluster: &'c Cluster,
    /// Where the demo writes down what it did.
    pub(crate) state: TempDir,
    /// What this guest made without the demo, as kubectl names it.
    pub(crate) obstacle: Option<&'static str>,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        if let Some(obstacle) = self.obstacle {
            let removed = Command::new(self.cluster.kubectl_path())
                .arg("--kubeconfig")
                .arg(self.cluster.kubeconfig())
                .args(["delete", "--ignore-not-found"])
                .args(obstacle.split(' '))
                .output();
            eprintln!("removing {obstacle}: {removed:?}");
        }
        let words = match self.make("demo-down").output() {
            Ok(output) => said(&output),
            Err(error) => error.to_string(),
        };
        eprintln!("after the failure: make demo-down: {words}");
    }
}

impl<'c> Guest<'c> {
    pub(crate) fn new(cluster: &'c Cluster) -> anyhow::Result<Self> {
        let state = tempfile::tempdir()?;
        Ok(Self {
            cluster,
            state,
            obstacle: None,
        })
    }

    /// `make demo` or `make demo-down`, for this cluster.
    fn make(&self, target: &str) -> Command {
        let mut make = make(target);
        let registry = self.cluster.registry.as_deref().unwrap_or_default();
        let for_pods = self.cluster.pod_registry.as_deref().unwrap_or(registry);
        make.env("KUBECONFIG", self.cluster.kubeconfig())
            .env("CHANDLER_STATE", self.state.path())
            .env("CHANDLER_REGISTRY", registry)
            .env("CHANDLER_PLAIN_HTTP", registry)
            .env("CHANDLER_POD_REGISTRY", for_pods);
        make
    }

    pub(crate) fn done(&self, target: &str) -> anyhow::Result<String> {
        let output = self.make(target).output()?;
        ensure!(output.status.success(), "make {target}: {}", said(&output));
        Ok(said(&output))
    }

    pub(crate) fn refused(&self, target: &str) -> anyhow::Result<String> {
        let output = self.make(target).output()?;
        ensure!(!output.status.success(), "make {target}: {}", said(&output));
        Ok(said(&output))
    }

    pub(crate) async fn kubectl(&self, line: &str) -> anyhow::Result<String> {
        let words: Vec<&str> = line.split(' ').collect();
        self.cluster.kubectl(&words).await
    }

    /// The names of all objects that there are, but for those that come and go by themselves.
    pub(crate) async fn inventory(&self) -> anyhow::Result<Vec<String>> {
        let kinds = self.kubectl("api-resources --verbs=list -o name").await?;
        let stays = |it: &&str| !it.starts_with("events") && !it.starts_with("leases.");
        let kinds: Vec<&str> = kinds.lines().filter(stays).collect();
        let list = format!("get {} -A -o name --ignore-not-found", kinds.join(","));
        let mut names: Vec<String> = self
            .kubectl(&list)
            .await?
            .lines()
            .map(str::to_owned)
            .collect();
        names.sort();
        Ok(names)
    }

    /// Waits until there is again what there was: what goes with its owner goes a little later.
    pub(crate) async fn comes_back_to(&self, before: &[String]) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.inventory().await?;
            if now == before {
                return Ok(());
            }
            if Instant::now() > deadline {
                let more: Vec<_> = now.iter().filter(|it| !before.contains(it)).collect();
                let less: Vec<_> = before.iter().filter(|it| !now.contains(it)).collect();
                bail!("left behind: {more:?}, missing: {less:?}");
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Something that is made, as it is typed in a shell of its own.
pub(crate) fn make(target: &str) -> Command {
    // What a script starts in the background is deaf to Ctrl-C, and so is all that it starts: also tests, and what they start.
    let mut make = Command::new("env");
    make.args(["--default-signal=INT", "make"]);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        // What cargo and make tell their children would have everything compiled again.
        let is_theirs = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "MAKE",
            "MFLAGS",
        ];
        if is_theirs.iter().any(|it| name.starts_with(it)) || name == "LD_LIBRARY_PATH" {
            make.env_remove(name);
        }
    }
    make.args(["--no-print-directory", "-C"])
        .arg(repository())
        .arg(target)
        .stdin(Stdio::null());
    make
}

pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A demo that somebody watches.
pub(crate) struct Running {
    /// The first of a group of processes, as in a terminal.
    make: Child,
    log: PathBuf,
}

impl Running {
    pub(crate) fn start(guest: &Guest) -> anyhow::Result<Self> {
        let log = guest.state.path().join("log");
        let output = fs_err::File::create(&log)?.into_parts().0;
        let make = guest
            .make("demo")
            .stderr(output.try_clone()?)
            .stdout(output)
            .process_group(0)
            .spawn()?;
        Ok(Self { make, log })
    }

    pub(crate) fn words(&self) -> String {
        fs_err::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it printed something.
    pub(crate) fn shows(&mut self, text: &str) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // In this order: what it printed last counts.
            let has_ended = self.make.try_wait()?.is_some();
            let words = self.words();
            if words.contains(text) {
                return Ok(());
            }
            ensure!(!has_ended, "it ended without `{text}`: {words}");
            ensure!(Instant::now() < deadline, "no `{text}` in time: {words}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) -> anyhow::Result<()> {
        self.signal("-INT")
    }

    fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let group = format!("-{}", self.make.id());
        let status = Command::new("kill").args([signal, "--", &group]).status()?;
        ensure!(status.success(), "kill {signal}: {status}");
        Ok(())
    }

    pub(crate) fn ends(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.make.wait()?)
    }
}

impl Drop for Running {
    /// All of it: without `make` alone the rest would go on, while the next test begins.
    fn drop(&mut self) {
        if let Ok(None) = self.make.try_wait() {
            let _ = self.signal("-KILL");
            let _ = self.make.wait();
        }
    }
}
