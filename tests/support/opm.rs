//! A real registry that speaks gRPC: `opm serve` of a file-based catalog.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::cluster::tool;

/// A registry on loopback that runs until this is dropped.
pub struct Opm {
    child: Child,
    pub port: u16,
}

impl Drop for Opm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Opm {
    /// Serves a folder, or nothing where opm cannot be built. Its cache is beside the folder.
    pub fn serve(folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(binary) = binary()? else {
            return Ok(None);
        };
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(binary)
            .arg("serve")
            .arg(folder)
            .args(["--port", &port.to_string(), "--pprof-addr", ""])
            .current_dir(folder.parent().context("a folder in another one")?)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let serving = Self { child, port };
        let deadline = Instant::now() + Duration::from_mins(1);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(Instant::now() < deadline, "opm does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(serving))
    }
}

/// Where opm is, or none where it cannot be built.
pub fn binary() -> anyhow::Result<Option<PathBuf>> {
    tool("opm")
}

/// Writes a catalog of these blobs into a folder of a folder, and gives the inner one.
pub fn write_catalog(folder: &Path, name: &str, blobs: &[Value]) -> anyhow::Result<PathBuf> {
    let files = folder.join(name).join("files");
    fs_err::create_dir_all(&files)?;
    let lines: Vec<String> = blobs.iter().map(ToString::to_string).collect();
    fs_err::write(files.join("catalog.json"), lines.join("\n"))?;
    Ok(files)
}
