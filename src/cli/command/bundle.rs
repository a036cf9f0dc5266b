//! `chandler bundle`

mod init;
mod lint;
mod pull;
mod push;

use std::path::Path;

use crate::bundle::{self, FileTree};
use crate::cli::args::bundle::Bundle;
use crate::cli::failure::Failure;
use crate::publish;

pub(super) fn run(args: &Bundle) -> Result<(), Failure> {
    match args {
        Bundle::Init(args) => init::run(args),
        Bundle::Lint(args) => lint::run(args),
        Bundle::Push(args) => push::run(args),
        Bundle::Pull(args) => pull::run(args),
    }
}

/// The files of a bundle's folder.
pub(super) fn read(folder: &Path) -> Result<FileTree, Failure> {
    let tree = bundle::read_dir(folder);
    Ok(tree.map_err(|reason| publish::Error::Bundle {
        what: folder.display().to_string(),
        reason,
    })?)
}
