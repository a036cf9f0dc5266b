//! `chandler run`

pub(super) mod log;
mod packages;
mod traces;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::packages::Packages;
use crate::cli::args::run::Run as Args;
use crate::cli::attached::Attached;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::session::{Session, wait};
use crate::cli::visitors::Visitors;
use crate::controller::{Controllers, Health, Settings};
use crate::server::hub::Hub;
use crate::server::packages::PackageApi;
use crate::server::writes::{Transport, Writes};
use crate::server::{self, Status};

/// Long enough for whoever pulls something and for a plan that is about to be made of it.
const CACHE_REST: Duration = Duration::from_hours(1);
/// After which time is looked for what nobody tells of.
const REST: Duration = Duration::from_mins(5);
/// An upgrade of a cluster takes longer.
const VERSION_REST: Duration = Duration::from_mins(5);
/// What OpenShift calls the only object about the cluster's proxy.
const PROXY: &str = "cluster";

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
            protected_copies: args
                .protected_copied_csv_namespace
                .iter()
                .cloned()
                .collect(),
            cache: session.store.root().to_owned(),
            cache_rest: CACHE_REST,
            rest: REST,
            registries: session.options.registry.settings().clone(),
            proxy: PROXY.to_owned(),
            package_api: args.package_api_listen.is_some(),
            version_rest: VERSION_REST,
            kube_version,
        };
        let stop = CancellationToken::new();
        stop_on_signal(&stop)?;
        let controllers = Controllers::new(cluster.client(), settings).map_err(Failure::outside)?;
        let packages = match args.package_api_listen {
            None => None,
            Some(address) => {
                let packages = Packages::serve(address, &controllers, &cluster, args, &stop);
                Some(packages.await?)
            }
        };
        let status = Process {
            health: controllers.health(),
            packages: packages.as_ref().map(Packages::api),
        };
        let answers = serve(args, status, &controllers, cluster, &stop).await?;
        let ran = controllers.run(stop.clone()).await;
        stop.cancel();
        if let Some(packages) = packages {
            packages.ended().await;
        }
        if let Some(answers) = answers {
            // It ends with the token; nothing is left that could fail.
            let _ = answers.await;
        }
        traces.finish().await;
        ran.map_err(Failure::outside)
    })
}

/// How everything is that runs.
struct Process {
    health: Health,
    packages: Option<Arc<PackageApi>>,
}

impl Status for Process {
    fn not_ready(&self) -> Option<String> {
        let packages = self.packages.as_ref();
        let of_packages = || packages.and_then(|packages| packages.not_ready());
        self.health.not_ready().or_else(of_packages)
    }

    fn metrics(&self) -> String {
        self.health.metrics()
    }
}

async fn serve(
    args: &Args,
    status: Process,
    controllers: &Controllers,
    cluster: Cluster,
    stop: &CancellationToken,
) -> Result<Option<JoinHandle<()>>, Failure> {
    let Some(address) = args.listen else {
        return Ok(None);
    };
    let listener = listen(address).await?;
    let address = listener.local_addr().map_err(Failure::outside)?;
    let mut router = server::health(Arc::new(status));
    if args.no_hub {
        tracing::info!(%address, "health and metrics are served");
    } else {
        let supply = Arc::new(Attached(controllers.overview()));
        let hub = Hub::new(supply).with_writes(writes(args, cluster));
        router = router.merge(server::site(Arc::new(hub)));
        tracing::info!(%address, writes = args.allow_writes, "health, metrics and the hub are served");
    }
    let answers = server::serve(listener, router, stop.clone());
    Ok(Some(tokio::spawn(answers)))
}

/// Whether visitors may change something; not with our rights in any case.
fn writes(args: &Args, cluster: Cluster) -> Writes {
    if !args.allow_writes {
        return Writes::default();
    }
    Writes {
        writer: Some(Arc::new(Visitors(cluster))),
        transport: if args.behind_tls_proxy {
            Transport::TlsProxy
        } else {
            Transport::Direct
        },
    }
}

pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::outside(error).hint(format!(
            "{address} cannot be listened on: name another with `--listen`"
        ))
    })
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

pub(super) fn stop_on_signal(stop: &CancellationToken) -> Result<(), Failure> {
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
