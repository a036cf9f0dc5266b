//! The API of OperatorHub.io, for what was written for it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::error::{ApiError, Code, Problems};
use super::install::yaml;
use super::request::{ApiPath, Asked};
use super::respond;
use crate::server::hub::views::{
    CatalogView, CrdView, InstallModeName, LinkView, MaintainerView, PackageCard, PackagePage,
    VersionView,
};
use crate::server::hub::{Hub, InstallQuery, PackageQuery, blocking};

/// More packages than any catalog has.
const ALL: usize = 100_000;

/// All operators.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Operators {
    operators: Vec<OperatorCard>,
}

/// An operator in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperatorCard {
    name: String,
    display_name: String,
    img_url: String,
    provider: String,
    capability_level: String,
    description: String,
    categories: Vec<String>,
    keywords: Vec<String>,
    package_name: String,
}

/// An operator.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OperatorDetail {
    operator: Operator,
}

#[allow(clippy::struct_field_names, reason = "the names are OperatorHub.io's")]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "OperatorHub.io calls them so")]
struct Operator {
    name: String,
    display_name: String,
    img_url: String,
    thumb_url: String,
    long_description: String,
    provider: String,
    version: String,
    version_for_compare: String,
    k8s_min_version: String,
    k8s_max_version: String,
    replaces: String,
    capability_level: String,
    links: Vec<LinkView>,
    repository: String,
    maintainers: Vec<MaintainerView>,
    description: String,
    categories: Vec<String>,
    keywords: Vec<String>,
    created_at: String,
    container_image: String,
    custom_resource_definitions: Vec<Crd>,
    package_name: String,
    channel: String,
    global_operator: bool,
    channels: Vec<Channel>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Crd {
    name: String,
    kind: String,
    display_name: String,
    description: String,
    yaml_example: Option<Value>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Channel {
    name: String,
    #[serde(rename = "currentCSV")]
    current_csv: String,
    versions: Vec<Version>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Version {
    name: String,
    version: String,
}

/// All operators, as OperatorHub.io lists them
#[utoipa::path(
    get, path = "/api/operators", operation_id = "list_operatorhub_operators", tag = "compatibility",
    responses((status = 200, body = Operators), Problems),
)]
pub(super) async fn list_operators(
    State(hub): State<Arc<Hub>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let query = PackageQuery {
        limit: Some(ALL),
        ..PackageQuery::default()
    };
    let (list, catalogs) = blocking(move || Ok((hub.packages(&query)?, hub.catalogs()))).await?;
    let operators = once(list.packages, &catalogs);
    let operators = operators.into_iter().map(card).collect();
    respond::json(&asked.headers, &Operators { operators })
}

/// Each package once: that of the first catalog, which is the one that `/api/operator` describes.
fn once(cards: Vec<PackageCard>, catalogs: &[CatalogView]) -> Vec<PackageCard> {
    let places: HashMap<&str, usize> = catalogs
        .iter()
        .map(|catalog| catalog.id.as_str())
        .zip(0..)
        .collect();
    let place = |card: &PackageCard| places.get(card.catalog.as_str()).copied();
    let mut first: HashMap<String, Option<usize>> = HashMap::new();
    for card in &cards {
        let best = first.entry(card.name.clone()).or_insert(place(card));
        *best = place(card).min(*best);
    }
    let mut cards = cards;
    cards.retain(|card| first.get(&card.name) == Some(&place(card)));
    cards
}

fn card(card: PackageCard) -> OperatorCard {
    OperatorCard {
        name: card.head,
        display_name: card.display_name,
        img_url: card.icon.unwrap_or_default(),
        provider: card.provider,
        capability_level: card.capability_level,
        description: card.description,
        categories: card.categories,
        keywords: card.keywords,
        package_name: card.name,
    }
}

/// An operator, as OperatorHub.io describes it
#[utoipa::path(
    get, path = "/api/operator", operation_id = "get_operatorhub_operator", tag = "compatibility",
    params(
        ("packageName" = String, Query, min_length = 1, description = "The package"),
        ("channel" = Option<String>, Query, description = "The channel; the default channel otherwise"),
        ("name" = Option<String>, Query, description = "The ClusterServiceVersion; the head of the channel otherwise"),
    ),
    responses((status = 200, body = OperatorDetail), Problems),
)]
pub(super) async fn get_operator(
    State(hub): State<Arc<Hub>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let package = asked.needed("packageName")?.to_owned();
    let channel = asked.one("channel")?.map(str::to_owned);
    let name = asked.one("name")?.map(str::to_owned);
    let of = hub.clone();
    let (page, channel, version) = blocking(move || {
        let page = of.package(&package, None)?;
        let channel = channel.unwrap_or_else(|| page.card.default_channel.clone());
        let known = page.channels.iter().find(|own| own.name == channel);
        let head = known.map(|own| own.head.clone()).ok_or_else(|| {
            crate::server::hub::Error::not_found(format!(
                "package `{package}` has no channel `{channel}`"
            ))
        })?;
        let catalog = Some(page.card.catalog.as_str());
        let version = of.package_version(&package, catalog, &name.unwrap_or(head))?;
        Ok((page, channel, version))
    })
    .await?;
    let catalog = Some(page.card.catalog.as_str());
    let crds = hub
        .crds(&page.card.name, catalog, Some(&version.summary.name))
        .await?;
    let detail = OperatorDetail {
        operator: operator(page, channel, version, crds.crds),
    };
    respond::json(&asked.headers, &detail)
}

