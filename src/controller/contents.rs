//! The contents of the cluster's catalogs, for others to look at while the controllers run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::ResourceExt as _;

use super::context::Context;
use crate::api::catalog_source::CatalogSource;
use crate::catalog::index::Index;
use crate::resolver::CatalogKey;

/// How long the first answers wait for a catalog that cannot be read.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the catalogs of the cluster hold.
#[derive(Clone)]
pub struct Contents {
    context: Arc<Context>,
    /// Whether every catalog was looked at once: later ones are not waited for.
    is_complete: Arc<AtomicBool>,
}

/// A catalog with its content.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its object.
    pub object: Arc<CatalogSource>,
    /// Its content.
    pub index: Arc<Index>,
    /// Whether every namespace may use it.
    pub is_global: bool,
}

impl Contents {
    pub(super) fn new(context: Arc<Context>) -> Self {
        Self {
            context,
            is_complete: Arc::default(),
        }
    }

    /// All catalogs whose content is known. The error is what has to be waited for after a start:
    /// half of the catalogs are worse than none, because what is missing looks as if it were gone.
    pub fn all(&self) -> Result<Vec<Content>, String> {
        let context = &self.context;
        if !context.caches.catalog_sources.is_listed() {
            return Err("the CatalogSources are not listed yet".to_owned());
        }
        let is_complete = self.is_complete.load(Ordering::Acquire);
        let mut contents = Vec::new();
        for object in context.caches.catalog_sources.all() {
            let home = object.namespace().unwrap_or_default();
            let key = CatalogKey::new(&home, object.name_any());
            let Some(known) = context.catalogs.get(&key) else {
                if !is_complete && context.catalogs.awaited_for(&key) < PATIENCE {
                    return Err(format!("CatalogSource {key} was not read yet"));
                }
                continue;
            };
            contents.extend(known.content.map(|content| Content {
                index: content.index,
                is_global: context.settings.is_global(&home),
                object,
            }));
        }
        self.is_complete.store(true, Ordering::Release);
        Ok(contents)
    }
}
