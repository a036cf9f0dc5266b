//! What can be typed. The doc comments here are the help texts.

pub(super) mod bundle;
pub(super) mod catalog;
pub(super) mod deploy;
pub(super) mod hub;
pub(super) mod operate;
pub(super) mod output;
pub(super) mod plan;
pub(super) mod registry;
pub(super) mod run;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

/// Outfits Kubernetes clusters with operators
///
/// Chandler makes, checks and publishes operator bundles and catalogs, and has the API of Operator
/// Lifecycle Manager v0.
#[derive(Debug, Parser)]
#[command(
    name = "chandler",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// One variant a subcommand, in the order of the help text.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Look after a cluster: catalogs, Subscriptions, InstallPlans
    ///
    /// Runs until it is stopped. Of several replicas one writes; the others take over when it ends.
    Run(run::Run),
    /// Serve the hub of catalogs without a cluster: search, browse, compare
    ///
    /// Runs until it is stopped. /api/v1/openapi.json tells what can be asked.
    Hub(hub::Hub),
    /// Find packages in catalogs
    ///
    /// The best fit comes first, and a typo is forgiven.
    Search(hub::Search),
    /// Tell what a package is, what it brings, and in which versions
    Show(hub::Show),
    /// Make, check and publish a bundle: one version of an operator
    #[command(subcommand, arg_required_else_help = true)]
    Bundle(bundle::Bundle),
    /// Make, check and publish a catalog of operators
    #[command(subcommand, arg_required_else_help = true)]
    Catalog(catalog::Catalog),
    /// Install an operator: make its Subscription and tell what happens until it runs
    ///
    /// Ends with 1 if it is not healthy when time is up, or if somebody has to approve something.
    Install(operate::Install),
    /// List what runs: packages, versions, health, and what could be upgraded
    List(operate::List),
    /// Tell how operators are: whether they run, and what becomes of their upgrades
    ///
    /// Ends with 1 if one of them does not run, or if something went wrong: a plan failed, there is no
    /// solution, a new version does not come up. An upgrade that waits for approval, that an operator holds,
    /// or that is under way while the version before runs, is no such thing.
    Status(operate::Status),
    /// Tell what was installed for a Subscription, when, and what came of it
    History(operate::History),
    /// Let an InstallPlan go ahead that waits for approval
    Approve(operate::Approve),
    /// Remove an operator, after showing all that goes and all that stays
    ///
    /// CRDs and custom resources stay unless --everything or --delete-crds says otherwise. Ends with 1 if
    /// somebody else needs it, or if it is not gone when time is up.
    Uninstall(operate::Uninstall),
    /// Tell what Subscriptions would get, or why not
    ///
    /// Ends with 1 if there is no solution for one of them. Nothing is changed.
    Plan(plan::Plan),
    /// Tell why a package would be installed in this version, or why not
    Explain(plan::Explain),
    /// Draw how the versions of a package lead to each other, or what it needs
    ///
    /// What is installed is marked, and the way that it will go. With `--catalog` alone it is the graph
    /// of that catalog, which may be a file or broken.
    Graph(plan::Graph),
    /// Print the manifests that run Chandler in a cluster
    ///
    /// Apply them with `chandler deploy --image IMAGE | kubectl apply --server-side -f -`.
    Deploy(deploy::Deploy),
    /// Print the CustomResourceDefinitions of Chandler's API as YAML
    ///
    /// Apply them with `chandler crds | kubectl apply -f -`.
    Crds(Crds),
    /// Print a completion script for your shell
    ///
    /// For example: `chandler completions bash > /etc/bash_completion.d/chandler`
    Completions(Completions),
}

/// Arguments of `chandler crds`.
#[derive(Debug, clap::Args)]
pub(super) struct Crds {
    /// Write one file per kind into this folder instead of printing
    #[arg(long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,
}

/// Arguments of `chandler completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// The shell to complete for
    pub(super) shell: Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
