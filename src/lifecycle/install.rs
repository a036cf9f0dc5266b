//! What it takes to run an operator: from the install strategy of a ClusterServiceVersion to objects,
//! and from the objects of a cluster to how the installation stands.
//!
//! ```text
//! CSV, OperatorGroup, Subscription.spec.config, certificates ──► desired ──┐
//! objects of the cluster ──────────────────────────────────────► seen ─────┴─► observe, writes
//! ```
//!
//! - [`state`]: the answers that the phase of a ClusterServiceVersion is decided by
//! - [`deployments`], [`subscription_config`]: the Deployments
//! - [`services`], [`certificates`], [`renewal`]: what lets others call them
//! - [`webhooks`], [`conversion`], [`api_services`]: who calls them, and what for
//! - [`target_rbac`]: rights in the namespaces that the operator serves
//! - [`former_names`]: what old releases of OLM called otherwise
//! - [`claims`]: what of it belongs to a newer version already
//! - [`observe`]: whether all of it is there, and what to write

pub mod api_services;
pub mod certificates;
pub mod claims;
mod compare;
pub mod conversion;
pub mod deployments;
mod error;
#[cfg(test)]
mod fixtures;
pub mod former_names;
pub mod object;
pub mod observe;
mod pod;
mod quantity;
pub mod renewal;
pub mod services;
pub mod state;
pub mod subscription_config;
pub mod target_rbac;
pub mod webhooks;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use self::certificates::ServingCertificates;
pub use self::error::InstallError;
pub use self::object::Key;
pub use self::observe::{Seen, Settled, observe, writes};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::SubscriptionConfig;

/// All that decides what an installation consists of.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The operator, with the annotations of its OperatorGroup.
    pub csv: &'a ClusterServiceVersion,
    /// The OperatorGroup of its namespace: it says for which namespaces webhooks are asked.
    pub group: &'a OperatorGroup,
    /// What the owning Subscription adjusts.
    pub config: Option<&'a SubscriptionConfig>,
    /// Names and values of the cluster's proxy variables, empty values left out.
    pub proxy: &'a [(String, String)],
    /// The certificates in use, or those that were renewed just now. Without one for a Deployment
    /// that needs it, its Secret and all that trusts it are not part of what is desired.
    pub certificates: &'a ServingCertificates,
    /// Whether the version that it replaces is still there, and answers who calls.
    pub takes_over: bool,
    /// The versions that it replaces, as far as they are still there.
    pub predecessors: &'a [&'a ClusterServiceVersion],
    /// What the cluster has: objects whose names we did not choose keep them.
    pub seen: &'a Seen,
}

/// The objects that an installation consists of, each complete and ready for server-side apply.
#[derive(Clone, Default, PartialEq)]
pub struct Desired {
    /// One Service for each Deployment that others call.
    pub services: Vec<Value>,
    /// Rights that go with serving: to read the certificate, to ask the API server who calls.
    pub serving_rbac: Vec<Value>,
    /// The Secrets of the certificates.
    pub secrets: Vec<Value>,
    /// The Deployments.
    pub deployments: Vec<Value>,
    /// Who calls: APIServices, webhook configurations, and CRDs of which only the name and
    /// `spec.conversion` are given.
    pub callers: Vec<Value>,
    /// Whether somebody else answers as long as this one is not up: another version, or what this one
    /// asked for before it was edited.
    pub takes_over: bool,
    /// What the operator has, no longer asks for, and nobody needs any more: it goes.
    pub leftovers: Vec<Key>,
}

impl Desired {
    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        let serving = self.services.iter().chain(&self.serving_rbac);
        let running = self.secrets.iter().chain(&self.deployments);
        serving.chain(running).chain(&self.callers)
    }

    /// What the objects are called: what a controller has to read before it can compare.
    pub fn keys(&self) -> Vec<Key> {
        self.objects().map(Key::of).collect()
    }
}

/// Names only: Secrets are among the objects.
impl fmt::Debug for Desired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.objects().map(Key::of)).finish()
    }
}

/// What an installation consists of.
pub fn desired(request: &Request<'_>) -> Result<Desired, InstallError> {
    let serving = services::serving(request.csv)?;
    let mut desired = Desired {
        deployments: deployments::deployments(request)?,
        takes_over: request.takes_over || observe::has_former_callers(request.csv, request.seen),
        ..Desired::default()
    };
    for served in &serving {
        desired
            .services
            .push(services::service(request.csv, served)?);
        let others = former_servers(request, served, &desired);
        desired
            .serving_rbac
            .extend(services::rbac(request.csv, served, &others));
        if let Some(certificate) = request.certificates.get(&served.deployment) {
            desired
                .secrets
                .push(certificates::secret(request.csv, served, certificate));
        }
    }
    desired.callers.extend(api_services::api_services(request));
    desired.callers.extend(webhooks::configurations(request));
    desired.callers.extend(conversion::crds(request)?);
    desired.leftovers = observe::leftovers(request.csv, &desired, request.seen);
    Ok(desired)
}

/// Who else may do what goes with serving: the accounts of those versions that do so until one that takes over is
/// up. What the cluster has is not asked: whoever may write a RoleBinding of the namespace could have anybody get
/// rights of the whole cluster.
fn former_servers(
    request: &Request<'_>,
    served: &services::Served,
    desired: &Desired,
) -> Vec<Value> {
    if !request.takes_over || observe::answers(&served.service, desired, request.seen) {
        return Vec::new();
    }
    let mut accounts = Vec::new();
    for older in request.predecessors {
        // One that makes no sense is not installed.
        for former in services::serving(older).unwrap_or_default() {
            let account = services::account(older, &former);
            if former.service == served.service && !accounts.contains(&account) {
                accounts.push(account);
            }
        }
    }
    accounts
}
