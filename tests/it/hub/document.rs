//! The OpenAPI document.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::Value;

use super::desk;
use crate::support::cluster::repository;

const SNAPSHOT: &str = "tests/fixtures/openapi.json";

fn document() -> Value {
    serde_json::to_value(chandler::server::api::document()).unwrap()
}

#[test]
fn the_document_is_the_one_that_was_agreed_on() {
    let now = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    let path = repository().join(SNAPSHOT);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs_err::write(&path, &now).unwrap();
    }
    let before = fs_err::read_to_string(&path).unwrap_or_default();
    assert!(
        now == before,
        "the OpenAPI document changed: look at it, and write {SNAPSHOT} anew with UPDATE_SNAPSHOTS=1"
    );
}

#[tokio::test]
async fn every_route_of_the_document_is_there() {
    let desk = desk().await;
    let document = document();
    for path in document["paths"].as_object().unwrap().keys() {
        let concrete = path
            .replace("{package}", "etcd")
            .replace("{version}", "0.9.4")
            .replace("{catalog}", "hub")
            .replace("{channel}", "beta")
            .replace("{file}", "etcd.yaml");
        let answer = desk.get(&concrete).await;
        let error = if answer.status == StatusCode::NOT_FOUND {
            answer.json()["error"]["message"].to_string()
        } else {
            String::new()
        };
        assert!(!error.contains("there is nothing at"), "{path}: {error}");
    }
}

#[test]
fn every_route_of_the_router_is_in_the_document() {
    let source = repository().join("src/server/api/router.rs");
    let source = fs_err::read_to_string(source).unwrap();
    let document = document();
    let documented: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(|path| path.replace("/api/v1/packages/{package}", ""))
        .collect();
    let routes = source.split(".route(").skip(1).filter_map(|rest| {
        let start = rest.find('"')? + 1;
        let end = start + rest[start..].find('"')?;
        // Where there is nothing is not documented.
        let is_nothing = rest[end..].starts_with("\", any(unknown)");
        (!is_nothing).then(|| rest[start..end].to_owned())
    });
    let routes: Vec<String> = routes
        .map(|path| if path == "/" { String::new() } else { path })
        .filter(|path| !path.ends_with("openapi.json"))
        .collect();
    assert!(routes.len() > 20, "{routes:?}");
    for route in routes {
        assert!(
            documented.contains(&route),
            "{route} is not in the document"
        );
    }
}

#[tokio::test]
async fn the_document_is_served() {
    let desk = desk().await;
    assert_eq!(desk.json("/api/v1/openapi.json").await, document());
}
