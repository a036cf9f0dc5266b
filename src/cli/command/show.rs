//! `chandler show`

mod text;

use crate::cli::args::hub::Show as Args;
use crate::cli::args::output::Output;
use crate::cli::failure::Failure;
use crate::cli::{printer, shelves};
use crate::server::hub::{Error, SEARCH_HINT};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (package, version) = match args.package.split_once('@') {
        Some((package, version)) => (package, Some(version)),
        None => (args.package.as_str(), None),
    };
    let hub = shelves::open(&args.catalogs, &args.registry)?;
    let page = hub.package(package, None).map_err(in_a_terminal)?;
    let catalog = Some(page.card.catalog.as_str());
    if !page.also_in.is_empty() {
        printer::warning(&format!(
            "package `{package}` is also in {}; this is that of {}",
            page.also_in.join(", "),
            page.card.catalog
        ));
    }
    if let Some(version) = version {
        let view = hub.package_version(package, catalog, version)?;
        return match args.output {
            Output::Text => printer::data(&text::version(&page, &view)),
            structured => printer::structured(&view, structured),
        };
    }
    if args.output != Output::Text {
        return printer::structured(&page, args.output);
    }
    let head = page.card.head.as_str();
    let needs = if head.is_empty() {
        None
    } else {
        Some(hub.package_version(package, catalog, head)?)
    };
    let dependents = hub.dependencies(package, catalog, None);
    let dependents = dependents.map(|graph| graph.dependents).unwrap_or_default();
    printer::data(&text::package(&page, needs.as_ref(), &dependents))
}

/// In a terminal another command searches.
fn in_a_terminal(error: Error) -> Error {
    if error.hint == SEARCH_HINT {
        return error.hint(format!("{SEARCH_HINT} with `chandler search WORDS`"));
    }
    error
}
