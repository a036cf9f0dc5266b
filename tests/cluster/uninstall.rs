//! A Subscription that goes, and what goes with it: afterwards the cluster is as it was before the
//! install, but for what the policy keeps.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, SubscriptionConditionType};
use chandler::api::operator::Operator as OperatorObject;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::inventory::{self, Extent, Inventory};
use crate::support::scene::Scene;
use crate::support::stand_in::{self, StandIn, create, tunnels, two_versions, webhook};
use crate::support::wares::{Operator, stable};

/// An operator with all that an operator can have.
fn gopher(scene: &Scene<'_>, is_for_all: bool) -> Operator {
    let group = format!("{}.example.com", scene.namespace);
    let server = server(scene);
    let hook = |type_: &str, name: &str| {
        json!({
            "type": type_, "generateName": format!("{name}.gopher.example.com"),
            "deploymentName": server, "containerPort": 8443, "targetPort": 8443,
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "webhookPath": format!("/{name}"), "timeoutSeconds": 1,
            "rules": [{
                "apiGroups": [group], "apiVersions": ["v1"],
                "resources": ["gophers"], "operations": ["CREATE"],
            }],
        })
    };
    let mut hooks = vec![
        hook("ValidatingAdmissionWebhook", "check"),
        hook("MutatingAdmissionWebhook", "fill"),
    ];
    if is_for_all {
        let mut convert = hook("ConversionWebhook", "convert");
        convert["conversionCRDs"] = json!([format!("gophers.{group}")]);
        convert["rules"] = json!([]);
        hooks.push(convert);
    }
    let own = json!([{
        "name": "tunnels", "kind": "Tunnel", "group": format!("tunnels.{group}"), "version": "v1",
        "deploymentName": server, "containerPort": 9443,
    }]);
    let modes: &[&str] = if is_for_all {
        &["AllNamespaces"]
    } else {
        &["OwnNamespace"]
    };
    scene
        .operator("gopher", "1.0.0")
        .owns("Gopher")
        .requires("Burrow")
        .supports(modes)
        .may(&rule(scene))
        .may_everywhere(&json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}))
        .with(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gopher-config"}, "data": {"depth": "3"},
        }))
        .with(json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": format!("{}-urgent", scene.namespace)}, "value": 1000,
        }))
        .deployment_with(json!({"name": server}))
        .csv_with(json!({"spec": {
            "webhookdefinitions": hooks, "apiservicedefinitions": {"owned": own},
        }}))
}

fn burrow(scene: &Scene<'_>) -> Operator {
    scene
        .operator("burrow", "1.0.0")
        .owns("Burrow")
        .may(&rule(scene))
}

/// A Deployment that no other test has: bindings for the whole cluster are called after it.
fn server(scene: &Scene<'_>) -> String {
    let own = scene.namespace.rsplit('-').next().unwrap_or_default();
    format!("gopher-{own}")
}

/// A right that no other test asks for: roles for the whole cluster are called after what they allow.
fn rule(scene: &Scene<'_>) -> Value {
    json!({
        "apiGroups": [""], "resources": ["pods"], "verbs": ["get"],
        "resourceNames": [scene.namespace],
    })
}

/// A namespace that is cared for, with a catalog of gopher and what it needs.
pub(crate) async fn stocked(case: &Case, is_for_all: bool) -> anyhow::Result<Scene<'_>> {
    if is_alone() {
        cleared(case).await?;
    }
    let mut scene = if is_for_all {
        Scene::for_all(case).await?
    } else {
        Scene::uncared(case).await?
    };
    scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
    let channels = [
        stable([gopher(&scene, is_for_all)]),
        stable([burrow(&scene)]),
    ];
    scene.image_catalog("hub", &channels).await?;
    scene.ready_catalog("hub").await?;
    Ok(scene)
}

/// What is looked at. Alone on the cluster that is everything; beside other tests it is what names the
/// namespace, which everything does that is made for it.
pub(crate) fn extent(scene: &Scene<'_>) -> Extent {
    if is_alone() {
        Extent::Whole
    } else {
        Extent::Of(vec![scene.namespace.clone()])
    }
}

fn is_alone() -> bool {
    std::env::var_os("CHANDLER_ALONE").is_some()
}

/// Waits until what an earlier test left is gone, where that counts. Later it could not go: an aggregated API
/// that does not answer keeps every namespace that is to go.
async fn cleared(case: &Case) -> anyhow::Result<()> {
    let namespaces = Api::<Namespace>::all(case.client.clone());
    let are_gone = async || {
        let all = namespaces.list(&ListParams::default()).await?;
        let mut all = all.iter();
        Ok(all.all(|it| it.metadata.deletion_timestamp.is_none()))
    };
    case.eventually("all namespaces of earlier tests gone", are_gone)
        .await
}

