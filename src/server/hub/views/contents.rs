//! What is in a version: its rights, its APIs, and how they change.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ImageView;

/// Where an answer about the contents of a bundle comes from.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Knowledge {
    /// All of the bundle was looked at.
    Complete,
    /// Only what the catalog says of it; the rest could not be read.
    Partial {
        /// Why the bundle could not be read, and what to do.
        why: String,
    },
}

/// What a version may do in a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Whether everything is known.
    pub knowledge: Knowledge,
    /// The greatest danger of all.
    pub danger: Danger,
    /// What it may do: the most dangerous first.
    pub permissions: Vec<Permission>,
}

/// Something that an operator may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// How dangerous it is.
    pub danger: Danger,
    /// In words, for example `may read and change Secrets in all namespaces`.
    pub words: String,
    /// Why it is dangerous, if it is; may be empty.
    pub because: String,
    /// Where it holds.
    pub reach: Reach,
    /// Who has it: the ServiceAccount.
    pub service_account: String,
    /// What it may do, as Kubernetes has it.
    pub verbs: Vec<String>,
    /// The API group; `*` for all, empty for the core group.
    pub group: String,
    /// The resource; `*` for all. Empty for paths that are no resource.
    pub resource: String,
    /// Only objects of these names; all if there are none.
    pub names: Vec<String>,
    /// Paths of the API server that are no resource.
    pub urls: Vec<String>,
}

/// How dangerous a right is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Danger {
    /// Whoever has it owns the cluster, or can take it.
    Critical,
    /// It reaches secrets, workloads or admission of others.
    High,
    /// It changes things that others may use.
    Medium,
    /// It only looks, or changes its own.
    #[default]
    Low,
}

/// Where a right holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// In the whole cluster.
    Cluster,
    /// In the namespaces that the operator serves.
    Namespaces,
}

/// The APIs of a version.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Crds {
    /// Whether everything is known.
    pub knowledge: Knowledge,
    /// The APIs it brings, by kind.
    pub crds: Vec<CrdView>,
}

/// A CRD.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdView {
    /// The name of the CRD.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name for people; may be empty.
    pub display_name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Whether its objects are in namespaces; nothing if that is not known.
    pub is_namespaced: Option<bool>,
    /// Short names; may be empty.
    pub short_names: Vec<String>,
    /// Its versions, as they are listed.
    pub versions: Vec<CrdVersionView>,
    /// Examples by its authors.
    pub examples: Vec<ExampleView>,
}

/// A version of a CRD.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is on or off for itself"
)]
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "programs read each of them by its name"
)]
pub struct CrdVersionView {
    /// The version.
    pub name: String,
    /// Whether it is served.
    pub is_served: bool,
    /// Whether objects are stored in it.
    pub is_stored: bool,
    /// Whether it should no longer be used.
    pub is_deprecated: bool,
    /// Its fields; none if the schema is not known.
    pub fields: Vec<FieldView>,
    /// Whether there were more fields than are shown.
    pub is_cut: bool,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldView {
    /// Its name.
    pub name: String,
    /// Its type, for example `string`, `[]object` or `map[string]integer`.
    pub r#type: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Whether it has to be there.
    pub is_required: bool,
    /// Its default as JSON, if it has one.
    pub default: Option<String>,
    /// What values it may have, in words, for example `one of A, B` or `at least 1`.
    pub rules: Vec<String>,
    /// The fields in it.
    #[schema(no_recursion)]
    #[allow(clippy::use_self, reason = "the OpenAPI document calls it by its name")]
    pub fields: Vec<FieldView>,
}

/// An example of an object.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExampleView {
    /// Its name.
    pub name: String,
    /// The object as YAML.
    pub yaml: String,
    /// The object as JSON.
    pub object: Value,
}

/// The images of a version.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelatedImages {
    /// Its images.
    pub images: Vec<ImageView>,
}

/// What is different between two versions.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionDiff {
    /// The older bundle.
    pub from: String,
    /// The newer bundle.
    pub to: String,
    /// Whether everything is known of both.
    pub knowledge: Knowledge,
    /// How its CRDs change.
    pub crds: Vec<CrdChange>,
    /// Rights it gets.
    pub rights_added: Vec<Permission>,
    /// Rights it gives up.
    pub rights_removed: Vec<Permission>,
    /// Images it gets.
    pub images_added: Vec<ImageView>,
    /// Images it gives up.
    pub images_removed: Vec<ImageView>,
    /// Needs it gets, in words.
    pub requires_added: Vec<String>,
    /// Needs it gives up, in words.
    pub requires_removed: Vec<String>,
    /// Install modes it gets.
    pub install_modes_added: Vec<super::InstallModeName>,
    /// Install modes it gives up.
    pub install_modes_removed: Vec<super::InstallModeName>,
}

/// How a CRD changes.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdChange {
    /// The name of the CRD.
    pub name: String,
    /// What happens to it.
    pub change: ChangeKind,
    /// What is different in it, in words.
    pub details: Vec<CrdDetail>,
}

/// One difference in a CRD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdDetail {
    /// Where, for example `v1 spec.size`.
    pub path: String,
    /// What, in words.
    pub words: String,
    /// Whether objects that were fine may be refused.
    pub is_breaking: bool,
}

/// What happens to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is different.
    Changed,
}
