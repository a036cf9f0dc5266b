//! `chandler run`

mod log;
mod traces;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::args::run::Run as Args;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::session::{Session, wait};
use crate::controller::{Controllers, Health, Settings};
use crate::server::{self, Status};

/// Long enough for whoever pulls something and for a plan that is about to be made of it.
const CACHE_REST: Duration = Duration::from_hours(1);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let session = Session::new(&args.registry)?;
    wait(async {
        let traces = log::start(&args.log)?;
        let (cluster, kube_version) =
            Cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
        let settings = Settings {
            namespace: args.namespace.clone(),
            lease: args.lease.clone(),
            identity: identity(args.identity.as_deref()),
            global_namespaces: args.global_namespaces(),
            watched_namespaces: args.watch_namespace.clone(),
            cache: session.store.root().to_owned(),
            cache_rest: CACHE_REST,
            registries: session.options.registry.settings().clone(),
            kube_version,
        };
        let stop = CancellationToken::new();
        stop_on_signal(&stop)?;
        let controllers = Controllers::new(cluster.client(), settings).map_err(Failure::outside)?;
        let answers = serve(args.listen, controllers.health(), &stop).await?;
        let ran = controllers.run(stop.clone()).await;
        stop.cancel();
        if let Some(answers) = answers {
            // It ends with the token; nothing is left that could fail.
            let _ = answers.await;
        }
        traces.finish().await;
        ran.map_err(Failure::outside)
    })
}

impl Status for Health {
    fn not_ready(&self) -> Option<String> {
        Self::not_ready(self)
    }

    fn metrics(&self) -> String {
        Self::metrics(self)
    }
}

async fn serve(
    listen: Option<SocketAddr>,
    health: Health,
    stop: &CancellationToken,
) -> Result<Option<JoinHandle<std::io::Result<()>>>, Failure> {
    let Some(address) = listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::outside(error).hint(format!(
            "{address} cannot be listened on: name another with `--listen`"
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::outside)?;
    tracing::info!(%address, "health and metrics are served");
    let answers = server::serve(listener, Arc::new(health), stop.clone());
    Ok(Some(tokio::spawn(answers)))
}

/// Two replicas on one machine are not the same, and neither is one that was started anew: its
/// predecessor may have left something half done.
fn identity(name: Option<&str>) -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "chandler".to_owned());
    let name = name.map_or(host, str::to_owned);
    let random = tempfile::Builder::new().prefix("").rand_bytes(8).tempfile();
    let random = random.ok().and_then(|file| {
        let name = file.path().file_name()?.to_str()?.to_owned();
        Some(name)
    });
    format!(
        "{name}_{}",
        random.unwrap_or_else(|| std::process::id().to_string())
    )
}

fn stop_on_signal(stop: &CancellationToken) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::outside)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::outside)?;
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
        stop.cancel();
    });
    Ok(())
}
