use std::collections::{BTreeMap, BTreeSet};

use super::UpgradeDrawing;
use crate::server::hub::views::{UpgradeEdge, UpgradeGraph, UpgradeKind, UpgradeNode};

fn node(version: usize, channels: &[&str]) -> UpgradeNode {
    UpgradeNode {
        name: format!("gopher.v{version}.0.0"),
        version: format!("{version}.0.0"),
        channels: channels.iter().map(ToString::to_string).collect(),
        is_head: false,
        is_deprecated: false,
        is_installed: false,
    }
}

fn edge(from: usize, to: usize, kind: UpgradeKind, channels: &[&str]) -> UpgradeEdge {
    UpgradeEdge {
        from: format!("gopher.v{from}.0.0"),
        to: format!("gopher.v{to}.0.0"),
        kind,
        channels: channels.iter().map(ToString::to_string).collect(),
    }
}

fn graph(nodes: Vec<UpgradeNode>, edges: Vec<UpgradeEdge>) -> UpgradeGraph {
    UpgradeGraph {
        package: "gopher".to_owned(),
        channel: None,
        nodes,
        edges,
        cycles: Vec::new(),
        stuck: Vec::new(),
        is_thinned: false,
    }
}

/// Versions 1 to `length`, each replacing the one before.
fn chain(length: usize, channels: &[&str]) -> UpgradeGraph {
    let nodes = (1..=length)
        .map(|version| node(version, channels))
        .collect();
    let edges = (1..length)
        .map(|version| edge(version, version + 1, UpgradeKind::Replaces, channels))
        .collect();
    graph(nodes, edges)
}

fn drawn(graph: &UpgradeGraph, chosen: &str, unfold: bool) -> UpgradeDrawing {
    UpgradeDrawing::of(graph, &BTreeMap::new(), "stable", chosen, unfold)
}

#[test]
fn the_newest_version_is_on_top_and_a_line_leads_up_to_it() {
    let drawing = drawn(&chain(2, &["stable"]), "", false);
    let texts: Vec<&str> = drawing.rows.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(texts, ["2.0.0", "1.0.0"]);
    assert_eq!(drawing.edges.len(), 1);
    assert_eq!(drawing.edges[0].shape, "M18 46V18");
}

#[test]
fn one_version_alone_has_no_lines() {
    let drawing = drawn(&chain(1, &["stable"]), "", false);
    assert_eq!(drawing.rows.len(), 1);
    assert!(drawing.edges.is_empty());
}

#[test]
fn channels_with_the_same_content_share_a_lane() {
    let drawing = drawn(&chain(3, &["stable", "stable-v1"]), "", false);
    assert_eq!(drawing.lanes.len(), 1);
    assert_eq!(drawing.lanes[0].channels, "stable, stable-v1");
}

#[test]
fn the_default_channel_has_the_first_lane() {
    let mut graph = chain(3, &["stable"]);
    graph.nodes.push(node(4, &["alpha"]));
    let drawing = drawn(&graph, "", false);
    let lanes: Vec<&str> = drawing
        .lanes
        .iter()
        .map(|lane| lane.channels.as_str())
        .collect();
    assert_eq!(lanes, ["stable", "alpha"]);
}

#[test]
fn lanes_that_are_not_beside_each_other_share_a_column() {
    let nodes = (1..=4).map(|version| node(version, &[["v1", "v2", "v3", "v4"][version - 1]]));
    let drawing = drawn(&graph(nodes.collect(), Vec::new()), "", false);
    assert_eq!(drawing.lanes.len(), 4);
    assert!(drawing.rows.iter().all(|row| row.dots[0].x == 18));
}

#[test]
fn a_number_stands_near_its_dots_where_many_lanes_have_ended() {
    let lanes = ["stable", "b", "c", "d", "e", "f"];
    let nodes = (1..=10).map(|version| {
        // Each channel begins a version later than the one before.
        let begun = version.min(lanes.len());
        node(version, &lanes[..begun])
    });
    let drawing = drawn(&graph(nodes.collect(), Vec::new()), "", false);
    let gaps = drawing
        .rows
        .iter()
        .map(|row| row.text_x - row.dots.iter().map(|dot| dot.x).max().unwrap());
    assert_eq!(gaps.max(), Some(26));
}

#[test]
fn ten_lanes_have_ten_colours() {
    let names: Vec<String> = (0..10).map(|at| format!("c{at}")).collect();
    let nodes = (1..=10).map(|version| {
        let begun: Vec<&str> = names[..version].iter().map(String::as_str).collect();
        node(version, &begun)
    });
    let drawing = drawn(&graph(nodes.collect(), Vec::new()), "", false);
    let colours: BTreeSet<usize> = drawing.lanes.iter().map(|lane| lane.colour).collect();
    assert_eq!(colours.len(), 10);
}

#[test]
fn what_is_skipped_is_passed_at_the_side() {
    let mut graph = chain(3, &["stable"]);
    graph
        .edges
        .push(edge(1, 3, UpgradeKind::Skips, &["stable"]));
    let drawing = drawn(&graph, "", false);
    let skips = drawing
        .edges
        .iter()
        .filter(|edge| edge.class.contains("skips"));
    let skips: Vec<&str> = skips.map(|edge| edge.shape.as_str()).collect();
    assert_eq!(
        skips,
        ["M18 18Q29 18 29 26", "M18 74Q29 74 29 66", "M29 66V26"]
    );
}

#[test]
fn a_hundred_skips_become_one_line_with_curves() {
    let mut graph = chain(30, &["stable"]);
    let skips = (1..30).flat_map(|to| (0..to).map(move |from| (from + 1, to + 1)));
    graph
        .edges
        .extend(skips.map(|(from, to)| edge(from, to, UpgradeKind::SkipRange, &["stable"])));
    let drawing = drawn(&graph, "", false);
    assert!(drawing.edges.len() < 100, "{}", drawing.edges.len());
}

#[test]
fn a_long_history_is_folded_and_unfolded() {
    let graph = chain(200, &["stable"]);
    let short = drawn(&graph, "", false);
    assert_eq!(short.folded, 179);
    assert_eq!(short.rows.len(), 22);
    let whole = drawn(&graph, "", true);
    assert_eq!(whole.rows.len(), 200);
    assert_eq!(whole.folded, 0);
}

#[test]
fn the_chosen_version_is_never_folded_away() {
    let drawing = drawn(&chain(200, &["stable"]), "gopher.v100.0.0", false);
    let chosen: Vec<&str> = drawing
        .rows
        .iter()
        .filter(|row| row.class.contains("chosen"))
        .map(|row| row.text.as_str())
        .collect();
    assert_eq!(chosen, ["100.0.0"]);
}

#[test]
fn a_version_that_is_only_named_cannot_be_chosen() {
    let graph = graph(
        vec![node(1, &[]), node(2, &["stable"])],
        vec![edge(1, 2, UpgradeKind::Replaces, &["stable"])],
    );
    let drawing = drawn(&graph, "", false);
    assert_eq!(drawing.rows[1].version, "");
    assert!(drawing.rows[1].class.contains("gone"));
    assert_eq!(drawing.edges.len(), 1);
}
