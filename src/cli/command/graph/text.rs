//! The upgrade graph in lines.

use crate::catalog::graph::{Graph, Leg, Marks};
use crate::cli::printer;

/// A line for each bundle, the newest first, and below it what it can be upgraded to, with an arrow before
/// what it will be upgraded to; then what there is to say.
pub(super) fn text(graph: &Graph, said: &[String]) -> String {
    let heads = graph.heads();
    let mut lines = Vec::new();
    let nodes: Vec<_> = graph.nodes().collect();
    for node in nodes.into_iter().rev() {
        let channels: Vec<&str> = node.channels.iter().map(String::as_str).collect();
        let place = if channels.is_empty() {
            "not listed".to_owned()
        } else {
            channels.join(", ")
        };
        let is_head = heads.contains(&node.name.as_str());
        let head = if is_head { ", head" } else { "" };
        let is_installed = graph.is_installed(&node.name);
        let installed = if is_installed { ", installed" } else { "" };
        lines.push(format!("{} ({place}{head}{installed})", node.name));
        lines.extend(ways_on(graph, &node.name));
    }
    if !said.is_empty() {
        lines.push(String::new());
        lines.extend_from_slice(said);
    }
    let shown: Vec<_> = lines.iter().map(|line| printer::visible(line)).collect();
    shown.join("\n") + "\n"
}

fn ways_on(graph: &Graph, from: &str) -> Vec<String> {
    let way = graph.marks().way.iter();
    let mut way: Vec<&Leg> = way.filter(|leg| leg.from == from).collect();
    let steps = graph.upgrades(from).into_iter();
    let mut lines: Vec<String> = steps
        .map(|step| {
            let goes = |leg: &&Leg| leg.to == step.to && step.channels.contains(&leg.channel);
            let at = way.iter().position(goes);
            // Of several reasons only the first is needed.
            let mark = if at.map(|at| way.remove(at)).is_some() {
                "→"
            } else {
                " "
            };
            format!("{mark} {} {}", step.kind.words(), step.to)
        })
        .collect();
    let others = way.into_iter();
    lines.extend(others.map(|leg| format!("→ {} {}", Marks::ELSEWHERE, leg.to)));
    lines
}
