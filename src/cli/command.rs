//! One file per subcommand.

mod completions;
mod crds;

use super::args::Command;
use super::failure::Failure;

/// Runs one subcommand to its end.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Crds(args) => crds::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
