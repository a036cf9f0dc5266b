//! What a removal waits for before something else goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use chandler::api::conditions::{CsvPhase, SubscriptionConditionType};
use chandler::api::subscription::Subscription;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// How often an operator looks after its objects.
const PACE: Duration = Duration::from_millis(100);
const HOLD: &str = "example.com/hold";

fn policy(removal: &str) -> Value {
    json!({"policy": {"removal": removal}})
}

/// gopher, which runs and has an API.
async fn installed(scene: &Scene<'_>, removal: &str) -> anyhow::Result<()> {
    let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
    scene.image_catalog("hub", &[stable([gopher])]).await?;
    scene.subscribe("gopher", "hub", policy(removal)).await?;
    scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
    Ok(())
}

/// Waits until gopher says so.
async fn until_said(scene: &Scene<'_>, words: &str) -> anyhow::Result<()> {
    let is_said = |it: &Subscription| {
        let status = it.status.as_ref();
        let condition = status.and_then(|it| it.condition(&SubscriptionConditionType::Removing));
        condition.is_some_and(|it| it.message.contains(words))
    };
    scene.until("gopher", words, is_said).await?;
    Ok(())
}

async fn free(objects: &Api<DynamicObject>, name: &str) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    objects.patch(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dependency_has_is_there_until_its_user_is_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        let channels = [stable([gopher]), stable([burrow])];
        scene.image_catalog("hub", &channels).await?;
        scene
            .subscribe("gopher", "hub", policy("Everything"))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.make("Gopher", "digger", &[HOLD]).await?;
        scene.make("Burrow", "home", &[]).await?;
        let crds = ["Gopher", "Burrow"].map(|kind| scene.crd_of(kind));
        scene.give_up("gopher", &crds).await?;
        scene.delete::<Subscription>("gopher").await?;
        // The operator of gophers may need its burrow until it has worked off its gophers.
        until_said(&scene, &format!("digger (held by {HOLD})")).await?;
        let generated = format!("burrow-stable-hub-{}", scene.namespace);
        let waits = |it: &Subscription| {
            let status = it.status.as_ref();
            let said = status.and_then(|it| it.condition(&SubscriptionConditionType::Removing));
            said.is_some_and(|it| it.message.contains("is being removed before it"))
        };
        scene
            .until(&generated, "waiting for its user", waits)
            .await?;
        let home = scene.resources("Burrow").get("home").await?;
        ensure!(home.metadata.deletion_timestamp.is_none(), "it goes");
        free(&scene.resources("Gopher"), "digger").await?;
        scene.gone::<Subscription>("gopher").await?;
        scene.gone::<Subscription>(&generated).await?;
        let all = Api::<CustomResourceDefinition>::all(case.client.clone());
        for crd in &crds {
            let is_gone = |it: Option<&CustomResourceDefinition>| it.is_none();
            case.wait(&all, crd, "gone", is_gone).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_makes_its_objects_anew_goes_before_them() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        installed(&scene, "Everything").await?;
        scene.make("Gopher", "default", &[]).await?;
        scene.give_up("gopher", &[scene.crd_of("Gopher")]).await?;
        // What such operators do, as long as they are there.
        let is_over = Arc::new(AtomicBool::new(false));
        let csvs = scene.api::<chandler::api::cluster_service_version::ClusterServiceVersion>();
        let gophers = scene.resources("Gopher");
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": format!("{}.example.com/v1", scene.namespace), "kind": "Gopher",
            "metadata": {"name": "default"}, "spec": {},
        }))?;
        let seen = is_over.clone();
        let operator = tokio::spawn(async move {
            while !seen.load(Ordering::Relaxed) {
                let runs = csvs.get_opt("gopher.v1.0.0").await;
                let runs = runs.ok().flatten();
                if runs.is_some_and(|it| it.metadata.deletion_timestamp.is_none()) {
                    let _ = gophers.create(&PostParams::default(), &object).await;
                }
                tokio::time::sleep(PACE).await;
            }
        });
        scene.delete::<Subscription>("gopher").await?;
        let removed = scene.gone::<Subscription>("gopher").await;
        is_over.store(true, Ordering::Relaxed);
        operator.await?;
        removed?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &scene.crd_of("Gopher"), "gone", is_gone)
            .await?;
        Ok(())
    })
    .await;
}

