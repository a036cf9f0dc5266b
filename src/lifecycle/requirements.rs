//! What an operator needs before it can be installed, and whether the cluster has it.
//!
//! - [`facts`]: what has to be read from the cluster, and no more
//! - [`authorizer`]: what a ServiceAccount may do
//! - [`check`]: the list of requirements as `status.requirementStatus` shows it
//!
//! The list is OLM's, word for word, in a fixed order: the version of Kubernetes, CRDs, APIServices
//! that are needed, those that are owned, native APIs, ServiceAccounts with their rules.

mod apis;
pub mod authorizer;
mod crds;
pub mod facts;
mod kube_version;
mod names;
mod permissions;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::install::STRATEGY_DEPLOYMENT;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;

pub use self::authorizer::{Authorizer, Rbac};
pub use self::facts::{AccountFact, ApiServiceFact, ApiServiceOwner, CrdFact, Facts};
pub use self::names::{can_be_served, is_name};

/// The requirements of an operator, and whether they are met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Each of them, for `status.requirementStatus`.
    pub statuses: Vec<RequirementStatus>,
    /// Whether every one is met.
    pub met: bool,
    /// Whether every one but the rules of ServiceAccounts is met. If so, and `met` is not, then it
    /// may be that the [`Facts`] only had the roles that belong to operators, and it is worth to
    /// look at all roles of the cluster: somebody may have granted by hand what is needed.
    pub only_rules_unmet: bool,
}

impl Requirements {
    /// What is missing, in a few words for people; empty if nothing is.
    pub fn missing(&self) -> String {
        let unmet = self.statuses.iter().filter(|status| !is_met(status));
        let told = unmet.map(|status| {
            let RequirementStatus {
                kind,
                name,
                status,
                message,
                ..
            } = status;
            if message.is_empty() {
                format!("{kind} {name}: {status}")
            } else {
                format!("{kind} {name}: {message}")
            }
        });
        told.collect::<Vec<_>>().join("; ")
    }
}

/// Why an install strategy makes no sense. OLM's words, and where to look.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidStrategy {
    /// Not `deployment`.
    #[error(
        "unrecognized install strategy: spec.install.strategy is {0:?}, and only `deployment` is \
         known; correct the ClusterServiceVersion"
    )]
    Unrecognized(String),
    /// A rule without a verb.
    #[error(
        "rule invalid: policy rule must have at least one verb: see the rules of ServiceAccount \
         {account} in spec.install.spec of the ClusterServiceVersion"
    )]
    NoVerb {
        /// Whose rule it is.
        account: String,
    },
    /// A rule for resources and for paths.
    #[error(
        "rule invalid: rule cannot apply to both regular resources and non-resource URLs: see the \
         rules of ServiceAccount {account} in spec.install.spec of the ClusterServiceVersion"
    )]
    ResourcesAndUrls {
        /// Whose rule it is.
        account: String,
    },
}

/// Whether an operator has what it needs.
pub fn check(
    csv: &ClusterServiceVersion,
    facts: &Facts<'_>,
) -> Result<Requirements, InvalidStrategy> {
    if csv.spec.install.strategy != STRATEGY_DEPLOYMENT {
        return Err(InvalidStrategy::Unrecognized(
            csv.spec.install.strategy.clone(),
        ));
    }
    permissions::validate(&csv.spec.install.spec)?;
    let mut statuses: Vec<RequirementStatus> = Vec::new();
    statuses.extend(kube_version::status(csv, facts));
    statuses.extend(crds::statuses(csv, facts));
    statuses.extend(apis::statuses(csv, facts));
    let apis_met = statuses.iter().all(is_met);
    let accounts = permissions::statuses(csv, facts);
    let accounts_present = accounts
        .iter()
        .all(|account| is_met(account) || account.dependents.iter().any(|rule| !rule_is_met(rule)));
    let met = apis_met && accounts.iter().all(is_met);
    statuses.extend(accounts);
    Ok(Requirements {
        statuses,
        met,
        only_rules_unmet: apis_met && accounts_present && !met,
    })
}

fn is_met(status: &RequirementStatus) -> bool {
    matches!(
        status.status,
        RequirementState::Present | RequirementState::DeploymentFound
    )
}

fn rule_is_met(rule: &crate::api::cluster_service_version::status::DependentStatus) -> bool {
    rule.status == RequirementState::Satisfied
}

#[cfg(test)]
mod tests;
