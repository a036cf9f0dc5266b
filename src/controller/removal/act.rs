//! What a stage of a removal says, done.

use futures::{StreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, Preconditions};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::json;

use super::Remover;
use crate::api::subscription::Subscription;
use crate::controller::error::Error;
use crate::controller::run::patching;
use crate::lifecycle::removal::{
    self, Facts, Goes, Listing, Reference, Stage, Step, Wish, disown, unmark, wish_for,
};
use crate::plan::apply::Error as ApplyError;

/// How many objects are deleted at once.
const AT_ONCE: usize = 8;
/// After how many it is asked whether that is still wished, and told how far it is.
pub(super) const PORTION: usize = 500;

impl Remover {
    /// Does what a stage says for those of its objects that are not on their way out. One that
    /// cannot be deleted stops no other. It is seen right before, and where there are many from time to time, whether
    /// they are still to go: to look at what there is may have taken long.
    pub(crate) async fn act(&self, facts: &Facts, wish: &Wish, stage: &Stage) -> Result<(), Error> {
        let mut outcome = Ok(());
        for portion in &stage.portions(PORTION) {
            if self.still_wished(facts, wish).await?.is_none() {
                break;
            }
            outcome = outcome.and(self.act_on(facts, wish, portion).await);
        }
        outcome
    }

    /// The Subscription as it is now, if what is to go with it is what was wished.
    pub(super) async fn still_wished(
        &self,
        facts: &Facts,
        wish: &Wish,
    ) -> Result<Option<Subscription>, Error> {
        let (known, name) = (&facts.subscription, facts.subscription.name_any());
        let namespace = known.namespace().unwrap_or_default();
        let api = Api::<Subscription>::namespaced(self.client.clone(), &namespace);
        let found = api.get_opt(&name).await;
        let found = found.map_err(Error::while_("reading the Subscription"))?;
        let Some(found) = found.filter(|it| it.uid() == known.uid()) else {
            return Ok(None);
        };
        let now = self.wish(&found).await?;
        Ok((now == *wish).then_some(found))
    }

    async fn act_on(&self, facts: &Facts, wish: &Wish, stage: &Stage) -> Result<(), Error> {
        let objects: Vec<&Goes> = stage.objects.iter().collect();
        match stage.step {
            Step::AwaitCustomResources | Step::AwaitOthers | Step::Afterwards => Ok(()),
            Step::Unmark => {
                for object in objects {
                    self.unmark(facts, &object.object).await?;
                }
                Ok(())
            }
            Step::DeleteDefinitions => {
                for object in objects {
                    self.delete_definition(object).await?;
                }
                Ok(())
            }
            Step::HandOverDependencies => {
                for object in objects {
                    let found = facts
                        .subscriptions
                        .iter()
                        .find(|it| it.uid().is_some_and(|uid| uid == object.uid));
                    if let Some(subscription) = found {
                        let wish = wish_for(subscription, facts, wish);
                        hand_over(&self.client, subscription, &wish).await?;
                    }
                }
                Ok(())
            }
            Step::StopPlans
            | Step::DeleteCustomResources
            | Step::DeleteRemainingResources
            | Step::DeleteOperator
            | Step::DeleteLeftovers => {
                let deletions = objects.into_iter().cloned().map(|object| {
                    let remover = self.clone();
                    async move { remover.delete(&object).await }
                });
                let outcomes: Vec<Result<(), Error>> = stream::iter(deletions)
                    .buffer_unordered(AT_ONCE)
                    .collect()
                    .await;
                outcomes.into_iter().collect()
            }
        }
    }

