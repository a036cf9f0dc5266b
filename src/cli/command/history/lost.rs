//! Whether there was more than the InstallPlans tell that are left.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::Subscription;

/// Whether plans for a Subscription may be gone. The plans of a namespace, which are all asked for, have generations in a
/// row: where one is missing, it may have been for this Subscription if that was there already.
pub(super) fn some_may_be(subscription: &Subscription, plans: &[InstallPlan]) -> bool {
    let made_by = subscription.annotations().get(labels::GENERATED_BY);
    if made_by.is_some_and(|name| !plans.iter().any(|plan| plan.name_any() == *name)) {
        return true;
    }
    let begin = subscription.creation_timestamp();
    let is_older = |plan: &&InstallPlan| {
        let made = plan.creation_timestamp();
        made.zip(begin.as_ref())
            .is_some_and(|(made, begin)| made < *begin)
    };
    let generations = plans.iter().map(|plan| plan.spec.generation);
    let before = plans.iter().filter(is_older);
    let before = before.map(|plan| plan.spec.generation).max();
    let before = before.unwrap_or_default();
    let since: BTreeSet<i64> = generations.filter(|it| *it > before).collect();
    let status = subscription.status.as_ref();
    let own = status.map(|status| status.install_plan_generation);
    // When all plans are gone, generations begin anew.
    let last = since.last().copied().max(own).unwrap_or_default();
    let count = i64::try_from(since.len()).unwrap_or(i64::MAX);
    count < last.saturating_sub(before)
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
        assert_eq!(
            some_may_be(&subscription(&json!({}), own), &plans),
            expected
        );
    }

    #[test]
    fn the_plan_that_made_a_subscription_belongs_to_it() {
        let annotations = json!({"olm.generated-by": "install-7"});
        let generated = subscription(&annotations, 7);
        assert!(!some_may_be(&generated, &[plan(7, BEFORE)]));
        assert!(some_may_be(&generated, &[plan(8, SINCE)]));
    }
}
