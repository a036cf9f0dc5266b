//! What was installed because an operator needs it.

use super::*;

#[test]
fn a_dependency_that_nobody_else_needs_is_handed_over_before_its_user_goes() {
    let removal = plan(&with_dependency(), &everything());
    assert_eq!(steps(&removal)[0], Step::HandOverDependencies);
    assert_eq!(
        goes(&removal, Step::HandOverDependencies),
        ["Subscription port/burrow"]
    );
    let removal = plan(&with_dependency(), &operator());
    let why = why_stays(&removal, "Subscription port/burrow");
    assert!(why.contains("nobody else needs it"), "{why}");
    let pruning = Wish {
        dependencies: true,
        ..operator()
    };
    let removal = plan(&with_dependency(), &pruning);
    assert_eq!(steps(&removal)[0], Step::HandOverDependencies);
}

#[test]
fn a_dependency_waits_until_its_user_is_gone() {
    let mut facts = with_dependency();
    facts.subscription = facts.subscriptions[1].clone();
    facts.crds = vec![crd("Burrow", "burrow", &[])];
    let removal = plan(&facts, &everything());
    assert_eq!(removal.next(), Move::Blocked);
    let (_, message) = removal.told().unwrap();
    assert!(
        message.contains("remove those who need it first"),
        "{message}"
    );
    let mut going = facts.clone();
    going.subscriptions[0] = subscription("gopher", &removed("Everything"));
    let (_, message) = plan(&going, &everything()).told().unwrap();
    assert!(message.contains("is being removed before it"), "{message}");
    facts.leaving = BTreeSet::from(["port/gopher.v1".to_owned()]);
    let removal = plan(&facts, &everything());
    assert_eq!(goes(&removal, Step::DeleteDefinitions).len(), 1);
    facts.leaving.clear();
    facts.csvs.remove(0);
    assert!(matches!(plan(&facts, &everything()).next(), Move::Act(_)));
}

#[test]
fn a_dependency_that_somebody_else_needs_stays_and_so_does_what_it_needs_itself() {
    let mut facts = with_dependency();
    facts.csvs[1] = csv(NAMESPACE, "burrow", &["Burrow"], &["Soil"]);
    facts.csvs.push(csv(NAMESPACE, "soil", &["Soil"], &[]));
    facts.subscriptions.push(generated("soil"));
    let removal = plan(&facts, &everything());
    assert_eq!(
        goes(&removal, Step::HandOverDependencies),
        ["Subscription port/burrow", "Subscription port/soil"]
    );
    facts.csvs.push(csv(NAMESPACE, "mole", &[], &["Burrow"]));
    let removal = plan(&facts, &everything());
    assert_eq!(goes(&removal, Step::HandOverDependencies), [""; 0]);
    why_stays(&removal, "Subscription port/burrow");
    why_stays(&removal, "Subscription port/soil");
}

#[test]
fn dependencies_that_need_each_other_keep_nobody() {
    let mut facts = with_dependency();
    facts.csvs[1] = csv(NAMESPACE, "burrow", &["Burrow"], &["Soil"]);
    facts
        .csvs
        .push(csv(NAMESPACE, "soil", &["Soil"], &["Burrow"]));
    facts.subscriptions.push(generated("soil"));
    let removal = plan(&facts, &everything());
    assert_eq!(goes(&removal, Step::HandOverDependencies).len(), 2);
}

#[test]
fn what_somebody_subscribed_to_is_no_dependency() {
    let mut facts = with_dependency();
    facts.subscriptions[1] = subscription("burrow", &json!({}));
    let removal = plan(&facts, &everything());
    assert_eq!(goes(&removal, Step::HandOverDependencies), [""; 0]);
}

#[test]
fn a_second_subscription_to_the_same_package_keeps_all_of_it() {
    let mut facts = facts();
    let more = json!({"metadata": {"uid": "sub-2"}, "spec": {"name": "gopher"}});
    facts
        .subscriptions
        .push(subscription("gopher-again", &more));
    let removal = plan(&facts, &everything());
    assert_eq!(steps(&removal), [Step::Afterwards]);
    assert_eq!(removal.next(), Move::LetGo);
    why_stays(&removal, "ClusterServiceVersion port/gopher.v1");
    why_stays(&removal, "CustomResourceDefinition gophers.example.com");
}

