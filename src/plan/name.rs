//! What a plan is called, and how one that does the same is found again.

use kube::ResourceExt as _;
use serde_json::Value;

use super::reference::Manifest;
use crate::api::conditions::InstallPlanPhase;
use crate::api::hash::base36_sha256;
use crate::api::install_plan::{Approval, InstallPlan, InstallPlanSpec, Step};
use crate::api::labels;

/// Length of the hash in a plan's name.
const NAME_HASH: usize = 10;

/// The hash of what steps install: everything but how far they are, and the plan's own name, which
/// generated Subscriptions carry. It is kept in the label [`labels::PLAN_CONTENT_HASH`].
pub fn content_hash(steps: &[Step]) -> String {
    let content: Vec<Value> = steps
        .iter()
        .map(|step| {
            let resource = &step.resource;
            serde_json::json!([
                step.resolving,
                resource.source_name,
                resource.source_namespace,
                resource.group,
                resource.version,
                resource.kind,
                resource.name,
                without_plan(step),
                step.optional,
            ])
        })
        .collect();
    base36_sha256(Value::Array(content).to_string().as_bytes())
}

/// The manifest of a step without the name of the plan that it belongs to.
fn without_plan(step: &Step) -> String {
    if step.resource.kind == "Subscription"
        && let Ok(Manifest::Inline(mut object)) = Manifest::of(step)
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(annotations) = metadata.get_mut("annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.shift_remove(labels::GENERATED_BY);
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
        return object.to_string();
    }
    step.resource.manifest.clone()
}

/// The name of a plan. Whoever makes the same plan twice gets the same name, and so no second plan.
pub fn plan_name(namespace: &str, generation: i64, content_hash: &str) -> String {
    let hash = base36_sha256(format!("{namespace}/{generation}/{content_hash}").as_bytes());
    // The last digits of a number are as good as random, the first are not.
    let start = hash.len().saturating_sub(NAME_HASH);
    format!("install-{}", hash.get(start..).unwrap_or(&hash))
}

/// Whether a plan is over, well or badly.
pub fn is_terminal(plan: &InstallPlan) -> bool {
    let phase = plan.status.as_ref().map(|status| &status.phase);
    matches!(
        phase,
        Some(InstallPlanPhase::Complete | InstallPlanPhase::Failed)
    )
}

/// The plan that already does what a plan of this content would do: one that is not over, the newest
/// of several.
pub fn open_plan<'a>(plans: &[&'a InstallPlan], content_hash: &str) -> Option<&'a InstallPlan> {
    let same = plans.iter().copied().filter(|plan| {
        let label = plan.labels().get(labels::PLAN_CONTENT_HASH);
        label.is_some_and(|label| label == content_hash) && !is_terminal(plan)
    });
    same.max_by_key(|plan| (plan.spec.generation, plan.name_any()))
}

/// Whether a plan that was found under the name of another, without steps, may get the other's: whoever made it
/// meant the same, and nobody gave an approval to it that is not theirs to give.
///
/// A name says nothing of approval, and anybody may take it first. A plan that was made approved is not what somebody
/// wants who is to be asked; one that somebody approved afterwards, which makes for another `metadata.generation`, is.
pub fn stands_for(found: &InstallPlan, wanted: &InstallPlan) -> bool {
    let content = |plan: &InstallPlan| plan.labels().get(labels::PLAN_CONTENT_HASH).cloned();
    let solution = |plan: &InstallPlan| plan.annotations().get(labels::PLAN_SOLUTION).cloned();
    let owners = found.owner_references();
    let is_owner = |uid: &str| owners.iter().any(|owner| owner.uid == uid);
    let spec = InstallPlanSpec {
        approved: wanted.spec.approved,
        ..found.spec.clone()
    };
    let was_approved = found.spec.approved
        && wanted.spec.approval == Approval::Manual
        && found.metadata.generation.is_some_and(|it| it > 1);
    spec == wanted.spec
        && (found.spec.approved == wanted.spec.approved || was_approved)
        && content(found) == content(wanted)
        && solution(found) == solution(wanted)
        && wanted
            .owner_references()
            .iter()
            .all(|owner| is_owner(&owner.uid))
        && found.metadata.deletion_timestamp.is_none()
}

