//! Pages without a browser: what they answer, and with which headers.

use axum::body::Body;
use chandler::server::hub::views::{Health, Installation};
use http::{Request, StatusCode};
use serde_json::json;
use tokio::sync::watch;

use super::{desk, wares};
use crate::support::hub::{Desk, Ware};

const TABS: [&str; 7] = [
    "",
    "/versions",
    "/apis",
    "/permissions",
    "/dependencies",
    "/images",
    "/diff",
];

#[tokio::test]
async fn every_tab_answers_and_escapes() {
    let hostile = Ware::new("evil", &[("1.0.0", json!({"displayName": "<Evil>"}))]);
    let desk = Desk::new(&hostile.blobs()).await;
    for tab in TABS {
        let page = desk.get(&format!("/packages/evil{tab}")).await;
        assert_eq!(page.status, StatusCode::OK, "{tab}: {}", page.text());
        assert!(page.text().contains("&#60;Evil&#62;"), "{tab}");
        assert!(!page.text().contains("<Evil>"), "{tab}");
    }
}

#[tokio::test]
async fn a_bundle_that_cannot_be_read_leaves_the_page_useful() {
    let page = desk()
        .await
        .get("/packages/gopher/permissions")
        .await
        .text();
    assert!(page.contains("could not be read"), "{page}");
    assert!(page.contains("is not there"), "{page}");
}

#[tokio::test]
async fn what_did_not_change_is_sent_once() {
    let desk = desk().await;
    for path in ["/", "/?q=gopher", "/packages/gopher"] {
        let first = desk.get(path).await;
        let tag = first.header("etag");
        for known in [tag, tag.trim_start_matches("W/"), "*"] {
            let again = Request::get(path).header("if-none-match", known);
            let again = desk.send(again.body(Body::empty()).unwrap()).await;
            assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{path}");
        }
    }
}

/// Replicas count the changes of the cluster each for itself, from the beginning.
#[tokio::test]
async fn what_another_process_sent_is_not_taken_for_the_same_where_there_is_a_cluster() {
    let attached = async || {
        Desk::with(&[("hub", &wares())], |supplies| {
            supplies.changes = Some(tokio::sync::watch::Sender::default());
        })
        .await
    };
    let (one, other) = (attached().await, attached().await);
    let first = one.get("/").await;
    let again = Request::get("/").header("if-none-match", first.header("etag"));
    let again = other.send(again.body(Body::empty()).unwrap()).await;
    assert_eq!(again.status, StatusCode::OK);
}

#[tokio::test]
async fn what_makes_no_sense_is_said_in_the_form_of_whoever_asked() {
    let desk = desk().await;
    let unreadable = desk.get("/packages/%ff").await;
    assert_eq!(unreadable.status, StatusCode::BAD_REQUEST);
    assert!(unreadable.header("content-type").starts_with("text/html"));
    let posted = Request::post("/").body(Body::empty()).unwrap();
    let posted = desk.send(posted).await;
    assert_eq!(posted.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(posted.text().contains("POST cannot be used"));
    for path in ["/api", "/api/", "/api/v2"] {
        let nothing = desk.get(path).await;
        assert_eq!(nothing.json()["error"]["code"], "notFound", "{path}");
    }
}

#[tokio::test]
async fn every_answer_is_guarded() {
    let desk = desk().await;
    for path in ["/", "/nowhere", "/packages/submarine", "/assets/x/app.js"] {
        let answer = desk.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_to_people_in_words_and_to_programs_in_json() {
    let desk = desk().await;
    let page = desk.get("/packages/submarine").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text().contains("Not aboard"), "{}", page.text());
    assert!(page.text().contains("submarine"), "{}", page.text());
    let answer = desk.get("/api/v1/nowhere").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(
        answer
            .header("content-type")
            .starts_with("application/json")
    );
}

#[tokio::test]
async fn a_hub_without_a_cluster_has_nothing_installed() {
    let desk = desk().await;
    assert_eq!(desk.get("/installed").await.status, StatusCode::NOT_FOUND);
    assert!(!desk.get("/").await.text().contains("/installed"));
}

#[tokio::test]
async fn what_is_installed_is_shown_with_why_its_upgrade_waits() {
    let mut failed = gopher_in("b-team");
    failed.health = Health::Failed;
    failed.message = "its deployment does not start".to_owned();
    let installations = vec![gopher_in("a-team"), failed];
    let desk = Desk::with(&[("hub", &wares())], |supplies| {
        supplies.installations = Some(installations);
        supplies.changes = Some(watch::channel(1).0);
    })
    .await;
    let page = desk.get("/installed").await.text();
    for words in [
        "somebody has to approve it",
        "chandler approve gopher --namespace a-team",
        "its deployment does not start",
    ] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
    let (bad, good) = (page.find("b-team").unwrap(), page.find("a-team").unwrap());
    assert!(bad < good, "what failed comes first");
}

fn gopher_in(namespace: &str) -> Installation {
    Installation {
        package: "gopher".to_owned(),
        namespace: namespace.to_owned(),
        subscription: "gopher".to_owned(),
        catalog: "hub".to_owned(),
        channel: "stable".to_owned(),
        csv: "gopher.v1.0.0".to_owned(),
        version: "1.0.0".to_owned(),
        phase: "Succeeded".to_owned(),
        health: Health::Healthy,
        message: String::new(),
        next: "gopher.v2.0.0".to_owned(),
        waits_because: "somebody has to approve it".to_owned(),
        plan_to_approve: "install-abc".to_owned(),
    }
}

#[tokio::test]
async fn an_address_that_is_nearly_right_leads_on() {
    let desk = desk().await;
    for (address, leads_to) in [
        ("/packages/etcd/", "/packages/etcd"),
        (
            "/packages/etcd/versions/?channel=beta",
            "/packages/etcd/versions?channel=beta",
        ),
        ("/packages", "/"),
        ("/packages/", "/"),
    ] {
        let answer = desk.get(address).await;
        assert_eq!(answer.status, StatusCode::PERMANENT_REDIRECT, "{address}");
        assert_eq!(answer.header("location"), leads_to);
    }
    for address in ["/?utm_source=mail&q=gopher", "/browse?fbclid=1"] {
        assert_eq!(desk.get(address).await.status, StatusCode::OK, "{address}");
    }
}

#[tokio::test]
async fn a_version_that_no_upgrade_leaves_is_not_called_the_newest() {
    let versions = [("0.51.0", json!({})), ("1.2.0", json!({}))];
    let ware = Ware::new("gopher", &versions);
    let ware = ware.with_channel("beta", &json!([{"name": "gopher.v1.2.0"}]));
    let mut blobs = ware.blobs();
    let mut channels = blobs.iter_mut().filter(|it| it["name"] == "stable");
    channels.next().unwrap()["entries"] = json!([{"name": "gopher.v0.51.0"}]);
    let desk = Desk::new(&blobs).await;
    let page = desk.get("/packages/gopher/versions").await.text();
    assert!(
        page.contains("No upgrade leads on from 0.51.0: 1.2.0 in channel beta is a newer version"),
        "{page}"
    );
    assert!(!page.contains("nothing newer"), "{page}");
}

#[tokio::test]
async fn the_addresses_of_operatorhub_lead_here() {
    let answer = desk().await.get("/operator/gopher").await;
    assert_eq!(answer.header("location"), "/packages/gopher");
}
