//! `chandler bundle lint`

use std::path::Path;

use crate::bundle::{self, Bundle, lint};
use crate::cli::args::bundle::Lint;
use crate::cli::failure::Failure;
use crate::cli::findings::{self, Finding, Severity};
use crate::cli::session::{Session, wait};
use crate::publish::pull_bundle;

pub(super) fn run(args: &Lint) -> Result<(), Failure> {
    let what = args.folder.display().to_string();
    let tree = super::read(&args.folder)?;
    let bundle = match bundle::load(&tree) {
        Ok(bundle) => bundle,
        // That it is no bundle is the answer, and it is printed like any other.
        Err(error) => return findings::report(&what, vec![not_loaded(&what, &error)], args.output),
    };
    let mut found = lint::lint(&bundle);
    if let Some(previous) = &args.previous {
        let previous = previous_bundle(previous, args)?;
        found.extend(lint::lint_upgrade(&previous, &bundle));
    }
    let found = found.into_iter().map(Finding::from).collect();
    findings::report(&what, found, args.output)
}

fn previous_bundle(previous: &str, args: &Lint) -> Result<Bundle, Failure> {
    let path = Path::new(previous);
    if path.is_dir() {
        let tree = super::read(path)?;
        let loaded = bundle::load(&tree).map_err(|reason| crate::publish::Error::Bundle {
            what: previous.to_owned(),
            reason,
        });
        return Ok(loaded?);
    }
    if previous.starts_with(['.', '/']) {
        let error = anyhow::anyhow!("{previous} is not a folder");
        return Err(Failure::outside(error).hint("name a folder or an image"));
    }
    let location = previous.parse()?;
    let session = Session::new(&args.registry)?;
    let pulled = wait(async {
        let pulled = pull_bundle(&location, &session.options, &session.store);
        Ok(pulled.await?)
    })?;
    Ok(pulled.bundle)
}

fn not_loaded(what: &str, error: &bundle::Error) -> Finding {
    Finding {
        severity: Severity::Error,
        rule: "bundle".to_owned(),
        place: what.to_owned(),
        path: String::new(),
        message: error.to_string(),
        advice: String::new(),
    }
}
