//! APIs that several operators own or need.

use super::*;

#[test]
fn a_crd_that_another_operator_owns_stays_with_the_objects_that_one_serves() {
    let mut shared = facts();
    shared.csvs.push(csv("quay", "mole", &["Gopher"], &[]));
    shared.crds = vec![crd(
        "Gopher",
        "gopher",
        &[(NAMESPACE, "mine"), ("quay", "theirs")],
    )];
    let removal = plan(&shared, &everything());
    assert_eq!(goes(&removal, Step::DeleteCustomResources), [""; 0]);
    let removal = plan(&shared, &naming(everything()));
    let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(why.contains("quay/mole.v1 owns it as well"), "{why}");
    why_stays(&removal, "Gopher quay/theirs");
    assert_eq!(
        goes(&removal, Step::DeleteCustomResources),
        ["Gopher port/mine"]
    );
    assert_eq!(goes(&removal, Step::DeleteDefinitions), [""; 0]);
}

#[test]
fn what_two_operators_serve_goes_when_both_do_and_the_crd_after_both() {
    for policy in ["Operator", "Everything"] {
        let mut shared = with_going_owner(policy);
        let removal = plan(&shared, &naming(everything()));
        assert_eq!(
            goes(&removal, Step::DeleteCustomResources),
            ["Gopher port/mine", "Gopher quay/theirs"]
        );
        shared.crds[0].objects = Ok(Vec::new());
        shared.csvs.remove(0);
        let removal = plan(&shared, &naming(everything()));
        assert!(matches!(removal.next(), Move::Wait(stage) if stage.step == Step::AwaitOthers));
        let (reason, message) = removal.told().unwrap();
        assert_eq!(reason, "CustomResourceDefinitionsPresent");
        assert!(message.contains("quay/mole.v1"), "{message}");
        shared.csvs.clear();
        let removal = plan(&shared, &naming(everything()));
        assert!(
            matches!(removal.next(), Move::Act(stage) if stage.step == Step::DeleteDefinitions)
        );
    }
}

#[test]
fn an_operator_that_is_removed_and_still_needed_stays_with_what_it_serves() {
    let mut shared = with_going_owner("Everything");
    shared.csvs[1] = csv("quay", "mole", &["Gopher", "Hill"], &[]);
    shared.csvs.push(csv("quay", "crane", &[], &["Hill"]));
    let removal = plan(&shared, &naming(everything()));
    assert_eq!(
        goes(&removal, Step::DeleteCustomResources),
        ["Gopher port/mine"]
    );
    let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(why.contains("quay/mole.v1 owns it as well"), "{why}");
}

#[test]
fn objects_stay_while_anybody_needs_their_crd_whoever_else_owns_it() {
    let mut shared = facts();
    shared.csvs.push(csv("quay", "mole", &["Gopher"], &[]));
    shared.csvs.push(csv("quay", "crane", &[], &["Gopher"]));
    let removal = plan(&shared, &naming(everything()));
    assert_eq!(goes(&removal, Step::DeleteCustomResources), [""; 0]);
}

#[test]
fn of_several_wishes_for_a_dependency_the_most_careful_counts() {
    let mut facts = with_dependency();
    facts.csvs.push(csv(NAMESPACE, "mole", &[], &["Burrow"]));
    let burrow = facts.subscriptions[1].clone();
    let deleted = |policy: &str, prunes: bool| {
        json!({
            "metadata": {
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {labels::PRUNE_DEPENDENCIES: prunes.to_string()},
            },
            "spec": {"policy": {"removal": policy}},
        })
    };
    for (policy, prunes, expected) in [
        ("Everything", false, RemovalPolicy::Everything),
        ("Operator", true, RemovalPolicy::Operator),
        // What it does not ask for is not its matter.
        ("Operator", false, RemovalPolicy::Everything),
    ] {
        facts.subscriptions.truncate(2);
        let mole = subscription("mole", &deleted(policy, prunes));
        facts.subscriptions.push(mole);
        let removal = plan(&facts, &everything());
        assert_eq!(
            goes(&removal, Step::HandOverDependencies),
            ["Subscription port/burrow"]
        );
        let handed = wish_for(&burrow, &facts, &everything());
        assert_eq!((handed.policy, handed.dependencies), (expected, true));
    }
}

#[test]
fn a_crd_that_is_named_goes_with_objects_that_the_operator_does_not_serve() {
    let mut abroad = facts();
    abroad.crds = vec![crd(
        "Gopher",
        "gopher",
        &[(NAMESPACE, "mine"), ("quay", "abroad")],
    )];
    let removal = plan(&abroad, &everything());
    assert_eq!(goes(&removal, Step::DeleteCustomResources), [""; 0]);
    let why = why_stays(&removal, "Gopher quay/abroad");
    assert!(why.contains("does not serve its namespace"), "{why}");
    for policy in [RemovalPolicy::Operator, RemovalPolicy::Everything] {
        let removal = plan(&abroad, &naming(wish(policy)));
        assert_eq!(goes(&removal, Step::DeleteCustomResources).len(), 2);
        assert_eq!(goes(&removal, Step::DeleteDefinitions).len(), 1);
    }
}
