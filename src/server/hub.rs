//! The hub: what operators there are, for people and for programs.
//!
//! ```text
//! Supply (catalogs, cluster, bundles) ─▶ Hub ─▶ views ─▶ JSON (server/api), HTML (the page), CLI
//! ```
//!
//! [`Hub`] answers questions with [`views`], which are plain data. Whatever a catalog says is read
//! by offset when it is asked for; nothing but a few kilobytes of what was looked at last is kept.
//! Where a catalog does not say enough (rights, schemas), the bundle itself is read: on first sight,
//! a few at a time, and failures are remembered for a while.

mod about;
mod bundles;
mod crds;
mod dependencies;
mod diff;
mod error;
mod icon;
mod installed;
mod list;
mod manifests;
mod package;
mod recent;
mod resolve;
mod rights;
mod standalone;
mod supply;
mod upgrades;
pub mod views;
mod words;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

pub use error::{Error, ErrorKind};
pub use icon::Icon;
pub use list::{PackageQuery, Sort};
pub use manifests::{Approval, InstallQuery};
pub use package::SEARCH_HINT;
pub use resolve::{ResolveQuery, Wish};
pub use standalone::Standalone;
pub use supply::{Catalog, Content, Shelf, Situation, Supply, WantedBundle};

pub(crate) use self::words::{cut, encoded, listed};

use self::bundles::Bundles;
use self::dependencies::Needs;
use self::icon::SmallIcons;
use self::views::{
    CatalogView, Crds, DependencyGraph, InstallManifests, Installation, PackageList, PackagePage,
    Permissions, RelatedImages, UpgradeGraph, VersionDiff, VersionView,
};
use crate::catalog::index::{BundleRecord, PackageRecord, Summary};
use crate::oci::Hasher;
use crate::resolver::Component;
use crate::server::writes::Writes;

/// Answers what operators there are.
///
/// What is not `async` reads a little of a file and computes for a few milliseconds: on a server,
/// call it from `tokio::task::spawn_blocking`.
pub struct Hub {
    supply: Arc<dyn Supply>,
    bundles: Bundles,
    needs: Needs,
    small_icons: SmallIcons,
    writes: Writes,
    /// Tells this process from others, and from those before it.
    process: u64,
}

impl Hub {
    /// A hub of these catalogs.
    pub fn new(supply: Arc<dyn Supply>) -> Self {
        Self {
            supply,
            bundles: Bundles::default(),
            needs: Needs::default(),
            small_icons: SmallIcons::default(),
            writes: Writes::default(),
            process: RandomState::new().hash_one(std::process::id()),
        }
    }

    /// Lets visitors change the cluster, as far as their own rights go.
    #[must_use]
    pub fn with_writes(mut self, writes: Writes) -> Self {
        self.writes = writes;
        self
    }

    /// Whether visitors may change anything, and how they have to ask.
    pub fn writes(&self) -> &Writes {
        &self.writes
    }

    /// Where it has everything from.
    pub fn supply(&self) -> &dyn Supply {
        &*self.supply
    }

    /// Whether there is a cluster.
    pub fn has_cluster(&self) -> bool {
        self.supply.changes().is_some()
    }

    /// Changes whenever an answer may: with the catalogs, and with the cluster.
    pub fn version(&self) -> String {
        let mut hasher = Hasher::default();
        for catalog in self.supply.catalogs() {
            hasher.update(catalog.id().as_bytes());
            let digest = catalog.content.map(|content| content.digest);
            hasher.update(digest.unwrap_or_default().as_bytes());
            hasher.update(catalog.problem.unwrap_or_default().as_bytes());
        }
        if let Some(changes) = self.supply.changes() {
            hasher.update(&changes.borrow().to_le_bytes());
            // Each process counts for itself: the same number of another one means another state.
            hasher.update(&self.process.to_le_bytes());
        }
        hasher.finish().hex().to_owned()
    }

    /// The catalogs.
    pub fn catalogs(&self) -> Vec<CatalogView> {
        let catalogs = self.supply.catalogs().into_iter();
        catalogs
            .map(|catalog| list::catalog_view(&catalog))
            .collect()
    }

    /// What is installed. Nothing if there is no cluster.
    pub fn installations(&self) -> Option<Vec<Installation>> {
        self.supply.installations()
    }

    /// A part of the list of packages.
    pub fn packages(&self, query: &PackageQuery) -> Result<PackageList, Error> {
        list::packages(
            &self.supply.catalogs(),
            self.supply.installations().as_deref(),
            query,
        )
    }

    /// A package. Without a catalog, that of the first one that has it.
    pub fn package(&self, name: &str, catalog: Option<&str>) -> Result<PackagePage, Error> {
        let found = self.find(name, catalog)?;
        let installations = self.supply.installations();
        package::page(&found, &self.supply.catalogs(), installations.as_deref())
    }

    /// A version of a package, by its number or by the name of its bundle.
    pub fn package_version(
        &self,
        name: &str,
        catalog: Option<&str>,
        version: &str,
    ) -> Result<VersionView, Error> {
        let found = self.find(name, catalog)?;
        let bundle = found.bundle(version)?;
        package::version(&found, bundle)
    }

