//! `chandler graph` over several catalogs, with what is installed, and of what is needed.

use rstest::rstest;
use serde_json::{Value, json};

use crate::command_line::Shell;
use crate::command_plan::{csv, documents, shell, subscription};

const BOTH: &str = "--catalog hub=hub --catalog extra=extra";

#[test]
fn a_package_is_found_in_whichever_catalog_has_it() {
    let shell = shell();
    let drawn = shell.done(&format!("graph badger {BOTH} -o json"));
    let drawn: Value = serde_json::from_str(&drawn).unwrap();
    assert_eq!(drawn["heads"], json!(["badger.v3.0.0"]));
    let said = shell.run(&format!("graph shovel {BOTH} -o json"));
    let drawn: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(drawn["heads"], json!(["shovel.v1.0.0"]));
    assert!(
        said.err.contains("warning: several catalogs have"),
        "{}",
        said.err
    );
}

#[test]
fn text_has_a_line_for_each_version_and_each_way_on() {
    let drawn = shell().done("graph gopher --catalog hub --channel stable -o text");
    assert!(
        drawn.starts_with("gopher.v2.0.0 (stable, head)\n"),
        "{drawn}"
    );
    assert!(
        drawn.contains("gopher.v1.2.0 (stable)\n  replaced by gopher.v2.0.0\n"),
        "{drawn}"
    );
    assert!(
        drawn.contains("gopher.v1.0.5 (not listed)\n  skipped by gopher.v2.0.0\n"),
        "{drawn}"
    );
}

#[test]
fn dependencies_tell_who_needs_what() {
    let shell = shell();
    let text = shell.done("graph gopher --catalog hub --dependencies -o text");
    assert_eq!(
        text,
        "Subscription gopher\n\
         └─ gopher 2.0.0\n   \
            └─ shovel 1.0.0, for the API Shovel (tools.example.com/v1)\n"
    );
    let drawn = shell.done("graph gopher --catalog hub --dependencies -o json");
    let drawn: Value = serde_json::from_str(&drawn).unwrap();
    let expected = json!([
        {"from": "gopher.v2.0.0", "to": "shovel.v1.0.0", "needs": ["the API Shovel (tools.example.com/v1)"]},
        {"from": "subscription/gopher", "to": "gopher.v2.0.0", "needs": []},
    ]);
    assert_eq!(drawn["edges"], expected);
    let dot = shell.done("graph gopher --catalog hub --dependencies");
    assert!(dot.starts_with("digraph \"gopher\" {\n"), "{dot}");
    assert!(
        dot.contains(
            r#""gopher.v2.0.0" -> "shovel.v1.0.0" [label="the API Shovel (tools.example.com/v1)"]"#
        ),
        "{dot}"
    );
    let mermaid = shell.done("graph gopher --catalog hub --dependencies -o mermaid");
    assert!(
        mermaid.contains("n2 -->|\"the API Shovel (tools.example.com/v1)\"| n1"),
        "{mermaid}"
    );
}

#[test]
fn what_cannot_be_installed_has_no_dependencies_to_draw() {
    let said = shell().fails(1, "graph gofer --catalog hub --dependencies");
    assert!(said.contains("gofer"), "{said}");
}

/// A shell in which a version of gopher is installed for a Subscription.
fn with_gopher(version: &str, spec: Value) -> Shell {
    let shell = shell();
    let name = format!("gopher.v{version}");
    shell.write(
        "subs.yaml",
        &documents(&[subscription("gopher", spec, &name)]),
    );
    let installed = csv("gopher", version, "Succeeded");
    shell.write("csvs.yaml", &documents(&[installed]));
    shell
}

const INSTALLED: &str = "--catalog hub --subscriptions subs.yaml --installed csvs.yaml";

