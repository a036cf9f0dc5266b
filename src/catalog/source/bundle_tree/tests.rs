//! Channels of made-up versions.

use std::collections::BTreeMap;

use rstest::rstest;

use super::graph::{Graph, Heads, Node, UpdateGraph, of_heads, of_versions};
use crate::version::Version;

/// `version channels [default] [replaces] [skips]`, with `-` for nothing.
fn node(text: &str) -> Node {
    let mut words = text
        .split(' ')
        .chain(std::iter::repeat("-"))
        .map(|word| if word == "-" { "" } else { word });
    let mut next = || words.next().unwrap();
    let version = next();
    let list = |text: &str| -> Vec<String> {
        let words = text.split(',').filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    Node {
        name: format!("g.v{version}"),
        version: Version::parse(version).unwrap(),
        channels: list(next()),
        default_channel: next().to_owned(),
        replaces: next().to_owned(),
        skips: list(next()),
        skip_range: next().to_owned(),
    }
}

fn nodes(texts: &[&str]) -> Vec<Node> {
    texts.iter().map(|text| node(text)).collect()
}

fn graph(texts: &[&str], mode: UpdateGraph) -> Graph {
    let nodes = nodes(texts);
    of_versions(&nodes.iter().collect::<Vec<_>>(), mode)
}

/// `name<replaces (skips)` of each entry of each channel.
fn drawn(graph: &Graph) -> BTreeMap<String, Vec<String>> {
    let entries = |found: &super::graph::Found| {
        let entries = found.entries.iter();
        entries
            .map(|entry| {
                let short = |name: &str| name.trim_start_matches("g.v").to_owned();
                let mut text = short(&entry.name);
                if !entry.replaces.is_empty() {
                    text = format!("{text}<{}", short(&entry.replaces));
                }
                if !entry.skips.is_empty() {
                    let skips: Vec<String> = entry.skips.iter().map(|s| short(s)).collect();
                    text = format!("{text} ({})", skips.join(" "));
                }
                text
            })
            .collect()
    };
    graph
        .channels
        .iter()
        .map(|(name, found)| (name.clone(), entries(found)))
        .collect()
}

#[test]
fn in_replaces_mode_a_channel_is_what_its_highest_version_leads_to() {
    let graph = graph(
        &[
            "1.0.0 alpha",
            "1.1.0 alpha - g.v1.0.0",
            "1.2.0 alpha",
            "2.0.0 beta beta g.v1.1.0 g.v1.2.0,g.v0.9.0",
        ],
        UpdateGraph::Replaces,
    );
    let drawn = drawn(&graph);
    assert_eq!(drawn["alpha"], ["1.2.0"], "1.1.0 is not reached");
    assert_eq!(
        drawn["beta"],
        ["1.0.0", "1.1.0<1.0.0", "1.2.0", "2.0.0<1.1.0 (1.2.0 0.9.0)"],
        "versions come in that do not name the channel"
    );
    assert_eq!(graph.default_channel, "beta");
    assert_eq!(graph.problems, []);
}

#[test]
fn what_is_replaced_and_skipped_at_once_counts_as_replaced() {
    let graph = graph(
        &[
            "1.0.0 alpha",
            "1.1.0 alpha - g.v1.0.0",
            "1.2.0 alpha - g.v1.1.0 g.v1.1.0",
        ],
        UpdateGraph::Replaces,
    );
    assert_eq!(
        drawn(&graph)["alpha"],
        ["1.0.0", "1.1.0<1.0.0", "1.2.0<1.1.0"]
    );
    assert_eq!(graph.problems.len(), 1, "{:?}", graph.problems);
}

#[test]
fn in_semver_mode_each_version_replaces_the_one_before_it() {
    let versions = [
        "1.0.0-rc.1 alpha",
        "1.0.0 alpha,stable - g.v0.1.0",
        "1.1.0 stable",
        "1.2.0 alpha",
    ];
    let graph = graph(&versions, UpdateGraph::Semver);
    let drawn = drawn(&graph);
    assert_eq!(
        drawn["alpha"],
        ["1.0.0-rc.1", "1.0.0<1.0.0-rc.1", "1.2.0<1.0.0"]
    );
    assert_eq!(drawn["stable"], ["1.0.0", "1.1.0<1.0.0"]);
    assert_eq!(
        graph.default_channel, "alpha",
        "the first of the first version"
    );
}

#[test]
fn in_skippatch_mode_the_last_patch_skips_those_before_it() {
    let versions = [
        "1.0.0 a", "1.0.1 a", "1.0.2 a", "1.1.0 a", "2.0.0 a", "2.0.1 a",
    ];
    let graph = graph(&versions, UpdateGraph::SemverSkipPatch);
    assert_eq!(
        drawn(&graph)["a"],
        [
            "1.0.0",
            "1.0.1",
            "1.0.2 (1.0.0 1.0.1)",
            "1.1.0<1.0.2",
            "2.0.0",
            "2.0.1<1.1.0 (2.0.0)",
        ]
    );
}

#[rstest]
#[case::the_highest_that_asks(&["1.0.0 a a", "2.0.0 a,b b", "3.0.0 a"], "b", 0)]
#[case::the_only_one(&["1.0.0 a"], "a", 0)]
#[case::nobody_asks(&["1.0.0 b", "2.0.0 c,a"], "a", 1)]
#[case::asked_for_but_not_there(&["1.0.0 b", "2.0.0 c,a z"], "a", 1)]
#[case::asked_for_but_not_there_and_only_one(&["1.0.0 b z"], "b", 1)]
fn the_default_channel_in_replaces_mode_is(
    #[case] versions: &[&str],
    #[case] expected: &str,
    #[case] problems: usize,
) {
    let graph = graph(versions, UpdateGraph::Replaces);
    assert_eq!(graph.default_channel, expected);
    assert_eq!(graph.problems.len(), problems, "{:?}", graph.problems);
}

#[test]
fn what_is_replaced_but_not_there_ends_the_channel() {
    let versions = ["1.0.0 a", "1.1.0 a - g.v1.0.5"];
    let graph = graph(&versions, UpdateGraph::Replaces);
    assert_eq!(drawn(&graph)["a"], ["1.1.0<1.0.5"]);
    assert_eq!(graph.problems[0].0, "g.v1.1.0");
}

#[test]
fn a_circle_ends_where_it_closes() {
    let versions = ["1.0.0 a - g.v1.1.0", "1.1.0 a - g.v1.0.0"];
    let graph = graph(&versions, UpdateGraph::Replaces);
    assert_eq!(drawn(&graph)["a"], ["1.0.0<1.1.0", "1.1.0<1.0.0"]);
    assert!(graph.problems[0].1.contains("leads back"));
}

#[test]
fn a_package_manifest_names_the_heads() {
    let nodes = nodes(&["1.0.0", "1.1.0 - - g.v1.0.0", "1.2.0 - - g.v1.1.0"]);
    let heads = Heads {
        default_channel: "a".to_owned(),
        channels: BTreeMap::from([
            ("a".to_owned(), "g.v1.1.0".to_owned()),
            ("lost".to_owned(), "g.v9.0.0".to_owned()),
        ]),
    };
    let graph = of_heads(&nodes.iter().collect::<Vec<_>>(), heads);
    assert_eq!(drawn(&graph)["a"], ["1.0.0", "1.1.0<1.0.0"]);
    assert_eq!(graph.channels.len(), 1);
    assert!(graph.problems[0].1.contains("`lost`"));
}

#[rstest]
#[case("", UpdateGraph::Replaces, true)]
#[case("replaces-mode", UpdateGraph::Replaces, true)]
#[case("semver-mode", UpdateGraph::Semver, true)]
#[case("semver-skippatch", UpdateGraph::SemverSkipPatch, true)]
#[case("semver", UpdateGraph::Semver, false)]
#[case("nonsense", UpdateGraph::Replaces, false)]
fn the_word_of_ci_yaml_is_understood(
    #[case] word: &str,
    #[case] mode: UpdateGraph,
    #[case] legal: bool,
) {
    assert_eq!(UpdateGraph::parse(word), (mode, legal));
}