async fn inventory(scene: &Scene<'_>) -> anyhow::Result<Inventory> {
    inventory::settled(&scene.case.client, &extent(scene)).await
}

/// Waits until all parts of gopher are there: Pods that are simulated answer nobody, so that it does not get to
/// run. One that does is in [`everything_of_an_operator_that_runs_and_answers_goes_and_nothing_else`].
pub(crate) async fn installed(scene: &Scene<'_>, is_for_all: bool) -> anyhow::Result<()> {
    scene.at_latest("gopher", "gopher.v1.0.0").await?;
    scene.at_latest(&generated(scene), "burrow.v1.0.0").await?;
    let client = &scene.case.client;
    let group = format!("{}.example.com", scene.namespace);
    let services = Api::<APIService>::all(client.clone());
    let service = format!("v1.tunnels.{group}");
    let is_there = |it: Option<&APIService>| it.is_some();
    scene
        .case
        .wait(&services, &service, "there", is_there)
        .await?;
    let ours = ListParams::default().labels(&format!("olm.owner.namespace={}", scene.namespace));
    let checks = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    let fills = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let have_come = async || {
        Ok(!checks.list(&ours).await?.items.is_empty()
            && !fills.list(&ours).await?.items.is_empty())
    };
    scene
        .case
        .eventually("webhooks are there", have_come)
        .await?;
    if is_for_all {
        let crds = Api::<CustomResourceDefinition>::all(client.clone());
        let converts = |crd: Option<&CustomResourceDefinition>| {
            let conversion = crd.and_then(|crd| crd.spec.conversion.as_ref());
            conversion.is_some_and(|it| it.strategy == "Webhook")
        };
        let name = format!("gophers.{group}");
        scene.case.wait(&crds, &name, "converted", converts).await?;
    }
    Ok(())
}

fn generated(scene: &Scene<'_>) -> String {
    format!("burrow-stable-hub-{}", scene.namespace)
}

fn policy(removal: &str) -> Value {
    json!({"policy": {"removal": removal}})
}

/// Waits until it says what it waits for.
async fn removing(scene: &Scene<'_>, reason: &str) -> anyhow::Result<String> {
    let is_said = |it: &Subscription| {
        let status = it.status.as_ref();
        let condition = status.and_then(|it| it.condition(&SubscriptionConditionType::Removing));
        condition.is_some_and(|it| it.reason == reason)
    };
    scene.until("gopher", reason, is_said).await?;
    let said = scene
        .said("gopher", SubscriptionConditionType::Removing)
        .await?;
    Ok(said.message)
}

