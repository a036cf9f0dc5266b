//! The contents of bundles, out of images or out of a catalog.

use std::sync::Arc;

use super::context::Context;
use super::images::{self, Images};
use crate::catalog::index::Index;
use crate::oci::{self, ImageReference};
use crate::plan::{BundleInput, Contents, ContentsError, Source};
use crate::publish;
use crate::resolver::Install;

/// Why the contents of a bundle cannot be had.
#[derive(Debug, Clone)]
pub(crate) enum Problem {
    /// To try again may help.
    Failed(String),
    /// Only another bundle helps.
    Unusable(String),
}

impl From<images::Late> for Problem {
    fn from(late: images::Late) -> Self {
        Self::Failed(late.to_string())
    }
}

impl From<ContentsError> for Problem {
    fn from(error: ContentsError) -> Self {
        Self::Unusable(error.to_string())
    }
}

/// Reads a bundle that is to be installed, with what its catalog says of it.
pub(crate) async fn read(
    context: &Context,
    install: &Install,
    index: Arc<Index>,
    secrets: &[String],
) -> Result<BundleInput, Problem> {
    let listed = listed(install, index).await?;
    if install.image.is_empty() {
        let contents = Contents::of_properties(&listed)?;
        return Ok(BundleInput {
            contents,
            source: Source::Inline,
            properties: listed,
        });
    }
    let namespace = &install.catalog_namespace;
    let (contents, image) = pull(&context.images, &install.image, namespace, secrets)
        .await
        .map_err(|problem| in_bundle(&install.bundle, problem))?;
    Ok(BundleInput {
        contents,
        source: Source::Image(image),
        properties: listed,
    })
}

/// Reads a bundle's image. Also says under which name it will always be the same.
pub(crate) async fn pull(
    images: &Images,
    image: &str,
    catalog_namespace: &str,
    secrets: &[String],
) -> Result<(Contents, String), Problem> {
    let reference: ImageReference = image
        .parse()
        .map_err(|error: oci::Error| Problem::Unusable(error.to_string()))?;
    let pulled = images.bundle(image, catalog_namespace, secrets).await;
    let pulled = pulled.map_err(problem)?;
    let contents = Contents::of_bundle(&pulled.bundle)?;
    Ok((contents, reference.at(pulled.digest).to_string()))
}

/// Sees to it that a bundle's image is in the cache.
pub(crate) async fn fetch(
    images: &Images,
    image: &str,
    catalog_namespace: &str,
    secrets: &[String],
) -> Result<(), Problem> {
    let fetched = images.fetch(image, catalog_namespace, secrets).await;
    fetched.map_err(problem)
}

fn problem(error: images::Error) -> Problem {
    match &error {
        images::Error::Bundle(
            publish::Error::Bundle { .. }
            | publish::Error::NotABundle(_)
            | publish::Error::Image(oci::Error::TooLarge { .. }),
        )
        | images::Error::Image(oci::Error::TooLarge { .. } | oci::Error::Reference { .. }) => {
            Problem::Unusable(words(error))
        }
        _ => Problem::Failed(words(error)),
    }
}

fn in_bundle(bundle: &str, problem: Problem) -> Problem {
    match problem {
        Problem::Failed(why) => Problem::Failed(format!("bundle {bundle}: {why}")),
        Problem::Unusable(why) => Problem::Unusable(format!("bundle {bundle}: {why}")),
    }
}

/// What the catalog says of a bundle: all its properties, also the large ones if there is no image.
async fn listed(install: &Install, index: Arc<Index>) -> Result<Vec<(String, String)>, Problem> {
    let (package, bundle) = (install.package.clone(), install.bundle.clone());
    let with_objects = install.image.is_empty();
    let read = tokio::task::spawn_blocking(move || -> Result<_, crate::catalog::index::Error> {
        let Some(record) = index.package(&package)? else {
            return Ok(None);
        };
        let Some(found) = record.bundle(&bundle) else {
            return Ok(None);
        };
        if !with_objects {
            return Ok(Some(record.properties_of(found).cloned().collect()));
        }
        let blob = index.bundle_blob(found)?;
        let properties = blob["properties"].as_array().into_iter().flatten();
        let pairs = properties.map(|property| {
            let kind = property["type"].as_str().unwrap_or_default().to_owned();
            (kind, property["value"].to_string())
        });
        Ok(Some(pairs.collect()))
    });
    let what = || format!("bundle {} of catalog {}", install.bundle, install.catalog);
    match read.await {
        Ok(Ok(Some(properties))) => Ok(properties),
        Ok(Ok(None)) => Err(Problem::Failed(format!("{} is gone", what()))),
        Ok(Err(error)) => Err(Problem::Failed(format!("{}: {error}", what()))),
        Err(error) => Err(Problem::Failed(format!("{}: {error}", what()))),
    }
}

fn words(error: images::Error) -> String {
    super::words::of(&anyhow::Error::new(error))
}
