//! `chandler catalog lint`

use crate::catalog::fbc::{Checked, Loaded};
use crate::cli::args::catalog::Lint;
use crate::cli::failure::Failure;
use crate::cli::findings::{self, Finding};
use crate::cli::session::{Session, wait};
use crate::publish::{Input, Rendered};

pub(super) fn run(args: &Lint) -> Result<(), Failure> {
    let input = Input::parse(&args.source)?;
    if let Input::Bundle(path) = &input {
        let path = path.display();
        let error = anyhow::anyhow!("{path} is a bundle, not a catalog");
        return Err(Failure::no(error).hint(format!("check it with `chandler bundle lint {path}`")));
    }
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    let found = wait(async { Ok(renderer.render(&input).await?) })?;
    findings::report(&args.source, findings_of(found), args.output)
}

/// Everything that is wrong with a catalog.
pub(super) fn findings_of(rendered: Rendered) -> Vec<Finding> {
    let loaded = Loaded {
        catalog: rendered.catalog,
        errors: rendered.errors,
    };
    let Checked {
        broken,
        warnings,
        errors,
        ..
    } = loaded.check();
    let problems = rendered.problems.into_iter().map(Finding::from);
    // What cannot be read is also among the problems of its package, if that is known.
    let unknown = errors.iter().filter(|error| error.package().is_none());
    let broken = broken.into_values().flatten().chain(warnings);
    problems
        .chain(unknown.map(Finding::from))
        .chain(broken.map(Finding::from))
        .collect()
}
