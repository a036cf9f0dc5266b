//! The API of catalogd, OLM v1's server of catalogs: whole catalogs as lines of JSON.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::error::{ApiError, Code, Problems};
use super::limits::Turns;
use super::request::{ApiPath, Asked};
use super::respond::knows;
use crate::catalog::index::{Index, PackageRecord};
use crate::oci::Digest;
use crate::resolver::Curation;
use crate::server::hub::{Catalog, Error, Hub, blocking};
use crate::server::limits::GoesOn;

/// How much is read ahead of whoever reads.
const CHUNK: usize = 256 << 10;

/// All of a catalog
#[utoipa::path(
    get, path = "/catalogs/{catalog}/api/v1/all", operation_id = "get_catalogd_all", tag = "compatibility",
    params(("catalog" = String, Path, description = "The catalog")),
    responses((status = 200, body = String, content_type = "application/jsonl"), Problems),
)]
pub(super) async fn get_all(
    State(hub): State<Arc<Hub>>,
    State(turns): State<Turns>,
    ApiPath(catalog): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    stream_of(&hub, &turns, &catalog, Filter::default(), &asked)
}

/// Blobs of a catalog by schema, package and name
#[utoipa::path(
    get, path = "/catalogs/{catalog}/api/v1/metas", operation_id = "get_catalogd_metas", tag = "compatibility",
    params(
        ("catalog" = String, Path, description = "The catalog"),
        ("schema" = Option<String>, Query, description = "Only blobs of this schema"),
        ("package" = Option<String>, Query, description = "Only blobs of this package"),
        ("name" = Option<String>, Query, description = "Only blobs of this name"),
    ),
    responses((status = 200, body = String, content_type = "application/jsonl"), Problems),
)]
pub(super) async fn get_metas(
    State(hub): State<Arc<Hub>>,
    State(turns): State<Turns>,
    ApiPath(catalog): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&["schema", "package", "name"])?;
    let text = |key: &str| Ok::<_, ApiError>(asked.one(key)?.map(str::to_owned));
    let filter = Filter {
        schema: text("schema")?,
        package: text("package")?,
        name: text("name")?,
    };
    stream_of(&hub, &turns, &catalog, filter, &asked)
}

fn stream_of(
    hub: &Hub,
    turns: &Turns,
    name: &str,
    filter: Filter,
    asked: &Asked,
) -> Result<Response, ApiError> {
    let catalogs = hub.supply().catalogs();
    let ids: Vec<String> = catalogs.iter().map(Catalog::id).collect();
    let mut meant = catalogs
        .into_iter()
        .filter(|catalog| catalog.is_called(name));
    let Some(catalog) = meant.next() else {
        let error = ApiError::new(Code::NotFound, format!("there is no catalog `{name}`"));
        return Err(error.hint(format!("there are {}", ids.join(", "))));
    };
    let Some(content) = catalog.content else {
        let why = catalog
            .problem
            .unwrap_or_else(|| "it was not read yet".to_owned());
        return Err(ApiError::new(
            Code::Unavailable,
            format!("catalog `{name}` cannot be served: {why}"),
        ));
    };
    // What is sent is decided by these. Whoever polls a catalog need not fetch it again and again.
    let decided = format!("{} {:?} {filter:?}", content.digest, catalog.curation);
    let tag = format!("W/\"{}\"", &Digest::of(decided.as_bytes()).hex()[..32]);
    let tag = HeaderValue::from_str(&tag).map_err(Error::internal)?;
    if tag.to_str().is_ok_and(|tag| knows(&asked.headers, tag)) {
        let mut unchanged = StatusCode::NOT_MODIFIED.into_response();
        unchanged.headers_mut().insert(header::ETAG, tag);
        return Ok(unchanged);
    }
    let reader = Reader {
        index: content.index,
        curation: catalog.curation,
        filter,
        package: 0,
        blob: 0,
        record: None,
        has_loose: false,
        _turn: turns.catalog()?,
    };
    let chunks = stream::try_unfold(reader, |mut reader| {
        blocking(move || {
            let chunk = reader.chunk()?;
            Ok((!chunk.is_empty()).then(|| (Bytes::from(chunk), reader)))
        })
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let kind = HeaderValue::from_static("application/jsonl");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.headers_mut().insert(header::ETAG, tag);
    response.extensions_mut().insert(GoesOn);
    Ok(response)
}

/// Which blobs.
#[derive(Debug, Default)]
struct Filter {
    schema: Option<String>,
    package: Option<String>,
    name: Option<String>,
}

impl Filter {
    fn may_take_bundle(&self, name: &str) -> bool {
        let is = |wanted: &Option<String>, own: &str| wanted.as_ref().is_none_or(|it| it == own);
        is(&self.schema, "olm.bundle") && is(&self.name, name)
    }

    fn takes(&self, blob: &Value) -> bool {
        let text = |key: &str| blob.get(key).and_then(Value::as_str).unwrap_or_default();
        // A package belongs to itself.
        let package = match text("package") {
            "" if text("schema") == "olm.package" => text("name"),
            package => package,
        };
        let is = |wanted: &Option<String>, own: &str| wanted.as_ref().is_none_or(|it| it == own);
        is(&self.schema, text("schema"))
            && is(&self.package, package)
            && is(&self.name, text("name"))
    }
}

/// Reads a catalog a few blobs at a time.
struct Reader {
    index: Arc<Index>,
    curation: Curation,
    filter: Filter,
    /// Which package is next, and which of its blobs.
    package: usize,
    blob: usize,
    record: Option<PackageRecord>,
    /// Whether what belongs to no package was read.
    has_loose: bool,
    _turn: OwnedSemaphorePermit,
}

impl Reader {
    /// The next lines; none at the end.
    fn chunk(&mut self) -> Result<Vec<u8>, Error> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK {
            self.turn_to_next_package()?;
            let Some(record) = &self.record else {
                if !std::mem::replace(&mut self.has_loose, true) {
                    for blob in self.index.loose_blobs() {
                        line(&self.filter, &blob?, &mut chunk);
                    }
                }
                break;
            };
            if self.blob >= record.blobs() {
                self.record = None;
                self.package += 1;
                self.blob = 0;
                continue;
            }
            // Most blobs are bundles, and their names are known without reading them.
            let bundle = record.bundle_of_blob(self.blob);
            if bundle.is_none_or(|bundle| self.filter.may_take_bundle(&bundle.name)) {
                line(
                    &self.filter,
                    &self.index.nth_blob(record, self.blob)?,
                    &mut chunk,
                );
            }
            self.blob += 1;
        }
        Ok(chunk)
    }

    fn turn_to_next_package(&mut self) -> Result<(), Error> {
        while self.record.is_none() {
            let Some(summary) = self.index.packages().get(self.package) else {
                return Ok(());
            };
            let wanted = self.filter.package.as_ref();
            let is_wanted = wanted.is_none_or(|wanted| *wanted == summary.name);
            if is_wanted && self.curation.allows(&summary.name) {
                self.record = self.index.package(&summary.name)?;
            }
            if self.record.is_none() {
                self.package += 1;
            }
        }
        Ok(())
    }
}

fn line(filter: &Filter, blob: &Value, chunk: &mut Vec<u8>) {
    if filter.takes(blob) {
        // Values always become JSON.
        let _ = serde_json::to_writer(&mut *chunk, blob);
        chunk.push(b'\n');
    }
}
