//! ServiceAccounts and their rules.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use rstest::rstest;
use serde_json::{Value, json};

use super::{check, csv};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::RequirementState;
use crate::lifecycle::requirements::{AccountFact, Facts, InvalidStrategy, Rbac};

fn asking() -> ClusterServiceVersion {
    csv(&json!({"install": {"strategy": "deployment", "spec": {
        "deployments": [{"name": "dep"}],
        "permissions": [{"serviceAccountName": "sa", "rules": [
            {"apiGroups": [""], "verbs": ["*"], "resources": ["donuts"]},
        ]}],
        "clusterPermissions": [{"serviceAccountName": "sa", "rules": [
            {"nonResourceURLs": ["/osb"], "verbs": ["get"]},
        ]}],
    }}}))
}

fn owned_by(kind: &str, uid: &str) -> AccountFact {
    let owner = json!([{"apiVersion": "v1", "kind": kind, "name": "x", "uid": uid}]);
    AccountFact {
        owners: serde_json::from_value(owner).unwrap(),
    }
}

struct Roles {
    role: Role,
    binding: RoleBinding,
    cluster_role: ClusterRole,
    cluster_binding: ClusterRoleBinding,
}

impl Roles {
    fn new() -> Self {
        let subjects = json!([{"kind": "ServiceAccount", "name": "sa", "namespace": "ns"}]);
        let binding = |kind: &str| {
            json!({
                "metadata": {"name": "binding", "namespace": "ns"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "role"},
                "subjects": subjects,
            })
        };
        let read = |value: Value| serde_json::from_value(value).unwrap();
        Self {
            role: serde_json::from_value(json!({
                "metadata": {"name": "role", "namespace": "ns"},
                "rules": [{"apiGroups": [""], "verbs": ["*"], "resources": ["donuts"]}],
            }))
            .unwrap(),
            binding: read(binding("Role")),
            cluster_role: serde_json::from_value(json!({
                "metadata": {"name": "role"},
                "rules": [{"nonResourceURLs": ["/osb"], "verbs": ["get"]}],
            }))
            .unwrap(),
            cluster_binding: serde_json::from_value(binding("ClusterRole")).unwrap(),
        }
    }

    fn rbac(&self) -> Rbac<'_> {
        Rbac {
            roles: vec![&self.role],
            role_bindings: vec![&self.binding],
            cluster_roles: vec![&self.cluster_role],
            cluster_role_bindings: vec![&self.cluster_binding],
        }
    }
}