fn operator(
    page: PackagePage,
    channel: String,
    version: VersionView,
    crds: Vec<CrdView>,
) -> Operator {
    let about = version.about;
    let image = page.card.icon.unwrap_or_default();
    let entries = page.channels.iter().filter(|own| own.name == channel);
    let mut entries = entries.flat_map(|own| &own.entries);
    let entry = entries.find(|entry| entry.name == version.summary.name);
    Operator {
        replaces: entry
            .map(|entry| entry.replaces.clone())
            .unwrap_or_default(),
        global_operator: version
            .summary
            .install_modes
            .contains(&InstallModeName::AllNamespaces),
        name: version.summary.name,
        display_name: about.display_name,
        img_url: image.clone(),
        thumb_url: image,
        long_description: about.description,
        provider: about.provider.name,
        version_for_compare: version.summary.version.clone(),
        version: version.summary.version,
        k8s_min_version: version.summary.min_kube_version,
        k8s_max_version: String::new(),
        capability_level: about.capability_level,
        links: about.links,
        repository: about.repository,
        maintainers: about.maintainers,
        description: about.summary,
        categories: about.categories,
        keywords: about.keywords,
        created_at: about.created_at,
        container_image: about.container_image,
        custom_resource_definitions: crds.into_iter().map(crd).collect(),
        package_name: page.card.name,
        channel,
        channels: page
            .channels
            .into_iter()
            .map(|channel| Channel {
                name: channel.name,
                current_csv: channel.head,
                versions: channel
                    .entries
                    .into_iter()
                    .map(|entry| Version {
                        name: entry.name,
                        version: entry.version,
                    })
                    .collect(),
            })
            .collect(),
    }
}

fn crd(crd: CrdView) -> Crd {
    Crd {
        name: crd.name,
        kind: crd.kind,
        display_name: crd.display_name,
        description: crd.description,
        yaml_example: crd
            .examples
            .into_iter()
            .next()
            .map(|example| example.object),
    }
}

/// Manifests that install a package, as OperatorHub.io has them
#[utoipa::path(
    get, path = "/install/{file}", operation_id = "get_operatorhub_install", tag = "compatibility",
    params(("file" = String, Path, description = "`PACKAGE.yaml`")),
    responses((status = 200, body = String, content_type = "application/yaml"), Problems),
)]
pub(super) async fn get_install(
    State(hub): State<Arc<Hub>>,
    ApiPath(file): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    manifests(hub, None, &file, &asked).await
}

/// Manifests that install a package from a channel, as OperatorHub.io has them
#[utoipa::path(
    get, path = "/install/{channel}/{file}", operation_id = "get_operatorhub_channel_install", tag = "compatibility",
    params(
        ("channel" = String, Path, description = "The channel"),
        ("file" = String, Path, description = "`PACKAGE.yaml`"),
    ),
    responses((status = 200, body = String, content_type = "application/yaml"), Problems),
)]
pub(super) async fn get_channel_install(
    State(hub): State<Arc<Hub>>,
    ApiPath((channel, file)): ApiPath<(String, String)>,
    asked: Asked,
) -> Result<Response, ApiError> {
    manifests(hub, Some(channel), &file, &asked).await
}

async fn manifests(
    hub: Arc<Hub>,
    channel: Option<String>,
    file: &str,
    asked: &Asked,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let Some(package) = file.strip_suffix(".yaml").map(str::to_owned) else {
        let error = ApiError::new(Code::NotFound, format!("there is no `{file}` here"));
        return Err(error.hint("ask for PACKAGE.yaml"));
    };
    let query = InstallQuery {
        channel,
        ..InstallQuery::default()
    };
    let manifests = blocking(move || hub.install(&package, None, &query)).await?;
    Ok(yaml(asked, manifests))
}
