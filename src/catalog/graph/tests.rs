//! Small graphs with known answers, and arbitrary ones that must have any.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::catalog::fbc::{Bundle, Entry, Rule, validate};

fn entry(name: &str, replaces: &str, skips: &[&str], skip_range: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        replaces: replaces.to_owned(),
        skips: skips.iter().map(|&skip| skip.to_owned()).collect(),
        skip_range: skip_range.to_owned(),
    }
}

fn channel(name: &str, entries: Vec<Entry>) -> Channel {
    Channel {
        package: "p".to_owned(),
        name: name.to_owned(),
        entries,
        properties: Vec::new(),
    }
}

/// `v1.2.0` has the version 1.2.0.
fn versions(names: &[&str]) -> BTreeMap<String, Version> {
    let version = |name: &str| Version::parse(name.trim_start_matches('v')).unwrap();
    names
        .iter()
        .map(|&name| (name.to_owned(), version(name)))
        .collect()
}

/// v1.3.0 → v1.2.0 → v1.1.0 → v1.0.0, which is gone; v1.2.1 is skipped, v2.0.0 takes all of 1.
fn sample() -> (Channel, BTreeMap<String, Version>) {
    let entries = vec![
        entry("v2.0.0", "v1.3.0", &[], ">=1.2.0 <2.0.0"),
        entry("v1.3.0", "v1.2.0", &["v1.2.1"], ""),
        entry("v1.2.1", "v1.1.0", &[], ""),
        entry("v1.2.0", "v1.1.0", &[], ""),
        entry("v1.1.0", "v1.0.0", &[], ""),
    ];
    let versions = versions(&["v2.0.0", "v1.3.0", "v1.2.1", "v1.2.0", "v1.1.0"]);
    (channel("stable", entries), versions)
}

fn targets(steps: &[Step]) -> Vec<(&str, Kind)> {
    steps
        .iter()
        .map(|step| (step.to.as_str(), step.kind))
        .collect()
}

#[test]
fn heads_tails_and_names_that_are_not_listed_are_known() {
    let (channel, versions) = sample();
    let graph = Graph::of_channel(&channel, &versions);
    assert_eq!(graph.heads(), ["v2.0.0"]);
    assert_eq!(graph.tails(), ["v1.1.0"]);
    assert!(!graph.node("v1.0.0").unwrap().is_listed());
    assert!(graph.cycles().is_empty() && graph.stuck().is_empty());
    let names: Vec<&str> = graph.nodes().map(|node| node.name.as_str()).collect();
    let expected = ["v1.0.0", "v1.1.0", "v1.2.0", "v1.2.1", "v1.3.0", "v2.0.0"];
    assert_eq!(names, expected);
}

#[test]
fn the_shortest_way_uses_skip_ranges() {
    let (channel, versions) = sample();
    let graph = Graph::of_channel(&channel, &versions);
    let way = graph.path_to_head("v1.0.0").unwrap();
    let expected = [
        ("v1.1.0", Kind::Replaces),
        ("v1.2.1", Kind::Replaces),
        ("v2.0.0", Kind::SkipRange),
    ];
    assert_eq!(targets(&way), expected);
    assert_eq!(graph.path_to_head("v2.0.0"), Some(Vec::new()));
    assert_eq!(graph.path_to_head("v9.0.0"), None);
    assert_eq!(graph.shortest_path("v2.0.0", "v1.1.0"), None);
    let upgrades = graph.upgrades("v1.3.0");
    let expected = [("v2.0.0", Kind::Replaces), ("v2.0.0", Kind::SkipRange)];
    assert_eq!(targets(&upgrades), expected);
}

#[test]
fn olm_orders_a_channel_without_what_is_skipped_and_walks_it_step_by_step() {
    let (channel, versions) = sample();
    let expected = ["v2.0.0", "v1.3.0", "v1.2.0", "v1.1.0"];
    assert_eq!(order(&channel).unwrap(), expected);
    let steps = walk(&channel, &versions, "v1.0.0").unwrap();
    let expected = [
        ("v1.1.0", Kind::Replaces),
        ("v1.2.0", Kind::Replaces),
        ("v2.0.0", Kind::SkipRange),
    ];
    assert_eq!(targets(&steps), expected);
    let steps = walk(&channel, &versions, "v1.2.1").unwrap();
    assert_eq!(targets(&steps), [("v2.0.0", Kind::SkipRange)]);
}

#[test]
fn a_range_that_contains_its_own_bundle_ends_the_walk() {
    let entries = vec![
        entry("v1.1.0", "v1.0.0", &[], ">=0.0.1"),
        entry("v1.0.0", "", &[], ""),
    ];
    let channel = channel("stable", entries);
    let versions = versions(&["v1.1.0", "v1.0.0"]);
    assert!(walk(&channel, &versions, "v1.1.0").unwrap().is_empty());
    assert_eq!(walk(&channel, &versions, "v1.0.0").unwrap().len(), 1);
}

