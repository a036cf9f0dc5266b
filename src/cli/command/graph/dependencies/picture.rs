//! The graph for Graphviz and for Mermaid.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Kind, Node, Picturesque};

pub(super) fn dot(graph: &Picturesque<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    // The line breaks are DOT's own.
    let lines = |lines: &[String]| quoted(&lines.join("\\n")).replace("\\\\n", "\\n");
    let mut out = format!(
        "digraph {} {{\n  rankdir=LR\n  node [shape=box]\n",
        quoted(graph.package)
    );
    for node in &graph.nodes {
        let style = match node.kind {
            Kind::Subscription => " style=rounded",
            Kind::Bundle if node.installed => " style=filled",
            Kind::Bundle => "",
        };
        let (id, label) = (quoted(&node.id), lines(&label(node)));
        let _ = writeln!(out, "  {id} [label={label}{style}]");
    }
    for edge in &graph.edges {
        let label = match edge.needs.as_slice() {
            [] => String::new(),
            needs => format!(" [label={}]", lines(needs)),
        };
        let (from, to) = (quoted(&edge.from), quoted(&edge.to));
        let _ = writeln!(out, "  {from} -> {to}{label}");
    }
    out.push_str("}\n");
    out
}

pub(super) fn mermaid(graph: &Picturesque<'_>) -> String {
    let escaped = |text: &str| text.replace('"', "#quot;").replace(char::is_control, " ");
    let mut out = String::from("graph LR\n");
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        numbers.insert(&node.id, number);
        let (open, close) = match node.kind {
            Kind::Subscription => ("([\"", "\"])"),
            Kind::Bundle if node.installed => ("[\"", "\"]:::installed"),
            Kind::Bundle => ("[\"", "\"]"),
        };
        let label = escaped(&label(node).join("<br>"));
        let _ = writeln!(out, "  n{number}{open}{label}{close}");
    }
    for edge in &graph.edges {
        let ends = numbers
            .get(edge.from.as_str())
            .zip(numbers.get(edge.to.as_str()));
        let Some((from, to)) = ends else {
            continue;
        };
        let label = match edge.needs.as_slice() {
            [] => String::new(),
            needs => format!("|\"{}\"|", escaped(&needs.join("<br>"))),
        };
        let _ = writeln!(out, "  n{from} -->{label} n{to}");
    }
    if graph.nodes.iter().any(|node| node.installed) {
        out.push_str("  classDef installed stroke-width:3px\n");
    }
    out
}

/// What it is, and what is to be said about it.
fn label(node: &Node) -> Vec<String> {
    let lines = [node.label(), node.mark()];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}
