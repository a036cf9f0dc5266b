//! One change of each kind, in data and in words.

use super::*;
use crate::catalog::fbc::read;

const BEFORE: &str = "
schema: olm.package
name: buoy
defaultChannel: alpha
description: Floats.
---
schema: olm.channel
package: buoy
name: alpha
entries: [{name: buoy.v1.1.0, replaces: buoy.v1.0.0, skips: [a, b]}, {name: buoy.v1.0.0}]
---
schema: olm.channel
package: buoy
name: old
entries: [{name: buoy.v1.0.0}]
---
schema: olm.bundle
package: buoy
name: buoy.v1.0.0
image: registry.example.com/buoy:1.0.0
properties: [{type: olm.package, value: {packageName: buoy, version: 1.0.0}}, {type: x, value: 1}]
---
schema: olm.bundle
package: buoy
name: buoy.v1.1.0
image: registry.example.com/buoy:1.1.0
properties: [{type: olm.package, value: {packageName: buoy, version: 1.1.0}}]
---
schema: olm.deprecations
package: buoy
entries:
- {reference: {schema: olm.bundle, name: buoy.v1.0.0}, message: Use 1.1.0.}
- {reference: {schema: olm.channel, name: old}, message: Use alpha.}
---
schema: olm.package
name: raft
defaultChannel: stable
";

fn catalog(text: &str) -> Catalog {
    let blobs = read("catalog", text.as_bytes());
    blobs.map(|blob| blob.unwrap().meta).collect()
}

#[test]
fn a_catalog_is_not_different_from_itself_in_another_order() {
    let before = catalog(BEFORE);
    let mut documents: Vec<&str> = BEFORE.split("---\n").collect();
    documents.reverse();
    let after = documents.join("\n---\n").replace("[a, b]", "[b, a]");
    let difference = diff(&before, &catalog(&after));
    assert!(difference.is_empty(), "{difference}");
    assert_eq!(difference.to_string(), "");
}

#[test]
fn every_kind_of_change_is_told() {
    let after = BEFORE
        .replace("defaultChannel: alpha", "defaultChannel: beta")
        .replace("description: Floats.", "description: Floats well.")
        .replace("name: old", "name: beta")
        .replace(
            "entries: [{name: buoy.v1.1.0, replaces: buoy.v1.0.0, skips: [a, b]}, {name: buoy.v1.0.0}]",
            "entries: [{name: buoy.v1.2.0, replaces: buoy.v1.1.0}, {name: buoy.v1.1.0, skipRange: <1.1.0}]",
        )
        .replace("buoy:1.0.0", "buoy:1.0.0-2")
        .replace("{type: x, value: 1}", "{type: x, value: 2}")
        .replace("message: Use 1.1.0.", "message: Use 1.2.0.")
        .replace("name: raft", "name: ferry");
    let difference = diff(&catalog(BEFORE), &catalog(&after));
    let expected = "\
package buoy: default channel: alpha → beta
package buoy: description changed
package buoy: channel beta is new
package buoy: channel old is gone
package buoy: channel alpha: head: buoy.v1.1.0 → buoy.v1.2.0
package buoy: channel alpha: entry buoy.v1.2.0 is new
package buoy: channel alpha: entry buoy.v1.0.0 is gone
package buoy: channel alpha: entry buoy.v1.1.0: replaces buoy.v1.0.0 → none, skips a b → none, skipRange none → <1.1.0
package buoy: bundle buoy.v1.0.0: image: registry.example.com/buoy:1.0.0 → registry.example.com/buoy:1.0.0-2, x changed
package buoy: deprecation of olm.channel beta is new
package buoy: deprecation of olm.channel old is gone
package buoy: deprecation of olm.bundle buoy.v1.0.0: Use 1.1.0. → Use 1.2.0.
package ferry is new: 0 bundles, channels , default stable
package raft is gone: 0 bundles, channels , default stable
";
    assert_eq!(difference.to_string(), expected);
    let json = serde_json::to_value(&difference).unwrap();
    assert_eq!(json["raft"]["change"], "removed");
    assert_eq!(json["buoy"]["defaultChannel"]["to"], "beta");
    let entry = &json["buoy"]["channels"]["changed"]["alpha"]["entries"]["changed"]["buoy.v1.1.0"];
    assert_eq!(entry["from"]["replaces"], "buoy.v1.0.0");
}

#[test]
fn new_and_lost_bundles_are_told() {
    let without: String = BEFORE
        .split("---\n")
        .filter(|blob| !blob.contains("name: buoy.v1.1.0\nimage"))
        .collect::<Vec<_>>()
        .join("---\n");
    let lost = diff(&catalog(BEFORE), &catalog(&without));
    assert_eq!(lost.lines(), ["package buoy: bundle buoy.v1.1.0 is gone"]);
    let found = diff(&catalog(&without), &catalog(BEFORE));
    assert_eq!(found.lines(), ["package buoy: bundle buoy.v1.1.0 is new"]);
}
