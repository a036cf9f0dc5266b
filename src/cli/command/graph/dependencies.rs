//! What would be installed with a package, and who needs what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::args::catalog::Graph as Args;
use crate::cli::args::output::{Output, Picture};
use crate::cli::args::plan::Situation as SituationArgs;
use crate::cli::command::explain::{component_for, met_needs, subscription};
use crate::cli::failure::Failure;
use crate::cli::situation::{self, Asks, Situation};
use crate::cli::{outcome, printer};
use crate::resolver::{Component, Solution, Subscription};

#[derive(Serialize)]
struct Picturesque<'a> {
    package: &'a str,
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

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let asked = SituationArgs {
        catalog: args.catalog.clone(),
        ..SituationArgs::default()
    };
    let situation = situation::read(&asked, None, Asks::ForOne, &args.registry)?;
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
    let graph = graph(&situation, &wanted, &solution);
    match args.output {
        Picture::Dot => printer::data(&dot(&graph)),
        Picture::Mermaid => printer::data(&mermaid(&graph)),
        Picture::Json => printer::structured(&graph, Output::Json),
        Picture::Yaml => printer::structured(&graph, Output::Yaml),
        Picture::Text => printer::data(&text(&graph)),
    }
}

fn graph<'a>(
    situation: &Situation,
    wanted: &'a Subscription,
    solution: &Solution,
) -> Picturesque<'a> {
    let asks = |name: &str| format!("subscription/{name}");
    let mut nodes = vec![Node {
        id: asks(&wanted.name),
        kind: Kind::Subscription,
        name: wanted.name.clone(),
        package: wanted.package.clone(),
        version: String::new(),
        channel: wanted.channel.clone(),
        catalog: String::new(),
    }];
    let mut edges = Vec::new();
    for install in &solution.install {
        nodes.push(Node {
            id: install.bundle.clone(),
            kind: Kind::Bundle,
            name: install.bundle.clone(),
            package: install.package.clone(),
            version: install.version.clone(),
            channel: install.channel.clone(),
            catalog: outcome::place(&install.catalog_namespace, &install.catalog),
        });
        for name in &install.requested_by {
            let mut needers = solution.install.iter();
            let needer = needers.find(|other| other.bundle == *name);
            edges.push(Edge {
                from: needer.map_or_else(|| asks(name), |needer| needer.bundle.clone()),
                to: install.bundle.clone(),
                needs: needer.map_or_else(Vec::new, |needer| met_needs(situation, needer, install)),
            });
        }
    }
    edges.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    Picturesque {
        package: &wanted.package,
        nodes,
        edges,
    }
}

fn label(node: &Node) -> String {
    match node.kind {
        Kind::Subscription => format!("Subscription {}", node.name),
        Kind::Bundle => format!("{} {}", node.package, node.version),
    }
}

fn dot(graph: &Picturesque<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = format!(
        "digraph {} {{\n  rankdir=LR\n  node [shape=box]\n",
        quoted(graph.package)
    );
    for node in &graph.nodes {
        let style = match node.kind {
            Kind::Subscription => " style=rounded",
            Kind::Bundle => "",
        };
        let (id, label) = (quoted(&node.id), quoted(&label(node)));
        let _ = writeln!(out, "  {id} [label={label}{style}]");
    }
    for edge in &graph.edges {
        let label = match edge.needs.join("\\n").as_str() {
            "" => String::new(),
            // The line breaks are DOT's own.
            needs => format!(" [label={}]", quoted(needs).replace("\\\\n", "\\n")),
        };
        let _ = writeln!(
            out,
            "  {} -> {}{label}",
            quoted(&edge.from),
            quoted(&edge.to)
        );
    }
    out.push_str("}\n");
    out
}

fn mermaid(graph: &Picturesque<'_>) -> String {
    let escaped = |text: &str| text.replace('"', "#quot;");
    let mut out = String::from("graph LR\n");
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        numbers.insert(&node.id, number);
        let (open, close) = match node.kind {
            Kind::Subscription => ("([\"", "\"])"),
            Kind::Bundle => ("[\"", "\"]"),
        };
        let _ = writeln!(out, "  n{number}{open}{}{close}", escaped(&label(node)));
    }
    for edge in &graph.edges {
        let ends = numbers
            .get(edge.from.as_str())
            .zip(numbers.get(edge.to.as_str()));
        let Some((from, to)) = ends else {
            continue;
        };
        let label = match edge.needs.join("<br>").as_str() {
            "" => String::new(),
            needs => format!("|\"{}\"|", escaped(needs)),
        };
        let _ = writeln!(out, "  n{from} -->{label} n{to}");
    }
    out
}

/// A tree from the Subscription; what was shown before is not shown again.
fn text(graph: &Picturesque<'_>) -> String {
    let mut out = String::new();
    let mut shown = BTreeSet::new();
    if let Some(root) = graph.nodes.first() {
        branch(graph, root, "", "", &mut shown, &mut out);
    }
    out
}

fn branch<'g>(
    graph: &'g Picturesque<'_>,
    node: &'g Node,
    indent: &str,
    needs: &str,
    shown: &mut BTreeSet<&'g str>,
    out: &mut String,
) {
    let is_new = shown.insert(&node.id);
    let edges: Vec<&Edge> = graph
        .edges
        .iter()
        .filter(|edge| edge.from == node.id)
        .collect();
    let again = if is_new || edges.is_empty() {
        ""
    } else {
        " (see above)"
    };
    let line = format!("{}{needs}{again}", label(node));
    let _ = writeln!(out, "{}", printer::visible(&line));
    if !is_new {
        return;
    }
    for (at, edge) in edges.iter().enumerate() {
        let is_last = at + 1 == edges.len();
        let Some(next) = graph.nodes.iter().find(|node| node.id == edge.to) else {
            continue;
        };
        let needs = match edge.needs.join(", ").as_str() {
            "" => String::new(),
            needs => format!(", for {needs}"),
        };
        let (turn, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let _ = write!(out, "{indent}{turn}");
        branch(graph, next, &format!("{indent}{below}"), &needs, shown, out);
    }
}
