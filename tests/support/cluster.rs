//! The cluster that all tests of a run share.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// A running Kubernetes, and how to reach it.
#[derive(Debug)]
pub struct Cluster {
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    /// The registry that this machine and the cluster's nodes reach at the same address.
    pub registry: Option<String>,
    /// The same one for what runs in pods, where that is another address.
    pub pod_registry: Option<String>,
    real_node: bool,
}

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

impl Cluster {
    /// The cluster of this test run; the first caller starts it unless it is up, and gives it our
    /// API the way a user would.
    pub async fn shared() -> anyhow::Result<&'static Self> {
        CLUSTER
            .get_or_try_init(async || {
                // Somebody else may have installed one already, and only one can be.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let cluster = Self::find_or_start().await?;
                let crds = repository().join("deploy/crds");
                cluster
                    .kubectl(&["apply", "-f", &crds.to_string_lossy()])
                    .await?;
                cluster
                    .kubectl(&[
                        "wait",
                        "--for=condition=Established",
                        "--timeout=60s",
                        "-f",
                        &crds.to_string_lossy(),
                    ])
                    .await?;
                Ok(cluster)
            })
            .await
    }

    /// A client of the cluster's admin.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        Ok(kube::Client::try_from(self.config().await?)?)
    }

    /// One with the rights of somebody else, such as of a ServiceAccount.
    pub async fn client_as(&self, user: &str) -> anyhow::Result<kube::Client> {
        let mut config = self.config().await?;
        config.auth_info.impersonate = Some(user.to_owned());
        Ok(kube::Client::try_from(config)?)
    }

    async fn config(&self) -> anyhow::Result<kube::Config> {
        let kubeconfig = kube::config::Kubeconfig::read_from(&self.kubeconfig)?;
        let options = kube::config::KubeConfigOptions::default();
        Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?)
    }

    /// Whether pods really run, rather than only seem to. That they do not is an error where they should: a run as root
    /// that passes has left nothing out.
    pub fn runs_pods(&self) -> anyhow::Result<bool> {
        ensure!(
            self.real_node || !should_run_pods()?,
            "cluster {} has no real node although this is root: take it down and bring it up again, or set \
             CHANDLER_NO_NODE=1 to leave out what needs one",
            name()
        );
        Ok(self.real_node)
    }

    /// How an admin reaches the cluster.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs kubectl and gives what it printed.
    pub async fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.kubectl)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .await
            .with_context(|| format!("cannot run {}", self.kubectl.display()))?;
        if !output.status.success() {
            bail!(
                "`kubectl {}` failed: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A command that runs another one where the cluster's pods and Services can be reached.
    pub fn inside() -> Command {
        let mut command = Command::new(script());
        command.args(["exec", "--name", &name(), "--"]);
        command
    }

    /// Where kubectl is.
    pub fn kubectl_path(&self) -> &Path {
        &self.kubectl
    }

    /// The cluster as it is.
    pub async fn find_or_start() -> anyhow::Result<Self> {
        let environment = if let Ok(environment) = environment().await {
            environment
        } else {
            let status = Command::new(script())
                .args(["up", "--name", &name()])
                .status()
                .await?;
            if !status.success() {
                bail!("the cluster did not start");
            }
            environment().await?
        };
        let value = |name: &str| {
            environment
                .lines()
                .filter_map(|line| line.split_once('='))
                // Written for a shell, and so in quotes.
                .find_map(|(key, value)| (key == name).then(|| value.trim_matches('\'').to_owned()))
        };
        Ok(Self {
            kubeconfig: value("KUBECONFIG").context("no KUBECONFIG")?.into(),
            kubectl: value("CHANDLER_KUBECTL")
                .context("no CHANDLER_KUBECTL")?
                .into(),
            // A cluster of one's own has a registry only if its user names one.
            registry: value("CHANDLER_REGISTRY")
                .or_else(|| std::env::var("CHANDLER_REGISTRY").ok()),
            pod_registry: value("CHANDLER_POD_REGISTRY"),
            real_node: value("CHANDLER_REAL_NODE").is_none_or(|value| value == "true"),
        })
    }
}

/// The folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn script() -> PathBuf {
    repository().join("deploy/local/cluster")
}

/// Where a tool is that is built when it is asked for, or none where it cannot be built.
pub fn tool(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let built = std::process::Command::new(script())
        .args(["tool", name])
        .stderr(Stdio::inherit())
        .output()?;
    let path = String::from_utf8(built.stdout)?;
    Ok(built.status.success().then(|| path.trim().into()))
}

/// `test`, unless somebody wants to try something on a cluster of their own.
fn name() -> String {
    std::env::var("CHANDLER_TEST_CLUSTER").unwrap_or_else(|_| "test".to_owned())
}

/// Whether the local cluster has a real node: it is ours, this is root, and nobody asked to leave it out.
fn should_run_pods() -> anyhow::Result<bool> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_root = fs_err::metadata("/proc/self")?.uid() == 0;
    Ok(is_root && !is_set("KUBECONFIG") && !is_set("CHANDLER_NO_NODE"))
}

async fn environment() -> anyhow::Result<String> {
    let output = Command::new(script())
        .args(["env", "--name", &name()])
        .stderr(Stdio::null())
        .output()
        .await
        .context("cannot run deploy/local/cluster")?;
    if !output.status.success() {
        bail!("no cluster runs");
    }
    Ok(String::from_utf8(output.stdout)?)
}
