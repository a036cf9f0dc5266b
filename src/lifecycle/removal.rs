//! What goes when a Subscription does, what stays, and in which order.
//!
//! ```text
//! Facts + Wish ─ plan ─▶ Removal: stages in order, what stays, what is in the way
//! Removal ─ next ─▶ what to do now, or what to wait for
//! ```
//!
//! A removal is planned anew at every look from what is there then. Whoever carries it out does what
//! the first stage says that is not over; so one that was stopped anywhere goes on as if nothing had
//! happened, and what somebody else did meanwhile is done.
//!
//! 1. InstallPlans at work are stopped: they would bring back what goes.
//! 2. Dependencies that nobody else needs are handed over: their Subscriptions are deleted with a
//!    wish of their own, and wait until nobody needs them.
//! 3. Custom resources go while the operator still runs, which works off their finalizers. Those that somebody
//!    else deleted are waited for as well.
//! 4. The ClusterServiceVersions go, with what they own.
//! 5. What belongs to the package and is left goes: what is in no namespace, and what was made before
//!    there was a ClusterServiceVersion to own it.
//! 6. Other operators that have to do with its CRDs and go as well are waited for.
//! 7. Custom resources go that could not go before: those that another operator served that is gone only now,
//!    and those that the operator made anew as often as they were deleted.
//! 8. CRDs go, and what stays loses the marks of the package.
//! 9. The Subscription is let go; its InstallPlans and the Operator object go after it.
//!
//! What goes is decided as if all removals that have begun were over ([`fates`]): custom resources of an API
//! that two operators have go with both of them, whichever goes first, and with one only if the other one does
//! not serve them. But a removal may be withdrawn, and so what another operator serves goes only when that one
//! is gone, unless it was named there as well.
//!
//! A CRD that has objects goes only if it is named, and so do its objects: `Everything` alone takes CRDs of
//! which nobody has anything. Names count for CRDs of the package only; what was there before it stays.

pub mod cleanup;
mod definitions;
mod facts;
mod fates;
mod handover;
mod leftovers;
mod needs;
mod party;
mod progress;
#[cfg(test)]
mod tests;
mod trail;
mod users;

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use serde::Serialize;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::{RemovalPolicy, Subscription};

pub use definitions::unmark;
pub use facts::{Crd, CustomResource, Facts, Listing, Marked, Reference, Unlisted, Wish};
use fates::{Dependencies, Fates};
pub use handover::{hand_over, last_written, own_wish, put_back};
pub use leftovers::disown;
pub use progress::{Move, is_news, so_far};
pub(crate) use trail::LABELLED;
pub use trail::trail;

const CSV: &str = "ClusterServiceVersion";

/// What goes, what stays, and what is in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// What has to change before anything goes.
    pub blockers: Vec<Blocker>,
    /// What goes, in order. Stages without an object are left out.
    pub stages: Vec<Stage>,
    /// What stays.
    pub stays: Vec<Stays>,
    /// CRDs that stay only because they have objects, with which they go only by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unnamed: Vec<String>,
    /// CRDs that are named and stay all the same.
    #[serde(skip)]
    pub refused: Vec<Stays>,
    /// Kinds that cannot be listed, and of which the package is not known to have anything.
    #[serde(skip)]
    pub unlisted: Vec<Unlisted>,
    /// What the API server said about kinds that may not be listed.
    #[serde(skip)]
    pub unread: Vec<String>,
    /// Whether the operator runs, and so works off finalizers.
    #[serde(skip)]
    pub is_running: bool,
    /// What the operator says that it waits for since it was deleted, if that takes long.
    #[serde(skip)]
    pub cleanup: String,
}

/// Objects that go together. The next stage begins when they are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// What is done to them.
    pub step: Step,
    /// The objects.
    pub objects: Vec<Goes>,
}

