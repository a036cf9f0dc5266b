//! The `GopherAPI`: what it wants, in any version, and what is said about it.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::jiff::Timestamp;
use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::statement::{Statement, conditions};

/// What a GopherAPI wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GopherApi {
    pub(crate) endpoint: String,
    pub(crate) api_key: ApiKey,
}

/// Where the key is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ApiKey {
    Value(String),
    Secret { name: String, key: String },
}

/// An API that knows what it should.
#[derive(Debug)]
pub(crate) struct Fed {
    /// How many things it had to be told.
    pub(crate) told: usize,
    pub(crate) gophers: usize,
}

/// Why an API does not know what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("its spec cannot be read: {0}")]
    Malformed(String),
    #[error("its key is not to be had: {0}")]
    NoKey(String),
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it does not take what it is told: {0}")]
    Refused(String),
    #[error("{0} gophers did not tell yet who they are")]
    Silent(usize),
}

impl Trouble {
    fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "Malformed",
            Self::NoKey(_) => "NoKey",
            Self::Unreachable(_) => "Unreachable",
            Self::Refused(_) => "Refused",
            Self::Silent(_) => "Silent",
        }
    }
}

/// The spec in both versions: the key is text in the first, and an object from `v1beta1` on.
#[derive(Deserialize)]
struct Spec {
    endpoint: String,
    #[serde(rename = "apiKey")]
    api_key: Key,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Key {
    Text(String),
    Object {
        value: Option<String>,
        #[serde(rename = "secretRef")]
        secret: Option<SecretRef>,
    },
}

#[derive(Deserialize)]
struct SecretRef {
    name: String,
    key: Option<String>,
}

impl GopherApi {
    pub(crate) fn read(object: &DynamicObject) -> Result<Self, Trouble> {
        let spec: Spec = serde_json::from_value(object.data["spec"].clone())
            .map_err(|error| Trouble::Malformed(error.to_string()))?;
        let api_key = match spec.api_key {
            Key::Text(value)
            | Key::Object {
                value: Some(value),
                secret: None,
            } => ApiKey::Value(value),
            // A Secret is the better place, if there are both.
            Key::Object {
                secret: Some(secret),
                ..
            } => ApiKey::Secret {
                name: secret.name,
                key: secret.key.unwrap_or_else(|| "apiKey".to_owned()),
            },
            Key::Object { .. } => {
                let words = "apiKey has neither a value nor a secretRef";
                return Err(Trouble::NoKey(words.to_owned()));
            }
        };
        Ok(Self {
            endpoint: spec.endpoint,
            api_key,
        })
    }
}

/// A key in a Secret. Many Secrets are made of files, which end with the end of a line; a key does not.
pub(crate) fn key_in(data: &BTreeMap<String, ByteString>, field: &str) -> Option<String> {
    let key = std::str::from_utf8(&data.get(field)?.0).ok()?.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

/// The status to write, if it is news.
pub(crate) fn status(
    object: &DynamicObject,
    outcome: &Result<Fed, Trouble>,
    now: Timestamp,
) -> Option<Value> {
    if !is_converted(object) {
        return None;
    }
    let before = &object.data["status"];
    let (gophers, statement) = match outcome {
        Ok(fed) => {
            let message = format!(
                "The API knows all {} gophers of this namespace.",
                fed.gophers
            );
            (json!(fed.gophers), said(true, "Fed", message))
        }
        Err(trouble) => {
            let message = format!("The API is not up to date: {trouble}.");
            (
                before["gophers"].clone(),
                said(false, trouble.reason(), message),
            )
        }
    };
    let mut status = json!({
        "observedGeneration": object.metadata.generation,
        "conditions": conditions(&[statement], &before["conditions"], now),
    });
    if !gophers.is_null() {
        status["gophers"] = gophers;
    }
    (*before != status).then_some(status)
}

fn said(holds: bool, reason: &'static str, message: String) -> Statement {
    Statement {
        type_: "Fed",
        holds,
        reason,
        message,
    }
}

/// Whether an object looks as its version says. Until the API server knows the webhook that converts, it gives
/// objects of the old version out as ones of the new, and whoever wrote one of them back would spoil it.
pub(crate) fn is_converted(object: &DynamicObject) -> bool {
    let version = object.types.as_ref().map(|it| it.api_version.as_str());
    let is_first = version.is_some_and(|it| it.ends_with("/v1alpha1"));
    object.data["spec"]["apiKey"].is_string() == is_first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: &str, key: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": format!("lostinbrittany.dev/{version}"), "kind": "GopherAPI",
            "metadata": {"name": "one", "generation": 2},
            "spec": {"endpoint": "http://api", "apiKey": key},
        }))
        .expect("an object")
    }

    fn key(version: &str, key: &Value) -> Result<ApiKey, Trouble> {
        GopherApi::read(&object(version, key)).map(|it| it.api_key)
    }

    #[test]
    fn the_key_is_read_in_both_versions() {
        let value = ApiKey::Value("k".to_owned());
        assert_eq!(key("v1alpha1", &json!("k")).expect("a key"), value);
        assert_eq!(
            key("v1beta1", &json!({"value": "k"})).expect("a key"),
            value
        );
        let secret = ApiKey::Secret {
            name: "s".to_owned(),
            key: "apiKey".to_owned(),
        };
        let both = json!({"value": "k", "secretRef": {"name": "s"}});
        assert_eq!(key("v1beta1", &both).expect("a key"), secret);
        assert!(matches!(key("v1beta1", &json!({})), Err(Trouble::NoKey(_))));
        assert!(matches!(
            key("v1beta1", &json!(3)),
            Err(Trouble::Malformed(_))
        ));
    }

    #[test]
    fn a_key_in_a_secret_ends_before_the_end_of_its_line() {
        let data = |text: &[u8]| BTreeMap::from([("k".to_owned(), ByteString(text.to_vec()))]);
        assert_eq!(key_in(&data(b"secret\n"), "k").as_deref(), Some("secret"));
        for none in [&b"\n"[..], b"", b"\xff"] {
            assert_eq!(key_in(&data(none), "k"), None);
        }
        assert_eq!(key_in(&data(b"secret"), "other"), None);
    }

    #[test]
    fn a_status_is_written_once() {
        let mut object = object("v1alpha1", &json!("k"));
        let now = Timestamp::UNIX_EPOCH;
        let fed = Ok(Fed {
            told: 3,
            gophers: 3,
        });
        let first = status(&object, &fed, now).expect("news");
        assert_eq!(first["gophers"], 3);
        assert_eq!(first["observedGeneration"], 2);
        assert_eq!(first["conditions"][0]["status"], "True");
        object.data["status"] = first;
        let later = Timestamp::from_second(60).expect("a time");
        assert!(status(&object, &fed, later).is_none());
        let trouble = Err(Trouble::Unreachable("no route".to_owned()));
        let second = status(&object, &trouble, later).expect("news");
        assert_eq!(second["gophers"], 3);
        assert_eq!(second["conditions"][0]["reason"], "Unreachable");
    }

    #[test]
    fn an_object_that_was_not_converted_is_not_written() {
        let fed = Ok(Fed {
            told: 0,
            gophers: 0,
        });
        let now = Timestamp::UNIX_EPOCH;
        assert!(status(&object("v1beta1", &json!("k")), &fed, now).is_none());
        assert!(status(&object("v1beta1", &json!({"value": "k"})), &fed, now).is_some());
    }
}
