//! The live objects of a CRD, looked at page by page.

use http::Method;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::request::{Body, Connection};
use super::{Error, Target};
use crate::plan::crd::{Judge, Verdict, is_looked_at};

/// How many objects are read at a time.
const PAGE: usize = 500;

/// Judges whether `new` may replace `old`, and reads as many live objects as that takes: none if the
/// schemas alone decide, and no more once enough bad ones are known to be named.
///
/// At most two pages are in memory, and the judging, which may take long, is done on a thread where
/// nothing waits for it.
pub(super) async fn judge(
    connection: &Connection,
    target: &Target,
    old: CustomResourceDefinition,
    new: CustomResourceDefinition,
) -> Result<Verdict, Error> {
    let lists = lists(&old, &new);
    let (needs_objects, answer) = oneshot::channel();
    let (sender, mut pages) = mpsc::channel::<(String, Vec<Value>)>(1);
    let judging = tokio::task::spawn_blocking(move || {
        let mut judge = Judge::new(&old, &new);
        // Nobody listens only when nobody wants the verdict any more.
        let _ = needs_objects.send(judge.needs_objects());
        while let Some((version, page)) = pages.blocking_recv() {
            for object in &page {
                judge.look_at(&version, object);
            }
            if judge.has_seen_enough() {
                break;
            }
        }
        // Whoever reads pages notices that nobody takes them any more.
        drop(pages);
        judge.verdict()
    });
    let read = if answer.await == Ok(true) {
        read_pages(connection, target, lists, sender).await
    } else {
        drop(sender);
        Ok(())
    };
    let verdict = judging.await.map_err(|error| Error::Unavailable {
        target: Box::new(target.clone()),
        message: format!("its objects could not be checked: {error}"),
    })?;
    // What is refused in any case does not depend on what could be read.
    if verdict.is_allowed() {
        read?;
    }
    Ok(verdict)
}

/// Each version whose objects are to be looked at, and where they are.
fn lists(old: &CustomResourceDefinition, new: &CustomResourceDefinition) -> Vec<(String, String)> {
    let versions = old.spec.versions.iter().map(|version| &version.name);
    versions
        .filter(|name| is_looked_at(old, new, name))
        .map(|name| {
            let (group, plural) = (&old.spec.group, &old.spec.names.plural);
            (name.clone(), format!("/apis/{group}/{name}/{plural}"))
        })
        .collect()
}

async fn read_pages(
    connection: &Connection,
    target: &Target,
    lists: Vec<(String, String)>,
    pages: mpsc::Sender<(String, Vec<Value>)>,
) -> Result<(), Error> {
    for (version, url) in lists {
        let mut token = String::new();
        loop {
            // Waits until the last page is taken; nobody takes any when enough is known.
            let Ok(permit) = pages.reserve().await else {
                return Ok(());
            };
            let page = format!("{url}?limit={PAGE}{token}");
            let answer = connection
                .send(None, Method::GET, &page, Body::Empty)
                .await
                .map_err(|refusal| Error::Unavailable {
                    target: Box::new(target.clone()),
                    message: format!(
                        "its objects of version {version} cannot be listed, and so nobody knows whether the new schema harms them: {}",
                        refusal.message()
                    ),
                })?;
            let mut list = answer.body;
            let objects = match list.get_mut("items").map(Value::take) {
                Some(Value::Array(objects)) => objects,
                _ => Vec::new(),
            };
            permit.send((version.clone(), objects));
            let next = list.pointer("/metadata/continue").and_then(Value::as_str);
            match next.filter(|next| !next.is_empty()) {
                // Base64 for URLs, but with padding.
                Some(next) => token = format!("&continue={}", next.replace('=', "%3D")),
                None => break,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(versions: &[(&str, bool)], strategy: &str) -> CustomResourceDefinition {
        let versions = versions
            .iter()
            .map(|(name, served)| json!({"name": name, "served": served, "storage": false}));
        serde_json::from_value(json!({
            "metadata": {"name": "gophers.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "gophers", "kind": "Gopher"},
                "versions": versions.collect::<Vec<_>>(),
                "conversion": {"strategy": strategy},
            },
        }))
        .unwrap()
    }

    #[test]
    fn objects_are_also_looked_at_in_a_version_that_ends_unless_a_webhook_converts_them() {
        let old = crd(&[("v1alpha1", false), ("v1", true), ("v2", true)], "None");
        let names = |new: &CustomResourceDefinition| -> Vec<String> {
            lists(&old, new).into_iter().map(|(name, _)| name).collect()
        };
        let unserved = [("v1", false), ("v2", true)];
        assert_eq!(names(&crd(&unserved, "None")), ["v1", "v2"]);
        assert_eq!(names(&crd(&[("v2", true)], "None")), ["v1", "v2"]);
        assert_eq!(names(&crd(&unserved, "Webhook")), ["v2"]);
        // What a webhook made of them is not what they are.
        let converted = crd(&[("v1", true), ("v2", true)], "Webhook");
        let lists = lists(&converted, &crd(&unserved, "None"));
        assert_eq!(lists.len(), 1, "{lists:?}");
    }
}
