//! The hub and its API, asked without a network.

mod browse;
mod compatibility;
mod connections;
mod contents;
mod document;
mod hostile;
mod limits;
mod pages;
mod writes;

use serde_json::{Value, json};

use crate::support::hub::{Desk, Ware};

/// A few packages.
fn wares() -> Vec<Value> {
    let annotations = |categories: &str, created: &str| {
        json!({"annotations": {
            "categories": categories, "createdAt": created, "description": "Keeps things",
        }})
    };
    let mut all = Vec::new();
    all.extend(
        Ware::new(
            "etcd",
            &[
                ("0.9.2", annotations("Database", "2019-01-01")),
                ("0.9.4", annotations("Database, Storage", "2020-01-01")),
            ],
        )
        .with_property(
            "olm.gvk",
            &json!({"group": "etcd.example.com", "version": "v1", "kind": "EtcdCluster"}),
        )
        .with_channel(
            "beta",
            &json!([{"name": "etcd.v0.9.2", "skipRange": "<0.9.2"}]),
        )
        .blobs(),
    );
    let gopher = json!({
        "displayName": "Gopher", "provider": {"name": "Burrow Inc."},
        "annotations": {
            "categories": "Storage", "capabilities": "Auto Pilot", "createdAt": "2024-05-01 12:00:00",
            "repository": "https://example.com/gopher",
            "operatorframework.io/suggested-namespace": "burrow",
        },
        "keywords": ["rodent"],
        "description": "# Gopher\nDigs.",
        "links": [{"name": "Home", "url": "https://example.com"}, {"name": "Bad", "url": "javascript:alert(1)"}],
        "maintainers": [{"name": "Ann", "email": "ann@example.com"}],
        "installModes": [{"type": "AllNamespaces", "supported": false}, {"type": "OwnNamespace", "supported": true}],
    });
    all.extend(
        Ware::new("gopher", &[("1.0.0", json!({})), ("2.0.0", gopher)])
            .with_property(
                "olm.gvk.required",
                &json!({"group": "etcd.example.com", "version": "v1", "kind": "EtcdCluster"}),
            )
            .with_property(
                "olm.package.required",
                &json!({"packageName": "etcd", "versionRange": ">=0.9.0"}),
            )
            .blobs(),
    );
    all.extend(
        Ware::new("old-mill", &[("1.0.0", json!({}))])
            .deprecated(&json!({"schema": "olm.package"}), "use gopher instead")
            .blobs(),
    );
    all
}

async fn desk() -> Desk {
    Desk::new(&wares()).await
}

/// The names of the packages of a list.
fn names(list: &Value) -> Vec<&str> {
    let packages = list["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}
