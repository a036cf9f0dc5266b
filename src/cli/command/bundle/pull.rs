//! `chandler bundle pull`

use serde_json::json;

use crate::cli::args::bundle::Pull;
use crate::cli::args::output::Output;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::{Session, wait};
use crate::oci::Location;
use crate::publish::{Progress as _, pull_bundle, write_bundle};

pub(super) fn run(args: &Pull) -> Result<(), Failure> {
    let location: Location = args.reference.parse()?;
    let session = Session::new(&args.registry)?;
    session.bars.begins(&format!("pulling {location}"));
    let pulled = wait(async {
        let pulled = pull_bundle(&location, &session.options, &session.store);
        Ok(pulled.await?)
    })?;
    write_bundle(&pulled.tree, &args.folder)?;
    let bundle = &pulled.bundle;
    if args.output == Output::Text {
        return printer::data(&format!(
            "{} {} in {}, {}\n",
            bundle.package,
            bundle.version,
            args.folder.display(),
            pulled.digest
        ));
    }
    let said = json!({
        "name": bundle.name,
        "package": bundle.package,
        "version": bundle.version,
        "digest": pulled.digest.as_str(),
        "folder": args.folder,
        "files": pulled.tree.keys().collect::<Vec<_>>(),
    });
    printer::structured(&said, args.output)
}