/// Works off the finalizers of gophers that are on their way out, and gives the others.
async fn work_off(gophers: &Api<DynamicObject>) -> anyhow::Result<Vec<DynamicObject>> {
    let all = gophers.list(&ListParams::default()).await?.items;
    let is_going = |it: &DynamicObject| it.metadata.deletion_timestamp.is_some();
    let (going, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_going);
    for gopher in going {
        free(gophers, &gopher.name_any()).await?;
    }
    Ok(others)
}

/// What operators do that cannot do without an object of theirs: before one is gone they make another, with a
/// finalizer that they work off. Tells the longest time that one was left alone.
async fn make_anew(
    gophers: Api<DynamicObject>,
    mut object: DynamicObject,
    left: watch::Sender<Duration>,
) {
    let by_name = PostParams {
        field_manager: Some("gopher-operator".to_owned()),
        ..PostParams::default()
    };
    let is_going = |it: &DynamicObject| it.metadata.deletion_timestamp.is_some();
    let (mut since, mut count) = (Instant::now(), 0);
    loop {
        let all = gophers.list(&ListParams::default()).await;
        if all.is_ok_and(|all| all.iter().all(is_going)) {
            count += 1;
            object.metadata.name = Some(format!("default-{count}"));
            let _ = gophers.create(&by_name, &object).await;
            since = Instant::now();
        }
        left.send_if_modified(|left| {
            let is_longer = since.elapsed() > *left;
            *left = since.elapsed().max(*left);
            is_longer
        });
        // It tries again.
        let _ = work_off(&gophers).await;
        tokio::time::sleep(PACE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_with_finalizers_is_told_and_left_for_longer_and_longer() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        installed(&scene, "Everything").await?;
        scene.make("Gopher", "default", &[HOLD]).await?;
        scene.give_up("gopher", &[scene.crd_of("Gopher")]).await?;
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": format!("{}.example.com/v1", scene.namespace), "kind": "Gopher",
            "metadata": {"finalizers": [HOLD]}, "spec": {},
        }))?;
        let gophers = scene.resources("Gopher");
        scene.delete::<Subscription>("gopher").await?;
        let (left, mut longest) = watch::channel(Duration::ZERO);
        let operator = tokio::spawn(make_anew(gophers.clone(), object, left));
        let words = "made after the removal had begun, by gopher-operator: Gopher";
        let told = until_said(&scene, words).await;
        let is_left = longest.wait_for(|left| *left > Duration::from_secs(4));
        let is_left = tokio::time::timeout(Duration::from_mins(2), is_left).await;
        let is_left = is_left.is_ok_and(|it| it.is_ok());
        operator.abort();
        let _ = operator.await;
        told?;
        ensure!(is_left, "they are deleted again and again");
        // The operator is still there: it has to work off what is left.
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let is_worked_off = async || Ok(work_off(&gophers).await?.is_empty());
        case.eventually("worked off", is_worked_off).await?;
        scene.gone::<Subscription>("gopher").await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &scene.crd_of("Gopher"), "gone", is_gone)
            .await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_stays_until_it_has_worked_off_what_somebody_deleted() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        installed(&scene, "Operator").await?;
        scene.make("Gopher", "digger", &[HOLD]).await?;
        scene.make("Gopher", "other", &[]).await?;
        let gophers = scene.resources("Gopher");
        gophers.delete("digger", &DeleteParams::default()).await?;
        scene.delete::<Subscription>("gopher").await?;
        until_said(&scene, "that somebody deleted: Gopher").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        free(&gophers, "digger").await?;
        scene.gone::<Subscription>("gopher").await?;
        ensure!(scene.csvs().await?.is_empty());
        let other = gophers.get("other").await?;
        ensure!(other.metadata.deletion_timestamp.is_none(), "it goes");
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&scene.crd_of("Gopher"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_that_is_held_on_its_way_out_keeps_no_subscription() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        installed(&scene, "Operator").await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let name = scene.crd_of("Gopher");
        let hold =
            |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        crds.patch(&name, &PatchParams::default(), &hold(json!([HOLD])))
            .await?;
        crds.delete(&name, &DeleteParams::default()).await?;
        let is_going = |crd: Option<&CustomResourceDefinition>| {
            crd.is_some_and(|crd| crd.metadata.deletion_timestamp.is_some())
        };
        case.wait(&crds, &name, "going", is_going).await?;
        scene.delete::<Subscription>("gopher").await?;
        let gone = scene.gone::<Subscription>("gopher").await;
        let live = crds.get(&name).await?;
        ensure!(live.finalizers().contains(&HOLD.to_owned()));
        crds.patch(&name, &PatchParams::default(), &hold(Value::Null))
            .await?;
        gone
    })
    .await;
}
