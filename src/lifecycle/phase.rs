//! How far a ClusterServiceVersion is, and what comes next.
//!
//! ```text
//!            ┌──────────────────────── Failed ◄──────────────┬──────────────┐
//!            ▼                                                │              │
//! (new) ─► Pending ─► InstallReady ─► Installing ─► Succeeded ┴► Replacing ─► Deleting
//! ```
//!
//! [`next`] looks at the [`Situation`] of one ClusterServiceVersion and says by its [`Decision`]
//! which status to write, what to do, and when to look again. It takes one step at a time, as OLM
//! does: whoever watches sees every phase with its reason. When it says [`Action::Install`], the
//! controller installs and hands what came of it to [`after_install`].
//!
//! In a world that stays as it is, `next` comes to rest after a few steps: then `status` is `None`
//! every time. Actions may be repeated at rest: they are what should be so, and doing them again
//! changes nothing.
//!
//! A controller has to call `next` when the ClusterServiceVersion changes, when one that replaces it
//! or that it replaces changes, when anything in the `Situation` changes, and after `look_again`.
//!
//! Phases, reasons and messages are OLM's; where a message goes on after OLM's words, it says what
//! is wrong where, and what to do. What differs from OLM, on purpose:
//!
//! - A ClusterServiceVersion that failed, or that lost its requirements, gives way to the one that
//!   replaces it as soon as nothing else keeps that one from being installed. OLM lets it block all
//!   later versions, unless the OperatorGroup asks to fail forward.
//! - So does one whose Pods fail while it is being installed, which says so: Installing with the reason
//!   `ComponentUnhealthy`. It has its time to come to something as long as nobody wants another version.
//! - One that waits only for its predecessor says so: Pending with the reason AllRequirementsMet.
//! - What failed for a reason that is still there stays as it is, instead of going round through
//!   Pending for ever; an install that failed is tried again without a change of phase.
//! - Replacing without a replacement goes back to Pending: somebody took the newer version away.
//! - One in Replacing is put right, and its certificates are renewed, until the newer version runs: something
//!   may hold that one for weeks, or it may never come up. What the newer version asks for by the same name
//!   is left to it once it begins to install.
//! - What does not know of the certificate in use, such as a Deployment with the hash of another CA or an
//!   APIService that trusts another, is written again as any drift is. OLM fails, and makes everything anew.
//!   A CA that expired is renewed from Pending and not from Failed.
//! - Certificates are renewed in every phase, as long as what serves with them is there and the namespace has one
//!   OperatorGroup, and nothing else is written for that of what lacks something.
//! - An install that was given up is tried again when anything changes that it depends on, and from time
//!   to time; OLM does so when roles or bindings change.
//! - What somebody else changes back whenever it is written is left for a while, longer each time, which is
//!   told beside the phase.
//! - The APIService of a version that is being replaced in another namespace is not to be had: it is the newer
//!   version's. OLM lets anybody take it over.
//! - A CRD belongs to the operator that was installed with it, then to the one that was there first: one that is refused
//!   for it does not keep that operator from recovering, nor from its next version. In OLM each is in the other's way.
//! - Of versions that replace each other, as after a downgrade, the one that came last is the newest.
//! - The oldest of a chain goes when any later one runs, not only the one right after it. One that was deleted has taken
//!   nobody's place: who waited for it stays, also if it was about to go.

mod checks;
mod course;
mod failed;
mod give_way;
mod group;
mod installing;
mod pending;
mod renewal;
mod replacing;
mod status;
mod succeeded;
mod trouble;
pub mod webhooks;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use self::course::{Course, Standing};
pub use self::trouble::{with_trouble, without_trouble};
use super::install::state::{ApiServices, Certificates, Installation};
use super::provided_apis::Surface;
use super::replacement::{self, Lineage};
use super::requirements::{ApiServiceFact, InvalidStrategy, Requirements};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::ClusterServiceVersionStatus;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::operator_condition::OperatorCondition;
use crate::api::operator_group::OperatorGroup;

/// How long the components of an operator may take to become ready.
pub const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

/// After which time an API is looked at again whose Pods are being moved.
pub const DISRUPTION_DELAY: Duration = Duration::from_secs(10);

