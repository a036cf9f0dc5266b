//! What a Subscription has, and by which plan.

use super::*;
use crate::api::labels;
use SubscriptionConditionType::{
    Healthy, InstallPlanFailed, InstallPlanMissing, InstallPlanPending, Installed,
};

/// `current installed state plan`.
fn stands(status: &SubscriptionStatus) -> String {
    let or = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
    let plan = status.install_plan_ref.as_ref();
    let plan = plan.and_then(|plan| plan.name.clone()).unwrap_or_default();
    let legacy = status.install_plan.as_ref();
    assert!(legacy.is_none_or(|legacy| legacy.name == plan));
    [
        or(&status.current_csv),
        or(&status.installed_csv),
        or(status.state.as_str()),
        or(&plan),
    ]
    .join(" ")
}

#[test]
fn nothing_is_current_before_there_is_a_plan_for_it() {
    let status = Case::new().solved(installs("ship.v1", "")).status();
    assert_eq!(stands(&status), "- - - -");
    assert_eq!(
        line(&status, &Installed),
        "False InstallPlanAwaited: the InstallPlan for ship.v1 is about to be made"
    );
    assert_eq!(
        line(&status, &Healthy),
        "Unknown NotInstalled: nothing is installed yet"
    );
}

#[test]
fn a_plan_makes_its_csv_current_and_is_referenced_in_both_forms() {
    let case = Case::new().solved(installs("ship.v1", ""));
    let case = case.plan("install-a", "ship.v1", InstallPlanPhase::Installing);
    let status = case.made("install-a").status();
    assert_eq!(stands(&status), "ship.v1 - UpgradePending install-a");
    assert_eq!(status.install_plan_generation, 7);
    assert_eq!(
        serde_json::to_value(&status.install_plan_ref).unwrap(),
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
            "namespace": "port", "name": "install-a", "uid": "uid-of-install-a",
        })
    );
    assert_eq!(
        serde_json::to_value(&status.install_plan).unwrap(),
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
            "name": "install-a", "uuid": "uid-of-install-a",
        })
    );
    assert_eq!(line(&status, &InstallPlanPending), "True Installing: ");
    assert_eq!(short(&status, &Installed), "False Installing");
}

#[test]
fn a_csv_is_installed_as_soon_as_it_exists() {
    let case = Case::new().solved(keeps("ship.v1"));
    let case = case.plan("install-a", "ship.v1", InstallPlanPhase::Installing);
    let case = case
        .said(on_its_way("", "ship.v1", "install-a", "UpgradePending"))
        .csv("ship.v1", CsvPhase::Pending);
    let status = case.status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown install-a");
    // The plan has more to do.
    assert_eq!(short(&status, &Installed), "False Installing");
    assert_eq!(
        line(&status, &Healthy),
        "Unknown Progressing: ClusterServiceVersion ship.v1 is Pending"
    );
}

#[test]
fn all_is_well_when_the_plan_is_done_and_the_operator_runs() {
    let case = Case::new().solved(keeps("ship.v1"));
    let case = case.plan("install-a", "ship.v1", InstallPlanPhase::Complete);
    let case = case.said(has("ship.v1", "install-a"));
    let status = case.csv("ship.v1", CsvPhase::Succeeded).status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown install-a");
    assert_eq!(short(&status, &InstallPlanPending), "-");
    assert_eq!(
        line(&status, &Installed),
        "True ClusterServiceVersionPresent: ship.v1 is installed"
    );
    assert_eq!(
        line(&status, &Healthy),
        "True Succeeded: ClusterServiceVersion ship.v1 is Succeeded"
    );
}

#[test]
fn a_failed_csv_is_unhealthy_for_its_own_reason() {
    let mut case = Case::new().solved(keeps("ship.v1"));
    let csv = Csv {
        phase: CsvPhase::Failed,
        reason: CsvReason::InstallCheckFailed,
        message: "deadline exceeded".to_owned(),
    };
    case.surroundings.csvs.insert("ship.v1".to_owned(), csv);
    assert_eq!(
        line(&case.status(), &Healthy),
        "False InstallCheckFailed: ClusterServiceVersion ship.v1 is Failed: deadline exceeded"
    );
}

