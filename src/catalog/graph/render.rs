//! The graph as a picture and as JSON. The same graph always gives the same text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;
use serde_json::{Value, json};

use super::{Graph, Kind};

impl Graph {
    /// The graph for Graphviz, one box for each channel.
    pub fn to_dot(&self) -> String {
        let mut out = format!(
            "digraph {} {{\n  rankdir=LR\n  node [shape=box]\n",
            quoted(&self.package)
        );
        let heads = self.heads();
        for (number, (channel, part)) in self.by_channel().into_iter().enumerate() {
            let _ = writeln!(out, "  subgraph cluster_{number} {{");
            let _ = writeln!(out, "    label={}", quoted(channel));
            for index in &part.nodes {
                let node = &self.bundles[*index];
                let mut style = String::new();
                if !node.channels.contains(channel) {
                    style.push_str(" style=dashed");
                }
                if heads.contains(&node.name.as_str()) {
                    style.push_str(" penwidth=2");
                }
                let id = quoted(&format!("{channel}/{}", node.name));
                let label = quoted(&self.label(*index, "\n"));
                let _ = writeln!(out, "    {id} [label={label}{style}]");
            }
            for (from, to, kind) in &part.edges {
                let from = quoted(&format!("{channel}/{}", self.name(*from)));
                let to = quoted(&format!("{channel}/{}", self.name(*to)));
                let style = match kind {
                    Kind::Replaces => "solid",
                    Kind::Skips => "dashed",
                    Kind::SkipRange => "dotted",
                };
                let words = kind.words();
                let _ = writeln!(out, "    {from} -> {to} [style={style} label={words:?}]");
            }
            out.push_str("  }\n");
        }
        out.push_str("}\n");
        out
    }

    /// The graph for Mermaid, one box for each channel.
    pub fn to_mermaid(&self) -> String {
        let mut out = String::from("graph LR\n");
        let escaped = |text: &str| text.replace('"', "#quot;").replace(char::is_control, " ");
        for (number, (channel, part)) in self.by_channel().into_iter().enumerate() {
            let _ = writeln!(out, "  subgraph c{number}[\"{}\"]", escaped(channel));
            let id = |index: &NodeIndex| format!("c{number}n{}", index.index());
            for index in &part.nodes {
                let label = escaped(&self.label(*index, "<br>"));
                let (open, close) = if self.bundles[*index].channels.contains(channel) {
                    ("[\"", "\"]")
                } else {
                    ("([\"", "\"])")
                };
                let _ = writeln!(out, "    {}{open}{label}{close}", id(index));
            }
            for (from, to, kind) in &part.edges {
                let arrow = match kind {
                    Kind::Replaces => "-->",
                    Kind::Skips | Kind::SkipRange => "-.->",
                };
                let _ = writeln!(out, "    {} {arrow}|{}| {}", id(from), kind.words(), id(to));
            }
            out.push_str("  end\n");
        }
        out
    }

    /// The graph for programs.
    pub fn to_json(&self) -> Value {
        let heads = self.heads();
        let nodes: Vec<Value> = self
            .nodes()
            .map(|node| {
                json!({
                    "name": node.name,
                    "version": node.version,
                    "channels": node.channels,
                    "head": heads.contains(&node.name.as_str()),
                })
            })
            .collect();
        let mut edges: Vec<_> = self.bundles.edge_references().collect();
        edges.sort_by_key(|edge| (edge.source(), edge.target(), edge.weight().kind));
        let edges: Vec<Value> = edges
            .into_iter()
            .map(|edge| {
                json!({
                    "from": self.name(edge.source()),
                    "to": self.name(edge.target()),
                    "kind": edge.weight().kind,
                    "channels": edge.weight().channels,
                })
            })
            .collect();
        json!({
            "package": self.package,
            "heads": heads,
            "cycles": self.cycles(),
            "stuck": self.stuck(),
            "nodes": nodes,
            "edges": edges,
        })
    }

    fn by_channel(&self) -> BTreeMap<&str, Part> {
        let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
        for index in self.bundles.node_indices() {
            for channel in &self.bundles[index].channels {
                parts.entry(channel).or_default().nodes.insert(index);
            }
        }
        for edge in self.bundles.edge_references() {
            for channel in &edge.weight().channels {
                let part = parts.entry(channel).or_default();
                // By skip range a bundle of another channel can come over: too many lines to draw.
                let here = part.nodes.contains(&edge.source());
                if edge.weight().kind == Kind::SkipRange && !here {
                    continue;
                }
                part.nodes.insert(edge.source());
                part.edges
                    .insert((edge.source(), edge.target(), edge.weight().kind));
            }
        }
        parts
    }

    fn label(&self, index: NodeIndex, separator: &str) -> String {
        let node = &self.bundles[index];
        match &node.version {
            Some(version) if !node.name.contains(&version.to_string()) => {
                format!("{}{separator}{version}", node.name)
            }
            _ => node.name.clone(),
        }
    }
}

/// What belongs to one channel.
#[derive(Default)]
struct Part {
    nodes: BTreeSet<NodeIndex>,
    edges: BTreeSet<(NodeIndex, NodeIndex, Kind)>,
}

/// A string of DOT, in which only quotes and backslashes are special.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
