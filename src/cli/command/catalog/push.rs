//! `chandler catalog push`

use crate::catalog::fbc;
use crate::catalog::source::bundle_tree::holds_bundles;
use crate::cli::args::catalog::Push;
use crate::cli::failure::Failure;
use crate::oci::Location;
use crate::publish::{self, catalog_image};

pub(super) fn run(args: &Push) -> Result<(), Failure> {
    let target: Location = args.reference.parse()?;
    if holds_bundles(&args.folder) {
        let folder = args.folder.display();
        let error = anyhow::anyhow!("{folder} holds bundles, not a file-based catalog");
        return Err(Failure::no(error).hint(format!(
            "push a bundle with `chandler bundle push`; `chandler catalog render {folder}` makes a catalog of them"
        )));
    }
    // Made of the same files that are checked, in this order: what is pushed is what was read.
    let image = catalog_image(&args.folder)?;
    if !args.force {
        check(args)?;
    }
    super::push_image(&image, &target, &args.registry, args.output)
}

/// A catalog with a broken package is refused by opm as a whole.
fn check(args: &Push) -> Result<(), Failure> {
    let folder = args.folder.display();
    let loaded = fbc::load_dir(&args.folder)
        .map_err(|error| publish::Error::Io(std::io::Error::other(error)))?;
    let checked = loaded.check();
    let broken: Vec<String> = checked.broken.keys().map(|p| format!("`{p}`")).collect();
    let error = match (checked.errors.first(), broken.as_slice()) {
        (_, [_, ..]) => anyhow::anyhow!("{folder} has broken packages: {}", broken.join(", ")),
        (Some(error), []) => anyhow::anyhow!("{folder} cannot be read: {error}"),
        (None, []) => return Ok(()),
    };
    Err(Failure::no(error).hint(format!(
        "`chandler catalog lint {folder}` tells what is wrong; `--force` pushes it nevertheless"
    )))
}
