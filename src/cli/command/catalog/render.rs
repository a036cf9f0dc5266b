//! `chandler catalog render`

use crate::bundle::Form;
use crate::catalog::fbc::{self, Catalog};
use crate::cli::args::catalog::Render;
use crate::cli::args::output::Stream;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::{Session, wait};
use crate::publish::Input;

pub(super) fn run(args: &Render) -> Result<(), Failure> {
    let inputs: Result<Vec<Input>, _> = args.sources.iter().map(|s| Input::parse(s)).collect();
    let inputs = inputs?;
    let session = Session::new(&args.registry)?;
    let mut renderer = session.renderer();
    renderer.image.clone_from(&args.image);
    if args.bundle_objects {
        renderer.form = Form::BundleObjects;
    }
    let found = wait(async { Ok(renderer.render_all(&inputs).await?) })?;
    super::warn(&found);
    printer::data(&print(found.catalog, args.output)?)
}

/// A catalog as text.
pub(super) fn print(catalog: Catalog, format: Stream) -> Result<String, Failure> {
    let mut text = Vec::new();
    match format {
        Stream::Json => fbc::write_json(catalog, &mut text),
        Stream::Yaml => fbc::write_yaml(catalog, &mut text),
    }
    .map_err(Failure::outside)?;
    String::from_utf8(text).map_err(Failure::outside)
}
