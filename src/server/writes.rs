//! What visitors of the page change in the cluster: always with a token of their own, never with the
//! rights of Chandler.
//!
//! Only types are here: `api::writes` decides who is let in, and whoever runs the hub brings a
//! [`Writer`] that speaks to the API server.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether visitors may change anything, and how they have to ask. By default they may not.
#[derive(Clone, Default)]
pub struct Writes {
    /// Who speaks to the API server.
    pub writer: Option<Arc<dyn Writer>>,
    /// What is between visitors and this server.
    pub transport: Transport,
}

/// What is between a visitor and this server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// Nothing: only the machine itself may send tokens.
    #[default]
    Direct,
    /// A proxy that speaks TLS to visitors.
    TlsProxy,
}

/// Speaks to the API server on behalf of a visitor.
pub trait Writer: Send + Sync + 'static {
    /// Who the API server takes the visitor for.
    fn visitor<'w>(&'w self, token: &'w Token) -> BoxFuture<'w, Result<Visitor, Refusal>>;

    /// Makes a Subscription and what it needs, or says what would be made.
    fn install<'w>(
        &'w self,
        token: &'w Token,
        order: InstallOrder,
        extent: Extent,
    ) -> BoxFuture<'w, Result<Installing, Refusal>>;

    /// Lets an InstallPlan go ahead.
    fn approve<'w>(
        &'w self,
        token: &'w Token,
        namespace: &'w str,
        install_plan: &'w str,
    ) -> BoxFuture<'w, Result<Approved, Refusal>>;

    /// Begins to remove what goes with a Subscription, or says what would go.
    fn uninstall<'w>(
        &'w self,
        token: &'w Token,
        place: Place,
        wish: RemovalWish,
        extent: Extent,
    ) -> BoxFuture<'w, Result<Removing, Refusal>>;
}

/// Whether something is done, or only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Nothing is written.
    Preview,
    /// It is done.
    Done,
}

/// A visitor's token. It is shown to nobody, in no log either.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token, as it stood in a header.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The token itself, for the API server alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What is wrong, in the words of whoever refused.
    pub message: String,
    /// What to do next; may be empty.
    pub hint: String,
}

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The API server does not know the token.
    Unauthorized,
    /// The visitor may not do that.
    Forbidden,
    /// Something that it takes is not there.
    NotFound,
    /// It does not go together with what is there.
    Conflict,
    /// It makes no sense.
    BadRequest,
    /// The API server does not answer.
    Unavailable,
}

/// A Subscription by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub subscription: String,
}

/// What is to be installed, with everything decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOrder {
    /// The package.
    pub package: String,
    /// The catalog.
    pub catalog: String,
    /// The channel that is followed.
    pub channel: String,
    /// A version that is held; nothing to follow the channel.
    pub version: Option<String>,
    /// The namespace it goes to.
    pub namespace: String,
    /// Whom the OperatorGroup serves if one has to be made.
    pub install_mode: super::hub::views::InstallModeName,
    /// Who approves, if that was said.
    pub approval: Option<super::hub::Approval>,
}

/// Whom a token is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Visitor {
    /// The user, as the API server calls them.
    pub name: String,
    /// Their groups.
    pub groups: Vec<String>,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectName {
    /// Its kind.
    pub kind: String,
    /// Its namespace; may be empty.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What is made to install something, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installing {
    /// Its Subscription.
    pub subscription: String,
    /// The namespace.
    pub namespace: String,
    /// What is made, in this order.
    pub makes: Vec<ObjectName>,
    /// What was there and stays as it is.
    pub keeps: Vec<ObjectName>,
    /// What is made, as YAML.
    pub yaml: String,
}

/// A plan that goes ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// The InstallPlan.
    pub install_plan: String,
    /// The ClusterServiceVersions that it installs.
    pub cluster_service_versions: Vec<String>,
}

/// How much goes with an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemovalWish {
    /// The operator, then its CRDs and what was installed for it. CRDs that have objects stay, unless
    /// `deleteCrds` names them.
    #[serde(default)]
    pub everything: bool,
    /// Dependencies as well that were installed for it and that nobody else needs.
    #[serde(default)]
    pub prune_dependencies: bool,
    /// These CRDs, and before the operator all their objects.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub delete_crds: Vec<String>,
    /// Only say what would go and what would stay.
    #[serde(default)]
    pub dry_run: bool,
}

/// What goes with an operator, and what stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removing {
    /// The Subscription.
    pub subscription: String,
    /// Its namespace.
    pub namespace: String,
    /// What goes, step by step.
    pub goes: Vec<RemovalStep>,
    /// What stays.
    pub stays: Vec<Staying>,
    /// What the visitor may not look at.
    pub not_looked_at: Vec<String>,
}

/// Objects that go together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovalStep {
    /// What they are.
    pub title: String,
    /// The objects.
    pub objects: Vec<ObjectName>,
}

/// An object that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Staying {
    /// The object.
    pub object: ObjectName,
    /// Why it stays.
    pub why: String,
}
