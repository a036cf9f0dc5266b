//! Which gopher a pod is. A container is the same one for as long as it lives, and so each is asked once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, Limited};
use k8s_openapi::api::core::v1::Pod;
use kube::client::Body;
use kube::{Client, ResourceExt as _};

use super::diff::{Wanted, id};
use crate::gopher::Gopher;

/// How long a pod may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest answer that is read: a name and some blanks.
const LONGEST: usize = 128;
/// How many are asked at once.
const AT_ONCE: usize = 8;

/// The name that each container told.
#[derive(Default)]
pub(crate) struct Names {
    of_containers: Mutex<BTreeMap<Container, String>>,
}

/// A pod's uid and the id of its first container, which is another one after a restart.
type Container = (String, String);

impl Names {
    /// Asks those who did not tell yet, and forgets those who are gone.
    pub(crate) async fn learn(&self, client: &Client, pods: &[Arc<Pod>]) {
        let ready: Vec<(Container, &Arc<Pod>)> = pods
            .iter()
            .filter_map(|pod| Some((container(pod)?, pod)))
            .collect();
        let mut names = self.lock().clone();
        names.retain(|known, _| ready.iter().any(|(container, _)| container == known));
        let new = ready
            .into_iter()
            .filter(|(container, _)| !names.contains_key(container));
        let told: Vec<(Container, Option<String>)> = stream::iter(new)
            .map(async |(container, pod)| (container, ask(client, pod).await))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        names.extend(
            told.into_iter()
                .filter_map(|(container, name)| Some((container, name?))),
        );
        *self.lock() = names;
    }

    /// The gophers of a namespace.
    pub(crate) fn gophers(&self, namespace: &str, pods: &[Arc<Pod>]) -> Vec<Wanted> {
        let names = self.lock();
        let own = pods
            .iter()
            .filter(|pod| pod.namespace().as_deref() == Some(namespace));
        own.filter_map(|pod| {
            let name = names.get(&container(pod)?);
            let id = id(namespace, &pod.name_any());
            let gopher = name.map(|name| Gopher {
                id: id.clone(),
                name: name.clone(),
                displayname: pod.name_any(),
                url: format!("picture/{name}.svg"),
            });
            Some(Wanted { id, gopher })
        })
        .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Container, String>> {
        self.of_containers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the gopher of a pod is known by, if the pod is ready and there to stay.
fn container(pod: &Pod) -> Option<Container> {
    let status = pod.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    let is_ready = conditions.any(|it| it.type_ == "Ready" && it.status == "True");
    if !is_ready || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let first = status.container_statuses.as_ref().and_then(|it| it.first());
    let container = first
        .and_then(|it| it.container_id.clone())
        .unwrap_or_default();
    Some((pod.uid()?, container))
}

/// Asks through the API server, which reaches pods that others may not.
async fn ask(client: &Client, pod: &Pod) -> Option<String> {
    let (namespace, name) = (pod.namespace()?, pod.name_any());
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/proxy/gopher/name");
    let words = match tokio::time::timeout(PATIENCE, told(client, &path)).await {
        Ok(Ok(name)) => return Some(name),
        Ok(Err(words)) => words,
        Err(_) => "it takes too long".to_owned(),
    };
    tracing::warn!(namespace, pod = name, "who are you? {words}");
    None
}

/// The name that is told at a path, or in words why there is none. Whoever talks on and on is not listened to.
async fn told(client: &Client, path: &str) -> Result<String, String> {
    let request = http::Request::get(path)
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let answer = client
        .send(request)
        .await
        .map_err(|error| error.to_string())?;
    if !answer.status().is_success() {
        return Err(format!("it answers {}", answer.status()));
    }
    let body = Limited::new(answer.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    let name = std::str::from_utf8(&body).unwrap_or_default().trim();
    if is_name(name) {
        Ok(name.to_owned())
    } else {
        Err("it tells no name".to_owned())
    }
}

/// A name becomes part of an address.
fn is_name(text: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    (1..=63).contains(&text.len()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::{Value, json};

    use axum::response::IntoResponse as _;

    use super::*;

    fn pod(more: &Value) -> Arc<Pod> {
        let mut pod = json!({
            "metadata": {"name": "one", "namespace": "a", "uid": "u"},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{
                    "name": "gopher", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                    "containerID": "c1",
                }],
            },
        });
        for (path, value) in more.as_object().expect("changes") {
            *pod.pointer_mut(path).expect(path) = value.clone();
        }
        Arc::new(serde_json::from_value(pod).expect("a pod"))
    }

    fn knowing(container: &str) -> Names {
        let names = Names::default();
        let known = ("u".to_owned(), container.to_owned());
        names.lock().insert(known, "poet".to_owned());
        names
    }

    #[test]
    fn a_pod_is_the_gopher_that_it_told() {
        let wanted = knowing("c1").gophers("a", &[pod(&json!({}))]);
        let gopher = wanted[0].gopher.as_ref().expect("a gopher");
        assert_eq!(
            (gopher.id.as_str(), gopher.url.as_str()),
            ("a/one", "picture/poet.svg")
        );
        assert_eq!(gopher.problem(), None);
        assert!(knowing("c1").gophers("b", &[pod(&json!({}))]).is_empty());
    }

    #[test]
    fn a_container_that_was_started_again_may_be_another_gopher() {
        let wanted = knowing("c0").gophers("a", &[pod(&json!({}))]);
        assert!(wanted.len() == 1 && wanted[0].gopher.is_none());
    }

    #[test]
    fn a_pod_that_is_not_ready_is_no_gopher() {
        let unready = pod(&json!({"/status/conditions/0/status": "False"}));
        assert!(knowing("c1").gophers("a", &[unready]).is_empty());
    }

    /// A cluster in which every pod answers this.
    fn answering(answer: fn() -> axum::response::Response) -> Client {
        let service = tower::service_fn(move |_| async move { Ok::<_, Infallible>(answer()) });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn a_pod_that_talks_on_and_on_is_not_listened_to() {
        let client = answering(|| {
            let words = stream::repeat(Ok::<_, Infallible>("poet"));
            axum::response::Response::new(axum::body::Body::from_stream(words))
        });
        let words = told(&client, "/").await.expect_err("no name");
        assert!(words.contains("limit"), "{words}");
    }

    #[tokio::test]
    async fn what_a_pod_tells_is_a_name_only_if_it_means_it() {
        let poet = answering(|| "poet\n".into_response());
        assert_eq!(told(&poet, "/").await.as_deref(), Ok("poet"));
        let lost = answering(|| (http::StatusCode::NOT_FOUND, "poet").into_response());
        assert!(told(&lost, "/").await.is_err());
        let odd = answering(|| "<b>".into_response());
        assert!(told(&odd, "/").await.is_err());
    }

    #[test]
    fn names_are_plain() {
        assert!(is_name("disc-jockey"));
        for odd in ["", "a/b", "<b>", "a b", "..", &"x".repeat(64)] {
            assert!(!is_name(odd), "{odd}");
        }
    }
}
