//! One file per subcommand.

mod approve;
mod bundle;
mod catalog;
mod completions;
mod crds;
mod deploy;
mod explain;
mod graph;
mod history;
mod hub;
mod install;
mod list;
mod plan;
mod run;
mod search;
mod show;
mod status;
mod uninstall;

use super::args::Command;
use super::failure::Failure;

/// Runs one subcommand to its end.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Search(args) => search::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Catalog(args) => catalog::run(&args),
        Command::Install(args) => install::run(&args),
        Command::List(args) => list::run(&args),
        Command::Status(args) => status::run(&args),
        Command::History(args) => history::run(&args),
        Command::Approve(args) => approve::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Deploy(args) => deploy::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
