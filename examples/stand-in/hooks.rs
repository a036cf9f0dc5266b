//! Webhooks: one that refuses, one that changes, and one that converts.
//!
//! Objects of version `v1` say where something is by `spec.address`, those of `v2` by `spec.host` and
//! `spec.port`.

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(crate) fn router(name: &str) -> Router {
    let (refuses, changes) = (name.to_owned(), name.to_owned());
    Router::new()
        .route(
            "/validate",
            post(async move |body: Bytes| answer(&body, |request| validate(&refuses, request))),
        )
        .route(
            "/mutate",
            post(async move |body: Bytes| answer(&body, |request| mutate(&changes, request))),
        )
        .route("/convert", post(async |body: Bytes| answer(&body, convert)))
}

/// Answers a review by what is said of its request.
fn answer(body: &[u8], say: impl FnOnce(&Value) -> Value) -> Response {
    let Ok(mut review) = serde_json::from_slice::<Value>(body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mut response = say(&review["request"]);
    response["uid"] = review["request"]["uid"].clone();
    review["response"] = response;
    if let Some(fields) = review.as_object_mut() {
        fields.shift_remove("request");
    }
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, review.to_string()).into_response()
}

/// Refuses what has a field `spec.forbidden`.
fn validate(name: &str, request: &Value) -> Value {
    match request.pointer("/object/spec/forbidden") {
        Some(_) => {
            let message = format!("{name} takes nothing that has spec.forbidden");
            json!({"allowed": false, "status": {"message": message}})
        }
        None => json!({"allowed": true}),
    }
}

/// Notes in `spec.changedBy` that it was asked.
fn mutate(name: &str, request: &Value) -> Value {
    if request.pointer("/object/spec").is_none() {
        return json!({"allowed": true});
    }
    let patch = json!([{"op": "add", "path": "/spec/changedBy", "value": name}]);
    json!({
        "allowed": true,
        "patchType": "JSONPatch",
        "patch": STANDARD.encode(patch.to_string()),
    })
}

fn convert(request: &Value) -> Value {
    let wanted = &request["desiredAPIVersion"];
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let converted: Option<Vec<Value>> = objects
        .into_iter()
        .map(|object| converted(object, wanted))
        .collect();
    match converted {
        Some(objects) => json!({"convertedObjects": objects, "result": {"status": "Success"}}),
        None => json!({"convertedObjects": [], "result": {
            "status": "Failure", "message": format!("what is {wanted}?"),
        }}),
    }
}

fn converted(mut object: Value, wanted: &Value) -> Option<Value> {
    let version = wanted.as_str()?.rsplit('/').next()?;
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    match (version, spec) {
        ("v1", Some(spec)) => {
            if let (Some(host), Some(port)) = (spec.shift_remove("host"), spec.shift_remove("port"))
            {
                let address = format!("{}:{port}", host.as_str()?);
                spec.insert("address".to_owned(), json!(address));
            }
        }
        ("v2", Some(spec)) => {
            if let Some(address) = spec.shift_remove("address") {
                let (host, port) = address.as_str()?.rsplit_once(':')?;
                let port: u16 = port.parse().ok()?;
                spec.insert("host".to_owned(), json!(host));
                spec.insert("port".to_owned(), json!(port));
            }
        }
        ("v1" | "v2", None) => {}
        _ => return None,
    }
    object["apiVersion"] = wanted.clone();
    Some(object)
}
