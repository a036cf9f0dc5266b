//! Pull secrets that plans of OLM ask for.
//!
//! OLM copies the pull secrets of a catalog to where its operators run, by a step that has nothing but a name. The
//! step is carried out with our own eyes and somebody else's hands, so that it must not show to the
//! namespace what is none of its business: only what the catalog of the step names as its pull secret, and only if
//! the namespace may have operators of that catalog.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use super::{Execution, Stop};
use crate::api::conditions::StepStatus;
use crate::api::install_plan::StepResource;
use crate::controller::key::ObjectKey;
use crate::controller::words;
use crate::plan::apply::How;

impl Execution<'_> {
    /// Copies a pull secret of a catalog, unless there is a Secret of that name: that one is somebody's.
    pub(super) async fn pull_secret(&mut self, at: usize) -> Result<(), Stop> {
        let Some(step) = self.steps.get(at) else {
            return Ok(());
        };
        let resource = step.resource.clone();
        let place = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": resource.name, "namespace": self.namespace},
        });
        match self.context.applier.get(&place).await {
            Ok(Some(_)) => {
                self.set(at, StepStatus::Present);
                return Ok(());
            }
            Ok(None) => {}
            Err(error) => return self.failed(at, &error).await,
        }
        let secret = match self.original(&resource).await {
            Ok(secret) => secret,
            Err(problem) => {
                self.is_users_turn = true;
                self.problems.push(problem);
                return Ok(());
            }
        };
        let mut copy = place;
        copy["type"] = json!(secret.type_);
        copy["data"] = json!(secret.data);
        match self.writer.apply(&copy, How::CreateOnly).await {
            Ok(applied) => {
                self.warn(at, &applied).await;
                self.set(at, applied.status);
                Ok(())
            }
            Err(error) => self.failed(at, &error).await,
        }
    }

    /// The pull secret of a catalog. The error is for people.
    async fn original(&self, resource: &StepResource) -> Result<Secret, String> {
        let (name, namespace) = (&resource.name, &resource.source_namespace);
        let catalog = ObjectKey::new(namespace, &resource.source_name);
        let found = self.context.caches.catalog_sources.get(&catalog);
        let is_visible = *namespace == self.namespace || self.context.settings.is_global(namespace);
        let is_named = found.is_some_and(|it| it.spec.secrets.contains(name));
        if !(is_visible && is_named) {
            return Err(format!(
                "Secret {name} is to be copied from CatalogSource {catalog}, which does not name it in spec.secrets, or is \
                 not there for namespace {}; name it there, or create a Secret of that name yourself, and the plan goes on by itself",
                self.namespace
            ));
        }
        let api = Api::<Secret>::namespaced(self.context.client.clone(), namespace);
        match api.get_opt(name).await {
            Ok(Some(secret)) => Ok(secret),
            Ok(None) => Err(format!(
                "secret {name} does not exist in namespace {namespace}, from which it is to be copied: create it, and the plan goes on by itself"
            )),
            Err(error) => Err(format!(
                "reading Secret {namespace}/{name}: {}",
                words::of_api(&error)
            )),
        }
    }
}
