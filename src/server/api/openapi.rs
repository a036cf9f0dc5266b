//! The `OpenAPI` document, out of the handlers and their types.

use axum::Json;
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{catalogd, cluster, feeds, icons, install, operatorhub, packages, versions, writes};

/// The document. Whoever adds a route adds it here: a test compares this with the router.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Chandler",
        description = "What operators there are, in which versions, what they may do and how they are installed.",
    ),
    paths(
        packages::list_catalogs,
        packages::list_packages,
        packages::get_package,
        packages::list_channels,
        packages::list_deprecations,
        packages::get_upgrade_graph,
        packages::get_dependencies,
        icons::get_icon,
        feeds::get_package_feed,
        feeds::get_feed,
        versions::list_versions,
        versions::get_version,
        versions::get_permissions,
        versions::list_crds,
        versions::list_images,
        versions::diff_versions,
        install::get_install,
        install::get_install_yaml,
        install::resolve_package,
        install::resolve_packages,
        cluster::list_installations,
        cluster::watch_installations,
        writes::get_visitor,
        writes::install_package,
        writes::approve_install_plan,
        writes::uninstall_operator,
        operatorhub::list_operators,
        operatorhub::get_operator,
        operatorhub::get_install,
        operatorhub::get_channel_install,
        catalogd::get_all,
        catalogd::get_metas,
    ),
    modifiers(&OwnToken),
)]
struct Document;

/// Visitors write with a token of their own.
struct OwnToken;

impl Modify for OwnToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "A Kubernetes token of the visitor, which is passed on to the API server",
            ))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// The document.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

pub(super) async fn get_document() -> impl IntoResponse {
    Json(document())
}
