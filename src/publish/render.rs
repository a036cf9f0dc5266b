//! Whatever holds a catalog or a bundle, as the blobs of a file-based catalog.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::pull::{PulledBundle, bundle_of};
use super::template::is_template;
use super::{Error, Progress};
use crate::bundle::{self, Bundle, Form};
use crate::catalog::fbc::{self, Catalog, Icon, Loaded, Meta};
use crate::catalog::source::bundle_tree::{self, OPERATORHUB_IMAGE};
use crate::catalog::source::grpc::Remote;
use crate::catalog::source::{self, BUNDLE_LABEL, CONFIGS_LABEL, DATABASE_LABEL, Source};
use crate::catalog::template::{self, Template};
use crate::oci::blob_store::BlobStore;
use crate::oci::layer::Limits;
use crate::oci::pull::{PullOptions, PulledImage, files_of, pull_image};
use crate::oci::{Location, Silent};

/// Something that can be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A catalog.
    Source(Source),
    /// An image that may be a catalog or a bundle.
    Image {
        /// As it was typed: what a catalog says of a bundle's image is this.
        name: String,
        /// Where it is.
        location: Location,
    },
    /// The folder of one bundle.
    Bundle(PathBuf),
    /// A file: a catalog or a template.
    File(PathBuf),
}

impl Input {
    /// Understands what a person typed: what [`Source::parse`] does, the folder of a single
    /// bundle, or a file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let path = Path::new(text);
        if path.is_file() {
            return Ok(Self::File(path.to_owned()));
        }
        if path.join("manifests").is_dir() {
            return Ok(Self::Bundle(path.to_owned()));
        }
        Ok(match Source::parse(text)? {
            Source::Image(location) => Self::Image {
                name: text.strip_prefix("docker://").unwrap_or(text).to_owned(),
                location,
            },
            source => Self::Source(source),
        })
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => source.fmt(f),
            Self::Image { name, .. } => name.fmt(f),
            Self::Bundle(path) | Self::File(path) => path.display().fmt(f),
        }
    }
}

/// What came out.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The blobs.
    pub catalog: Catalog,
    /// What could not be read of a file-based catalog.
    pub errors: Vec<fbc::Error>,
    /// What is broken or looks like a mistake in bundles.
    pub problems: Vec<Problem>,
}

/// Something that is broken or looks like a mistake in a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The folder, file or image.
    pub place: String,
    /// What was found.
    pub message: String,
    /// Whether something is missing in the catalog because of it.
    pub left_out: bool,
}

/// Renders catalogs and bundles.
#[derive(Clone)]
pub struct Renderer {
    /// How images are pulled.
    pub options: PullOptions,
    /// Where they are kept.
    pub store: BlobStore,
    /// How the `ClusterServiceVersion` of a bundle is carried.
    pub form: Form,
    /// The reference of the image of a bundle that comes from a folder; `{package}` and
    /// `{version}` stand for what they say.
    pub image: Option<String>,
    /// Who is told what is done.
    pub progress: Arc<dyn Progress>,
}

impl Renderer {
    /// Renders silently, with images from `options` by way of `store`.
    pub fn new(options: PullOptions, store: BlobStore) -> Self {
        Self {
            options,
            store,
            form: Form::default(),
            image: None,
            progress: Arc::new(Silent),
        }
    }

    /// Renders one input. What can be read is rendered, and the rest told.
    pub async fn render(&self, input: &Input) -> Result<Rendered, Error> {
        let mut rendered = match input {
            Input::Bundle(path) => self.bundle_folder(path)?,
            Input::File(path) => self.file(path).await?,
            Input::Source(Source::Folder(path)) => self.folder(path).await?,
            Input::Source(Source::Bundles(path)) => self.bundle_tree(path)?,
            Input::Image { name, location } => self.image(name, location).await?,
            Input::Source(Source::Image(location)) => {
                self.image(&location.to_string(), location).await?
            }
            Input::Source(Source::Remote(address)) => {
                let remote = Remote::connect(address)
                    .await
                    .map_err(source::Error::Remote)?;
                let blobs = remote.blobs().await.map_err(source::Error::Remote)?;
                Rendered {
                    catalog: blobs.into_iter().collect(),
                    ..Rendered::default()
                }
            }
        };
        rendered.catalog.tidy();
        Ok(rendered)
    }

    /// Renders several inputs into one catalog. An error if anything could not be read: half a
    /// catalog is not what somebody wants to publish.
    pub async fn render_all(&self, inputs: &[Input]) -> Result<Rendered, Error> {
        let mut all = Rendered::default();
        for input in inputs {
            let rendered = self.render(input).await?;
            if !rendered.errors.is_empty() {
                return Err(Error::Unreadable {
                    what: input.to_string(),
                    errors: rendered.errors,
                });
            }
            all.catalog.extend(rendered.catalog.into_blobs());
            all.problems.extend(rendered.problems);
        }
        Ok(all)
    }

    /// Renders the image of a bundle under the name that it is asked for.
    pub async fn bundle_image(
        &self,
        reference: &str,
    ) -> Result<(PulledBundle, template::Rendered), Error> {
        let location: Location = reference.parse()?;
        self.progress.begins(&format!("pulling {reference}"));
        let image = pull_image(&location, &self.options, &self.store).await?;
        let pulled = bundle_of(reference.to_owned(), image).await?;
        let rendered = self.blob(reference, &pulled.bundle, reference)?;
        Ok((pulled, rendered))
    }

