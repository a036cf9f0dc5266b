//! What decides what comes of an install: as long as it is the same, trying again is in vain.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::SubscriptionConfig;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::lifecycle::requirements::authorizer;

/// What decides what comes of an install.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Circumstances {
    /// What the ClusterServiceVersion asks for: its generation, and the annotations that Pods get.
    asked: (Option<i64>, BTreeMap<String, String>),
    /// What its Subscription adjusts.
    config: String,
    /// What the proxy of the cluster is.
    proxy: Vec<(String, String)>,
    /// What the OperatorGroups of the namespace say.
    groups: BTreeSet<String>,
    /// The CRDs of the operator.
    crds: BTreeSet<Version>,
    /// What the installer may do, if it was that it may not.
    rights: BTreeSet<Right>,
}

/// What an object is called, and how it is told from what it was before.
type Version = (String, String, Option<String>);

/// A binding, by what it is called, and the rules that it gives, as they are written.
type Right = (String, String, String);

impl Circumstances {
    /// How things are now. Rights count only for an install that was forbidden: roles of the cluster change all
    /// the time, and none of that is worth another try of what was refused for another reason.
    pub(super) async fn read(
        context: &Context,
        csv: &ClusterServiceVersion,
        config: Option<&SubscriptionConfig>,
        is_forbidden: bool,
    ) -> Result<Self, Error> {
        let namespace = csv.namespace().unwrap_or_default();
        let groups = context.caches.operator_groups.in_namespace(&namespace);
        let installer = match groups.as_slice() {
            [group] if is_forbidden => group.spec.service_account_name.as_str(),
            _ => "",
        };
        Ok(Self {
            proxy: context.proxy.variables(),
            crds: crds(context, csv).await?,
            rights: rights(context, &namespace, installer).await?,
            ..Self::asked_for(csv, config, groups.iter().map(|group| &**group))
        })
    }

    /// What users say of it.
    fn asked_for<'a>(
        csv: &ClusterServiceVersion,
        config: Option<&SubscriptionConfig>,
        groups: impl Iterator<Item = &'a OperatorGroup>,
    ) -> Self {
        let annotations = csv.annotations().clone();
        Self {
            asked: (csv.metadata.generation, annotations),
            config: serde_json::json!(config).to_string(),
            groups: groups
                .map(|group| serde_json::json!(group.spec).to_string())
                .collect(),
            ..Self::default()
        }
    }

    /// A number that is another when anything of it is.
    pub(super) fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

async fn crds(context: &Context, csv: &ClusterServiceVersion) -> Result<BTreeSet<Version>, Error> {
    let api = Api::<CustomResourceDefinition>::all(context.client.clone());
    let crds = &csv.spec.custom_resource_definitions;
    let mut versions = BTreeSet::new();
    for name in crds.owned.iter().chain(&crds.required).map(|it| &it.name) {
        if name.is_empty() {
            continue;
        }
        let found = api.get_metadata_opt(name).await;
        if let Some(crd) = found.map_err(Error::while_(format!("reading CRD {name}")))? {
            // Of its status nothing is decided here.
            let generation = crd.metadata.generation.map(|it| it.to_string());
            let uid = crd.metadata.uid.unwrap_or_default();
            versions.insert((name.clone(), uid, generation));
        }
    }
    Ok(versions)
}

/// What an account of a namespace may do there and everywhere: the bindings that are for it, and what the roles
/// say that they name. Nobody has no rights.
async fn rights(
    context: &Context,
    namespace: &str,
    account: &str,
) -> Result<BTreeSet<Right>, Error> {
    if account.is_empty() {
        return Ok(BTreeSet::new());
    }
    let client = || context.client.clone();
    let mut rights = BTreeSet::new();
    for binding in list(Api::<RoleBinding>::namespaced(client(), namespace)).await? {
        let subjects = binding.subjects.as_deref();
        if authorizer::is_for(subjects, namespace, namespace, account) {
            let rules = rules(context, namespace, &binding.role_ref).await?;
            rights.insert(right("RoleBinding", &binding.name_any(), &rules));
        }
    }
    for binding in list(Api::<ClusterRoleBinding>::all(client())).await? {
        let subjects = binding.subjects.as_deref();
        if authorizer::is_for(subjects, "", namespace, account) {
            let rules = rules(context, namespace, &binding.role_ref).await?;
            rights.insert(right("ClusterRoleBinding", &binding.name_any(), &rules));
        }
    }
    Ok(rights)
}

