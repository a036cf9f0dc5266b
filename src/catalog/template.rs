//! Catalog templates: short descriptions from which catalogs are made.
//!
//! - `olm.template.basic`: a catalog whose bundles are only named by their images. A plain catalog
//!   with such bundles in it is taken as well.
//! - `olm.semver`: lists of images; channels and upgrades follow from their versions.
//!
//! Nothing here fetches an image. [`Template::images`] says which are needed, and
//! [`Template::expand`] asks for each of them.

mod basic;
mod semver;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use super::fbc::{Blob, Bundle, Catalog, Error as ReadError, Fields, Icon, read};
use crate::yaml;

pub use basic::Basic;
pub use semver::{ChannelType, Semver, Stability};

/// A bundle image, rendered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rendered {
    /// The bundle.
    pub bundle: Bundle,
    /// What its `ClusterServiceVersion` says about the operator.
    pub description: String,
    /// The first icon of its `ClusterServiceVersion`.
    pub icon: Option<Icon>,
}

/// A template.
#[derive(Debug, Clone, PartialEq)]
pub enum Template {
    /// `olm.template.basic`, or a catalog with bundles that are only named by their images.
    Basic(Basic),
    /// `olm.semver`
    Semver(Semver),
}

/// Why a template cannot be read or expanded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is neither JSON nor YAML.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// A part of the template is not a blob.
    #[error(transparent)]
    Blob(#[from] ReadError),
    /// The template is not what its schema demands.
    #[error("{name}:{line}: {problem}")]
    Template {
        /// The file.
        name: String,
        /// The line.
        line: usize,
        /// What was found and what was expected.
        problem: String,
    },
    /// An image could not be had.
    #[error("bundle image {image:?}: {problem}")]
    Image {
        /// Which one.
        image: String,
        /// Why.
        problem: String,
    },
    /// The bundles do not go together.
    #[error("{0}")]
    Bundles(String),
}

impl Template {
    /// Reads a template. `name` stands for it in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let Some(first) = yaml::documents(name, text).next().transpose()? else {
            return Err(Error::Template {
                name: name.to_owned(),
                line: 1,
                problem: "expected a template, found nothing".to_owned(),
            });
        };
        let line = first.line();
        let wrong = |problem| Error::Template {
            name: name.to_owned(),
            line,
            problem,
        };
        let Value::Object(map) = first.into_value() else {
            return Err(wrong("expected a template with a `schema`".to_owned()));
        };
        let mut fields = Fields::new(map);
        match fields.text("schema").map_err(&wrong)?.as_str() {
            basic::SCHEMA => Basic::read(fields).map(Self::Basic).map_err(wrong),
            semver::SCHEMA => Semver::read(fields).map(Self::Semver).map_err(wrong),
            "olm.package" | "olm.channel" | "olm.bundle" | "olm.deprecations" => {
                let blobs: Result<Vec<Blob>, ReadError> = read(name, text.as_bytes()).collect();
                let catalog: Catalog = blobs?.into_iter().map(|blob| blob.meta).collect();
                Ok(Self::Basic(Basic::from_catalog(catalog)))
            }
            "" => Err(wrong(format!(
                "expected a `schema`: {} or {}",
                basic::SCHEMA,
                semver::SCHEMA
            ))),
            other => Err(wrong(format!(
                "templates of the schema {other:?} are not known: expected {} or {}",
                basic::SCHEMA,
                semver::SCHEMA
            ))),
        }
    }

    /// The bundle images that it names, each once, in the order in which it names them.
    pub fn images(&self) -> Vec<&str> {
        let all: Vec<&str> = match self {
            Self::Basic(basic) => basic.images().collect(),
            Self::Semver(semver) => semver.images().collect(),
        };
        let mut seen = std::collections::BTreeSet::new();
        all.into_iter()
            .filter(|image| seen.insert(*image))
            .collect()
    }

    /// Makes the catalog. `render` is called once for each of the [images](Self::images).
    pub fn expand<E: fmt::Display>(
        &self,
        mut render: impl FnMut(&str) -> Result<Rendered, E>,
    ) -> Result<Catalog, Error> {
        let mut bundles = std::collections::BTreeMap::new();
        for image in self.images() {
            let rendered = render(image).map_err(|error| Error::Image {
                image: image.to_owned(),
                problem: error.to_string(),
            })?;
            bundles.insert(image.to_owned(), rendered);
        }
        match self {
            Self::Basic(basic) => Ok(basic.expand(&bundles)),
            Self::Semver(semver) => semver.expand(&bundles).map_err(Error::Bundles),
        }
    }
}
