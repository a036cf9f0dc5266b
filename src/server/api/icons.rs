//! Pictures, which are the work of strangers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::error::{ApiError, Code, Problems};
use super::request::{ApiPath, Asked};
use super::respond;
use crate::server::hub::{Hub, blocking};

/// An SVG may hold scripts and requests. In an `<img>` they do nothing; this makes sure of it for
/// whoever opens the picture itself.
const INERT: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The picture of a package
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/icon", operation_id = "get_icon", tag = "packages",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
        ("size" = Option<String>, Query, pattern = "^(small)?$", description = "`small` is enough for a card; as it is otherwise"),
    ),
    responses(
        (status = 200, content(
            (Vec<u8> = "image/svg+xml"),
            (Vec<u8> = "image/png"),
            (Vec<u8> = "image/jpeg"),
            (Vec<u8> = "image/gif"),
            (Vec<u8> = "image/webp"),
            (Vec<u8> = "image/x-icon"),
        )),
        Problems,
    ),
)]
pub(super) async fn get_icon(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&["catalog", "size"])?;
    let catalog = asked.catalog()?;
    let is_small = match asked.one("size")? {
        None => false,
        Some("small") => true,
        Some(other) => {
            let message = format!("`size` is `small` or left out, not `{other}`");
            return Err(ApiError::new(Code::BadRequest, message));
        }
    };
    let icon = blocking(move || {
        if is_small {
            hub.small_icon(&package, catalog.as_deref())
        } else {
            hub.icon(&package, catalog.as_deref())
        }
    })
    .await?;
    let mut response = respond::bytes(
        &asked.headers,
        icon.media_type,
        "public, max-age=3600",
        icon.bytes,
    );
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(INERT),
    );
    Ok(response)
}
