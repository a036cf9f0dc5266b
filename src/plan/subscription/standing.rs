//! Where a Subscription stands: what it has, what it is on its way to, and by which plan.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource as _, ResourceExt as _};

use super::share::Share;
use super::situation::{Plan, Situation, Surroundings};
use crate::api::conditions::SubscriptionState;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::{InstallPlanReference, Subscription, SubscriptionStatus};

/// Where a Subscription stands.
#[derive(Debug)]
pub(super) struct Standing<'a> {
    pub(super) current: String,
    pub(super) installed: String,
    pub(super) state: SubscriptionState,
    pub(super) generation: i64,
    pub(super) reference: Option<ObjectReference>,
    pub(super) legacy_reference: Option<InstallPlanReference>,
    /// The plan that is referenced, if it exists.
    pub(super) plan: Option<&'a Plan>,
}

impl<'a> Standing<'a> {
    pub(super) fn new(
        subscription: &Subscription,
        old: &SubscriptionStatus,
        situation: &Situation<'a>,
        share: &Share<'_>,
    ) -> Self {
        let surroundings = situation.surroundings;
        let mut standing = Self {
            current: old.current_csv.clone(),
            installed: old.installed_csv.clone(),
            state: SubscriptionState::Unset,
            generation: old.install_plan_generation,
            reference: old.install_plan_ref.clone(),
            legacy_reference: old.install_plan.clone(),
            plan: None,
        };
        standing.plan = standing
            .plan_name()
            .and_then(|name| surroundings.plans.get(name));
        standing.follow_new_plan(situation, share);
        standing.forget_deleted_plan(subscription, surroundings);
        standing.follow_plan_that_generated(subscription, surroundings);
        standing.keep(surroundings, share);
        standing.refer(subscription);
        standing.look_at_csv(surroundings);
        standing
    }

    /// Whether the status names a plan that does not exist.
    pub(super) fn misses_plan(&self) -> bool {
        self.plan.is_none() && self.plan_name().is_some()
    }

    pub(super) fn plan_name(&self) -> Option<&str> {
        let name = self.reference.as_ref().and_then(|to| to.name.as_deref());
        let legacy = self.legacy_reference.as_ref().map(|to| to.name.as_str());
        name.or(legacy).filter(|name| !name.is_empty())
    }

    /// What is installed next is current as soon as there is a plan for it.
    fn follow_new_plan(&mut self, situation: &Situation<'a>, share: &Share<'_>) {
        let Some((plan, install)) = situation.plan.zip(share.install) else {
            return;
        };
        if plan.installs(&install.bundle) {
            self.plan = Some(plan);
            self.current.clone_from(&install.bundle);
        }
    }

    /// A plan that was deleted before it installed what it was made for: the Subscription begins
    /// anew. Of one that did its work, the reference stays.
    ///
    /// The plan that generated a Subscription belongs to the one that it was generated for, and goes
    /// with that: nobody has to be told that it is missing.
    fn forget_deleted_plan(&mut self, subscription: &Subscription, surroundings: &Surroundings) {
        if !self.misses_plan() {
            return;
        }
        let generated_by = subscription.annotations().get(labels::GENERATED_BY);
        let is_of_another = generated_by.map(String::as_str) == self.plan_name();
        // One that is being replaced was installed by it, or was to take its place back from what is installed.
        let did_its_work = surroundings
            .csvs
            .get(&self.current)
            .is_some_and(|csv| !csv.makes_room() || self.installed == self.current);
        if !did_its_work {
            self.current.clear();
        }
        if !did_its_work || is_of_another {
            self.reference = None;
            self.legacy_reference = None;
        }
    }

    /// A Subscription that a plan made begins with that plan.
    fn follow_plan_that_generated(
        &mut self,
        subscription: &Subscription,
        surroundings: &'a Surroundings,
    ) {
        let is_new = self.current.is_empty() && self.installed.is_empty();
        if self.plan_name().is_some() || self.plan.is_some() || !is_new {
            return;
        }
        let first = &subscription.spec.starting_csv;
        let name = subscription.annotations().get(labels::GENERATED_BY);
        let plan = name.and_then(|name| surroundings.plans.get(name));
        if let Some(plan) = plan.filter(|plan| plan.installs(first)) {
            self.plan = Some(plan);
            self.current.clone_from(first);
        }
    }

