//! `chandler catalog diff`

use crate::catalog::diff::diff;
use crate::cli::args::catalog::Diff;
use crate::cli::args::output::Output;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::{Session, wait};
use crate::publish::Input;

pub(super) fn run(args: &Diff) -> Result<(), Failure> {
    let (old, new) = (Input::parse(&args.old)?, Input::parse(&args.new)?);
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    let (old, new) = wait(async {
        let old = renderer.render_all(&[old]).await?;
        let new = renderer.render_all(&[new]).await?;
        Ok((old, new))
    })?;
    super::warn(&old);
    super::warn(&new);
    let difference = diff(&old.catalog, &new.catalog);
    match args.output {
        Output::Text if printer::on_terminal() && !difference.is_empty() => {
            printer::data(&table(&difference.lines()))?;
        }
        Output::Text => {
            for line in difference.lines() {
                printer::data(&format!("{}\n", printer::visible(&line)))?;
            }
        }
        structured => printer::structured(&difference, structured)?,
    }
    if difference.is_empty() {
        printer::say("the catalogs say the same");
    } else if args.exit_code {
        return Err(Failure::no(anyhow::anyhow!("the catalogs are different")));
    }
    Ok(())
}

/// Each line begins with the package it is about.
fn table(lines: &[String]) -> String {
    let mut table = printer::table(["PACKAGE", "WHAT"]);
    for line in lines {
        let line = line.strip_prefix("package ").unwrap_or(line);
        let (package, what) = line.split_once(' ').unwrap_or(("", line));
        table.add_row([package.trim_end_matches(':'), what]);
    }
    format!("{table}\n")
}
