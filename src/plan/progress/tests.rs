use rstest::rstest;

use super::*;

fn time(second: u8) -> Time {
    serde_json::from_value(format!("2024-01-01T00:00:{second:02}Z").into()).unwrap()
}

fn plan(phase: InstallPlanPhase, approved: bool, steps: usize) -> InstallPlan {
    let mut plan = InstallPlan::default();
    plan.spec.approved = approved;
    let status = plan.status.get_or_insert_default();
    status.phase = phase;
    status.message = "before".to_owned();
    for at in 0..steps {
        let mut step = Step::default();
        step.resource.kind = "Service".to_owned();
        step.resource.name = format!("s{at}");
        status.plan.push(step);
    }
    plan
}

fn installing(steps: usize) -> InstallPlanStatus {
    let plan = plan(InstallPlanPhase::Installing, true, steps);
    begin(&plan, &time(0))
}

fn installed(status: &InstallPlanStatus) -> &InstallPlanCondition {
    status
        .condition(&InstallPlanConditionType::Installed)
        .unwrap()
}

#[rstest]
#[case(
    InstallPlanPhase::RequiresApproval,
    false,
    InstallPlanPhase::RequiresApproval,
    false
)]
#[case(
    InstallPlanPhase::RequiresApproval,
    true,
    InstallPlanPhase::Installing,
    true
)]
#[case(InstallPlanPhase::Installing, true, InstallPlanPhase::Installing, true)]
#[case(InstallPlanPhase::Planning, true, InstallPlanPhase::Installing, true)]
#[case(
    InstallPlanPhase::Unset,
    false,
    InstallPlanPhase::RequiresApproval,
    false
)]
#[case(InstallPlanPhase::Complete, true, InstallPlanPhase::Complete, false)]
#[case(InstallPlanPhase::Failed, true, InstallPlanPhase::Failed, false)]
fn a_plan_begins_once_it_is_approved(
    #[case] before: InstallPlanPhase,
    #[case] approved: bool,
    #[case] after: InstallPlanPhase,
    #[case] starts: bool,
) {
    let plan = plan(before, approved, 1);
    let status = begin(&plan, &time(1));
    assert_eq!(status.phase, after);
    assert_eq!(status.start_time.is_some(), starts);
    let mut again = plan.clone();
    again.status = Some(status.clone());
    assert_eq!(
        begin(&again, &time(2)),
        status,
        "nothing changes the second time"
    );
}

#[test]
fn approval_takes_the_call_for_it_away() {
    let status = begin(&plan(InstallPlanPhase::RequiresApproval, true, 1), &time(1));
    assert_eq!(status.message, "");
    let status = begin(
        &plan(InstallPlanPhase::RequiresApproval, false, 1),
        &time(1),
    );
    assert_eq!(status.message, "before");
}

#[test]
fn a_plan_is_complete_when_every_step_is_done() {
    let steps = [StepStatus::Created, StepStatus::Present];
    let status = conclude(&installing(2), &steps, None, &time(1));
    assert_eq!(status.phase, InstallPlanPhase::Complete);
    assert_eq!(status.message, "");
    assert_eq!(installed(&status).status, ConditionStatus::True);
    assert_eq!(status.plan[1].status, StepStatus::Present);
    let later = conclude(
        &status,
        &[const { StepStatus::NotPresent }; 2],
        None,
        &time(2),
    );
    assert_eq!(later, status, "what is over stays over");
}

#[rstest]
#[case(StepStatus::NotCreated, true, InstallPlanPhase::Complete)]
#[case(StepStatus::NotCreated, false, InstallPlanPhase::Installing)]
#[case(StepStatus::NotPresent, true, InstallPlanPhase::Installing)]
#[case(StepStatus::Unknown, false, InstallPlanPhase::Installing)]
#[case(StepStatus::WaitingForApi, false, InstallPlanPhase::Installing)]
#[case(StepStatus::UnsupportedResource, false, InstallPlanPhase::Failed)]
#[case(StepStatus::UnsupportedResource, true, InstallPlanPhase::Complete)]
fn one_step_decides(
    #[case] step: StepStatus,
    #[case] optional: bool,
    #[case] phase: InstallPlanPhase,
) {
    let mut before = installing(2);
    before.plan[1].optional = optional;
    let status = conclude(&before, &[StepStatus::Created, step], None, &time(1));
    assert_eq!(status.phase, phase);
}