/// The generation of the next plan.
pub fn next_generation(plans: &[&InstallPlan]) -> i64 {
    let greatest = plans.iter().map(|plan| plan.spec.generation).max();
    greatest.unwrap_or_default().saturating_add(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::conditions::StepStatus;
    use crate::api::install_plan::StepResource;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    fn plan(name: &str, generation: i64, hash: &str, phase: InstallPlanPhase) -> InstallPlan {
        let mut plan = InstallPlan::default();
        plan.metadata.name = Some(name.to_owned());
        plan.labels_mut()
            .insert(labels::PLAN_CONTENT_HASH.to_owned(), hash.to_owned());
        plan.spec.generation = generation;
        plan.status.get_or_insert_default().phase = phase;
        plan
    }

    proptest! {
        #[test]
        fn a_name_is_short_and_lower_case(namespace: String, generation: i64, hash: String) {
            let name = plan_name(&namespace, generation, &hash);
            let digits = name.strip_prefix("install-").unwrap();
            prop_assert_eq!(digits.len(), NAME_HASH);
            prop_assert!(digits.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
        }
    }

    #[test]
    fn namespace_generation_and_content_each_decide_the_name() {
        let name = plan_name("port", 1, "a");
        assert_eq!(plan_name("port", 1, "a"), name);
        assert_ne!(plan_name("quay", 1, "a"), name);
        assert_ne!(plan_name("port", 2, "a"), name);
        assert_ne!(plan_name("port", 1, "b"), name);
    }

    #[test]
    fn progress_and_the_plans_own_name_are_no_content() {
        let step = |plan: &str, status| Step {
            resource: StepResource {
                kind: "Subscription".to_owned(),
                manifest: json!({
                    "apiVersion": "operators.coreos.com/v1alpha1",
                    "metadata": { "annotations": { "olm.generated-by": plan, "else": "x" } },
                })
                .to_string(),
                ..StepResource::default()
            },
            status,
            ..Step::default()
        };
        let hash = content_hash(&[step("install-a", StepStatus::Unknown)]);
        assert_eq!(
            content_hash(&[step("install-b", StepStatus::Created)]),
            hash
        );
        let mut other = step("install-a", StepStatus::Unknown);
        other.resource.manifest = other.resource.manifest.replace("else", "other");
        assert_ne!(content_hash(&[other]), hash);
    }

    #[rstest]
    #[case(InstallPlanPhase::RequiresApproval, true)]
    #[case(InstallPlanPhase::Installing, true)]
    #[case(InstallPlanPhase::Unset, true)]
    #[case(InstallPlanPhase::Complete, false)]
    #[case(InstallPlanPhase::Failed, false)]
    fn only_a_plan_that_is_not_over_is_found_again(
        #[case] phase: InstallPlanPhase,
        #[case] found: bool,
    ) {
        let plan = plan("install-a", 1, "same", phase);
        assert_eq!(open_plan(&[&plan], "same").is_some(), found);
        assert!(open_plan(&[&plan], "other").is_none());
    }

    /// A plan that was written without its steps.
    fn unfinished(approval: Approval, approved: bool, generation: i64) -> InstallPlan {
        let mut plan = plan("install-a", 1, "same", InstallPlanPhase::Unset);
        plan.spec.approval = approval;
        plan.spec.approved = approved;
        plan.metadata.generation = Some(generation);
        let owner = json!({"apiVersion": "v1", "kind": "Subscription", "name": "s", "uid": "u"});
        plan.metadata.owner_references = Some(vec![serde_json::from_value(owner).unwrap()]);
        plan
    }

    #[rstest]
    // As it was made.
    #[case(unfinished(Approval::Manual, false, 1), true)]
    // Somebody approved it before it had its steps.
    #[case(unfinished(Approval::Manual, true, 2), true)]
    // It was made when nobody wanted to be asked, or by somebody who would not ask.
    #[case(unfinished(Approval::Automatic, true, 1), false)]
    #[case(unfinished(Approval::Automatic, true, 2), false)]
    #[case(unfinished(Approval::Manual, true, 1), false)]
    fn an_approval_that_nobody_gave_does_not_count(
        #[case] found: InstallPlan,
        #[case] stands: bool,
    ) {
        let wanted = unfinished(Approval::Manual, false, 0);
        assert_eq!(stands_for(&found, &wanted), stands);
    }

    #[test]
    fn a_plan_that_is_about_something_else_stands_for_no_other() {
        let wanted = unfinished(Approval::Automatic, true, 0);
        assert!(stands_for(
            &unfinished(Approval::Automatic, true, 1),
            &wanted
        ));
        let differ: [fn(&mut InstallPlan); 6] = [
            |it| it.spec.approved = false,
            |it| it.spec.cluster_service_version_names = vec!["else".to_owned()],
            |it| it.metadata.owner_references = None,
            |it| it.metadata.labels = None,
            |it| {
                it.annotations_mut()
                    .insert(labels::PLAN_SOLUTION.to_owned(), "else".to_owned());
            },
            |it| {
                it.metadata.deletion_timestamp =
                    Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
            },
        ];
        for change in differ {
            let mut found = unfinished(Approval::Automatic, true, 1);
            change(&mut found);
            assert!(!stands_for(&found, &wanted), "{found:?}");
        }
    }

    #[test]
    fn the_next_generation_is_greater_than_all() {
        assert_eq!(next_generation(&[]), 1);
        let (a, b) = (
            plan("a", 7, "", InstallPlanPhase::Complete),
            plan("b", 3, "", InstallPlanPhase::Complete),
        );
        assert_eq!(next_generation(&[&a, &b]), 8);
    }
}
