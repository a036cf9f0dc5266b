//! What visitors change by the page, and how they have to ask.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use chandler::server::hub::views::InstallModeName;
use chandler::server::writes::{
    Extent, InstallOrder, Place, Refusal, RefusalKind, RemovalWish, Transport, Writes,
};
use http::{Request, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use super::{desk, wares};
use crate::support::clerk::{Clerk, TOKEN, Wanted};
use crate::support::hub::{Answer, Desk};

const HOST: &str = "hub.example.com";

/// A hub where visitors may change something.
async fn open_desk(clerk: &Arc<Clerk>, transport: Transport) -> Desk {
    let writes = Writes {
        writer: Some(clerk.clone()),
        transport,
    };
    Desk::with(&[("hub", &wares())], |supplies| supplies.writes = writes).await
}

/// Asks as a visitor from an address would, with these headers beside the usual.
async fn ask(
    desk: &Desk,
    peer: &str,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> Answer {
    let peer: SocketAddr = peer.parse().unwrap();
    let mut request = Request::post(path).header("host", HOST);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.extension(ConnectInfo(peer));
    desk.send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

const HERE: &str = "127.0.0.1:40000";
const ELSEWHERE: &str = "10.1.2.3:40000";
const INSTALL: &str = "/api/v1/installations";

#[tokio::test]
async fn nothing_can_be_changed_unless_somebody_said_so() {
    let desk = desk().await;
    let token = bearer();
    for path in [
        INSTALL,
        "/api/v1/installations/port/gopher/approve",
        "/api/v1/installations/port/gopher/uninstall",
    ] {
        let headers = [("authorization", token.as_str())];
        let answer = ask(&desk, HERE, path, &json!({"package": "gopher"}), &headers).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "forbidden");
        assert_eq!(error["message"], "nothing can be changed by this page");
        assert!(error["hint"].as_str().unwrap().contains("--allow-writes"));
    }
    let home = desk.get("/packages/gopher").await.text();
    assert!(!home.contains("sign-in"), "{home}");
}

#[rstest]
#[case::no_token(HERE, &[], StatusCode::UNAUTHORIZED)]
#[case::a_cookie(HERE, &[("cookie", "token=ann.token")], StatusCode::UNAUTHORIZED)]
#[case::a_token_that_nobody_knows(HERE, &[("authorization", "Bearer eve")], StatusCode::UNAUTHORIZED)]
#[case::another_site(HERE, &[("authorization", "Bearer ann.token"), ("origin", "https://evil.example")], StatusCode::FORBIDDEN)]
#[case::another_site_by_its_browser(HERE, &[("authorization", "Bearer ann.token"), ("sec-fetch-site", "cross-site")], StatusCode::FORBIDDEN)]
#[case::a_sandboxed_page(HERE, &[("authorization", "Bearer ann.token"), ("origin", "null")], StatusCode::FORBIDDEN)]
#[case::over_the_network(ELSEWHERE, &[("authorization", "Bearer ann.token")], StatusCode::FORBIDDEN)]
#[case::by_an_unknown_proxy(HERE, &[("authorization", "Bearer ann.token"), ("x-forwarded-for", "10.1.2.3")], StatusCode::FORBIDDEN)]
#[case::as_a_form(HERE, &[("authorization", "Bearer ann.token"), ("content-type", "text/plain")], StatusCode::UNSUPPORTED_MEDIA_TYPE)]
#[case::our_page(HERE, &[("authorization", "Bearer ann.token"), ("origin", "http://hub.example.com"), ("sec-fetch-site", "same-origin")], StatusCode::OK)]
#[case::a_program(HERE, &[("authorization", "Bearer ann.token")], StatusCode::OK)]
#[tokio::test]
async fn only_who_brings_a_token_by_a_safe_way_from_our_page_changes_something(
    #[case] peer: &str,
    #[case] headers: &[(&str, &str)],
    #[case] status: StatusCode,
) {
    let clerk = Arc::new(Clerk::default());
    let desk = open_desk(&clerk, Transport::Direct).await;
    let answer = ask(&desk, peer, INSTALL, &json!({"package": "etcd"}), headers).await;
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(clerk.wanted().len(), usize::from(status == StatusCode::OK));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(!answer.text().contains(TOKEN));
    assert_eq!(answer.header("access-control-allow-origin"), "");
    assert_eq!(answer.header("set-cookie"), "");
}

#[tokio::test]
async fn behind_a_proxy_that_speaks_tls_visitors_come_over_the_network() {
    let clerk = Arc::new(Clerk::default());
    let desk = open_desk(&clerk, Transport::TlsProxy).await;
    let token = bearer();
    for (proto, status) in [("https", StatusCode::OK), ("http", StatusCode::FORBIDDEN)] {
        let headers = [
            ("authorization", token.as_str()),
            ("x-forwarded-proto", proto),
        ];
        let body = json!({"package": "etcd", "dryRun": true});
        let answer = ask(&desk, ELSEWHERE, INSTALL, &body, &headers).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
}

#[tokio::test]
async fn an_install_is_shown_first_and_then_done() {
    let clerk = Arc::new(Clerk::default());
    let desk = open_desk(&clerk, Transport::Direct).await;
    let token = bearer();
    let headers = [("authorization", token.as_str())];
    let mut body = json!({"package": "gopher", "version": "1.0.0", "dryRun": true});
    let shown = ask(&desk, HERE, INSTALL, &body, &headers).await.json();
    assert_eq!(shown["dryRun"], true);
    assert_eq!(shown["makes"][0]["kind"], "Subscription");
    assert_eq!(
        shown["components"][0]["install"][0]["bundle"],
        "gopher.v1.0.0"
    );
    body["dryRun"] = json!(false);
    let done = ask(&desk, HERE, INSTALL, &body, &headers).await.json();
    assert_eq!(done["dryRun"], false);
    let order = InstallOrder {
        package: "gopher".to_owned(),
        catalog: "hub".to_owned(),
        channel: "stable".to_owned(),
        // There is a newer one, which it must not become by itself.
        version: Some("1.0.0".to_owned()),
        namespace: "gopher".to_owned(),
        install_mode: InstallModeName::AllNamespaces,
        approval: None,
    };
    assert_eq!(
        clerk.wanted(),
        [
            Wanted::Install(order.clone(), Extent::Preview),
            Wanted::Install(order, Extent::Done),
        ]
    );
}

#[tokio::test]
async fn the_newest_version_follows_its_channel() {
    let clerk = Arc::new(Clerk::default());
    let desk = open_desk(&clerk, Transport::Direct).await;
    let token = bearer();
    let body = json!({"package": "gopher", "namespace": "port"});
    let headers = [("authorization", token.as_str())];
    ask(&desk, HERE, INSTALL, &body, &headers).await;
    let wanted = clerk.wanted();
    let Some(Wanted::Install(order, Extent::Done)) = wanted.first() else {
        panic!("{wanted:?}");
    };
    assert_eq!(
        (order.version.as_deref(), order.namespace.as_str()),
        (None, "port")
    );
    assert_eq!(order.install_mode, InstallModeName::OwnNamespace);
}

#[tokio::test]
async fn plans_are_approved_and_operators_removed_by_name() {
    let clerk = Arc::new(Clerk::default());
    let desk = open_desk(&clerk, Transport::Direct).await;
    let token = bearer();
    let headers = [("authorization", token.as_str())];
    let place = "/api/v1/installations/port/gopher";
    let body = json!({"installPlan": "install-abc"});
    let path = format!("{place}/approve");
    let approved = ask(&desk, HERE, &path, &body, &headers).await.json();
    assert_eq!(approved["installPlan"], "install-abc");
    let path = format!("{place}/uninstall");
    let body = json!({"everything": true, "dryRun": true});
    let removing = ask(&desk, HERE, &path, &body, &headers).await.json();
    assert_eq!(removing["goes"][0]["objects"][0]["name"], "gopher.v1.1.0");
    let wish = RemovalWish {
        everything: true,
        dry_run: true,
        ..RemovalWish::default()
    };
    let place = Place {
        namespace: "port".to_owned(),
        subscription: "gopher".to_owned(),
    };
    assert_eq!(
        clerk.wanted(),
        [
            Wanted::Approve("port".to_owned(), "install-abc".to_owned()),
            Wanted::Uninstall(place, wish, Extent::Preview),
        ]
    );
    // What becomes a part of an address of the API server is a name and nothing else.
    for path in [
        "/api/v1/installations/port/..%2f..%2fsecrets/uninstall",
        "/api/v1/installations/port%3fx/gopher/uninstall",
    ] {
        let answer = ask(&desk, HERE, path, &json!({}), &headers).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text());
    }
}

#[rstest]
#[case(RefusalKind::Unauthorized, StatusCode::UNAUTHORIZED, "unauthorized")]
#[case(RefusalKind::Forbidden, StatusCode::FORBIDDEN, "forbidden")]
#[case(RefusalKind::NotFound, StatusCode::NOT_FOUND, "notFound")]
#[case(RefusalKind::Conflict, StatusCode::CONFLICT, "conflict")]
#[case(RefusalKind::BadRequest, StatusCode::BAD_REQUEST, "badRequest")]
#[case(
    RefusalKind::Unavailable,
    StatusCode::SERVICE_UNAVAILABLE,
    "unavailable"
)]
#[tokio::test]
async fn what_the_api_server_refuses_has_the_form_of_every_failure(
    #[case] kind: RefusalKind,
    #[case] status: StatusCode,
    #[case] code: &str,
) {
    let refusal = Refusal {
        kind,
        message: "ann cannot create subscriptions".to_owned(),
        hint: "ask an admin".to_owned(),
    };
    let clerk = Arc::new(Clerk {
        refusal: Some(refusal),
        ..Clerk::default()
    });
    let desk = open_desk(&clerk, Transport::Direct).await;
    let token = bearer();
    let headers = [("authorization", token.as_str())];
    let answer = ask(&desk, HERE, INSTALL, &json!({"package": "etcd"}), &headers).await;
    assert_eq!(answer.status, status);
    let error = json!({
        "code": code, "message": "ann cannot create subscriptions", "hint": "ask an admin",
    });
    assert_eq!(answer.json(), json!({ "error": error }));
}

#[tokio::test]
async fn the_page_offers_what_visitors_may_do() {
    let clerk = Arc::new(Clerk::default());
    let desk = open_desk(&clerk, Transport::Direct).await;
    let page = desk.get("/packages/gopher").await.text();
    for part in [
        "id=\"sign-in\"",
        "data-deed=\"install\"",
        "id=\"deed-dialog\"",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}