#[test]
fn trouble_that_passes_is_told_in_olms_words_and_forgotten() {
    let trouble = Trouble::Passing("forbidden".to_owned());
    let steps = [StepStatus::Unknown];
    let status = conclude(&installing(1), &steps, Some(&trouble), &time(1));
    assert_eq!(status.phase, InstallPlanPhase::Installing);
    assert_eq!(status.message, "retrying execution due to error: forbidden");
    assert_eq!(installed(&status).status, ConditionStatus::False);
    assert_eq!(installed(&status).message, "forbidden");
    let status = conclude(&status, &steps, None, &time(2));
    assert_eq!(status.message, "");
    assert_eq!(status.conditions, []);
}

#[test]
fn trouble_that_stays_ends_the_plan() {
    let trouble = Trouble::Permanent("invalid".to_owned());
    let status = conclude(
        &installing(1),
        &[StepStatus::Unknown],
        Some(&trouble),
        &time(1),
    );
    assert_eq!(status.phase, InstallPlanPhase::Failed);
    assert_eq!(status.message, "invalid");
    assert_eq!(
        installed(&status).reason,
        InstallPlanReason::InstallComponentFailed
    );
}

#[test]
fn a_plan_that_may_not_be_carried_out_waits() {
    let trouble = Trouble::NotAllowed("no ServiceAccount".to_owned());
    let status = conclude(
        &installing(1),
        &[StepStatus::Unknown],
        Some(&trouble),
        &time(1),
    );
    assert_eq!(status.phase, InstallPlanPhase::Installing);
    assert_eq!(
        installed(&status).reason,
        InstallPlanReason::InstallCheckFailed
    );
}

#[test]
fn times_change_only_with_what_they_are_about() {
    let steps = [StepStatus::Unknown];
    let passing = |text: &str| Trouble::Passing(text.to_owned());
    let first = conclude(&installing(1), &steps, Some(&passing("a")), &time(1));
    let same = conclude(&first, &steps, Some(&passing("a")), &time(2));
    assert_eq!(same, first);
    let other = conclude(&first, &steps, Some(&passing("b")), &time(3));
    assert_eq!(installed(&other).last_update_time, Some(time(3)));
    assert_eq!(installed(&other).last_transition_time, Some(time(1)));
    let done = conclude(&other, &[StepStatus::Created], None, &time(4));
    assert_eq!(installed(&done).last_transition_time, Some(time(4)));
    assert_eq!(installed(&done).message, "");
    assert_eq!(done.start_time, Some(time(0)));
}

#[test]
fn a_plan_says_what_it_waits_for() {
    let steps = [const { StepStatus::WaitingForApi }; 5];
    let status = conclude(&installing(5), &steps, None, &time(1));
    assert_eq!(
        status.message,
        "waiting for the cluster to serve Service s0, Service s1, Service s2 and 2 more"
    );
}

/// A plan of a generation for some Subscriptions.
fn of(generation: i64, subscriptions: &[&str]) -> InstallPlan {
    let mut plan = plan(InstallPlanPhase::Failed, true, 0);
    plan.spec.generation = generation;
    let owners = subscriptions.iter().map(|uid| {
        let owner = serde_json::json!({"apiVersion": "v1", "kind": "Subscription", "name": uid, "uid": uid});
        serde_json::from_value(owner).unwrap()
    });
    plan.metadata.owner_references = Some(owners.collect());
    plan
}

#[rstest]
#[case(of(2, &["other"]), false)]
#[case(of(2, &["other", "own"]), true)]
#[case(of(1, &["own"]), false)]
fn a_plan_is_history_once_another_came_after_it_for_the_same(
    #[case] other: InstallPlan,
    #[case] is_so: bool,
) {
    assert_eq!(is_history(&of(1, &["own"]), &[&other]), is_so);
    assert!(is_history(&of(1, &[]), &[&of(2, &["other"])]));
}

#[test]
fn how_long_a_kind_is_missing_counts_from_when_it_was_missed_first() {
    let before = installing(1);
    assert_eq!(misses_kinds_since(&before), None);
    let trouble = |what: &str| Trouble::Passing(what.to_owned());
    let missing = trouble("api-server resource not found installing Gopher g: …");
    let steps = [StepStatus::Unknown];
    let forbidden = conclude(&before, &steps, Some(&trouble("forbidden")), &time(1));
    assert_eq!(misses_kinds_since(&forbidden), None);
    let first = conclude(&forbidden, &steps, Some(&missing), &time(5));
    assert_eq!(misses_kinds_since(&first), Some(&time(5)));
    let again = conclude(&first, &steps, Some(&missing), &time(9));
    assert_eq!(misses_kinds_since(&again), Some(&time(5)));
}
