//! What is known about a Subscription and everything around it: plain data, read before.

use std::collections::BTreeMap;

use kube::ResourceExt as _;

use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{
    ConditionStatus, CsvPhase, CsvReason, InstallPlanConditionType, InstallPlanPhase,
    operator_group,
};
use crate::api::install_plan::InstallPlan;
use crate::api::operator_group::OperatorGroup;
use crate::plan::patience::Patience;
use crate::plan::progress::is_tried_again;
use crate::resolver::Component;

/// What is known about one Subscription.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// What is the same for all Subscriptions of the namespace.
    pub surroundings: &'a Surroundings,
    /// What the resolver says.
    pub outcome: Outcome<'a>,
    /// How far the bundles of the component are that have to be installed.
    pub bundles: &'a Bundles,
    /// The plan that was made or found for what the component installs now, if there is one. A
    /// Subscription that gets nothing out of it takes no notice of it.
    pub plan: Option<&'a Plan>,
    /// What the catalog says about what is installed, see [`Deprecations::of`]. `None` if it says
    /// nothing: the catalog cannot be read, or no longer lists it. What was said before stays then.
    pub deprecations: Option<&'a Deprecations>,
}

/// What is the same for all Subscriptions of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The `OperatorGroup`s of the namespace.
    pub groups: Groups,
    /// The catalogs that the namespace may use, in any order: its own and the global ones. A
    /// Subscription's own catalog is missing if it is not among them.
    pub catalogs: Vec<Catalog>,
    /// The `ClusterServiceVersion`s of the namespace but for copied ones, by name.
    pub csvs: BTreeMap<String, Csv>,
    /// Every InstallPlan of the namespace, by name. A plan that a status names and that is not here
    /// is taken for deleted: one that was made a moment ago has to be here too.
    pub plans: BTreeMap<String, Plan>,
}

/// The `OperatorGroup`s of a namespace; there has to be exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// There is one.
    One {
        /// Whether what failed may be replaced (`spec.upgradeStrategy`).
        fails_forward: bool,
    },
    /// There is one, but an annotation of it or its choice of namespaces cannot be understood.
    Unreadable {
        /// Its name.
        name: String,
        /// What is wrong with it where, and what to do.
        problem: String,
    },
    /// There is none, or more than one.
    Not1 {
        /// Their names.
        names: Vec<String>,
    },
}

impl Default for Groups {
    fn default() -> Self {
        Self::Not1 { names: Vec::new() }
    }
}

impl Groups {
    /// Counts the groups of a namespace, and reads the only one.
    pub fn of<'a>(groups: impl IntoIterator<Item = &'a OperatorGroup>) -> Self {
        let groups: Vec<&OperatorGroup> = groups.into_iter().collect();
        if let [one] = groups.as_slice() {
            let problem = Patience::of(one).err();
            return match problem.or_else(|| unknown_targets(one)) {
                None => Self::One {
                    fails_forward: one.spec.fails_forward(),
                },
                Some(problem) => Self::Unreadable {
                    name: one.name_any(),
                    problem,
                },
            };
        }
        let mut names: Vec<String> = groups.iter().map(|group| group.name_any()).collect();
        names.sort();
        Self::Not1 { names }
    }

    pub(super) fn fails_forward(&self) -> bool {
        matches!(
            self,
            Self::One {
                fails_forward: true
            }
        )
    }
}

/// Why it cannot be told which namespaces a group covers, if it cannot: its own status says so.
fn unknown_targets(group: &OperatorGroup) -> Option<String> {
    let conditions = group.status.iter().flat_map(|status| &status.conditions);
    let mut problems = conditions.filter(|condition| {
        condition.status == ConditionStatus::True
            && condition.type_ == operator_group::TARGET_NAMESPACES
            && condition.reason == operator_group::TARGET_NAMESPACES_INVALID
    });
    problems.next().map(|condition| condition.message.clone())
}

/// A catalog that the namespace may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// The namespace of the `CatalogSource`.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether it can be used. That it is curated does not matter here.
    pub health: Health,
}

impl Catalog {
    /// A `CatalogSource` and how it is.
    pub fn of(object: &CatalogSource, health: Health) -> Self {
        Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            health,
        }
    }
}

