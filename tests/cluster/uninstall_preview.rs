//! What `chandler uninstall` shows before it does anything, beside what is gone afterwards.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use chandler::api::conditions::CsvPhase;
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde_json::{Value, json};

use crate::command_uninstall::chandler;
use crate::support::case::on_cluster;
use crate::support::inventory::{self, Extent};
use crate::support::scene::Scene;
use crate::support::wares::stable;
use crate::uninstall::{extent, installed, stocked};

/// What Kubernetes makes of Deployments and Services: nobody has to be told.
const MADE_OF_OTHERS: [&str; 5] = [
    "Pod",
    "ReplicaSet",
    "Endpoints",
    "EndpointSlice",
    "IPAddress",
];

/// Whether Kubernetes makes and takes this by itself. Its own roles stay, and only do not collect any more what others
/// allow.
fn is_kubernetes_own(key: &str, object: &Value) -> bool {
    let kind = key.split('.').next().unwrap_or_default();
    let labels = &object["metadata"]["labels"];
    MADE_OF_OTHERS.contains(&kind)
        || labels["kube-aggregator.kubernetes.io/automanaged"].is_string()
        || labels["kubernetes.io/bootstrapping"].is_string()
}

/// Everything that a preview says goes, as an inventory calls it.
fn shown(preview: &Value) -> anyhow::Result<BTreeSet<String>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut goes = list(&preview["goesByItself"]);
    for part in list(&preview["removals"]) {
        for stage in list(&part["stages"]) {
            let step = stage["step"].as_str().context("a step")?;
            // These go as well, each in a part of its own, or stay.
            if !["HandOverDependencies", "AwaitOthers", "Unmark"].contains(&step) {
                goes.extend(list(&stage["objects"]));
            }
        }
    }
    let names = goes.iter().map(|it| {
        let text = |field: &str| it[field].as_str().unwrap_or_default();
        let group = text("apiVersion").split_once('/');
        let group = group.map_or("", |(group, _)| group);
        format!(
            "{}.{group} {}/{}",
            text("kind"),
            text("namespace"),
            text("name")
        )
    });
    Ok(names.collect())
}

/// Removes gopher with its CRDs, and compares what was shown before with what is gone.
async fn shows_what_goes(
    scene: &Scene<'_>,
    extent: &Extent,
    crds: &[String],
) -> anyhow::Result<()> {
    let client = &scene.case.client;
    let crds = crds.join(",");
    let removal = |how| {
        [
            "uninstall",
            "gopher",
            "--everything",
            "--delete-crds",
            &crds,
            how,
        ]
    };
    let before = inventory::settled(client, extent).await?;
    let mut asked = removal("--dry-run").to_vec();
    asked.extend(["-o", "json"]);
    let (code, text, said) = chandler(scene, &asked).await?;
    ensure!(code == 0, "{code} {said}");
    let preview: Value = serde_json::from_str(&text)?;
    ensure!(preview["notLookedAt"] == json!([]), "{preview}");
    let shown = shown(&preview)?;

    let (code, text, said) = chandler(scene, &removal("--yes")).await?;
    ensure!(code == 0, "{code} {said}");
    let count = format!("{} objects are gone", shown.len());
    ensure!(text.contains(&count), "not {count}: {text}");
    let after = inventory::settled(client, extent).await?;
    let is_told = |key: &str| !before.get(key).is_some_and(|it| is_kubernetes_own(key, it));
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let gone: BTreeSet<&String> = gone.filter(|key| is_told(key)).collect();
    let shown: BTreeSet<&String> = shown.iter().filter(|key| is_told(key)).collect();
    let unexpected: Vec<_> = gone.difference(&shown).collect();
    let missing: Vec<_> = shown.difference(&gone).collect();
    ensure!(
        unexpected.is_empty() && missing.is_empty(),
        "gone and not shown: {unexpected:#?}\nshown and not gone: {missing:#?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_shown_that_goes_with_an_operator_for_all_namespaces() {
    on_cluster(async |case| {
        let scene = stocked(case, true).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        installed(&scene, true).await?;
        scene.make("Gopher", "digger", &[]).await?;
        scene.make("Burrow", "home", &[]).await?;
        let crds = ["Gopher", "Burrow"].map(|kind| scene.crd_of(kind));
        shows_what_goes(&scene, &extent(&scene), &crds).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_shown_that_goes_from_other_namespaces_with_an_operator() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours(case).await?;
        let targets = [&home.namespace, &other.namespace];
        home.group_with(json!({"targetNamespaces": targets}))
            .await?;
        let allowed = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = home
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .may(&allowed);
        home.config_map_catalog("hub", &[stable([gopher])]).await?;
        home.subscribe("gopher", "hub", json!({})).await?;
        home.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let have_come = async || Ok(!other.names::<RoleBinding>().await?.is_empty());
        case.eventually("rights in the other namespace", have_come)
            .await?;
        let extent = Extent::Of(vec![home.namespace.clone(), other.namespace.clone()]);
        shows_what_goes(&home, &extent, &[home.crd_of("Gopher")]).await
    })
    .await;
}
