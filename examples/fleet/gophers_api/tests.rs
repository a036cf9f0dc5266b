//! The gophers API, asked as its users ask it.

use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use super::*;

const RIGHT: &str = "correct-horse";

struct Api(Router);

impl Api {
    fn new() -> Self {
        Self(router(Burrow::default(), RIGHT, CancellationToken::new()))
    }

    async fn ask(&self, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
        let mut request = axum::http::Request::builder().method(method).uri(path);
        if !key.is_empty() {
            request = request.header(KEY, key);
        }
        let request = request
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let answer = self.0.clone().oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body");
        let body = String::from_utf8(body.to_bytes().to_vec()).expect("text");
        (status, body)
    }

    async fn status(&self, method: &str, path: &str, key: &str, body: &str) -> u16 {
        self.ask(method, path, key, body).await.0
    }

    async fn all(&self) -> Value {
        let (status, body) = self.ask("GET", "/gophers", "", "").await;
        assert_eq!(status, 200);
        serde_json::from_str(&body).expect("JSON")
    }
}

fn ada(name: &str) -> String {
    json!({"id": "a/ada", "name": name, "displayname": "ada", "url": "picture/x.svg"}).to_string()
}

#[tokio::test]
async fn gophers_are_created_read_changed_and_forgotten() {
    let api = Api::new();
    assert_eq!(api.all().await, json!([]));
    assert_eq!(
        api.status("POST", "/gopher", RIGHT, &ada("diver")).await,
        201
    );
    assert_eq!(
        api.status("POST", "/gopher", RIGHT, &ada("diver")).await,
        409
    );
    assert_eq!(api.status("PUT", "/gopher", RIGHT, &ada("poet")).await, 200);
    let (status, body) = api.ask("GET", "/gopher?id=a%2Fada", "", "").await;
    assert_eq!((status, body.contains("poet")), (200, true));
    assert_eq!(
        api.status("DELETE", "/gopher?id=a/ada", RIGHT, "").await,
        204
    );
    assert_eq!(
        api.status("DELETE", "/gopher?id=a/ada", RIGHT, "").await,
        404
    );
    assert_eq!(api.status("GET", "/gopher?id=a/ada", "", "").await, 404);
    assert_eq!(api.status("PUT", "/gopher", RIGHT, &ada("poet")).await, 404);
    assert_eq!(
        api.status("POST", "/gopher", RIGHT, &ada("poet")).await,
        201
    );
    assert_eq!(api.status("DELETE", "/gophers", RIGHT, "").await, 204);
    assert_eq!(api.all().await, json!([]));
}

#[tokio::test]
async fn who_does_not_know_the_key_changes_nothing() {
    let api = Api::new();
    assert_eq!(
        api.status("POST", "/gopher", RIGHT, &ada("diver")).await,
        201
    );
    for key in [
        "",
        "wrong",
        "correct-hors",
        "correct-horse-",
        "Correct-horse",
    ] {
        for (method, path) in [
            ("POST", "/gopher"),
            ("PUT", "/gopher"),
            ("DELETE", "/gopher?id=a/ada"),
            ("DELETE", "/gophers"),
        ] {
            let status = api.status(method, path, key, &ada("poet")).await;
            assert_eq!(status, 403, "{method} {path} with {key:?}");
        }
    }
    assert_eq!(api.all().await[0]["name"], "diver");
}

#[tokio::test]
async fn what_is_no_gopher_is_refused_with_a_reason() {
    let api = Api::new();
    for (body, words) in [
        ("", "no gopher"),
        ("[]", "missing"),
        (r#"{"id": "a"}"#, "name is missing"),
        (r#"{"id": 3}"#, "no gopher"),
    ] {
        let (status, said) = api.ask("POST", "/gopher", RIGHT, body).await;
        assert!(
            status == 400 && said.contains(words),
            "{body}: {status} {said}"
        );
    }
    assert_eq!(api.status("GET", "/gopher", "", "").await, 400);
    assert_eq!(api.status("DELETE", "/gopher?id=", RIGHT, "").await, 400);
    let long = "x".repeat(LONGEST_BODY + 1);
    assert_eq!(api.status("POST", "/gopher", RIGHT, &long).await, 413);
}

#[tokio::test]
async fn the_page_takes_nothing_from_elsewhere() {
    let api = Api::new();
    for path in ["/", "/page.css", "/page.js", "/picture/captain.svg"] {
        let (status, body) = api.ask("GET", path, "", "").await;
        assert_eq!(status, 200, "{path}");
        let elsewhere = body.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("://"), "{path}");
    }
    // What is written into a gopher is text, never markup.
    assert!(!include_str!("page.js").contains("innerHTML"));
}

#[tokio::test]
async fn onlookers_see_the_list_and_each_change() {
    let burrow = Burrow::default();
    let mut seen = Box::pin(lists(burrow.follow()));
    assert_eq!(seen.next().await, Some(Vec::new()));
    let gopher: Gopher = serde_json::from_str(&ada("diver")).expect("a gopher");
    burrow.create(gopher.clone()).expect("room");
    assert_eq!(seen.next().await, Some(vec![gopher]));
    burrow.clear();
    assert_eq!(seen.next().await, Some(Vec::new()));
}

#[test]
fn a_chosen_key_is_long_and_never_the_same() {
    let keys = [random_key(), random_key()].map(|key| key.expect("a key"));
    assert!(keys[0].len() == 30 && keys[0] != keys[1]);
}

#[test]
fn a_key_has_no_blanks_around_it() {
    let given = |text: &str| Args::try_parse_from(["gophers-api", "--api-key", text]);
    let read = |text: &str| key(&given(text).expect("arguments"));
    assert_eq!(read("correct-horse\n").expect("a key"), RIGHT);
    assert!(read(" \n").is_err());
}
