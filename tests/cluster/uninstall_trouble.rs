//! Removals among things that are broken, held, or of others as well.

use anyhow::ensure;
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::scene::Scene;
use crate::support::wares::stable;

fn policy(removal: &str) -> Value {
    json!({"policy": {"removal": removal}})
}

/// Changes a CRD of a scene by a merge patch.
async fn change_crd(scene: &Scene<'_>, kind: &str, patch: Value) -> anyhow::Result<()> {
    let crds = Api::<CustomResourceDefinition>::all(scene.case.client.clone());
    let patch = Patch::Merge(patch);
    crds.patch(&scene.crd_of(kind), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// An API of nobody's whose objects cannot be listed, because nobody converts them.
async fn broken(scene: &Scene<'_>) -> anyhow::Result<()> {
    let somebody = scene.operator("somebody", "1.0.0");
    scene.with_crd(&somebody, "Wreck").await?;
    scene.make("Wreck", "old", &[]).await?;
    let crd = somebody.crd("Wreck");
    let mut versions = crd["spec"]["versions"].clone();
    let mut newer = versions[0].clone();
    newer["name"] = json!("v2");
    newer["storage"] = json!(false);
    if let Some(versions) = versions.as_array_mut() {
        versions.push(newer);
    }
    let nowhere = json!({"service": {"namespace": scene.namespace, "name": "nowhere"}});
    let conversion = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": nowhere,
    }});
    let patch = json!({"spec": {"versions": versions, "conversion": conversion}});
    change_crd(scene, "Wreck", patch).await?;
    let case = scene.case;
    let group = format!("{}.example.com", scene.namespace);
    let list = format!("/apis/{group}/v2/namespaces/{}/wrecks", scene.namespace);
    // By somebody who asks once: what only takes long, because the machine is busy, is not broken.
    let is_broken = async || {
        let listed = case.cluster.kubectl(&["get", "--raw", &list]).await;
        Ok(listed.is_err_and(|error| format!("{error:#}").contains("conversion webhook")))
    };
    case.eventually("broken", is_broken).await
}

async fn mend(scene: &Scene<'_>) -> anyhow::Result<()> {
    let conversion = json!({"strategy": "None", "webhook": null});
    change_crd(scene, "Wreck", json!({"spec": {"conversion": conversion}})).await?;
    let crds = Api::<CustomResourceDefinition>::all(scene.case.client.clone());
    crds.delete(&scene.crd_of("Wreck"), &DeleteParams::default())
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_of_others_that_is_broken_stops_no_removal() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", policy("Operator")).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        broken(&scene).await?;
        let removed = async {
            scene.delete::<Subscription>("gopher").await?;
            scene.gone::<Subscription>("gopher").await
        };
        // It is in the way of others as well, and so does not stay whatever happens.
        let removed = removed.await;
        mend(&scene).await?;
        removed?;
        ensure!(scene.csvs().await?.is_empty());
        let events = scene.api::<Event>();
        let of = ListParams::default().fields("reason=Removed,involvedObject.name=gopher");
        let is_told = async || {
            let told = events.list(&of).await?;
            let mut notes = told.iter().filter_map(|it| it.message.as_deref());
            Ok(notes.any(|it| it.contains("objects of kind Wreck")))
        };
        case.eventually("told what was not looked at", is_told)
            .await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_and_held_is_told_with_who_holds_it_and_what_to_do() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gopher-config"}, "data": {"depth": "3"},
        });
        let gopher = scene.operator("gopher", "1.0.0").with(map);
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", policy("Operator")).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let hold = json!({"metadata": {"finalizers": ["example.com/nobody"]}});
        scene.patch::<ConfigMap>("gopher-config", hold).await?;
        scene.delete::<Subscription>("gopher").await?;
        let is_told = |it: &Subscription| {
            let status = it.status.as_ref();
            let said = status.map(|it| it.conditions.iter().map(|it| it.message.as_str()));
            let mut said = said.into_iter().flatten();
            said.any(|it| {
                it.contains("gopher-config (held by example.com/nobody)")
                    && it.contains("kubectl patch configmap gopher-config")
                    && it.contains("kubectl patch subscription gopher")
            })
        };
        scene
            .until("gopher", "telling what holds it", is_told)
            .await?;
        let free = json!({"metadata": {"finalizers": null}});
        scene.patch::<ConfigMap>("gopher-config", free).await?;
        scene.gone::<Subscription>("gopher").await?;
        Ok(())
    })
    .await;
}

/// The uids of what both installs bring, if it is there and stays.
async fn shared(case: &Case, name: &str) -> anyhow::Result<Option<(String, String)>> {
    let classes = Api::<PriorityClass>::all(case.client.clone());
    let roles = Api::<ClusterRole>::all(case.client.clone());
    let class = classes.get_opt(name).await?;
    let role = roles.get_opt(name).await?;
    let class = class.filter(|it| it.metadata.deletion_timestamp.is_none());
    let role = role.filter(|it| it.metadata.deletion_timestamp.is_none());
    Ok(class
        .and_then(|it| it.uid())
        .zip(role.and_then(|it| it.uid())))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_no_namespace_and_two_installs_brought_goes_with_the_last_of_them() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours(case).await?;
        let name = format!("{}-shared", home.namespace);
        for scene in [&home, &other] {
            scene.group("own").await?;
            let operator = scene
                .operator("gopher", "1.0.0")
                .with(json!({
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                    "metadata": {"name": name}, "value": 1000,
                }))
                .with(json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": {"name": name}, "rules": [],
                }));
            scene.image_catalog("hub", &[stable([operator])]).await?;
            scene.subscribe("gopher", "hub", policy("Operator")).await?;
            scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        }
        let made = shared(case, &name).await?;
        ensure!(made.is_some(), "nothing was brought");
        // The one that wrote them last goes first.
        other.delete::<Subscription>("gopher").await?;
        other.gone::<Subscription>("gopher").await?;
        ensure!(other.csvs().await?.is_empty());
        let kept = shared(case, &name).await?;
        ensure!(kept == made, "{kept:?} is left of {made:?}");
        home.delete::<Subscription>("gopher").await?;
        home.gone::<Subscription>("gopher").await?;
        let are_gone = async || Ok(shared(case, &name).await?.is_none());
        case.eventually("gone", are_gone).await
    })
    .await;
}
