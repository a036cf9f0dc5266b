//! The port of the package API: who is believed, and who is not.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chandler::lifecycle::install::certificates::{ServingCertificate, issue};
use chandler::server::packages::{
    Action, Catalog, Catalogs, Object, PackageApi, Reviews, Trust, User, Verdict,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use reqwest::{Certificate, Client, Identity, StatusCode};
use rstest::rstest;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const HOST: &str = "chandler-packages.home.svc";
const LIST: &str = "/apis/packages.operators.coreos.com/v1/namespaces/ns/packagemanifests";
/// Who may see packages.
const READER: &str = "reader";

/// Somebody who signs client certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A client certificate with its key.
    fn client(&self, name: &str, group: &str, usage: ExtendedKeyUsagePurpose) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
            .distinguished_name
            .push(DnType::OrganizationName, group);
        params.insert_extended_key_usage(usage);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity::from_pem(format!("{certificate}{}", key.serialize_pem()).as_bytes()).unwrap()
    }
}

/// Lets the reader and a group of readers see packages, knows one token, and counts questions.
#[derive(Clone, Default)]
struct Asked {
    tokens: Arc<Mutex<usize>>,
    actions: Arc<Mutex<Vec<(User, Action)>>>,
}

impl Reviews for Asked {
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>> {
        *self.tokens.lock().unwrap() += 1;
        let user = match token {
            "good" => Ok(Some(User {
                name: READER.to_owned(),
                ..User::default()
            })),
            "broken" => Err("the API server is away".to_owned()),
            _ => Ok(None),
        };
        async { user }.boxed()
    }

    fn authorize<'a>(
        &'a self,
        user: &'a User,
        action: &'a Action,
    ) -> BoxFuture<'a, Result<Verdict, String>> {
        let mut actions = self.actions.lock().unwrap();
        actions.push((user.clone(), action.clone()));
        let verdict = Verdict {
            is_allowed: user.name == READER || user.groups.iter().any(|it| it == "readers"),
            reason: String::new(),
        };
        async { Ok(verdict) }.boxed()
    }
}

struct Nothing;

impl Catalogs for Nothing {
    fn catalogs(&self) -> Result<Vec<Catalog>, String> {
        Ok(Vec::new())
    }
}

/// A port that answers as long as this is there.
struct Port {
    address: SocketAddr,
    api: Arc<PackageApi>,
    asked: Asked,
    serving: ServingCertificate,
    /// Signs for the API server in front.
    front: Authority,
    /// Signs for people and machines.
    people: Authority,
    stop: CancellationToken,
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Port {
    async fn open() -> Self {
        // Somebody else may have installed one already, and only one can be.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let asked = Asked::default();
        let api = Arc::new(PackageApi::new(Nothing, Arc::new(asked.clone())));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stop = CancellationToken::new();
        let port = Self {
            address: listener.local_addr().unwrap(),
            asked,
            serving: certificate(),
            front: Authority::new("front"),
            people: Authority::new("people"),
            stop: stop.clone(),
            api: api.clone(),
        };
        tokio::spawn(api.serve(listener, stop));
        let serving = &port.serving;
        port.api
            .serve_with(&serving.certificate, &serving.key)
            .unwrap();
        port.believe(&port.front, &port.people);
        port
    }

    fn believe(&self, front: &Authority, people: &Authority) {
        let data = [
            ("client-ca-file", people.pem.as_str()),
            ("requestheader-client-ca-file", &front.pem),
            ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#),
            ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
            (
                "requestheader-extra-headers-prefix",
                r#"["X-Remote-Extra-"]"#,
            ),
        ];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned()));
        self.api
            .believe(Trust::read(&BTreeMap::from(data)).unwrap());
    }

    fn client(&self, identity: Option<Identity>) -> Caller {
        trusting(&self.serving.authority, self.address, identity)
    }

    /// The API server in front.
    fn proxy(&self) -> Identity {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        self.front.client("front-proxy-client", "", usage)
    }

    async fn get(
        &self,
        identity: Option<Identity>,
        headers: &[(&str, &str)],
    ) -> (StatusCode, String) {
        ask(&self.client(identity), LIST, headers).await
    }
}

