//! The rights of operators that serve all namespaces, and of those that do not any more.

use std::fmt::Debug;

use anyhow::{Context as _, ensure};
use chandler::api::conditions::CsvPhase;
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// What the operators of a namespace have in the whole cluster.
async fn of<K>(scene: &Scene<'_>) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let ours = ListParams::default().labels(&format!(
        "olm.owner.namespace={},olm.owner.kind=ClusterServiceVersion",
        scene.namespace
    ));
    let api = Api::<K>::all(scene.case.client.clone());
    Ok(api.list(&ours).await?.items)
}

/// An operator that may read Pods, from a catalog, in a group for all namespaces.
async fn runs_everywhere(scene: &Scene<'_>) -> anyhow::Result<()> {
    scene.group_with(json!({})).await?;
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let gopher = scene.operator("gopher", "1.0.0").may(&rule);
    scene.config_map_catalog("hub", &[stable([gopher])]).await?;
    scene.subscribe("gopher", "hub", json!({})).await?;
    scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
    Ok(())
}

fn reads_pods(role: &ClusterRole) -> bool {
    let rules: Value = json!(role.rules);
    rules[0]["resources"] == json!(["pods"]) && rules[1]["resources"] == json!(["namespaces"])
}

#[tokio::test]
async fn rights_in_the_whole_cluster_are_put_right_and_go_when_the_group_narrows() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        runs_everywhere(&scene).await?;
        let roles = of::<ClusterRole>(&scene).await?;
        ensure!(roles.len() == 1 && reads_pods(&roles[0]), "{roles:?}");
        let bindings = of::<ClusterRoleBinding>(&scene).await?;
        ensure!(bindings.len() == 1, "{bindings:?}");
        ensure!(bindings[0].role_ref.name == roles[0].name_any());

        let api = Api::<ClusterRoleBinding>::all(case.client.clone());
        let name = bindings[0].name_any();
        api.delete(&name, &DeleteParams::default()).await?;
        let is_back =
            |it: Option<&ClusterRoleBinding>| it.is_some_and(|it| it.uid() != bindings[0].uid());
        case.wait(&api, &name, "bound again", is_back).await?;
        let api = Api::<ClusterRole>::all(case.client.clone());
        let nothing = Patch::Merge(json!({"rules": []}));
        let name = roles[0].name_any();
        api.patch(&name, &PatchParams::default(), &nothing).await?;
        let reads = |it: Option<&ClusterRole>| it.is_some_and(reads_pods);
        case.wait(&api, &name, "as before", reads).await?;

        let narrow = json!({"spec": {"targetNamespaces": [scene.namespace]}});
        scene.patch::<OperatorGroup>("own", narrow).await?;
        let are_gone = async || {
            let roles = of::<ClusterRole>(&scene).await?;
            Ok(roles.is_empty() && of::<ClusterRoleBinding>(&scene).await?.is_empty())
        };
        case.eventually("without rights elsewhere", are_gone)
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_in_two_namespaces_has_rights_of_its_own_in_each() {
    on_cluster(async |case| {
        let (first, [second]) = Scene::with_neighbours::<1>(case).await?;
        for scene in [&first, &second] {
            runs_everywhere(scene).await?;
        }
        for scene in [&first, &second] {
            let bindings = of::<ClusterRoleBinding>(scene).await?;
            let [binding] = bindings.as_slice() else {
                anyhow::bail!("{}: {bindings:?}", scene.namespace);
            };
            let subjects = binding.subjects.as_ref().context("nobody is bound")?;
            ensure!(
                subjects[0].namespace.as_deref() == Some(scene.namespace.as_str()),
                "{subjects:?}"
            );
        }
        // One that goes takes only its own with it.
        first.delete_csv("gopher.v1.0.0").await?;
        ensure!(of::<ClusterRole>(&first).await?.is_empty());
        ensure!(of::<ClusterRole>(&second).await?.len() == 1);
        second.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// What somebody makes who wants to be taken for an operator.
fn forged(scene: &Scene<'_>, kind: &str, name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind,
        "metadata": {"name": name, "annotations": annotations, "labels": {
            "olm.managed": "true", "olm.owner": "gopher.v1.0.0",
            "olm.owner.namespace": scene.namespace, "olm.owner.kind": "ClusterServiceVersion",
        }},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "mallory"}],
    })
}

#[tokio::test]
async fn a_binding_that_only_looks_like_the_operators_stays_where_it_is() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        runs_everywhere(&scene).await?;
        let bindings = of::<ClusterRoleBinding>(&scene).await?;
        let [own] = bindings.as_slice() else {
            anyhow::bail!("{bindings:?}");
        };
        scene
            .create(forged(&scene, "RoleBinding", "evil", &json!({})))
            .await?;
        // One that was lifted before.
        let api = Api::<ClusterRoleBinding>::all(case.client.clone());
        let name = format!("evil-{}", scene.namespace);
        let from = json!({"chandler.lifted-from": "evil"});
        let lifted = forged(&scene, "ClusterRoleBinding", &name, &from);
        let lifted = serde_json::from_value(lifted)?;
        api.create(&PostParams::default(), &lifted).await?;
        // Who makes this one anew looks at the forged ones as well.
        api.delete(&own.name_any(), &DeleteParams::default())
            .await?;
        let is_back = |it: Option<&ClusterRoleBinding>| it.is_some_and(|it| it.uid() != own.uid());
        case.wait(&api, &own.name_any(), "bound again", is_back)
            .await?;
        let is_gone = |it: Option<&ClusterRoleBinding>| it.is_none();
        case.wait(&api, &name, "gone", is_gone).await?;
        let bindings = of::<ClusterRoleBinding>(&scene).await?;
        ensure!(bindings.len() == 1, "{bindings:?}");
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn an_account_that_installs_passes_on_no_rights_elsewhere_that_it_does_not_have() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        let everything = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
        let metadata = json!({"name": "installer"});
        let subjects = json!([
            {"kind": "ServiceAccount", "name": "installer", "namespace": scene.namespace},
        ]);
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
        scene.create(account).await?;
        scene
            .create(json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata,
                "rules": [everything],
            }))
            .await?;
        scene
            .create(json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "installer"},
                "subjects": subjects,
            }))
            .await?;
        scene
            .group_with(json!({"serviceAccountName": "installer"}))
            .await?;
        let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = scene.operator("gopher", "1.0.0").may(&pods);
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let csv = scene.in_phase("gopher.v1.0.0", CsvPhase::Failed).await?;
        let message = csv.status.unwrap_or_default().message;
        let user = format!("system:serviceaccount:{}:installer", scene.namespace);
        ensure!(
            message.contains(&format!(
                "User \"{user}\" cannot patch resource \"clusterroles\""
            )),
            "{message}"
        );
        ensure!(of::<ClusterRole>(&scene).await?.is_empty());
        // Once it has them it passes them on.
        let name = format!("installer-{}", scene.namespace);
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let role = json!({"metadata": {"name": name}, "rules": [everything]});
        let role = serde_json::from_value(role)?;
        roles.create(&PostParams::default(), &role).await?;
        let bindings = Api::<ClusterRoleBinding>::all(case.client.clone());
        let binding = json!({
            "metadata": {"name": name}, "subjects": subjects,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        });
        let binding = serde_json::from_value(binding)?;
        bindings.create(&PostParams::default(), &binding).await?;
        let runs = scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await;
        bindings.delete(&name, &DeleteParams::default()).await?;
        roles.delete(&name, &DeleteParams::default()).await?;
        runs?;
        ensure!(of::<ClusterRoleBinding>(&scene).await?.len() == 1);
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}
