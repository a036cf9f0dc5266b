//! A real registry: CNCF distribution, in a folder of its own, on a free port of this machine.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, bail};
use chandler::oci::auth::Keychain;
use chandler::oci::client::{Registry as Client, Retry, Settings};
use serde_json::{Value, json};
use std::time::Duration;

use super::cluster::repository;

/// A registry that runs until this is dropped.
pub struct Registry {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    _folder: tempfile::TempDir,
}

/// The user of a registry that wants a login, as `tests/fixtures/oci/htpasswd` has it.
pub const USER: &str = "chandler";
/// That user's password.
pub const PASSWORD: &str = "correct-horse";

impl Registry {
    /// A registry that everybody may use.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(&json!({}), &json!({}))
    }

    /// A registry that wants a login.
    pub fn start_with_login() -> anyhow::Result<Self> {
        let htpasswd = fixture("htpasswd");
        Self::start_with(
            &json!({ "htpasswd": { "realm": "test", "path": htpasswd } }),
            &json!({}),
        )
    }

    /// A registry that speaks TLS, with a certificate that nobody trusts.
    pub fn start_with_tls() -> anyhow::Result<Self> {
        Self::start_with(&json!({}), &tls())
    }

    /// A registry that speaks TLS and sends its users elsewhere for a token.
    pub fn start_with_token_service(realm: &str) -> anyhow::Result<Self> {
        let token = json!({
            "realm": realm,
            "service": "test",
            "issuer": "test",
            "rootcertbundle": fixture("tls/authority.pem"),
        });
        Self::start_with(&json!({ "token": token }), &tls())
    }

    fn start_with(auth: &Value, tls: &Value) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        // JSON is YAML.
        let mut configuration = json!({
            "version": 0.1,
            "log": { "level": "info", "accesslog": { "disabled": true } },
            "storage": {
                "filesystem": { "rootdirectory": folder.path().join("data") },
                "delete": { "enabled": true },
            },
            // The system chooses a free port, and the log tells which.
            "http": { "addr": "127.0.0.1:0", "tls": tls },
        });
        if auth != &json!({}) {
            configuration["auth"] = auth.clone();
        }
        let path = folder.path().join("registry.yaml");
        fs_err::write(&path, configuration.to_string())?;
        let mut child = Command::new(binary()?)
            .arg("serve")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run the registry")?;
        let mut log = BufReader::new(child.stderr.take().context("no log")?);
        let mut seen = String::new();
        let address = loop {
            let start = seen.len();
            if log.read_line(&mut seen)? == 0 {
                let _ = child.wait();
                bail!("the registry ended: {seen}");
            }
            if let Some((_, rest)) = seen[start..].split_once("listening on ") {
                let end = rest.find([',', '"', ' ']).unwrap_or(rest.len());
                break rest[..end].to_owned();
            }
        };
        // Somebody has to read on, or the registry stops when the pipe is full.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Ok(Self {
            child,
            address,
            _folder: folder,
        })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that speaks plain HTTP to these registries and has little patience.
pub fn client(plain_http: &[&str]) -> Client {
    Client::new(settings(plain_http))
}

/// Settings to speak plain HTTP to these registries, with little patience.
pub fn settings(plain_http: &[&str]) -> Settings {
    // Only one can be installed, and somebody else may have done it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Settings {
        plain_http: plain_http.iter().map(|host| (*host).to_owned()).collect(),
        keychain: Keychain::default(),
        retry: Retry {
            times: 3,
            first_pause: Duration::from_millis(5),
            longest_pause: Duration::from_secs(5),
        },
        ..Settings::default()
    }
}

fn tls() -> Value {
    json!({
        "certificate": fixture("tls/registry.pem"),
        "key": fixture("tls/registry.key"),
    })
}

/// A file of `tests/fixtures/oci`.
pub fn fixture(name: &str) -> PathBuf {
    repository().join("tests/fixtures/oci").join(name)
}

/// The program, which the local cluster's tool builds.
fn binary() -> anyhow::Result<&'static Path> {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = BINARY.get() {
        return Ok(path);
    }
    let tool = repository().join("deploy/local/cluster");
    let output = Command::new(tool)
        .arg("bin")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run deploy/local/cluster")?;
    if !output.status.success() {
        bail!("deploy/local/cluster did not build the registry");
    }
    let folder = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    Ok(BINARY.get_or_init(|| folder.join("registry")))
}
