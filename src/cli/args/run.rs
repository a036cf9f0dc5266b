//! `chandler run`

use std::net::SocketAddr;
use std::path::PathBuf;

use super::registry::Registry;

/// Where catalogs for all namespaces are, besides Chandler's own namespace.
const OLM_NAMESPACE: &str = "olm";

/// Arguments of `chandler run`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Run {
    /// How to reach the cluster [default: the pod's ServiceAccount, $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// The cluster of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
    /// Chandler's own namespace, with its Lease
    #[arg(long, env = "POD_NAMESPACE", default_value = "chandler-system")]
    pub(in crate::cli) namespace: String,
    /// A namespace whose catalogs are for all namespaces; may be given several times [default:
    /// Chandler's own, and `olm`]
    #[arg(long, value_name = "NAMESPACE")]
    pub(in crate::cli) global_catalog_namespace: Vec<String>,
    /// Care for this namespace only; may be given several times [default: all]
    #[arg(long, value_name = "NAMESPACE")]
    pub(in crate::cli) watch_namespace: Vec<String>,
    /// A namespace that has copies of the ClusterServiceVersions for all namespaces whatever the OLMConfig
    /// says; may be given several times, or with several joined by commas as OLM takes them
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        alias = "protectedCopiedCSVNamespaces"
    )]
    pub(in crate::cli) protected_copied_csv_namespace: Vec<String>,
    /// The name of the Lease that says which replica writes
    #[arg(long, value_name = "NAME", default_value = "chandler")]
    pub(in crate::cli) lease: String,
    /// Who this replica is [default: the name of the pod or of the machine, and something random]
    #[arg(long, env = "POD_NAME", hide_env_values = true)]
    pub(in crate::cli) identity: Option<String>,
    /// Serve health, metrics and the hub here: whoever reaches it sees catalogs and what is installed
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(in crate::cli) listen: Option<SocketAddr>,
    /// Serve only health and metrics
    #[arg(long)]
    pub(in crate::cli) no_hub: bool,
    /// Let visitors of the page install, approve and uninstall, each with a Kubernetes token of their
    /// own and never with Chandler's rights [default: nothing can be changed by the page]
    #[arg(long, requires = "listen", conflicts_with = "no_hub")]
    pub(in crate::cli) allow_writes: bool,
    /// Take tokens over the network, because a proxy in front speaks TLS to visitors and nobody else
    /// reaches the port [default: tokens are taken from this machine only]
    #[arg(long, requires = "allow_writes")]
    pub(in crate::cli) behind_tls_proxy: bool,
    /// Serve the API of packages (packages.operators.coreos.com) here, by TLS, and register it with
    /// the API server [default: it is off]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(in crate::cli) package_api_listen: Option<SocketAddr>,
    /// What is logged, as `RUST_LOG` says it
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info")]
    pub(in crate::cli) log: String,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

impl Run {
    pub(in crate::cli) fn global_namespaces(&self) -> Vec<String> {
        if self.global_catalog_namespace.is_empty() {
            return vec![self.namespace.clone(), OLM_NAMESPACE.to_owned()];
        }
        self.global_catalog_namespace.clone()
    }
}
