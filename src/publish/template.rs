//! Templates, with the images they name.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::render::Rendered;
use super::{Error, Renderer};
use crate::catalog::template::Template;
use crate::yaml;

/// How many images are pulled at once.
const AT_ONCE: usize = 4;

impl Renderer {
    /// Pulls the images that a template names, and makes the catalog.
    pub async fn template(&self, template: &Template) -> Result<Rendered, Error> {
        // Not mapped within the stream: that would not be known to move between threads.
        let pulls: Vec<_> = template
            .images()
            .into_iter()
            .map(|image| async move {
                let (_, rendered) = self.bundle_image(image).await?;
                Ok::<_, Error>((image, rendered))
            })
            .collect();
        let bundles: BTreeMap<&str, _> = stream::iter(pulls)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let catalog = template.expand(|image| {
            let rendered = bundles.get(image).cloned();
            rendered.ok_or("it was not pulled")
        })?;
        Ok(Rendered {
            catalog,
            ..Rendered::default()
        })
    }
}

/// Whether a file is a template rather than a catalog: it says so, or it is a catalog with bundles
/// that are only named by their images.
pub(super) fn is_template(name: &str, text: &str) -> bool {
    let Some(Ok(first)) = yaml::documents(name, text).next() else {
        return false;
    };
    let first = first.into_value();
    let schema = first.as_object().and_then(|map| {
        let (_, value) = map
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case("schema"))?;
        value.as_str()
    });
    match schema {
        Some("olm.template.basic" | "olm.semver") => true,
        Some("olm.package" | "olm.channel" | "olm.bundle") => {
            Template::parse(name, text).is_ok_and(|template| !template.images().is_empty())
        }
        _ => false,
    }
}
