//! Logins and certificates.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::oci::Error;
use chandler::oci::auth::{AuthConfig, Keychain};
use chandler::oci::client::Registry as Client;
use serde_json::{Value, json};

use crate::child::child;
use crate::support::proxy::{Fault, Proxy};
use crate::support::registry::{PASSWORD, Registry, USER, fixture, settings};
use crate::{configs, image, pull, reference, store};

fn login(registry: &str, password: &str) -> Client {
    let mut settings = settings(&[registry]);
    let login = AuthConfig::from_login(registry, USER, password, "the test");
    settings.keychain = Keychain::new(vec![login]);
    Client::new(settings)
}

#[tokio::test]
async fn a_registry_that_wants_a_login_gets_it_and_a_wrong_one_is_told_by_its_origin() {
    let registry = Registry::start_with_login().unwrap();
    let address = &registry.address;
    let target = reference(address, "a/b:v1");
    let right = login(address, PASSWORD);
    right.push_image(&image(10), &target).await.unwrap();
    let (_folder, cache) = store();
    let pulled = pull(&right, &target.to_string(), &cache).await.unwrap();
    assert_eq!(configs(&pulled).len(), 1);

    let wrong = login(address, "hunter2");
    let (_folder, cache) = store();
    for error in [
        pull(&wrong, &target.to_string(), &cache).await.unwrap_err(),
        wrong.push_image(&image(20), &target).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Unauthorised { .. }), "{error}");
        assert!(!error.is_transient());
        let message = format!("{error} {error:?}");
        for part in [address, "the password of `chandler` from the test"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains("hunter2"), "{message}");
    }
    let nobody = Client::new(settings(&[address]));
    let error = pull(&nobody, &target.to_string(), &cache)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no credentials"), "{error}");
}

#[tokio::test]
async fn the_credentials_of_docker_and_of_a_helper_are_found_in_the_environment() {
    let registry = Registry::start_with_login().unwrap();
    let address = &registry.address;
    let target = reference(address, "a/b:v1");
    let client = login(address, PASSWORD);
    client.push_image(&image(10), &target).await.unwrap();
    let folder = tempfile::tempdir().unwrap();

    let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let file = json!({ "auths": { address.as_str(): { "auth": auth } } });
    let said = pull_in_child(folder.path(), &target.to_string(), &file);
    assert!(said.contains("pulled 1 files"), "{said}");

    let helper = folder.path().join("docker-credential-test");
    let script = format!(
        "#!/bin/sh\nread server\n[ \"$1 $server\" = \"get {address}\" ] || exit 1\n\
         echo '{{\"Username\": \"{USER}\", \"Secret\": \"{PASSWORD}\"}}'\n"
    );
    fs_err::write(&helper, script).unwrap();
    fs_err::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    for file in [
        json!({ "credHelpers": { address.as_str(): "test" } }),
        json!({ "credsStore": "test", "auths": { address.as_str(): {} } }),
    ] {
        let said = pull_in_child(folder.path(), &target.to_string(), &file);
        assert!(said.contains("pulled 1 files"), "{said}");
    }
    fs_err::write(&helper, "#!/bin/sh\nsecret=hunter2\nexec sleep 0\n").unwrap();
    let file = json!({ "credsStore": "test" });
    let said = pull_in_child(folder.path(), &target.to_string(), &file);
    assert!(said.contains("docker-credential-test"), "{said}");
}