#[test]
fn what_is_installed_and_the_way_that_it_goes_are_seen() {
    let shell = with_gopher("1.0.0", json!({"channel": "stable"}));
    let drawn = shell.done(&format!("graph gopher {INSTALLED} -o text"));
    assert_eq!(
        drawn,
        "gopher.v2.1.0 (edge, head)\n\
         gopher.v2.0.0 (edge, stable)\n  \
           replaced by gopher.v2.1.0\n\
         gopher.v1.2.0 (stable)\n\
         → replaced by gopher.v2.0.0\n\
         gopher.v1.1.0 (stable)\n\
         → replaced by gopher.v1.2.0\n\
         gopher.v1.0.0 (stable, installed)\n\
         → replaced by gopher.v1.1.0\n\
         gopher.v1.0.5 (not listed)\n  \
           skipped by gopher.v2.0.0\n\
         \n\
         Subscription gopher goes to gopher.v1.1.0 next, and in 3 steps to gopher.v2.0.0, the newest \
         of channel stable of olm/hub\n"
    );
    let said = shell.run(&format!("graph gopher {INSTALLED} -o json"));
    assert!(
        said.err.contains("goes to gopher.v1.1.0 next"),
        "{}",
        said.err
    );
    let drawn: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(drawn["installed"], json!(["gopher.v1.0.0"]));
    assert_eq!(
        drawn["way"][0],
        json!({"from": "gopher.v1.0.0", "to": "gopher.v1.1.0", "channel": "stable"})
    );
    assert_eq!(drawn["way"].as_array().unwrap().len(), 3);
    let dot = shell.done(&format!("graph gopher {INSTALLED}"));
    assert!(
        dot.contains(r#"[label="gopher.v1.0.0\ninstalled" style=filled]"#),
        "{dot}"
    );
    assert_eq!(dot.matches("penwidth=3").count(), 3, "{dot}");
    let mermaid = shell.done(&format!("graph gopher {INSTALLED} -o mermaid"));
    assert!(
        mermaid.contains("gopher.v1.0.0<br>installed\"]:::installed"),
        "{mermaid}"
    );
    assert_eq!(mermaid.matches("==>").count(), 3, "{mermaid}");
}

#[rstest]
#[case::the_newest(
    "2.0.0",
    json!({"channel": "stable"}),
    "",
    "Subscription gopher stays with gopher.v2.0.0, the newest of channel stable"
)]
#[case::skipped(
    "1.0.5",
    json!({"channel": "stable"}),
    "gopher.v1.0.5 (not listed, installed)\n→ skipped by gopher.v2.0.0",
    "goes to gopher.v2.0.0 next, the newest of channel stable of olm/hub"
)]
#[case::not_in_the_catalog(
    "0.9.0",
    json!({"channel": "stable"}),
    "gopher.v0.9.0 (not listed, installed)\n→ in the skipRange of gopher.v1.2.0",
    "goes to gopher.v1.2.0 next, and in 2 steps to gopher.v2.0.0"
)]
#[case::in_no_range(
    "3.0.0",
    json!({"channel": "stable"}),
    "gopher.v3.0.0 (not listed, installed)\n",
    "Subscription gopher stays with gopher.v3.0.0\n"
)]
#[case::held_to_a_version(
    "1.0.0",
    json!({"channel": "stable", "version": "<1.2"}),
    "gopher.v1.1.0 (stable)\n  replaced by gopher.v1.2.0",
    "Subscription gopher goes to gopher.v1.1.0 next, in channel stable of olm/hub\n"
)]
#[case::back(
    "1.2.0",
    json!({"channel": "stable", "version": "1.1.0"}),
    "gopher.v1.2.0 (stable, installed)\n  replaced by gopher.v2.0.0\n→ goes to gopher.v1.1.0\n",
    "Subscription gopher goes to gopher.v1.1.0 next"
)]
#[case::held_back(
    "2.0.0",
    json!({"channel": "edge"}),
    "gopher.v2.0.0 (edge, stable, installed)\n  replaced by gopher.v2.1.0",
    "gopher.v2.1.0 waits: "
)]
fn the_way_ends_where_the_subscription_does(
    #[case] version: &str,
    #[case] spec: Value,
    #[case] line: &str,
    #[case] said: &str,
) {
    let shell = with_gopher(version, spec);
    let drawn = shell.done(&format!("graph gopher {INSTALLED} -o text"));
    assert!(drawn.contains(line), "{drawn}");
    assert!(drawn.contains(said), "{drawn}");
    for output in ["dot", "mermaid", "yaml"] {
        let drawn = shell.done(&format!("graph gopher {INSTALLED} -o {output}"));
        assert!(drawn.contains("installed"), "{drawn}");
    }
}

