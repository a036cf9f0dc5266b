//! `chandler bundle push`

use crate::cli::args::bundle::Push;
use crate::cli::command::catalog::push_image;
use crate::cli::failure::Failure;
use crate::oci::Location;
use crate::publish::bundle_image;

pub(super) fn run(args: &Push) -> Result<(), Failure> {
    let target: Location = args.reference.parse()?;
    let tree = super::read(&args.folder)?;
    let image = bundle_image(&args.folder.display().to_string(), &tree)?;
    push_image(&image, &target, &args.registry, args.output)
}
