//! What a ServiceAccount may do, by the roles and bindings of a cluster.
//!
//! The rules are those of the API server's RBAC authorizer. Asking the API server instead would be
//! a request for each verb and resource of each rule, and would need the right to ask for others.

use std::fmt;

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::ResourceExt as _;

use super::facts::belongs_to_another;
use crate::api::cluster_service_version::ClusterServiceVersion;

const ANY: &str = "*";

/// Roles and bindings.
#[derive(Clone, Debug, Default)]
pub struct Rbac<'a> {
    /// Roles, of any namespace.
    pub roles: Vec<&'a Role>,
    /// RoleBindings, of any namespace.
    pub role_bindings: Vec<&'a RoleBinding>,
    /// ClusterRoles.
    pub cluster_roles: Vec<&'a ClusterRole>,
    /// ClusterRoleBindings.
    pub cluster_role_bindings: Vec<&'a ClusterRoleBinding>,
}

/// Tells what one ServiceAccount may do, in one namespace or in all.
#[derive(Clone, Debug, Default)]
pub struct Authorizer<'a> {
    /// What it may do everywhere.
    everywhere: Vec<&'a PolicyRule>,
    /// What it may do in the namespace.
    here: Vec<&'a PolicyRule>,
}

impl<'a> Authorizer<'a> {
    /// For an account of namespace `home`, asked about `namespace`, or about the whole cluster.
    /// What belongs to other ClusterServiceVersions does not count: it goes when they go.
    pub fn for_account(
        rbac: &Rbac<'a>,
        csv: &ClusterServiceVersion,
        home: &str,
        account: &str,
        namespace: Option<&str>,
    ) -> Self {
        let is_bound = |subjects: Option<&[Subject]>, namespace: &str| {
            is_for(subjects, namespace, home, account)
        };
        let counts = |owners: &[_]| !belongs_to_another(csv, owners);
        let cluster_role = |name: &str| -> &'a [PolicyRule] {
            let mut roles = rbac.cluster_roles.iter();
            let role = roles.find(|role| role.metadata.name.as_deref() == Some(name));
            let role = role.filter(|role| counts(role.owner_references()));
            role.and_then(|role| role.rules.as_deref())
                .unwrap_or_default()
        };
        let role = |namespace: &str, name: &str| -> &'a [PolicyRule] {
            let mut roles = rbac.roles.iter();
            let role = roles.find(|role| {
                role.metadata.name.as_deref() == Some(name)
                    && role.metadata.namespace.as_deref() == Some(namespace)
            });
            let role = role.filter(|role| counts(role.owner_references()));
            role.and_then(|role| role.rules.as_deref())
                .unwrap_or_default()
        };
        let rules = |namespace: &str, reference: &RoleRef| match reference.kind.as_str() {
            "ClusterRole" => cluster_role(&reference.name),
            "Role" => role(namespace, &reference.name),
            _ => &[],
        };
        let everywhere = rbac
            .cluster_role_bindings
            .iter()
            .filter(|binding| counts(binding.owner_references()))
            .filter(|binding| is_bound(binding.subjects.as_deref(), ""))
            .flat_map(|binding| cluster_role(&binding.role_ref.name));
        let here = rbac
            .role_bindings
            .iter()
            .filter(|binding| namespace.is_some() && binding.namespace().as_deref() == namespace)
            .filter(|binding| counts(binding.owner_references()))
            .filter(|binding| is_bound(binding.subjects.as_deref(), namespace.unwrap_or_default()))
            .flat_map(|binding| rules(namespace.unwrap_or_default(), &binding.role_ref));
        Self {
            everywhere: everywhere.collect(),
            here: here.collect(),
        }
    }

    /// Whether all that a rule grants is granted already.
    pub fn satisfies(&self, rule: &PolicyRule) -> bool {
        self.lacking(rule, 1).is_empty()
    }

    /// What a rule grants and is not granted yet: objects, no more than so many, with all verbs that are lacking for each.
    pub fn lacking<'r>(
        &self,
        rule: &'r PolicyRule,
        most: usize,
    ) -> Vec<(Object<'r>, Vec<&'r str>)> {
        let urls = rule.non_resource_urls.as_deref().unwrap_or_default();
        let groups = or_empty(rule.api_groups.as_deref());
        let resources = or_empty(rule.resources.as_deref());
        let names = or_empty(rule.resource_names.as_deref());
        let paths = urls.iter().map(|url| Object::Path(url));
        // A rule with paths is about nothing else. There may be more of the others than fit anywhere.
        let groups = groups.iter().filter(|_| urls.is_empty());
        let objects = groups.flat_map(|group| {
            let resources = resources.iter();
            resources.flat_map(|resource| {
                let names = names.iter();
                names.map(|name| Object::Resource {
                    group,
                    resource,
                    name,
                })
            })
        });
        let lacking = paths.chain(objects).filter_map(|object| {
            let verbs = rule.verbs.iter().map(String::as_str);
            let verbs: Vec<&str> = verbs.filter(|verb| !self.has(verb, &object)).collect();
            (!verbs.is_empty()).then_some((object, verbs))
        });
        lacking.take(most).collect()
    }

    fn has(&self, verb: &str, object: &Object<'_>) -> bool {
        match object {
            // No namespace has paths.
            Object::Path(url) => self
                .everywhere
                .iter()
                .any(|rule| grants_url(rule, verb, url)),
            Object::Resource {
                group,
                resource,
                name,
            } => {
                let mut rules = self.everywhere.iter().chain(&self.here);
                rules.any(|rule| grants(rule, verb, group, resource, name))
            }
        }
    }
}

