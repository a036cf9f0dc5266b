//! CatalogSource: a collection of operators that Subscriptions can choose from.
use super::conditions::{CatalogSourceReason, Condition, ConnectionState};
use super::lenient::{empty, lenient};
use super::open_enum::open_enum;
use super::pod_part::PodPart;
use super::schema;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

open_enum! {
    /// Where the content of a catalog comes from.
    pub enum SourceType {
        /// An image, or the address of a running registry.
        Grpc = "grpc",
        /// A ConfigMap.
        ConfigMap = "configmap",
        /// The older name of `configmap`.
        Internal = "internal",
    }
}

open_enum! {
    /// How strictly a catalog Pod is confined.
    pub enum SecurityContextConfig {
        /// Not at all, for images that need to run as root.
        Legacy = "legacy",
        /// As Pod Security Admission's `restricted` level demands.
        Restricted = "restricted",
    }
}

/// What the catalog holds and where it comes from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operators.coreos.com",
    version = "v1alpha1",
    kind = "CatalogSource",
    plural = "catalogsources",
    singular = "catalogsource",
    shortname = "catsrc",
    category = "olm",
    namespaced,
    status = "CatalogSourceStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A catalog: a collection of operators that Subscriptions can choose from.",
    printcolumn(
        name = "Display",
        type_ = "string",
        json_path = ".spec.displayName",
        description = "Name of the catalog for people"
    ),
    printcolumn(
        name = "Type",
        type_ = "string",
        json_path = ".spec.sourceType",
        description = "Where the content of the catalog comes from"
    ),
    printcolumn(
        name = "Publisher",
        type_ = "string",
        json_path = ".spec.publisher",
        description = "Who publishes the catalog"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct CatalogSourceSpec {
    /// Where the content comes from: `grpc` for an image or the address of a running registry,
    /// `configmap` (or its older name `internal`) for a ConfigMap.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub source_type: SourceType,
    /// Rank among the catalogs when a dependency can be taken from several of them. The highest
    /// wins; equal ranks go by name. Negative ranks are allowed, the default is 0.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub priority: i64,
    /// Name of the ConfigMap that holds the content, in the namespace of the catalog. Only for
    /// source type `configmap`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub config_map: String,
    /// `host:port` of a running registry. Only for source type `grpc`, and ignored when `image` is
    /// set.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub address: String,
    /// Catalog image. Only for source type `grpc`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub image: String,
    /// Adjusts the Pod that serves the catalog image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc_pod_config: Option<GrpcPodConfig>,
    /// How newer content behind the same image reference is found. Without it, it is not looked
    /// for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
    /// Names of pull secrets, in the namespace of the catalog, for its image and its bundles. Keep
    /// the list short: each secret is tried for each bundle.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub secrets: Vec<String>,
    /// The packages that the catalog offers, by name or by pattern: `*` stands for any text, `?` for
    /// one character, `[a-c]` for one of these. All others are as if they were not in the catalog.
    /// Without it, or if it is empty, all are offered.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub packages: Vec<String>,
    /// Name of the catalog for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub display_name: String,
    /// What the catalog is about.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub description: String,
    /// Who publishes the catalog.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub publisher: String,
    /// Picture of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<Icon>,
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Icon {
    /// The picture in base64.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub base64data: String,
    /// Media type of the picture, such as `image/svg+xml`.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub mediatype: String,
}

/// Adjusts the Pod that serves a catalog image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrpcPodConfig {
    /// Labels a node must have; an empty object removes the default, which asks for Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Taints of nodes that the Pod tolerates.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(schema_with = "schema::tolerations")]
    pub tolerations: Vec<PodPart>,
    /// Where the Pod prefers to run, as in a Pod's `spec.affinity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<PodPart>,
    /// Priority class of the Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// How strictly the Pod is confined: `restricted` as Pod Security Admission's level of that
    /// name demands, `legacy` not at all, for images that need to run as root. Without it, the
    /// level that the namespace enforces decides.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend("enum" = SecurityContextConfig::KNOWN))]
    pub security_context_config: SecurityContextConfig,
    /// Memory the server should get by with. Becomes the Pod's memory request and the server's
    /// `GOMEMLIMIT`; it is a wish, not a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantity")]
    pub memory_target: Option<Quantity>,
    /// Takes only the content from the image, and serves it with a server of the cluster instead
    /// of the one in the image. The image must hold a file-based catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract_content: Option<ExtractContent>,
}

/// Where an image holds its catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtractContent {
    /// Directory of the image that holds a prepared cache, if there is one.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub cache_dir: String,
    /// Directory of the image that holds the file-based catalog.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub catalog_dir: String,
}

/// How newer content of a catalog is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// Asks the registry of the image from time to time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_poll: Option<RegistryPoll>,
}

/// How often a registry is asked for a newer image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryPoll {
    /// Time between two questions, such as `10m` or `1h30m`. A value that cannot be read counts as
    /// 15 minutes, and the status says so.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub interval: String,
}

/// State of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogSourceStatus {
    /// Explains the reason to people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
    /// One word that says why the catalog does not work: SpecInvalidError, ConfigMapError,
    /// RegistryServerError or InvalidIntervalError.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: CatalogSourceReason,
    /// Digest of the content that is served. Every replica serves this one.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub digest: String,
    /// When the registry was last asked for a newer image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_image_registry_poll: Option<Time>,
    /// The ConfigMap that was read last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_reference: Option<ConfigMapReference>,
    /// The Service that serves the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_service: Option<RegistryService>,
    /// The connection to the registry of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_state: Option<ConnectionStatus>,
    /// Further conditions of the catalog, such as whether its image template could be resolved.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"]
    ))]
    pub conditions: Vec<Condition>,
}

/// One version of a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapReference {
    /// Name of the ConfigMap.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub name: String,
    /// Namespace of the ConfigMap.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub namespace: String,
    /// Uid of the ConfigMap.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub uid: String,
    /// Resource version of the ConfigMap.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub resource_version: String,
    /// When the ConfigMap was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
}

/// The Service that serves a catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryService {
    /// Protocol, always `grpc`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub protocol: String,
    /// Name of the Service.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub service_name: String,
    /// Namespace of the Service.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub service_namespace: String,
    /// Port of the Service.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub port: String,
    /// When the Service was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}

impl RegistryService {
    /// `host:port` of the Service inside the cluster.
    pub fn address(&self) -> String {
        format!(
            "{}.{}.svc:{}",
            self.service_name, self.service_namespace, self.port
        )
    }
}

/// The connection to the registry of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStatus {
    /// `host:port` of the registry.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub address: String,
    /// State of the connection when it was last looked at: IDLE, CONNECTING, READY,
    /// TRANSIENT_FAILURE or SHUTDOWN. The catalog can be used when it is READY.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub last_observed_state: ConnectionState,
    /// When the state was last looked at.
    #[serde(rename = "lastConnect")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_connect: Option<Time>,
}
