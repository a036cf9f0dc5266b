//! The aggregated API `packages.operators.coreos.com`: the packages of all catalogs as objects.
//!
//! ```text
//! kubectl ─▶ API server ─▶ tls ─▶ authentication ─▶ authorization ─▶ answer ─▶ catalogs
//!              ▲  (says who asks)      whom to believe, and the certificate to serve with,
//!              └── asked who may what  come from the cluster and change while it runs (follow)
//! ```
//!
//! Nothing is stored and nothing is kept in memory: an object is made of the catalog's index when
//! somebody asks for it. Objects can be looked at (`get`, `list`) and have a picture
//! (`packagemanifests/icon`); they cannot be watched, as those of OLM cannot.

mod answer;
mod authentication;
mod authorization;
mod brief;
mod catalogs;
mod csv;
mod discovery;
mod follow;
mod icon;
mod manifest;
mod negotiate;
mod openapi;
mod request;
mod reviews;
mod selector;
mod status;
mod table;
#[cfg(test)]
mod tests;
mod tls;

pub use authentication::{Trust, TrustError, User};
pub use catalogs::{Catalog, Catalogs};
pub use follow::follow;
pub use request::Resource;
pub use reviews::{Action, Object, Reviews, Verdict};

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use rustls::pki_types::{CertificateDer, UnixTime};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::authentication::{Authenticator, Unknown};
use self::authorization::Authorizer;
use self::negotiate::{Form, Format, OFFERED, Shape, negotiate};
use self::request::{Request, Target};
use self::selector::Wanted;
use self::status::Refusal;
use self::tls::Serving;

const GROUP: &str = "packages.operators.coreos.com";
const VERSION: &str = "v1";
const API_VERSION: &str = "packages.operators.coreos.com/v1";
const RESOURCE: &str = "packagemanifests";
const SINGULAR: &str = "packagemanifest";
const KIND: &str = "PackageManifest";

/// The API of packages.
#[derive(Debug)]
pub struct PackageApi {
    catalogs: Box<dyn Catalogs>,
    authenticator: Authenticator,
    authorizer: Authorizer,
    serving: Arc<Serving>,
    openapi_2: Document,
    openapi_3: Document,
}

impl std::fmt::Debug for dyn Catalogs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Catalogs")
    }
}

/// A document that stays the same as long as the process runs.
#[derive(Debug)]
struct Document {
    text: Bytes,
    hash: String,
}

impl Document {
    fn new(value: &Value) -> Self {
        let text = value.to_string();
        let mut hash = String::new();
        for byte in Sha256::digest(text.as_bytes()) {
            // Writing to a text does not fail.
            let _ = write!(hash, "{byte:02X}");
        }
        Self {
            text: Bytes::from(text),
            hash,
        }
    }
}

impl PackageApi {
    /// The packages of these catalogs, for those whom the reviews let see them.
    pub fn new(catalogs: impl Catalogs, reviews: Arc<dyn Reviews>) -> Self {
        Self {
            catalogs: Box::new(catalogs),
            authenticator: Authenticator::new(reviews.clone()),
            authorizer: Authorizer::new(reviews),
            serving: Arc::default(),
            openapi_2: Document::new(&openapi::version_2()),
            openapi_3: Document::new(&openapi::version_3()),
        }
    }

    /// Whom to believe when they say who asks.
    pub fn believe(&self, trust: Trust) {
        self.authenticator.believe(trust);
    }

    /// The certificate and key to serve with, in PEM. Connections that are open keep theirs.
    pub fn serve_with(&self, certificate: &str, key: &str) -> Result<(), String> {
        self.serving.change(certificate, key)
    }

    /// What is missing before requests can be answered, if something is.
    pub fn not_ready(&self) -> Option<String> {
        if !self.serving.is_ready() {
            return Some("the package API has no certificate to serve with yet".to_owned());
        }
        if !self.authenticator.is_ready() {
            return Some("the package API does not know yet whom to believe".to_owned());
        }
        self.catalogs.catalogs().err()
    }

    /// Answers a request that came with these client certificates.
    pub async fn answer(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'static>],
    ) -> Response {
        let answered = self.try_answer(method, uri, headers, certificates).await;
        let mut response = answered.unwrap_or_else(IntoResponse::into_response);
        if response.status() == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer");
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }

    async fn try_answer(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'static>],
    ) -> Result<Response, Refusal> {
        let request = Request::read(method, uri);
        if let Target::Path(path) = &request.target
            && let Some(response) = self.health(path)
        {
            return Ok(response);
        }
        let who = self
            .authenticator
            .authenticate(headers, certificates, UnixTime::now());
        let user = who.await.map_err(|unknown| match unknown {
            Unknown::Refused => Refusal::unauthorized(),
            Unknown::Failed(problem) => {
                tracing::warn!(problem, "it cannot be found out who asks");
                Refusal::internal(format!("it cannot be found out who asks: {problem}"))
            }
        })?;
        self.authorizer.authorize(&user, action(&request)).await?;
        match &request.target {
            Target::Path(path) => self.document(method, path, headers),
            Target::Resource(resource) => self.package(&request, resource, headers).await,
        }
    }

