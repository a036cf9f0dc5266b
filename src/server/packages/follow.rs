//! What comes from the cluster and changes while the process runs: whom to believe, and the
//! certificate to serve with, which all replicas share.

use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::{PackageApi, Trust};

/// Where API servers say whom to believe.
const TRUST_NAMESPACE: &str = "kube-system";
const TRUST: &str = "extension-apiserver-authentication";

/// Keeps an API up to date with its cluster until it is told to stop. `secret` names the Secret of
/// its certificate, with namespace and name.
pub async fn follow(
    api: Arc<PackageApi>,
    client: Client,
    secret: (&str, &str),
    stop: CancellationToken,
) {
    let trust = each(&client, (TRUST_NAMESPACE, TRUST), &stop, |it: ConfigMap| {
        let data = it.data.unwrap_or_default();
        match Trust::read(&data) {
            Ok(trust) => {
                tracing::info!("the package API knows whom to believe");
                api.believe(trust);
            }
            // What was believed before still holds.
            Err(error) => tracing::warn!(
                %error, "ConfigMap {TRUST_NAMESPACE}/{TRUST} makes no sense and is not followed"
            ),
        }
    });
    let (namespace, name) = secret;
    let certificate = each(&client, secret, &stop, |it: Secret| {
        let text = |key: &str| {
            let data = it.data.as_ref().and_then(|data| data.get(key));
            data.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned())
        };
        let certificate = text("tls.crt").unwrap_or_default();
        let key = text("tls.key").unwrap_or_default();
        match api.serve_with(&certificate, &key) {
            Ok(()) => tracing::info!("the package API serves with the certificate of the cluster"),
            Err(problem) => tracing::warn!(
                problem,
                "Secret {namespace}/{name} makes no sense and is not followed"
            ),
        }
    });
    tokio::join!(trust, certificate);
}

/// Tells of an object whenever it came or changed.
async fn each<K>(
    client: &Client,
    (namespace, name): (&str, &str),
    stop: &CancellationToken,
    mut tell: impl FnMut(K),
) where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api, only).default_backoff();
    let mut events = std::pin::pin!(events.take_until(stop.cancelled()));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => tell(object),
            Ok(Event::Init | Event::InitDone | Event::Delete(_)) => {}
            Err(error) => {
                let kind = K::kind(&());
                tracing::warn!(%kind, namespace, name, %error, "the watch failed and is begun anew");
            }
        }
    }
}