    async fn delete(&self, goes: &Goes) -> Result<(), Error> {
        let object = &goes.object;
        let mut asked = json!({
            "apiVersion": object.api_version, "kind": object.kind,
            "metadata": {"name": object.name, "uid": goes.uid},
        });
        if !object.namespace.is_empty() {
            asked["metadata"]["namespace"] = json!(object.namespace);
        }
        match self.applier.delete(&asked).await {
            // It went with its kind, or another one has its name now.
            Ok(_) | Err(ApplyError::NoSuchKind { .. } | ApplyError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A CRD takes all of its objects with it. Those that were to go are gone, and so it is looked once more, at
    /// the last moment, whether somebody made one since. If so it is left: the next look decides. So it does if
    /// somebody wrote to it: they may be about to install what has to do with it.
    async fn delete_definition(&self, goes: &Goes) -> Result<(), Error> {
        let asked = json!({
            "apiVersion": goes.object.api_version, "kind": goes.object.kind,
            "metadata": {"name": goes.object.name},
        });
        let Some(live) = self.applier.get(&asked).await? else {
            return Ok(());
        };
        let crd = self.crd(&live, Listing::One).await;
        let is_empty = crd.objects.is_ok_and(|objects| objects.is_empty());
        if !is_empty || crd.uid != goes.uid {
            return Ok(());
        }
        let as_it_was = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(goes.uid.clone()),
                resource_version: goes.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        match api.delete(&goes.object.name, &as_it_was).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
            Err(error) => Err(Error::while_(format!("deleting {}", goes.object))(error)),
        }
    }

    /// Takes the marks of the package off what stays.
    async fn unmark(&self, facts: &Facts, object: &Reference) -> Result<(), Error> {
        let crd = facts.crds.iter().find(|crd| crd.reference() == *object);
        let marked = facts.marked.iter().find(|it| it.object == *object);
        let patch = match (crd, marked) {
            (Some(crd), _) => unmark(crd, facts),
            (None, Some(marked)) => disown(marked, facts),
            (None, None) => None,
        };
        let Some(patch) = patch else {
            return Ok(());
        };
        let (group, version) = object
            .api_version
            .split_once('/')
            .unwrap_or(("", &object.api_version));
        let kind = GroupVersionKind::gvk(group, version, &object.kind);
        let (resource, _) = kube::discovery::pinned_kind(&self.client, &kind)
            .await
            .map_err(Error::while_(format!("asking for kind {}", object.kind)))?;
        let api: Api<DynamicObject> = match object.namespace.as_str() {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        patched(
            api.patch_metadata(&object.name, &patching(), &Patch::Merge(&patch))
                .await,
        )
        .map_err(Error::while_(format!("taking marks off {object}")))
    }
}

fn patched<T>(outcome: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match outcome {
        Ok(_) => Ok(()),
        // It went meanwhile.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes on a Subscription what is to go with it, and deletes it as it was written: if somebody else wrote to
/// it in between, both are to be done again. If it cannot be deleted, the wish is taken off again.
pub(crate) async fn hand_over(
    client: &Client,
    subscription: &Subscription,
    wish: &Wish,
) -> Result<(), Error> {
    let name = subscription.name_any();
    let namespace = subscription.namespace().unwrap_or_default();
    let api = Api::<Subscription>::namespaced(client.clone(), &namespace);
    let patch = removal::hand_over(subscription, wish);
    let written = api
        .patch(&name, &patching(), &Patch::Merge(&patch))
        .await
        .map_err(Error::while_(format!("writing Subscription {name}")))?;
    let this_one = DeleteParams {
        preconditions: Some(Preconditions {
            uid: written.uid(),
            resource_version: written.resource_version(),
        }),
        ..DeleteParams::default()
    };
    let Err(error) = api.delete(&name, &this_one).await else {
        return Ok(());
    };
    let error = Error::while_(format!("deleting Subscription {name}"))(error);
    if !error.is_stale()
        && let Err(problem) = put_back(client, &written).await
    {
        tracing::warn!(%problem, "the Subscription keeps a wish for its removal, until somebody looks at it");
    }
    Err(error)
}

/// Takes the wish off a Subscription that was not deleted.
pub(crate) async fn put_back(client: &Client, subscription: &Subscription) -> Result<(), Error> {
    let Some(patch) = removal::put_back(subscription) else {
        return Ok(());
    };
    let name = subscription.name_any();
    let namespace = subscription.namespace().unwrap_or_default();
    let api = Api::<Subscription>::namespaced(client.clone(), &namespace);
    let written = api.patch(&name, &patching(), &Patch::Merge(&patch)).await;
    written.map_err(Error::while_(format!(
        "taking the wish for its removal off Subscription {name}"
    )))?;
    Ok(())
}