/// By what a role says and not by its version: labels and annotations of it give nothing.
fn right(kind: &str, name: &str, rules: &[PolicyRule]) -> Right {
    let rules = serde_json::json!(rules).to_string();
    (kind.to_owned(), name.to_owned(), rules)
}

/// What the role says that a binding names; nothing if there is none.
async fn rules(
    context: &Context,
    namespace: &str,
    reference: &RoleRef,
) -> Result<Vec<PolicyRule>, Error> {
    let name = &reference.name;
    let client = context.client.clone();
    let found = if reference.kind == "Role" {
        let api = Api::<Role>::namespaced(client, namespace);
        let found = api.get_opt(name).await;
        found.map(|it| it.and_then(|role| role.rules))
    } else {
        let found = Api::<ClusterRole>::all(client).get_opt(name).await;
        found.map(|it| it.and_then(|role| role.rules))
    };
    let found = found.map_err(Error::while_(format!("reading {} {name}", reference.kind)));
    Ok(found?.unwrap_or_default())
}

async fn list<K>(api: Api<K>) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let list = api.list(&ListParams::default()).await;
    let kind = K::kind(&());
    Ok(list
        .map_err(Error::while_(format!("listing {kind}s")))?
        .items)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn circumstances(csv: &Value, config: &Value, group: &Value) -> Circumstances {
        let csv: ClusterServiceVersion = serde_json::from_value(json!({
            "metadata": csv, "spec": {"install": {"strategy": "deployment", "spec": {}}},
        }))
        .unwrap();
        let config: Option<SubscriptionConfig> = serde_json::from_value(config.clone()).unwrap();
        let group: OperatorGroup = serde_json::from_value(json!({
            "metadata": {"name": "own"}, "spec": group,
        }))
        .unwrap();
        Circumstances::asked_for(&csv, config.as_ref(), [&group].into_iter())
    }

    fn usual() -> [Value; 3] {
        [
            json!({"name": "a", "generation": 1}),
            json!(null),
            json!({}),
        ]
    }

    #[rstest]
    #[case::csv(0, json!({"name": "a", "generation": 2}))]
    #[case::annotation(0, json!({"name": "a", "generation": 1, "annotations": {"a": "b"}}))]
    #[case::config(1, json!({"env": [{"name": "A", "value": "b"}]}))]
    #[case::installer(2, json!({"serviceAccountName": "strong"}))]
    #[case::targets(2, json!({"targetNamespaces": ["elsewhere"]}))]
    fn what_users_change_is_worth_another_try(#[case] at: usize, #[case] changed: Value) {
        let [csv, config, group] = usual();
        let before = circumstances(&csv, &config, &group);
        let mut now = usual();
        now[at] = changed;
        let [csv, config, group] = now;
        let after = circumstances(&csv, &config, &group);
        assert_ne!(before.number(), after.number());
    }

    #[test]
    fn what_is_of_no_account_is_not_worth_another_try() {
        let [csv, config, group] = usual();
        let before = circumstances(&csv, &config, &group);
        let relabelled = json!({
            "name": "a", "generation": 1, "labels": {"a": "b"}, "resourceVersion": "7",
        });
        let after = circumstances(&relabelled, &config, &group);
        assert_eq!(before.number(), after.number());
    }

    #[test]
    fn crds_and_rights_are_worth_another_try() {
        let version = |version: &str| {
            let one = ("a".to_owned(), "uid".to_owned(), Some(version.to_owned()));
            BTreeSet::from([one])
        };
        let may = |verb: &str| {
            let rule = PolicyRule {
                verbs: vec![verb.to_owned()],
                ..PolicyRule::default()
            };
            BTreeSet::from([right("RoleBinding", "a", &[rule])])
        };
        let before = Circumstances {
            crds: version("1"),
            rights: may("get"),
            ..Circumstances::default()
        };
        let crd = Circumstances {
            crds: version("2"),
            ..before.clone()
        };
        let right = Circumstances {
            rights: may("create"),
            ..before.clone()
        };
        assert_ne!(before.number(), crd.number());
        assert_ne!(before.number(), right.number());
    }
}
