//! Everything that carries the mark of a package, of whatever kind.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Client, ResourceExt as _};
use tokio::time::timeout;

use super::Remover;
use crate::api::GROUP;
use crate::api::labels;
use crate::api::subscription::Subscription;
use crate::controller::error::Error;
use crate::controller::words;
use crate::lifecycle::removal::{Marked, Reference, Unlisted, mark};

/// How many kinds are asked for at once.
const AT_ONCE: usize = 16;
/// How long a list may take. What converts objects and is not there is asked for again and again, behind the
/// API server and before it.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What is said of a list that took longer.
pub(super) fn late() -> String {
    format!("there was no answer within {} s", PATIENCE.as_secs())
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    pub(crate) marked: Vec<Marked>,
    /// What the API server said about kinds that may not be listed.
    pub(crate) unread: Vec<String>,
    /// Kinds that cannot be listed.
    pub(crate) unlisted: Vec<Unlisted>,
}

impl Remover {
    /// Finds everything that was made for a package and carries its mark: in the namespace of its
    /// Subscription, and in none.
    pub(crate) async fn sweep(&self, subscription: &Subscription) -> Result<Swept, Error> {
        let namespace = subscription.namespace().unwrap_or_default();
        let marked = format!("{}=true,{}", labels::MANAGED, mark(subscription));
        let parameters = ListParams::default().labels(&marked);
        let kinds = kinds(&self.client)
            .await
            .map_err(Error::while_("asking for the kinds of the cluster"))?;
        let lists = kinds.into_iter().map(|(resource, scope)| {
            let client = self.client.clone();
            let api: Api<DynamicObject> = match scope {
                Scope::Namespaced => Api::namespaced_with(client, &namespace, &resource),
                Scope::Cluster => Api::all_with(client, &resource),
            };
            let parameters = parameters.clone();
            async move {
                let listed = timeout(PATIENCE, api.list_metadata(&parameters)).await;
                (resource, listed)
            }
        });
        let mut swept = Swept::default();
        let mut lists = stream::iter(lists).buffer_unordered(AT_ONCE);
        while let Some((resource, listed)) = lists.next().await {
            let mut unlisted = |problem: String| {
                swept.unlisted.push(Unlisted {
                    group: resource.group.clone(),
                    kind: resource.kind.clone(),
                    problem,
                });
            };
            let Ok(found) = listed else {
                unlisted(late());
                continue;
            };
            let objects = match found {
                Ok(objects) => objects.items,
                // It went with its API.
                Err(kube::Error::Api(status)) if [404, 405].contains(&status.code) => continue,
                // Whoever may not list them did not make them either.
                Err(kube::Error::Api(status)) if status.code == 403 => {
                    swept.unread.push(status.message);
                    continue;
                }
                // One that is broken is in the way of those only who may have some of it.
                Err(error @ (kube::Error::Api(_) | kube::Error::SerdeError(_))) => {
                    unlisted(words::of_api(&error));
                    continue;
                }
                Err(error) => {
                    return Err(Error::while_(format!("listing {}", resource.plural))(error));
                }
            };
            swept.marked.extend(objects.into_iter().map(|object| {
                Marked {
                    object: Reference {
                        api_version: resource.api_version.clone(),
                        kind: resource.kind.clone(),
                        namespace: object.namespace().unwrap_or_default(),
                        name: object.name_any(),
                    },
                    uid: object.uid().unwrap_or_default(),
                    labels: object.labels().clone(),
                    owners: object
                        .owner_references()
                        .iter()
                        .map(|owner| owner.uid.clone())
                        .collect(),
                    is_found: object.annotations().contains_key(labels::FOUND),
                    is_going: object.metadata.deletion_timestamp.is_some(),
                    finalizers: object.finalizers().to_vec(),
                }
            }));
        }
        swept.unlisted.sort();
        swept.marked.sort_by(|a, b| a.object.cmp(&b.object));
        Ok(swept)
    }
}

/// The kinds whose objects can be listed and deleted, but for those that have a stage of their own in
/// a removal, and namespaces, which are the user's whatever they carry.
async fn kinds(client: &Client) -> Result<Vec<(ApiResource, Scope)>, kube::Error> {
    // One request where the API server can do that.
    let all = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(all) => all,
        Err(_) => Discovery::new(client.clone()).run().await?,
    };
    let mut kinds = Vec::new();
    for group in all.groups() {
        for (resource, abilities) in group.resources_by_stability() {
            let is_listed = [verbs::LIST, verbs::DELETE]
                .iter()
                .all(|verb| abilities.supports_operation(verb));
            let is_apart = match resource.group.as_str() {
                GROUP => resource.kind != "OperatorCondition",
                "apiextensions.k8s.io" | "events.k8s.io" => true,
                "" => matches!(resource.kind.as_str(), "Namespace" | "Event" | "Node"),
                _ => false,
            };
            if is_listed && !is_apart {
                kinds.push((resource, abilities.scope));
            }
        }
    }
    Ok(kinds)
}
