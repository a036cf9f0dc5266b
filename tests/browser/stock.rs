//! A catalog to look at, made on the spot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::wares::{Channel, Operator, blobs, channel, stable};

const GROUP: &str = "harbour.example.com";
/// So many small operators, so that there is something to page through.
pub(crate) const TOOLS: usize = 60;
/// So many versions of one operator, so that its graph is folded.
pub(crate) const LONG: usize = 120;

/// The blobs of a catalog with operators of all kinds.
pub(crate) fn usual() -> Vec<Value> {
    let mut channels = gopher();
    channels.push(stable([about(
        Operator::new(GROUP, "burrow", "0.4.0")
            .needs("gopher", ">=1.1.0")
            .requires("Lantern"),
        "Burrow",
        "Digs for others",
        "Storage",
        "Basic Install",
        "Tunnel Works",
    )]));
    channels.push(stable([about(
        Operator::new(GROUP, "chart-room", "3.1.0").owns("Lantern"),
        "Chart Room",
        "Maps of everything",
        "Monitoring",
        "Auto Pilot",
        "Harbour Office",
    )]));
    channels.push(stable([about(
        Operator::new(GROUP, "old-mole", "0.1.0"),
        "Old Mole",
        "What the gopher replaced",
        "Database",
        "Basic Install",
        "Tunnel Works",
    )]));
    channels.push(stable((1..=LONG).map(|at| {
        let operator = Operator::new(GROUP, "long-voyage", &format!("1.{at}.0"));
        let operator = if at > 1 {
            operator.replaces(&format!("1.{}.0", at - 1))
        } else {
            operator
        };
        about(
            operator,
            "Long Voyage",
            "Sails on and on",
            "Networking",
            "Seamless Upgrades",
            "Harbour Office",
        )
    })));
    channels.extend((0..TOOLS).map(|at| {
        stable([about(
            Operator::new(GROUP, &format!("tool-{at:02}"), "1.0.0"),
            &format!("Tool {at:02}"),
            "A small tool for a small job",
            "Developer Tools",
            "Basic Install",
            "Tool Shed",
        )])
    }));
    let mut all = blobs(&channels, &[]);
    for bundle in all
        .iter_mut()
        .filter(|blob| blob["schema"] == "olm.bundle" && blob["package"] == "gopher")
    {
        let image = bundle["name"]
            .as_str()
            .unwrap_or_default()
            .replace("gopher.", "example.com/gopher:");
        bundle["relatedImages"] = json!([{"name": "gopher", "image": image}]);
    }
    put_icon(&mut all, "gopher", "image/svg+xml", ICON);
    all.push(json!({
        "schema": "olm.deprecations", "package": "old-mole",
        "entries": [{"reference": {"schema": "olm.package"}, "message": "old-mole sleeps for ever: use gopher"}],
    }));
    all.push(json!({
        "schema": "olm.deprecations", "package": "gopher",
        "entries": [
            {"reference": {"schema": "olm.bundle", "name": "gopher.v1.1.0"}, "message": "1.1.0 bites: use 1.2.0"},
            {"reference": {"schema": "olm.channel", "name": "alpha"}, "message": "alpha ends soon: follow stable"},
        ],
    }));
    all
}

/// A gopher, in two channels, with all that the page of an operator can show.
fn gopher() -> Vec<Channel> {
    let version = |version: &str| {
        let operator = Operator::new(GROUP, "gopher", version)
            .owns("Gopher")
            .with(crd(version))
            .may(
                &json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}),
            );
        let examples = json!([{
            "apiVersion": format!("{GROUP}/v1"), "kind": "Gopher",
            "metadata": {"name": "digger"}, "spec": {"size": 3},
        }]);
        let changes = json!({
            "metadata": {"annotations": {"alm-examples": examples.to_string(), "repository": "https://example.com/gopher"}},
            "spec": {
                "description": "# What it does\n\nThe gopher **digs**.\n\n| depth | time |\n|---|---|\n| 1 m | 1 h |\n",
                "links": [{"name": "Handbook", "url": "https://example.com/handbook"}],
                "maintainers": [{"name": "The Keepers", "email": "keepers@example.com"}],
                "keywords": ["dig", "tunnel"],
                "minKubeVersion": "1.25.0",
            },
        });
        let operator = if version >= "1.2.0" {
            operator.may_everywhere(
                &json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}),
            )
        } else {
            operator
        };
        about_with(
            operator,
            changes,
            "Gopher",
            "Digs holes wherever you like",
            "Developer Tools",
            "Deep Insights",
            "Gopher Works",
        )
    };
    let one = version("1.0.0");
    let two = version("1.1.0").replaces("1.0.0");
    let three = version("1.2.0").replaces("1.1.0").skips("1.0.0");
    let four = version("2.0.0-beta.1").replaces("1.2.0");
    vec![
        stable([one, two, three.clone()]),
        channel("alpha", [three, four]),
    ]
}

fn crd(version: &str) -> Value {
    let mut fields = json!({
        "size": {"type": "integer", "minimum": 1, "description": "How large the hole is", "default": 1},
        "where": {"type": "object", "description": "Where it digs", "properties": {
            "garden": {"type": "string", "enum": ["front", "back"]},
        }},
    });
    if version >= "1.2.0" {
        fields["colour"] = json!({"type": "string", "description": "The colour of its fur"});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gophers.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Gopher", "plural": "gophers", "singular": "gopher", "shortNames": ["go"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": fields},
                }}},
            }],
        },
    })
}

fn about(
    operator: Operator,
    name: &str,
    words: &str,
    category: &str,
    level: &str,
    provider: &str,
) -> Operator {
    about_with(
        operator,
        json!({"metadata": {"annotations": {}}, "spec": {}}),
        name,
        words,
        category,
        level,
        provider,
    )
}

fn about_with(
    operator: Operator,
    mut changes: Value,
    name: &str,
    words: &str,
    category: &str,
    level: &str,
    provider: &str,
) -> Operator {
    let annotations = &mut changes["metadata"]["annotations"];
    annotations["description"] = json!(words);
    annotations["categories"] = json!(category);
    annotations["capabilities"] = json!(level);
    annotations["createdAt"] = json!("2026-05-04T00:00:00Z");
    changes["spec"]["displayName"] = json!(name);
    changes["spec"]["provider"] = json!({"name": provider, "url": "https://example.com"});
    if changes["spec"]["description"].is_null() {
        changes["spec"]["description"] = json!(format!("{words}."));
    }
    operator.csv_with(changes)
}

/// Gives a package a picture.
pub(crate) fn put_icon(blobs: &mut [Value], package: &str, kind: &str, picture: &str) {
    let own = blobs
        .iter_mut()
        .find(|blob| blob["schema"] == "olm.package" && blob["name"] == package);
    if let Some(own) = own {
        own["icon"] = json!({"base64data": STANDARD.encode(picture), "mediatype": kind});
    }
}

const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><circle cx="5" cy="5" r="5" fill="#7a5"/></svg>"##;