#[test]
fn a_plan_that_waits_for_approval_has_no_message_for_olm_and_advice_from_us() {
    let case = Case::new()
        .solved(installs("ship.v2", "ship.v1"))
        .said(has("ship.v1", "install-a"))
        .csv("ship.v1", CsvPhase::Succeeded);
    let case = case.plan("install-b", "ship.v2", InstallPlanPhase::RequiresApproval);
    let status = case.made("install-b").status();
    assert_eq!(stands(&status), "ship.v2 ship.v1 UpgradePending install-b");
    assert_eq!(
        line(&status, &InstallPlanPending),
        "True RequiresApproval: "
    );
    assert_eq!(
        line(&status, &Installed),
        "False RequiresApproval: InstallPlan port/install-b for ship.v2 waits for approval: \
         `chandler approve install-b -n port`, or \
         `kubectl patch installplan install-b -n port --type merge \
         -p '{\"spec\":{\"approved\":true}}'`"
    );
    assert_eq!(short(&status, &Healthy), "True Succeeded");
}

#[test]
fn a_plan_without_a_phase_is_not_yet_reconciled() {
    let case = Case::new().solved(installs("ship.v1", ""));
    let case = case.plan("install-a", "ship.v1", InstallPlanPhase::Unset);
    assert_eq!(
        line(&case.made("install-a").status(), &InstallPlanPending),
        "True InstallPlanNotYetReconciled: "
    );
}

#[test]
fn a_running_plan_is_followed_although_something_newer_is_wanted_by_now() {
    let case = Case::new()
        .solved(installs("ship.v3", "ship.v1"))
        .said(on_its_way(
            "ship.v1",
            "ship.v2",
            "install-b",
            "UpgradePending",
        ))
        .csv("ship.v1", CsvPhase::Succeeded);
    let case = case.plan("install-b", "ship.v2", InstallPlanPhase::Installing);
    let status = case.made("install-b").status();
    assert_eq!(stands(&status), "ship.v2 ship.v1 UpgradePending install-b");
}

#[test]
fn a_running_plan_is_followed_although_nothing_is_wanted_any_more() {
    let case = Case::new()
        .solved(keeps("ship.v1"))
        .said(on_its_way(
            "ship.v1",
            "ship.v2",
            "install-b",
            "UpgradePending",
        ))
        .csv("ship.v1", CsvPhase::Succeeded);
    let case = case.plan("install-b", "ship.v2", InstallPlanPhase::Installing);
    assert_eq!(
        stands(&case.status()),
        "ship.v2 ship.v1 UpgradePending install-b"
    );
}

/// A Subscription that goes back from a version that does not work to the one before, which is still there.
fn goes_back() -> Case {
    let case = Case::new()
        .said(has("ship.v2", "install-b"))
        .csv("ship.v1", CsvPhase::Replacing)
        .csv("ship.v2", CsvPhase::Failed);
    case.plan("install-b", "ship.v2", InstallPlanPhase::Complete)
}

#[test]
fn a_version_that_has_yet_to_take_its_place_back_is_not_installed() {
    for phase in [
        InstallPlanPhase::RequiresApproval,
        InstallPlanPhase::Installing,
    ] {
        let case = goes_back().solved(installs("ship.v1", "ship.v2"));
        let case = case.plan("install-c", "ship.v1", phase).made("install-c");
        let waits = "ship.v1 ship.v2 UpgradePending install-c";
        assert_eq!(stands(&case.status()), waits);
        // It goes on also if the pin is taken off meanwhile.
        let case = case.go_on().solved(keeps("ship.v2"));
        assert_eq!(stands(&case.status()), waits);
        // The newer one is gone, and the plan is done a moment later.
        let mut case = case.plan("install-c", "ship.v1", InstallPlanPhase::Complete);
        case.surroundings.csvs.remove("ship.v2");
        let case = case.solved(keeps("ship.v1"));
        let is_back = "ship.v1 ship.v1 AtLatestKnown install-c";
        assert_eq!(stands(&case.status()), is_back);
    }
}

#[test]
fn a_plan_back_that_is_deleted_before_its_work_leaves_what_is_installed() {
    let case = goes_back().said(on_its_way(
        "ship.v2",
        "ship.v1",
        "install-c",
        "UpgradePending",
    ));
    let again = case.clone().solved(installs("ship.v1", "ship.v2"));
    assert_eq!(stands(&again.status()), "- ship.v2 - -");
    let kept = case.solved(keeps("ship.v2"));
    assert_eq!(
        stands(&kept.status()),
        "ship.v2 ship.v2 AtLatestKnown install-b"
    );
}

