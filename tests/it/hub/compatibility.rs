//! What was written for OperatorHub.io or catalogd.

use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use super::{desk, wares};
use crate::support::hub::{Desk, Ware};

#[tokio::test]
async fn operators_are_listed_as_operatorhub_does() {
    let list = desk().await.json("/api/operators").await;
    let gopher = &list["operators"][1];
    assert_eq!(gopher["name"], "gopher.v2.0.0");
    assert_eq!(gopher["packageName"], "gopher");
    assert_eq!(gopher["provider"], "Burrow Inc.");
    assert_eq!(gopher["capabilityLevel"], "Auto Pilot");
}

#[tokio::test]
async fn an_operator_of_several_catalogs_is_listed_once_as_it_is_described() {
    let newer = Ware::new("etcd", &[("1.0.0", json!({"displayName": "AAA etcd"}))]).blobs();
    let desk = Desk::with(&[("hub", &wares()), ("other", &newer)], |_| {}).await;
    let list = desk.json("/api/operators").await;
    let etcds = list["operators"].as_array().unwrap().iter();
    let etcds: Vec<&Value> = etcds.filter(|one| one["packageName"] == "etcd").collect();
    assert_eq!(etcds.len(), 1);
    let described = desk.json("/api/operator?packageName=etcd").await;
    assert_eq!(etcds[0]["name"], described["operator"]["name"]);
}

#[tokio::test]
async fn an_operator_is_described_as_operatorhub_does() {
    let desk = desk().await;
    let found = desk
        .json("/api/operator?packageName=etcd&channel=beta")
        .await;
    let operator = &found["operator"];
    assert_eq!(operator["name"], "etcd.v0.9.2");
    assert_eq!(operator["channel"], "beta");
    assert_eq!(operator["globalOperator"], true);
    assert_eq!(
        operator["channels"][0],
        json!({"name": "stable", "currentCSV": "etcd.v0.9.4", "versions": [
            {"name": "etcd.v0.9.4", "version": "0.9.4"}, {"name": "etcd.v0.9.2", "version": "0.9.2"},
        ]})
    );
    let missing = desk.get("/api/operator").await;
    assert_eq!(missing.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn manifests_are_where_operatorhub_has_them() {
    let desk = desk().await;
    for path in ["/install/etcd.yaml", "/install/beta/etcd.yaml"] {
        let answer = desk.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        let documents = chandler::yaml::values("install", &answer.text()).unwrap();
        assert_eq!(documents[2]["spec"]["name"], "etcd");
    }
    assert_eq!(
        desk.get("/install/etcd").await.status,
        StatusCode::NOT_FOUND
    );
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn a_whole_catalog_comes_as_lines_of_json() {
    let answer = desk().await.get("/catalogs/hub/api/v1/all").await;
    assert_eq!(answer.header("content-type"), "application/jsonl");
    let mut found = lines(&answer.text());
    let mut expected = wares();
    let key = |blob: &Value| blob.to_string();
    found.sort_by_key(key);
    expected.sort_by_key(key);
    assert_eq!(found.len(), expected.len());
    let schemas = |blobs: &[Value]| -> Vec<(Value, Value)> {
        blobs
            .iter()
            .map(|it| (it["schema"].clone(), it["name"].clone()))
            .collect()
    };
    assert_eq!(schemas(&found), schemas(&expected));
}

#[tokio::test]
async fn a_catalog_that_did_not_change_is_sent_once() {
    let desk = desk().await;
    let all = "/catalogs/hub/api/v1/all";
    let tag = desk.get(all).await.header("etag").to_owned();
    let ask = async |path: &str| {
        let request = Request::get(path).header("if-none-match", &tag);
        desk.send(request.body(Body::empty()).unwrap()).await
    };
    let again = ask(all).await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    assert!(again.body.is_empty());
    let other = ask("/catalogs/hub/api/v1/metas?package=etcd").await;
    assert_eq!(other.status, StatusCode::OK);
}

#[tokio::test]
async fn blobs_are_chosen_by_schema_package_and_name() {
    let desk = desk().await;
    let found = |query: &str| {
        let path = format!("/catalogs/hub/api/v1/metas?{query}");
        let desk = &desk;
        async move { lines(&desk.get(&path).await.text()) }
    };
    assert_eq!(found("schema=olm.package").await.len(), 3);
    assert_eq!(found("package=etcd").await.len(), 5);
    assert_eq!(found("schema=olm.channel&package=etcd").await.len(), 2);
    let one = found("schema=olm.bundle&name=etcd.v0.9.4").await;
    assert_eq!(one.len(), 1);
    assert_eq!(one[0]["image"], "example.com/etcd:0.9.4");
    assert_eq!(found("name=nobody").await.len(), 0);
    let unknown = desk.get("/catalogs/hub/api/v1/metas?colour=red").await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    let missing = desk.get("/catalogs/nowhere/api/v1/all").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}
