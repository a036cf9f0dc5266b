//! Bundles on their way from registries that are slow, silent or empty.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use chandler::api::conditions::{InstallPlanPhase, SubscriptionConditionType as Type};
use chandler::api::install_plan::InstallPlan;
use chandler::api::operator_group::OperatorGroup;
use chandler::oci::Digest;
use chandler::oci::blob_store::BlobStore;
use chandler::oci::pull::blobs_of;
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::proxy::{Fault, Proxy};
use crate::support::scene::{Scene, condition, manual};
use crate::support::wares::{blobs, stable};

const TIMEOUT: &str = "operatorframework.io/bundle-unpack-timeout";
const RETRY_INTERVAL: &str = "operatorframework.io/bundle-unpack-min-retry-interval";

/// A scene whose catalog `hub` has its bundles behind a proxy.
async fn behind_a_proxy(case: &Case) -> anyhow::Result<(Scene<'_>, Proxy)> {
    let registry = case.cluster.registry.clone().unwrap_or_default();
    let proxy = Proxy::start(&registry).await?;
    let scene = Scene::with(case, |settings| {
        let plain = &mut settings.registries.plain_http;
        plain.insert(proxy.address.clone());
    })
    .await?;
    scene.group("own").await?;
    let gopher = scene.operator("gopher", "1.0.0");
    let image = scene.shop().push_bundle(&gopher).await?;
    let image = image.replace(&registry, &proxy.address);
    let content = blobs(&[stable([gopher])], &[("gopher.v1.0.0".to_owned(), image)]);
    let catalog = scene.shop().push_blobs("hub", &content).await?;
    scene.catalog_of("hub", &catalog, json!({})).await?;
    scene.ready_catalog("hub").await?;
    Ok((scene, proxy))
}

async fn annotate(scene: &Scene<'_>, key: &str, value: Value) -> anyhow::Result<()> {
    let patch = json!({"metadata": {"annotations": {key: value}}});
    scene.patch::<OperatorGroup>("own", patch).await
}