fn facts(account: Option<AccountFact>, rbac: Rbac<'_>) -> Facts<'_> {
    let accounts: BTreeMap<_, _> = account
        .map(|fact| ("sa".to_owned(), fact))
        .into_iter()
        .collect();
    Facts {
        accounts,
        rbac,
        ..Facts::default()
    }
}

#[test]
fn an_account_with_all_its_rules_is_present() {
    let roles = Roles::new();
    let requirements = check(
        &asking(),
        &facts(Some(AccountFact::default()), roles.rbac()),
    )
    .unwrap();
    assert!(requirements.met);
    let [status] = requirements.statuses.as_slice() else {
        panic!("one account")
    };
    assert_eq!(
        (status.kind.as_str(), status.name.as_str()),
        ("ServiceAccount", "sa")
    );
    assert_eq!(
        (&status.status, status.message.as_str()),
        (&RequirementState::Present, "")
    );
    let told: Vec<_> = status
        .dependents
        .iter()
        .map(|rule| rule.message.as_str())
        .collect();
    assert_eq!(
        told,
        [
            r#"namespaced rule:{"verbs":["*"],"apiGroups":[""],"resources":["donuts"]}"#,
            r#"cluster rule:{"verbs":["get"],"nonResourceURLs":["/osb"]}"#,
        ]
    );
    assert!(
        status
            .dependents
            .iter()
            .all(|rule| rule.status == RequirementState::Satisfied)
    );
}

#[test]
fn a_rule_that_is_not_granted_is_named() {
    let roles = Roles::new();
    let rbac = Rbac {
        role_bindings: Vec::new(),
        ..roles.rbac()
    };
    let requirements = check(&asking(), &facts(Some(AccountFact::default()), rbac)).unwrap();
    assert!(!requirements.met && requirements.only_rules_unmet);
    let status = &requirements.statuses[0];
    assert_eq!(status.status, RequirementState::PresentNotSatisfied);
    assert_eq!(
        status.message,
        "Policy rule not satisfied for service account"
    );
    let told: Vec<_> = status
        .dependents
        .iter()
        .map(|rule| rule.status.as_str())
        .collect();
    assert_eq!(told, ["NotSatisfied", "Satisfied"]);
    assert_eq!(
        requirements.missing,
        "ServiceAccount sa: Policy rule not satisfied for service account (ServiceAccount ns/sa may not do \
         all that it has to: grant it * donuts in namespace ns, by a Role and a RoleBinding)"
    );
}

/// What an account is told to lack that may do nothing.
fn lacking(permissions: &Value, cluster_permissions: &Value) -> String {
    let csv = csv(&json!({"install": {"strategy": "deployment", "spec": {
        "permissions": permissions, "clusterPermissions": cluster_permissions,
    }}}));
    let facts = facts(Some(AccountFact::default()), Rbac::default());
    check(&csv, &facts).unwrap().missing
}

#[test]
fn what_an_account_lacks_is_told_by_verb_and_place() {
    let told = lacking(
        &json!([{"serviceAccountName": "sa", "rules": [
            {"apiGroups": ["", "apps"], "verbs": ["get", "list"], "resources": ["pods/log"]},
        ]}]),
        &json!([{"serviceAccountName": "sa", "rules": [
            {"apiGroups": [""], "verbs": ["use"], "resources": ["secrets"], "resourceNames": ["key"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ]}]),
    );
    assert_eq!(
        told,
        "ServiceAccount sa: Policy rule not satisfied for service account (ServiceAccount ns/sa may not do \
         all that it has to: grant it get/list pods/log, get/list pods/log.apps in namespace ns, by a Role \
         and a RoleBinding; and use secrets key, get /metrics in the whole cluster, by a ClusterRole and a \
         ClusterRoleBinding)"
    );
}

#[test]
fn of_what_is_told_every_verb_is_told() {
    let resources = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let verbs = [
        "get", "list", "watch", "create", "update", "patch", "delete",
    ];
    let told = lacking(
        &json!([{"serviceAccountName": "sa", "rules": [
            {"apiGroups": [""], "verbs": verbs, "resources": resources},
        ]}]),
        &json!([]),
    );
    let all = "get/list/watch/create/update/patch/delete";
    let granted = format!("grant it {all} a, {all} b, {all} c, {all} d and 4 more in namespace ns");
    assert!(told.contains(&granted), "{told}");
}

#[test]
fn however_much_an_account_lacks_a_few_are_told_and_by_what_to_grant_them() {
    let names: Vec<String> = (0..50)
        .map(|at| format!("{at}{}", "x".repeat(1000)))
        .collect();
    let told = lacking(
        &json!([{"serviceAccountName": "sa", "rules": [
            {"apiGroups": names, "verbs": names, "resources": names, "resourceNames": names},
        ]}]),
        &json!([]),
    );
    assert!(told.len() < 1000, "{}", told.len());
    assert!(
        told.ends_with(
            "and others, see status.requirementStatus, in namespace ns, by a Role and a RoleBinding)"
        ),
        "{told}"
    );
}

#[rstest]
#[case::missing(None, RequirementState::NotPresent, "Service account does not exist")]
#[case::of_another_csv(
    Some(owned_by("ClusterServiceVersion", "other")),
    RequirementState::PresentNotSatisfied,
    "Service account is owned by another ClusterServiceVersion"
)]
#[case::its_own(
    Some(owned_by("ClusterServiceVersion", "csv-uid")),
    RequirementState::Present,
    ""
)]
#[case::of_something_else(Some(owned_by("Deployment", "other")), RequirementState::Present, "")]
#[case::of_nobody(Some(AccountFact::default()), RequirementState::Present, "")]
fn an_account_has_to_be_there_and_not_to_be_anothers(
    #[case] account: Option<AccountFact>,
    #[case] state: RequirementState,
    #[case] message: &str,
) {
    let roles = Roles::new();
    let requirements = check(&asking(), &facts(account, roles.rbac())).unwrap();
    let status = &requirements.statuses[0];
    assert_eq!((&status.status, status.message.as_str()), (&state, message));
    assert_eq!(requirements.met, state == RequirementState::Present);
    assert!(!requirements.only_rules_unmet);
}

#[rstest]
#[case::no_verb(json!({"verbs": [], "resources": ["a"]}), InvalidStrategy::NoVerb { account: "sa".to_owned() })]
#[case::both(json!({"verbs": ["get"], "resourceNames": ["a"], "nonResourceURLs": ["/"]}),
    InvalidStrategy::ResourcesAndUrls { account: "sa".to_owned() })]
fn a_rule_that_makes_no_sense_is_refused(#[case] rule: Value, #[case] error: InvalidStrategy) {
    let csv = csv(&json!({"install": {"strategy": "deployment", "spec": {
        "clusterPermissions": [{"serviceAccountName": "sa", "rules": [rule]}],
    }}}));
    assert_eq!(check(&csv, &Facts::default()), Err(error));
}
