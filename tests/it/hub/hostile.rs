//! Catalogs and requests that mean harm.

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::catalog::text::is_hidden;
use http::{Method, Request, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use super::desk;
use crate::support::hub::{Desk, Ware};

const SCRIPT: &str = "</title><script>alert(1)</script>";

fn hostile() -> Vec<Value> {
    let csv = json!({
        "displayName": SCRIPT,
        "description": format!("![x](javascript:alert(1)) {SCRIPT}"),
        "provider": {"name": SCRIPT, "url": "javascript:alert(1)"},
        "links": [{"name": SCRIPT, "url": "data:text/html,x"}],
        "maintainers": "nobody",
        "installModes": [{"type": "Elsewhere", "supported": true}],
        "crdDescriptions": {"owned": 7},
        "annotations": {
            "repository": "javascript:alert(1)",
            "alm-examples": "[{\"kind\": ",
            "operatorframework.io/suggested-namespace": "$(reboot)",
            "createdAt": "\u{0}\u{1}",
        },
    });
    let mut blobs = Ware::new("gopher", &[("1.0.0", csv)]).blobs();
    let page = STANDARD.encode("<html><script>alert(1)</script>");
    blobs[0]["icon"] = json!({"mediatype": "image/png", "base64data": page});
    blobs
}

#[tokio::test]
async fn whatever_a_catalog_says_is_answered_without_failing() {
    let desk = Desk::new(&hostile()).await;
    assert_eq!(desk.json("/api/v1/packages").await["total"], 1);
    let paths = [
        "/api/v1/packages/gopher/versions/1.0.0",
        "/api/v1/packages/gopher/versions/1.0.0/permissions",
        "/api/v1/packages/gopher/versions/1.0.0/crds",
        "/api/v1/packages/gopher/dependencies",
        "/api/v1/packages/gopher/graph",
        "/api/v1/packages/gopher/feed.atom",
        "/api/v1/feed.atom",
        "/api/v1/resolve?package=gopher",
        "/api/operators",
        "/api/operator?packageName=gopher",
    ];
    for path in paths {
        let answer = desk.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
    }
    let page = desk.json("/api/v1/packages/gopher").await;
    assert_eq!(page["about"]["displayName"], SCRIPT);
    assert_eq!(page["about"]["links"][0]["url"], "");
    assert_eq!(page["about"]["provider"]["url"], "");
    assert_eq!(page["about"]["repository"], "");
    let install = desk.json("/api/v1/packages/gopher/install").await;
    assert_eq!(install["namespace"], "gopher");
}

#[tokio::test]
async fn a_package_that_is_broken_keeps_no_other_from_being_shown() {
    let mut blobs = Ware::new("gopher", &[("1.0.0", json!({}))]).blobs();
    blobs.extend(Ware::new("mole", &[("1.0.0", json!({"keywords": "not a list"}))]).blobs());
    let desk = Desk::new(&blobs).await;
    assert_eq!(
        super::names(&desk.json("/api/v1/packages").await),
        ["gopher"]
    );
    let answer = desk.get("/api/v1/packages/mole").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    // Nor is it passed over in silence.
    let catalog = &desk.json("/api/v1/catalogs").await[0];
    assert_eq!(catalog["leftOut"], 1);
    assert_eq!(catalog["leftOutFirst"][0]["package"], "mole");
    let why = catalog["leftOutFirst"][0]["why"].as_str().unwrap();
    assert!(why.contains("cannot be read"), "{why}");
    let page = desk.get("/").await.text();
    assert!(
        page.contains("1 operator, or a part of it, is left out"),
        "{page}"
    );
    assert!(page.contains("mole"), "{page}");
}

#[tokio::test]
async fn a_channel_that_is_broken_keeps_no_other_from_being_shown() {
    let mut blobs = Ware::new("gopher", &[("1.0.0", json!({}))]).blobs();
    blobs.push(json!({
        "schema": "olm.channel", "package": "gopher", "name": "dangling",
        "entries": [{"name": "gopher.v9.0.0"}],
    }));
    let desk = Desk::new(&blobs).await;
    let gopher = desk.json("/api/v1/packages/gopher").await;
    assert_eq!(gopher["channels"].as_array().unwrap().len(), 1, "{gopher}");
    assert_eq!(gopher["brokenChannels"][0]["name"], "dangling");
    let why = gopher["brokenChannels"][0]["why"].as_str().unwrap();
    assert!(why.contains("gopher.v9.0.0"), "{why}");
    let page = desk.get("/packages/gopher").await.text();
    assert!(page.contains("dangling"), "{page}");
    assert!(page.contains("is left out"), "{page}");
}

#[tokio::test]
async fn of_many_broken_packages_some_are_named_and_all_are_counted() {
    let mut blobs = Ware::new("gopher", &[("1.0.0", json!({}))]).blobs();
    for at in 0..150 {
        let broken = json!({"keywords": "x".repeat(2000)});
        blobs.extend(Ware::new(&format!("mole-{at:03}"), &[("1.0.0", broken)]).blobs());
    }
    let desk = Desk::new(&blobs).await;
    let catalog = &desk.json("/api/v1/catalogs").await[0];
    assert_eq!(catalog["leftOut"], 150);
    assert_eq!(catalog["leftOutFirst"].as_array().unwrap().len(), 20);
    assert!(catalog.to_string().len() < 10_000, "{catalog}");
    let page = desk.get("/").await.text();
    assert!(page.contains("and 130 more"), "{page}");
}

/// Google, for whoever sees it.
const BACKWARDS: &str = "\u{202e}elgooG\u{202c}";

#[tokio::test]
async fn no_name_is_shown_in_another_direction_than_its_own() {
    let csv = json!({
        "displayName": BACKWARDS, "provider": {"name": BACKWARDS}, "keywords": [BACKWARDS],
        "description": BACKWARDS, "maturity": BACKWARDS,
        "maintainers": [{"name": BACKWARDS}], "links": [{"name": BACKWARDS, "url": "https://example.com"}],
        "annotations": {"categories": BACKWARDS, "description": BACKWARDS, "support": BACKWARDS},
    });
    let ware = Ware::new("gopher", &[("1.0.0", csv)])
        .with_channel(BACKWARDS, &json!([{"name": "gopher.v1.0.0"}]));
    let mut blobs = ware.blobs();
    blobs.extend(Ware::new(BACKWARDS, &[("1.0.0", json!({}))]).blobs());
    let desk = Desk::new(&blobs).await;
    let channel = form_urlencoded::byte_serialize(BACKWARDS.as_bytes()).collect::<String>();
    for path in [
        "/".to_owned(),
        "/packages/gopher".to_owned(),
        format!("/packages/gopher?channel={channel}"),
        "/packages/gopher/versions".to_owned(),
        "/packages/gopher/diff".to_owned(),
        format!("/packages/{channel}/versions"),
        "/packages/nowhere%E2%80%AEelgooG".to_owned(),
        "/api/v1/feed.atom".to_owned(),
    ] {
        let text = desk.get(&path).await.text();
        assert!(text.contains("elgooG"), "{path}: {text}");
        let hidden = |c: char| is_hidden(c) && c != '\n' && c != '\t';
        assert_eq!(text.find(hidden), None, "{path}: {text:?}");
    }
    let card = &desk.json("/api/v1/packages?q=gopher").await["packages"][0];
    for name in [
        &card["displayName"],
        &card["provider"],
        &card["keywords"][0],
    ] {
        assert_eq!(name, "elgooG");
    }
    assert_eq!(card["categories"][0], "elgooG");
    assert_eq!(card["description"], "elgooG");
}

#[tokio::test]
async fn a_book_for_a_name_does_not_fill_the_list() {
    let long = "W".repeat(10_000);
    let csv = json!({
        "displayName": long, "provider": {"name": long}, "keywords": vec![long.clone(); 2000],
        "annotations": {"categories": vec![long.as_str(); 300].join(","), "capabilities": long, "createdAt": long},
    });
    let ware = Ware::new("gopher", &[("1.0.0", csv)]);
    let ware = ware.deprecated(&json!({"schema": "olm.package"}), &long);
    let desk = Desk::new(&ware.blobs()).await;
    for path in [
        "/api/v1/packages",
        "/api/v1/packages/gopher",
        "/api/operators",
    ] {
        let answer = desk.get(path).await;
        assert!(answer.body.len() < 40_000, "{path}: {}", answer.body.len());
    }
    let list = desk.json("/api/v1/packages").await;
    let name = list["packages"][0]["displayName"].as_str().unwrap();
    assert!(name.starts_with("WWW") && name.ends_with('…'), "{name}");
}

#[tokio::test]
async fn a_feed_says_where_it_is_and_believes_no_nonsense_about_that() {
    let desk = desk().await;
    let feed = async |host: Option<&str>| {
        let mut request = Request::get("/api/v1/packages/gopher/feed.atom");
        if let Some(host) = host {
            request = request.header("host", host);
        }
        desk.send(request.body(Body::empty()).unwrap()).await.text()
    };
    let here = feed(Some("hub.example.com:8080")).await;
    for words in [
        "<id>http://hub.example.com:8080/api/v1/packages/gopher/feed.atom?catalog=hub</id>",
        "<link href=\"http://hub.example.com:8080/packages/gopher?catalog=hub\"/>",
        "/api/v1/packages/gopher/versions/gopher.v2.0.0?catalog=hub</id>",
    ] {
        assert!(here.contains(words), "{words} is not in {here}");
    }
    for nonsense in [
        None,
        Some("a@evil.example.com"),
        Some("evil'\"><x"),
        Some("a b"),
    ] {
        let relative = feed(nonsense).await;
        assert!(
            relative.contains("<id>urn:chandler:hub:gopher</id>"),
            "{relative}"
        );
        assert!(relative.contains("href=\"/packages/gopher?"), "{relative}");
    }
}

#[tokio::test]
async fn a_feed_stays_well_formed() {
    let blobs = Ware::new("gopher", &[("1.0.0", json!({"displayName": SCRIPT}))]).blobs();
    let desk = Desk::new(&blobs).await;
    for path in ["/api/v1/feed.atom", "/api/v1/packages/gopher/feed.atom"] {
        let answer = desk.get(path).await;
        assert_eq!(answer.header("content-type"), "application/atom+xml");
        let text = answer.text();
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("&lt;/title&gt;&lt;script&gt;"), "{text}");
        assert!(
            text.contains("<updated>2024-01-01T00:00:00Z</updated>"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_picture_is_what_its_bytes_are_and_does_nothing() {
    let desk = Desk::new(&Ware::new("gopher", &[("1.0.0", json!({}))]).blobs()).await;
    let answer = desk.get("/api/v1/packages/gopher/icon").await;
    assert_eq!(answer.status, StatusCode::OK);
    // Whatever the catalog says that it is.
    assert_eq!(answer.header("content-type"), "image/svg+xml");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let policy = answer.header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains("sandbox"),
        "{policy}"
    );
    let page = Desk::new(&hostile()).await;
    let answer = page.get("/api/v1/packages/gopher/icon").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

#[rstest]
#[case(Method::GET, "/api/v1/nothing", 404)]
#[case(Method::GET, "/api/v2/packages", 404)]
#[case(Method::POST, "/api/v1/packages", 405)]
#[case(Method::DELETE, "/api/v1/packages/gopher", 405)]
#[case(Method::PUT, "/api/v1/resolve", 405)]
#[case(Method::GET, "/api/v1/packages/%FF", 400)]
#[case(Method::GET, "/api/v1/packages/..%2f..%2fetc%2fpasswd", 404)]
#[case(Method::GET, "/api/v1/packages/gopher/versions/%00", 404)]
#[case(Method::GET, "/api/v1/packages/gopher?catalog=a&catalog=b", 400)]
#[case(Method::GET, "/api/v1/packages/gopher/diff?from=1.0.0", 400)]
#[case(Method::GET, "/api/v1/resolve", 400)]
#[case(Method::GET, "/api/v1/resolve?package=gopher&kubeVersion=x", 400)]
#[case(Method::GET, "/api/v1/events", 404)]
#[tokio::test]
async fn every_failure_has_the_same_form(
    #[case] method: Method,
    #[case] path: &str,
    #[case] status: u16,
) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap();
    let answer = desk().await.send(request).await;
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let error = answer.json()["error"].clone();
    for field in ["code", "message", "hint"] {
        assert!(error[field].is_string(), "{error}");
    }
}

#[rstest]
#[case("not json", "application/json", 400)]
#[case("{\"subscriptions\": []}", "application/json", 400)]
#[case("{\"subscriptions\": [{\"package\": \"\"}]}", "application/json", 400)]
#[case(
    "{\"subscriptions\": [{\"package\": \"a\"}], \"colour\": 1}",
    "application/json",
    400
)]
#[case("{\"subscriptions\": [{\"package\": \"a\"}]}", "text/plain", 415)]
#[tokio::test]
async fn a_body_that_makes_no_sense_is_refused(
    #[case] body: &'static str,
    #[case] kind: &str,
    #[case] status: u16,
) {
    let request = Request::post("/api/v1/resolve")
        .header("content-type", kind)
        .body(Body::from(body))
        .unwrap();
    let answer = desk().await.send(request).await;
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text());
    assert!(answer.json()["error"]["message"].is_string());
}

#[tokio::test]
async fn the_same_wish_twice_is_one_and_two_different_ones_contradict_each_other() {
    let desk = desk().await;
    let ask = async |wishes: Value| {
        let answer = desk
            .post("/api/v1/resolve", &json!({"subscriptions": wishes}))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let once = ask(json!([{"package": "etcd"}])).await;
    let twice = ask(json!([{"package": "etcd"}, {"package": "etcd", "channel": null}])).await;
    assert_eq!(once, twice);
    assert_eq!(once["solved"], true);
    let torn = ask(json!([{"package": "etcd"}, {"package": "etcd", "channel": "beta"}])).await;
    assert_eq!(torn["solved"], false);
    let why = &torn["components"][1]["summary"];
    assert_eq!(why, "package etcd is wanted twice, in different ways");
}
