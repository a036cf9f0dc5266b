//! What an operator needs before it can be installed, and whether the cluster has it.
//!
//! - [`facts`]: what has to be read from the cluster, and no more
//! - [`authorizer`]: what a ServiceAccount may do
//! - [`check`]: the list of requirements as `status.requirementStatus` shows it, and what to do about those
//!   that are not met
//!
//! The list is OLM's, word for word, in a fixed order: the version of Kubernetes, CRDs, APIServices
//! that are needed, those that are owned, native APIs, ServiceAccounts with their rules. What to do is ours, and
//! told in the message of the status after OLM's words.

mod apis;
pub mod authorizer;
mod crds;
pub mod facts;
mod kube_version;
mod names;
mod permissions;
mod requirement;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::install::STRATEGY_DEPLOYMENT;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;

pub use self::authorizer::{Authorizer, Rbac};
pub use self::facts::{AccountFact, ApiServiceFact, ApiServiceOwner, CrdFact, Facts};
pub use self::names::{can_be_served, is_name};
use self::requirement::Requirement;

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
    /// What is missing and what to do about it, in not too many words for people; empty if nothing is.
    pub missing: String,
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
    let mut all: Vec<Requirement> = Vec::new();
    all.extend(kube_version::requirement(csv, facts));
    all.extend(crds::requirements(csv, facts));
    all.extend(apis::requirements(csv, facts));
    let apis_met = all.iter().all(|it| is_met(&it.status));
    let accounts = permissions::requirements(csv, facts);
    let accounts_present = accounts.iter().all(|it| {
        let mut rules = it.status.dependents.iter();
        is_met(&it.status) || rules.any(|rule| !rule_is_met(rule))
    });
    let met = apis_met && accounts.iter().all(|it| is_met(&it.status));
    all.extend(accounts);
    let unmet = all.iter().filter(|it| !is_met(&it.status));
    Ok(Requirements {
        missing: requirement::missing(&unmet.collect::<Vec<_>>()),
        statuses: all.into_iter().map(|it| it.status).collect(),
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
