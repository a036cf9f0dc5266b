//! The rights of operators that serve all namespaces, and of those that do not any more.

use std::fmt::Debug;

use anyhow::{Context as _, ensure};
use chandler::api::conditions::CsvPhase;
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
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
