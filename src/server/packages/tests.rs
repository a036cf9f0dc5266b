//! Packages as the API shows them, from catalogs that are built on the spot.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, StatusCode, header};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::api::catalog_source::CatalogSource;
use crate::catalog::index::{Builder, Index};

/// A bundle of a package, with what `olm.csv.metadata` tells of it.
fn bundle(package: &str, version: &str, csv: &Value) -> Value {
    json!({
        "schema": "olm.bundle", "package": package, "name": format!("{package}.v{version}"),
        "image": format!("example.com/{package}:{version}"),
        "properties": [
            { "type": "olm.package", "value": { "packageName": package, "version": version } },
            { "type": "olm.csv.metadata", "value": csv },
        ],
        "relatedImages": [{ "name": "", "image": format!("example.com/{package}:{version}") }],
    })
}

fn channel(package: &str, name: &str, versions: &[&str]) -> Value {
    let entries = versions.iter().enumerate().map(|(at, version)| {
        let mut entry = json!({ "name": format!("{package}.v{version}") });
        if let Some(before) = at.checked_sub(1) {
            entry["replaces"] = json!(format!("{package}.v{}", versions[before]));
        }
        entry
    });
    let entries: Vec<Value> = entries.collect();
    json!({ "schema": "olm.channel", "package": package, "name": name, "entries": entries })
}

/// A package with a channel `stable` of one version.
fn simple(package: &str) -> Vec<Value> {
    vec![
        json!({ "schema": "olm.package", "name": package, "defaultChannel": "stable" }),
        channel(package, "stable", &["1.0.0"]),
        bundle(package, "1.0.0", &json!({ "displayName": package })),
    ]
}

fn gopher() -> Vec<Value> {
    let csv = |name: &str| {
        json!({
            "displayName": name, "description": "Digs.", "provider": { "name": "Burrow", "url": "https://b.example" },
            "installModes": [{ "type": "AllNamespaces", "supported": true }],
            "labels": { "operatorframework.io/arch.arm64": "supported", "own": "yes" },
        })
    };
    vec![
        json!({
            "schema": "olm.package", "name": "gopher", "defaultChannel": "stable",
            "icon": { "base64data": "AAEC", "mediatype": "image/png" },
        }),
        channel("gopher", "stable", &["0.9.0", "0.10.0"]),
        channel("gopher", "alpha", &["0.9.0", "0.10.0", "1.0.0-rc1"]),
        bundle("gopher", "0.9.0", &csv("Old gopher")),
        bundle("gopher", "0.10.0", &csv("Gopher")),
        bundle("gopher", "1.0.0-rc1", &csv("New gopher")),
        json!({ "schema": "olm.deprecations", "package": "gopher", "entries": [
            { "reference": { "schema": "olm.package" }, "message": "use mole" },
            { "reference": { "schema": "olm.channel", "name": "alpha" }, "message": "too new" },
            { "reference": { "schema": "olm.bundle", "name": "gopher.v0.9.0" }, "message": "too old" },
        ] }),
    ]
}

/// Catalogs that are there as long as this is.
struct Shelf {
    folder: TempDir,
    catalogs: Vec<Catalog>,
}

impl Shelf {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            catalogs: Vec::new(),
        }
    }

    /// A catalog of these blobs; in the namespace `global` it is for everybody.
    fn with(mut self, namespace: &str, name: &str, spec: &Value, blobs: &[Value]) -> Self {
        let path = self.folder.path().join(format!("{namespace}-{name}.index"));
        let mut builder = Builder::new(self.folder.path()).unwrap();
        let lines: Vec<String> = blobs.iter().map(Value::to_string).collect();
        builder
            .add_file("catalog.json", lines.join("\n").as_bytes())
            .unwrap();
        assert_eq!(builder.finish(&path).unwrap(), []);
        let mut object: CatalogSource = serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": namespace, "labels": { "of": "the catalog" },
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": { "sourceType": "grpc", "displayName": format!("The {name}"), "publisher": "Us" },
        }))
        .unwrap();
        if let Some(priority) = spec["priority"].as_i64() {
            object.spec.priority = priority;
        }
        object.spec.packages = serde_json::from_value(spec["packages"].clone()).unwrap_or_default();
        self.catalogs.push(Catalog {
            object: Arc::new(object),
            index: Arc::new(Index::open(&path).unwrap()),
            is_global: namespace == "global",
        });
        self
    }

    fn api(&self) -> PackageApi {
        let api = PackageApi::new(Fixed(self.catalogs.clone()), Arc::new(Everything));
        api.believe(Trust::default());
        api
    }
}

