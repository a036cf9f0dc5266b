//! How dangerous a right is, and why.
//!
//! What holds in the namespaces of the operator only is one degree less dangerous than in the
//! whole cluster, and so is what is about objects of certain names.

use std::collections::BTreeSet;

use super::{Thing, allows, writes};
use crate::server::hub::views::{Danger, Reach};

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// What is written to be told or asked, and harms nobody.
const HARMLESS: [(&str, &str); 7] = [
    ("", "events"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
];

pub(super) fn judge(
    thing: &Thing,
    verbs: &BTreeSet<String>,
    own_groups: &BTreeSet<String>,
) -> (Danger, &'static str) {
    let (mut danger, because) = in_cluster(thing, verbs, own_groups);
    if thing.reach == Reach::Namespaces {
        danger = danger.less();
    }
    if !thing.names.is_empty() {
        danger = danger.less();
    }
    // A reason for what is no danger would only worry.
    (danger, if danger == Danger::Low { "" } else { because })
}

fn in_cluster(
    thing: &Thing,
    verbs: &BTreeSet<String>,
    own_groups: &BTreeSet<String>,
) -> (Danger, &'static str) {
    if !thing.urls.is_empty() {
        return (Danger::Low, "");
    }
    let (group, resource) = (thing.group.as_str(), thing.resource.as_str());
    let is_any_group = group == "*";
    let is = |wanted_group: &str, resources: &[&str]| {
        (is_any_group || group == wanted_group)
            && (resource == "*" || resources.contains(&resource))
    };
    if is_any_group && resource == "*" && writes(verbs) {
        return (
            Danger::Critical,
            "this is everything: whoever has it owns the cluster",
        );
    }
    let roles = [
        "roles",
        "clusterroles",
        "rolebindings",
        "clusterrolebindings",
    ];
    if is(RBAC, &roles) && allows(verbs, &["escalate", "bind"]) {
        return (Danger::Critical, "it can give itself any right");
    }
    if allows(verbs, &["impersonate"])
        && (is("", &["users", "groups", "serviceaccounts"])
            || is("authentication.k8s.io", &["userextras"]))
    {
        return (Danger::Critical, "it can act as anybody");
    }
    if is("", &["nodes/proxy"]) && (resource != "*" || writes(verbs)) {
        return (
            Danger::Critical,
            "it can run commands in every container of a node",
        );
    }
    if is(
        "certificates.k8s.io",
        &["certificatesigningrequests/approval", "signers"],
    ) && writes(verbs)
    {
        return (
            Danger::Critical,
            "it can give out certificates of the cluster",
        );
    }
    if is(RBAC, &roles) && writes(verbs) {
        return (Danger::High, "it can pass on the rights that it has");
    }
    if is("", &["secrets"]) {
        return (
            Danger::High,
            "Secrets hold passwords and the tokens of others",
        );
    }
    if is("", &["serviceaccounts/token"]) && writes(verbs) {
        return (
            Danger::Critical,
            if thing.names.is_empty() {
                "it can make tokens of any ServiceAccount"
            } else {
                "it can act as these ServiceAccounts"
            },
        );
    }
    if is(
        "",
        &[
            "pods/exec",
            "pods/attach",
            "pods/ephemeralcontainers",
            "pods/portforward",
        ],
    ) {
        return (Danger::High, "it gets into the containers of others");
    }
    if is(
        ADMISSION,
        &[
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
        ],
    ) && writes(verbs)
    {
        return (
            Danger::High,
            "it can look at and change whatever is written to the cluster",
        );
    }
    if is("apiregistration.k8s.io", &["apiservices"]) && writes(verbs) {
        return (Danger::High, "it can answer for APIs of the cluster");
    }
    if is_workload(&is) && writes(verbs) {
        return (
            Danger::High,
            "it can run anything, with the rights of any ServiceAccount there",
        );
    }
    if resource == "*" && !own_groups.contains(group) && writes(verbs) {
        return (Danger::High, "this is everything of an API");
    }
    if HARMLESS.contains(&(group, resource)) {
        return (Danger::Low, "");
    }
    if writes(verbs) && !own_groups.contains(group) {
        return (Danger::Medium, "others may use these as well");
    }
    (Danger::Low, "")
}

fn is_workload(is: &impl Fn(&str, &[&str]) -> bool) -> bool {
    is("", &["pods", "replicationcontrollers"])
        || is(
            "apps",
            &["deployments", "daemonsets", "statefulsets", "replicasets"],
        )
        || is("batch", &["jobs", "cronjobs"])
}
