//! `chandler bundle init`

use std::path::PathBuf;

use serde_json::json;

use crate::cli::args::bundle::Init;
use crate::cli::args::output::Output;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::publish;

pub(super) fn run(args: &Init) -> Result<(), Failure> {
    let tree = publish::init::bundle(&args.name, &args.version)?;
    let folder = args.output_dir.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from(&args.name));
    publish::write_bundle(&tree, &folder)?;
    if args.output != Output::Text {
        let files: Vec<&String> = tree.keys().collect();
        let said = json!({ "folder": folder, "files": files });
        return printer::structured(&said, args.output);
    }
    let folder = folder.display();
    printer::data(&format!("{folder}\n"))?;
    printer::say(&format!(
        "write what is marked with TODO, then check it with `chandler bundle lint {folder}`"
    ));
    Ok(())
}
