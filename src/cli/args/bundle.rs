//! `chandler bundle`

use std::path::PathBuf;

use clap::Subcommand;

use super::output::Output;
use super::registry::Registry;

/// Arguments of `chandler bundle`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Bundle {
    /// Write the first files of a new bundle
    ///
    /// The bundle is sound as it is: what the author has to write is marked with TODO.
    Init(Init),
    /// Tell what is wrong with a bundle, and what could be better
    ///
    /// Checks what `operator-sdk bundle validate` checks, and with `--previous` also what an upgrade
    /// from that version would break. Ends with 1 if there are errors.
    Lint(Lint),
    /// Push a bundle to a registry or into an OCI layout
    ///
    /// No container engine is needed. The same files always give the same digest, which is printed.
    Push(Push),
    /// Pull the files of a bundle into a folder
    Pull(Pull),
}

/// Arguments of `chandler bundle init`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Init {
    /// The name of the operator, which is also that of its package
    pub(in crate::cli) name: String,
    /// The version of the bundle
    #[arg(long, default_value = "0.1.0")]
    pub(in crate::cli) version: String,
    /// Write the files into this folder [default: a folder named after the operator]
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) output_dir: Option<PathBuf>,
    /// How to print what was written
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
}

/// Arguments of `chandler bundle lint`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Lint {
    /// The folder of the bundle, with `manifests` and `metadata` in it
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// The version before, as a folder or an image
    #[arg(long, value_name = "DIR|IMAGE")]
    pub(in crate::cli) previous: Option<String>,
    /// How to print the findings
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler bundle push`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Push {
    /// The folder of the bundle, with `manifests` and `metadata` in it
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// Where to: HOST/NAME:TAG, or `oci:DIR[:TAG]` for an OCI layout
    pub(in crate::cli) reference: String,
    /// How to print where the image is
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}

/// Arguments of `chandler bundle pull`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Pull {
    /// The image: HOST/NAME:TAG, HOST/NAME@DIGEST, or `oci:DIR[:TAG]`
    pub(in crate::cli) reference: String,
    /// A folder that is not there yet, or is empty
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// How to print what was pulled
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: Output,
    #[command(flatten)]
    pub(in crate::cli) registry: Registry,
}
