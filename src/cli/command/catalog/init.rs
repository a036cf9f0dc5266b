//! `chandler catalog init`

use super::render::print;
use crate::catalog::fbc::Meta;
use crate::cli::args::catalog::Init;
use crate::cli::args::output::Stream;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::publish;

pub(super) fn run(args: &Init) -> Result<(), Failure> {
    let icon = args.icon.as_deref().map(publish::init::icon).transpose()?;
    let description = args.description.as_deref().map(fs_err::read_to_string);
    let description = description.transpose().map_err(publish::Error::Io)?;
    let package = publish::init::package(
        &args.package,
        &args.default_channel,
        &description.unwrap_or_default(),
        icon,
    )?;
    let text = print(
        std::iter::once(Meta::Package(package)).collect(),
        args.output,
    )?;
    let Some(folder) = &args.output_dir else {
        return printer::data(&text);
    };
    let extension = match args.output {
        Stream::Json => "json",
        Stream::Yaml => "yaml",
    };
    let path = publish::init::write_package(folder, &args.package, extension, &text)?;
    printer::data(&format!("{}\n", path.display()))?;
    printer::say(&format!(
        "add bundles with `chandler catalog add {} BUNDLE --channel {}`",
        folder.display(),
        args.default_channel
    ));
    Ok(())
}
