//! What a stage of a removal says, done.

use futures::{StreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::Remover;
use crate::api::labels;
use crate::api::subscription::Subscription;
use crate::controller::error::Error;
use crate::controller::run::patching;
use crate::lifecycle::removal::{Facts, Goes, Stage, Step, Wish, unmark, wish_for};
use crate::plan::apply::Error as ApplyError;

/// How many objects are deleted at once.
const AT_ONCE: usize = 8;

impl Remover {
    /// Does what a stage says for those of its objects that are not on their way out. One that
    /// cannot be deleted stops no other.
    pub(crate) async fn act(&self, facts: &Facts, wish: &Wish, stage: &Stage) -> Result<(), Error> {
        let objects: Vec<&Goes> = stage.objects.iter().filter(|it| !it.is_going).collect();
        match stage.step {
            Step::AwaitOthers | Step::Afterwards => Ok(()),
            Step::UnmarkDefinitions => {
                for object in objects {
                    self.unmark(facts, &object.object.name).await?;
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
            | Step::DeleteOperator
            | Step::DeleteLeftovers
            | Step::DeleteDefinitions => {
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

    async fn unmark(&self, facts: &Facts, name: &str) -> Result<(), Error> {
        let crd = facts.crds.iter().find(|crd| crd.name == name);
        let Some(patch) = crd.and_then(|crd| unmark(crd, facts)) else {
            return Ok(());
        };
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        patched(
            api.patch_metadata(name, &patching(), &Patch::Merge(&patch))
                .await,
        )
        .map_err(Error::while_(format!("taking marks off CRD {name}")))
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

/// Writes on a Subscription what is to go with it, and deletes it. Both say the same when they are done
/// again.
pub(crate) async fn hand_over(
    client: &Client,
    subscription: &Subscription,
    wish: &Wish,
) -> Result<(), Error> {
    let name = subscription.name_any();
    let namespace = subscription.namespace().unwrap_or_default();
    let api = Api::<Subscription>::namespaced(client.clone(), &namespace);
    let mut finalizers = subscription.finalizers().to_vec();
    // One that is on its way out takes no finalizer any more.
    if !super::has_finalizer(subscription) && subscription.metadata.deletion_timestamp.is_none() {
        finalizers.push(labels::REMOVAL_FINALIZER.to_owned());
    }
    let crds: Vec<&str> = wish.crds.iter().map(String::as_str).collect();
    let or_none = |text: String| {
        if text.is_empty() {
            Value::Null
        } else {
            json!(text)
        }
    };
    let dependencies = if wish.dependencies { "true" } else { "" };
    let patch = json!({
        "metadata": {
            "resourceVersion": subscription.resource_version(),
            "finalizers": finalizers,
            "annotations": {
                labels::PRUNE_DEPENDENCIES: or_none(dependencies.to_owned()),
                labels::DELETE_CRDS: or_none(crds.join(",")),
            },
        },
        "spec": {"policy": {"removal": wish.policy}},
    });
    api.patch(&name, &patching(), &Patch::Merge(&patch))
        .await
        .map_err(Error::while_(format!("writing Subscription {name}")))?;
    let this_one = DeleteParams {
        preconditions: Some(Preconditions {
            uid: subscription.uid(),
            ..Preconditions::default()
        }),
        ..DeleteParams::default()
    };
    match api.delete(&name, &this_one).await {
        Ok(_) => Ok(()),
        // It is gone, or another one has its name.
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
        Err(error) => Err(Error::while_(format!("deleting Subscription {name}"))(
            error,
        )),
    }
}
