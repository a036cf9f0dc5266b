//! An API that is served beside the API server: one kind, `Tunnel`, in whichever group is asked for.

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

/// The one object that there is, in every namespace.
const NORTH: &str = "north";

type Place = Path<(String, String)>;
type Namespace = Path<(String, String, String)>;
type Name = Path<(String, String, String, String)>;

pub(crate) fn router(name: &str) -> Router {
    let [here, anywhere, one] = [(); 3].map(|()| name.to_owned());
    Router::new()
        .route(
            "/apis/{group}/{version}",
            get(async |Path((group, version)): Place| resources(&group, &version)),
        )
        .route(
            "/apis/{group}/{version}/tunnels",
            get(async move |Path((group, version)): Place| {
                list(&group, &version, tunnel(&anywhere, "default"))
            }),
        )
        .route(
            "/apis/{group}/{version}/namespaces/{namespace}/tunnels",
            get(async move |Path((group, version, namespace)): Namespace| {
                list(&group, &version, tunnel(&here, &namespace))
            }),
        )
        .route(
            "/apis/{group}/{version}/namespaces/{namespace}/tunnels/{name}",
            get(async move |Path((group, version, namespace, name)): Name| {
                if name != NORTH {
                    return not_found(&name);
                }
                let mut object = tunnel(&one, &namespace);
                object["apiVersion"] = json!(format!("{group}/{version}"));
                object["kind"] = json!("Tunnel");
                answer(StatusCode::OK, &object)
            }),
        )
}

fn answer(status: StatusCode, object: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (status, json, object.to_string()).into_response()
}

fn resources(group: &str, version: &str) -> Response {
    answer(
        StatusCode::OK,
        &json!({
            "kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": format!("{group}/{version}"),
            "resources": [{
                "name": "tunnels", "singularName": "tunnel", "namespaced": true, "kind": "Tunnel",
                "verbs": ["get", "list"],
            }],
        }),
    )
}

fn tunnel(dug_by: &str, namespace: &str) -> Value {
    json!({
        "metadata": {"name": NORTH, "namespace": namespace, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"dugBy": dug_by},
    })
}

fn list(group: &str, version: &str, mut item: Value) -> Response {
    let api_version = format!("{group}/{version}");
    item["apiVersion"] = json!(api_version);
    item["kind"] = json!("Tunnel");
    answer(
        StatusCode::OK,
        &json!({
            "kind": "TunnelList", "apiVersion": api_version,
            "metadata": {"resourceVersion": "1"}, "items": [item],
        }),
    )
}

fn not_found(name: &str) -> Response {
    answer(
        StatusCode::NOT_FOUND,
        &json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
            "reason": "NotFound", "message": format!("tunnels {name:?} not found"),
        }),
    )
}
