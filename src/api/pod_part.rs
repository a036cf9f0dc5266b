//! Parts of Pods and Deployments that pass through Chandler unread.
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// A JSON object that belongs to Kubernetes' Pod or Deployment API, kept exactly as it was written.
///
/// Typed decoding would do harm here. Published bundles hold `cpu: 1.0` and `null` lists, which
/// typed decoding refuses although a cluster accepts them, and it would silently drop fields newer
/// than the Kubernetes API this program was built with. The API server checks these objects when
/// they end up in a real Deployment or Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PodPart(pub Map<String, Value>);

impl Deref for PodPart {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for PodPart {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl From<Map<String, Value>> for PodPart {
    fn from(map: Map<String, Value>) -> Self {
        Self(map)
    }
}

impl JsonSchema for PodPart {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PodPart".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}
