//! What is too much.

use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use super::desk;
use crate::support::hub::{Desk, Ware};

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let desk = desk().await;
    let long = "a".repeat(9000);
    let answer = desk.get(&format!("/api/v1/packages?q={long}")).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let answer = desk.get(&format!("/?q={long}")).await;
    assert_eq!(answer.status, StatusCode::URI_TOO_LONG);
    assert!(answer.text().contains("longer than 8192 bytes"));
    let words = "a".repeat(200);
    let answer = desk.get(&format!("/api/v1/packages?q={words}")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let request = Request::post("/api/v1/resolve")
        .header("content-type", "application/json")
        .body(Body::from(vec![b' '; 100 << 10]))
        .unwrap();
    let answer = desk.send(request).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.json()["error"]["code"], "tooLarge");
    let many: Vec<Value> = (0..17)
        .map(|at| json!({"package": format!("p{at}")}))
        .collect();
    let answer = desk
        .post("/api/v1/resolve", &json!({"subscriptions": many}))
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_package_with_many_versions_and_ranges_is_drawn_without_all_its_edges() {
    let versions: Vec<String> = (0..600).map(|minor| format!("1.{minor}.0")).collect();
    let all: Vec<(&str, Value)> = versions.iter().map(|it| (it.as_str(), json!({}))).collect();
    let entries: Vec<Value> = versions
        .iter()
        .map(|version| json!({"name": format!("gopher.v{version}"), "skipRange": format!("<{version}")}))
        .collect();
    let mut blobs = Ware::new("gopher", &all).blobs();
    let channel = blobs
        .iter_mut()
        .find(|it| it["schema"] == "olm.channel")
        .unwrap();
    for (entry, range) in channel["entries"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .zip(entries)
    {
        entry["skipRange"] = range["skipRange"].clone();
    }
    let desk = Desk::new(&blobs).await;
    let graph = desk.json("/api/v1/packages/gopher/graph").await;
    assert_eq!(graph["isThinned"], true);
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 600);
    assert_eq!(graph["edges"].as_array().unwrap().len(), 599);
}

#[tokio::test]
async fn large_answers_are_packed_for_those_who_can_unpack_them() {
    let desk = desk().await;
    let request = Request::get("/api/v1/packages").header("accept-encoding", "gzip");
    let answer = desk.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
    assert_eq!(
        desk.get("/api/v1/packages")
            .await
            .header("content-encoding"),
        ""
    );
}
