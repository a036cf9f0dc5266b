//! The graph as a picture and as JSON. The same graph always gives the same text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;
use serde_json::{Value, json};

use super::{Graph, Kind, Marks};

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
            let id = |index: &NodeIndex| quoted(&format!("{channel}/{}", self.name(*index)));
            for index in &part.nodes {
                let node = &self.bundles[*index];
                let mut styles = Vec::new();
                if !node.channels.contains(channel) {
                    styles.push("dashed");
                }
                if self.is_installed(&node.name) {
                    styles.push("filled");
                }
                let mut style = match styles.as_slice() {
                    [] => String::new(),
                    [one] => format!(" style={one}"),
                    several => format!(" style={}", quoted(&several.join(","))),
                };
                if heads.contains(&node.name.as_str()) {
                    style.push_str(" penwidth=2");
                }
                let label = quoted(&self.label(*index, "\n"));
                let _ = writeln!(out, "    {} [label={label}{style}]", id(index));
            }
            for line in part.lines() {
                let style = match line.kind {
                    Some(Kind::Replaces) => "solid",
                    Some(Kind::Skips) => "dashed",
                    Some(Kind::SkipRange) => "dotted",
                    None => "bold",
                };
                let width = if line.is_on_the_way {
                    " penwidth=3"
                } else {
                    ""
                };
                let (from, to, words) = (id(&line.from), id(&line.to), line.words());
                let _ = writeln!(
                    out,
                    "    {from} -> {to} [style={style} label={words:?}{width}]"
                );
            }
            out.push_str("  }\n");
        }
        for index in self.outside() {
            let (id, label) = (quoted(self.name(index)), self.label(index, "\n"));
            let label = quoted(&label);
            let _ = writeln!(out, "  {id} [label={label} style=\"dashed,filled\"]");
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
                let class = if self.is_installed(self.name(*index)) {
                    ":::installed"
                } else {
                    ""
                };
                let _ = writeln!(out, "    {}{open}{label}{close}{class}", id(index));
            }
            for line in part.lines() {
                let arrow = match line.kind {
                    _ if line.is_on_the_way => "==>",
                    Some(Kind::Replaces) | None => "-->",
                    Some(Kind::Skips | Kind::SkipRange) => "-.->",
                };
                let (from, to) = (id(&line.from), id(&line.to));
                let _ = writeln!(out, "    {from} {arrow}|{}| {to}", line.words());
            }
            out.push_str("  end\n");
        }
        for index in self.outside() {
            let label = escaped(&self.label(index, "<br>"));
            let _ = writeln!(out, "  n{}([\"{label}\"]):::installed", index.index());
        }
        if !self.marks.is_empty() {
            out.push_str("  classDef installed stroke-width:3px\n");
        }
        out
    }

    /// The graph for programs.
    pub fn to_json(&self) -> Value {
        let heads = self.heads();
        let nodes: Vec<Value> = self
            .nodes()
            .map(|node| {
                let mut told = json!({
                    "name": node.name,
                    "version": node.version,
                    "channels": node.channels,
                    "head": heads.contains(&node.name.as_str()),
                });
                if self.is_installed(&node.name) {
                    told["installed"] = true.into();
                }
                told
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
        let mut told = json!({
            "package": self.package,
            "heads": heads,
            "cycles": self.cycles(),
            "stuck": self.stuck(),
            "nodes": nodes,
            "edges": edges,
        });
        if !self.marks.is_empty() {
            let installed = self.marks.installed.keys();
            told["installed"] = installed.map(String::as_str).collect();
            told["way"] = json!(self.marks.way);
        }
        told
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
                // By skip range a bundle of another channel can come over: too many lines to draw, but
                // for those of what is installed.
                let here = part.nodes.contains(&edge.source())
                    || self.is_installed(self.name(edge.source()));
                if edge.weight().kind == Kind::SkipRange && !here {
                    continue;
                }
                part.nodes.insert(edge.source());
                part.edges
                    .insert((edge.source(), edge.target(), edge.weight().kind));
            }
        }
        for leg in &self.marks.way {
            let ends = self.by_name.get(&leg.from).zip(self.by_name.get(&leg.to));
            if let (Some((&from, &to)), Some(part)) = (ends, parts.get_mut(leg.channel.as_str())) {
                part.nodes.extend([from, to]);
                part.way.insert((from, to));
            }
        }
        parts
    }

    /// What is installed and has no place in any channel.
    fn outside(&self) -> Vec<NodeIndex> {
        if self.marks.is_empty() {
            return Vec::new();
        }
        let parts = self.by_channel();
        let installed = self.marks.installed.keys();
        let installed = installed.filter_map(|name| self.by_name.get(name).copied());
        let is_drawn = |index: &NodeIndex| parts.values().any(|part| part.nodes.contains(index));
        installed.filter(|index| !is_drawn(index)).collect()
    }

    fn label(&self, index: NodeIndex, separator: &str) -> String {
        let node = &self.bundles[index];
        let mut label = node.name.clone();
        if let Some(version) = &node.version
            && !node.name.contains(&version.to_string())
        {
            let _ = write!(label, "{separator}{version}");
        }
        if self.is_installed(&node.name) {
            let _ = write!(label, "{separator}installed");
        }
        label
    }
}

/// What belongs to one channel.
#[derive(Default)]
struct Part {
    nodes: BTreeSet<NodeIndex>,
    edges: BTreeSet<(NodeIndex, NodeIndex, Kind)>,
    /// The upgrades that come.
    way: BTreeSet<(NodeIndex, NodeIndex)>,
}

/// A line between two bundles.
struct Line {
    from: NodeIndex,
    to: NodeIndex,
    /// None if no upgrade leads there and it is gone all the same.
    kind: Option<Kind>,
    is_on_the_way: bool,
}

impl Line {
    fn words(&self) -> &'static str {
        self.kind.map_or(Marks::ELSEWHERE, Kind::words)
    }
}

impl Part {
    /// All lines. Of several between the same bundles the plainest is the one that is gone.
    fn lines(&self) -> Vec<Line> {
        let mut way = self.way.clone();
        let edges = self.edges.iter();
        let mut lines: Vec<Line> = edges
            .map(|&(from, to, kind)| Line {
                from,
                to,
                kind: Some(kind),
                is_on_the_way: way.remove(&(from, to)),
            })
            .collect();
        lines.extend(way.into_iter().map(|(from, to)| Line {
            from,
            to,
            kind: None,
            is_on_the_way: true,
        }));
        lines
    }
}

/// A string of DOT, in which only quotes and backslashes are special.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