#[test]
fn a_failed_plan_tells_why_and_how_to_try_again() {
    let mut case = Case::new()
        .answered(Answer::Pending)
        .said(on_its_way("", "ship.v1", "install-a", "UpgradePending"))
        .plan("install-a", "ship.v1", InstallPlanPhase::Failed);
    let plan = case.surroundings.plans.get_mut("install-a").unwrap();
    plan.failure = "InstallComponentFailed".to_owned();
    plan.message = "no such kind".to_owned();
    let status = case.status();
    assert_eq!(stands(&status), "ship.v1 - UpgradePending install-a");
    assert_eq!(
        line(&status, &InstallPlanFailed),
        "True InstallComponentFailed: no such kind"
    );
    assert_eq!(
        line(&status, &Installed),
        "False InstallComponentFailed: InstallPlan port/install-a failed: no such kind; mend the \
         cause, then have it tried again: `kubectl delete installplan install-a -n port`"
    );

    let plan = case.surroundings.plans.get_mut("install-a").unwrap();
    plan.is_tried_again = true;
    assert_eq!(
        line(&case.status(), &Installed),
        "False InstallComponentFailed: InstallPlan port/install-a failed: no such kind; mend the \
         cause, and it goes on by itself"
    );

    case.surroundings
        .plans
        .get_mut("install-a")
        .unwrap()
        .failure = String::new();
    assert_eq!(
        short(&case.status(), &InstallPlanFailed),
        "True InstallPlanFailed"
    );
}

#[test]
fn a_failed_plan_is_a_failed_upgrade_only_where_failing_forward_is_on() {
    let mut case = Case::new()
        .said(on_its_way(
            "ship.v1",
            "ship.v2",
            "install-b",
            "UpgradePending",
        ))
        .plan("install-b", "ship.v2", InstallPlanPhase::Failed)
        .csv("ship.v1", CsvPhase::Failed);
    assert_eq!(case.status().state, SubscriptionState::UpgradePending);
    case.surroundings.groups = Groups::One {
        fails_forward: true,
    };
    assert_eq!(case.status().state, SubscriptionState::UpgradeFailed);
}

#[test]
fn a_failed_plan_for_what_nobody_wants_any_more_is_left_behind() {
    let case = Case::new()
        .solved(keeps("ship.v1"))
        .said(on_its_way(
            "ship.v1",
            "ship.v2",
            "install-b",
            "UpgradePending",
        ))
        .plan("install-b", "ship.v2", InstallPlanPhase::Failed)
        .csv("ship.v1", CsvPhase::Succeeded);
    let status = case.status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown -");
    assert_eq!(short(&status, &InstallPlanFailed), "-");
    assert_eq!(status.install_plan_generation, 7);
}

#[test]
fn a_plan_that_is_deleted_too_early_has_the_subscription_begin_anew() {
    let case = || {
        Case::new()
            .said(on_its_way(
                "ship.v1",
                "ship.v2",
                "install-b",
                "UpgradePending",
            ))
            .csv("ship.v1", CsvPhase::Succeeded)
    };
    let status = case().solved(installs("ship.v2", "ship.v1")).status();
    assert_eq!(stands(&status), "- ship.v1 - -");
    assert_eq!(short(&status, &InstallPlanMissing), "-");
    assert_eq!(status.install_plan_generation, 7);
    let kept = case().solved(keeps("ship.v1")).status();
    assert_eq!(stands(&kept), "ship.v1 ship.v1 AtLatestKnown -");
}

#[test]
fn a_plan_that_is_deleted_after_its_work_is_missing_and_nothing_more() {
    let case = Case::new()
        .solved(keeps("ship.v1"))
        .said(has("ship.v1", "install-a"))
        .csv("ship.v1", CsvPhase::Succeeded);
    let status = case.status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown install-a");
    assert_eq!(
        line(&status, &InstallPlanMissing),
        "True ReferencedInstallPlanNotFound: InstallPlan port/install-a is gone; ship.v1 is there, and \
         nothing has to be done"
    );
    assert_eq!(
        short(&status, &Installed),
        "True ClusterServiceVersionPresent"
    );
}

#[test]
fn a_generated_subscription_does_not_miss_the_plan_that_made_it() {
    let mut case = Case::new()
        .solved(keeps("ship.v1"))
        .said(has("ship.v1", "install-a"))
        .csv("ship.v1", CsvPhase::Succeeded);
    let annotations = case
        .subscription
        .metadata
        .annotations
        .get_or_insert_default();
    annotations.insert(labels::GENERATED_BY.to_owned(), "install-a".to_owned());
    let status = case.status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown -");
    assert_eq!(short(&status, &InstallPlanMissing), "-");
}