    /// How the versions of a package, or of one of its channels, lead to each other.
    pub fn upgrade_graph(
        &self,
        name: &str,
        catalog: Option<&str>,
        channel: Option<&str>,
    ) -> Result<UpgradeGraph, Error> {
        let found = self.find(name, catalog)?;
        upgrades::graph(&found, channel, self.supply.installations().as_deref())
    }

    /// What a version needs, and who needs the package. Without a version, the head of the default
    /// channel.
    pub fn dependencies(
        &self,
        name: &str,
        catalog: Option<&str>,
        version: Option<&str>,
    ) -> Result<DependencyGraph, Error> {
        let found = self.find(name, catalog)?;
        let bundle = found.bundle_or_head(version)?;
        dependencies::graph(&found, bundle, &self.supply.catalogs(), &self.needs)
    }

    /// The images that a version uses.
    pub fn related_images(
        &self,
        name: &str,
        catalog: Option<&str>,
        version: Option<&str>,
    ) -> Result<RelatedImages, Error> {
        let found = self.find(name, catalog)?;
        let bundle = found.bundle_or_head(version)?;
        let images = about::related_images(&found.blob(bundle)?);
        Ok(RelatedImages { images })
    }

    /// How to install a package.
    pub fn install(
        &self,
        name: &str,
        catalog: Option<&str>,
        query: &InstallQuery,
    ) -> Result<InstallManifests, Error> {
        let found = self.find(name, catalog)?;
        manifests::install(&found, query)
    }

    /// The picture of a package.
    pub fn icon(&self, name: &str, catalog: Option<&str>) -> Result<Icon, Error> {
        let found = self.find(name, catalog)?;
        icon::of(&found)
    }

    /// The picture of a package as small as a card shows it, where that saves something.
    pub fn small_icon(&self, name: &str, catalog: Option<&str>) -> Result<Icon, Error> {
        let found = self.find(name, catalog)?;
        self.small_icons.of(&found)
    }

    /// What would happen if these packages were subscribed to.
    pub fn resolve(&self, query: &ResolveQuery) -> Result<Vec<Component>, Error> {
        resolve::resolve(&*self.supply, query)
    }

    /// What a version may do in a cluster.
    pub async fn permissions(
        self: &Arc<Self>,
        name: &str,
        catalog: Option<&str>,
        version: Option<&str>,
    ) -> Result<Permissions, Error> {
        let contents = self.contents(name, catalog, version).await?;
        self.unpacked(move || Ok(rights::permissions(&contents.read()?)))
            .await
    }

    /// The APIs that a version brings, with the fields of their objects.
    pub async fn crds(
        self: &Arc<Self>,
        name: &str,
        catalog: Option<&str>,
        version: Option<&str>,
    ) -> Result<Crds, Error> {
        let contents = self.contents(name, catalog, version).await?;
        self.unpacked(move || Ok(crds::all(&contents.read()?)))
            .await
    }

    /// What is different between two versions.
    pub async fn diff(
        self: &Arc<Self>,
        name: &str,
        catalog: Option<&str>,
        from: &str,
        to: &str,
    ) -> Result<VersionDiff, Error> {
        let older = self.contents(name, catalog, Some(from));
        let newer = self.contents(name, catalog, Some(to));
        let (older, newer) = tokio::try_join!(older, newer)?;
        self.unpacked(move || Ok(diff::diff(&older.read()?, &newer.read()?)))
            .await
    }

    /// Looks into bundles when it is its turn.
    async fn unpacked<T: Send + 'static>(
        &self,
        look: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let turn = self.bundles.turn().await;
        blocking(move || {
            let _turn = turn;
            look()
        })
        .await
    }

    async fn contents(
        self: &Arc<Self>,
        name: &str,
        catalog: Option<&str>,
        version: Option<&str>,
    ) -> Result<bundles::Stored, Error> {
        let hub = self.clone();
        let (name, catalog) = (name.to_owned(), catalog.map(str::to_owned));
        let version = version.map(str::to_owned);
        let wanted = blocking(move || {
            let found = hub.find(&name, catalog.as_deref())?;
            let bundle = found.bundle_or_head(version.as_deref())?;
            bundles::Listed::new(&found, bundle)
        })
        .await?;
        self.bundles.get(&self.supply, wanted).await
    }

    fn find(&self, name: &str, catalog: Option<&str>) -> Result<Found, Error> {
        package::find(self.supply.catalogs(), name, catalog)
    }
}

/// A package that was found.
pub(crate) struct Found {
    pub(crate) catalog: Catalog,
    pub(crate) content: Content,
    pub(crate) summary: Summary,
    pub(crate) record: PackageRecord,
}

impl Found {
    /// A bundle by its name or version.
    fn bundle(&self, version: &str) -> Result<&BundleRecord, Error> {
        package::bundle(self, version)
    }

    /// A bundle by its name or version, or else the head of the default channel.
    fn bundle_or_head(&self, version: Option<&str>) -> Result<&BundleRecord, Error> {
        self.bundle(version.unwrap_or(&self.summary.head))
    }

    /// All that the catalog says of a bundle.
    fn blob(&self, bundle: &BundleRecord) -> Result<serde_json::Value, Error> {
        Ok(self.content.index.bundle_blob(bundle)?)
    }
}

/// Computes where nobody else waits for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Error::internal(format!(
            "the work was interrupted: {error}"
        ))),
    }
}