/// What is done in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Step {
    /// InstallPlans at work are deleted.
    StopPlans,
    /// Subscriptions of dependencies are deleted, with the wish for their removal.
    HandOverDependencies,
    /// Custom resources are deleted.
    DeleteCustomResources,
    /// Nothing: the operator works off finalizers of custom resources that somebody else deleted.
    AwaitCustomResources,
    /// ClusterServiceVersions are deleted.
    DeleteOperator,
    /// What is left of the package is deleted.
    DeleteLeftovers,
    /// Nothing: others that have to do with its CRDs go by themselves.
    AwaitOthers,
    /// Custom resources are deleted that could not go while the operator was there.
    DeleteRemainingResources,
    /// CRDs are deleted.
    DeleteDefinitions,
    /// CRDs and other objects that stay lose the marks of the package.
    Unmark,
    /// Nothing: they go by themselves, after the Subscription.
    Afterwards,
}

/// An object that goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Goes {
    /// Which one.
    #[serde(flatten)]
    pub object: Reference,
    /// Why.
    pub why: String,
    /// Whether it is on its way out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_going: bool,
    /// What it waits for then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Its uid: another object of that name is not meant.
    #[serde(skip)]
    pub uid: String,
    /// Which of its versions the decision was about, if it counts.
    #[serde(skip)]
    pub resource_version: Option<String>,
    /// Whether it was made after the removal had begun: anew, for all one knows, when it was deleted.
    #[serde(skip)]
    pub comes_back: bool,
    /// Who made it then, as they call themselves.
    #[serde(skip)]
    pub made_by: Option<String>,
    /// Whether it is left for a while: those that come back are deleted less and less often.
    #[serde(skip)]
    pub rests: bool,
}

/// An object that stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stays {
    /// Which one.
    #[serde(flatten)]
    pub object: Reference,
    /// Why.
    pub why: String,
}

/// Something that has to change before anything goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// One word for programs.
    pub reason: &'static str,
    /// What is in the way, and what to do about it.
    pub message: String,
}

/// Whose things they are: the Subscription, its package, and its ClusterServiceVersions.
struct Estate<'a> {
    facts: &'a Facts,
    namespace: String,
    package: &'a str,
    /// The label of whatever belongs to the package.
    mark: String,
    own: Vec<&'a ClusterServiceVersion>,
    /// All other ClusterServiceVersions that are there.
    others: Vec<&'a ClusterServiceVersion>,
}

impl<'a> Estate<'a> {
    fn of(facts: &'a Facts) -> Self {
        let namespace = facts.subscription.namespace().unwrap_or_default();
        let package = facts.subscription.spec.name.as_str();
        let mark = mark(&facts.subscription);
        let present = facts.csvs.iter().map(|csv| &**csv).filter(|csv| {
            let key = format!("{}/{}", csv.namespace().unwrap_or_default(), csv.name_any());
            !csv.is_copied() && !facts.leaving.contains(&key)
        });
        let (own, others) = present.partition(|csv| is_of(&facts.subscription, csv));
        Self {
            facts,
            namespace,
            package,
            mark,
            own,
            others,
        }
    }

    /// The other Subscriptions of the namespace that are not on their way out.
    fn neighbours(&self) -> impl Iterator<Item = &'a Subscription> {
        let own = self.facts.subscription.name_any();
        let namespace = self.namespace.clone();
        let all = self.facts.subscriptions.iter().map(|it| &**it);
        all.filter(move |it| {
            it.namespace().unwrap_or_default() == namespace
                && it.name_any() != own
                && it.metadata.deletion_timestamp.is_none()
        })
    }

    /// Whether a label is the mark of another package that is there. That of one that is gone says nothing,
    /// nor does that of one of which nothing is left but a removal.
    fn has_other(&self, label: &str) -> bool {
        let mut subscriptions = self.facts.subscriptions.iter();
        let mut csvs = self.others.iter();
        label.starts_with(labels::COMPONENT_PREFIX)
            && (csvs.any(|csv| csv.labels().contains_key(label))
                || subscriptions.any(|it| mark(it) == label && !is_being_removed(it)))
    }

    /// Whether a CRD is of the package: a plan brought it for that, or its operator owns it.
    fn has_crd(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        labels.contains_key(&self.mark) || self.own.iter().any(|csv| owns(csv, name))
    }

    /// Whether there is an operator that works off finalizers, or could.
    fn is_operated(&self) -> bool {
        let mut own = self.own.iter();
        own.any(|csv| csv.metadata.deletion_timestamp.is_none())
    }

    /// A Subscription that has the same operator.
    fn partner(&self) -> Option<&'a Subscription> {
        self.neighbours().find(|it| {
            it.spec.name == self.package
                || self
                    .own
                    .iter()
                    .any(|csv| csv_names(it).contains(&csv.name_any().as_str()))
        })
    }
}

