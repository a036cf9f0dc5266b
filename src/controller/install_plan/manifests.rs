//! The objects of steps, wherever they are kept.

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};

use crate::api::GROUP;
use crate::api::install_plan::{InstallPlan, Step};
use crate::controller::bundles::{self, Problem};
use crate::controller::context::Context;
use crate::controller::fetches::{Arrival, Bundles, Moment, Order};
use crate::controller::images::{self, in_time};
use crate::controller::key::ObjectKey;
use crate::controller::words;
use crate::plan::reference::ConfigMapReference;
use crate::plan::step::BUNDLE_SECRET;
use crate::plan::{Contents, Manifest, StepError, object_of};

/// Reads the objects of steps; each bundle once.
pub(super) struct Manifests<'a> {
    context: &'a Context,
    plan: ObjectKey,
    read: HashMap<String, Contents>,
    moment: Moment,
}

impl<'a> Manifests<'a> {
    pub(super) fn new(context: &'a Context, plan: &InstallPlan) -> Self {
        Self {
            context,
            plan: ObjectKey::of(plan),
            read: HashMap::new(),
            moment: Moment::default(),
        }
    }

    /// The object of a step as the plan means it, with the names that the API has for its kind.
    pub(super) async fn object(&mut self, step: &Step) -> Result<Value, Problem> {
        let unusable = |error: StepError| Problem::Unusable(error.to_string());
        let namespace = self.plan.namespace.clone();
        let manifest = Manifest::of(step).map_err(|error| unusable(error.into()))?;
        let contents = match &manifest {
            Manifest::Inline(_) => None,
            Manifest::Bundle(reference) => Some(self.bundle(step, &reference.image).await?),
            Manifest::ConfigMap(reference) => Some(self.config_map(reference).await?),
        };
        let object = object_of(&namespace, step, contents).map_err(unusable)?;
        Ok(named(object, step))
    }

    async fn bundle(&mut self, step: &Step, image: &str) -> Result<&Contents, Problem> {
        if !self.read.contains_key(image) {
            let namespace = &step.resource.source_namespace;
            let catalog = ObjectKey::new(namespace, &step.resource.source_name);
            // A catalog that is gone takes its pull secrets along, but the image may be in the cache.
            let catalog = self.context.caches.catalog_sources.get(&catalog);
            let secrets = catalog.map(|catalog| catalog.spec.secrets.clone());
            let secrets = secrets.unwrap_or_default();
            self.arrival(image, namespace, &secrets).await?;
            let images = &self.context.images;
            let pulled = bundles::pull(images, image, namespace, &secrets).await;
            let (contents, _) = pulled.map_err(with_advice)?;
            self.read.insert(image.to_owned(), contents);
        }
        self.known(image)
    }

    /// Sees to it that a bundle is in the cache. Its registry may take its time, and other plans do not
    /// wait for it: this one is looked at again when it is here.
    async fn arrival(
        &self,
        image: &str,
        catalog_namespace: &str,
        secrets: &[String],
    ) -> Result<(), Problem> {
        let context = self.context;
        let order = Order {
            namespace: self.plan.namespace.clone(),
            plan: format!("{} {image}", self.plan.name),
        };
        let fetch = || {
            let (images, image) = (context.images.clone(), image.to_owned());
            let (namespace, secrets) = (catalog_namespace.to_owned(), secrets.to_vec());
            async move {
                let fetched = bundles::fetch(&images, &image, &namespace, &secrets);
                in_time(&image, fetched).await.map_err(with_advice)?;
                // Whoever needs it reads it from the cache; perhaps nobody does any more.
                Ok(Bundles::new())
            }
        };
        let (plans, plan) = (context.queues.install_plans.clone(), self.plan.clone());
        let wake = move || plans.add(plan);
        let (limit, none) = (Some(images::PATIENCE), Duration::ZERO);
        let asked = context
            .plan_fetches
            .ask(&order, limit, none, &self.moment, fetch, wake);
        match asked.await {
            // That it came is remembered until the plan is done: of a plan with many bundles, the first would have to be
            // waited for again whenever a later one takes its time.
            Arrival::Here(_) => Ok(()),
            Arrival::Underway { before } => {
                let fetching = || Problem::Failed(format!("fetching {image}"));
                Err(before.unwrap_or_else(fetching))
            }
            Arrival::Stuck { problem, .. } => Err(problem),
        }
    }

