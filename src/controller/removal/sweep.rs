//! Everything that carries the mark of a package, of whatever kind, and what goes with that.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Client, Resource, ResourceExt as _};
use tokio::time::timeout;

use super::Remover;
use crate::api::GROUP;
use crate::api::cluster_service_version::ClusterServiceVersion;
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

/// Where it is said whom to trust that servers of APIs are asked by.
const KUBE_SYSTEM: &str = "kube-system";

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

/// What is asked for of one kind.
struct Question {
    resource: ApiResource,
    /// In which namespace; in all or none otherwise.
    namespace: Option<String>,
    labels: String,
}

impl Question {
    fn about<K: Resource<DynamicType = ()>>(namespace: Option<&str>, labels: String) -> Self {
        Self {
            resource: ApiResource::erase::<K>(&()),
            namespace: namespace.map(str::to_owned),
            labels,
        }
    }
}

impl Remover {
    /// Finds everything that was made for a package and carries its mark: in the namespace of its
    /// Subscription, and in none.
    pub(crate) async fn sweep(&self, subscription: &Subscription) -> Result<Swept, Error> {
        let namespace = subscription.namespace().unwrap_or_default();
        let marked = format!("{}=true,{}", labels::MANAGED, mark(subscription));
        self.ask(self.about_all_kinds(&namespace, &marked).await?)
            .await
    }

    /// Finds what may go by itself with the operators of a namespace: it is theirs without a mark, or in another
    /// namespace.
    pub(crate) async fn sweep_trail(&self, namespace: &str) -> Result<Swept, Error> {
        let ours = format!("{}=true", labels::MANAGED);
        let owned = || format!("{}={namespace}", labels::OWNER_NAMESPACE);
        let copied = || format!("{}={namespace}", labels::COPIED_FROM);
        let mut questions = self.about_all_kinds(namespace, &ours).await?;
        questions.extend([
            Question::about::<RoleBinding>(Some(KUBE_SYSTEM), owned()),
            Question::about::<ClusterServiceVersion>(None, copied()),
            Question::about::<Role>(None, copied()),
            Question::about::<RoleBinding>(None, copied()),
        ]);
        self.ask(questions).await
    }

    async fn about_all_kinds(&self, namespace: &str, labels: &str) -> Result<Vec<Question>, Error> {
        let kinds = kinds(&self.client)
            .await
            .map_err(Error::while_("asking for the kinds of the cluster"))?;
        let questions = kinds.into_iter().map(|(resource, scope)| Question {
            resource,
            namespace: (scope == Scope::Namespaced).then(|| namespace.to_owned()),
            labels: labels.to_owned(),
        });
        Ok(questions.collect())
    }

    async fn ask(&self, questions: Vec<Question>) -> Result<Swept, Error> {
        let lists = questions.into_iter().map(|question| {
            let client = self.client.clone();
            let Question {
                resource,
                namespace,
                labels,
            } = question;
            let api: Api<DynamicObject> = match namespace {
                Some(namespace) => Api::namespaced_with(client, &namespace, &resource),
                None => Api::all_with(client, &resource),
            };
            async move {
                let parameters = ListParams::default().labels(&labels);
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
