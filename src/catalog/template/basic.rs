//! The basic template.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Rendered;
use crate::catalog::fbc::{Bundle, Catalog, Fields, Meta, decode};

pub(super) const SCHEMA: &str = "olm.template.basic";

/// A catalog whose bundles are only named by their images.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Basic {
    catalog: Catalog,
}

impl Basic {
    pub(super) fn read(mut fields: Fields) -> Result<Self, String> {
        let mut catalog = Catalog::default();
        for (index, entry) in fields.items("entries")?.into_iter().enumerate() {
            let Value::Object(_) = &entry else {
                return Err(format!("entries[{index}]: expected a blob"));
            };
            let blob = decode(entry).map_err(|problem| format!("entries[{index}]: {problem}"))?;
            if let Meta::Bundle(bundle) = &blob
                && !is_only_image(bundle)
            {
                return Err(format!(
                    "entries[{index}]: a bundle of a template has an image and nothing else: \
                     remove its package, properties and relatedImages"
                ));
            }
            catalog.add(blob);
        }
        Ok(Self { catalog })
    }

    /// A plain catalog may hold whole bundles beside those that are only named by their images.
    pub(super) fn from_catalog(catalog: Catalog) -> Self {
        Self { catalog }
    }

    /// The blobs of the template.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(super) fn images(&self) -> impl Iterator<Item = &str> {
        self.catalog
            .packages
            .values()
            .flat_map(|blobs| &blobs.bundles)
            .filter(|bundle| is_only_image(bundle))
            .map(|bundle| bundle.image.as_str())
    }

    pub(super) fn expand(&self, rendered: &BTreeMap<String, Rendered>) -> Catalog {
        let blobs = self.catalog.clone().into_blobs();
        blobs
            .map(|blob| match blob {
                Meta::Bundle(bundle) if is_only_image(&bundle) => {
                    match rendered.get(&bundle.image) {
                        Some(rendered) => Meta::Bundle(rendered.bundle.clone()),
                        None => Meta::Bundle(bundle),
                    }
                }
                other => other,
            })
            .collect()
    }
}

fn is_only_image(bundle: &Bundle) -> bool {
    !bundle.image.is_empty()
        && bundle.package.is_empty()
        && bundle.properties.is_empty()
        && bundle.related_images.is_empty()
}
