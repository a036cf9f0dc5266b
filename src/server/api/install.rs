//! How to install packages, and what would happen.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::{ApiError, Code, Problems};
use super::limits::Turns;
use super::request::{ApiPath, Asked, read};
use super::respond;
use crate::resolver::Component;
use crate::server::hub::views::{InstallManifests, InstallModeName};
use crate::server::hub::{Approval, Hub, InstallQuery, ResolveQuery, Wish, blocking};

/// All that decides how something is installed.
const PARAMETERS: [&str; 6] = [
    "catalog",
    "channel",
    "version",
    "namespace",
    "installMode",
    "approval",
];

/// Manifests and commands that install a package
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/install", operation_id = "get_install", tag = "install",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
        InstallQuery,
    ),
    responses((status = 200, body = InstallManifests), Problems),
)]
pub(super) async fn get_install(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    respond::json(&asked.headers, &manifests(hub, package, &asked).await?)
}

/// The manifests alone, for `kubectl apply -f`
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/install.yaml", operation_id = "get_install_yaml", tag = "install",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
        InstallQuery,
    ),
    responses((status = 200, body = String, content_type = "application/yaml"), Problems),
)]
pub(super) async fn get_install_yaml(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let manifests = manifests(hub, package, &asked).await?;
    Ok(yaml(&asked, manifests))
}

pub(super) fn yaml(asked: &Asked, manifests: InstallManifests) -> Response {
    let body = manifests.yaml.into_bytes();
    respond::bytes(&asked.headers, "application/yaml", "no-cache", body)
}

async fn manifests(
    hub: Arc<Hub>,
    package: String,
    asked: &Asked,
) -> Result<InstallManifests, ApiError> {
    asked.only(&PARAMETERS)?;
    let text = |key: &str| Ok::<_, ApiError>(asked.one(key)?.map(str::to_owned));
    let query = InstallQuery {
        channel: text("channel")?,
        version: text("version")?,
        namespace: text("namespace")?,
        install_mode: asked.word("installMode")?.map(install_mode).transpose()?,
        approval: asked.word("approval")?.map(approval).transpose()?,
    };
    let catalog = asked.catalog()?;
    Ok(blocking(move || hub.install(&package, catalog.as_deref(), &query)).await?)
}

fn install_mode(text: &str) -> Result<InstallModeName, ApiError> {
    let mut all = InstallModeName::ALL.into_iter();
    all.find(|mode| mode.as_str() == text).ok_or_else(|| {
        ApiError::new(Code::BadRequest, format!("`{text}` is no install mode")).hint(format!(
            "there are {}",
            InstallModeName::ALL.map(InstallModeName::as_str).join(", ")
        ))
    })
}

fn approval(text: &str) -> Result<Approval, ApiError> {
    match text {
        "Automatic" => Ok(Approval::Automatic),
        "Manual" => Ok(Approval::Manual),
        _ => Err(ApiError::new(
            Code::BadRequest,
            format!("`approval` is `Automatic` or `Manual`, not `{text}`"),
        )),
    }
}

/// What becomes of what is wanted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Resolution {
    /// Whether everything can be had.
    solved: bool,
    /// One for each independent part, as `chandler plan -o json` prints it: a solution with what is
    /// installed, or an explanation.
    components: Vec<Component>,
}

/// What would happen if a package were subscribed to
#[utoipa::path(
    get, path = "/api/v1/resolve", operation_id = "resolve_package", tag = "install",
    params(
        ("package" = String, Query, min_length = 1, max_length = 253, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; any otherwise"),
        ("channel" = Option<String>, Query, description = "The channel; the default channel first otherwise"),
        ("version" = Option<String>, Query, description = "A version or a range; any otherwise"),
        ("namespace" = Option<String>, Query, description = "The namespace; `default` otherwise"),
        ("kubeVersion" = Option<String>, Query, pattern = "^v?[0-9]{1,3}(\\.[0-9]{1,3}){0,2}$", description = "The version of Kubernetes; that of the cluster or any otherwise"),
    ),
    responses((status = 200, body = Resolution), Problems),
)]
pub(super) async fn resolve_package(
    State(hub): State<Arc<Hub>>,
    State(turns): State<Turns>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&[
        "package",
        "catalog",
        "channel",
        "version",
        "namespace",
        "kubeVersion",
    ])?;
    let text = |key: &str| Ok::<_, ApiError>(asked.one(key)?.map(str::to_owned));
    let query = ResolveQuery {
        subscriptions: vec![Wish {
            package: asked.needed("package")?.to_owned(),
            channel: text("channel")?,
            catalog: text("catalog")?,
            version: text("version")?,
        }],
        namespace: text("namespace")?,
        kube_version: text("kubeVersion")?,
    };
    respond::json(&asked.headers, &resolve(hub, &turns, query).await?)
}

/// What would happen if several packages were subscribed to
#[utoipa::path(
    post, path = "/api/v1/resolve", operation_id = "resolve_packages", tag = "install",
    request_body = ResolveQuery,
    responses(
        (status = 200, body = Resolution),
        (status = 415, body = super::error::Problem),
        Problems,
    ),
)]
pub(super) async fn resolve_packages(
    State(hub): State<Arc<Hub>>,
    State(turns): State<Turns>,
    asked: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let hint = "send {\"subscriptions\": [{\"package\": \"NAME\"}]}";
    let query: ResolveQuery = read(&asked.headers, body, hint)?;
    respond::json(&asked.headers, &resolve(hub, &turns, query).await?)
}

/// The resolver takes a core for a while: a few at a time.
async fn resolve(
    hub: Arc<Hub>,
    turns: &Turns,
    query: ResolveQuery,
) -> Result<Resolution, ApiError> {
    let turn = turns.resolving().await?;
    let components = blocking(move || {
        let _turn = turn;
        hub.resolve(&query)
    })
    .await?;
    let is_solved = |component: &Component| matches!(component, Component::Solved(_));
    Ok(Resolution {
        solved: components.iter().all(is_solved),
        components,
    })
}