/// What somebody may do something with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object<'r> {
    /// A path of the API server.
    Path(&'r str),
    /// Objects of the API.
    Resource {
        /// Their group.
        group: &'r str,
        /// Their resource.
        resource: &'r str,
        /// The only one that is meant; empty for all.
        name: &'r str,
    },
}

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Path(url) => f.write_str(url),
            Self::Resource {
                group,
                resource,
                name,
            } => {
                f.write_str(resource)?;
                if !group.is_empty() {
                    write!(f, ".{group}")?;
                }
                if !name.is_empty() {
                    write!(f, " {name}")?;
                }
                Ok(())
            }
        }
    }
}

/// Whether a binding of a namespace, or of none, is for an account of namespace `home`, by its subjects.
pub fn is_for(subjects: Option<&[Subject]>, namespace: &str, home: &str, account: &str) -> bool {
    let mut subjects = subjects.unwrap_or_default().iter();
    subjects.any(|subject| applies(subject, namespace, home, account))
}

/// A list that has nothing in it asks for one thing that has no name.
fn or_empty(list: Option<&[String]>) -> Vec<&str> {
    match list {
        None | Some([]) => vec![""],
        Some(list) => list.iter().map(String::as_str).collect(),
    }
}

/// Whether a subject of a binding is this account, or a group that it belongs to. A ServiceAccount
/// without a namespace is one of the binding's.
fn applies(subject: &Subject, namespace: &str, home: &str, account: &str) -> bool {
    match subject.kind.as_str() {
        "ServiceAccount" => {
            let of = subject.namespace.as_deref().filter(|of| !of.is_empty());
            let of = of.unwrap_or(namespace);
            !of.is_empty() && of == home && subject.name == account
        }
        "User" => subject.name == format!("system:serviceaccount:{home}:{account}"),
        "Group" => {
            subject.name == "system:serviceaccounts"
                || subject.name == "system:authenticated"
                || subject.name.strip_prefix("system:serviceaccounts:") == Some(home)
        }
        _ => false,
    }
}

fn grants(rule: &PolicyRule, verb: &str, group: &str, resource: &str, name: &str) -> bool {
    let names = rule.resource_names.as_deref().unwrap_or_default();
    has(&rule.verbs, verb)
        && has(rule.api_groups.as_deref().unwrap_or_default(), group)
        && has_resource(rule.resources.as_deref().unwrap_or_default(), resource)
        && (names.is_empty() || names.iter().any(|granted| granted == name))
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == ANY || entry == wanted)
}

/// `*` grants every resource and subresource, `*/status` that subresource of every resource.
fn has_resource(list: &[String], wanted: &str) -> bool {
    let subresource = wanted.split_once('/').map(|(_, subresource)| subresource);
    list.iter().any(|entry| {
        let of_all = entry.strip_prefix("*/");
        entry == ANY || entry == wanted || (of_all.is_some() && of_all == subresource)
    })
}

/// A path that ends with `*` grants all that begin like it.
fn grants_url(rule: &PolicyRule, verb: &str, url: &str) -> bool {
    let mut urls = rule.non_resource_urls.as_deref().unwrap_or_default().iter();
    has(&rule.verbs, verb)
        && urls.any(|entry| {
            let prefix = entry.ends_with(ANY).then(|| entry.trim_end_matches(ANY));
            entry == url || prefix.is_some_and(|prefix| url.starts_with(prefix))
        })
}
