//! Rights in words, and how dangerous they are.

use std::collections::BTreeSet;

use rstest::rstest;

use super::{Thing, danger, words};
use crate::server::hub::views::{Danger, Reach};

fn thing(reach: Reach, group: &str, resource: &str) -> Thing {
    Thing {
        reach,
        account: "gopher".to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        names: Vec::new(),
        urls: Vec::new(),
    }
}

fn verbs(text: &str) -> BTreeSet<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[rstest]
#[case(
    Reach::Cluster,
    "",
    "secrets",
    "get list watch update",
    "may read and change Secrets in all namespaces"
)]
#[case(
    Reach::Namespaces,
    "apps",
    "deployments",
    "create delete",
    "may create and delete Deployments in its namespaces"
)]
#[case(
    Reach::Cluster,
    "*",
    "*",
    "*",
    "may do anything with everything in the whole cluster"
)]
#[case(
    Reach::Cluster,
    "apps",
    "*",
    "get",
    "may read everything of apps in the whole cluster"
)]
#[case(Reach::Cluster, "", "nodes", "list", "may read Nodes")]
#[case(
    Reach::Cluster,
    "",
    "pods/log",
    "get",
    "may read the logs of Pods in all namespaces"
)]
#[case(
    Reach::Cluster,
    "",
    "pods/exec",
    "create",
    "may create commands in Pods in all namespaces"
)]
#[case(
    Reach::Cluster,
    "example.com",
    "holes",
    "get dig",
    "may read and dig holes of example.com in all namespaces"
)]
#[case(
    Reach::Cluster,
    "example.com",
    "holes/status",
    "update",
    "may change the status of holes of example.com in all namespaces"
)]
fn a_right_reads_like_a_sentence(
    #[case] reach: Reach,
    #[case] group: &str,
    #[case] resource: &str,
    #[case] may: &str,
    #[case] expected: &str,
) {
    assert_eq!(
        words::of(&thing(reach, group, resource), &verbs(may)),
        expected
    );
}

#[rstest]
#[case(Reach::Cluster, "*", "*", "*", Danger::Critical)]
#[case(Reach::Namespaces, "*", "*", "*", Danger::High)]
#[case(Reach::Cluster, "*", "*", "get", Danger::High)]
#[case(
    Reach::Cluster,
    "rbac.authorization.k8s.io",
    "clusterroles",
    "bind",
    Danger::Critical
)]
#[case(
    Reach::Cluster,
    "rbac.authorization.k8s.io",
    "clusterroles",
    "create",
    Danger::High
)]
#[case(
    Reach::Cluster,
    "rbac.authorization.k8s.io",
    "clusterroles",
    "get",
    Danger::Low
)]
#[case(Reach::Cluster, "", "serviceaccounts", "impersonate", Danger::Critical)]
#[case(Reach::Cluster, "", "secrets", "get", Danger::High)]
#[case(Reach::Namespaces, "", "secrets", "get", Danger::Medium)]
#[case(Reach::Cluster, "", "pods/exec", "create", Danger::High)]
#[case(Reach::Cluster, "apps", "deployments", "create", Danger::High)]
#[case(Reach::Namespaces, "apps", "deployments", "create", Danger::Medium)]
#[case(Reach::Cluster, "", "configmaps", "update", Danger::Medium)]
#[case(Reach::Cluster, "", "configmaps", "get", Danger::Low)]
#[case(Reach::Cluster, "", "events", "create patch", Danger::Low)]
#[case(Reach::Cluster, "own.example.com", "holes", "*", Danger::Low)]
#[case(Reach::Cluster, "other.example.com", "holes", "*", Danger::Medium)]
fn danger_follows_from_what_can_be_done_with_it(
    #[case] reach: Reach,
    #[case] group: &str,
    #[case] resource: &str,
    #[case] may: &str,
    #[case] expected: Danger,
) {
    let own = BTreeSet::from(["own.example.com".to_owned()]);
    let (danger, because) = danger::judge(&thing(reach, group, resource), &verbs(may), &own);
    assert_eq!(danger, expected);
    assert_eq!(because.is_empty(), danger == Danger::Low);
}

#[test]
fn objects_of_certain_names_are_less_dangerous_and_named() {
    let mut thing = thing(Reach::Cluster, "", "secrets");
    thing.names = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    let (danger, _) = danger::judge(&thing, &verbs("get"), &BTreeSet::new());
    assert_eq!(danger, Danger::Medium);
    assert_eq!(
        words::of(&thing, &verbs("get")),
        "may read Secrets named a, b, c, d and 2 more in all namespaces"
    );
}

#[test]
fn the_words_of_strangers_stay_in_one_short_line() {
    let thing = thing(Reach::Cluster, &"x".repeat(1000), "a\nb");
    let text = words::of(&thing, &verbs("get"));
    assert!(
        text.chars().count() <= 401 && !text.contains('\n'),
        "{text}"
    );
}
