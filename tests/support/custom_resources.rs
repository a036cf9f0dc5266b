//! Objects of the APIs that the operators of a scene own.

use chandler::api::labels;
use chandler::api::subscription::Subscription;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::scene::Scene;

impl Scene<'_> {
    /// The custom resources of a kind.
    pub fn resources(&self, kind: &str) -> Api<DynamicObject> {
        self.resources_in(&self.namespace, kind)
    }

    /// Those of another namespace.
    pub fn resources_in(&self, namespace: &str, kind: &str) -> Api<DynamicObject> {
        let group = format!("{}.example.com", self.namespace);
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", kind));
        Api::namespaced_with(self.case.client.clone(), namespace, &resource)
    }

    /// The name of the CRD of a kind.
    pub fn crd_of(&self, kind: &str) -> String {
        format!("{}s.{}.example.com", kind.to_lowercase(), self.namespace)
    }

    /// Names CRDs that go with a Subscription although they have objects.
    pub async fn give_up(&self, subscription: &str, crds: &[String]) -> anyhow::Result<()> {
        let annotations = json!({labels::DELETE_CRDS: crds.join(",")});
        let patch = json!({"metadata": {"annotations": annotations}});
        self.patch::<Subscription>(subscription, patch).await
    }

    /// Makes a custom resource.
    pub async fn make(&self, kind: &str, name: &str, finalizers: &[&str]) -> anyhow::Result<()> {
        let api = self.resources(kind);
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": format!("{}.example.com/v1", self.namespace), "kind": kind,
            "metadata": {"name": name, "finalizers": finalizers}, "spec": {},
        }))?;
        let is_made = async || match api.create(&PostParams::default(), &object).await {
            Ok(_) => Ok(true),
            // A moment after its CRD the API server does not know the kind yet.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        };
        let what = format!("{kind} {name} made");
        self.case.eventually(&what, is_made).await
    }
}