fn certificate() -> ServingCertificate {
    issue(
        "chandler-packages",
        &[HOST.to_owned()],
        &Time(Timestamp::now()),
    )
    .unwrap()
}

/// Somebody who calls the port by the name of its Service.
struct Caller {
    client: Client,
    port: u16,
}

impl Caller {
    async fn send(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> reqwest::Result<reqwest::Response> {
        let url = format!("https://{HOST}:{}{path}", self.port);
        let mut request = self.client.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }
}

fn trusting(authority: &str, address: SocketAddr, identity: Option<Identity>) -> Caller {
    let root = Certificate::from_pem_bundle(authority.as_bytes()).unwrap();
    let mut builder = Client::builder()
        .tls_certs_only(root)
        .resolve(HOST, address)
        .no_proxy()
        .timeout(Duration::from_secs(30));
    if let Some(identity) = identity {
        builder = builder.identity(identity);
    }
    Caller {
        client: builder.build().unwrap(),
        port: address.port(),
    }
}

async fn ask(caller: &Caller, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let answer = caller.send(path, headers).await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

const AS_READER: [(&str, &str); 1] = [("x-remote-user", READER)];

#[tokio::test]
async fn the_api_server_in_front_says_who_asks() {
    let port = Port::open().await;
    let headers = [
        ("x-remote-user", "ada"),
        ("x-remote-group", "others"),
        ("x-remote-group", "readers"),
        ("x-remote-extra-team%2fname", "blue"),
    ];
    let (code, text) = port.get(Some(port.proxy()), &headers).await;
    assert_eq!(code, StatusCode::OK, "{text}");
    let actions = port.asked.actions.lock().unwrap().clone();
    let [(user, action)] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!(user.name, "ada");
    assert_eq!(user.groups, ["others", "readers", "system:authenticated"]);
    assert_eq!(user.extra["team/name"], ["blue"]);
    assert_eq!(action.verb, "list");
    let Object::Resource(resource) = &action.object else {
        panic!("{action:?}");
    };
    assert_eq!(resource.resource, "packagemanifests");
    assert_eq!(resource.namespace.as_deref(), Some("ns"));
}

#[tokio::test]
async fn headers_without_a_certificate_make_nobody_of_anybody() {
    let port = Port::open().await;
    for headers in [
        &AS_READER[..],
        &[("x-remote-user", "x"), ("x-remote-group", "system:masters")],
    ] {
        let (code, text) = port.get(None, headers).await;
        assert_eq!(code, StatusCode::FORBIDDEN, "{text}");
        assert!(text.contains("system:anonymous"), "{text}");
    }
}

#[rstest]
#[case::of_another_ca("other", "front-proxy-client", ExtendedKeyUsagePurpose::ClientAuth)]
#[case::with_another_name("front", "somebody", ExtendedKeyUsagePurpose::ClientAuth)]
#[case::for_servers("front", "front-proxy-client", ExtendedKeyUsagePurpose::ServerAuth)]
#[tokio::test]
async fn headers_behind_a_wrong_certificate_are_refused(
    #[case] signer: &str,
    #[case] name: &str,
    #[case] usage: ExtendedKeyUsagePurpose,
) {
    let port = Port::open().await;
    let other = Authority::new("front");
    let signer = if signer == "front" {
        &port.front
    } else {
        &other
    };
    let identity = signer.client(name, "system:masters", usage);
    let (code, text) = port.get(Some(identity), &AS_READER).await;
    assert_eq!(code, StatusCode::UNAUTHORIZED, "{text}");
    assert!(text.contains("\"kind\":\"Status\""), "{text}");
}

#[tokio::test]
async fn headers_behind_a_persons_certificate_are_ignored() {
    let port = Port::open().await;
    let usage = ExtendedKeyUsagePurpose::ClientAuth;
    // Named like the API server in front, but vouched for by another CA.
    let identity = port.people.client("front-proxy-client", "nobodies", usage);
    let (code, text) = port.get(Some(identity), &AS_READER).await;
    assert_eq!(code, StatusCode::FORBIDDEN, "{text}");
    let actions = port.asked.actions.lock().unwrap().clone();
    assert_eq!(actions[0].0.name, "front-proxy-client");
    assert_eq!(actions[0].0.groups, ["nobodies", "system:authenticated"]);
}

#[tokio::test]
async fn a_person_is_known_by_a_certificate_or_by_a_token() {
    let port = Port::open().await;
    let usage = ExtendedKeyUsagePurpose::ClientAuth;
    let identity = port.people.client("ada", "readers", usage);
    assert_eq!(port.get(Some(identity), &[]).await.0, StatusCode::OK);
    let good = [("authorization", "Bearer good")];
    assert_eq!(port.get(None, &good).await.0, StatusCode::OK);
    assert_eq!(port.get(None, &good).await.0, StatusCode::OK);
    assert_eq!(*port.asked.tokens.lock().unwrap(), 1, "it is asked once");
    let bad = [("authorization", "Bearer bad"), ("x-remote-user", READER)];
    assert_eq!(port.get(None, &bad).await.0, StatusCode::UNAUTHORIZED);
    let broken = [("authorization", "Bearer broken")];
    let (code, text) = port.get(None, &broken).await;
    assert_eq!(code, StatusCode::INTERNAL_SERVER_ERROR, "{text}");
    let strange = [("authorization", "Basic Z29vZDpnb29k")];
    assert_eq!(port.get(None, &strange).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn masters_need_no_rights_and_health_needs_nobody() {
    let port = Port::open().await;
    let headers = [
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
    ];
    let (code, _) = port.get(Some(port.proxy()), &headers).await;
    assert_eq!(code, StatusCode::OK);
    let client = port.client(None);
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        assert_eq!(ask(&client, path, &[]).await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(port.asked.actions.lock().unwrap().len(), 0);
    assert_eq!(ask(&client, "/apis", &[]).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn whom_to_believe_changes_on_open_connections_too() {
    let port = Port::open().await;
    let client = port.client(Some(port.proxy()));
    assert_eq!(ask(&client, LIST, &AS_READER).await.0, StatusCode::OK);
    port.believe(&Authority::new("front"), &port.people);
    assert_eq!(
        ask(&client, LIST, &AS_READER).await.0,
        StatusCode::UNAUTHORIZED
    );
    port.believe(&port.front, &port.people);
    assert_eq!(ask(&client, LIST, &AS_READER).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_new_certificate_is_served_to_whoever_comes_next_and_open_connections_stay() {
    let port = Port::open().await;
    let early = port.client(None);
    assert_eq!(ask(&early, "/healthz", &[]).await.0, StatusCode::OK);
    let renewed = certificate();
    port.api
        .serve_with(&renewed.certificate, &renewed.key)
        .unwrap();
    assert_eq!(ask(&early, "/healthz", &[]).await.0, StatusCode::OK);
    let late = trusting(&renewed.authority, port.address, None);
    assert_eq!(ask(&late, "/healthz", &[]).await.0, StatusCode::OK);
    let untrusting = port.client(None);
    let refused = untrusting.send("/healthz", &[]).await;
    assert!(refused.is_err(), "the old one is still served");
    // Whoever is told to trust both gets through all the time.
    let both = format!("{}{}", port.serving.authority, renewed.authority);
    let both = trusting(&both, port.address, None);
    assert_eq!(ask(&both, "/healthz", &[]).await.0, StatusCode::OK);
    let problem = port.api.serve_with(&renewed.certificate, &port.serving.key);
    assert!(problem.unwrap_err().contains("do not belong together"));
    assert_eq!(ask(&late, "/healthz", &[]).await.0, StatusCode::OK);
}

#[tokio::test]
async fn what_was_begun_is_answered_before_the_port_is_closed() {
    let port = Port::open().await;
    let client = port.client(None);
    assert_eq!(ask(&client, "/healthz", &[]).await.0, StatusCode::OK);
    port.stop.cancel();
    let mut closed = false;
    for _ in 0..500 {
        closed = client.send("/healthz", &[]).await.is_err();
        if closed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(closed, "it answers for ever");
}
