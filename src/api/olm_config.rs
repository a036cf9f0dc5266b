//! OLMConfig: settings for the whole cluster. The only object of the kind is named `cluster`.
use super::conditions::Condition;
use super::lenient::{absent_is_default, empty, lenient};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the only OLMConfig.
pub const NAME: &str = "cluster";

/// Hours, minutes and seconds, such as `1h30m`.
const INTERVAL_PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(s|m|h))+$";

/// The settings.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1",
    kind = "OLMConfig",
    root = "OlmConfig",
    plural = "olmconfigs",
    singular = "olmconfig",
    category = "olm",
    status = "OlmConfigStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Settings for the whole cluster. Only the object named cluster has an effect."
)]
#[serde(remote = "Self")]
pub struct OlmConfigSpec {
    /// Abilities that can be switched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
}

absent_is_default!(OlmConfigSpec);

impl OlmConfigSpec {
    /// Whether the ClusterServiceVersion of an operator that serves all namespaces is copied into
    /// each of them. Only if somebody asks for it, unlike in OLM: the copies of one operator are as
    /// many as the namespaces of the cluster.
    pub fn copies_csvs(&self) -> bool {
        self.disabled() == Some(false)
    }

    /// Whether somebody asks that they are not copied.
    pub fn forbids_copies(&self) -> bool {
        self.disabled() == Some(true)
    }

    fn disabled(&self) -> Option<bool> {
        self.features.as_ref()?.disable_copied_csvs
    }
}

/// Abilities that can be switched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Features {
    /// Whether to do without copies of the ClusterServiceVersions of operators that serve all
    /// namespaces. Without copies a user of a namespace does not see there which operators serve
    /// it, but large clusters hold far fewer objects. There are copies only if this is false.
    #[serde(rename = "disableCopiedCSVs")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disable_copied_csvs: Option<bool>,
    /// How often the list of packages is read from the catalogs even if nothing seems to have
    /// changed, in hours, minutes and seconds, such as `1h30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = INTERVAL_PATTERN))]
    pub package_server_sync_interval: Option<String>,
}

/// Which settings are in effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OlmConfigStatus {
    /// Which settings are in effect.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub conditions: Vec<Condition>,
}
