//! OperatorGroups on a real cluster: namespaces, conditions, APIs and roles.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::Condition;
use chandler::api::operator_group::OperatorGroup;
use chandler::lifecycle::aggregate_roles::group_role_names;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;

#[tokio::test]
async fn namespaces_that_a_selector_matches_are_labelled() {
    on_cluster(async |case| {
        let (home, target) = (case.namespace().await?, case.namespace().await?);
        let _chandler = Running::start(case, &[&home]).await?;
        label(case, &target, "chandler.test/of", json!(home)).await?;
        let spec = json!({"selector": {"matchLabels": {"chandler.test/of": home}}});
        let group = create(case, &home, "group", &spec).await?;
        covers(case, &group, &[&target]).await?;
        is_labelled(case, &target, &group, true).await?;
        label(case, &target, "chandler.test/of", Value::Null).await?;
        covers(case, &group, &[]).await?;
        is_labelled(case, &target, &group, false).await
    })
    .await;
}

#[tokio::test]
async fn target_namespaces_are_labelled_and_others_no_longer() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let (one, two) = (case.namespace().await?, case.namespace().await?);
        let _chandler = Running::start(case, &[&home]).await?;
        let spec = json!({"targetNamespaces": [one]});
        let group = create(case, &home, "group", &spec).await?;
        is_labelled(case, &one, &group, true).await?;
        change(
            case,
            &group,
            &json!({"spec": {"targetNamespaces": [two, home]}}),
        )
        .await?;
        covers(case, &group, &[&home, &two]).await?;
        is_labelled(case, &two, &group, true).await?;
        is_labelled(case, &home, &group, true).await?;
        is_labelled(case, &one, &group, false).await
    })
    .await;
}

#[tokio::test]
async fn a_group_for_all_namespaces_labels_none() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let spec = json!({"targetNamespaces": [home]});
        let group = create(case, &home, "group", &spec).await?;
        is_labelled(case, &home, &group, true).await?;
        change(case, &group, &json!({"spec": {"targetNamespaces": null}})).await?;
        covers(case, &group, &[""]).await?;
        is_labelled(case, &home, &group, false).await
    })
    .await;
}

#[tokio::test]
async fn a_group_that_goes_leaves_neither_labels_nor_roles() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let spec = json!({"targetNamespaces": [home]});
        let group = create(case, &home, "group", &spec).await?;
        is_labelled(case, &home, &group, true).await?;
        has_roles(case, &group, true).await?;
        groups(case, &home)
            .delete("group", &DeleteParams::default())
            .await?;
        is_labelled(case, &home, &group, false).await?;
        has_roles(case, &group, false).await
    })
    .await;
}

#[tokio::test]
async fn what_a_group_leaves_while_nobody_runs_is_swept_up_later() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let chandler = Running::start(case, &[&home]).await?;
        let spec = json!({"targetNamespaces": [home]});
        let group = create(case, &home, "group", &spec).await?;
        is_labelled(case, &home, &group, true).await?;
        has_roles(case, &group, true).await?;
        chandler.stop().await?;
        groups(case, &home)
            .delete("group", &DeleteParams::default())
            .await?;
        let _chandler = Running::start(case, &[&home]).await?;
        is_labelled(case, &home, &group, false).await?;
        has_roles(case, &group, false).await
    })
    .await;
}

#[tokio::test]
async fn two_groups_in_a_namespace_say_so_until_one_goes() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let one = create(case, &home, "one", &json!({})).await?;
        covers(case, &one, &[""]).await?;
        let two = create(case, &home, "two", &json!({})).await?;
        let reason = ("MultipleOperatorGroup", "MultipleOperatorGroupsFound");
        has_condition(case, &one, reason, true).await?;
        has_condition(case, &two, reason, true).await?;
        groups(case, &home)
            .delete("two", &DeleteParams::default())
            .await?;
        has_condition(case, &one, reason, false).await
    })
    .await;
}

#[tokio::test]
async fn a_missing_service_account_is_told_and_found_when_it_comes() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let spec = json!({"serviceAccountName": "robot"});
        let group = create(case, &home, "group", &spec).await?;
        let reason = ("OperatorGroupServiceAccount", "ServiceAccountNotFound");
        has_condition(case, &group, reason, true).await?;
        covers(case, &group, &[""]).await?;
        let robot = serde_json::from_value(json!({"metadata": {"name": "robot"}}))?;
        let accounts = Api::<ServiceAccount>::namespaced(case.client.clone(), &home);
        let robot = accounts.create(&PostParams::default(), &robot).await?;
        has_condition(case, &group, reason, false).await?;
        let now = groups(case, &home).get("group").await?;
        let reference = now.status.and_then(|status| status.service_account_ref);
        let reference = reference.context("no reference")?;
        ensure!(reference.uid == robot.uid(), "{reference:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_told() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let spec = json!({"targetNamespaces": [home, ""]});
        let group = create(case, &home, "group", &spec).await?;
        let reason = ("OperatorGroupTargetNamespaces", "TargetNamespacesInvalid");
        has_condition(case, &group, reason, true).await?;
        change(case, &group, &json!({"spec": {"targetNamespaces": [home]}})).await?;
        covers(case, &group, &[&home]).await?;
        has_condition(case, &group, reason, false).await
    })
    .await;
}

