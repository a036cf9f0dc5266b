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
fn what_two_operators_serve_goes_when_both_are_gone_and_the_crd_after_it() {
    for policy in ["Operator", "Everything"] {
        let mut shared = with_going_owner(policy);
        let removal = plan(&shared, &naming(everything()));
        assert_eq!(
            goes(&removal, Step::DeleteCustomResources),
            ["Gopher port/mine"]
        );
        assert_eq!(
            goes(&removal, Step::DeleteRemainingResources),
            ["Gopher quay/theirs"]
        );
        if let Ok(objects) = &mut shared.crds[0].objects {
            objects.remove(0);
        }
        shared.csvs.remove(0);
        let removal = plan(&shared, &naming(everything()));
        assert!(matches!(removal.next(), Move::Wait(stage) if stage.step == Step::AwaitOthers));
        let (reason, message) = removal.told().unwrap();
        assert_eq!(reason, "CustomResourceDefinitionsPresent");
        assert!(message.contains("quay/mole.v1"), "{message}");
        let mut withdrawn = shared.clone();
        shared.csvs.clear();
        let removal = plan(&shared, &naming(everything()));
        assert_eq!(
            goes(&removal, Step::DeleteCustomResources),
            ["Gopher quay/theirs"]
        );
        shared.crds[0].objects = Ok(Vec::new());
        let removal = plan(&shared, &naming(everything()));
        assert!(
            matches!(removal.next(), Move::Act(stage) if stage.step == Step::DeleteDefinitions)
        );
        // Or it stays after all, with what it serves.
        let kept = json!({"metadata": {"namespace": "quay"}});
        withdrawn.subscriptions[1] = subscription("mole", &kept);
        let removal = plan(&withdrawn, &naming(everything()));
        why_stays(&removal, "Gopher quay/theirs");
        why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    }
}

#[test]
fn what_both_named_goes_while_both_run() {
    let mut shared = with_going_owner("Everything");
    let mut more = removed("Everything");
    let names = json!({labels::DELETE_CRDS: "gophers.example.com"});
    let metadata = json!({"metadata": {"namespace": "quay", "annotations": names}});
    merge(&mut more, &metadata);
    shared.subscriptions[1] = subscription("mole", &more);
    let removal = plan(&shared, &naming(everything()));
    assert_eq!(goes(&removal, Step::DeleteCustomResources).len(), 2);
    assert_eq!(goes(&removal, Step::DeleteRemainingResources), [""; 0]);
}

#[test]
fn of_a_crd_that_stays_what_a_second_operator_serves_goes_after_that_one() {
    let mut shared = with_going_owner("Everything");
    let mut crane = (*csv("pier", "crane", &["Gopher"], &[])).clone();
    crane.metadata.uid = Some("csv-pier".to_owned());
    shared.csvs.push(Arc::new(crane));
    shared.csvs.remove(0);
    if let Ok(objects) = &mut shared.crds[0].objects {
        objects.remove(0);
    }
    let removal = plan(&shared, &naming(everything()));
    why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(matches!(removal.next(), Move::Wait(stage) if stage.step == Step::AwaitOthers));
    shared.csvs.remove(0);
    let removal = plan(&shared, &naming(everything()));
    assert_eq!(
        goes(&removal, Step::DeleteCustomResources),
        ["Gopher quay/theirs"]
    );
}

#[test]
fn an_operator_that_is_installed_anew_keeps_what_it_serves() {
    let mut shared = with_going_owner("Everything");
    let mole = Arc::make_mut(&mut shared.csvs[1]);
    mole.metadata.deletion_timestamp = Some(random::now());
    let stays = json!({"metadata": {"namespace": "quay"}});
    // Its Subscription is not deleted, or is without anybody to remove anything.
    let goes_alone = json!({
        "metadata": {"namespace": "quay", "deletionTimestamp": DELETED},
        "spec": {"policy": {"removal": "Everything"}},
    });
    for (more, is_deleted) in [(stays, true), (goes_alone, false)] {
        if !is_deleted {
            let mole = Arc::make_mut(&mut shared.csvs[1]);
            mole.metadata.deletion_timestamp = None;
        }
        shared.subscriptions[1] = subscription("mole", &more);
        let removal = plan(&shared, &naming(everything()));
        why_stays(&removal, "Gopher quay/theirs");
        let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
        assert!(why.contains("quay/mole.v1 owns it as well"), "{why}");
    }
}

#[test]
fn a_crd_that_an_open_plan_of_another_namespace_brings_stays() {
    let mut awaited = facts();
    let annotations = &mut awaited.crds[0].annotations;
    let key = labels::installed_alongside("quay", "crane.v1");
    annotations.insert(key, "quay/crane.v1".to_owned());
    let mut coming = (*install_plan("install-9", "Installing", &[])).clone();
    coming.metadata.namespace = Some("quay".to_owned());
    coming.spec.cluster_service_version_names = vec!["crane.v1".to_owned()];
    awaited.plans_elsewhere = vec![Arc::new(coming.clone())];
    assert_eq!(
        awaited.crds[0].namespaces(),
        BTreeSet::from(["port", "quay"])
    );
    let removal = plan(&awaited, &naming(everything()));
    let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(why.contains("InstallPlan quay/install-9"), "{why}");
    coming.status.as_mut().unwrap().phase = InstallPlanPhase::Complete;
    awaited.plans_elsewhere = vec![Arc::new(coming)];
    let removal = plan(&awaited, &naming(everything()));
    assert_eq!(goes(&removal, Step::DeleteDefinitions).len(), 1);
    // And it goes only as it was when that was decided.
    let stages = removal.stages.iter();
    let mut definitions = stages.filter(|stage| stage.step == Step::DeleteDefinitions);
    let goes = &definitions.next().unwrap().objects[0];
    assert_eq!(goes.resource_version.as_deref(), Some("7"));
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
                "deletionTimestamp": DELETED, "finalizers": [labels::REMOVAL_FINALIZER],
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