/// A wish for everything that names these kinds.
fn naming_all(kinds: &[&str]) -> Wish {
    Wish {
        crds: kinds.iter().map(|kind| crd_name(kind)).collect(),
        ..everything()
    }
}

#[test]
fn a_generated_subscription_beside_somebodys_own_is_not_handed_over() {
    let mut facts = with_dependency();
    let more = json!({"metadata": {"uid": "sub-mine"}, "spec": {"name": "burrow"}});
    facts.subscriptions.push(subscription("mine", &more));
    let removal = plan(&facts, &everything());
    assert_eq!(goes(&removal, Step::HandOverDependencies), [""; 0]);
}

#[test]
fn crds_that_are_named_are_handed_over_to_the_dependency_whose_they_are() {
    let mut facts = with_dependency();
    facts.csvs[1] = csv(NAMESPACE, "burrow", &["Burrow"], &["Soil"]);
    facts.csvs.push(csv(NAMESPACE, "soil", &["Soil"], &[]));
    facts.subscriptions.push(generated("soil"));
    let foreign = [
        crd("Burrow", "burrow", &[(NAMESPACE, "home")]),
        crd("Soil", "soil", &[(NAMESPACE, "loam")]),
        crd("Hill", "mole", &[(NAMESPACE, "low")]),
    ];
    facts.crds.extend(foreign);
    let wish = naming_all(&["Gopher", "Burrow", "Soil", "Hill"]);
    let removal = plan(&facts, &wish);
    // What is the dependencies' is neither deleted while they run, nor does it stay.
    assert_eq!(
        goes(&removal, Step::DeleteCustomResources),
        ["Gopher port/digger"]
    );
    assert_eq!(
        goes(&removal, Step::DeleteDefinitions),
        ["CustomResourceDefinition gophers.example.com"]
    );
    let refused: Vec<&str> = removal.refused.iter().map(|it| &*it.object.name).collect();
    assert_eq!(refused, ["hills.example.com"]);
    let (burrow, soil) = (&facts.subscriptions[1], &facts.subscriptions[2]);
    // Whoever hands over first knows what the next one is to take.
    assert_eq!(
        wish_for(burrow, &facts, &wish).crds,
        naming_all(&["Burrow", "Soil"]).crds
    );
    assert_eq!(
        wish_for(soil, &facts, &wish).crds,
        naming_all(&["Soil"]).crds
    );
    // What a dependency names itself counts as well.
    let own = json!({"metadata": {"annotations": {
        labels::GENERATED_BY: "install-1", labels::DELETE_CRDS: "dens.example.com",
    }}});
    facts.subscriptions[2] = subscription("soil", &own);
    assert_eq!(
        wish_for(&facts.subscriptions[2], &facts, &wish).crds,
        naming_all(&["Den", "Soil"]).crds
    );
}

#[test]
fn what_was_handed_over_is_the_dependencys_until_the_end() {
    let mut facts = with_dependency();
    facts.crds.push(crd("Burrow", "burrow", &[]));
    let mut handed = removed("Everything");
    let names = json!({labels::DELETE_CRDS: "burrows.example.com"});
    merge(&mut handed, &json!({"metadata": {"annotations": names}}));
    facts.subscriptions[1] = subscription("burrow", &handed);
    let wish = naming_all(&["Gopher", "Burrow"]);
    for _ in 0..2 {
        let removal = plan(&facts, &wish);
        assert_eq!((&removal.refused, &removal.stays), (&vec![], &vec![]));
        assert_eq!(goes(&removal, Step::DeleteDefinitions).len(), 1);
        // Also when its operator is gone, and nothing but its CRD is left.
        facts.csvs.pop();
    }
}

#[test]
fn a_dependency_that_stays_keeps_its_crd_whoever_names_it() {
    let mut facts = with_dependency();
    facts
        .crds
        .push(crd("Burrow", "burrow", &[(NAMESPACE, "home")]));
    let wish = Wish {
        policy: RemovalPolicy::Operator,
        ..naming_all(&["Burrow"])
    };
    let removal = plan(&facts, &wish);
    let why = why_stays(&removal, "CustomResourceDefinition burrows.example.com");
    assert!(why.contains("not of this package"), "{why}");
    assert!(why.contains("port/burrow.v1 owns it"), "{why}");
    assert_eq!(goes(&removal, Step::DeleteCustomResources), [""; 0]);
}
