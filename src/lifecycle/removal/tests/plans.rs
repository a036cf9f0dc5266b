//! Plans that would bring back what goes.

use super::*;

#[test]
fn a_plan_at_work_is_stopped_first_and_one_that_is_done_goes_at_last() {
    let mut facts = facts();
    facts.plans = vec![
        install_plan("install-1", "Complete", &["gopher"]),
        install_plan("install-2", "Installing", &["gopher"]),
        install_plan("install-3", "Complete", &["gopher", "mole"]),
        install_plan("install-4", "Complete", &["mole"]),
    ];
    let removal = plan(&facts, &operator());
    assert_eq!(
        goes(&removal, Step::StopPlans),
        ["InstallPlan port/install-2"]
    );
    assert!(goes(&removal, Step::Afterwards).contains(&"InstallPlan port/install-1".to_owned()));
    why_stays(&removal, "InstallPlan port/install-3");
    facts.plans = vec![install_plan("install-5", "Installing", &["gopher", "mole"])];
    let removal = plan(&facts, &operator());
    assert_eq!(removal.next(), Move::Blocked);
    let (reason, message) = removal.told().unwrap();
    assert_eq!(reason, "InstallPlanUnderway");
    for word in ["for Subscription mole as well", "delete it, and another"] {
        assert!(message.contains(word), "no {word} in {message}");
    }
}

#[test]
fn a_failed_plan_of_others_as_well_is_stopped_unless_it_is_history() {
    let mut facts = facts();
    let shared = |phase: &str| install_plan("install-1", phase, &["gopher", "mole"]);
    facts.subscriptions.push(subscription("mole", &json!({})));
    facts.plans = vec![shared("Failed")];
    let removal = plan(&facts, &operator());
    // It is tried again now and then, and brings back what goes.
    assert_eq!(
        goes(&removal, Step::StopPlans),
        ["InstallPlan port/install-1"]
    );
    assert!(matches!(removal.next(), Move::Act(stage) if stage.step == Step::StopPlans));
    let why = &removal.stages[0].objects[0].why;
    assert!(why.contains("Subscription mole gets another"), "{why}");
    // Not if mole has another already: then it is mole's history.
    let mut newer = (*install_plan("install-2", "Installing", &["mole"])).clone();
    newer.spec.generation = 2;
    facts.plans.push(Arc::new(newer));
    let removal = plan(&facts, &operator());
    assert!(goes(&removal, Step::StopPlans).is_empty());
    why_stays(&removal, "InstallPlan port/install-1");
}

#[test]
fn a_plan_at_work_whose_subscriptions_all_go_is_stopped() {
    let mut facts = facts();
    facts.plans = vec![install_plan("install-1", "Installing", &["gopher", "mole"])];
    for policy in ["Operator", "Keep"] {
        let mole = subscription("mole", &removed(policy));
        facts.subscriptions.truncate(1);
        facts.subscriptions.push(mole);
        let removal = plan(&facts, &operator());
        assert_eq!(
            goes(&removal, Step::StopPlans),
            ["InstallPlan port/install-1"]
        );
        assert_ne!(removal.next(), Move::Blocked);
    }
}