struct Fixed(Vec<Catalog>);

impl Catalogs for Fixed {
    fn catalogs(&self) -> Result<Vec<Catalog>, String> {
        Ok(self.0.clone())
    }
}

/// Lets everybody do everything.
struct Everything;

impl Reviews for Everything {
    fn authenticate<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<User>, String>> {
        async { Ok(None) }.boxed()
    }

    fn authorize<'a>(
        &'a self,
        _: &'a User,
        _: &'a Action,
    ) -> BoxFuture<'a, Result<Verdict, String>> {
        let verdict = Verdict {
            is_allowed: true,
            reason: String::new(),
        };
        async { Ok(verdict) }.boxed()
    }
}

struct Got {
    code: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    fn names(&self) -> Vec<String> {
        let value = self.json();
        let items = value["items"].as_array().unwrap();
        let name = |item: &Value| {
            let part = |pointer: &str| item.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            format!(
                "{}/{} of {}/{}",
                part("/metadata/namespace"),
                part("/metadata/name"),
                part("/status/catalogSourceNamespace"),
                part("/status/catalogSource")
            )
        };
        items.iter().map(name).collect()
    }
}

async fn send(api: &PackageApi, method: &str, path: &str, accept: &str) -> Got {
    let mut headers = HeaderMap::new();
    if !accept.is_empty() {
        headers.insert(header::ACCEPT, accept.parse().unwrap());
    }
    let (method, uri) = (method.parse().unwrap(), path.parse().unwrap());
    let response = api.answer(&method, &uri, &headers, &[]).await;
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    Got {
        code: parts.status,
        headers: parts.headers,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    }
}

const ROOT: &str = "/apis/packages.operators.coreos.com/v1";

async fn get(api: &PackageApi, path: &str) -> Got {
    send(api, "GET", &format!("{ROOT}/{path}"), "").await
}

#[tokio::test]
async fn a_package_shows_its_channels_their_heads_and_all_versions_the_newest_first() {
    let shelf = Shelf::new().with("global", "hub", &json!({}), &gopher());
    let got = get(&shelf.api(), "namespaces/ns/packagemanifests/gopher").await;
    let value = got.json();
    assert_eq!(value["apiVersion"], API_VERSION);
    assert_eq!(value["kind"], KIND);
    assert_eq!(value["spec"], json!({}));
    assert_eq!(value["metadata"]["namespace"], "ns");
    assert_eq!(
        value["metadata"]["creationTimestamp"],
        "2026-01-01T00:00:00Z"
    );
    let status = &value["status"];
    assert_eq!(status["catalogSource"], "hub");
    assert_eq!(status["catalogSourceDisplayName"], "The hub");
    assert_eq!(status["catalogSourcePublisher"], "Us");
    assert_eq!(status["catalogSourceNamespace"], "global");
    assert_eq!(status["packageName"], "gopher");
    assert_eq!(status["defaultChannel"], "stable");
    assert_eq!(status["provider"]["name"], "Burrow");
    assert_eq!(status["deprecation"]["message"], "use mole");
    let channels = status["channels"].as_array().unwrap();
    let names: Vec<&Value> = channels.iter().map(|channel| &channel["name"]).collect();
    assert_eq!(names, ["alpha", "stable"]);
    assert_eq!(channels[0]["deprecation"]["message"], "too new");
    assert_eq!(channels[0]["currentCSV"], "gopher.v1.0.0-rc1");
    assert_eq!(channels[0]["currentCSVDesc"]["displayName"], "New gopher");
    assert_eq!(channels[0]["currentCSVDesc"]["version"], "1.0.0-rc1");
    assert_eq!(channels[1]["currentCSVDesc"]["displayName"], "Gopher");
    assert_eq!(
        channels[1]["currentCSVDesc"]["relatedImages"],
        json!(["example.com/gopher:0.10.0"])
    );
    assert_eq!(
        channels[0]["entries"],
        json!([
            { "name": "gopher.v1.0.0-rc1", "version": "1.0.0-rc1" },
            { "name": "gopher.v0.10.0", "version": "0.10.0" },
            { "name": "gopher.v0.9.0", "version": "0.9.0", "deprecation": { "message": "too old" } },
        ])
    );
}

