//! A hub of catalogs that are made on the spot, asked without a network.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::bundle::Bundle;
use chandler::catalog::source::{Source, Sources};
use chandler::oci::client::{Registry, Settings};
use chandler::oci::pull::PullOptions;
use chandler::resolver::{CatalogKey, Curation};
use chandler::server::hub::views::Installation;
use chandler::server::hub::{Catalog, Content, Hub, Shelf, Supply, WantedBundle};
use chandler::server::writes::Writes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt as _;

/// Catalogs for a hub, and what a cluster would say.
#[derive(Default)]
pub struct Supplies {
    shelf: Shelf,
    /// What is installed; nothing without a cluster.
    pub installations: Option<Vec<Installation>>,
    /// What bundles hold, by the name of their image; others cannot be read.
    pub bundles: std::collections::BTreeMap<String, Bundle>,
    /// A registry that never answers.
    pub silent: Option<String>,
    /// How often a bundle was asked for.
    pub asked: std::sync::atomic::AtomicUsize,
    pub changes: Option<watch::Sender<u64>>,
    /// What visitors may change: nothing, unless somebody says so.
    pub writes: Writes,
}

impl Supply for Supplies {
    fn catalogs(&self) -> Vec<Catalog> {
        self.shelf.catalogs()
    }

    fn installations(&self) -> Option<Vec<Installation>> {
        self.installations.clone()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.changes.as_ref().map(watch::Sender::subscribe)
    }

    fn bundle<'s>(&'s self, wanted: &'s WantedBundle) -> BoxFuture<'s, Result<Bundle, String>> {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let found = self.bundles.get(&wanted.image).cloned();
        let silent = self.silent.as_ref();
        if silent.is_some_and(|silent| wanted.image.starts_with(silent)) {
            return Box::pin(std::future::pending());
        }
        Box::pin(async move { found.ok_or_else(|| format!("{} is not there", wanted.image)) })
    }
}

/// A hub that can be asked.
pub struct Desk {
    pub router: Router,
    pub supplies: Arc<Supplies>,
    _cache: TempDir,
}

/// What a hub answered.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

impl Desk {
    /// A hub of one catalog `hub` with these blobs.
    pub async fn new(blobs: &[Value]) -> Self {
        Self::with(&[("hub", blobs)], |_| {}).await
    }

    /// A hub of these catalogs, and whatever else there is.
    pub async fn with(catalogs: &[(&str, &[Value])], change: impl FnOnce(&mut Supplies)) -> Self {
        let cache = tempfile::tempdir().unwrap();
        let options = PullOptions::new(Registry::new(Settings::default()));
        let sources = Sources::new(cache.path(), options).unwrap();
        let mut supplies = Supplies::default();
        for (name, blobs) in catalogs {
            let folder = tempfile::tempdir().unwrap();
            let lines: Vec<String> = blobs.iter().map(ToString::to_string).collect();
            fs_err::write(folder.path().join("catalog.json"), lines.join("\n")).unwrap();
            let source = Source::Folder(folder.path().to_owned());
            let opened = sources.open(&source).await.unwrap();
            supplies.shelf.put(Catalog {
                key: CatalogKey::new("", *name),
                display_name: String::new(),
                publisher: String::new(),
                priority: 0,
                curation: Curation::default(),
                content: Some(Content {
                    digest: opened.digest,
                    index: Arc::new(opened.index),
                }),
                problem: None,
            });
        }
        change(&mut supplies);
        let supplies = Arc::new(supplies);
        let hub = Hub::new(supplies.clone()).with_writes(supplies.writes.clone());
        let hub = Arc::new(hub);
        Self {
            router: chandler::server::site(hub),
            supplies,
            _cache: cache,
        }
    }

    /// Asks for something.
    pub async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).body(Body::empty()).unwrap();
        self.send(request).await
    }

    /// What there is, as JSON.
    pub async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        answer.json()
    }

    /// Asks something with a body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        self.send(request).await
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }
}

/// A package with a picture and a description, its channels and its bundles.
pub struct Ware {
    name: String,
    blobs: Vec<Value>,
}

impl Ware {
    /// A package whose default channel `stable` has these versions, the oldest first, each with
    /// what its `olm.csv.metadata` says beside the usual.
    pub fn new(name: &str, versions: &[(&str, Value)]) -> Self {
        let bundle = |version: &str| format!("{name}.v{version}");
        let entries: Vec<Value> = versions
            .iter()
            .enumerate()
            .map(|(at, (version, _))| {
                let mut entry = json!({"name": bundle(version)});
                if at > 0 {
                    entry["replaces"] = json!(bundle(versions[at - 1].0));
                }
                entry
            })
            .collect();
        let icon = STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg'/>");
        let mut blobs = vec![
            json!({
                "schema": "olm.package", "name": name, "defaultChannel": "stable",
                "icon": {"base64data": icon, "mediatype": "text/html"},
            }),
            json!({
                "schema": "olm.channel", "package": name, "name": "stable", "entries": entries,
            }),
        ];
        for (version, metadata) in versions {
            let mut csv = json!({
                "displayName": name,
                "provider": {"name": "Example"},
                "installModes": [{"type": "AllNamespaces", "supported": true}],
                "annotations": {"capabilities": "basic install", "createdAt": "2024-01-01T00:00:00Z"},
            });
            merge(&mut csv, metadata);
            blobs.push(json!({
                "schema": "olm.bundle", "package": name, "name": bundle(version),
                "image": format!("example.com/{name}:{version}"),
                "properties": [
                    {"type": "olm.package", "value": {"packageName": name, "version": version}},
                    {"type": "olm.csv.metadata", "value": csv},
                ],
            }));
        }
        Self {
            name: name.to_owned(),
            blobs,
        }
    }

    /// A property of its newest version.
    pub fn with_property(mut self, kind: &str, value: &Value) -> Self {
        let bundle = self.blobs.last_mut().unwrap();
        let properties = bundle["properties"].as_array_mut().unwrap();
        properties.push(json!({"type": kind, "value": value}));
        self
    }

    /// Another channel.
    pub fn with_channel(mut self, name: &str, entries: &Value) -> Self {
        self.blobs.push(json!({
            "schema": "olm.channel", "package": self.name, "name": name, "entries": entries,
        }));
        self
    }

    /// Something of it should no longer be used.
    pub fn deprecated(mut self, reference: &Value, message: &str) -> Self {
        self.blobs.push(json!({
            "schema": "olm.deprecations", "package": self.name,
            "entries": [{"reference": reference, "message": message}],
        }));
        self
    }

    pub fn blobs(self) -> Vec<Value> {
        self.blobs
    }
}

fn merge(target: &mut Value, changes: &Value) {
    match (target.as_object_mut(), changes.as_object()) {
        (Some(target), Some(changes)) => {
            for (key, value) in changes {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        _ => *target = changes.clone(),
    }
}
