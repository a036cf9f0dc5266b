//! Catalogs without a cluster: folders, images and remote registries that somebody named.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::supply::{Catalog, Content, Shelf, Supply, WantedBundle};
use crate::bundle::{self, Bundle};
use crate::catalog::index::LeftOut;
use crate::catalog::source::{self, Source, Sources, bundle_tree};
use crate::oci::client::Retry;
use crate::oci::pull::PullOptions;
use crate::publish::pull_bundle;
use crate::resolver::{CatalogKey, Curation};

/// So much of what is left out is logged.
const NAMED: usize = 20;

/// Catalogs that somebody named.
pub struct Standalone {
    shelf: Shelf,
    sources: Sources,
    /// How bundles are pulled that a visitor waits for.
    pulling: PullOptions,
    origins: Vec<(CatalogKey, Source)>,
}

impl Standalone {
    /// These catalogs; nothing is read yet.
    pub fn new(sources: Sources, origins: Vec<(CatalogKey, Source)>) -> Self {
        let mut pulling = sources.options().clone();
        pulling.registry = pulling.registry.with_retry(Retry {
            times: 1,
            ..Retry::default()
        });
        Self {
            shelf: Shelf::default(),
            sources,
            pulling,
            origins,
        }
    }

    /// Reads all catalogs, and says of each whether that went well. What was read before serves on
    /// where it did not.
    pub async fn refresh(&self) -> Vec<(CatalogKey, Result<(), source::Error>)> {
        let mut outcomes = Vec::new();
        for (key, origin) in &self.origins {
            let read = self.sources.open(origin).await;
            let mut known = self.shelf.catalogs().into_iter();
            let before = known.find(|catalog| catalog.key == *key);
            let before = before.and_then(|catalog| catalog.content);
            let (content, problem, outcome) = match read {
                Ok(opened) => {
                    let content = match before {
                        Some(before) if before.digest == opened.digest => before,
                        _ => {
                            tell_left_out(key, opened.index.left_out());
                            Content {
                                digest: opened.digest,
                                index: Arc::new(opened.index),
                            }
                        }
                    };
                    (Some(content), None, Ok(()))
                }
                Err(error) => (before, Some(error.to_string()), Err(error)),
            };
            self.shelf.put(Catalog {
                key: key.clone(),
                display_name: String::new(),
                publisher: String::new(),
                priority: 0,
                curation: Curation::default(),
                content,
                problem,
            });
            outcomes.push((key.clone(), outcome));
        }
        outcomes
    }

    async fn read(&self, wanted: &WantedBundle) -> Result<Bundle, String> {
        let mut origins = self.origins.iter();
        let origin = origins.find(|(key, _)| *key == wanted.catalog);
        if let Some((_, Source::Bundles(root))) = origin {
            let (root, wanted) = (root.clone(), wanted.clone());
            let read = tokio::task::spawn_blocking(move || in_folder(&root, &wanted));
            return read.await.map_err(|error| error.to_string())?;
        }
        if wanted.image.is_empty() {
            return Err("the catalog names no image of the bundle".to_owned());
        }
        let location = wanted
            .image
            .parse()
            .map_err(|error: crate::oci::Error| error.to_string())?;
        let pulled = pull_bundle(&location, &self.pulling, self.sources.blobs()).await;
        pulled.map(|pulled| pulled.bundle).map_err(|error| {
            let causes: Vec<String> = causes(&error).collect();
            causes.join(": ")
        })
    }
}

impl Supply for Standalone {
    fn catalogs(&self) -> Vec<Catalog> {
        self.shelf.catalogs()
    }

    fn bundle<'s>(&'s self, wanted: &'s WantedBundle) -> BoxFuture<'s, Result<Bundle, String>> {
        Box::pin(self.read(wanted))
    }
}

/// What is not shown would be missed by nobody who does not know of it.
fn tell_left_out(catalog: &CatalogKey, left_out: &LeftOut) {
    for problem in left_out.first.iter().take(NAMED) {
        tracing::warn!(
            %catalog, package = problem.package, why = problem.message,
            "a package, or a part of it, is left out"
        );
    }
    let more = left_out.count.saturating_sub(NAMED);
    if more > 0 {
        tracing::warn!(%catalog, more, "more is left out of the catalog");
    }
}

fn in_folder(root: &Path, wanted: &WantedBundle) -> Result<Bundle, String> {
    let folder = bundle_tree::folder_of(root, &wanted.package, &wanted.version);
    let folder = folder.ok_or_else(|| {
        format!(
            "there is no folder {}/{} with the bundle",
            wanted.package, wanted.version
        )
    })?;
    let tree = bundle::read_dir(&folder).map_err(|error| error.to_string())?;
    bundle::load(&tree).map_err(|error| error.to_string())
}

/// An error and what it comes from, without what is said twice.
fn causes(error: &dyn std::error::Error) -> impl Iterator<Item = String> {
    let mut all: Vec<String> = Vec::new();
    let mut current = Some(error);
    while let Some(error) = current {
        let words = error.to_string();
        if !all.last().is_some_and(|last| last.contains(&words)) {
            all.push(words);
        }
        current = error.source();
    }
    all.into_iter()
}
