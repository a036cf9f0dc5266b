//! What of a long history is shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::server::hub::views::{UpgradeGraph, UpgradeNode};

/// A history up to this long is shown whole.
const WHOLE: usize = 40;
/// So many of the newest and oldest are always shown.
const NEWEST: usize = 18;
const OLDEST: usize = 3;
/// A fold hides at least so many: it takes a line itself.
const WORTH_IT: usize = 3;

/// A line of the drawing.
#[derive(Debug)]
pub(super) enum Line<'a> {
    Version(&'a UpgradeNode),
    /// Versions that are not shown.
    Fold(Vec<&'a UpgradeNode>),
}

impl Line<'_> {
    pub(super) fn hidden(&self) -> usize {
        match self {
            Self::Version(_) => 0,
            Self::Fold(nodes) => nodes.len(),
        }
    }
}

/// The lines, the newest version first. The newest and the oldest are shown, heads, what is installed,
/// what is chosen and its neighbours.
pub(super) fn folded<'a>(
    graph: &'a UpgradeGraph,
    heads: &BTreeMap<String, Vec<String>>,
    chosen: &str,
    unfold: bool,
) -> Vec<Line<'a>> {
    let nodes: Vec<&UpgradeNode> = graph.nodes.iter().rev().collect();
    if unfold || nodes.len() <= WHOLE {
        return nodes.into_iter().map(Line::Version).collect();
    }
    let mut shown: BTreeSet<usize> = (0..NEWEST)
        .chain(nodes.len() - OLDEST..nodes.len())
        .collect();
    for (at, node) in nodes.iter().enumerate() {
        if node.name == chosen || node.is_installed {
            shown.extend(at.saturating_sub(1)..=(at + 1).min(nodes.len() - 1));
        } else if heads.contains_key(&node.name) {
            shown.insert(at);
        }
    }
    let mut lines = Vec::new();
    let mut hidden = Vec::new();
    for (at, node) in nodes.into_iter().enumerate() {
        if shown.contains(&at) {
            close(&mut lines, &mut hidden);
            lines.push(Line::Version(node));
        } else {
            hidden.push(node);
        }
    }
    close(&mut lines, &mut hidden);
    lines
}

fn close<'a>(lines: &mut Vec<Line<'a>>, hidden: &mut Vec<&'a UpgradeNode>) {
    let hidden = std::mem::take(hidden);
    if hidden.len() < WORTH_IT {
        lines.extend(hidden.into_iter().map(Line::Version));
    } else {
        lines.push(Line::Fold(hidden));
    }
}
