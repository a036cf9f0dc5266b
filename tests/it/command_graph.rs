//! `chandler graph` over several catalogs, and of what is needed.

use serde_json::{Value, json};

use crate::command_plan::shell;

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
