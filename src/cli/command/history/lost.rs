//! Whether there was more than the InstallPlans tell that are left.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::Subscription;

/// Where plans for a Subscription may be gone. The plans of a namespace, which are all asked for, have generations in a
/// row: where one is missing, it may have been for this Subscription if that was there already.
pub(super) struct Lost {
    /// The last generation before the Subscription came.
    before: i64,
    /// The generations since that are left.
    left: BTreeSet<i64>,
    /// The last generation that there was.
    last: i64,
    /// Whether some are gone that came before all that are left.
    first: bool,
}

impl Lost {
    /// By the plans of its namespace.
    pub(super) fn of(subscription: &Subscription, plans: &[InstallPlan]) -> Self {
        let made_by = subscription.annotations().get(labels::GENERATED_BY);
        let lacks_begin =
            made_by.is_some_and(|name| !plans.iter().any(|plan| plan.name_any() == *name));
        let begin = subscription.creation_timestamp();
        let is_older = |plan: &&InstallPlan| {
            let made = plan.creation_timestamp();
            made.zip(begin.as_ref())
                .is_some_and(|(made, begin)| made < *begin)
        };
        let before = plans.iter().filter(is_older);
        let before = before.map(|plan| plan.spec.generation).max();
        let before = before.unwrap_or_default();
        let generations = plans.iter().map(|plan| plan.spec.generation);
        let left: BTreeSet<i64> = generations.filter(|it| *it > before).collect();
        let status = subscription.status.as_ref();
        let own = status.map(|status| status.install_plan_generation);
        let newest = left.last().copied();
        Self {
            before,
            last: newest.max(own).unwrap_or_default(),
            // When all plans are gone, generations begin anew.
            first: lacks_begin || own > newest.or(Some(before)),
            left,
        }
    }

    /// Whether any may be gone.
    pub(super) fn any(&self) -> bool {
        self.first || self.lacks_between(self.before, self.last.saturating_add(1))
    }

    /// Whether any may be gone right before each of some plans, of which the generations are in order.
    pub(super) fn before_each(&self, generations: &[i64]) -> Vec<bool> {
        let mut previous = self.before;
        let mut gaps = Vec::new();
        for (at, generation) in generations.iter().enumerate() {
            let is_first = at == 0 && self.first;
            gaps.push(is_first || self.lacks_between(previous, *generation));
            previous = previous.max(*generation);
        }
        gaps
    }

    /// Whether a generation between these two is missing.
    fn lacks_between(&self, after: i64, until: i64) -> bool {
        let between = self.left.iter().filter(|it| after < **it && **it < until);
        let count = i64::try_from(between.count()).unwrap_or(i64::MAX);
        count < until.saturating_sub(after).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn subscription(annotations: &Value, generation: i64) -> Subscription {
        serde_json::from_value(json!({
            "metadata": {
                "name": "gopher", "creationTimestamp": "2026-02-02T00:00:00Z",
                "annotations": annotations,
            },
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": {"installPlanGeneration": generation},
        }))
        .unwrap()
    }

    fn plan(generation: i64, made: &str) -> InstallPlan {
        serde_json::from_value(json!({
            "metadata": {"name": format!("install-{generation}"), "creationTimestamp": made},
            "spec": {
                "approval": "Automatic", "approved": true, "generation": generation,
                "clusterServiceVersionNames": [],
            },
        }))
        .unwrap()
    }

    const BEFORE: &str = "2026-01-01T00:00:00Z";
    const SINCE: &str = "2026-03-03T00:00:00Z";

    #[rstest]
    #[case::none_was_made(&[], 0, false)]
    #[case::all_are_there(&[(1, SINCE), (2, SINCE)], 2, false)]
    #[case::two_of_one_generation(&[(1, SINCE), (1, SINCE), (2, SINCE)], 2, false)]
    #[case::the_first_is_gone(&[(2, SINCE), (3, SINCE)], 3, true)]
    #[case::one_between_is_gone(&[(1, SINCE), (3, SINCE)], 3, true)]
    #[case::all_are_gone(&[], 3, true)]
    #[case::all_are_gone_and_another_came(&[(1, SINCE)], 3, true)]
    #[case::only_older_ones_are_gone(&[(7, BEFORE), (8, SINCE)], 8, false)]
    #[case::older_ones_and_one_since(&[(7, BEFORE), (9, SINCE)], 9, true)]
    fn a_generation_that_is_missing_may_have_been_for_it(
        #[case] plans: &[(i64, &str)],
        #[case] own: i64,
        #[case] expected: bool,
    ) {
        let plans: Vec<_> = plans.iter().map(|(at, made)| plan(*at, made)).collect();
        let lost = Lost::of(&subscription(&json!({}), own), &plans);
        assert_eq!(lost.any(), expected);
    }

    #[rstest]
    #[case::none_is_gone(&[1, 2, 3], 3, &[1, 3], &[false, false])]
    #[case::the_first_is_gone(&[2, 3], 3, &[2, 3], &[true, false])]
    #[case::one_between_is_gone(&[1, 3, 4], 4, &[1, 3, 4], &[false, true, false])]
    #[case::two_are_gone(&[2, 4], 4, &[2, 4], &[true, true])]
    #[case::one_before_that_of_another(&[1, 3, 4], 4, &[1, 4], &[false, true])]
    #[case::one_after_all_of_its_own(&[1, 3], 1, &[1], &[false])]
    #[case::all_are_gone_and_another_came(&[1], 3, &[1], &[true])]
    fn what_may_be_gone_is_right_before_what_came_next(
        #[case] plans: &[i64],
        #[case] own: i64,
        #[case] asked: &[i64],
        #[case] expected: &[bool],
    ) {
        let plans: Vec<_> = plans.iter().map(|at| plan(*at, SINCE)).collect();
        let lost = Lost::of(&subscription(&json!({}), own), &plans);
        assert_eq!(lost.before_each(asked), expected);
    }

    #[test]
    fn the_plan_that_made_a_subscription_belongs_to_it() {
        let annotations = json!({"olm.generated-by": "install-7"});
        let generated = subscription(&annotations, 7);
        assert!(!Lost::of(&generated, &[plan(7, BEFORE)]).any());
        assert!(Lost::of(&generated, &[plan(8, SINCE)]).any());
    }
}
