//! What becomes of objects on their way to another version and back.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;

const ALPHA: &str = "lostinbrittany.dev/v1alpha1";
const BETA: &str = "lostinbrittany.dev/v1beta1";

fn gopher_api(version: &str, key: &Value) -> Value {
    json!({
        "apiVersion": version, "kind": "GopherAPI",
        "metadata": {"name": "one", "annotations": {"other": "stays"}},
        "spec": {"endpoint": "http://api", "apiKey": key},
        "status": {"gophers": 3},
    })
}

fn there_and_back(object: &Value, other: &str) -> Value {
    let own = object["apiVersion"].as_str().expect("a version");
    let there = converted(object.clone(), other).expect("the other version");
    assert_eq!(there["apiVersion"], other);
    converted(there, own).expect("its own version")
}

#[test]
fn a_key_becomes_the_value_of_a_key() {
    let beta = converted(gopher_api(ALPHA, &json!("secret")), BETA).expect("v1beta1");
    assert_eq!(beta, gopher_api(BETA, &json!({"value": "secret"})));
}

#[test]
fn nothing_is_lost_on_the_way_to_another_version_and_back() {
    let keys = [
        json!({}),
        json!({"value": ""}),
        json!({"value": "k"}),
        json!({"secretRef": {"name": "s", "key": "apiKey"}}),
        json!({"value": "k", "secretRef": {"name": "s"}}),
    ];
    for key in keys {
        let object = gopher_api(BETA, &key);
        assert_eq!(there_and_back(&object, ALPHA), object);
    }
    for key in ["", "k"] {
        let object = gopher_api(ALPHA, &json!(key));
        assert_eq!(there_and_back(&object, BETA), object);
    }
    let cluster = |version: &str, spec: Value| {
        json!({
            "apiVersion": format!("{HARBOR}/{version}"), "kind": "HarborCluster",
            "metadata": {"name": "one"}, "spec": spec,
        })
    };
    let in_cluster = json!({"kind": "Redis", "redisSpec": {"server": {"replicas": 1}}});
    let alpha = cluster(
        "v1alpha3",
        json!({"version": "2.2.1", "inClusterCache": in_cluster}),
    );
    let beta = converted(alpha.clone(), "goharbor.io/v1beta1").expect("v1beta1");
    assert_eq!(
        beta["spec"],
        json!({"version": "2.2.1", "cache": {"kind": "RedisFailover"}})
    );
    assert_eq!(there_and_back(&alpha, "goharbor.io/v1beta1"), alpha);
    let beta = cluster(
        "v1beta1",
        json!({"storage": {"kind": "S3"}, "database": {"kind": "PostgreSQL"}}),
    );
    assert_eq!(there_and_back(&beta, "goharbor.io/v1alpha3"), beta);
}

#[test]
fn what_somebody_changed_in_the_other_version_counts() {
    let object = gopher_api(BETA, &json!({"secretRef": {"name": "s", "key": "apiKey"}}));
    let mut alpha = converted(object, ALPHA).expect("v1alpha1");
    assert_eq!(alpha["spec"]["apiKey"], "");
    alpha["spec"]["apiKey"] = json!("by hand");
    let beta = converted(alpha, BETA).expect("v1beta1");
    assert_eq!(beta, gopher_api(BETA, &json!({"value": "by hand"})));
}

#[test]
fn zones_of_a_tenant_are_called_pools_now() {
    let zones = json!([{"servers": 4, "volumesPerServer": 4}]);
    let old = json!({"apiVersion": "minio.min.io/v1", "kind": "Tenant", "metadata": {}, "spec": {"zones": zones}});
    let new = converted(old.clone(), "minio.min.io/v2").expect("v2");
    assert_eq!(new["spec"], json!({"pools": zones}));
    assert_eq!(there_and_back(&old, "minio.min.io/v2"), old);
}

#[test]
fn a_kept_note_that_somebody_spoilt_is_no_trouble() {
    let mut alpha = gopher_api(ALPHA, &json!("k"));
    for spoilt in ["{", "[]", "{\"apiKey\": 3}", "null"] {
        alpha["metadata"]["annotations"][KEPT] = json!(spoilt);
        let beta = converted(alpha.clone(), BETA).expect("v1beta1");
        assert_eq!(beta["spec"]["apiKey"], json!({"value": "k"}));
    }
}

#[test]
fn objects_of_another_group_are_refused_and_the_request_is_answered() {
    let request = json!({
        "uid": "1", "desiredAPIVersion": "example.com/v1", "objects": [gopher_api(ALPHA, &json!("k"))],
    });
    let answer = answer(&request);
    assert_eq!(
        (answer["uid"].as_str(), answer["result"]["status"].as_str()),
        (Some("1"), Some("Failure"))
    );
    for odd in [json!({}), json!(3), json!({"apiVersion": "v1"})] {
        assert!(converted(odd, BETA).is_err());
    }
}

#[test]
fn a_webhook_is_an_address_and_maybe_a_path() {
    let webhook = |text: &str| text.parse::<Webhook>().expect("a webhook");
    assert_eq!(webhook("0.0.0.0:9443").path, "/convert");
    assert_eq!(
        webhook("0.0.0.0:4222/webhook/v1/crd-conversion").path,
        "/webhook/v1/crd-conversion"
    );
    assert!("nowhere".parse::<Webhook>().is_err());
}

/// What is answered to a body.
async fn posted(body: String) -> (StatusCode, Value) {
    let request = Request::post("/convert").body(Body::from(body));
    let answer = router("/convert").oneshot(request.expect("a request"));
    let answer = answer.await.expect("an answer");
    let status = answer.status();
    let body = answer.into_body().collect().await.expect("a body");
    let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    (status, body)
}

#[tokio::test]
async fn a_list_of_many_objects_is_converted_at_once() {
    let objects = vec![gopher_api(ALPHA, &json!("k".repeat(1_000_000))); 4];
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": BETA, "objects": objects},
    });
    let (status, answer) = posted(review.to_string()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["kind"], "ConversionReview");
    let converted = answer["response"]["convertedObjects"].as_array();
    assert_eq!(converted.map(Vec::len), Some(4));
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    for odd in ["", "[]", "3", "null", "{}", "{\"request\""] {
        assert_eq!(
            posted(odd.to_owned()).await.0,
            StatusCode::BAD_REQUEST,
            "{odd}"
        );
    }
}