/// After which time Pods are looked at again that do not get ready: nobody tells of them.
pub const PODS_DELAY: Duration = Duration::from_secs(5);

/// How long after an install differences are put down to caches that lag behind.
pub const SETTLE_TIME: Duration = Duration::from_secs(5);

/// How long an install that was given up rests at first, and at most.
const FIRST_REST: Duration = Duration::from_secs(10);
const LONGEST_REST: Duration = Duration::from_mins(10);

/// All that decides what comes next for one ClusterServiceVersion.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// The ClusterServiceVersion, not a copied one.
    pub csv: &'a ClusterServiceVersion,
    /// All ClusterServiceVersions of its namespace, itself among them or not.
    pub lineage: &'a Lineage<'a>,
    /// The OperatorGroups of its namespace.
    pub groups: &'a [&'a OperatorGroup],
    /// All OperatorGroups of the cluster, its own among them or not.
    pub other_groups: &'a [Surface],
    /// The OperatorConditions of those that say whether it may take over: [`Lineage::in_its_way`].
    pub former_conditions: &'a [OperatorCondition],
    /// What [`requirements::check`](super::requirements::check) said.
    pub requirements: &'a Result<Requirements, InvalidStrategy>,
    /// The APIServices that it owns, by name, as far as they exist: the same as in
    /// [`Facts::api_services`](super::requirements::Facts::api_services).
    pub api_services: &'a BTreeMap<String, ApiServiceFact>,
    /// How what is installed compares to what should be.
    pub installation: &'a Installation,
    /// How its certificates are.
    pub certificates: &'a Certificates,
    /// When the first of them has to be renewed, if there are any.
    pub rotate_at: Option<&'a Time>,
    /// Whether one that Pods serve with has to be renewed, or they do not know of it yet: what
    /// [`renewal::is_due`](super::install::renewal::is_due) said.
    pub is_renewal_due: bool,
    /// How the APIs that it serves are.
    pub served_apis: &'a ApiServices,
    /// What somebody else changes back whenever it is written, and what is left so for a while.
    pub contested: Option<&'a Contested>,
    /// How things are compared to when an install was given up. It only matters after one that was
    /// ([`CsvReason::InstallComponentFailedNoRetry`]).
    pub since_given_up: SinceGivenUp,
    /// Now.
    pub now: &'a Time,
}

/// How things are compared to when an install was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinceGivenUp {
    /// Something is another that decides what comes of an install: the ClusterServiceVersion, what
    /// its Subscription adjusts, its CRDs, the OperatorGroup, or rights. A controller that has just
    /// started does not know, and says this.
    Changed,
    /// None of that is. But not everything can be watched that may have been in the way, such as
    /// policies and webhooks of the cluster: so it is tried again when it has rested.
    Same {
        /// How long it rests yet.
        rest: Duration,
    },
}

/// An object that somebody else changes back whenever it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested {
    /// Which, and who changes it.
    pub message: String,
    /// How long it is left as they have it.
    pub rest: Duration,
}

/// How long an install rests that was given up, by how often it was tried again for no reason.
pub fn rest(tries: u32) -> Duration {
    let longer = FIRST_REST.saturating_mul(2_u32.saturating_pow(tries));
    longer.min(LONGEST_REST)
}

/// What comes next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The whole status to write; nothing if it stands as it is.
    pub status: Option<ClusterServiceVersionStatus>,
    /// What to do, in this order. Write the status first: what is done here can be found out and
    /// done again, the status cannot.
    pub actions: Vec<Action>,
    /// What to tell people, one at most for now.
    pub events: Vec<Event>,
    /// When to look again although nothing changed.
    pub look_again: Option<Duration>,
}

/// What the controller has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write these annotations of its OperatorGroup to the ClusterServiceVersion.
    Annotate(BTreeMap<String, String>),
    /// Have the OperatorGroup brought up to date: its annotation `olm.providedAPIs` has to change
    /// first.
    UpdateGroup,
    /// Write what the strategy asks for, renewing certificates where they are due, and hand the
    /// outcome to [`after_install`].
    Install,
    /// Renew the certificates that Pods serve with and that are due or lost, and write nothing else
    /// ([`renewal`](super::install::renewal)); hand the outcome to [`after_renewal`].
    Renew,
    /// Delete the Deployments of the strategy, those that exist.
    DeleteDeployments,
    /// Make sure of the ClusterRoles by which users get at its APIs.
    EnsureApiRoles,
    /// Delete the ClusterServiceVersion: a newer one has taken over.
    Delete,
}

