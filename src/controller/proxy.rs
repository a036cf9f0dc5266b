//! The proxy of the cluster, if it has one to tell of.
//!
//! OpenShift keeps it in an object, and OLM gives it to every operator as variables of its
//! environment. Elsewhere there is no such kind of object, and nothing is watched.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watch_object;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::{cluster_service_version, words};

const GROUP: &str = "config.openshift.io";
const VERSION: &str = "v1";
const KIND: &str = "Proxy";

/// How soon is asked again whether there is such a kind when nobody could say.
const UNKNOWN: Duration = Duration::from_secs(1);

/// The variables, and the fields of the status that they come from: what the spec says was not
/// checked yet.
const VARIABLES: [(&str, &str); 3] = [
    ("HTTP_PROXY", "httpProxy"),
    ("HTTPS_PROXY", "httpsProxy"),
    ("NO_PROXY", "noProxy"),
];

/// The variables of the proxy; nothing as long as it is not known whether there are any.
#[derive(Debug)]
pub(crate) struct Proxy(watch::Sender<Option<Variables>>);

/// Names and values.
type Variables = Vec<(String, String)>;

impl Default for Proxy {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Proxy {
    /// Names and values.
    pub(crate) fn variables(&self) -> Variables {
        self.0.borrow().clone().unwrap_or_default()
    }

    /// Waits until it is known. Whoever does not wait would take the proxy away from operators.
    pub(crate) async fn is_known(&self) {
        // The sender is part of this, so that waiting for it cannot fail.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }

    /// Whether these are other variables than before.
    fn set(&self, variables: Variables) -> bool {
        self.0.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&variables);
            *known = Some(variables);
            is_new
        })
    }
}

/// Keeps the variables up to date until it is told to stop, and has all operators looked at when
/// they change.
pub(super) async fn follow(context: Arc<Context>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = watch_proxy(&context) => {}
    }
}

async fn watch_proxy(context: &Context) {
    if !is_served(context).await {
        context.proxy.set(Variables::new());
        return;
    }
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, KIND), "proxies");
    let api = Api::<DynamicObject>::all_with(context.client.clone(), &resource);
    let found = watch_object(api, &context.settings.proxy).default_backoff();
    let mut found = std::pin::pin!(found);
    while let Some(object) = found.next().await {
        match object {
            Ok(object) => {
                let said = object.map(|object| variables(&object.data));
                if context.proxy.set(said.unwrap_or_default()) {
                    cluster_service_version::tell_all(context);
                }
            }
            Err(error) => {
                let error = words::of_watch(&error);
                tracing::warn!(kind = KIND, error, "the watch failed and is begun anew");
            }
        }
    }
}

async fn is_served(context: &Context) -> bool {
    let version = format!("{GROUP}/{VERSION}");
    loop {
        match context.client.list_api_group_resources(&version).await {
            Ok(list) => return list.resources.iter().any(|it| it.kind == KIND),
            Err(kube::Error::Api(status)) if status.code == 404 => return false,
            Err(error) => {
                let error = words::of_api(&error);
                tracing::warn!(error, "cannot tell whether the cluster has a proxy");
                tokio::time::sleep(UNKNOWN).await;
            }
        }
    }
}

/// What the object says, without what it leaves empty.
fn variables(object: &Value) -> Variables {
    let said = VARIABLES.into_iter().filter_map(|(variable, field)| {
        let value = object.pointer(&format!("/status/{field}"))?.as_str()?;
        Some((variable.to_owned(), value.to_owned()))
    });
    said.filter(|(_, value)| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_checked_counts_and_what_is_empty_does_not() {
        let object = json!({
            "spec": {"httpProxy": "http://typo", "httpsProxy": "http://typo"},
            "status": {"httpProxy": "http://proxy:3128", "httpsProxy": "", "noProxy": ".svc"},
        });
        let said = variables(&object);
        let expected = [("HTTP_PROXY", "http://proxy:3128"), ("NO_PROXY", ".svc")];
        assert_eq!(
            said,
            expected.map(|(name, value)| (name.into(), value.into()))
        );
        assert_eq!(
            variables(&json!({"spec": {"httpProxy": "http://typo"}})),
            []
        );
    }

    #[test]
    fn only_other_variables_are_news() {
        let proxy = Proxy::default();
        let one = || vec![("NO_PROXY".to_owned(), ".svc".to_owned())];
        assert!(proxy.set(Variables::new()));
        assert!(!proxy.set(Variables::new()));
        assert!(proxy.set(one()));
        assert!(!proxy.set(one()));
        assert_eq!(proxy.variables(), one());
    }
}