    /// What OLM unpacked a bundle into.
    async fn config_map(&mut self, reference: &ConfigMapReference) -> Result<&Contents, Problem> {
        let (namespace, name) = (&reference.namespace, &reference.name);
        let key = format!("configmap {namespace}/{name}");
        if !self.read.contains_key(&key) {
            let api = Api::<ConfigMap>::namespaced(self.context.client.clone(), namespace);
            let found = api.get_opt(name).await.map_err(|error| {
                let why = words::of_api(&error);
                Problem::Failed(format!("reading ConfigMap {namespace}/{name}: {why}"))
            })?;
            let Some(found) = found else {
                return Err(Problem::Unusable(format!(
                    "ConfigMap {namespace}/{name}, which OLM unpacked a bundle into, is gone; delete the InstallPlan, and a new one will be made"
                )));
            };
            let binary = found.binary_data.unwrap_or_default();
            let binary = binary
                .into_iter()
                .map(|(key, value)| (key, value.0))
                .collect();
            let contents = Contents::of_config_map(&found.data.unwrap_or_default(), &binary)?;
            self.read.insert(key.clone(), contents);
        }
        self.known(&key)
    }

    fn known(&self, key: &str) -> Result<&Contents, Problem> {
        let known = self.read.get(key);
        known.ok_or_else(|| Problem::Failed(format!("{key} was not read")))
    }
}

/// What can be done about an image that does not come, beside waiting for it.
fn with_advice(problem: Problem) -> Problem {
    match problem {
        Problem::Failed(why) => Problem::Failed(format!(
            "{why}; if the image is gone for good, delete the InstallPlan, and a new one is made of what the catalog has then"
        )),
        unusable @ Problem::Unusable(_) => unusable,
    }
}

/// Fills in what OLM's plans may leave out, because it reads manifests by the kind of their step: the
/// kind, and the group of the kinds that every cluster has.
pub(super) fn named(mut object: Value, step: &Step) -> Value {
    let resource = &step.resource;
    let Some(fields) = object.as_object_mut() else {
        return object;
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut kind = text(fields.get("kind"));
    if kind.is_empty() {
        kind = match resource.kind.as_str() {
            BUNDLE_SECRET => "Secret".to_owned(),
            other => other.to_owned(),
        };
        fields.insert("kind".to_owned(), json!(kind));
    }
    let api_version = text(fields.get("apiVersion"));
    if api_version.contains('/') {
        return object;
    }
    let version = match (api_version.as_str(), resource.version.as_str()) {
        ("", "") => "v1",
        ("", version) | (version, _) => version,
    };
    let group = match kind.as_str() {
        _ if api_version.is_empty() && !resource.group.is_empty() => &resource.group,
        "CustomResourceDefinition" => "apiextensions.k8s.io",
        "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => {
            "rbac.authorization.k8s.io"
        }
        "ClusterServiceVersion" | "Subscription" => GROUP,
        _ => "",
    };
    let api_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    fields.insert("apiVersion".to_owned(), json!(api_version));
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn step(group: &str, version: &str, kind: &str) -> Step {
        let mut step = Step::default();
        step.resource.group = group.to_owned();
        step.resource.version = version.to_owned();
        step.resource.kind = kind.to_owned();
        step
    }

    #[rstest]
    #[case(json!({}), step("", "v1", "ConfigMap"), "v1", "ConfigMap")]
    #[case(json!({}), step("", "v1", "BundleSecret"), "v1", "Secret")]
    #[case(json!({}), step("policy", "v1", "PodDisruptionBudget"), "policy/v1", "PodDisruptionBudget")]
    #[case(json!({"apiVersion": "v1", "kind": "CustomResourceDefinition"}), step("", "v1", "CustomResourceDefinition"), "apiextensions.k8s.io/v1", "CustomResourceDefinition")]
    #[case(json!({"apiVersion": "v1", "kind": "Service"}), step("serving", "v2", "Service"), "v1", "Service")]
    #[case(json!({}), step("messaging.knative.dev", "v1", "Subscription"), "messaging.knative.dev/v1", "Subscription")]
    #[case(json!({"apiVersion": "a.b/v2", "kind": "X"}), step("", "v1", "X"), "a.b/v2", "X")]
    fn what_olm_leaves_out_is_filled_in(
        #[case] object: Value,
        #[case] step: Step,
        #[case] api_version: &str,
        #[case] kind: &str,
    ) {
        let object = named(object, &step);
        assert_eq!(object["apiVersion"], api_version);
        assert_eq!(object["kind"], kind);
    }
}
