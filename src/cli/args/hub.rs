//! `chandler hub`, `chandler search` and `chandler show`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::output::Output;
use super::plan::{GLOBAL_NAMESPACES, Situation};
use super::registry::Registry;
use crate::api::duration;

/// Arguments of `chandler hub`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Hub {
    /// A catalog: a folder, an image, `oci:DIR[:TAG]` or `grpc://HOST:PORT`; may be given several
    /// times
    #[arg(long, value_name = "[NAME=]SOURCE", required = true)]
    pub(in crate::cli) catalog: Vec<String>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub(in crate::cli) listen: SocketAddr,
    /// How often catalogs are looked at again; `0s` for never
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    pub(in crate::cli) refresh: Duration,
    /// What is logged, as `RUST_LOG` says it
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info")]
    pub(in crate::cli) log: String,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Which catalogs.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct Catalogs {
    /// A catalog: a folder, an image, `oci:DIR[:TAG]` or `grpc://HOST:PORT`; may be given several
    /// times [default: the catalogs of the cluster]
    #[arg(long, value_name = "[NAME=]SOURCE")]
    pub(in crate::cli) catalog: Vec<String>,
    /// The namespace whose catalogs count, beside those for all
    #[arg(short, long)]
    pub(in crate::cli) namespace: Option<String>,
    /// How to reach the cluster [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// The cluster of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
}

impl Catalogs {
    /// The same for whoever reads a situation.
    pub(in crate::cli) fn situation(&self) -> Situation {
        Situation {
            catalog: self.catalog.clone(),
            namespace: self.namespace.clone(),
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            global_namespace: GLOBAL_NAMESPACES.map(str::to_owned).to_vec(),
            ..Situation::default()
        }
    }
}

/// Arguments of `chandler search`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Search {
    /// Words that all have to fit; the beginning of one is enough [default: everything]
    pub(in crate::cli) words: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) catalogs: Catalogs,
    /// Only packages of this category; may be given several times
    #[arg(long)]
    pub(in crate::cli) category: Vec<String>,
    /// Only packages of this provider; may be given several times
    #[arg(long)]
    pub(in crate::cli) provider: Vec<String>,
    /// Show at most so many packages
    #[arg(long, value_name = "NUMBER")]
    pub(in crate::cli) limit: Option<usize>,
    /// How to print what was found
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler show`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Show {
    /// The package; with a version, that version
    #[arg(value_name = "PACKAGE[@VERSION]")]
    pub(in crate::cli) package: String,
    #[command(flatten)]
    pub(in crate::cli) catalogs: Catalogs,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}
