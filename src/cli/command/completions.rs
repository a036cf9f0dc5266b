//! `chandler completions`

use clap::CommandFactory as _;

use crate::cli::args::{Args, Completions};
use crate::cli::failure::Failure;
use crate::cli::printer;

pub(super) fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "chandler", &mut script);
    printer::data(&String::from_utf8_lossy(&script))
}
