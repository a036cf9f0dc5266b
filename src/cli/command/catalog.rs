//! `chandler catalog`

mod add;
mod diff;
mod init;
mod lint;
mod push;
mod render;

use serde_json::json;

use crate::cli::args::catalog::Catalog;
use crate::cli::args::output::Output;
use crate::cli::args::registry::Registry;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::{Session, wait};
use crate::oci::Location;
use crate::oci::image::Image;
use crate::publish::{self, Progress as _, Rendered};

pub(super) fn run(args: &Catalog) -> Result<(), Failure> {
    match args {
        Catalog::Init(args) => init::run(args),
        Catalog::Add(args) => add::run(args),
        Catalog::Render(args) => render::run(args),
        Catalog::Lint(args) => lint::run(args),
        Catalog::Push(args) => push::run(args),
        Catalog::Diff(args) => diff::run(args),
    }
}

/// Pushes an image and prints where it is.
pub(super) fn push_image(
    image: &Image,
    target: &Location,
    registry: &Registry,
    output: Output,
) -> Result<(), Failure> {
    let session = Session::new(registry)?;
    session.bars.begins(&format!("pushing {target}"));
    let registry = &session.options.registry;
    let bars = session.bars.as_ref();
    let pushed = wait(async { Ok(publish::push(image, target, registry, bars).await?) })?;
    if output == Output::Text {
        return printer::data(&format!("{pushed}\n"));
    }
    let said = json!({
        "reference": target.to_string(),
        "image": pushed.to_string(),
        "digest": image.manifest.digest,
    });
    printer::structured(&said, output)
}

/// Says what was left out of bundles, and what looks like a mistake in them.
pub(super) fn warn(rendered: &Rendered) {
    for problem in &rendered.problems {
        let left_out = if problem.left_out { " (left out)" } else { "" };
        printer::warning(&format!("{problem}{left_out}"));
    }
}