#[test]
fn a_channel_without_order_says_why() {
    let none = channel(
        "c",
        vec![entry("a", "b", &[], ""), entry("b", "a", &[], "")],
    );
    assert!(matches!(order(&none), Err(OrderError::NoHead { .. })));
    let circle = channel(
        "c",
        vec![
            entry("a", "b", &[], ""),
            entry("b", "c", &[], ""),
            entry("c", "b", &[], ""),
        ],
    );
    assert!(matches!(order(&circle), Err(OrderError::Cycle { head, .. }) if head == "a"));
    let several = channel(
        "c",
        vec![
            entry("a", "b", &[], ""),
            entry("b", "", &[], ""),
            entry("d", "", &[], ""),
        ],
    );
    let error = order(&several).unwrap_err().to_string();
    assert!(
        error.contains("2 chains of replacements, a…b, d"),
        "{error}"
    );
    assert_eq!(
        order(&channel("c", Vec::new())).unwrap(),
        Vec::<&str>::new()
    );
}

#[test]
fn a_circle_is_found_and_named() {
    let circle = channel(
        "c",
        vec![
            entry("a", "b", &[], ""),
            entry("b", "c", &[], ""),
            entry("c", "b", &[], ""),
            entry("d", "d", &[], ""),
        ],
    );
    let graph = Graph::of_channel(&circle, &BTreeMap::new());
    assert_eq!(graph.cycles(), [vec!["b", "c"], vec!["d"]]);
    assert_eq!(graph.stuck(), ["d"]);
    assert_eq!(Chain::of(&circle).cycle, ["b", "c", "b"]);
}

#[test]
fn a_package_is_drawn_channel_by_channel_and_always_the_same() {
    let (stable, versions) = sample();
    let fast = channel("fast \"1\"", vec![entry("v2.0.0", "", &["v1.3.0"], "")]);
    let bundle = |name: &String| Bundle {
        name: name.clone(),
        package: "p".to_owned(),
        properties: vec![crate::bundle::Property {
            kind: "olm.package".to_owned(),
            value: serde_json::json!({"packageName": "p", "version": &name[1..]}),
        }],
        ..Bundle::default()
    };
    let mut blobs = PackageBlobs {
        channels: vec![stable, fast],
        bundles: versions.keys().map(bundle).collect(),
        ..PackageBlobs::default()
    };
    let graph = Graph::of_package("p", &blobs);
    let (dot, mermaid, json) = (graph.to_dot(), graph.to_mermaid(), graph.to_json());
    assert!(dot.contains("label=\"fast \\\"1\\\"\""), "{dot}");
    assert!(
        dot.contains("\"stable/v1.2.0\" -> \"stable/v1.3.0\" [style=solid label=\"replaced by\"]"),
        "{dot}"
    );
    assert!(
        mermaid.contains("subgraph c0[\"fast #quot;1#quot;\"]"),
        "{mermaid}"
    );
    assert!(mermaid.contains("-.->|in the skipRange of|"), "{mermaid}");
    assert_eq!(json["heads"], serde_json::json!(["v2.0.0"]));
    assert_eq!(json["nodes"].as_array().unwrap().len(), 6);
    let skips = serde_json::json!({
        "from": "v1.3.0", "to": "v2.0.0", "kind": "skips", "channels": ["fast \"1\""],
    });
    assert!(
        json["edges"].as_array().unwrap().contains(&skips),
        "{json:#}"
    );
    blobs.channels.reverse();
    blobs.bundles.reverse();
    let again = Graph::of_package("p", &blobs);
    assert_eq!(
        (again.to_dot(), again.to_mermaid(), again.to_json()),
        (dot, mermaid, json)
    );
}

