//! What a command needs to speak to registries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;

use super::args::registry::Registry as RegistryArgs;
use super::failure::Failure;
use super::progress::Bars;
use crate::catalog::source::Sources;
use crate::oci::auth::Keychain;
use crate::oci::blob_store::BlobStore;
use crate::oci::client::{Registry, Settings};
use crate::oci::mirror::Mirrors;
use crate::oci::pull::PullOptions;
use crate::publish::Renderer;

/// Registries, the cache, and somebody who shows progress.
pub(super) struct Session {
    /// How images are pulled.
    pub(super) options: PullOptions,
    /// Where they are kept.
    pub(super) store: BlobStore,
    /// Shows progress.
    pub(super) bars: Arc<Bars>,
    /// A cache for this time only.
    _folder: Option<TempDir>,
}

impl Session {
    /// Reads the options for registries.
    pub(super) fn new(args: &RegistryArgs) -> Result<Self, Failure> {
        let mut certificates = BTreeMap::new();
        for (host, file) in &args.ca_file {
            let pem = fs_err::read(file).map_err(|error| {
                Failure::outside(error).hint("name a file with certificates in PEM")
            })?;
            certificates.insert(host.clone(), pem);
        }
        let settings = Settings {
            plain_http: args.plain_http.iter().cloned().collect(),
            certificates,
            mirrors: Mirrors::new(args.mirror.iter().cloned())?,
            keychain: Keychain::from_environment()?,
            ..Settings::default()
        };
        let bars = Arc::new(Bars::new());
        let mut options = PullOptions::new(Registry::new(settings));
        options.reporter = bars.clone();
        let (store, folder) = open_cache(args.cache_dir.as_deref())?;
        Ok(Self {
            options,
            store,
            bars,
            _folder: folder,
        })
    }

    /// Renders with these registries.
    pub(super) fn renderer(&self) -> Renderer {
        let mut renderer = Renderer::new(self.options.clone(), self.store.clone());
        renderer.progress = self.bars.clone();
        renderer
    }

    /// Opens catalogs with these registries.
    pub(super) fn sources(&self) -> Result<Sources, Failure> {
        Ok(Sources::new(self.store.root(), self.options.clone())?)
    }
}

/// How long work that nobody waits for any more may go on when a command ends.
const GRACE: Duration = Duration::from_secs(3);

/// Runs something that waits for the network.
pub(super) fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::outside)?;
    let done = runtime.block_on(work);
    // What computes cannot be interrupted, and must not keep the process.
    runtime.shutdown_timeout(GRACE);
    done
}

/// The cache that was asked for, or the usual one. When nobody asked and the usual one cannot be
/// used, a temporary one has to do: most commands do well without.
fn open_cache(asked: Option<&Path>) -> Result<(BlobStore, Option<TempDir>), Failure> {
    let failed =
        |error: anyhow::Error| Failure::outside(error).hint("name another one with `--cache-dir`");
    let open = |folder: &Path| {
        BlobStore::open(folder)
            .with_context(|| format!("cannot use the cache {}", folder.display()))
            .map_err(failed)
    };
    if let Some(folder) = asked {
        return Ok((open(folder)?, None));
    }
    if let Ok(store) = open(&cache_folder()) {
        return Ok((store, None));
    }
    let folder = tempfile::tempdir().map_err(|error| failed(error.into()))?;
    Ok((open(folder.path())?, Some(folder)))
}

fn cache_folder() -> PathBuf {
    let variable = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from)?;
        value.is_absolute().then_some(value)
    };
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("chandler")
        .join("images")
}
