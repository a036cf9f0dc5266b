//! `chandler catalog add`

use std::path::Path;

use serde_json::json;

use crate::bundle;
use crate::catalog::fbc::Entry;
use crate::cli::args::catalog::Add;
use crate::cli::args::output::Output;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::{Session, wait};
use crate::oci::Location;
use crate::publish::{self, Added, NewBundle, Placement, Progress as _, add, pull_bundle};

pub(super) fn run(args: &Add) -> Result<(), Failure> {
    if !args.folder.is_dir() {
        let error = anyhow::anyhow!("{} is not a folder", args.folder.display());
        return Err(Failure::outside(error).hint(
            "begin a catalog with `chandler catalog init PACKAGE --default-channel CHANNEL --output-dir DIR`",
        ));
    }
    let new = new_bundle(args)?;
    let placement = Placement {
        channels: args.channel.clone(),
        replaces: args.replaces.clone(),
        skips: (!args.skips.is_empty()).then(|| {
            let skips = args.skips.iter().filter(|skip| !skip.is_empty());
            skips.cloned().collect()
        }),
        skip_range: args.skip_range.clone(),
    };
    let added = add(&args.folder, &new, &placement)?;
    tell(args, &new, &added)
}

fn new_bundle(args: &Add) -> Result<NewBundle, Failure> {
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    let folder = Path::new(&args.bundle);
    let location: Option<Location> = match folder.is_dir() {
        true => None,
        false if args.bundle.starts_with(['.', '/']) => {
            let error = anyhow::anyhow!("{} is not a folder", args.bundle);
            return Err(Failure::outside(error).hint("name a folder or an image"));
        }
        false => Some(args.bundle.parse()?),
    };
    let image = match (&args.image, &location) {
        (Some(image), _) => image.clone(),
        (None, Some(Location::Registry(_))) => args.bundle.clone(),
        (None, _) => {
            let error = anyhow::anyhow!("the image of the bundle has no name yet");
            return Err(Failure::usage(error)
                .hint("say with `--image REFERENCE` where the bundle will be, and push it there"));
        }
    };
    let bundle = match location {
        None => {
            let tree = crate::cli::command::bundle::read(folder)?;
            bundle::load(&tree).map_err(|reason| publish::Error::Bundle {
                what: args.bundle.clone(),
                reason,
            })?
        }
        Some(location) => {
            session.bars.begins(&format!("pulling {location}"));
            let pulled = wait(async {
                let pulled = pull_bundle(&location, &session.options, &session.store);
                Ok(pulled.await?)
            })?;
            pulled.bundle
        }
    };
    let blob = renderer.blob(&args.bundle, &bundle, &image)?.bundle;
    Ok(NewBundle::new(&bundle, blob))
}

fn tell(args: &Add, new: &NewBundle, added: &Added) -> Result<(), Failure> {
    let name = &new.blob.name;
    if args.output != Output::Text {
        let said = json!({
            "bundle": name,
            "package": new.blob.package,
            "entries": added.entries,
            "files": added.files,
        });
        return printer::structured(&said, args.output);
    }
    if added.files.is_empty() {
        printer::say(&format!("`{name}` is already there"));
        return Ok(());
    }
    let mut text = String::new();
    for (channel, entry) in &added.entries {
        text.push_str(&format_entry(channel, entry));
    }
    printer::data(&text)
}

fn format_entry(channel: &str, entry: &Entry) -> String {
    let mut parts = vec![format!("{} in channel {channel}", entry.name)];
    if !entry.replaces.is_empty() {
        parts.push(format!("replaces {}", entry.replaces));
    }
    if !entry.skips.is_empty() {
        parts.push(format!("skips {}", entry.skips.join(" ")));
    }
    if !entry.skip_range.is_empty() {
        parts.push(format!("reached from {}", entry.skip_range));
    }
    parts.join(", ") + "\n"
}