/// The label of whatever belongs to the package of a Subscription.
pub(crate) fn mark(subscription: &Subscription) -> String {
    let namespace = subscription.namespace().unwrap_or_default();
    labels::component(&labels::operator_name(&subscription.spec.name, &namespace))
}

/// Whether a ClusterServiceVersion belongs to a Subscription.
fn is_of(subscription: &Subscription, csv: &ClusterServiceVersion) -> bool {
    csv.namespace() == subscription.namespace()
        && (csv.labels().contains_key(&mark(subscription))
            || csv_names(subscription).contains(&csv.name_any().as_str()))
}

/// The ClusterServiceVersions that a Subscription says it has, or is about to have.
fn csv_names(subscription: &Subscription) -> Vec<&str> {
    let status = subscription.status.as_ref();
    let names = status.map(|it| [it.installed_csv.as_str(), it.current_csv.as_str()]);
    let names = names.into_iter().flatten();
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether somebody removes what a Subscription installed. One that goes without our finalizer leaves everything
/// as it is.
fn is_being_removed(subscription: &Subscription) -> bool {
    let mut finalizers = subscription.finalizers().iter();
    subscription.metadata.deletion_timestamp.is_some()
        && finalizers.any(|it| it == labels::REMOVAL_FINALIZER)
        && Wish::of(subscription).removes()
}

/// Whether a ClusterServiceVersion says that a CRD, by its name, is its own.
fn owns(csv: &ClusterServiceVersion, crd: &str) -> bool {
    let owned = &csv.spec.custom_resource_definitions.owned;
    owned.iter().any(|it| it.name == crd)
}

/// What goes with a Subscription, what stays, and in which order.
pub fn plan(facts: &Facts, wish: &Wish) -> Removal {
    let estate = Estate::of(facts);
    let mut removal = Removal::default();
    if !wish.removes() {
        return removal;
    }
    if let Some(partner) = estate.partner() {
        let why = format!(
            "Subscription {} has the same operator, and stays",
            partner.name_any()
        );
        removal.stay(estate.own.iter().map(|csv| Reference::csv(csv)), &why);
        let crds = facts.crds.iter().map(|crd| Reference::crd(&crd.name));
        removal.stay(crds, &why);
        removal.stage(Step::Afterwards, vec![itself(facts)]);
        return removal;
    }
    removal.is_running = estate.own.iter().any(|csv| needs::is_running(csv));
    let mut own = estate.own.iter();
    let cleanup = own.find_map(|csv| cleanup::told(csv));
    cleanup.unwrap_or_default().clone_into(&mut removal.cleanup);
    // What would go is told also where dependencies are kept.
    let pruning = Fates::of(&estate, &wish.pruning());
    let dependencies = pruning.dependencies();
    let (fates, handed_over): (Fates<'_>, &[&Subscription]) = if wish.prunes() {
        (pruning, &dependencies.unneeded)
    } else {
        (Fates::of(&estate, wish), &[])
    };
    let blocker = needs::blockers(estate.package, &fates);
    removal.blockers.extend(blocker);
    let mut going = BTreeSet::from([facts.subscription.uid().unwrap_or_default()]);
    going.extend(handed_over.iter().filter_map(|it| it.uid()));
    removal.stop_plans(facts, &going);
    removal.hand_over(&estate, wish, &dependencies);
    let definitions = definitions::decide(&estate, wish, &fates);
    removal.blockers.extend(definitions.blockers);
    removal.stage(Step::DeleteCustomResources, definitions.objects);
    removal.stage(Step::AwaitCustomResources, definitions.held);
    removal.stage(Step::DeleteOperator, operators(&estate));
    let leftovers = leftovers::decide(&estate);
    removal.blockers.extend(leftovers.blockers);
    removal.stage(Step::DeleteLeftovers, leftovers.goes);
    removal.stage(Step::AwaitOthers, definitions.awaited);
    removal.stage(Step::DeleteRemainingResources, definitions.later);
    removal.stage(Step::DeleteDefinitions, definitions.goes);
    let unmarked = definitions.unmarked.into_iter().chain(leftovers.unmarked);
    removal.stage(Step::Unmark, unmarked.collect());
    removal.stays.extend(definitions.stays);
    removal.stays.extend(leftovers.stays);
    removal.unnamed = definitions.unnamed;
    removal.refused = definitions.refused;
    removal.unlisted = leftovers.unlisted;
    removal.unread.clone_from(&facts.unread);
    removal.afterwards(&estate, &going);
    removal.blockers.sort();
    removal.blockers.dedup();
    removal.stays.sort();
    removal.stays.dedup();
    removal
}

/// What is wished for a dependency that is handed over. Where several removals reach it, the most careful
/// of them counts, whichever comes first.
///
/// CRDs that are named are handed over to those whose they are, and go when nobody needs them any more: whoever goes
/// before may have to have them until then.
pub fn wish_for(dependency: &Subscription, facts: &Facts, wish: &Wish) -> Wish {
    let estate = Estate::of(facts);
    let fates = Fates::of(&estate, wish);
    let policy = fates.policy_for(dependency);
    let crds = fates.names_for(dependency, &facts.crds);
    wish.for_dependency(policy.unwrap_or(RemovalPolicy::Operator), crds)
}

fn operators(estate: &Estate<'_>) -> Vec<Goes> {
    let own = estate.own.iter();
    own.map(|csv| Goes {
        object: Reference::csv(csv),
        why: format!("the operator of package {}", estate.package),
        is_going: csv.metadata.deletion_timestamp.is_some(),
        finalizers: csv.finalizers().to_vec(),
        uid: csv.uid().unwrap_or_default(),
        ..Goes::default()
    })
    .collect()
}

fn itself(facts: &Facts) -> Goes {
    Goes {
        object: Reference::subscription(&facts.subscription),
        why: "it was deleted".to_owned(),
        is_going: facts.subscription.metadata.deletion_timestamp.is_some(),
        uid: facts.subscription.uid().unwrap_or_default(),
        ..Goes::default()
    }
}

impl Removal {
    fn stage(&mut self, step: Step, mut objects: Vec<Goes>) {
        if !objects.is_empty() {
            objects.sort_by(|a, b| a.object.cmp(&b.object));
            objects.dedup_by(|a, b| a.object == b.object);
            self.stages.push(Stage { step, objects });
        }
    }

    fn stay(&mut self, objects: impl Iterator<Item = Reference>, why: &str) {
        self.stays.extend(objects.map(|object| Stays {
            object,
            why: why.to_owned(),
        }));
    }

    /// A plan that is being carried out goes first, unless it is somebody else's as well who stays. Of those that
    /// failed nobody knows when they are tried again, and so they are not waited for: whoever stays gets another.
    fn stop_plans(&mut self, facts: &Facts, going: &BTreeSet<String>) {
        let mut stopped = Vec::new();
        for plan in facts.plans.iter().filter(|plan| is_at_work(plan)) {
            let owners = plan.owner_references();
            let is_ours = owners.iter().any(|owner| going.contains(&owner.uid));
            let mut others = owners.iter().filter(|owner| !going.contains(&owner.uid));
            let other = others.find(|owner| !is_deleted(facts, &owner.uid));
            match other {
                _ if !is_ours => {}
                None => stopped.push(Goes {
                    why: "it would bring back what goes".to_owned(),
                    ..plan_goes(plan)
                }),
                Some(_) if has_failed(plan) && is_overtaken(facts, plan) => {}
                Some(other) if has_failed(plan) => stopped.push(Goes {
                    why: format!(
                        "it failed, and would bring back what goes when it is tried again; \
                         Subscription {} gets another",
                        other.name
                    ),
                    ..plan_goes(plan)
                }),
                Some(other) => self.blockers.push(Blocker {
                    reason: crate::api::conditions::subscription::INSTALL_PLAN_UNDERWAY,
                    message: format!(
                        "InstallPlan {0} is being carried out for Subscription {1} as well; when it \
                         is done, the removal goes on; if it does not get done, delete it, and another is \
                         made for {1}",
                        plan.name_any(),
                        other.name
                    ),
                }),
            }
        }
        self.stage(Step::StopPlans, stopped);
    }

    fn hand_over(&mut self, estate: &Estate<'_>, wish: &Wish, dependencies: &Dependencies<'_>) {
        for (subscription, user) in &dependencies.needed {
            self.stays.push(Stays {
                object: Reference::subscription(subscription),
                why: format!("{} needs it", Reference::csv(user)),
            });
        }
        let package = estate.package;
        if !wish.prunes() {
            let unneeded = dependencies.unneeded.iter();
            let unneeded = unneeded.map(|it| Reference::subscription(it));
            let why =
                format!("installed for {package}, and nobody else needs it; dependencies are kept");
            self.stay(unneeded, &why);
            return;
        }
        let unneeded = dependencies.unneeded.iter().map(|it| Goes {
            object: Reference::subscription(it),
            why: format!("installed for {package}, and nobody else needs it"),
            uid: it.uid().unwrap_or_default(),
            ..Goes::default()
        });
        self.stage(Step::HandOverDependencies, unneeded.collect());
    }

    fn afterwards(&mut self, estate: &Estate<'_>, going: &BTreeSet<String>) {
        let mut after = vec![itself(estate.facts)];
        let stopped: BTreeSet<String> = self
            .stages
            .iter()
            .filter(|stage| stage.step == Step::StopPlans)
            .flat_map(|stage| stage.objects.iter().map(|it| it.object.name.clone()))
            .collect();
        for plan in &estate.facts.plans {
            let owners = plan.owner_references();
            let is_ours = owners.iter().any(|owner| going.contains(&owner.uid));
            let other = owners.iter().find(|owner| !going.contains(&owner.uid));
            match other {
                _ if stopped.contains(&plan.name_any()) => {}
                None if is_ours => after.push(plan_goes(plan)),
                Some(other) if is_ours => self.stays.push(Stays {
                    object: plan_goes(plan).object,
                    why: format!("it is of {} {} as well", other.kind, other.name),
                }),
                _ => {}
            }
        }
        let name = labels::operator_name(estate.package, &estate.namespace);
        after.push(Goes {
            object: Reference::olm("v1", "Operator", "", &name),
            why: "nothing is left that it would show".to_owned(),
            ..Goes::default()
        });
        self.stage(Step::Afterwards, after);
    }
}

fn plan_goes(plan: &InstallPlan) -> Goes {
    let namespace = plan.namespace().unwrap_or_default();
    Goes {
        object: Reference::olm("v1alpha1", "InstallPlan", &namespace, &plan.name_any()),
        why: "the Subscriptions that it is of go".to_owned(),
        is_going: plan.metadata.deletion_timestamp.is_some(),
        finalizers: plan.finalizers().to_vec(),
        uid: plan.uid().unwrap_or_default(),
        ..Goes::default()
    }
}

/// Whether a plan writes, or may. One that failed is tried again now and then.
fn is_at_work(plan: &InstallPlan) -> bool {
    let phase = plan.status.as_ref().map(|status| &status.phase);
    match phase {
        Some(InstallPlanPhase::Complete) => false,
        Some(InstallPlanPhase::Installing | InstallPlanPhase::Failed) => true,
        _ => plan.spec.approved,
    }
}

/// Whether a Subscription of the namespace, by its uid, is on its way out: it waits for no plan any more.
fn is_deleted(facts: &Facts, uid: &str) -> bool {
    let mut subscriptions = facts.subscriptions.iter();
    subscriptions
        .any(|it| it.uid().is_some_and(|it| it == uid) && it.metadata.deletion_timestamp.is_some())
}

/// Whether another plan came after one for a Subscription that both are for: then it is not tried again.
fn is_overtaken(facts: &Facts, plan: &InstallPlan) -> bool {
    let owners = plan.owner_references();
    let mut later = facts.plans.iter();
    later.any(|it| {
        let mut theirs = it.owner_references().iter();
        it.spec.generation > plan.spec.generation
            && theirs.any(|its| owners.iter().any(|owner| owner.uid == its.uid))
    })
}

fn has_failed(plan: &InstallPlan) -> bool {
    let status = plan.status.as_ref();
    status.is_some_and(|status| status.phase == InstallPlanPhase::Failed)
}