async fn everything(case: &Case, is_for_all: bool) -> anyhow::Result<()> {
    let scene = stocked(case, is_for_all).await?;
    let before = inventory(&scene).await?;
    scene
        .subscribe("gopher", "hub", policy("Everything"))
        .await?;
    installed(&scene, is_for_all).await?;
    scene.make("Gopher", "digger", &[]).await?;
    scene.make("Burrow", "home", &[]).await?;
    let crds = ["Gopher", "Burrow"].map(|kind| scene.crd_of(kind));
    scene.give_up("gopher", &crds).await?;
    let during = inventory(&scene).await?;
    ensure!(
        during.len() > before.len() + 25,
        "only {} objects",
        during.len()
    );
    scene.delete::<Subscription>("gopher").await?;
    inventory::is_as(&case.client, &extent(&scene), &before, |_| false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_an_operator_for_all_namespaces_goes_and_nothing_else() {
    on_cluster(async |case| everything(case, true).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_an_operator_for_its_own_namespace_goes_and_nothing_else() {
    on_cluster(async |case| everything(case, false).await).await;
}

/// The same operator as a program that really runs, answers its webhooks and serves its API.
fn running_gopher(scene: &Scene<'_>, stand_in: &StandIn) -> Operator {
    let gopher = scene
        .operator("gopher", "1.0.0")
        .owns("Gopher")
        .requires("Burrow");
    let hooks = ["validate", "mutate", "convert"].map(|does| webhook(&gopher, does));
    let api = tunnels(&gopher, &format!("tunnels.{}.example.com", scene.namespace));
    let crd = two_versions(&gopher);
    gopher
        .with(crd)
        .supports(&["AllNamespaces"])
        .may(&rule(scene))
        .may_everywhere(&json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}))
        .deployment_with(stand_in.doing(&["operate", "gopher", "hooks", "api"]))
        .csv_with(json!({"spec": {
            "webhookdefinitions": hooks, "apiservicedefinitions": {"owned": [api]},
        }}))
}

async fn everything_of_running(case: &Case) -> anyhow::Result<()> {
    let Some(stand_in) = StandIn::at_hand(case).await? else {
        return Ok(());
    };
    if is_alone() {
        cleared(case).await?;
    }
    let scene = Scene::on_real_node(case).await?;
    scene.group_with(json!({})).await?;
    let gopher = running_gopher(&scene, &stand_in);
    let burrow = burrow(&scene).deployment_with(stand_in.doing(&["serve", "0.0.0.0:8080"]));
    let channels = [stable([gopher.clone()]), stable([burrow])];
    scene.image_catalog("hub", &channels).await?;
    scene.ready_catalog("hub").await?;
    let before = inventory(&scene).await?;
    scene
        .subscribe("gopher", "hub", policy("Everything"))
        .await?;
    scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
    scene.in_phase("burrow.v1.0.0", CsvPhase::Succeeded).await?;
    // It is asked, and answers.
    let digger = stand_in::gopher(&gopher, "v1", "digger", &json!({"address": "burrow:8080"}));
    let gophers = scene.gophers(&gopher, "v1");
    let made = create(case, &gophers, &digger).await?;
    let made = made.map_err(anyhow::Error::msg)?;
    ensure!(made.data["spec"]["changedBy"].is_string(), "{made:?}");
    let converted = scene.gophers(&gopher, "v2").get("digger").await?;
    ensure!(converted.data["spec"]["host"] == "burrow", "{converted:?}");
    scene.make("Burrow", "home", &[]).await?;
    let crds = ["Gopher", "Burrow"].map(|kind| scene.crd_of(kind));
    scene.give_up("gopher", &crds).await?;
    let during = inventory(&scene).await?;
    ensure!(
        during.len() > before.len() + 25,
        "only {} objects",
        during.len()
    );
    scene.delete::<Subscription>("gopher").await?;
    inventory::is_as(&case.client, &extent(&scene), &before, |_| false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_an_operator_that_runs_and_answers_goes_and_nothing_else() {
    on_cluster(async |case| Box::pin(everything_of_running(case)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_everything_a_crd_with_objects_stays_that_nobody_named() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .owns("Hole");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene
            .subscribe("gopher", "hub", policy("Everything"))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.make("Gopher", "digger", &[]).await?;
        scene.delete::<Subscription>("gopher").await?;
        scene.gone::<Subscription>("gopher").await?;
        ensure!(scene.csvs().await?.is_empty());
        let digger = scene.resources("Gopher").get("digger").await?;
        ensure!(digger.metadata.deletion_timestamp.is_none());
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &scene.crd_of("Hole"), "gone", is_gone)
            .await?;
        crds.delete(&scene.crd_of("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_goes_and_its_crds_custom_resources_and_dependencies_stay() {
    on_cluster(async |case| {
        let scene = stocked(case, true).await?;
        // What it needs is there before, and so stays as it is.
        scene.subscribe("burrow", "hub", json!({})).await?;
        scene.in_phase("burrow.v1.0.0", CsvPhase::Succeeded).await?;
        let before = inventory(&scene).await?;
        scene.subscribe("gopher", "hub", policy("Operator")).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene
            .make("Gopher", "digger", &["example.com/nobody"])
            .await?;
        inventory(&scene).await?;
        scene.delete::<Subscription>("gopher").await?;
        scene.gone::<Subscription>("gopher").await?;
        let (namespace, group) = (&scene.namespace, format!("{}.example.com", scene.namespace));
        let kept = [
            format!("CustomResourceDefinition.apiextensions.k8s.io /gophers.{group}"),
            format!("Gopher.{group} {namespace}/digger"),
        ];
        let may_be = |key: &str| {
            kept.iter().any(|it| it == key)
                // The API server's own view of the kind.
                || key == format!("APIService.apiregistration.k8s.io /v1.{group}")
                // What was decided for both of them is part of the history of the one that stays.
                || key.starts_with(&format!("InstallPlan.operators.coreos.com {namespace}/"))
        };
        inventory::is_as(&case.client, &extent(&scene), &before, may_be).await?;
        let after = inventory(&scene).await?;
        for key in &kept {
            ensure!(after.contains_key(key), "{key} is gone");
        }
        let crd = after[&kept[0]].to_string();
        ensure!(
            !crd.contains("operators.coreos.com/gopher") && !crd.contains("gopher.v1.0.0"),
            "it is still marked: {crd}"
        );
        ensure!(
            !crd.contains("clientConfig"),
            "it is still converted: {crd}"
        );
        let patch = json!({"metadata": {"finalizers": null}});
        let api = scene.resources("Gopher");
        api.patch("digger", &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_policy_nothing_goes_but_the_subscription_and_its_plans() {
    on_cluster(async |case| {
        let scene = stocked(case, true).await?;
        for (name, more) in [("silent", json!({})), ("keep", policy("Keep"))] {
            scene.subscribe("gopher", "hub", more).await?;
            installed(&scene, true).await?;
            let before = inventory(&scene).await?;
            let subscription = scene.api::<Subscription>().get("gopher").await?;
            ensure!(
                subscription
                    .metadata
                    .finalizers
                    .unwrap_or_default()
                    .is_empty(),
                "{name}: it has a finalizer"
            );
            scene.delete::<Subscription>("gopher").await?;
            scene.gone::<Subscription>("gopher").await?;
            let after = inventory(&scene).await?;
            let gone: Vec<&String> = before
                .keys()
                .filter(|it| !after.contains_key(*it))
                .collect();
            let is_expected =
                |key: &&String| key.starts_with("Subscription.") || key.starts_with("InstallPlan.");
            ensure!(gone.iter().all(is_expected), "{name}: {gone:?} are gone");
            let new: Vec<&String> = after
                .keys()
                .filter(|it| !before.contains_key(*it))
                .collect();
            ensure!(new.is_empty(), "{name}: {new:?} are new");
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_resources_are_waited_for_while_the_operator_runs_also_when_the_others_are_kept() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene
            .subscribe("gopher", "hub", policy("Everything"))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.make("Gopher", "held", &["example.com/dig"]).await?;
        scene.make("Gopher", "free", &[]).await?;
        scene.give_up("gopher", &[scene.crd_of("Gopher")]).await?;
        scene.delete::<Subscription>("gopher").await?;
        let is_going = async || {
            let found = scene.resources("Gopher").get("held").await?;
            let is_going = found.metadata.deletion_timestamp.is_some();
            Ok(is_going && scene.resources("Gopher").get_opt("free").await?.is_none())
        };
        case.eventually("deleted", is_going).await?;
        let said = async || {
            let message = removing(&scene, "CustomResourcesPresent").await?;
            Ok(message.contains("held by example.com/dig") && !message.contains("/free"))
        };
        case.eventually("told what holds it", said).await?;
        let message = removing(&scene, "CustomResourcesPresent").await?;
        ensure!(
            message.contains("kubectl patch subscription gopher"),
            "{message}"
        );
        // It runs on, to work the finalizer off.
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        ensure!(message.contains("chandler.delete-crds"), "{message}");
        scene.give_up("gopher", &[]).await?;
        scene.make("Gopher", "kept", &[]).await?;
        let said = async || {
            let message = removing(&scene, "CustomResourcesPresent").await?;
            Ok(message.contains("that somebody deleted"))
        };
        case.eventually("told that it is waited for", said).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let patch = json!({"metadata": {"finalizers": null}});
        let api = scene.resources("Gopher");
        api.patch("held", &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        scene.gone::<Subscription>("gopher").await?;
        ensure!(scene.csvs().await?.is_empty());
        let kept = api.get("kept").await?;
        ensure!(kept.metadata.deletion_timestamp.is_none(), "it goes");
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&scene.crd_of("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_operator_needs_stays_until_that_one_is_gone_or_it_is_kept() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        let crane = scene.operator("crane", "1.0.0").requires("Gopher");
        let channels = [stable([gopher]), stable([crane])];
        scene.image_catalog("hub", &channels).await?;
        scene
            .subscribe("gopher", "hub", policy("Everything"))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.subscribe("crane", "hub", json!({})).await?;
        scene.in_phase("crane.v1.0.0", CsvPhase::Succeeded).await?;
        scene.delete::<Subscription>("gopher").await?;
        let message = removing(&scene, "StillNeeded").await?;
        ensure!(message.contains("crane.v1.0.0"), "{message}");
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.delete::<Subscription>("crane").await?;
        scene.delete_csv("crane.v1.0.0").await?;
        scene.gone::<Subscription>("gopher").await?;
        ensure!(scene.csvs().await?.is_empty());
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_that_was_there_before_its_operator_is_there_after_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .owns("Hole");
        scene.with_crd(&gopher, "Gopher").await?;
        scene.make("Gopher", "old", &[]).await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let before = crds.get(&gopher.crd_name("Gopher")).await?;
        scene
            .image_catalog("hub", &[stable([gopher.clone()])])
            .await?;
        scene
            .subscribe("gopher", "hub", policy("Everything"))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.make("Hole", "new", &[]).await?;
        scene.give_up("gopher", &[scene.crd_of("Hole")]).await?;
        scene.delete::<Subscription>("gopher").await?;
        scene.gone::<Subscription>("gopher").await?;
        let after = crds.get(&gopher.crd_name("Gopher")).await?;
        ensure!(before.metadata.uid == after.metadata.uid, "made anew");
        scene.resources("Gopher").get("old").await?;
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &gopher.crd_name("Hole"), "gone", is_gone)
            .await?;
        let operators = Api::<OperatorObject>::all(case.client.clone());
        let name = format!("gopher.{}", scene.namespace);
        let is_gone = |it: Option<&OperatorObject>| it.is_none();
        case.wait(&operators, &name, "gone", is_gone).await?;
        crds.delete(&gopher.crd_name("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_whatever_the_policy_and_custom_resources_elsewhere_stay() {
    on_cluster(async |case| {
        let mut scene = Scene::for_all(case).await?;
        // The Lease is in the first one: whoever looks after the namespace must not go with it.
        let elsewhere = case.namespace().await?;
        let namespaces = [elsewhere.as_str(), &scene.namespace];
        scene.running = Some(Running::start(case, &namespaces).await?);
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .supports(&["AllNamespaces"]);
        scene
            .image_catalog("hub", &[stable([gopher.clone()])])
            .await?;
        scene
            .subscribe("gopher", "hub", policy("Everything"))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let group = format!("{}.example.com", scene.namespace);
        scene
            .create_in(
                &elsewhere,
                json!({
                    "apiVersion": format!("{group}/v1"), "kind": "Gopher",
                    "metadata": {"name": "abroad"}, "spec": {},
                }),
            )
            .await?;
        scene.give_up("gopher", &[scene.crd_of("Gopher")]).await?;
        let namespaces = Api::<Namespace>::all(case.client.clone());
        namespaces
            .delete(&scene.namespace, &DeleteParams::default())
            .await?;
        // The namespace itself also waits for aggregated APIs of others, which may not answer.
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.gone::<Subscription>("gopher").await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.get(&gopher.crd_name("Gopher")).await?;
        let api = scene.resources_in(&elsewhere, "Gopher");
        api.get("abroad").await?;
        crds.delete(&gopher.crd_name("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_puts_a_finalizer_on_and_its_withdrawal_takes_it_off() {
    on_cluster(async |case| {
        let scene = stocked(case, false).await?;
        scene.subscribe("gopher", "hub", policy("Operator")).await?;
        let has = |it: &Subscription| it.metadata.finalizers.is_some();
        scene.until("gopher", "with a finalizer", has).await?;
        scene
            .patch::<Subscription>("gopher", json!({"spec": policy("Keep")}))
            .await?;
        scene
            .until("gopher", "without a finalizer", |it| !has(it))
            .await?;
        scene
            .patch::<Subscription>("gopher", json!({"spec": policy("Everything")}))
            .await?;
        scene.until("gopher", "with a finalizer", has).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let csvs = scene.api::<ClusterServiceVersion>();
        csvs.delete("gopher.v1.0.0", &DeleteParams::default())
            .await?;
        scene.delete::<Subscription>("gopher").await?;
        scene.gone::<Subscription>("gopher").await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_api_that_two_operators_own_nothing_is_left_when_both_are_removed_at_once() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours(case).await?;
        for (scene, package) in [(&home, "gopher"), (&other, "mole")] {
            scene.group("own").await?;
            let operator = home.operator(package, "1.0.0").owns("Gopher");
            scene.image_catalog("hub", &[stable([operator])]).await?;
            scene
                .subscribe(package, "hub", policy("Everything"))
                .await?;
            scene
                .in_phase(&format!("{package}.v1.0.0"), CsvPhase::Succeeded)
                .await?;
        }
        home.make("Gopher", "mine", &[]).await?;
        let theirs = json!({
            "apiVersion": format!("{}.example.com/v1", home.namespace), "kind": "Gopher",
            "metadata": {"name": "theirs"}, "spec": {},
        });
        home.create_in(&other.namespace, theirs).await?;
        let crds = [home.crd_of("Gopher")];
        home.give_up("gopher", &crds).await?;
        other.give_up("mole", &crds).await?;
        tokio::try_join!(
            home.delete::<Subscription>("gopher"),
            other.delete::<Subscription>("mole"),
        )?;
        home.gone::<Subscription>("gopher").await?;
        other.gone::<Subscription>("mole").await?;
        ensure!(home.csvs().await?.is_empty() && other.csvs().await?.is_empty());
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let name = format!("gophers.{}.example.com", home.namespace);
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &name, "gone", is_gone).await
    })
    .await;
}
