//! What a process takes.

use anyhow::Context as _;

/// A figure of `/proc/PID/status`, in MB.
pub(crate) fn memory(pid: u32, field: &str) -> anyhow::Result<f64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with(field))
        .with_context(|| format!("no {field}"))?;
    let kilobytes: f64 = line
        .split_whitespace()
        .nth(1)
        .context("no number")?
        .parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
