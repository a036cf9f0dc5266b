//! `chandler run` as a process of its own, which can be killed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::case::{Case, DEADLINE};
use super::cluster::Cluster;

/// How often a file or an address is looked at again.
const SOON: Duration = Duration::from_millis(20);

/// A running process; it is killed when this is dropped.
pub struct Process {
    child: Child,
    log: PathBuf,
    // Goes with its folder.
    _cache: TempDir,
}

/// What a process cares for, and as whom.
pub struct Role<'a> {
    /// Different for every process of a test.
    pub name: &'a str,
    pub kubeconfig: &'a Path,
    /// The first one has the Lease, and is where catalogs for all of them are.
    pub namespaces: &'a [&'a str],
    /// Whether it cares for all others as well.
    pub cares_for_all: bool,
    pub lease: &'a str,
    /// Registries without TLS, besides the cluster's.
    pub plain_http: &'a [&'a str],
}

/// The binary that is run: another one than that of the tests if `CHANDLER_BINARY` names it, for what is
/// measured.
fn binary() -> PathBuf {
    let named = std::env::var_os("CHANDLER_BINARY");
    named.map_or_else(|| env!("CARGO_BIN_EXE_chandler").into(), PathBuf::from)
}

impl Process {
    pub fn start(case: &Case, role: &Role) -> anyhow::Result<Self> {
        Self::start_with(case, role, &[])
    }

    /// Starts it with arguments beside the usual.
    pub fn start_with(case: &Case, role: &Role, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(binary());
        command.arg("run").args(arguments);
        Self::start_by(case, role, command)
    }

    /// Starts it in the cluster's network, where it serves the API of packages at an address.
    pub fn start_inside(case: &Case, role: &Role, packages: &str) -> anyhow::Result<Self> {
        let mut command = Cluster::inside();
        command
            .arg(binary())
            .args(["run", "--package-api-listen", packages]);
        Self::start_by(case, role, command)
    }

    fn start_by(case: &Case, role: &Role, mut command: Command) -> anyhow::Result<Self> {
        let cache = tempfile::tempdir()?;
        let first = role.namespaces.first().context("no namespace")?;
        let folder = case.artifacts();
        fs_err::create_dir_all(&folder)?;
        let log = folder.join(format!("{first}-{}.log", role.name));
        command
            .arg("--kubeconfig")
            .arg(role.kubeconfig)
            .arg("--cache-dir")
            .arg(cache.path())
            .args(["--namespace", first])
            .args(["--global-catalog-namespace", first])
            .args(["--lease", role.lease, "--identity", role.name])
            .args(["--listen", "127.0.0.1:0", "--log", "chandler=debug,warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs_err::File::create(&log)?.into_parts().0)
            .kill_on_drop(true);
        for namespace in role.namespaces.iter().filter(|_| !role.cares_for_all) {
            command.args(["--watch-namespace", namespace]);
        }
        let registry = case.cluster.registry.as_deref();
        for registry in role.plain_http.iter().copied().chain(registry) {
            command.args(["--plain-http", registry]);
        }
        Ok(Self {
            child: command.spawn()?,
            log,
            _cache: cache,
        })
    }

    /// How much memory it has, in KiB.
    pub fn resident(&self) -> anyhow::Result<u64> {
        let pid = self.child.id().context("it ended by itself")?;
        let status = fs_err::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let size = line.and_then(|line| line.split_whitespace().next());
        Ok(size.context("it has no memory")?.parse()?)
    }

    /// `kill -9`, until it is gone.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "it ended by itself: {}", self.last_words());
        Ok(self.child.kill().await?)
    }

    /// Asks it to end.
    pub async fn terminate(&self) -> anyhow::Result<()> {
        let pid = self.child.id().context("it ended by itself")?.to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status().await?;
        ensure!(status.success(), "`kill -TERM {pid}`: {status}");
        Ok(())
    }

    /// Waits until it has ended without complaint.
    pub async fn ended(mut self) -> anyhow::Result<()> {
        let Ok(status) = tokio::time::timeout(DEADLINE, self.child.wait()).await else {
            bail!("it did not end: {}", self.last_words());
        };
        let status = status?;
        ensure!(status.success(), "{status}: {}", self.last_words());
        Ok(())
    }

    /// Waits until it has ended by itself because it could not go on.
    pub async fn gave_up(mut self) -> anyhow::Result<()> {
        let Ok(status) = tokio::time::timeout(DEADLINE, self.child.wait()).await else {
            bail!("it did not end: {}", self.last_words());
        };
        let status = status?;
        ensure!(!status.success(), "{status}: {}", self.last_words());
        Ok(())
    }

    /// Where it answers, once it does.
    pub async fn address(&mut self) -> anyhow::Result<String> {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        loop {
            let log = fs_err::read_to_string(&self.log)?;
            let lines = log
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut addresses = lines.filter_map(|line| Some(line["address"].as_str()?.to_owned()));
            if let Some(address) = addresses.next() {
                return Ok(address);
            }
            let ended = self.child.try_wait()?;
            if ended.is_some() || tokio::time::Instant::now() > deadline {
                bail!("it serves nothing: {}", self.last_words());
            }
            tokio::time::sleep(SOON).await;
        }
    }

    fn last_words(&self) -> String {
        let log = fs_err::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}
