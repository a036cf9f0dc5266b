//! Whether it is known what a Subscription gets, and what keeps it from it.

use super::*;
use crate::resolver::{Change, Explanation, Reason};
use SubscriptionConditionType::{
    BundleUnpackFailed, BundleUnpacking, Installed, ResolutionFailed, Resolved,
};

fn unsolvable() -> Answer {
    let change = |change: &str| Change {
        change: change.to_owned(),
        gives: Vec::new(),
    };
    Answer::Component(Component::Unsolvable(Box::new(Explanation {
        requests: vec!["ship".to_owned()],
        summary: "nobody offers a mast".to_owned(),
        text: String::new(),
        nearest: ["a", "b", "c", "d"].map(change).to_vec(),
        tree: Reason {
            says: String::new(),
            because: Vec::new(),
        },
    })))
}

#[test]
fn an_unsolvable_component_says_so_in_olms_words_and_what_would_help_in_ours() {
    let status = Case::new().answered(unsolvable()).status();
    assert_eq!(
        line(&status, &ResolutionFailed),
        "True ConstraintsNotSatisfiable: constraints not satisfiable: nobody offers a mast"
    );
    assert_eq!(
        line(&status, &Resolved),
        "False ConstraintsNotSatisfiable: constraints not satisfiable: nobody offers a mast; \
         what would help: a; or: b; or: c"
    );
    assert_eq!(short(&status, &Installed), "False NotInstalled");
}

#[test]
fn what_is_installed_stays_installed_but_may_not_be_what_is_wanted() {
    let case = Case::new()
        .answered(unsolvable())
        .said(has("ship.v1", "install-a"))
        .plan("install-a", "ship.v1", InstallPlanPhase::Complete)
        .csv("ship.v1", CsvPhase::Succeeded);
    let status = case.status();
    assert_eq!(status.state, SubscriptionState::AtLatestKnown);
    assert_eq!(short(&status, &Installed), "Unknown NotResolved");
}

