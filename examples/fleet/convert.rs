//! Objects of one version of an API become objects of another, and back again without loss.
//!
//! Where versions have a field for the same thing, one is made of the other. What cannot be made again from
//! the result is kept in an annotation, with the result beside it: whoever changes that means it, and so
//! the annotation counts only as long as nobody did.

use std::net::SocketAddr;
use std::str::FromStr;

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Map, Value, json};

use crate::tls::{self, Place};

/// The longest review that is read: all objects of a list come in one, and each may have a megabyte and a half.
const LONGEST: usize = 32 * 1024 * 1024;
/// Where the annotation is.
const KEPT: &str = "fleet.example.com/kept";

/// Where conversions are served: `ADDRESS` or `ADDRESS/PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Webhook {
    address: SocketAddr,
    path: String,
}

impl FromStr for Webhook {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (address, path) = text.split_once('/').unwrap_or((text, "convert"));
        let address = address
            .parse()
            .with_context(|| format!("{address} is no address such as 0.0.0.0:9443"))?;
        let path = format!("/{path}");
        Ok(Self { address, path })
    }
}

/// Serves conversions, with the certificate that is mounted, until it is told to stop.
pub(crate) async fn serve(webhook: Option<Webhook>) -> anyhow::Result<()> {
    let Some(Webhook { address, path }) = webhook else {
        return Ok(());
    };
    tls::serve(Place::hooks(address), router(&path)).await
}

fn router(path: &str) -> Router {
    Router::new()
        .route(path, post(async |body: Bytes| respond(&body)))
        .layer(DefaultBodyLimit::max(LONGEST))
}

fn respond(body: &[u8]) -> Response {
    let review = serde_json::from_slice::<Map<String, Value>>(body);
    let Some((mut review, request)) = review.ok().and_then(|mut review| {
        let request = review.shift_remove("request")?;
        Some((review, request))
    }) else {
        return (StatusCode::BAD_REQUEST, "this is no ConversionReview").into_response();
    };
    review.insert("response".to_owned(), answer(&request));
    axum::Json(review).into_response()
}

/// The answer to the request of a ConversionReview.
fn answer(request: &Value) -> Value {
    let wanted = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().into_iter().flatten();
    let converted: Result<Vec<Value>, String> = objects
        .map(|object| converted(object.clone(), wanted))
        .collect();
    let (objects, result) = match converted {
        Ok(objects) => (objects, json!({"status": "Success"})),
        Err(message) => (Vec::new(), json!({"status": "Failure", "message": message})),
    };
    json!({"uid": request["uid"], "convertedObjects": objects, "result": result})
}

/// One thing that two versions say in different ways.
struct Difference {
    kind: &'static str,
    /// The group of all versions, and the one with the later fields.
    group: &'static str,
    later: &'static str,
    /// The fields of the spec, in the earlier and the later version.
    fields: [&'static str; 2],
    /// What the later field says when the earlier one says this.
    forth: fn(&Value) -> Value,
    back: fn(&Value) -> Value,
}

const HARBOR: &str = "goharbor.io";
const DIFFERENCES: [Difference; 5] = [
    Difference {
        kind: "GopherAPI",
        group: "lostinbrittany.dev",
        later: "v1beta1",
        fields: ["apiKey", "apiKey"],
        forth: |key| json!({"value": key}),
        // A key that is in a Secret cannot be told here.
        back: |key| json!(key["value"].as_str().unwrap_or_default()),
    },
    Difference {
        kind: "Tenant",
        group: "minio.min.io",
        later: "v2",
        fields: ["zones", "pools"],
        forth: Value::clone,
        back: Value::clone,
    },
    in_cluster(
        ["inClusterCache", "cache"],
        |_| json!({"kind": "RedisFailover"}),
    ),
    in_cluster(
        ["inClusterDatabase", "database"],
        |_| json!({"kind": "Zlando/PostgreSQL"}),
    ),
    in_cluster(
        ["inClusterStorage", "storage"],
        |_| json!({"kind": "MinIO"}),
    ),
];

/// Something that the earlier HarborCluster only knows inside the cluster.
const fn in_cluster(fields: [&'static str; 2], forth: fn(&Value) -> Value) -> Difference {
    Difference {
        kind: "HarborCluster",
        group: HARBOR,
        later: "v1beta1",
        fields,
        forth,
        back: |later| json!({"kind": later["kind"]}),
    }
}

/// An object in another version of its API.
pub(crate) fn converted(mut object: Value, wanted: &str) -> Result<Value, String> {
    let is = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let (Some((group, from)), Some((wanted_group, to))) =
        (is.split_once('/'), wanted.split_once('/'))
    else {
        return Err(format!("{is:?} cannot become {wanted:?}"));
    };
    if group != wanted_group {
        return Err(format!(
            "{is} cannot become {wanted}: that is another group"
        ));
    }
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let kept_before = taken(&mut object);
    let mut kept = Map::new();
    for difference in DIFFERENCES
        .iter()
        .filter(|it| it.kind == kind && it.group == group)
    {
        let [earlier, later] = difference.fields;
        let is_later = |version: &str| version == difference.later;
        let (source, target, make, make_back) = match (is_later(from), is_later(to)) {
            (false, true) => (earlier, later, difference.forth, difference.back),
            (true, false) => (later, earlier, difference.back, difference.forth),
            _ => continue,
        };
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
            continue;
        };
        let Some(value) = spec.shift_remove(source) else {
            continue;
        };
        let known = kept_before.get(target);
        let outcome = match known.filter(|known| known["as"] == value) {
            Some(known) => known["was"].clone(),
            None => make(&value),
        };
        if make_back(&outcome) != value {
            kept.insert(source.to_owned(), json!({"was": value, "as": outcome}));
        }
        spec.insert(target.to_owned(), outcome);
    }
    if !kept.is_empty() {
        keep(&mut object, kept);
    }
    object["apiVersion"] = json!(wanted);
    Ok(object)
}

/// Writes the annotation.
fn keep(object: &mut Value, kept: Map<String, Value>) {
    let fields = object.as_object_mut();
    let metadata = fields.and_then(|it| it.entry("metadata").or_insert(json!({})).as_object_mut());
    let annotations =
        metadata.and_then(|it| it.entry("annotations").or_insert(json!({})).as_object_mut());
    if let Some(annotations) = annotations {
        annotations.insert(KEPT.to_owned(), json!(Value::Object(kept).to_string()));
    }
}

/// Takes the annotation out of an object. One that somebody spoilt says nothing.
fn taken(object: &mut Value) -> Map<String, Value> {
    let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    else {
        return Map::new();
    };
    let kept = annotations.shift_remove(KEPT);
    let is_empty = annotations.is_empty();
    if is_empty && let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.shift_remove("annotations");
    }
    let kept = kept.as_ref().and_then(Value::as_str);
    kept.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
