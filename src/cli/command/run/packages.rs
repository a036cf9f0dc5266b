//! The API of packages beside the controllers, whose catalogs it shows.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::args::run::Run as Args;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::controller::{Controllers, ListedCatalog, Overview};
use crate::lifecycle::package_api::SECRET;
use crate::server::packages::{Catalog, Catalogs, PackageApi, follow};

/// The API, as it is served.
pub(super) struct Packages {
    api: Arc<PackageApi>,
    tasks: JoinSet<()>,
}

impl Catalogs for Overview {
    fn catalogs(&self) -> Result<Vec<Catalog>, String> {
        let listed = self.complete_catalogs()?.into_iter();
        let catalog = |listed: ListedCatalog| {
            let (_, index) = listed.content?;
            Some(Catalog {
                object: listed.object,
                index,
                is_global: listed.is_global,
            })
        };
        Ok(listed.filter_map(catalog).collect())
    }
}

impl Packages {
    /// Begins to serve it.
    pub(super) async fn serve(
        address: SocketAddr,
        controllers: &Controllers,
        cluster: &Cluster,
        args: &Args,
        stop: &CancellationToken,
    ) -> Result<Self, Failure> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Failure::outside(error).hint(format!(
                "{address} cannot be listened on: name another with `--package-api-listen`"
            ))
        })?;
        let address = listener.local_addr().map_err(Failure::outside)?;
        tracing::info!(packages = %address, "the API of packages is served");
        let client = cluster.client();
        let reviews = Arc::new(client.clone());
        let api = Arc::new(PackageApi::new(controllers.overview(), reviews));
        let mut tasks = JoinSet::new();
        let (namespace, served, until) = (args.namespace.clone(), api.clone(), stop.clone());
        tasks.spawn(async move {
            follow(served, client, (namespace.as_str(), SECRET), until).await;
        });
        let (served, until) = (api.clone(), stop.clone());
        tasks.spawn(async move {
            if let Err(error) = served.serve(listener, until).await {
                tracing::error!(%error, "the API of packages cannot be served");
            }
        });
        Ok(Self { api, tasks })
    }

    /// The API itself.
    pub(super) fn api(&self) -> Arc<PackageApi> {
        self.api.clone()
    }

    /// Waits until what was begun is answered.
    pub(super) async fn ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
