//! `chandler uninstall`

mod carry_out;

use std::io::{BufRead as _, IsTerminal as _};

use anyhow::anyhow;

use crate::cli::args::operate::Uninstall as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::operations::uninstall::{Extent, Preview, Uninstall};
use crate::cli::printer;
use crate::cli::session::wait;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let extent = Extent {
        everything: args.everything,
        dependencies: args.prune_dependencies,
        crds: args.delete_crds.clone(),
    };
    wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let removal = Uninstall::prepare(&cluster, &namespace, &args.name, &extent).await?;
        let preview = &removal.preview;
        if args.dry_run {
            return print(args, preview, "dry run");
        }
        if args.everything {
            preview.check_names()?;
        }
        preview.check_rights(cluster.is_deserted(&namespace).await)?;
        if !args.yes {
            // Whoever is asked has to see it first.
            printer::show(&preview.text(true));
            ask(&preview.name)?;
        }
        removal.begin(&cluster).await?;
        if args.no_wait {
            return print(args, preview, "begun");
        }
        carry_out::follow(args, &cluster, &removal.remover, preview).await?;
        print(args, preview, "removed")
    })
}

fn ask(name: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(
            Failure::usage(anyhow!("nothing was removed: nobody can be asked here"))
                .hint("say `--yes` to remove it, or `--dry-run` to look only"),
        );
    }
    printer::prompt(&format!("Remove {name} as shown? [y/N] "));
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(Failure::outside)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    Err(Failure::no(anyhow!("nothing was removed")))
}

fn print(args: &Args, preview: &Preview, outcome: &str) -> Result<(), Failure> {
    match args.output {
        Output::Text if outcome == "dry run" => {
            printer::data(&preview.text(printer::on_terminal()))
        }
        Output::Text => printer::data(&preview.summary(outcome)),
        structured => printer::structured(&preview.document(outcome), structured),
    }
}