#[tokio::test]
async fn roles_collect_the_apis_of_a_groups_operators() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let api_group = format!("{home}.example.com");
        let crd = crd(case, &api_group).await?;
        let group = create(case, &home, "group", &json!({})).await?;
        has_roles(case, &group, true).await?;
        succeeded(case, &home, &api_group).await?;
        is_annotated(case, &group, &format!("Widget.v1.{api_group}")).await?;
        let roles = Api::<ClusterRole>::all(case.client.clone());
        for (role, verbs) in group_role_names(&home, "group").iter().zip([
            &["*"][..],
            &["create", "update", "patch", "delete"],
            &["get", "list", "watch"],
        ]) {
            // Kubernetes fills them in.
            let api_group = api_group.clone();
            let collects = move |role: Option<&ClusterRole>| {
                let granted = role.and_then(|role| role.rules.as_ref());
                granted.into_iter().flatten().any(|rule| {
                    rule.verbs == verbs
                        && rule.api_groups.as_deref() == Some(std::slice::from_ref(&api_group))
                        && rule.resources == Some(vec!["widgets".to_owned()])
                })
            };
            case.wait(&roles, role, "filled in", collects).await?;
        }
        let role = roles.get(&format!("{}-v1-crdview", crd.name_any())).await?;
        ensure!(role.owner_references()[0].uid == crd.uid().unwrap_or_default());
        // What somebody changes by hand is put right.
        let edit = format!("{}-v1-edit", crd.name_any());
        let rights = roles.get(&edit).await?.rules;
        let none = Patch::Merge(json!({"rules": []}));
        roles.patch(&edit, &PatchParams::default(), &none).await?;
        let is_restored =
            move |role: Option<&ClusterRole>| role.is_some_and(|role| role.rules == rights);
        case.wait(&roles, &edit, "restored", is_restored).await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&crd.name_any(), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_belongs_to_the_first_of_two_groups_that_share_a_namespace() {
    on_cluster(async |case| {
        let (first, second) = (case.namespace().await?, case.namespace().await?);
        let _chandler = Running::start(case, &[&first, &second]).await?;
        let api_group = format!("{first}.example.com");
        let api = format!("Widget.v1.{api_group}");
        let spec = json!({"targetNamespaces": [first, second]});
        let one = create(case, &first, "group", &spec).await?;
        csv(case, &first, &api_group).await?;
        is_annotated(case, &one, &api).await?;
        let spec = json!({"targetNamespaces": [second]});
        let two = create(case, &second, "group", &spec).await?;
        csv(case, &second, &api_group).await?;
        covers(case, &two, &[&second]).await?;
        // Its roles name the API: so the operator was looked at, and the API not taken.
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let [admin, ..] = group_role_names(&second, "group");
        let collects =
            |role: Option<&ClusterRole>| role.is_some_and(|role| role.aggregation_rule.is_some());
        case.wait(&roles, &admin, "collecting", collects).await?;
        let now = groups(case, &second).get("group").await?;
        ensure!(
            !now.annotations().contains_key("olm.providedAPIs"),
            "{now:?}"
        );
        let csvs = Api::<ClusterServiceVersion>::namespaced(case.client.clone(), &first);
        csvs.delete("widget.v1", &DeleteParams::default()).await?;
        is_annotated(case, &one, "").await?;
        is_annotated(case, &two, &api).await
    })
    .await;
}

#[tokio::test]
async fn the_apis_of_a_static_group_are_left_alone() {
    on_cluster(async |case| {
        let (fixed, free) = (case.namespace().await?, case.namespace().await?);
        let _chandler = Running::start(case, &[&fixed, &free]).await?;
        let spec = json!({"staticProvidedAPIs": true, "targetNamespaces": [fixed]});
        let one = create(case, &fixed, "group", &spec).await?;
        change(
            case,
            &one,
            &json!({"metadata": {"annotations": {"olm.providedAPIs": "Mine.v1.x"}}}),
        )
        .await?;
        csv(case, &fixed, &format!("{fixed}.example.com")).await?;
        // The same in a group that is not static shows that it was looked at.
        let spec = json!({"targetNamespaces": [free]});
        let two = create(case, &free, "group", &spec).await?;
        let api_group = format!("{free}.example.com");
        csv(case, &free, &api_group).await?;
        is_annotated(case, &two, &format!("Widget.v1.{api_group}")).await?;
        is_annotated(case, &one, "Mine.v1.x").await
    })
    .await;
}

fn groups(case: &Case, namespace: &str) -> Api<OperatorGroup> {
    Api::namespaced(case.client.clone(), namespace)
}

async fn create(
    case: &Case,
    namespace: &str,
    name: &str,
    spec: &Value,
) -> anyhow::Result<OperatorGroup> {
    let group: OperatorGroup = serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": name},
        "spec": spec,
    }))?;
    let api = groups(case, namespace);
    Ok(api.create(&PostParams::default(), &group).await?)
}