#[tokio::test]
async fn labels_are_those_of_catalog_provider_and_csv_and_say_what_it_runs_on() {
    let shelf = Shelf::new().with("global", "hub", &json!({}), &gopher());
    let got = get(&shelf.api(), "namespaces/ns/packagemanifests/gopher").await;
    assert_eq!(
        got.json()["metadata"]["labels"],
        json!({
            "catalog": "hub", "catalog-namespace": "global", "of": "the catalog", "own": "yes",
            "provider": "Burrow", "provider-url": "https://b.example",
            "operatorframework.io/arch.arm64": "supported",
            "operatorframework.io/os.linux": "supported",
        })
    );
}

#[tokio::test]
async fn a_bundle_with_the_old_mark_of_deprecation_is_no_entry() {
    let mut old = bundle("mole", "1.0.0", &json!({}));
    let properties = old["properties"].as_array_mut().unwrap();
    properties.push(json!({ "type": "olm.deprecated", "value": {} }));
    let blobs = [
        json!({ "schema": "olm.package", "name": "mole", "defaultChannel": "stable" }),
        channel("mole", "stable", &["1.0.0", "2.0.0"]),
        old,
        bundle("mole", "2.0.0", &json!({})),
    ];
    let shelf = Shelf::new().with("global", "hub", &json!({}), &blobs);
    let got = get(&shelf.api(), "namespaces/ns/packagemanifests/mole").await;
    let entries = got.json()["status"]["channels"][0]["entries"].clone();
    assert_eq!(
        entries,
        json!([{ "name": "mole.v2.0.0", "version": "2.0.0" }])
    );
}

#[tokio::test]
async fn a_namespace_sees_its_own_catalogs_and_those_for_everybody() {
    let shelf = Shelf::new()
        .with(
            "global",
            "hub",
            &json!({}),
            &[gopher(), simple("mole")].concat(),
        )
        .with("ns", "own", &json!({}), &simple("mole"))
        .with("other", "own", &json!({}), &simple("vole"));
    let api = shelf.api();
    assert_eq!(
        get(&api, "namespaces/ns/packagemanifests").await.names(),
        [
            "ns/gopher of global/hub",
            "ns/mole of ns/own",
            "ns/mole of global/hub"
        ]
    );
    assert_eq!(
        get(&api, "packagemanifests").await.names(),
        [
            "global/gopher of global/hub",
            "global/mole of global/hub",
            "ns/mole of ns/own",
            "other/vole of other/own"
        ]
    );
    let missing = get(&api, "namespaces/ns/packagemanifests/vole").await;
    assert_eq!(missing.code, StatusCode::NOT_FOUND);
    let status = missing.json();
    assert_eq!(
        (&status["kind"], &status["reason"]),
        (&json!("Status"), &json!("NotFound"))
    );
    assert_eq!(status["details"]["name"], "vole");
}

