//! `/api/v1/packages/{package}/versions` and what is below it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::error::{ApiError, Problems};
use super::packages::page;
use super::request::{ApiPath, Asked};
use super::respond;
use crate::server::hub::views::{
    Crds, Permissions, RelatedImages, VersionDiff, VersionSummary, VersionView,
};
use crate::server::hub::{Hub, blocking};

/// The versions of a package, the newest first
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/versions", operation_id = "list_versions", tag = "versions",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = [VersionSummary]), Problems),
)]
pub(super) async fn list_versions(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    respond::json(&asked.headers, &page(hub, package, &asked).await?.versions)
}

/// A version of a package
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/versions/{version}", operation_id = "get_version", tag = "versions",
    params(
        ("package" = String, Path, description = "The package"),
        ("version" = String, Path, description = "The version, or the name of its bundle"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = VersionView), Problems),
)]
pub(super) async fn get_version(
    State(hub): State<Arc<Hub>>,
    ApiPath((package, version)): ApiPath<(String, String)>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let catalog = asked.only_catalog()?;
    let view =
        blocking(move || hub.package_version(&package, catalog.as_deref(), &version)).await?;
    respond::json(&asked.headers, &view)
}

/// What a version may do in a cluster, in plain words
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/versions/{version}/permissions", operation_id = "get_permissions", tag = "versions",
    params(
        ("package" = String, Path, description = "The package"),
        ("version" = String, Path, description = "The version, or the name of its bundle"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = Permissions), Problems),
)]
pub(super) async fn get_permissions(
    State(hub): State<Arc<Hub>>,
    ApiPath((package, version)): ApiPath<(String, String)>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let catalog = asked.only_catalog()?;
    let found = hub
        .permissions(&package, catalog.as_deref(), Some(&version))
        .await?;
    respond::json(&asked.headers, &found)
}

/// The APIs that a version brings, with the fields of their objects and examples
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/versions/{version}/crds", operation_id = "list_crds", tag = "versions",
    params(
        ("package" = String, Path, description = "The package"),
        ("version" = String, Path, description = "The version, or the name of its bundle"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = Crds), Problems),
)]
pub(super) async fn list_crds(
    State(hub): State<Arc<Hub>>,
    ApiPath((package, version)): ApiPath<(String, String)>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let catalog = asked.only_catalog()?;
    let found = hub
        .crds(&package, catalog.as_deref(), Some(&version))
        .await?;
    respond::json(&asked.headers, &found)
}

/// The images that a version uses
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/versions/{version}/images", operation_id = "list_images", tag = "versions",
    params(
        ("package" = String, Path, description = "The package"),
        ("version" = String, Path, description = "The version, or the name of its bundle"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = RelatedImages), Problems),
)]
pub(super) async fn list_images(
    State(hub): State<Arc<Hub>>,
    ApiPath((package, version)): ApiPath<(String, String)>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let catalog = asked.only_catalog()?;
    let images =
        blocking(move || hub.related_images(&package, catalog.as_deref(), Some(&version))).await?;
    respond::json(&asked.headers, &images)
}

/// What is different between two versions: CRDs, rights, images
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/diff", operation_id = "diff_versions", tag = "versions",
    params(
        ("package" = String, Path, description = "The package"),
        ("from" = String, Query, min_length = 1, description = "The version before, or the name of its bundle"),
        ("to" = String, Query, min_length = 1, description = "The version after, or the name of its bundle"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = VersionDiff), Problems),
)]
pub(super) async fn diff_versions(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&["catalog", "from", "to"])?;
    let catalog = asked.catalog()?;
    let (from, to) = (asked.needed("from")?, asked.needed("to")?);
    let diff = hub.diff(&package, catalog.as_deref(), from, to).await?;
    respond::json(&asked.headers, &diff)
}
