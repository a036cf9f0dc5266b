//! The page: what people see of the hub. HTML is made here, out of the [`views`](super::hub::views)
//! that programs get as JSON; scripts only make it quicker.
//!
//! One file per page. What catalogs say is escaped by the templates; descriptions, which are Markdown,
//! go through [`markdown`]; pictures are served by the API and only ever shown as pictures.

mod apis;
mod assets;
mod dependencies;
mod diff;
mod drawing;
mod failure;
mod frame;
mod fresh;
mod headers;
mod home;
mod images;
mod installed;
mod markdown;
mod name;
mod overview;
mod permissions;
mod rights;
mod shell;
mod versions;
mod words;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

use super::hub::{Error, Hub};
use super::limits::{Gate, limit};
use failure::Failure;
use name::Name;

/// All pages of a hub, and one that says that there is no such page.
pub fn router(hub: Arc<Hub>) -> Router {
    let by_catalog = Router::new()
        .route("/", get(home::page))
        .route("/browse", get(home::part))
        .route("/installed", get(installed::page))
        .route("/packages/{package}", get(overview::page))
        .route("/packages/{package}/versions", get(versions::page))
        .route("/packages/{package}/dependencies", get(dependencies::page))
        .route("/packages/{package}/images", get(images::page))
        .route_layer(from_fn_with_state(hub.clone(), fresh::or_unchanged));
    // Bundles are read for these, which may fail now and work later.
    let by_bundle = Router::new()
        .route("/packages/{package}/apis", get(apis::page))
        .route("/packages/{package}/permissions", get(permissions::page))
        .route("/packages/{package}/diff", get(diff::page));
    by_catalog
        .merge(by_bundle)
        .route("/operator/{package}", get(moved))
        .route("/assets/{folder}/{file}", get(assets::serve))
        .method_not_allowed_fallback(failure::wrong_method)
        .fallback(failure::nothing_here)
        .layer(CatchPanicLayer::custom(failure::panicked))
        .layer(from_fn(headers::add))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(Gate::new(failure::refused), limit))
        .with_state(hub)
}

/// Where OperatorHub.io has its packages.
async fn moved(Name(package): Name) -> Redirect {
    Redirect::permanent(&words::package_path(&package))
}

/// A template as an answer.
fn html(page: &impl Template) -> Result<Response, Failure> {
    match page.render() {
        Ok(text) => Ok(Html(text).into_response()),
        Err(error) => Err(Error::internal(format!("the page cannot be drawn: {error}")).into()),
    }
}
