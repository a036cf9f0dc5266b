//! Which old plans may go.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use kube::ResourceExt;

use super::name::is_terminal;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::Subscription;

/// How many plans of a namespace are kept, as in OLM.
pub const KEPT: usize = 5;

/// Names of the plans of a namespace that may go, the oldest first: those that are not among the five
/// newest, are over, and are not the plan of any Subscription.
pub fn outdated(plans: &[&InstallPlan], subscriptions: &[&Subscription]) -> Vec<String> {
    let in_use: BTreeSet<&str> = subscriptions
        .iter()
        .flat_map(|subscription| plans_of(subscription))
        .collect();
    let mut newest_first = plans.to_vec();
    newest_first.sort_by_key(|plan| {
        let created = plan.metadata.creation_timestamp.as_ref();
        let created = created.map(|time| time.0);
        Reverse((plan.spec.generation, created, plan.name_any()))
    });
    let old = newest_first.into_iter().skip(KEPT).rev();
    old.filter(|plan| is_terminal(plan))
        .map(ResourceExt::name_any)
        .filter(|name| !in_use.contains(name.as_str()))
        .collect()
}

/// The plans that a Subscription names. One that was generated begins with the plan that made it.
fn plans_of(subscription: &Subscription) -> Vec<&str> {
    let status = subscription.status.as_ref();
    let referenced = status
        .and_then(|status| status.install_plan_ref.as_ref())
        .and_then(|reference| reference.name.as_deref());
    let older = status
        .and_then(|status| status.install_plan.as_ref())
        .map(|reference| reference.name.as_str());
    let named: Vec<&str> = referenced.into_iter().chain(older).collect();
    if !named.is_empty() {
        return named;
    }
    let generated_by = subscription.annotations().get(labels::GENERATED_BY);
    generated_by.map(String::as_str).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::conditions::InstallPlanPhase;
    use k8s_openapi::api::core::v1::ObjectReference;

    fn plan(generation: i64, phase: InstallPlanPhase) -> InstallPlan {
        let mut plan = InstallPlan::default();
        plan.metadata.name = Some(format!("install-{generation}"));
        plan.spec.generation = generation;
        plan.status.get_or_insert_default().phase = phase;
        plan
    }

    fn plans(phases: &[InstallPlanPhase]) -> Vec<InstallPlan> {
        (1..)
            .zip(phases)
            .map(|(at, phase)| plan(at, phase.clone()))
            .collect()
    }

    fn outdated_of(plans: &[InstallPlan], subscriptions: &[&Subscription]) -> Vec<String> {
        outdated(&plans.iter().collect::<Vec<_>>(), subscriptions)
    }

    #[test]
    fn the_five_newest_plans_are_kept() {
        let mut all = plans(&[const { InstallPlanPhase::Complete }; 7]);
        assert_eq!(outdated_of(&all, &[]), ["install-1", "install-2"]);
        all.reverse();
        assert_eq!(outdated_of(&all, &[]), ["install-1", "install-2"]);
        all.truncate(5);
        assert_eq!(outdated_of(&all, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_plan_that_is_not_over_is_kept_however_old() {
        let mut phases = vec![
            InstallPlanPhase::RequiresApproval,
            InstallPlanPhase::Installing,
            InstallPlanPhase::Unset,
            InstallPlanPhase::Failed,
        ];
        phases.extend(vec![InstallPlanPhase::Complete; 5]);
        let mut all = plans(&phases);
        assert_eq!(outdated_of(&all, &[]), ["install-4"]);
        all[0].status = None;
        assert_eq!(outdated_of(&all, &[]), ["install-4"]);
    }

    #[test]
    fn the_plan_of_a_subscription_is_kept() {
        let all = plans(&[const { InstallPlanPhase::Complete }; 7]);
        let mut subscription = Subscription::default();
        let reference = ObjectReference {
            name: Some("install-1".to_owned()),
            ..ObjectReference::default()
        };
        subscription.status.get_or_insert_default().install_plan_ref = Some(reference);
        assert_eq!(outdated_of(&all, &[&subscription]), ["install-2"]);
    }

    #[test]
    fn a_generated_subscription_keeps_its_plan_until_it_has_another() {
        let all = plans(&[const { InstallPlanPhase::Complete }; 7]);
        let mut subscription = Subscription::default();
        subscription
            .annotations_mut()
            .insert(labels::GENERATED_BY.to_owned(), "install-2".to_owned());
        assert_eq!(outdated_of(&all, &[&subscription]), ["install-1"]);
        let reference = ObjectReference {
            name: Some("install-7".to_owned()),
            ..ObjectReference::default()
        };
        subscription.status.get_or_insert_default().install_plan_ref = Some(reference);
        assert_eq!(
            outdated_of(&all, &[&subscription]),
            ["install-1", "install-2"]
        );
    }
}
