//! One file per subcommand.

mod bundle;
mod catalog;
mod completions;
mod crds;
mod explain;
mod graph;
mod plan;
mod run;

use super::args::Command;
use super::failure::Failure;

/// Runs one subcommand to its end.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Catalog(args) => catalog::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
