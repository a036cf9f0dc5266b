//! `chandler hub` as a process of its own.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::memory::memory;

/// A hub that serves; it ends when this is dropped.
pub(crate) struct HubProcess {
    /// Where it answers: `http://127.0.0.1:PORT`.
    pub(crate) address: String,
    child: Child,
}

impl HubProcess {
    /// Starts it on one core with a catalog whose index is in the cache already.
    pub(crate) async fn start(catalog: &Path, cache: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new("taskset")
            .args(["--cpu-list", "0", env!("CARGO_BIN_EXE_chandler"), "hub"])
            .args(["--listen", "127.0.0.1:0", "--catalog"])
            .arg(format!("whole={}", catalog.display()))
            .arg("--cache-dir")
            .arg(cache)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("`taskset` is not here: install the Debian package `util-linux`")?;
        let output = child.stderr.take().context("it has no output")?;
        let mut lines = BufReader::new(output).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await? {
            if let Some((_, rest)) = line.split_once("the hub is at ") {
                let end = rest.find(['"', ' ']).unwrap_or(rest.len());
                let address = rest.get(..end).unwrap_or(rest).to_owned();
                // Whoever writes to a pipe that nobody reads is ended by it.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(Self { address, child });
            }
            said = line;
        }
        anyhow::bail!("the hub ended before it served: {said}")
    }

    /// A figure of its `/proc/PID/status`, in MB.
    pub(crate) fn memory(&self, field: &str) -> anyhow::Result<f64> {
        memory(self.child.id().context("it ended by itself")?, field)
    }
}