#[test]
fn what_is_installed_is_marked_and_so_is_the_way_on() {
    let (channel, versions) = sample();
    let leg = |from: &str, to: &str| Leg {
        from: from.to_owned(),
        to: to.to_owned(),
        channel: "stable".to_owned(),
    };
    let marks = Marks {
        installed: BTreeMap::from([("v1.2.0".to_owned(), Some(Version::new(1, 2, 0)))]),
        way: vec![leg("v1.2.0", "v1.3.0"), leg("v1.3.0", "v2.0.0")],
    };
    let graph = Graph::marked("p", std::slice::from_ref(&channel), &versions, marks);
    let (dot, mermaid, json) = (graph.to_dot(), graph.to_mermaid(), graph.to_json());
    for line in [
        r#""stable/v1.2.0" [label="v1.2.0\ninstalled" style=filled]"#,
        r#""stable/v1.2.0" -> "stable/v1.3.0" [style=solid label="replaced by" penwidth=3]"#,
        r#""stable/v1.3.0" -> "stable/v2.0.0" [style=solid label="replaced by" penwidth=3]"#,
        // One way is enough, and the plainest is gone.
        r#""stable/v1.3.0" -> "stable/v2.0.0" [style=dotted label="in the skipRange of"]"#,
    ] {
        assert!(dot.contains(line), "{dot}");
    }
    assert!(
        mermaid.contains("[\"v1.2.0<br>installed\"]:::installed"),
        "{mermaid}"
    );
    assert_eq!(mermaid.matches("==>|replaced by|").count(), 2, "{mermaid}");
    assert!(mermaid.contains("classDef installed "), "{mermaid}");
    assert_eq!(json["installed"], serde_json::json!(["v1.2.0"]));
    let way = serde_json::json!({"from": "v1.2.0", "to": "v1.3.0", "channel": "stable"});
    assert_eq!(json["way"][0], way);
    let marked = |node: &&serde_json::Value| node["installed"] == true;
    let nodes = json["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().filter(marked).count(), 1, "{json:#}");
}

#[test]
fn what_the_catalog_does_not_know_is_in_the_graph_if_it_is_installed() {
    let (channel, versions) = sample();
    let marked = |name: &str, version: Version| {
        let marks = Marks {
            installed: BTreeMap::from([(name.to_owned(), Some(version))]),
            way: Vec::new(),
        };
        Graph::marked("p", std::slice::from_ref(&channel), &versions, marks)
    };
    let inside = marked("v1.2.7", Version::new(1, 2, 7));
    let upgrades = inside.upgrades("v1.2.7");
    assert_eq!(targets(&upgrades), [("v2.0.0", Kind::SkipRange)]);
    assert!(
        inside
            .to_dot()
            .contains(r#""stable/v1.2.7" [label="v1.2.7\ninstalled" style="dashed,filled"]"#),
        "{}",
        inside.to_dot()
    );
    // What no way leads from has no place in a channel, and is drawn beside them.
    let outside = marked("v9.0.0", Version::new(9, 0, 0));
    assert_eq!(outside.heads(), ["v2.0.0"]);
    assert!(
        outside
            .to_dot()
            .contains(r#"  "v9.0.0" [label="v9.0.0\ninstalled" style="dashed,filled"]"#),
        "{}",
        outside.to_dot()
    );
    assert!(
        outside
            .to_mermaid()
            .contains("([\"v9.0.0<br>installed\"]):::installed"),
        "{}",
        outside.to_mermaid()
    );
}

#[test]
fn a_way_that_no_upgrade_leads_is_drawn_all_the_same() {
    let (channel, versions) = sample();
    let marks = Marks {
        installed: BTreeMap::from([("v1.3.0".to_owned(), None)]),
        way: vec![Leg {
            from: "v1.3.0".to_owned(),
            to: "v1.1.0".to_owned(),
            channel: "stable".to_owned(),
        }],
    };
    let graph = Graph::marked("p", std::slice::from_ref(&channel), &versions, marks);
    let line = r#""stable/v1.3.0" -> "stable/v1.1.0" [style=bold label="goes to" penwidth=3]"#;
    assert!(graph.to_dot().contains(line), "{}", graph.to_dot());
    let mermaid = graph.to_mermaid();
    assert!(mermaid.contains("==>|goes to|"), "{mermaid}");
}

fn arbitrary_channel() -> impl Strategy<Value = Channel> {
    let name = || "v[0-4]\\.[0-2]\\.0";
    let entry = (
        name(),
        prop::option::of(name()),
        prop::collection::vec(name(), 0..3),
        prop_oneof![
            Just(""),
            Just(">=1.0.0 <3.0.0"),
            Just(">=0.0.1"),
            Just("nonsense")
        ],
    );
    prop::collection::vec(entry, 0..12).prop_map(|entries| {
        let entries = entries
            .into_iter()
            .map(|(name, replaces, skips, skip_range)| Entry {
                name,
                replaces: replaces.unwrap_or_default(),
                skips,
                skip_range: skip_range.to_owned(),
            })
            .collect();
        channel("c", entries)
    })
}

fn names_of(channel: &Channel) -> BTreeSet<&str> {
    channel
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect()
}

/// Whether what is replaced leads back to where one was, also over entries that are skipped.
fn leads_round(channel: &Channel, head: &str) -> bool {
    let mut visited = BTreeSet::new();
    let mut at = Some(head);
    while let Some(name) = at {
        if !visited.insert(name) {
            return true;
        }
        let entry = channel.entries.iter().find(|entry| entry.name == name);
        at = entry.map(|entry| entry.replaces.as_str());
    }
    false
}

proptest! {
    #[test]
    fn every_question_has_an_answer_whatever_the_edges(channel in arbitrary_channel()) {
        let names = names_of(&channel);
        let versions = versions(&names.iter().copied().collect::<Vec<_>>());
        let graph = Graph::of_channel(&channel, &versions);
        let heads = graph.heads();
        for name in &names {
            let way = graph.path_to_head(name);
            prop_assert_eq!(way.is_none(), graph.stuck().contains(name));
            if let Some(steps) = way {
                let end = steps.last().map_or(*name, |step| step.to.as_str());
                prop_assert!(heads.contains(&end));
                prop_assert!(steps.len() < names.len());
            }
            if let Ok(steps) = walk(&channel, &versions, name) {
                prop_assert!(steps.len() <= names.len());
            }
        }
        prop_assert_eq!(graph.to_dot(), graph.clone().to_dot());
        let _ = (graph.to_mermaid(), graph.to_json());
    }

    #[test]
    fn opm_and_olm_and_the_graph_agree_on_heads(channel in arbitrary_channel()) {
        let names = names_of(&channel);
        let unique = names.len() == channel.entries.len();
        prop_assume!(unique);
        let superseded: BTreeSet<&str> = channel
            .entries
            .iter()
            .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]))
            .map(String::as_str)
            .collect();
        let plain: Vec<&str> = names.difference(&superseded).copied().collect();
        let graph = Graph::of_channel(&channel, &BTreeMap::new());
        let mut heads = graph.heads();
        heads.sort_unstable();
        prop_assert_eq!(&heads, &plain);
        prop_assert_eq!(&Chain::of(&channel).heads, &plain);
        let blobs = PackageBlobs { channels: vec![channel.clone()], ..PackageBlobs::default() };
        let told = validate("p", &blobs).iter().any(|problem| problem.rule == Rule::OneHead);
        prop_assert_eq!(told, plain.len() != 1 && !names.is_empty());
        if plain.len() == 1 && !leads_round(&channel, plain[0]) {
            prop_assert_eq!(order(&channel).ok().and_then(|order| order.first().copied()), Some(plain[0]));
        }
    }
}

/// Deeper than the stack of a thread allows to recurse.
const MANY: usize = 50_000;

fn row(length: usize) -> Vec<Entry> {
    let name = |number: usize| format!("v{number}.0.0");
    let replaces = |number: usize| match number {
        0 => String::new(),
        _ => name(number - 1),
    };
    let one = |number: usize| entry(&name(number), &replaces(number), &[], "");
    (0..length).map(one).collect()
}

#[test]
fn a_channel_of_very_many_entries_in_a_row_is_walked() {
    let channel = channel("stable", row(MANY));
    let graph = Graph::of_channel(&channel, &BTreeMap::new());
    assert!(graph.cycles().is_empty());
    assert!(graph.stuck().is_empty());
    assert_eq!(graph.heads().len(), 1);
    assert_eq!(order(&channel).unwrap().len(), MANY);
    assert_eq!(Chain::of(&channel).entries.len(), MANY);
}

#[test]
fn a_circle_of_very_many_entries_is_found() {
    let mut entries = row(MANY);
    entries[0].replaces = format!("v{}.0.0", MANY - 1);
    let channel = channel("stable", entries);
    let graph = Graph::of_channel(&channel, &BTreeMap::new());
    assert_eq!(graph.cycles().len(), 1);
    assert_eq!(Chain::of(&channel).cycle.len(), MANY);
    assert!(matches!(order(&channel), Err(OrderError::NoHead { .. })));
}

#[test]
fn of_very_many_chains_a_few_are_named() {
    let mut entries = row(2_000);
    let heads = (0..2_000).map(|number| entry(&format!("head-{number}"), "v1999.0.0", &[], ""));
    entries.extend(heads);
    let problem = order(&channel("stable", entries)).unwrap_err().to_string();
    assert!(problem.contains("has 2000 chains"), "{problem}");
    assert!(problem.contains("and 1992 more"), "{problem}");
    assert!(problem.len() < 1_000, "{problem}");
}

#[test]
fn entries_that_all_skip_each_other_have_a_bounded_graph() {
    let mut entries = row(2_000);
    for entry in &mut entries {
        ">=0.0.0".clone_into(&mut entry.skip_range);
    }
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let channel = channel("stable", entries);
    let graph = Graph::of_channel(&channel, &versions(&names));
    assert_eq!(graph.bundles.edge_count(), 1_999 + MOST_IN_RANGES);
}