#[tokio::test]
async fn bundles_that_take_their_time_are_on_their_way_and_hold_up_nobody() {
    on_cluster(async |case| {
        let (scene, proxy) = behind_a_proxy(case).await?;
        scene
            .config_map_catalog("near", &[stable([scene.operator("mole", "1.0.0")])])
            .await?;
        scene.ready_catalog("near").await?;
        let drip = Fault::Drip(64, Duration::from_millis(200));
        proxy.fault("GET", "gopher-bundle/blobs/", drip, 100);
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.subscribe("mole", "near", json!({})).await?;
        let underway = scene.said("gopher", Type::BundleUnpacking).await?;
        ensure!(underway.reason == "UnpackingInProgress", "{underway:?}");
        ensure!(underway.message.contains("gopher-bundle"), "{underway:?}");
        scene.at_latest("mole", "mole.v1.0.0").await?;
        let done = scene.at_latest("gopher", "gopher.v1.0.0").await?;
        for type_ in [Type::BundleUnpacking, Type::BundleUnpackFailed] {
            ensure!(condition(&done, &type_).is_none(), "{:?}", done.status);
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_attempt_takes_no_longer_than_the_group_says() {
    on_cluster(async |case| {
        let (scene, proxy) = behind_a_proxy(case).await?;
        annotate(&scene, TIMEOUT, json!("2s")).await?;
        // Slower than that.
        let drip = Fault::Drip(1, Duration::from_secs(1));
        proxy.fault("GET", "gopher-bundle/blobs/", drip, 3);
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::BundleUnpackFailed).await?;
        ensure!(failed.reason == "BundleUnpackFailed", "{failed:?}");
        ensure!(
            failed.message.contains("Bundle unpacking failed")
                && failed.message.contains("DeadlineExceeded"),
            "{failed:?}"
        );
        // The network recovers.
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.unsaid("gopher", Type::BundleUnpackFailed).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_annotation_of_the_group_that_makes_no_sense_is_said() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        annotate(&scene, TIMEOUT, json!("soon")).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.said("gopher", Type::ResolutionFailed).await?;
        ensure!(scene.csvs().await?.is_empty());
        for key in [TIMEOUT, RETRY_INTERVAL] {
            annotate(&scene, key, json!("soon")).await?;
            let failed = scene.said("gopher", Type::ResolutionFailed).await?;
            ensure!(failed.reason == "ErrorPreventedResolution", "{failed:?}");
            ensure!(
                failed.message.contains(&format!("{key}: soon")),
                "{failed:?}"
            );
            annotate(&scene, key, json!("1m")).await?;
            scene.unsaid("gopher", Type::ResolutionFailed).await?;
        }
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_failed_is_not_fetched_again_before_the_group_allows_it() {
    on_cluster(async |case| {
        let (scene, proxy) = behind_a_proxy(case).await?;
        annotate(&scene, RETRY_INTERVAL, json!("1h")).await?;
        let missing = Fault::status(404, &[]);
        proxy.fault("GET", "gopher-bundle/manifests/", missing.clone(), 1);
        proxy.fault("HEAD", "gopher-bundle/manifests/", missing, 1);
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.said("gopher", Type::BundleUnpackFailed).await?;
        let asked = proxy.requests("gopher-bundle").len();
        // Somebody has the namespace looked at again.
        annotate(&scene, "looked-at", json!("again")).await?;
        scene.subscribe("no-such-package", "hub", json!({})).await?;
        scene
            .said("no-such-package", Type::ResolutionFailed)
            .await?;
        ensure!(
            proxy.requests("gopher-bundle").len() == asked,
            "it was asked again"
        );
        annotate(&scene, RETRY_INTERVAL, Value::Null).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        // What is there is not fetched again either.
        let asked = proxy.requests("gopher-bundle").len();
        annotate(&scene, "looked-at", json!("once more")).await?;
        scene.subscribe("nor-this-one", "hub", json!({})).await?;
        scene.said("nor-this-one", Type::ResolutionFailed).await?;
        ensure!(
            proxy.requests("gopher-bundle").len() == asked,
            "it was fetched again"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_bundle_that_cannot_be_had_is_mended_by_the_catalog() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let image = scene.shop().push_bundle(&gopher).await?;
        let channels = [stable([gopher])];
        let named =
            |image: &str| blobs(&channels, &[("gopher.v1.0.0".to_owned(), image.to_owned())]);
        let wrong = image.replace("gopher-bundle", "nowhere");
        let catalog = scene.shop().push_blobs("hub", &named(&wrong)).await?;
        scene.catalog_of("hub", &catalog, json!({})).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::BundleUnpackFailed).await?;
        ensure!(failed.message.contains("nowhere"), "{failed:?}");
        scene.shop().push_blobs("hub", &named(&image)).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.unsaid("gopher", Type::BundleUnpackFailed).await
    })
    .await;
}

/// The blobs in a cache.
fn cached(cache: &Path) -> anyhow::Result<BTreeSet<String>> {
    let entries = fs_err::read_dir(cache.join("blobs/sha256"))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

fn hex(digests: &BTreeSet<Digest>) -> BTreeSet<String> {
    digests
        .iter()
        .map(|digest| digest.hex().to_owned())
        .collect()
}

#[tokio::test]
async fn the_cache_keeps_what_catalogs_and_living_plans_need_and_nothing_else() {
    on_cluster(async |case| {
        let cache = tempfile::tempdir()?;
        let scene = Scene::with(case, |settings| {
            settings.cache = cache.path().to_owned();
            settings.cache_rest = Duration::from_secs(3);
        })
        .await?;
        scene.group("own").await?;
        let channels = [
            stable([scene.operator("gopher", "1.0.0")]),
            stable([scene.operator("mole", "1.0.0")]),
        ];
        scene.image_catalog("hub", &channels).await?;
        scene.subscribe("mole", "hub", manual()).await?;
        let waiting = scene
            .plan_of("mole", InstallPlanPhase::RequiresApproval)
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let store = BlobStore::open(cache.path())?;
        let digest = scene
            .ready_catalog("hub")
            .await?
            .status
            .unwrap_or_default()
            .digest;
        let mut needed = hex(&blobs_of(&digest.parse()?, &store)?);
        let bundle: Digest = bundle_of(&waiting).parse()?;
        needed.extend(hex(&blobs_of(&bundle, &store)?));
        ensure!(needed.len() >= 6, "two images have more than {needed:?}");
        case.eventually("down to what is needed", async || {
            Ok(cached(cache.path())? == needed)
        })
        .await?;
        scene.approve(&waiting).await?;
        scene.at_latest("mole", "mole.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_registry_that_drips_keeps_nobody_from_clearing_the_cache() {
    on_cluster(async |case| {
        let registry = case.cluster.registry.clone().unwrap_or_default();
        let proxy = Proxy::start(&registry).await?;
        let cache = tempfile::tempdir()?;
        let scene = Scene::with(case, |settings| {
            settings.cache = cache.path().to_owned();
            settings.cache_rest = Duration::from_secs(1);
            let plain = &mut settings.registries.plain_http;
            plain.insert(proxy.address.clone());
        })
        .await?;
        scene.group("own").await?;
        let slow = [stable([scene.operator("snail", "1.0.0")])];
        let slow = scene.shop().push_catalog("slow", &slow).await?;
        let drip = Fault::Drip(1, Duration::from_secs(1));
        proxy.fault("GET", "/blobs/", drip, 1_000);
        let slow = slow.replace(&registry, &proxy.address);
        scene.catalog_of("slow", &slow, json!({})).await?;
        case.eventually("dripping", async || {
            Ok(!proxy.requests("/blobs/").is_empty())
        })
        .await?;
        scene
            .image_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let store = BlobStore::open(cache.path())?;
        let bundle: Digest = bundle_of(&plan).parse()?;
        case.eventually("rid of a bundle that is installed", async || {
            Ok(store.size(&bundle).is_none())
        })
        .await?;
        let blobs = proxy.requests("slow/blobs/");
        ensure!(blobs.iter().all(|it| it.sent < 1_000), "it came: {blobs:?}");
        scene.ready_catalog("hub").await?;
        Ok(())
    })
    .await;
}

/// The digest of the bundle of a plan.
fn bundle_of(plan: &InstallPlan) -> String {
    let status = plan.status.clone().unwrap_or_default();
    let manifest = &status.plan[0].resource.manifest;
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    let image = manifest["image"].as_str().unwrap_or_default();
    image.rsplit('@').next().unwrap_or_default().to_owned()
}
