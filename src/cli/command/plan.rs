//! `chandler plan`

use crate::cli::args::output::Output;
use crate::cli::args::plan::Plan as Args;
use crate::cli::failure::Failure;
use crate::cli::situation::Asks;
use crate::cli::{outcome, printer, situation};
use crate::resolver::{Component, resolve};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let situation = situation::read(
        &args.situation,
        args.subscriptions.as_ref(),
        Asks::ForAll,
        &args.registry,
    )?;
    let asked = situation.subscriptions.iter();
    let asked: Vec<&str> = asked
        .map(|subscription| subscription.package.as_str())
        .collect();
    situation.warn_of_broken_packages(&asked);
    let mut resolution = resolve(&situation.request(situation.subscriptions.clone()));
    situation.warn_of_groups(&resolution.components);
    let broken = situation.broken.iter().map(outcome::broken);
    resolution.components.extend(broken);
    resolution
        .components
        .sort_by(|a, b| a.subscriptions().cmp(b.subscriptions()));
    match args.output {
        Output::Text => printer::data(&outcome::plan(&resolution, &situation))?,
        structured => printer::structured(&resolution, structured)?,
    }
    let unsolvable: Vec<&Component> = resolution
        .components
        .iter()
        .filter(|component| matches!(component, Component::Unsolvable(_)))
        .collect();
    if unsolvable.is_empty() {
        return Ok(());
    }
    Err(outcome::refusal(&unsolvable))
}