    /// What stays is both current and installed, unless a plan is still at work on something else.
    ///
    /// If the plan that is referenced did not install it, the latest that did takes its place: the
    /// CSV may have come before anybody noted the plan. A plan that did not do its work is left behind
    /// when nobody wants that any more.
    fn keep(&mut self, surroundings: &'a Surroundings, share: &Share<'_>) {
        let Some(kept) = share.kept.map(|kept| &kept.csv) else {
            return;
        };
        if !surroundings.csvs.contains_key(kept) || self.is_underway(surroundings) {
            return;
        }
        self.current.clone_from(kept);
        if self.misses_plan() || self.plan.is_some_and(|plan| plan.installs(kept)) {
            return;
        }
        let mut plans: Vec<&Plan> = surroundings.plans.values().collect();
        plans.retain(|plan| plan.installs(kept));
        let latest = plans.into_iter().max_by_key(|plan| plan.generation);
        if latest.is_some() {
            self.plan = latest;
        } else if self
            .plan
            .is_some_and(|plan| plan.is_pending() || plan.is_failed())
        {
            self.plan = None;
            self.reference = None;
            self.legacy_reference = None;
        }
    }

    fn is_underway(&self, surroundings: &Surroundings) -> bool {
        !self.is_in_its_place(surroundings) && self.is_brought()
    }

    /// Whether a plan is at work on what is current.
    fn is_brought(&self) -> bool {
        self.plan
            .is_some_and(|plan| plan.is_pending() && plan.installs(&self.current))
    }

    /// Whether what is current is there. A version to which a plan is about to go back may be there as well, and be replaced
    /// by the newer one until the plan has done its work.
    fn is_in_its_place(&self, surroundings: &Surroundings) -> bool {
        let csv = surroundings.csvs.get(&self.current);
        csv.is_some_and(|csv| !(csv.makes_room() && self.is_brought()))
    }

    /// Names the plan. A reference to the same plan stays as it is: OLM also notes the
    /// resourceVersion, which is out of date with the next write to the plan and of no use to anyone.
    fn refer(&mut self, subscription: &Subscription) {
        let Some(plan) = self.plan else {
            return;
        };
        self.generation = self.generation.max(plan.generation);
        let is_to_it = |to: &ObjectReference| {
            to.name.as_deref() == Some(&plan.name) && to.uid.as_deref() == Some(&plan.uid)
        };
        let (api_version, kind) = (InstallPlan::api_version(&()), InstallPlan::kind(&()));
        if !self.reference.as_ref().is_some_and(is_to_it) {
            self.reference = Some(ObjectReference {
                api_version: Some(api_version.to_string()),
                kind: Some(kind.to_string()),
                namespace: subscription.namespace(),
                name: Some(plan.name.clone()),
                uid: Some(plan.uid.clone()),
                ..ObjectReference::default()
            });
        }
        self.legacy_reference = Some(InstallPlanReference {
            api_version: api_version.into_owned(),
            kind: kind.into_owned(),
            name: plan.name.clone(),
            uid: plan.uid.clone(),
        });
    }

    /// A CSV is installed as soon as it exists and is in its place, whether it runs or not.
    fn look_at_csv(&mut self, surroundings: &Surroundings) {
        let failed_for_good =
            surroundings.groups.fails_forward() && self.plan.is_some_and(Plan::is_failed);
        self.state = if self.current.is_empty() {
            SubscriptionState::Unset
        } else if self.is_in_its_place(surroundings) {
            self.installed.clone_from(&self.current);
            SubscriptionState::AtLatestKnown
        } else if failed_for_good {
            SubscriptionState::UpgradeFailed
        } else {
            SubscriptionState::UpgradePending
        };
    }
}