/// Whether a catalog can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It can.
    Healthy,
    /// It cannot be read, and why; what it had before serves meanwhile.
    Stale(String),
    /// It cannot be read, and why; nothing serves.
    Unhealthy(String),
}

/// What the resolver says about a Subscription.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// Nobody has asked it yet. What was said before stays.
    Pending,
    /// The outcome for the Subscriptions that hang together with this one.
    Component(&'a Component),
    /// The Subscription cannot be understood: which field, and what is wrong with it.
    Unreadable(&'a str),
    /// It could not be asked, and why. It will be asked again.
    Error(&'a str),
}

/// How far bundles are that have to be installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bundles {
    /// They are all here, or none is needed.
    #[default]
    Ready,
    /// They are being fetched; what is known about it, maybe nothing.
    Fetching(String),
    /// One cannot be fetched, and why. It is tried again.
    Failed(String),
    /// One is here but unusable, and why. To try again does not help.
    Unusable(String),
    /// They are here, but the InstallPlan could not be written, and why. It is tried again.
    PlanNotWritten(String),
}

/// An InstallPlan, as far as Subscriptions are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The generation of the plan (`spec.generation`).
    pub generation: i64,
    /// The CSVs that it installs.
    pub csvs: Vec<String>,
    /// How far it is.
    pub phase: InstallPlanPhase,
    /// The reason of its condition `Installed`, if that is False.
    pub failure: String,
    /// What it says about how far it is.
    pub message: String,
    /// Whether it is tried again from time to time although it failed.
    pub is_tried_again: bool,
}

impl Plan {
    /// What Subscriptions have to know of a plan.
    pub fn of(object: &InstallPlan) -> Self {
        let status = object.status.clone().unwrap_or_default();
        let installed = status.condition(&InstallPlanConditionType::Installed);
        let failure = installed
            .filter(|condition| condition.status == ConditionStatus::False)
            .map(|condition| condition.reason.to_string());
        let told = installed
            .filter(|condition| condition.status != ConditionStatus::Unknown)
            .map(|condition| condition.message.clone())
            .filter(|message| !message.is_empty());
        Self {
            is_tried_again: is_tried_again(&status),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            generation: object.spec.generation,
            csvs: object.spec.cluster_service_version_names.clone(),
            failure: failure.unwrap_or_default(),
            message: match status.phase {
                // OLM's clients expect no message while a plan waits for its approval.
                InstallPlanPhase::RequiresApproval => told.unwrap_or_default(),
                _ => told.unwrap_or(status.message),
            },
            phase: status.phase,
        }
    }

    pub(super) fn installs(&self, csv: &str) -> bool {
        self.csvs.iter().any(|name| name == csv)
    }

    /// Whether it is neither done nor failed. A phase that this release does not know counts as
    /// done, as for OLM.
    pub(super) fn is_pending(&self) -> bool {
        matches!(
            self.phase,
            InstallPlanPhase::Unset
                | InstallPlanPhase::Planning
                | InstallPlanPhase::RequiresApproval
                | InstallPlanPhase::Installing
        )
    }

    pub(super) fn is_failed(&self) -> bool {
        self.phase == InstallPlanPhase::Failed
    }
}

/// A `ClusterServiceVersion`, as far as Subscriptions are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csv {
    /// How far it is.
    pub phase: CsvPhase,
    /// Why it is in that phase.
    pub reason: CsvReason,
    /// The same for people.
    pub message: String,
}

impl Csv {
    /// What Subscriptions have to know of a CSV.
    pub fn of(object: &ClusterServiceVersion) -> Self {
        let status = object.status.as_ref();
        status.map_or_else(Self::default, |status| Self {
            phase: status.phase.clone(),
            reason: status.reason.clone(),
            message: status.message.clone(),
        })
    }

    /// Whether a newer version takes its place, or has taken it.
    pub(super) fn makes_room(&self) -> bool {
        matches!(self.phase, CsvPhase::Replacing | CsvPhase::Deleting)
    }
}

/// What the catalog of a Subscription says against what is installed, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deprecations {
    /// The CSV that was looked up.
    pub csv: String,
    /// Against the package.
    pub package: Option<String>,
    /// Against the channel of the Subscription.
    pub channel: Option<String>,
    /// Against the bundle of the CSV.
    pub bundle: Option<String>,
}