#[test]
fn without_a_subscription_it_is_the_way_that_one_would_go() {
    let shell = with_gopher("1.2.0", json!({}));
    let line = "graph gopher --catalog hub --installed csvs.yaml -o text";
    let drawn = shell.done(line);
    assert!(
        drawn.contains("gopher.v1.2.0 (stable, installed)\n→ "),
        "{drawn}"
    );
    let said = "a Subscription would go to gopher.v2.0.0 next";
    assert!(drawn.contains(said), "{drawn}");
    // Of one channel, the way is the one within it.
    let followed = shell.done(&format!("graph gopher {INSTALLED} --channel edge -o text"));
    let said = "in channel edge Subscription gopher would stay with gopher.v1.2.0\n";
    assert!(followed.contains(said), "{followed}");
    let drawn = shell.done(&format!("{line} --channel edge"));
    assert!(
        drawn.contains("gopher.v1.2.0 (not listed, installed)\n"),
        "{drawn}"
    );
    assert!(
        drawn.contains("a Subscription would stay with gopher.v1.2.0\n"),
        "{drawn}"
    );
}

#[rstest]
#[case("dot")]
#[case("mermaid")]
#[case("json")]
#[case("yaml")]
#[case("text")]
fn where_nothing_is_installed_the_graph_is_that_of_the_catalog(#[case] output: &str) {
    let shell = shell();
    shell.write(
        "subs.yaml",
        &documents(&[subscription("gopher", json!({}), "")]),
    );
    let badger = csv("badger", "3.0.0", "Succeeded");
    shell.write("csvs.yaml", &documents(&[badger]));
    for channel in ["", "--channel stable"] {
        let line = format!("graph gopher --catalog hub -o {output} {channel}");
        let alone = shell.done(&line);
        let said = shell.run(&format!(
            "{line} --subscriptions subs.yaml --installed csvs.yaml"
        ));
        assert_eq!(said.out, alone, "{}", said.err);
        assert_eq!(said.err, "");
    }
}

#[test]
fn of_several_catalogs_it_is_the_one_that_the_subscription_follows() {
    let shell = shell();
    let mut shovel = subscription("shovel", json!({"source": "hub"}), "shovel.v1.0.0");
    let installed = csv("shovel", "1.0.0", "Succeeded");
    shell.write("csvs.yaml", &documents(&[installed]));
    let drawn = |subscription: &Value| {
        shell.write("subs.yaml", &documents(std::slice::from_ref(subscription)));
        let files = "--subscriptions subs.yaml --installed csvs.yaml";
        shell.run(&format!("graph shovel {BOTH} {files} -o text"))
    };
    let said = drawn(&shovel);
    assert!(
        said.out
            .starts_with("shovel.v1.0.0 (stable, head, installed)\n"),
        "{}",
        said.out
    );
    assert_eq!(said.err, "");
    // One that names none takes any, and is told which one this is.
    shovel["spec"] = json!({"name": "shovel"});
    let said = drawn(&shovel);
    assert!(
        said.out
            .starts_with("shovel.v1.0.0 (stable, head, installed)\n"),
        "{}",
        said.out
    );
    assert!(
        said.err
            .contains("warning: several catalogs have package `shovel`; this is that of "),
        "{}",
        said.err
    );
}

#[test]
fn a_package_that_nobody_has_or_that_is_broken_says_what_to_do() {
    let shell = with_gopher("1.0.0", json!({}));
    let said = shell.fails(1, &format!("graph gofer {INSTALLED}"));
    assert!(said.contains("olm/hub has no package `gofer`"), "{said}");
    assert!(said.contains("hint: there are `gopher`"), "{said}");
    let said = shell.fails(1, &format!("graph gopher {INSTALLED} --channel stabel"));
    assert!(said.contains("has no channel `stabel`"), "{said}");
    assert!(said.contains("hint: there are `stable`"), "{said}");
    let file = INSTALLED.replace("hub", "hub/catalog.yaml");
    let said = shell.fails(3, &format!("graph gopher {file}"));
    assert!(
        said.contains("hint: name the folder that it is in"),
        "{said}"
    );
    let blobs = [
        json!({"schema": "olm.package", "name": "mole", "defaultChannel": "stable"}),
        json!({"schema": "olm.channel", "package": "mole", "name": "stable",
               "entries": [{"name": "mole.v1.0.0"}, {"name": "mole.v2.0.0"}]}),
    ];
    shell.write("hub/mole.yaml", &documents(&blobs));
    let said = shell.fails(1, &format!("graph mole {INSTALLED}"));
    assert!(
        said.contains("package `mole` of catalog olm/hub is broken"),
        "{said}"
    );
    assert!(
        said.contains("hint: `chandler graph mole --catalog SOURCE` alone"),
        "{said}"
    );
    shell.done("graph mole --catalog hub");
}

