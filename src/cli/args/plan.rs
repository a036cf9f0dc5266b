//! `chandler plan`, `chandler explain` and `chandler graph`

use std::path::PathBuf;

use super::output::{Output, Picture};
use super::registry::Registry;

/// Where catalogs for all namespaces usually are.
pub(in crate::cli) const GLOBAL_NAMESPACES: [&str; 3] =
    ["chandler-system", "olm", "openshift-marketplace"];

/// What is wanted, what there is, and where from.
///
/// Whatever is not named here is that of the cluster.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Situation {
    /// A catalog: a folder, an image, `oci:DIR[:TAG]` or `grpc://HOST:PORT`
    ///
    /// May be given several times. NAME is what Subscriptions call it, with its namespace before a
    /// `/` if need be. [default: the catalogs of the cluster]
    #[arg(long, value_name = "[NAME=]SOURCE")]
    pub(in crate::cli) catalog: Vec<String>,
    /// What is installed: a file with `ClusterServiceVersion`s, or `-`
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) installed: Option<PathBuf>,
    /// The version of Kubernetes; without it, that of the cluster or any
    #[arg(long, value_name = "VERSION")]
    pub(in crate::cli) kube_version: Option<String>,
    /// The namespace, if there are several
    #[arg(short, long)]
    pub(in crate::cli) namespace: Option<String>,
    /// A namespace of the cluster whose catalogs are for all namespaces; may be given several times
    #[arg(long, value_name = "NAMESPACE", default_values = GLOBAL_NAMESPACES)]
    pub(in crate::cli) global_namespace: Vec<String>,
    /// How to reach the cluster [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// The cluster of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
}

/// Arguments of `chandler plan`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Plan {
    /// What is wanted: a file with Subscriptions, or `-` [default: those of the cluster]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) subscriptions: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) situation: Situation,
    /// How to print the plan
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler explain`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Explain {
    /// The package; with a version or a range, why it is that one or why not
    #[arg(value_name = "PACKAGE[@RANGE]")]
    pub(in crate::cli) package: String,
    /// The channel [default: that of the Subscription, or any]
    #[arg(long)]
    pub(in crate::cli) channel: Option<String>,
    /// What else is wanted: a file with Subscriptions, or `-`
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) subscriptions: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) situation: Situation,
    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler graph`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Graph {
    /// The package
    pub(in crate::cli) package: String,
    /// Only this channel; where what is installed goes is then told of this one
    ///
    /// [default: all channels, and the way is that of the Subscription]
    #[arg(long)]
    pub(in crate::cli) channel: Option<String>,
    /// Draw what would be installed with the package, and who needs what, instead
    #[arg(long)]
    pub(in crate::cli) dependencies: bool,
    /// What else is wanted: a file with Subscriptions, or `-`
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) subscriptions: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) situation: Situation,
    /// How to draw it
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Picture,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}