#[test]
fn a_csv_that_is_deleted_is_pending_again_until_a_new_plan_takes_over() {
    let case = Case::new()
        .solved(installs("ship.v1", ""))
        .said(has("ship.v1", "install-a"));
    let case = case.plan("install-a", "ship.v1", InstallPlanPhase::Complete);
    let status = case.status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 UpgradePending install-a");
    assert_eq!(
        short(&status, &Healthy),
        "False ClusterServiceVersionMissing"
    );

    let case = case.plan("install-b", "ship.v1", InstallPlanPhase::Installing);
    assert_eq!(
        stands(&case.made("install-b").status()),
        "ship.v1 ship.v1 UpgradePending install-b"
    );
}

#[test]
fn a_csv_without_a_subscription_is_adopted() {
    let mut solution = keeps("ship.v1");
    solution.kept[0].adopted = true;
    let case = Case::new().solved(solution);
    let status = case.csv("ship.v1", CsvPhase::Succeeded).status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown -");
    assert_eq!(
        short(&status, &Installed),
        "True ClusterServiceVersionPresent"
    );
}

#[test]
fn a_generated_subscription_begins_with_the_plan_that_made_it() {
    let mut case = Case::new().plan("install-a", "ship.v1", InstallPlanPhase::Installing);
    let annotations = &mut case.subscription.metadata.annotations;
    annotations
        .get_or_insert_default()
        .insert("olm.generated-by".to_owned(), "install-a".to_owned());
    case.subscription.spec.starting_csv = "ship.v1".to_owned();
    assert_eq!(stands(&case.status()), "ship.v1 - UpgradePending install-a");
    let done = case.csv("ship.v1", CsvPhase::Succeeded).go_on();
    assert_eq!(
        stands(&done.status()),
        "ship.v1 ship.v1 AtLatestKnown install-a"
    );
    // Long after, when its first CSV is gone, the first plan does not come back.
    let mut later = done.said(json!({ "installedCSV": "ship.v9" }));
    later.surroundings.csvs.clear();
    assert_eq!(stands(&later.status()), "- ship.v9 - -");
}

#[test]
fn another_package_takes_over_by_a_plan_of_its_own() {
    let mut solution = installs("boat.v1", "ship.v1");
    solution.install[0].package = "boat".to_owned();
    let mut case = Case::new()
        .solved(solution)
        .said(has("ship.v1", "install-a"))
        .csv("ship.v1", CsvPhase::Succeeded)
        .plan("install-a", "ship.v1", InstallPlanPhase::Complete)
        .plan("install-b", "boat.v1", InstallPlanPhase::Installing)
        .made("install-b");
    case.subscription.spec.name = "boat".to_owned();
    assert_eq!(
        stands(&case.status()),
        "boat.v1 ship.v1 UpgradePending install-b"
    );
    let is_there = |case: Case| {
        let mut case = case.csv("boat.v1", CsvPhase::Succeeded);
        case.surroundings.csvs.remove("ship.v1");
        case.solved(keeps("boat.v1"))
    };
    let expected = "boat.v1 boat.v1 AtLatestKnown install-b";
    assert_eq!(stands(&is_there(case.clone().go_on()).status()), expected);
    // Whether the plan was noted before its CSV came or not.
    assert_eq!(stands(&is_there(case).status()), expected);
}

#[test]
fn the_plan_of_the_component_is_nothing_to_a_subscription_that_gets_nothing_out_of_it() {
    let mut solution = keeps("ship.v1");
    solution.install = installs("boat.v1", "").install;
    solution.install[0].package = "boat".to_owned();
    let case = Case::new()
        .solved(solution)
        .csv("ship.v1", CsvPhase::Succeeded)
        .plan("install-b", "boat.v1", InstallPlanPhase::Installing);
    let status = case.made("install-b").status();
    assert_eq!(stands(&status), "ship.v1 ship.v1 AtLatestKnown -");
}

#[test]
fn a_reference_of_olm_stays_as_it_is() {
    let case = Case::new()
        .solved(keeps("ship.v1"))
        .said(has("ship.v1", "install-a"))
        .csv("ship.v1", CsvPhase::Succeeded)
        .plan("install-a", "ship.v1", InstallPlanPhase::Complete);
    let reference = case.status().install_plan_ref.unwrap();
    assert_eq!(reference.resource_version.as_deref(), Some("42"));
}
