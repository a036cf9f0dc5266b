//! Answers about packages: lists, single ones and pictures.
//!
//! A list is written package by package while it is sent, whatever its form: of a catalog of any
//! size, only one package is in memory for each list that somebody reads.

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderValue, header};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::catalogs::{Catalog, Offer, offers};
use super::negotiate::{Form, Format, Shape};
use super::request::Query;
use super::selector::Wanted;
use super::status::Refusal;
use super::table::{self, Include};
use super::{API_VERSION, KIND};
use crate::api::package_manifest::PackageManifest;
use crate::catalog::index;
use crate::yaml;

/// What a list consists of, besides its items.
#[derive(Debug, Clone, Copy)]
struct Frame {
    form: Form,
    include: Include,
    now: Timestamp,
}

/// The packages that a namespace is offered, or everybody if none is named.
pub(super) fn list(
    catalogs: Vec<Catalog>,
    namespace: Option<&str>,
    query: &Query,
    form: Form,
) -> Result<Response, Refusal> {
    let wanted =
        Wanted::read(&query.label_selector, &query.field_selector).map_err(Refusal::bad_request)?;
    let frame = Frame {
        form,
        include: Include::read(&query.include_object).map_err(Refusal::bad_request)?,
        now: Timestamp::now(),
    };
    let mut offers = offers(catalogs, namespace, wanted.name());
    offers.retain(|offer| wanted.has_name(&offer.package));
    let body = Body::from_stream(frame.stream(offers, wanted));
    Ok(answer(form.format, body))
}

/// One package: of several of that name, the first.
pub(super) async fn get(
    catalogs: Vec<Catalog>,
    namespace: &str,
    name: &str,
    query: &Query,
    form: Form,
) -> Result<Response, Refusal> {
    let include = Include::read(&query.include_object).map_err(Refusal::bad_request)?;
    let offer = first(catalogs, namespace, name)?;
    let read = blocking(move || offer.manifest()).await?;
    let package = read.ok_or_else(|| Refusal::no_package(name))?;
    let frame = Frame {
        form,
        include,
        now: Timestamp::now(),
    };
    let value = match form.shape {
        Shape::Table(version) => json!({
            "kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": {},
            "columnDefinitions": table::columns(), "rows": [frame.item(&package)],
        }),
        _ => frame.item(&package),
    };
    Ok(answer(
        form.format,
        Body::from(written(form.format, &value)?),
    ))
}

/// The package of a name that a namespace has first.
pub(super) fn first(catalogs: Vec<Catalog>, namespace: &str, name: &str) -> Result<Offer, Refusal> {
    let offers = offers(catalogs, Some(namespace), Some(name));
    let first = offers.into_iter().next();
    first.ok_or_else(|| Refusal::no_package(name))
}

/// Files are read on threads that may wait for a disk.
pub(super) async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, index::Error> + Send + 'static,
) -> Result<T, Refusal> {
    let outcome = tokio::task::spawn_blocking(read).await;
    let failed = |error: &dyn std::fmt::Display| {
        tracing::warn!(%error, "a package cannot be read");
        Refusal::internal(format!("the package cannot be read: {error}"))
    };
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

impl Frame {
    fn stream(
        self,
        offers: Vec<Offer>,
        wanted: Wanted,
    ) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
        let head = stream::iter([Ok(Bytes::from(self.head()))]);
        let rest = stream::unfold(
            Some((offers.into_iter(), wanted, true)),
            move |reading| async move {
                let (mut offers, wanted, is_first) = reading?;
                for offer in offers.by_ref() {
                    let chosen = wanted.clone();
                    let read = blocking(move || {
                        let package = offer.manifest()?;
                        Ok(package.filter(|it| chosen.has_labels(it.labels())))
                    });
                    let text = match read.await {
                        Ok(None) => continue,
                        Ok(Some(package)) => self.one(&package, is_first),
                        Err(refusal) => Err(refusal),
                    };
                    // The answer began as a good one: cutting it short is all that is left.
                    let text = text.map_err(|_| std::io::Error::other("a package cannot be read"));
                    return Some((text, Some((offers, wanted, false))));
                }
                Some((Ok(Bytes::from_static(self.tail(is_first))), None))
            },
        );
        head.chain(rest)
    }

    /// Everything before the first item.
    fn head(self) -> String {
        let (kind, api_version) = match self.form.shape {
            Shape::Table(version) => ("Table".to_owned(), format!("meta.k8s.io/{version}")),
            Shape::Metadata(version) => (
                "PartialObjectMetadataList".to_owned(),
                format!("meta.k8s.io/{version}"),
            ),
            _ => (format!("{KIND}List"), API_VERSION.to_owned()),
        };
        let columns = table::columns();
        let columns = matches!(self.form.shape, Shape::Table(_)).then_some(columns);
        match self.form.format {
            Format::Json => {
                let columns = columns.map(|it| format!("\"columnDefinitions\":{it},"));
                format!(
                    "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{{}},{}\"{}\":[",
                    columns.unwrap_or_default(),
                    self.items()
                )
            }
            // JSON is YAML, and has no line ends that could disturb it.
            Format::Yaml => {
                let columns = columns.map(|it| format!("columnDefinitions: {it}\n"));
                format!(
                    "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{}}\n{}{}:",
                    columns.unwrap_or_default(),
                    self.items()
                )
            }
        }
    }

    fn items(self) -> &'static str {
        match self.form.shape {
            Shape::Table(_) => "rows",
            _ => "items",
        }
    }

    /// Everything after the last item, if there was one.
    fn tail(self, is_empty: bool) -> &'static [u8] {
        match self.form.format {
            Format::Json => b"]}\n",
            Format::Yaml if is_empty => b" []\n",
            Format::Yaml => b"",
        }
    }

    fn one(self, package: &PackageManifest, is_first: bool) -> Result<Bytes, Refusal> {
        let item = written(self.form.format, &self.item(package))?;
        let text = match self.form.format {
            Format::Json if is_first => item,
            Format::Json => format!(",{item}"),
            Format::Yaml if is_first => format!("\n{}", as_entry(&item)),
            Format::Yaml => as_entry(&item),
        };
        Ok(Bytes::from(text))
    }

    /// A package in the shape that is wanted.
    fn item(self, package: &PackageManifest) -> Value {
        match self.form.shape {
            Shape::Table(version) => table::row(package, self.include, version, self.now),
            Shape::Metadata(version) => table::metadata(package, version),
            _ => json!(package),
        }
    }
}

/// A document as an entry of a list.
fn as_entry(document: &str) -> String {
    let mut entry = String::with_capacity(document.len() + 64);
    for (at, line) in document.lines().enumerate() {
        let indent = if at == 0 { "- " } else { "  " };
        // Blank lines are part of a text: they need no indent, and any is one too much.
        if !line.is_empty() {
            entry.push_str(indent);
            entry.push_str(line);
        }
        entry.push('\n');
    }
    entry
}

/// A value as text.
pub(super) fn written(format: Format, value: &Value) -> Result<String, Refusal> {
    match format {
        Format::Json => Ok(value.to_string()),
        Format::Yaml => yaml::to_string(value)
            .map_err(|error| Refusal::internal(format!("it cannot be written as YAML: {error}"))),
    }
}

/// An answer of this content.
pub(super) fn answer(format: Format, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(format.content_type());
    headers.insert(header::CONTENT_TYPE, kind);
    // As API servers say of everything: it is only for the one who asked.
    let private = HeaderValue::from_static("no-cache, private");
    headers.insert(header::CACHE_CONTROL, private);
    response
}
