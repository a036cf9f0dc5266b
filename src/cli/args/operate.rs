//! `chandler install`, `chandler list`, `chandler status`, `chandler history`, `chandler approve` and
//! `chandler uninstall`

use std::path::PathBuf;

use super::output::Output;
use crate::api::duration;

/// Which cluster, and where in it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Place {
    /// The namespace [default: that of the kubeconfig]
    #[arg(short, long)]
    pub(in crate::cli) namespace: Option<String>,
    /// How to reach the cluster [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// The cluster of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
}

/// Arguments of `chandler install`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Install {
    /// The package
    pub(in crate::cli) package: String,
    /// The channel [default: the package's default channel]
    #[arg(long)]
    pub(in crate::cli) channel: Option<String>,
    /// The catalog, with its namespace before a `/` if that is another one [default: the only one that
    /// the namespace may use]
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    pub(in crate::cli) catalog: Option<String>,
    /// A version or a range that is held for ever
    #[arg(long, value_name = "RANGE")]
    pub(in crate::cli) version: Option<String>,
    /// What goes ahead without being asked: Automatic, Minor, Patch or Manual (nothing)
    #[arg(long, value_name = "POLICY", value_parser = ["Automatic", "Minor", "Patch", "Manual"])]
    pub(in crate::cli) approval: Option<String>,
    /// If there is no OperatorGroup, make one for the whole cluster rather than for the namespace
    #[arg(long)]
    pub(in crate::cli) all_namespaces: bool,
    /// If there is no such namespace, make it
    #[arg(long)]
    pub(in crate::cli) create_namespace: bool,
    /// Return as soon as the objects are there
    #[arg(long)]
    pub(in crate::cli) no_wait: bool,
    /// How long to wait
    #[arg(long, default_value = "10m", value_parser = duration::parse)]
    pub(in crate::cli) timeout: std::time::Duration,
    /// How to print how it ended
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) place: Place,
}

/// Arguments of `chandler status`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Status {
    /// The Subscription, its package, or a ClusterServiceVersion that has none [default: all of the
    /// namespace]
    pub(in crate::cli) name: Option<String>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) place: Place,
}

/// Arguments of `chandler approve`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Approve {
    /// The Subscription, its package, or the InstallPlan
    pub(in crate::cli) name: String,
    /// How to print what was approved
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) place: Place,
}

/// Arguments of `chandler list`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct List {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    /// Only those of this namespace [default: all of the cluster]
    #[arg(short, long)]
    pub(in crate::cli) namespace: Option<String>,
    /// How to reach the cluster [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// The cluster of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
}

/// Arguments of `chandler history`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct History {
    /// The Subscription or its package
    pub(in crate::cli) name: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) place: Place,
}

/// Arguments of `chandler uninstall`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(in crate::cli) struct Uninstall {
    /// The Subscription or its package
    pub(in crate::cli) name: String,
    /// Remove the operator, then its CRDs and the dependencies that were installed for it; CRDs that have
    /// objects have to be named by --delete-crds
    #[arg(long)]
    pub(in crate::cli) everything: bool,
    /// Remove the dependencies that were installed for it and that nobody else needs
    #[arg(long)]
    pub(in crate::cli) prune_dependencies: bool,
    /// Remove these CRDs, and before the operator all their objects, wherever they are
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1..)]
    pub(in crate::cli) delete_crds: Vec<String>,
    /// Only show what would go, and what would stay
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(in crate::cli) yes: bool,
    /// Return as soon as the removal has begun
    #[arg(long)]
    pub(in crate::cli) no_wait: bool,
    /// How long to wait
    #[arg(long, default_value = "10m", value_parser = duration::parse)]
    pub(in crate::cli) timeout: std::time::Duration,
    /// How to print what goes and what stays
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) place: Place,
}