async fn change(case: &Case, group: &OperatorGroup, patch: &Value) -> anyhow::Result<()> {
    let namespace = group.namespace().unwrap_or_default();
    let api = groups(case, &namespace);
    let parameters = PatchParams::default();
    api.patch(&group.name_any(), &parameters, &Patch::Merge(patch))
        .await?;
    Ok(())
}

async fn label(case: &Case, namespace: &str, key: &str, value: Value) -> anyhow::Result<()> {
    let api = Api::<Namespace>::all(case.client.clone());
    let patch = json!({"metadata": {"labels": {key: value}}});
    api.patch(namespace, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

async fn covers(case: &Case, group: &OperatorGroup, expected: &[&str]) -> anyhow::Result<()> {
    let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    expected.sort_unstable();
    let what = format!("covering {expected:?}");
    let namespace = group.namespace().unwrap_or_default();
    let covers = move |group: Option<&OperatorGroup>| {
        let status = group.and_then(|group| group.status.as_ref());
        status.is_some_and(|status| status.namespaces == expected && status.last_updated.is_some())
    };
    let api = groups(case, &namespace);
    case.wait(&api, &group.name_any(), &what, covers).await
}

async fn is_labelled(
    case: &Case,
    namespace: &str,
    group: &OperatorGroup,
    expected: bool,
) -> anyhow::Result<()> {
    let key = format!("olm.operatorgroup.uid/{}", group.uid().unwrap_or_default());
    let what = if expected {
        "labelled"
    } else {
        "without the label"
    };
    let api = Api::<Namespace>::all(case.client.clone());
    let is_so = move |namespace: Option<&Namespace>| {
        namespace.is_some_and(|it| it.labels().contains_key(&key) == expected)
    };
    case.wait(&api, namespace, what, is_so).await
}

async fn has_roles(case: &Case, group: &OperatorGroup, expected: bool) -> anyhow::Result<()> {
    let namespace = group.namespace().unwrap_or_default();
    let api = Api::<ClusterRole>::all(case.client.clone());
    for role in group_role_names(&namespace, &group.name_any()) {
        let what = if expected { "there" } else { "gone" };
        let is_so = move |role: Option<&ClusterRole>| role.is_some() == expected;
        case.wait(&api, &role, what, is_so).await?;
    }
    Ok(())
}

async fn has_condition(
    case: &Case,
    group: &OperatorGroup,
    (type_, reason): (&'static str, &'static str),
    expected: bool,
) -> anyhow::Result<()> {
    let namespace = group.namespace().unwrap_or_default();
    let what = format!("with condition {type_}: {expected}");
    let holds = move |condition: &Condition| {
        condition.type_ == type_
            && condition.reason == reason
            && condition.status.as_str() == "True"
    };
    let is_so = move |group: Option<&OperatorGroup>| {
        let status = group.and_then(|group| group.status.as_ref());
        status.is_some_and(|status| status.conditions.iter().any(holds) == expected)
    };
    let api = groups(case, &namespace);
    case.wait(&api, &group.name_any(), &what, is_so).await
}

async fn is_annotated(case: &Case, group: &OperatorGroup, expected: &str) -> anyhow::Result<()> {
    let namespace = group.namespace().unwrap_or_default();
    let what = format!("annotated with `{expected}`");
    let expected = expected.to_owned();
    let is_so = move |group: Option<&OperatorGroup>| {
        let apis = group.and_then(|group| group.annotations().get("olm.providedAPIs"));
        group.is_some() && apis.map(String::as_str).unwrap_or_default() == expected
    };
    let api = groups(case, &namespace);
    case.wait(&api, &group.name_any(), &what, is_so).await
}

/// An operator with one API. It needs no Deployment: nobody looks for it.
async fn csv(
    case: &Case,
    namespace: &str,
    api_group: &str,
) -> anyhow::Result<ClusterServiceVersion> {
    let csv: ClusterServiceVersion = serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "widget.v1"},
        "spec": {
            "displayName": "Widget",
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
            "installModes": [{"type": "AllNamespaces", "supported": true}],
            "customresourcedefinitions": {"owned": [
                {"name": format!("widgets.{api_group}"), "version": "v1", "kind": "Widget"},
            ]},
        },
    }))?;
    let api = Api::<ClusterServiceVersion>::namespaced(case.client.clone(), namespace);
    Ok(api.create(&PostParams::default(), &csv).await?)
}

/// The same, running.
async fn succeeded(case: &Case, namespace: &str, api_group: &str) -> anyhow::Result<()> {
    csv(case, namespace, api_group).await?;
    let api = Api::<ClusterServiceVersion>::namespaced(case.client.clone(), namespace);
    let patch = json!({"status": {"phase": "Succeeded", "reason": "InstallSucceeded"}});
    api.patch_status("widget.v1", &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

async fn crd(case: &Case, api_group: &str) -> anyhow::Result<CustomResourceDefinition> {
    let crd: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": format!("widgets.{api_group}")},
        "spec": {
            "group": api_group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }))?;
    let api = Api::<CustomResourceDefinition>::all(case.client.clone());
    Ok(api.create(&PostParams::default(), &crd).await?)
}
