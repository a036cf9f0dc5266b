//! `chandler catalog`

use std::path::PathBuf;

use clap::Subcommand;

use super::output::{Output, Stream};
use super::registry::Registry;

/// Arguments of `chandler catalog`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Catalog {
    /// Begin a package of a file-based catalog
    ///
    /// Prints the package, or with `--output-dir` writes it to `DIR/PACKAGE/catalog.yaml`. Then put
    /// bundles into it with `chandler catalog add`.
    Init(Init),
    /// Add a bundle to a channel of a file-based catalog
    ///
    /// By default the bundle replaces the head of the channel, if its version is newer, and skips
    /// what its ClusterServiceVersion says. What would break the package is refused (the command
    /// ends with 1 and nothing is written), and what is there already is not added again. Files of
    /// other packages are not touched.
    Add(Add),
    /// Print catalogs, bundles and templates as a file-based catalog
    ///
    /// Like `opm render` and `opm alpha render-template`.
    Render(Render),
    /// Tell what is wrong with a catalog
    ///
    /// Checks what `opm validate` checks, but goes on after the first problem. Ends with 1 if there
    /// are errors.
    Lint(Lint),
    /// Push a file-based catalog to a registry or into an OCI layout
    ///
    /// No container engine is needed. The same files always give the same digest, which is printed.
    Push(Push),
    /// Tell what is different between two catalogs
    Diff(Diff),
}

/// Arguments of `chandler catalog init`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Init {
    /// The name of the package
    pub(in crate::cli) package: String,
    /// The channel that is used when a Subscription names none
    #[arg(short = 'c', long, value_name = "CHANNEL")]
    pub(in crate::cli) default_channel: String,
    /// A picture of the operator: SVG, PNG, JPEG or GIF
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) icon: Option<PathBuf>,
    /// A text on the operator, in Markdown
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) description: Option<PathBuf>,
    /// Write the package into this catalog instead of printing it
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) output_dir: Option<PathBuf>,
    /// How to write the package
    #[arg(short, long, value_enum, default_value = "yaml")]
    pub(in crate::cli) output: Stream,
}

/// Arguments of `chandler catalog add`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Add {
    /// The folder of the catalog
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// The bundle: an image, or a folder together with `--image`
    pub(in crate::cli) bundle: String,
    /// The channel to add it to; may be given several times
    #[arg(short, long, required = true)]
    pub(in crate::cli) channel: Vec<String>,
    /// The bundle that it replaces [default: the head of the channel]
    #[arg(long, value_name = "BUNDLE")]
    pub(in crate::cli) replaces: Option<String>,
    /// A bundle that it skips; may be given several times [default: what it says itself]
    #[arg(long, value_name = "BUNDLE", value_delimiter = ',')]
    pub(in crate::cli) skips: Vec<String>,
    /// The versions from which it can be reached directly [default: what it says itself]
    #[arg(long, value_name = "RANGE")]
    pub(in crate::cli) skip_range: Option<String>,
    /// The image that the catalog names; needed if BUNDLE is a folder or an OCI layout
    #[arg(long, value_name = "REFERENCE")]
    pub(in crate::cli) image: Option<String>,
    /// How to print what was added
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler catalog render`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Render {
    /// Catalogs, bundles and templates: folders, files, images, or `oci:DIR[:TAG]`
    #[arg(value_name = "SOURCE", required = true)]
    pub(in crate::cli) sources: Vec<String>,
    /// How to print the catalog
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Stream,
    /// The images of bundles that come from folders, such as `HOST/{package}:v{version}`
    #[arg(long, value_name = "TEMPLATE")]
    pub(in crate::cli) image: Option<String>,
    /// Carry whole manifests of bundles (`olm.bundle.object`), as `opm render` does by default
    #[arg(long)]
    pub(in crate::cli) bundle_objects: bool,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler catalog lint`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Lint {
    /// The catalog: a folder, a file, an image, or `oci:DIR[:TAG]`
    pub(in crate::cli) source: String,
    /// How to print the findings
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler catalog push`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Push {
    /// The folder of the catalog
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// Where to: HOST/NAME:TAG, or `oci:DIR[:TAG]` for an OCI layout
    pub(in crate::cli) reference: String,
    /// Push the catalog even if packages of it are broken
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// How to print where the image is
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler catalog diff`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Diff {
    /// The catalog as it was: a folder, a file, an image, or `oci:DIR[:TAG]`
    pub(in crate::cli) old: String,
    /// The catalog as it is
    pub(in crate::cli) new: String,
    /// End with 1 if there is a difference
    #[arg(long)]
    pub(in crate::cli) exit_code: bool,
    /// How to print the differences
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}