    /// What a catalog says of a bundle whose image has this reference.
    pub fn blob(
        &self,
        what: &str,
        bundle: &Bundle,
        image: &str,
    ) -> Result<template::Rendered, Error> {
        let rendered = bundle::render_as(bundle, image, self.form);
        let rendered = rendered.map_err(|reason| Error::Bundle {
            what: what.to_owned(),
            reason,
        })?;
        Ok(template::Rendered {
            bundle: rendered.into(),
            description: bundle.csv.spec.description.clone(),
            icon: icon(bundle),
        })
    }

    fn bundle_folder(&self, path: &Path) -> Result<Rendered, Error> {
        let what = path.display().to_string();
        let loaded = bundle::read_dir(path).and_then(|tree| bundle::load(&tree));
        let bundle = loaded.map_err(|reason| Error::Bundle {
            what: what.clone(),
            reason,
        })?;
        let image = self.image.as_deref().unwrap_or_default();
        let image = image
            .replace("{package}", &bundle.package)
            // The tag of an image cannot hold a plus.
            .replace("{version}", &bundle.version.replace('+', "-"));
        let blob = self.blob(&what, &bundle, &image)?;
        Ok(Rendered::of_bundle(&what, &bundle, blob))
    }

    fn bundle_tree(&self, path: &Path) -> Result<Rendered, Error> {
        let image = self.image.as_deref().unwrap_or(OPERATORHUB_IMAGE);
        let options = bundle_tree::Options {
            image: image.to_owned(),
            form: self.form,
        };
        let loaded = bundle_tree::load_with(path, &options).map_err(source::Error::Bundles)?;
        let mut rendered = Rendered::default();
        for package in loaded.packages {
            let catalog = &mut rendered.catalog;
            catalog.add(Meta::Package(package.package));
            catalog.extend(package.channels.into_iter().map(Meta::Channel));
            catalog.extend(package.bundles.into_iter().map(Meta::Bundle));
        }
        let problems = loaded.problems.into_iter();
        rendered.problems = problems
            .map(|problem| Problem {
                place: problem.path.display().to_string(),
                message: problem.why,
                left_out: problem.left_out,
            })
            .collect();
        Ok(rendered)
    }

    async fn folder(&self, path: &Path) -> Result<Rendered, Error> {
        let folder = path.to_owned();
        let loaded = blocking(move || Ok(fbc::load_dir(&folder))).await?;
        let loaded = loaded.map_err(|error| Error::Io(std::io::Error::other(error)))?;
        if loaded.catalog == Catalog::default() && loaded.errors.is_empty() {
            return Err(Error::NoCatalog(path.to_owned()));
        }
        Ok(Rendered::of_files(loaded))
    }

    async fn file(&self, path: &Path) -> Result<Rendered, Error> {
        let text = fs_err::read_to_string(path)?;
        let name = path.display().to_string();
        if is_template(&name, &text) {
            let template = Template::parse(&name, &text)?;
            return self.template(&template).await;
        }
        let mut loaded = Loaded::default();
        loaded.read(&name, text.as_bytes());
        Ok(Rendered::of_files(loaded))
    }

    async fn image(&self, name: &str, location: &Location) -> Result<Rendered, Error> {
        self.progress.begins(&format!("pulling {name}"));
        let name = name.to_owned();
        let image = pull_image(location, &self.options, &self.store).await?;
        let folder = match image.labels.get(CONFIGS_LABEL) {
            Some(folder) => folder.clone(),
            None if image.labels.contains_key(BUNDLE_LABEL) => {
                let pulled = bundle_of(name.clone(), image).await?;
                let blob = self.blob(&name, &pulled.bundle, &name)?;
                return Ok(Rendered::of_bundle(&name, &pulled.bundle, blob));
            }
            None if image.labels.contains_key(DATABASE_LABEL) => {
                return Err(source::Error::Database(name).into());
            }
            None => "configs".to_owned(),
        };
        blocking(move || catalog_of(&name, &image, &folder)).await
    }
}

impl Rendered {
    fn of_files(loaded: Loaded) -> Self {
        Self {
            catalog: loaded.catalog,
            errors: loaded.errors,
            problems: Vec::new(),
        }
    }

    fn of_bundle(what: &str, bundle: &Bundle, blob: template::Rendered) -> Self {
        let warnings = bundle.warnings.iter();
        Self {
            catalog: std::iter::once(Meta::Bundle(blob.bundle)).collect(),
            errors: Vec::new(),
            problems: warnings
                .map(|warning| Problem {
                    place: what.to_owned(),
                    message: warning.to_string(),
                    left_out: false,
                })
                .collect(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

fn catalog_of(name: &str, image: &PulledImage, folder: &str) -> Result<Rendered, Error> {
    let files = files_of(image, folder, &Limits::default())?;
    if files.is_empty() {
        return Err(source::Error::NoCatalog {
            image: name.to_owned(),
        }
        .into());
    }
    Ok(Rendered::of_files(fbc::load_tree(&files)))
}

/// The picture of a bundle, unless its data is no base64.
fn icon(bundle: &Bundle) -> Option<Icon> {
    let icon = bundle.csv.spec.icon.first()?;
    let data: String = icon.base64data.split_whitespace().collect();
    let is_base64 = STANDARD.decode(&data).is_ok_and(|bytes| !bytes.is_empty());
    is_base64.then(|| Icon {
        base64data: data,
        mediatype: icon.mediatype.clone(),
    })
}

/// Reading takes seconds of computing: not on a thread that others wait for.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::Interrupted(error.to_string()))?
}
