//! CRDs that are named, and whose they are.

use super::*;

/// A wish that names CRDs.
fn wishing(policy: RemovalPolicy, crds: &[&str]) -> Wish {
    Wish {
        crds: crds.iter().map(|name| (*name).to_owned()).collect(),
        ..wish(policy)
    }
}

#[test]
fn the_name_of_a_crd_of_others_says_nothing() {
    let mut named = facts();
    named
        .crds
        .push(crd("Cert", "issuer", &[(NAMESPACE, "web")]));
    // It makes no difference whether there is an operator, or ever was one.
    for csvs in [named.csvs.clone(), Vec::new()] {
        named.csvs = csvs;
        for policy in [RemovalPolicy::Operator, RemovalPolicy::Everything] {
            let removal = plan(&named, &wishing(policy, &["certs.example.com"]));
            let why = why_stays(&removal, "CustomResourceDefinition certs.example.com");
            assert!(why.contains("not of this package"), "{why}");
            assert!(
                why.contains("kubectl delete crd certs.example.com"),
                "{why}"
            );
            let refused: Vec<&str> = removal.refused.iter().map(|it| &*it.object.name).collect();
            assert_eq!(refused, ["certs.example.com"]);
            for step in [Step::DeleteCustomResources, Step::DeleteRemainingResources] {
                assert_eq!(goes(&removal, step), [""; 0]);
            }
            assert_eq!(goes(&removal, Step::DeleteDefinitions), [""; 0]);
            let unmarked = goes(&removal, Step::Unmark);
            assert!(
                !unmarked.iter().any(|it| it.contains("certs")),
                "{unmarked:?}"
            );
        }
    }
}

#[test]
fn a_crd_that_the_operator_owns_is_of_the_package_without_its_mark() {
    let mut owned = facts();
    owned.crds[0].labels.clear();
    let removal = plan(&owned, &naming(everything()));
    assert_eq!(goes(&removal, Step::DeleteCustomResources).len(), 1);
    assert_eq!(removal.refused, []);
    owned.csvs.clear();
    let removal = plan(&owned, &naming(everything()));
    assert_eq!(removal.refused.len(), 1);
}

#[test]
fn a_crd_that_was_there_before_stays_with_its_objects_named_or_not() {
    let mut found = facts();
    let annotations = &mut found.crds[0].annotations;
    annotations.insert(labels::FOUND.to_owned(), "true".to_owned());
    for wish in [everything(), naming(everything()), naming(operator())] {
        let removal = plan(&found, &wish);
        let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
        assert!(why.contains("there before"), "{why}");
        assert!(
            why.contains("kubectl delete crd gophers.example.com"),
            "{why}"
        );
        why_stays(&removal, "Gopher port/digger");
        assert_eq!(goes(&removal, Step::DeleteCustomResources), [""; 0]);
        assert_eq!(goes(&removal, Step::DeleteDefinitions), [""; 0]);
        assert_eq!(removal.unnamed, [""; 0]);
        assert_eq!(removal.refused.len(), wish.crds.len());
        // Nor when its mark was taken off.
        let mut unmarked = found.clone();
        unmarked.crds[0].labels.clear();
        unmarked.csvs.clear();
        let why = why_stays(
            &plan(&unmarked, &naming(wish)),
            "CustomResourceDefinition gophers.example.com",
        );
        assert!(why.contains("there before"), "{why}");
    }
}

#[test]
fn what_chandler_lives_by_never_goes() {
    let mut own = facts();
    let name = "subscriptions.operators.coreos.com";
    own.crds[0].name = name.to_owned();
    let removal = plan(&own, &wishing(RemovalPolicy::Everything, &[name]));
    let why = why_stays(&removal, &format!("CustomResourceDefinition {name}"));
    assert!(why.contains("Chandler's own"), "{why}");
    assert_eq!(goes(&removal, Step::DeleteDefinitions), [""; 0]);
    assert_eq!(goes(&removal, Step::DeleteCustomResources), [""; 0]);
}

#[test]
fn a_wish_that_is_taken_back_brings_no_name_that_was_not_there() {
    let before = json!({"deleteCrds": "certs.example.com,gophers.example.com"}).to_string();
    let lying = subscription(
        "gopher",
        &json!({"metadata": {"annotations": {
            labels::BEFORE_REMOVAL: before, labels::DELETE_CRDS: "gophers.example.com",
        }}}),
    );
    let patch = put_back(&lying).unwrap();
    let names = &patch["metadata"]["annotations"][labels::DELETE_CRDS];
    assert_eq!(names, "gophers.example.com");
    let more = json!({"metadata": {"annotations": {labels::BEFORE_REMOVAL: before}}});
    let patch = put_back(&subscription("gopher", &more)).unwrap();
    let names = &patch["metadata"]["annotations"][labels::DELETE_CRDS];
    assert!(names.is_null(), "{names}");
}

#[test]
fn no_more_objects_are_asked_for_than_have_to_be_known() {
    let mut facts = facts();
    let listing =
        |facts: &Facts, wish: &Wish, crd: &Crd| Listing::of(facts, wish, &crd.name, &crd.labels);
    let (own, foreign) = (facts.crds[0].clone(), crd("Cert", "issuer", &[]));
    let foreign_too = wishing(RemovalPolicy::Everything, &["certs.example.com"]);
    assert_eq!(listing(&facts, &foreign_too, &foreign), Listing::Nothing);
    // While the operator is there it is to work off what goes.
    for wish in [operator(), everything(), naming(everything())] {
        assert_eq!(listing(&facts, &wish, &own), Listing::All);
    }
    facts.csvs.clear();
    assert_eq!(listing(&facts, &operator(), &own), Listing::One);
    assert_eq!(listing(&facts, &everything(), &own), Listing::One);
    assert_eq!(listing(&facts, &naming(operator()), &own), Listing::All);
    facts.crds[0].more = 99_999;
    let why = why_stays(
        &plan(&facts, &everything()),
        "CustomResourceDefinition gophers.example.com",
    );
    assert!(why.contains("100000 objects, such as port/digger"), "{why}");
}