/// Something to tell people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether it is a warning; else it is normal.
    pub warning: bool,
    /// The reason of the ClusterServiceVersion.
    pub reason: CsvReason,
    /// Its message.
    pub message: String,
}

/// What came of [`Action::Install`].
#[derive(Clone, Debug, PartialEq)]
pub enum InstallOutcome {
    /// All is written.
    Done {
        /// When the certificates will be renewed, if there are any.
        certificates_until: Option<Time>,
        /// Whether they were made anew just now.
        certificates_made: bool,
    },
    /// Not all could be written.
    Failed {
        /// What, and why.
        message: String,
        /// What kind of failure it is: it decides when the install is tried again.
        failure: Failure,
    },
}

/// Kinds of failures of an install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It may pass by itself: it is tried again soon.
    Passing,
    /// Who installs may not.
    Forbidden,
    /// The API server, or a policy or webhook that it asks, does not take an object.
    Refused,
    /// What is asked for makes no sense.
    Senseless,
}

/// What comes next for a ClusterServiceVersion. For one that is being deleted, nothing does.
pub fn next(situation: &Situation<'_>) -> Decision {
    if situation.csv.metadata.deletion_timestamp.is_some() {
        return Decision::default();
    }
    let course = match situation.phase() {
        // Whatever the group says: a newer one takes over.
        CsvPhase::Replacing => replacing::step(situation),
        CsvPhase::Deleting => replacing::last_step(situation),
        phase => match group::member_of(situation) {
            Ok(group) => {
                let course = within_group(situation, &phase, group);
                give_way::give_way(situation, group, &course).unwrap_or(course)
            }
            Err(course) => *course,
        },
    };
    let course = renewal::beside(situation, course);
    status::decide(situation.csv, course, situation.now)
}

/// What comes after the controller has installed, or tried to.
pub fn after_install(
    csv: &ClusterServiceVersion,
    outcome: &InstallOutcome,
    now: &Time,
) -> Decision {
    installing::after_install(csv, outcome, now)
}

/// What comes after the controller has renewed certificates, or tried to.
pub fn after_renewal(
    csv: &ClusterServiceVersion,
    outcome: &InstallOutcome,
    now: &Time,
) -> Decision {
    renewal::after(csv, outcome, now)
}

/// What an operator that runs tells besides, if there is anything: an object that somebody else changes back, that
/// its OperatorCondition cannot be kept, or that it cannot be looked after until a newer version runs.
pub fn remark(status: &ClusterServiceVersionStatus) -> Option<&str> {
    match status.phase {
        CsvPhase::Succeeded => {
            let rest = status.message.strip_prefix(installing::COMPLETED)?;
            rest.strip_prefix("; ")
        }
        CsvPhase::Replacing => {
            let (_, trouble) = without_trouble(&status.message);
            trouble.or_else(|| replacing::trouble(&status.message))
        }
        _ => None,
    }
}

fn within_group(situation: &Situation<'_>, phase: &CsvPhase, group: &OperatorGroup) -> Course {
    if let Err(course) = group::accepts(situation, group) {
        return *course;
    }
    match phase {
        CsvPhase::Pending => pending::step(situation),
        CsvPhase::InstallReady => installing::ready(situation),
        CsvPhase::Installing => installing::step(situation),
        CsvPhase::Succeeded => succeeded::step(situation),
        CsvPhase::Failed => failed::step(situation),
        _ => pending::begin(),
    }
}

impl Situation<'_> {
    fn phase(&self) -> CsvPhase {
        replacement::phase(self.csv)
    }

    fn status(&self) -> Option<&ClusterServiceVersionStatus> {
        self.csv.status.as_ref()
    }

    fn reason(&self) -> CsvReason {
        let status = self.status();
        status
            .map(|status| status.reason.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
