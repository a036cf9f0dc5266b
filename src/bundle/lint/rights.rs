//! Rights that an operator did not have before.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::Findings;
use crate::bundle::{Bundle, text_at};

/// Where a right holds. What holds in the whole cluster also holds in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Namespace,
    Cluster,
}

struct Granted {
    reach: Reach,
    rule: PolicyRule,
}

pub(super) fn check(old: &Bundle, new: &Bundle, findings: &mut Findings) {
    let before = granted(old);
    let mut grown: BTreeMap<(Reach, String), BTreeSet<&str>> = BTreeMap::new();
    let now = granted(new);
    for Granted { reach, rule } in &now {
        let covering: Vec<&PolicyRule> = before
            .iter()
            .filter(|old| old.reach >= *reach)
            .map(|old| &old.rule)
            .collect();
        for verb in &rule.verbs {
            for what in wanted(rule) {
                if !covering.iter().any(|old| covers(old, verb, &what)) {
                    let verbs = grown.entry((*reach, what.in_words())).or_default();
                    verbs.insert(verb);
                }
            }
        }
    }
    for ((reach, what), verbs) in grown {
        let verbs: Vec<&str> = verbs
            .into_iter()
            .map(|verb| {
                if verb == "*" {
                    "do anything with"
                } else {
                    verb
                }
            })
            .collect();
        let (place, path) = match reach {
            Reach::Namespace => ("in its namespaces", "spec.install.spec.permissions"),
            Reach::Cluster => (
                "in the whole cluster",
                "spec.install.spec.clusterPermissions",
            ),
        };
        let message = format!("the operator may now {} {what} {place}", verbs.join(", "));
        let advice =
            "tell users why, or remove the right; where upgrades need approval, they will be asked";
        findings.warning("rights-grow", (&new.csv.file, path), message, advice);
    }
}

/// All rights of a bundle: those of its operator, and those of roles that it binds.
fn granted(bundle: &Bundle) -> Vec<Granted> {
    let spec = &bundle.csv.spec.install.spec;
    let mut all = Vec::new();
    let mut add = |reach: Reach, rules: &[PolicyRule]| {
        all.extend(rules.iter().map(|rule| Granted {
            reach,
            rule: rule.clone(),
        }));
    };
    for permission in &spec.permissions {
        add(Reach::Namespace, &permission.rules);
    }
    for permission in &spec.cluster_permissions {
        add(Reach::Cluster, &permission.rules);
    }
    for role in bundle
        .objects
        .iter()
        .filter(|object| ["Role", "ClusterRole"].contains(&object.kind()))
    {
        let rules = role.value.get("rules").cloned().unwrap_or_default();
        let rules: Vec<PolicyRule> = serde_json::from_value(rules).unwrap_or_default();
        let binds = |binding: &str| {
            bundle.objects.iter().any(|object| {
                object.kind() == binding
                    && text_at(&object.value, "/roleRef/name") == role.name()
                    && text_at(&object.value, "/roleRef/kind") == role.kind()
            })
        };
        if binds("ClusterRoleBinding") {
            add(Reach::Cluster, &rules);
        } else if binds("RoleBinding") {
            add(Reach::Namespace, &rules);
        }
    }
    all
}

/// One thing that a rule is about.
enum What<'a> {
    Resource {
        group: &'a str,
        resource: &'a str,
        name: Option<&'a str>,
    },
    Url(&'a str),
}

impl What<'_> {
    fn in_words(&self) -> String {
        match self {
            Self::Url(url) => format!("the path {url} of the API server"),
            Self::Resource {
                group,
                resource,
                name,
            } => {
                let resource = if *resource == "*" {
                    "all resources"
                } else {
                    resource
                };
                let group = match *group {
                    "" => String::new(),
                    "*" => " of all groups".to_owned(),
                    group => format!(" of {group}"),
                };
                let name = name.map_or_else(String::new, |name| format!(" named `{name}`"));
                format!("{resource}{group}{name}")
            }
        }
    }
}

fn wanted(rule: &PolicyRule) -> Vec<What<'_>> {
    let mut all = Vec::new();
    let names: Vec<Option<&str>> = match rule.resource_names.as_deref() {
        None | Some([]) => vec![None],
        Some(names) => names.iter().map(|name| Some(name.as_str())).collect(),
    };
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            for name in &names {
                all.push(What::Resource {
                    group,
                    resource,
                    name: *name,
                });
            }
        }
    }
    all.extend(
        rule.non_resource_urls
            .iter()
            .flatten()
            .map(|url| What::Url(url)),
    );
    all
}

fn covers(old: &PolicyRule, verb: &str, what: &What<'_>) -> bool {
    let any = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
    let list =
        |list: &Option<Vec<String>>, wanted: &str| any(list.as_deref().unwrap_or_default(), wanted);
    if !any(&old.verbs, verb) {
        return false;
    }
    match what {
        What::Url(url) => old.non_resource_urls.iter().flatten().any(|covered| {
            let prefix = covered.strip_suffix('*');
            covered == url || prefix.is_some_and(|prefix| url.starts_with(prefix))
        }),
        What::Resource {
            group,
            resource,
            name,
        } => {
            let sub = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
            let names = old.resource_names.as_deref().unwrap_or_default();
            list(&old.api_groups, group)
                && (list(&old.resources, resource)
                    || sub.is_some_and(|sub| list(&old.resources, &sub)))
                && (names.is_empty() || name.is_some_and(|name| names.iter().any(|n| n == name)))
        }
    }
}
