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
    let deleted = json!({
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"policy": {"removal": "Everything"}},
    });
    going.subscriptions[0] = subscription("gopher", &deleted);
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
