//! The graph as a tree of lines, of a bounded size.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use super::{Edge, Node, Picturesque};
use crate::cli::printer;

/// How deep the tree is at most: a line is indented by all that is above it.
const DEEPEST: usize = 50;
/// How many lines it has at most.
const LONGEST: usize = 2_000;

/// A line that is still to be written.
struct Branch<'g> {
    node: &'g Node,
    /// By what it is needed.
    edge: Option<&'g Edge>,
    depth: usize,
    /// What is before it, and before all beside it.
    indent: Rc<str>,
    is_last: bool,
}

impl Branch<'_> {
    /// What is before this line.
    fn turn(&self) -> &'static str {
        match (self.edge, self.is_last) {
            (None, _) => "",
            (Some(_), true) => "└─ ",
            (Some(_), false) => "├─ ",
        }
    }

    /// What is before the lines below it.
    fn below(&self) -> Rc<str> {
        let more = match (self.edge, self.is_last) {
            (None, _) => "",
            (Some(_), true) => "   ",
            (Some(_), false) => "│  ",
        };
        format!("{}{more}", self.indent).into()
    }

    fn needs(&self) -> String {
        match self.edge {
            Some(edge) if !edge.needs.is_empty() => format!(", for {}", edge.needs.join(", ")),
            _ => String::new(),
        }
    }
}

/// A tree from the Subscription; what was shown before is not shown again. Thousands may need each other
/// in a row, and so nothing here calls itself.
pub(super) fn text(graph: &Picturesque<'_>) -> String {
    let nodes: BTreeMap<&str, &Node> = graph.nodes.iter().map(|it| (&*it.id, it)).collect();
    let mut needed: BTreeMap<&str, Vec<(&Edge, &Node)>> = BTreeMap::new();
    for edge in &graph.edges {
        if let Some(node) = nodes.get(edge.to.as_str()) {
            needed.entry(&edge.from).or_default().push((edge, node));
        }
    }
    let mut out = String::new();
    let mut shown = BTreeSet::new();
    let mut lines = 0;
    let mut open: Vec<Branch<'_>> = Vec::new();
    open.extend(graph.nodes.first().map(|root| Branch {
        node: root,
        edge: None,
        depth: 0,
        indent: "".into(),
        is_last: true,
    }));
    while let Some(branch) = open.pop() {
        if lines == LONGEST {
            out.push_str("…\n");
            break;
        }
        lines += 1;
        let below = needed.get(branch.node.id.as_str());
        let below = below.map(Vec::as_slice).unwrap_or_default();
        let is_new = shown.insert(branch.node.id.as_str());
        let again = if is_new || below.is_empty() {
            ""
        } else {
            " (see above)"
        };
        let mark = match branch.node.mark().as_str() {
            "" => String::new(),
            mark => format!(" ({mark})"),
        };
        let line = format!("{}{mark}{}{again}", branch.node.label(), branch.needs());
        let (indent, turn) = (&branch.indent, branch.turn());
        let _ = writeln!(out, "{indent}{turn}{}", printer::visible(&line));
        if !is_new || below.is_empty() {
            continue;
        }
        let indent = branch.below();
        if branch.depth == DEEPEST {
            let _ = writeln!(out, "{indent}└─ …");
            continue;
        }
        let last = below.len() - 1;
        let branches = below.iter().enumerate().rev();
        open.extend(branches.map(|(at, &(edge, node))| Branch {
            node,
            edge: Some(edge),
            depth: branch.depth + 1,
            indent: indent.clone(),
            is_last: at == last,
        }));
    }
    // Whole, the tree has a line for each edge, and one for the Subscription.
    let whole = 1 + needed.values().map(Vec::len).sum::<usize>();
    if whole > lines {
        let _ = writeln!(
            out,
            "{} more lines are left out: there are at most {LONGEST}, and {DEEPEST} steps from the \
             Subscription; `-o json` has all of it",
            whole - lines
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn node(id: &str, kind: Kind) -> Node {
        Node {
            id: id.to_owned(),
            kind,
            name: id.to_owned(),
            package: id.to_owned(),
            version: "1.0.0".to_owned(),
            channel: String::new(),
            catalog: String::new(),
            replaces: String::new(),
            installed: false,
        }
    }

    fn edge(from: &str, to: &str) -> Edge {
        Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            needs: vec![format!("package {to}")],
        }
    }

    fn graph(names: &[String], edges: Vec<Edge>) -> Picturesque<'static> {
        let root = node("s", Kind::Subscription);
        let bundles = names.iter().map(|name| node(name, Kind::Bundle));
        Picturesque {
            package: "p0",
            nodes: std::iter::once(root).chain(bundles).collect(),
            edges,
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("p{number:05}")).collect()
    }

    #[test]
    fn thousands_that_need_each_other_in_a_row_are_told_in_part() {
        let names = names(10_000);
        let mut edges = vec![edge("s", &names[0])];
        edges.extend(names.windows(2).map(|two| edge(&two[0], &two[1])));
        let text = text(&graph(&names, edges));
        assert!(text.len() < 20_000, "{} bytes", text.len());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 53, "{text}");
        assert!(lines[50].contains("p00049 1.0.0"), "{text}");
        assert!(lines[51].ends_with("└─ …"), "{text}");
        assert!(
            lines[52].starts_with("9950 more lines are left out: "),
            "{text}"
        );
    }

    #[test]
    fn thousands_side_by_side_are_told_in_part() {
        let names = names(10_000);
        let edges = names.iter().map(|name| edge("s", name)).collect();
        let text = text(&graph(&names, edges));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2_002);
        assert_eq!(lines[2_000], "…");
        assert!(lines[2_001].starts_with("8001 more lines"), "{text}");
    }

    #[test]
    fn what_was_shown_is_not_shown_again_and_what_is_whole_says_nothing_more() {
        let names = names(3);
        let all = [
            ("s", 0),
            ("p00000", 1),
            ("p00000", 2),
            ("p00001", 2),
            ("p00002", 0),
        ];
        let edges = all.map(|(from, to)| edge(from, &names[to])).into();
        assert_eq!(
            text(&graph(&names, edges)),
            "Subscription s\n\
             └─ p00000 1.0.0, for package p00000\n   \
                ├─ p00001 1.0.0, for package p00001\n   \
                │  └─ p00002 1.0.0, for package p00002\n   \
                │     └─ p00000 1.0.0, for package p00000 (see above)\n   \
                └─ p00002 1.0.0, for package p00002 (see above)\n"
        );
    }
}