#[test]
fn a_namespace_needs_exactly_one_group_and_is_told_what_to_do() {
    let group = |names: &[&str]| Groups::Not1 {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let unreadable = Groups::Unreadable {
        name: "crew".to_owned(),
        problem: "annotation x is no duration; correct it".to_owned(),
    };
    for (groups, reason, message) in [
        (
            group(&[]),
            "NoOperatorGroup",
            "found 0 operatorGroups, expected 1: create an OperatorGroup in namespace port",
        ),
        (
            group(&["a", "b"]),
            "TooManyOperatorGroups",
            "found 2 operatorGroups, expected 1: delete all but one of a, b in namespace port",
        ),
        (
            unreadable,
            "InvalidOperatorGroup",
            "OperatorGroup port/crew cannot be understood: annotation x is no duration; correct it",
        ),
    ] {
        let mut case = Case::new().solved(installs("ship.v1", ""));
        case.bundles = Bundles::Failed("no route".to_owned());
        case.surroundings.groups = groups;
        let status = case.status();
        assert_eq!(
            line(&status, &ResolutionFailed),
            format!("True ErrorPreventedResolution: {message}")
        );
        assert_eq!(
            line(&status, &Resolved),
            format!("False {reason}: {message}")
        );
        assert_eq!(short(&status, &BundleUnpackFailed), "-");
    }
}

#[test]
fn what_cannot_be_read_or_asked_is_an_error_that_prevented_resolution() {
    let unreadable = Answer::Unreadable("spec.version cannot be understood".to_owned());
    let status = Case::new().answered(unreadable).status();
    let message = "spec.version cannot be understood; correct it: \
                   `kubectl edit subscription ship -n port`";
    assert_eq!(
        line(&status, &ResolutionFailed),
        format!("True ErrorPreventedResolution: {message}")
    );
    assert_eq!(
        line(&status, &Resolved),
        format!("False InvalidSpec: {message}")
    );
    let status = Case::new()
        .answered(Answer::Error("disk full".to_owned()))
        .status();
    assert_eq!(
        line(&status, &Resolved),
        "False ErrorPreventedResolution: disk full; it is tried again"
    );
}

#[test]
fn a_solution_tells_what_is_installed_what_is_held_back_and_what_is_worth_knowing() {
    let mut solution = installs("ship.v2", "ship.v1");
    solution.notes.push("the wind is fair".to_owned());
    let status = Case::new().solved(solution).status();
    assert_eq!(
        line(&status, &Resolved),
        "True SolutionFound: ship.v2 from channel stable of catalog olm/hub is to replace ship.v1; \
         the wind is fair"
    );
    let mut solution = keeps("ship.v1");
    for (subscription, because) in [("ship", "it needs a mast"), ("boat", "it leaks")] {
        solution.held_back.push(HeldBack {
            subscription: subscription.to_owned(),
            bundle: format!("{subscription}.v2"),
            because: because.to_owned(),
        });
    }
    let case = Case::new().solved(solution);
    let status = case.csv("ship.v1", CsvPhase::Succeeded).status();
    assert_eq!(
        line(&status, &Resolved),
        "True SolutionFound: ship.v1 stays; held back: ship.v2: it needs a mast"
    );
    assert_eq!(
        line(&status, &Installed),
        "True ClusterServiceVersionPresent: ship.v1 is installed; \
         held back: ship.v2: it needs a mast"
    );
}

#[test]
fn a_failure_is_gone_when_there_is_a_solution() {
    let failed = Case::new().answered(unsolvable()).go_on();
    let status = failed.solved(installs("ship.v1", "")).status();
    assert_eq!(short(&status, &ResolutionFailed), "-");
    assert_eq!(short(&status, &Resolved), "True SolutionFound");
}

#[test]
fn as_long_as_nobody_asked_the_last_answer_stays() {
    let fresh = Case::new().status();
    assert_eq!(short(&fresh, &Resolved), "Unknown ResolutionPending");
    let failed = Case::new().answered(unsolvable()).go_on();
    let before = failed.status();
    assert_eq!(failed.answered(Answer::Pending).status(), before);
    let well = Case::new()
        .solved(keeps("ship.v1"))
        .csv("ship.v1", CsvPhase::Succeeded)
        .go_on();
    let before = well.status();
    assert_eq!(well.answered(Answer::Pending).status(), before);
}

#[test]
fn bundles_on_their_way_and_bundles_that_fail_are_told_apart() {
    let why = || "no route".to_owned();
    for (bundles, unpacking, failed, installed) in [
        (Bundles::Ready, "-", "-", "False InstallPlanAwaited"),
        (
            Bundles::Fetching(String::new()),
            "True UnpackingInProgress: ",
            "-",
            "False UnpackingInProgress",
        ),
        (
            Bundles::Failed(why()),
            "-",
            "True BundleUnpackFailed: Bundle unpacking failed: no route; it is tried again",
            "False BundleUnpackFailed",
        ),
        (
            Bundles::Unusable(why()),
            "-",
            "True ErrorPreventedUnpacking: no route",
            "False ErrorPreventedUnpacking",
        ),
        (
            Bundles::PlanNotWritten(why()),
            "-",
            "True EnsureInstallPlanFailed: error ensuring InstallPlan: no route; it is tried again",
            "False EnsureInstallPlanFailed",
        ),
    ] {
        let mut case = Case::new().solved(installs("ship.v1", ""));
        case.bundles = bundles;
        let status = case.status();
        assert_eq!(line(&status, &BundleUnpacking), unpacking);
        assert_eq!(line(&status, &BundleUnpackFailed), failed);
        assert_eq!(short(&status, &Installed), installed);

        let mut well = case.go_on().solved(keeps("ship.v1"));
        well.bundles = Bundles::Ready;
        let status = well.csv("ship.v1", CsvPhase::Succeeded).status();
        assert_eq!(short(&status, &BundleUnpacking), "-");
        assert_eq!(short(&status, &BundleUnpackFailed), "-");
    }
}
