//! `/api/v1/packages` and what is below it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::error::{ApiError, Problems};
use super::request::{ApiPath, Asked};
use super::respond;
use crate::server::hub::views::{
    CatalogView, ChannelView, DependencyGraph, DeprecationView, PackageList, PackagePage,
    UpgradeGraph,
};
use crate::server::hub::{Hub, PackageQuery, blocking};

/// List catalogs
#[utoipa::path(
    get, path = "/api/v1/catalogs", operation_id = "list_catalogs", tag = "catalogs",
    responses((status = 200, body = [CatalogView]), Problems),
)]
pub(super) async fn list_catalogs(
    State(hub): State<Arc<Hub>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let catalogs = blocking(move || Ok(hub.catalogs())).await?;
    respond::json(&asked.headers, &catalogs)
}

/// Search, filter and list packages
#[utoipa::path(
    get, path = "/api/v1/packages", operation_id = "list_packages", tag = "packages",
    params(PackageQuery),
    responses((status = 200, body = PackageList), Problems),
)]
pub(super) async fn list_packages(
    State(hub): State<Arc<Hub>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let query = PackageQuery::parse(&asked.raw)?;
    let list = blocking(move || hub.packages(&query)).await?;
    respond::json(&asked.headers, &list)
}

/// A package with its channels and versions
#[utoipa::path(
    get, path = "/api/v1/packages/{package}", operation_id = "get_package", tag = "packages",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = PackagePage), Problems),
)]
pub(super) async fn get_package(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    respond::json(&asked.headers, &page(hub, package, &asked).await?)
}

/// The channels of a package
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/channels", operation_id = "list_channels", tag = "packages",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = [ChannelView]), Problems),
)]
pub(super) async fn list_channels(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    respond::json(&asked.headers, &page(hub, package, &asked).await?.channels)
}

/// What of a package should no longer be used
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/deprecations", operation_id = "list_deprecations", tag = "packages",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = [DeprecationView]), Problems),
)]
pub(super) async fn list_deprecations(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let page = page(hub, package, &asked).await?;
    respond::json(&asked.headers, &page.deprecations)
}

pub(super) async fn page(
    hub: Arc<Hub>,
    package: String,
    asked: &Asked,
) -> Result<PackagePage, ApiError> {
    let catalog = asked.only_catalog()?;
    Ok(blocking(move || hub.package(&package, catalog.as_deref())).await?)
}

/// How the versions of a package lead to each other
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/graph", operation_id = "get_upgrade_graph", tag = "packages",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
        ("channel" = Option<String>, Query, description = "Only this channel"),
    ),
    responses((status = 200, body = UpgradeGraph), Problems),
)]
pub(super) async fn get_upgrade_graph(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&["catalog", "channel"])?;
    let (catalog, channel) = (asked.catalog()?, asked.one("channel")?.map(str::to_owned));
    let graph =
        blocking(move || hub.upgrade_graph(&package, catalog.as_deref(), channel.as_deref()))
            .await?;
    respond::json(&asked.headers, &graph)
}

/// What a package needs, and who needs it
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/dependencies", operation_id = "get_dependencies", tag = "packages",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
        ("version" = Option<String>, Query, description = "The version or the name of its bundle; the head of the default channel otherwise"),
    ),
    responses((status = 200, body = DependencyGraph), Problems),
)]
pub(super) async fn get_dependencies(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&["catalog", "version"])?;
    let (catalog, version) = (asked.catalog()?, asked.one("version")?.map(str::to_owned));
    let graph =
        blocking(move || hub.dependencies(&package, catalog.as_deref(), version.as_deref()))
            .await?;
    respond::json(&asked.headers, &graph)
}