#[tokio::test]
async fn of_several_packages_of_one_name_the_first_is_always_the_same() {
    let of = |shelf: &Shelf| {
        let api = shelf.api();
        async move {
            let got = get(&api, "namespaces/ns/packagemanifests/mole")
                .await
                .json();
            let part = |key: &str| got["status"][key].as_str().unwrap().to_owned();
            format!(
                "{}/{}",
                part("catalogSourceNamespace"),
                part("catalogSource")
            )
        }
    };
    let mole = simple("mole");
    let shelf =
        Shelf::new()
            .with("global", "b", &json!({}), &mole)
            .with("global", "a", &json!({}), &mole);
    assert_eq!(of(&shelf).await, "global/a", "by name");
    let shelf = shelf.with("ns", "z", &json!({}), &mole);
    assert_eq!(of(&shelf).await, "ns/z", "the own namespace before others");
    let shelf = shelf.with("global", "y", &json!({ "priority": 7 }), &mole);
    assert_eq!(of(&shelf).await, "global/y", "priority before all");
}

#[tokio::test]
async fn packages_that_a_catalog_does_not_offer_are_not_shown() {
    let blobs = [gopher(), simple("mole"), simple("vole")].concat();
    let shelf = Shelf::new()
        .with("global", "some", &json!({ "packages": ["?ole"] }), &blobs)
        .with("ns", "broken", &json!({ "packages": ["["] }), &blobs);
    let api = shelf.api();
    assert_eq!(
        get(&api, "packagemanifests").await.names(),
        ["global/mole of global/some", "global/vole of global/some"]
    );
    let hidden = get(&api, "namespaces/ns/packagemanifests/gopher").await;
    assert_eq!(hidden.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn selectors_choose_by_labels_and_by_name() {
    let blobs = [gopher(), simple("mole")].concat();
    let shelf = Shelf::new().with("global", "hub", &json!({}), &blobs);
    let api = shelf.api();
    for (query, expected) in [
        ("labelSelector=provider%3DBurrow", vec!["gopher"]),
        ("labelSelector=provider%21%3DBurrow", vec!["mole"]),
        (
            "labelSelector=catalog+in+%28hub%2Cx%29&limit=1&continue=abc",
            vec!["gopher", "mole"],
        ),
        ("fieldSelector=metadata.name%3Dmole", vec!["mole"]),
        ("fieldSelector=metadata.name%3Dnone", vec![]),
    ] {
        let names = get(&api, &format!("packagemanifests?{query}"))
            .await
            .names();
        let expected: Vec<String> = expected
            .iter()
            .map(|name| format!("global/{name} of global/hub"))
            .collect();
        assert_eq!(names, expected, "{query}");
    }
    for query in [
        "fieldSelector=spec.x%3D1",
        "labelSelector=%3D",
        "includeObject=All",
    ] {
        let got = get(&api, &format!("packagemanifests?{query}")).await;
        assert_eq!(got.code, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(got.json()["reason"], "BadRequest");
    }
}

#[tokio::test]
async fn kubectl_get_has_a_table_of_names_catalogs_and_ages() {
    let shelf = Shelf::new().with("global", "hub", &json!({}), &gopher());
    let api = shelf.api();
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    for path in ["packagemanifests", "namespaces/ns/packagemanifests/gopher"] {
        let got = send(&api, "GET", &format!("{ROOT}/{path}"), accept)
            .await
            .json();
        assert_eq!(got["kind"], "Table");
        assert_eq!(got["apiVersion"], "meta.k8s.io/v1");
        let columns = got["columnDefinitions"].as_array().unwrap();
        let names: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
        assert_eq!(names, ["Name", "Catalog", "Age"]);
        let rows = got["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["cells"][0], "gopher");
        assert_eq!(rows[0]["cells"][1], "The hub");
        assert_eq!(
            rows[0]["object"]["metadata"]["labels"]["provider"],
            "Burrow"
        );
        assert_eq!(rows[0]["object"].get("status"), None);
    }
}

#[tokio::test]
async fn yaml_says_the_same_as_json_and_protobuf_is_not_offered() {
    let blobs = [gopher(), simple("mole")].concat();
    let shelf = Shelf::new().with("global", "hub", &json!({}), &blobs);
    let api = shelf.api();
    for path in [
        "packagemanifests",
        "packagemanifests?labelSelector=none",
        "namespaces/ns/packagemanifests/gopher",
        "",
    ] {
        let path = format!("{ROOT}/{path}");
        let json = send(&api, "GET", &path, "application/json").await;
        let yaml = send(&api, "GET", &path, "application/yaml").await;
        assert_eq!(yaml.headers[header::CONTENT_TYPE], "application/yaml");
        let values = crate::yaml::values("answer", &yaml.text).unwrap();
        assert_eq!(values, [json.json()], "{path}");
    }
    let protobuf = "application/vnd.kubernetes.protobuf";
    let got = send(&api, "GET", &format!("{ROOT}/packagemanifests"), protobuf).await;
    assert_eq!(got.code, StatusCode::NOT_ACCEPTABLE);
    assert_eq!(got.json()["reason"], "NotAcceptable");
}

#[tokio::test]
async fn nothing_can_be_changed_or_watched() {
    let shelf = Shelf::new().with("global", "hub", &json!({}), &gopher());
    let api = shelf.api();
    for (method, path) in [
        ("POST", "namespaces/ns/packagemanifests"),
        ("PUT", "namespaces/ns/packagemanifests/gopher"),
        ("PATCH", "namespaces/ns/packagemanifests/gopher"),
        ("DELETE", "namespaces/ns/packagemanifests/gopher"),
        ("DELETE", "namespaces/ns/packagemanifests"),
        ("GET", "packagemanifests?watch=1"),
        ("POST", ""),
    ] {
        let got = send(&api, method, &format!("{ROOT}/{path}"), "").await;
        assert_eq!(got.code, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(got.json()["reason"], "MethodNotAllowed");
    }
    for path in [
        "packagemanifests/gopher",
        "namespaces/ns/packagemanifests/gopher/status",
        "namespaces/ns/others",
    ] {
        assert_eq!(get(&api, path).await.code, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn clients_find_out_what_there_is() {
    let api = Shelf::new().api();
    let got = |path: &'static str, accept: &'static str| {
        let api = &api;
        async move { send(api, "GET", path, accept).await }
    };
    let groups = got("/apis", "application/json").await.json();
    assert_eq!(groups["groups"][0]["name"], GROUP);
    let group = got("/apis/packages.operators.coreos.com", "").await.json();
    assert_eq!(group["preferredVersion"]["groupVersion"], API_VERSION);
    let resources = got("/apis/packages.operators.coreos.com/v1", "")
        .await
        .json();
    let names: Vec<&Value> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| &resource["name"])
        .collect();
    assert_eq!(names, ["packagemanifests", "packagemanifests/icon"]);
    assert_eq!(resources["resources"][0]["verbs"], json!(["get", "list"]));
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let all = got("/apis", accept).await;
    let kind = all.headers[header::CONTENT_TYPE].to_str().unwrap();
    assert!(kind.contains("as=APIGroupDiscoveryList"), "{kind}");
    assert_eq!(all.json()["items"][0]["metadata"]["name"], GROUP);
    let index = got("/openapi/v3", "").await.json();
    let url = index["paths"]["apis/packages.operators.coreos.com/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap()
        .to_owned();
    let document = send(&api, "GET", &url, "").await;
    assert_eq!(document.json()["openapi"], "3.0.0");
    assert_eq!(got("/openapi/v2", "").await.json()["swagger"], "2.0");
    assert_eq!(got("/elsewhere", "").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_picture_is_sent_once_and_drawn_where_there_is_none() {
    let blobs = [gopher(), simple("mole")].concat();
    let shelf = Shelf::new().with("global", "hub", &json!({}), &blobs);
    let api = shelf.api();
    let got = get(&api, "namespaces/ns/packagemanifests/gopher/icon").await;
    assert_eq!(got.headers[header::CONTENT_TYPE], "image/png");
    assert_eq!(got.text.as_bytes(), b"\x00\x01\x02");
    assert_eq!(
        got.headers[header::ETAG],
        "\"gopher.stable.gopher.v0.10.0\""
    );
    let policy = got.headers[header::CONTENT_SECURITY_POLICY]
        .to_str()
        .unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("sandbox"));
    let mut headers = HeaderMap::new();
    headers.insert(header::IF_NONE_MATCH, got.headers[header::ETAG].clone());
    let uri = format!("{ROOT}/namespaces/ns/packagemanifests/gopher/icon");
    let uri = uri.parse().unwrap();
    let again = api.answer(&Method::GET, &uri, &headers, &[]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let drawn = get(&api, "namespaces/ns/packagemanifests/mole/icon").await;
    assert_eq!(drawn.headers[header::CONTENT_TYPE], "image/svg+xml");
    let missing = get(&api, "namespaces/ns/packagemanifests/vole/icon").await;
    assert_eq!(missing.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_list_that_cannot_be_read_to_its_end_is_cut_short_and_not_taken_for_whole() {
    let blobs = [gopher(), simple("mole")].concat();
    let shelf = Shelf::new().with("global", "hub", &json!({}), &blobs);
    let path = shelf.folder.path().join("global-hub.index");
    let length = fs_err::metadata(&path).unwrap().len();
    let file = fs_err::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(length / 3).unwrap();
    let uri = format!("{ROOT}/packagemanifests").parse().unwrap();
    let api = shelf.api();
    let response = api.answer(&Method::GET, &uri, &HeaderMap::new(), &[]).await;
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    assert!(body.is_err(), "{body:?}");
    let one = get(&api, "namespaces/ns/packagemanifests/mole").await;
    assert_eq!(one.code, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn until_the_catalogs_are_read_clients_are_told_to_come_back() {
    struct Unread;
    impl Catalogs for Unread {
        fn catalogs(&self) -> Result<Vec<Catalog>, String> {
            Err("CatalogSource ns/hub was not read yet".to_owned())
        }
    }
    let api = PackageApi::new(Unread, Arc::new(Everything));
    let got = get(&api, "packagemanifests").await;
    assert_eq!(got.code, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(got.headers[header::RETRY_AFTER], "1");
    let ready = send(&api, "GET", "/readyz", "").await;
    assert_eq!(ready.code, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(send(&api, "GET", "/livez", "").await.text, "ok");
}

/// Something that a catalog may hold where something else belongs.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..4)
                .prop_map(|map: BTreeMap<String, Value>| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a catalog says of an operator, its package is shown, in JSON and in YAML alike.
    #[test]
    fn no_csv_hides_its_package(
        key in prop::sample::select(vec![
            "displayName", "description", "provider", "keywords", "links", "maintainers", "labels",
            "annotations", "installModes", "crdDescriptions", "nativeAPIs", "minKubeVersion",
        ]),
        value in anything(),
        text in ".{0,40}",
    ) {
        let mut csv = json!({ "maturity": text });
        csv[key] = value;
        // Some of these the rules of catalogs refuse as a whole; that is tested elsewhere.
        let blob = bundle("mole", "1.0.0", &csv).to_string();
        let read = super::csv::Csv::read(blob.as_bytes(), "1.0.0");
        prop_assert_eq!(&read.description.maturity, &text);
        let shown = json!(read.description);
        let yaml = crate::yaml::to_string(&shown).unwrap();
        prop_assert_eq!(crate::yaml::values("csv", &yaml).unwrap(), vec![shown]);
    }
}