    /// Whoever looks whether it works is nobody in particular.
    fn health(&self, path: &str) -> Option<Response> {
        let first = path.trim_start_matches('/').split('/').next();
        match first.unwrap_or_default() {
            "healthz" | "livez" => Some("ok".into_response()),
            "readyz" => Some(match self.not_ready() {
                None => "ok".into_response(),
                Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem).into_response(),
            }),
            _ => None,
        }
    }

    /// What the API is, for clients that ask before they use it.
    fn document(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Response, Refusal> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let value = match parts.as_slice() {
            ["apis"] => {
                let form = form(headers, |shape| {
                    matches!(shape, Shape::Objects | Shape::AggregatedDiscovery(_))
                })?;
                if let Shape::AggregatedDiscovery(version) = form.shape {
                    allow_reading(method)?;
                    return Ok(aggregated(version));
                }
                discovery::groups()
            }
            ["apis", GROUP] => discovery::group(),
            ["apis", GROUP, VERSION] => discovery::resources(),
            ["openapi", "v2"] => {
                allow_reading(method)?;
                return Ok(unchanging(&self.openapi_2, headers));
            }
            ["openapi", "v3"] => openapi::version_3_index(&self.openapi_3.hash),
            ["openapi", "v3", "apis", GROUP, VERSION] => {
                allow_reading(method)?;
                return Ok(unchanging(&self.openapi_3, headers));
            }
            _ => return Err(Refusal::no_path()),
        };
        allow_reading(method)?;
        let form = form(headers, |shape| shape == Shape::Objects)?;
        let text = answer::written(form.format, &value)?;
        Ok(answer::answer(form.format, Body::from(text)))
    }

    async fn package(
        &self,
        request: &Request,
        resource: &Resource,
        headers: &HeaderMap,
    ) -> Result<Response, Refusal> {
        if !resource.is_served() {
            return Err(Refusal::no_path());
        }
        let is_icon = match resource.subresource.as_deref() {
            None => false,
            Some("icon") => true,
            Some(_) => return Err(Refusal::no_path()),
        };
        if !["get", "list"].contains(&request.verb) {
            return Err(Refusal::no_verb(resource, request.verb));
        }
        let catalogs = self.catalogs.catalogs().map_err(Refusal::unavailable)?;
        let namespace = resource.namespace.as_deref();
        let (namespace, name) = match (namespace, resource.name.as_deref()) {
            (namespace, None) => {
                let form = form(headers, of_objects)?;
                return answer::list(catalogs, namespace, &request.query, form);
            }
            (Some(namespace), Some(name)) => (namespace, name),
            (None, Some(_)) => return Err(Refusal::no_path()),
        };
        if is_icon {
            let offer = answer::first(catalogs, namespace, name)?;
            return icon::icon(offer, headers).await;
        }
        let form = form(headers, of_objects)?;
        answer::get(catalogs, namespace, name, &request.query, form).await
    }
}

fn of_objects(shape: Shape) -> bool {
    !matches!(shape, Shape::AggregatedDiscovery(_))
}

/// The form that a client wants.
fn form(headers: &HeaderMap, is_offered: impl Fn(Shape) -> bool) -> Result<Form, Refusal> {
    let accept: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let form = negotiate(&accept.join(","), is_offered);
    form.ok_or_else(|| Refusal::not_acceptable(OFFERED))
}

/// What authorization is asked about.
fn action(request: &Request) -> Action {
    let object = match &request.target {
        Target::Path(path) => Object::Path(path.clone()),
        Target::Resource(resource) => {
            let mut resource = resource.clone();
            if resource.name.is_none() {
                // A list of one is like looking at it: who may see only that one may have the list.
                let wanted = Wanted::read("", &request.query.field_selector);
                resource.name = wanted.ok().and_then(|it| it.name().map(str::to_owned));
            }
            Object::Resource(resource)
        }
    };
    Action {
        verb: request.verb.to_owned(),
        object,
    }
}

fn allow_reading(method: &Method) -> Result<(), Refusal> {
    if method == Method::GET || method == Method::HEAD {
        return Ok(());
    }
    Err(Refusal::no_verb(&Resource::default(), method.as_str()))
}

fn aggregated(version: &str) -> Response {
    let text = discovery::aggregated(version).to_string();
    let mut response = answer::answer(Format::Json, Body::from(text));
    let kind =
        format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    if let Ok(kind) = HeaderValue::from_str(&kind) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// A document, or that it is still the one that the client has.
fn unchanging(document: &Document, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", document.hash);
    let known = headers.get(header::IF_NONE_MATCH);
    let mut response = if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        answer::answer(Format::Json, Body::from(document.text.clone()))
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
