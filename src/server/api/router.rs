//! Every route of the API.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::http::{HeaderValue, Method, Uri, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

use super::error::{ApiError, Code};
use super::limits::{LARGEST_BODY, Turns, refuse};
use super::{
    catalogd, cluster, feeds, icons, install, openapi, operatorhub, packages, versions, writes,
};
use crate::server::hub::Hub;
use crate::server::limits::{Gate, limit};
use crate::server::writes::Writes;

/// What handlers share.
#[derive(Clone)]
struct ApiState {
    hub: Arc<Hub>,
    turns: Turns,
}

impl FromRef<ApiState> for Arc<Hub> {
    fn from_ref(state: &ApiState) -> Self {
        state.hub.clone()
    }
}

impl FromRef<ApiState> for Turns {
    fn from_ref(state: &ApiState) -> Self {
        state.turns.clone()
    }
}

impl FromRef<ApiState> for Writes {
    fn from_ref(state: &ApiState) -> Self {
        state.hub.writes().clone()
    }
}

/// The browse API, and those of OperatorHub.io and catalogd.
pub fn router(hub: Arc<Hub>) -> Router {
    let state = ApiState {
        hub,
        turns: Turns::default(),
    };
    let package = Router::new()
        .route("/", get(packages::get_package))
        .route("/channels", get(packages::list_channels))
        .route("/deprecations", get(packages::list_deprecations))
        .route("/graph", get(packages::get_upgrade_graph))
        .route("/dependencies", get(packages::get_dependencies))
        .route("/icon", get(icons::get_icon))
        .route("/feed.atom", get(feeds::get_package_feed))
        .route("/diff", get(versions::diff_versions))
        .route("/install", get(install::get_install))
        .route("/install.yaml", get(install::get_install_yaml))
        .route("/versions", get(versions::list_versions))
        .route("/versions/{version}", get(versions::get_version))
        .route(
            "/versions/{version}/permissions",
            get(versions::get_permissions),
        )
        .route("/versions/{version}/crds", get(versions::list_crds))
        .route("/versions/{version}/images", get(versions::list_images));
    Router::new()
        .route("/api/v1/openapi.json", get(openapi::get_document))
        .route("/api/v1/catalogs", get(packages::list_catalogs))
        .route("/api/v1/packages", get(packages::list_packages))
        .nest("/api/v1/packages/{package}", package)
        .route("/api/v1/feed.atom", get(feeds::get_feed))
        .route(
            "/api/v1/resolve",
            get(install::resolve_package).post(install::resolve_packages),
        )
        .route(
            "/api/v1/installations",
            get(cluster::list_installations).post(writes::install_package),
        )
        .route(
            "/api/v1/installations/{namespace}/{subscription}/approve",
            post(writes::approve_install_plan),
        )
        .route(
            "/api/v1/installations/{namespace}/{subscription}/uninstall",
            post(writes::uninstall_operator),
        )
        .route("/api/v1/visitor", get(writes::get_visitor))
        .route("/api/v1/events", get(cluster::watch_installations))
        // As OperatorHub.io has them
        .route("/api/operators", get(operatorhub::list_operators))
        .route("/api/operator", get(operatorhub::get_operator))
        .route("/install/{file}", get(operatorhub::get_install))
        .route(
            "/install/{channel}/{file}",
            get(operatorhub::get_channel_install),
        )
        // As catalogd has them
        .route("/catalogs/{catalog}/api/v1/all", get(catalogd::get_all))
        .route("/catalogs/{catalog}/api/v1/metas", get(catalogd::get_metas))
        .method_not_allowed_fallback(wrong_method)
        .route("/api", any(unknown))
        .route("/api/", any(unknown))
        .route("/api/{*unknown}", any(unknown))
        .with_state(state)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(Gate::new(refuse), limit))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(map_response(safe))
}

/// The answer where there is nothing.
async fn unknown(uri: Uri) -> Response {
    ApiError::new(
        Code::NotFound,
        format!("there is nothing at `{}`", uri.path()),
    )
    .hint("/api/v1/openapi.json tells what there is")
    .into_response()
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    let message = format!("{method} cannot be used with `{}`", uri.path());
    ApiError::new(Code::MethodNotAllowed, message).into_response()
}

fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    ApiError::new(Code::Internal, "something is broken here").into_response()
}

/// Nothing here is to be taken for what it is not, wherever it is opened.
async fn safe(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = |text| HeaderValue::from_static(text);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(header::REFERRER_POLICY, fixed("no-referrer"));
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let nothing = fixed("default-src 'none'; frame-ancestors 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, nothing);
    }
    response
}
