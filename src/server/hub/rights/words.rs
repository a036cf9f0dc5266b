//! A right in plain words.

use std::collections::BTreeSet;

use super::Thing;
use crate::server::hub::views::Reach;
use crate::server::hub::words::{cut, listed};

/// How many names are told one by one.
const FEW: usize = 4;

/// For example `may read and change Secrets in all namespaces`.
pub(super) fn of(thing: &Thing, verbs: &BTreeSet<String>) -> String {
    let text = if thing.urls.is_empty() {
        format!("may {} {}", doing(verbs), what(thing))
    } else {
        let paths = some(&thing.urls);
        format!("may {} the paths {paths} of the API server", doing(verbs))
    };
    let place = place(thing);
    let text = if place.is_empty() {
        text
    } else {
        format!("{text} {place}")
    };
    // Names are the words of strangers, and may be as long as they like.
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    cut(&plain, 400)
}

/// What is done.
fn doing(verbs: &BTreeSet<String>) -> String {
    const USUAL: [(&str, &[&str]); 4] = [
        ("read", &["get", "list", "watch"]),
        ("create", &["create"]),
        ("change", &["update", "patch"]),
        ("delete", &["delete", "deletecollection"]),
    ];
    if verbs.contains("*") {
        return "do anything with".to_owned();
    }
    let mut words: Vec<&str> = Vec::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (word, meant) in USUAL {
        let of_it: Vec<&str> = meant
            .iter()
            .copied()
            .filter(|verb| verbs.contains(*verb))
            .collect();
        if !of_it.is_empty() {
            words.push(word);
            told.extend(of_it);
        }
    }
    let others = verbs.iter().map(String::as_str);
    words.extend(others.filter(|verb| !told.contains(verb)).take(8));
    if words.is_empty() {
        return "do nothing with".to_owned();
    }
    listed(&words)
}

/// What it is done with.
fn what(thing: &Thing) -> String {
    let (resource, part) = match thing.resource.split_once('/') {
        Some((resource, part)) => (resource, Some(part)),
        None => (thing.resource.as_str(), None),
    };
    let name = kind(&thing.group, resource);
    let name = if thing.names.is_empty() {
        name
    } else {
        format!("{name} named {}", some(&thing.names))
    };
    match part {
        None => name,
        Some("*") => format!("all parts of {name}"),
        Some("log") => format!("the logs of {name}"),
        Some("exec" | "attach") => format!("commands in {name}"),
        Some(part) => format!("the {part} of {name}"),
    }
}

fn some(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(FEW).cloned().collect();
    let more = names.len().saturating_sub(FEW);
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    listed(&shown)
}

/// The name that people know a resource by.
fn kind(group: &str, resource: &str) -> String {
    if resource == "*" {
        return match group {
            "*" => "everything".to_owned(),
            "" => "everything of the core API".to_owned(),
            group => format!("everything of {group}"),
        };
    }
    let known = KINDS
        .iter()
        .find(|(own, plural, _)| *own == group && *plural == resource);
    match (known, group) {
        (Some((_, _, name)), _) => (*name).to_owned(),
        (None, "") => resource.to_owned(),
        (None, "*") => format!("{resource} of every API"),
        (None, group) => format!("{resource} of {group}"),
    }
}

fn place(thing: &Thing) -> &'static str {
    let resource = thing.resource.split('/').next().unwrap_or_default();
    let is_for_all = CLUSTER_WIDE.contains(&resource);
    match thing.reach {
        _ if !thing.urls.is_empty() => "",
        Reach::Cluster if thing.resource == "*" => "in the whole cluster",
        Reach::Cluster if is_for_all => "",
        Reach::Cluster => "in all namespaces",
        Reach::Namespaces => "in its namespaces",
    }
}

/// Resources of Kubernetes that are in no namespace.
const CLUSTER_WIDE: [&str; 24] = [
    "apiservices",
    "certificatesigningrequests",
    "clusterrolebindings",
    "clusterroles",
    "clusterversions",
    "componentstatuses",
    "csidrivers",
    "csinodes",
    "customresourcedefinitions",
    "flowschemas",
    "ingressclasses",
    "mutatingwebhookconfigurations",
    "namespaces",
    "nodes",
    "persistentvolumes",
    "podsecuritypolicies",
    "priorityclasses",
    "runtimeclasses",
    "securitycontextconstraints",
    "storageclasses",
    "subjectaccessreviews",
    "tokenreviews",
    "validatingwebhookconfigurations",
    "volumeattachments",
];

const KINDS: [(&str, &str, &str); 37] = [
    ("", "configmaps", "ConfigMaps"),
    ("", "endpoints", "Endpoints"),
    ("", "events", "Events"),
    ("", "limitranges", "LimitRanges"),
    ("", "namespaces", "Namespaces"),
    ("", "nodes", "Nodes"),
    ("", "persistentvolumeclaims", "PersistentVolumeClaims"),
    ("", "persistentvolumes", "PersistentVolumes"),
    ("", "pods", "Pods"),
    ("", "replicationcontrollers", "ReplicationControllers"),
    ("", "resourcequotas", "ResourceQuotas"),
    ("", "secrets", "Secrets"),
    ("", "serviceaccounts", "ServiceAccounts"),
    ("", "services", "Services"),
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfigurations",
    ),
    (
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinitions",
    ),
    ("apiregistration.k8s.io", "apiservices", "APIServices"),
    ("apps", "controllerrevisions", "ControllerRevisions"),
    ("apps", "daemonsets", "DaemonSets"),
    ("apps", "deployments", "Deployments"),
    ("apps", "replicasets", "ReplicaSets"),
    ("apps", "statefulsets", "StatefulSets"),
    (
        "autoscaling",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscalers",
    ),
    ("batch", "cronjobs", "CronJobs"),
    ("batch", "jobs", "Jobs"),
    ("coordination.k8s.io", "leases", "Leases"),
    ("discovery.k8s.io", "endpointslices", "EndpointSlices"),
    ("networking.k8s.io", "ingresses", "Ingresses"),
    ("networking.k8s.io", "networkpolicies", "NetworkPolicies"),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudgets"),
    (
        "rbac.authorization.k8s.io",
        "clusterrolebindings",
        "ClusterRoleBindings",
    ),
    ("rbac.authorization.k8s.io", "clusterroles", "ClusterRoles"),
    ("rbac.authorization.k8s.io", "rolebindings", "RoleBindings"),
    ("rbac.authorization.k8s.io", "roles", "Roles"),
    ("scheduling.k8s.io", "priorityclasses", "PriorityClasses"),
    ("storage.k8s.io", "storageclasses", "StorageClasses"),
];