/// Pulls in another process, whose Docker configuration this is, and gives what it said.
fn pull_in_child(folder: &Path, image: &str, configuration: &Value) -> String {
    fs_err::write(folder.join("config.json"), configuration.to_string()).unwrap();
    let cache = tempfile::tempdir_in(folder).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = child(image, cache.path())
        .env("DOCKER_CONFIG", folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("REGISTRY_AUTH_FILE")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_token_is_fetched_shown_and_fetched_anew_when_it_is_not_taken_any_more() {
    let registry = Registry::start().unwrap();
    let proxy = Proxy::start(&registry.address).await.unwrap();
    let direct = reference(&registry.address, "a/b:v1");
    let anybody = Client::new(settings(&[&registry.address]));
    anybody.push_image(&image(10), &direct).await.unwrap();

    let challenge = format!(
        "WWW-Authenticate: Bearer realm=\"http://{}/token\",service=\"test\"",
        proxy.address
    );
    let token = |token: &str| Fault::Answer {
        status: 200,
        headers: Vec::new(),
        body: json!({ "token": token }).to_string(),
    };
    proxy.fault("GET", "manifests", Fault::status(401, &[&challenge]), 1);
    proxy.fault("GET", "/token", token("one"), 1);
    proxy.fault("GET", "blobs", Fault::status(401, &[&challenge]), 1);
    proxy.fault("GET", "/token", token("two"), 1);
    let client = login(&proxy.address, PASSWORD);
    let target = reference(&proxy.address, "a/b:v1");
    let (_folder, cache) = store();
    pull(&client, &target.to_string(), &cache).await.unwrap();

    let shown = |path: &str| -> Vec<Option<String>> {
        let requests = proxy.requests(path).into_iter();
        requests.map(|request| request.authorization).collect()
    };
    let one = Some("Bearer one".to_owned());
    let two = Some("Bearer two".to_owned());
    assert_eq!(shown("manifests"), [None, one.clone()]);
    assert_eq!(shown("blobs"), [one, two.clone(), two]);
    let asked = &proxy.requests("/token")[0];
    assert!(
        asked.path.contains("scope=repository%3Aa%2Fb%3Apull"),
        "{}",
        asked.path
    );
    assert!(asked.path.contains("service=test"));
    let basic = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    assert_eq!(asked.authorization, Some(format!("Basic {basic}")));
}

#[tokio::test]
async fn a_password_is_not_sent_to_a_token_service_without_tls() {
    let elsewhere = Proxy::start("127.0.0.1:9").await.unwrap();
    let realm = format!("http://{}/token", elsewhere.address);
    let registry = Registry::start_with_token_service(&realm).unwrap();
    let address = &registry.address;
    let mut settings = settings(&[]);
    let pem = fs_err::read(fixture("tls/authority.pem")).unwrap();
    settings.certificates.insert(address.clone(), pem);
    let login = AuthConfig::from_login(address, USER, PASSWORD, "the test");
    settings.keychain = Keychain::new(vec![login]);
    let client = Client::new(settings);
    let (_folder, cache) = store();
    let image = format!("{address}/a/b:v1");
    let error = pull(&client, &image, &cache).await.unwrap_err();
    assert!(error.to_string().contains("without TLS"), "{error}");
    assert!(elsewhere.requests("/token").is_empty());
}

#[tokio::test]
async fn a_certificate_is_trusted_only_when_its_authority_was_made_known_for_that_registry() {
    let registry = Registry::start_with_tls().unwrap();
    let address = &registry.address;
    let target = reference(address, "a/b:v1");
    let (_folder, cache) = store();

    let stranger = Client::new(settings(&[]));
    let error = stranger.push_image(&image(10), &target).await.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
    assert!(!error.is_transient());
    assert!(error.to_string().contains("authority"), "{error}");

    let mut settings = settings(&[]);
    let pem = fs_err::read(fixture("tls/authority.pem")).unwrap();
    settings.certificates.insert(address.clone(), pem);
    let friend = Client::new(settings);
    friend.push_image(&image(10), &target).await.unwrap();
    let pulled = pull(&friend, &target.to_string(), &cache).await.unwrap();
    assert_eq!(configs(&pulled).len(), 1);
}

#[tokio::test]
async fn a_registry_that_speaks_plain_http_is_not_taken_for_one_with_tls() {
    let registry = Registry::start().unwrap();
    let client = Client::new(settings(&[]));
    let (_folder, cache) = store();
    let image = format!("{}/a/b:v1", registry.address);
    let error = pull(&client, &image, &cache).await.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
    assert!(error.to_string().contains("plain HTTP"), "{error}");
}
