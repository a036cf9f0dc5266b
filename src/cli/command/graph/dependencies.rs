//! What would be installed with a package, what of it is there, and who needs what.

mod needs;
mod picture;
mod tree;

use serde::Serialize;

use crate::cli::args::output::{Output, Picture};
use crate::cli::args::plan::Graph as Args;
use crate::cli::command::explain::{component_for, subscription};
use crate::cli::failure::Failure;
use crate::cli::situation::{self, Asks};
use crate::cli::{outcome, printer};
use crate::resolver::{Component, Solution};

#[derive(Serialize)]
struct Picturesque<'a> {
    package: &'a str,
    /// The Subscription comes first.
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Serialize)]
struct Node {
    /// Tells it from all others.
    id: String,
    kind: Kind,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    package: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    channel: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    catalog: String,
    /// What is installed and goes for it.
    #[serde(skip_serializing_if = "String::is_empty")]
    replaces: String,
    /// Whether it is there already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    installed: bool,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Subscription,
    Bundle,
}

#[derive(Serialize)]
struct Edge {
    from: String,
    to: String,
    /// What for, in words; empty for a Subscription.
    needs: Vec<String>,
}

impl Node {
    /// What it is.
    fn label(&self) -> String {
        match self.kind {
            Kind::Subscription => format!("Subscription {}", self.name),
            // Of a CSV nothing more may be known.
            Kind::Bundle if self.package.is_empty() || self.version.is_empty() => self.name.clone(),
            Kind::Bundle => format!("{} {}", self.package, self.version),
        }
    }

    /// What is to be said about it beside what it is; may be empty.
    fn mark(&self) -> String {
        match self.replaces.as_str() {
            _ if self.installed => "installed".to_owned(),
            "" => String::new(),
            replaced => format!("in place of {replaced}"),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let situation = situation::read(
        &args.situation,
        args.subscriptions.as_ref(),
        Asks::ForOne,
        &args.registry,
    )?;
    situation.warn_of_what_is_broken(&args.package);
    let wanted = subscription(&situation, &args.package, args.channel.as_deref());
    let solution = match component_for(&situation, &wanted) {
        Some(Component::Solved(solution)) => solution,
        Some(component @ Component::Unsolvable(_)) => {
            if let Component::Unsolvable(explanation) = &component {
                for line in outcome::unsolvable(explanation).lines() {
                    printer::say(line);
                }
            }
            return Err(outcome::refusal(&[&component]));
        }
        None => Solution::default(),
    };
    let graph = needs::graph(&situation, &wanted, &solution);
    match args.output {
        Picture::Dot => printer::data(&picture::dot(&graph)),
        Picture::Mermaid => printer::data(&picture::mermaid(&graph)),
        Picture::Json => printer::structured(&graph, Output::Json),
        Picture::Yaml => printer::structured(&graph, Output::Yaml),
        Picture::Text => printer::data(&tree::text(&graph)),
    }
}