#[rstest]
#[case("graph gopher")]
#[case("graph gopher --dependencies")]
fn without_a_cluster_it_says_that_catalogs_can_be_named(#[case] command: &str) {
    let said = shell().fails(3, &format!("{command} --kubeconfig none.yaml"));
    assert!(
        said.contains("hint: ") && said.contains("--catalog SOURCE"),
        "{said}"
    );
}

/// A CSV that says what its bundle says.
fn as_installed(package: &str, version: &str, properties: &Value) -> Value {
    let mut all =
        vec![json!({"type": "olm.package", "value": {"packageName": package, "version": version}})];
    all.extend(properties.as_array().unwrap().iter().cloned());
    let mut csv = csv(package, version, "Succeeded");
    let properties = json!({"properties": all}).to_string();
    csv["metadata"]["annotations"] = json!({"operatorframework.io/properties": properties});
    csv
}

#[test]
fn of_what_is_needed_that_which_is_there_is_marked() {
    let shovel = json!({"group": "tools.example.com", "version": "v1", "kind": "Shovel"});
    let provides = json!([{"type": "olm.gvk", "value": shovel}]);
    let requires = json!([{"type": "olm.gvk.required", "value": shovel}]);
    let there = as_installed("shovel", "1.0.0", &provides);
    // To be upgraded: what it needs then is there.
    let shell = with_gopher("1.2.0", json!({}));
    let old = as_installed("gopher", "1.2.0", &json!([]));
    shell.write("csvs.yaml", &documents(&[old, there.clone()]));
    let line = format!("graph gopher {INSTALLED} --dependencies");
    assert_eq!(
        shell.done(&format!("{line} -o text")),
        "Subscription gopher\n\
         └─ gopher 2.0.0 (in place of gopher.v1.2.0)\n   \
            └─ shovel 1.0.0 (installed), for the API Shovel (tools.example.com/v1)\n"
    );
    // As new as it gets: all of it is there.
    let shell = with_gopher("2.0.0", json!({}));
    let new = as_installed("gopher", "2.0.0", &requires);
    shell.write("csvs.yaml", &documents(&[new.clone(), there]));
    assert_eq!(
        shell.done(&format!("{line} -o text")),
        "Subscription gopher\n\
         └─ gopher 2.0.0 (installed)\n   \
            └─ shovel 1.0.0 (installed), for the API Shovel (tools.example.com/v1)\n"
    );
    let drawn = shell.done(&format!("{line} -o json"));
    let drawn: Value = serde_json::from_str(&drawn).unwrap();
    let nodes = drawn["nodes"].as_array().unwrap();
    let marked: Vec<&Value> = nodes
        .iter()
        .filter(|node| node["installed"] == true)
        .collect();
    assert_eq!(marked.len(), 2, "{drawn:#}");
    let dot = shell.done(&line);
    assert!(
        dot.contains(r#""shovel.v1.0.0" [label="shovel 1.0.0\ninstalled" style=filled]"#),
        "{dot}"
    );
    let mermaid = shell.done(&format!("{line} -o mermaid"));
    assert!(
        mermaid.contains("[\"shovel 1.0.0<br>installed\"]:::installed"),
        "{mermaid}"
    );
    // What is missing comes with the operator that has been there without it.
    shell.write("csvs.yaml", &documents(&[new]));
    assert_eq!(
        shell.done(&format!("{line} -o text")),
        "Subscription gopher\n\
         └─ gopher 2.0.0 (installed)\n   \
            └─ shovel 1.0.0, for the API Shovel (tools.example.com/v1)\n"
    );
}

#[test]
fn what_others_subscribe_to_is_drawn_only_as_far_as_it_is_needed() {
    let shell = shell();
    let others = [
        subscription("gopher", json!({}), ""),
        subscription("badger", json!({"source": "extra"}), ""),
    ];
    shell.write("subs.yaml", &documents(&others));
    let line = format!("graph shovel {BOTH} --subscriptions subs.yaml --dependencies -o json");
    let drawn: Value = serde_json::from_str(&shell.done(&line)).unwrap();
    let ids: Vec<&Value> = drawn["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["id"])
        .collect();
    assert_eq!(ids.len(), 2, "{drawn:#}");
    assert_eq!(ids[0], "subscription/shovel");
    assert_eq!(drawn["edges"].as_array().unwrap().len(), 1, "{drawn:#}");
}
