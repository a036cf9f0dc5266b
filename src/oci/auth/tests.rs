use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::json;

use super::{AuthConfig, Credentials, Keychain, Login, files};
use crate::oci::Error;

fn auth(user: &str, password: &str) -> serde_json::Value {
    json!({ "auth": STANDARD.encode(format!("{user}:{password}")) })
}

fn config(value: &serde_json::Value) -> Result<AuthConfig, Error> {
    AuthConfig::from_docker_config(value.to_string().as_bytes(), "config.json")
}

async fn user(keychain: &Keychain, image: &str) -> String {
    let found = keychain.find(&image.parse().unwrap()).await.unwrap();
    match found.login {
        Login::Password { username, .. } => username,
        other => format!("{other:?}"),
    }
}

#[rstest]
#[case("quay.io/org/repo:1", "repo")]
#[case("quay.io/org/other", "org")]
#[case("quay.io/organic/x", "host")]
#[case("quay.io/x", "host")]
#[case("nginx", "hub")]
#[case("docker.io/x/y", "hub")]
#[case("a.wild.example/x", "star")]
#[case("b.a.wild.example/x", "Anonymous")]
#[case("ghcr.io/x", "Anonymous")]
#[case("127.0.0.1:5000/x", "port")]
#[case("127.0.0.1:5001/x", "Anonymous")]
#[tokio::test]
async fn the_most_exact_entry_counts(#[case] image: &str, #[case] expected: &str) {
    let keychain = Keychain::new(vec![
        config(&json!({ "auths": {
            "quay.io": auth("host", "x"),
            "quay.io/org": auth("org", "x"),
            "quay.io/org/repo": auth("repo", "x"),
            "https://index.docker.io/v1/": auth("hub", "x"),
            "*.wild.example": auth("star", "x"),
            "http://127.0.0.1:5000": auth("port", "x"),
            "ghcr.io": {},
        }}))
        .unwrap(),
    ]);
    assert_eq!(user(&keychain, image).await, expected);
}

#[tokio::test]
async fn an_exact_entry_of_a_later_source_beats_a_vague_one_and_of_equals_the_first_counts() {
    let keychain = Keychain::new(vec![
        config(&json!({"auths": {"quay.io": auth("one", "x")}})).unwrap(),
    ])
    .with(
        config(&json!({"auths": {"quay.io": auth("two", "x"), "quay.io/a": auth("a", "x")}}))
            .unwrap(),
    );
    assert_eq!(user(&keychain, "quay.io/b").await, "one");
    assert_eq!(user(&keychain, "quay.io/a/b").await, "a");
}

#[tokio::test]
async fn the_older_secret_of_kubernetes_is_read_too() {
    let text = json!({ "https://quay.io/v1/": { "username": "u", "password": "p", "email": "e" } });
    let config = AuthConfig::from_dockercfg(text.to_string().as_bytes(), "secret ns/pull").unwrap();
    let keychain = Keychain::new(vec![config]);
    let found = keychain
        .find(&"quay.io/a/b".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(found, Credentials::password("u", "p", "secret ns/pull"));
    assert_eq!(found.to_string(), "the password of `u` from secret ns/pull");
}

#[tokio::test]
async fn tokens_are_kept_apart_from_passwords() {
    let keychain = Keychain::new(vec![
        config(&json!({ "auths": {
            "a.example": { "identitytoken": "secret-1", "auth": STANDARD.encode("u:") },
            "b.example": { "registrytoken": "secret-2" },
        }}))
        .unwrap(),
    ]);
    assert_eq!(
        user(&keychain, "a.example/x").await,
        "IdentityToken(<secret>)"
    );
    assert_eq!(
        user(&keychain, "b.example/x").await,
        "RegistryToken(<secret>)"
    );
}

#[rstest]
#[case(br#"{"auths": {"quay.io": {"auth": "aHVudGVyMg=="}}}"#)]
#[case(br#"{"auths": {"quay.io": {"auth": "hunter2!"}}}"#)]
#[case(br#"{"auths": "hunter2"}"#)]
#[case(br"hunter2")]
fn an_error_names_the_file_and_never_the_secret(#[case] text: &[u8]) {
    let error = AuthConfig::from_docker_config(text, "config.json").unwrap_err();
    let message = format!("{error} {error:?}");
    assert!(message.contains("config.json"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    assert!(!message.contains("aHVudGVy"), "{message}");
}

#[test]
fn no_debug_output_holds_a_secret() {
    let config = config(&json!({ "auths": { "quay.io": auth("user", "hunter2") } })).unwrap();
    let keychain = Keychain::new(vec![config]);
    assert!(!format!("{keychain:?}").contains("hunter2"));
    let login = AuthConfig::from_login("quay.io", "user", "hunter2", "flag");
    assert!(!format!("{login:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_helper_that_is_not_there_is_named() {
    let config = config(&json!({ "credHelpers": { "quay.io": "no-such-thing" } })).unwrap();
    let keychain = Keychain::new(vec![config]);
    let error = keychain
        .find(&"quay.io/a".parse().unwrap())
        .await
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("docker-credential-no-such-thing"),
        "{message}"
    );
}

#[tokio::test]
async fn a_helper_is_no_path() {
    let config = config(&json!({ "credsStore": "/../../bin/true" })).unwrap();
    let error = Keychain::new(vec![config])
        .find(&"quay.io/a".parse().unwrap())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("path"), "{error}");
}

#[test]
fn files_are_looked_for_where_docker_and_podman_keep_them() {
    let at = |set: &'static [(&str, &str)]| {
        files(|name| {
            set.iter()
                .find_map(|(key, value)| (*key == name).then(|| PathBuf::from(value)))
        })
    };
    assert_eq!(
        at(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/u")]),
        [
            PathBuf::from("/h/.docker/config.json"),
            PathBuf::from("/run/u/containers/auth.json"),
            PathBuf::from("/h/.config/containers/auth.json"),
        ]
    );
    assert_eq!(
        at(&[("DOCKER_CONFIG", "/d"), ("REGISTRY_AUTH_FILE", "/r.json")]),
        [PathBuf::from("/r.json"), PathBuf::from("/d/config.json")]
    );
    assert!(at(&[]).is_empty());
}
