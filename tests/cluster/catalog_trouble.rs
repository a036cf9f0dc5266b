//! Catalogs that are slow, silent, shared or half configured, and what they may not do to others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::ensure;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::conditions::{CatalogSourceReason, ConnectionState, InstallPlanPhase};
use chandler::api::install_plan::InstallPlan;
use chandler::controller::Settings;
use chandler::version::Version;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::proxy::{Fault, Proxy};
use crate::support::scene::{Scene, manual, state};
use crate::support::wares::{blobs, stable};

fn message(catalog: &CatalogSource) -> String {
    catalog.status.clone().unwrap_or_default().message
}

/// A scene whose registry is reached through a proxy.
async fn behind_a_proxy(case: &Case) -> anyhow::Result<(Scene<'_>, Proxy)> {
    let registry = case.cluster.registry.clone().unwrap_or_default();
    let proxy = Proxy::start(&registry).await?;
    let scene = Scene::with(case, plain(&proxy)).await?;
    scene.group("own").await?;
    Ok((scene, proxy))
}

fn plain(proxy: &Proxy) -> impl FnOnce(&mut Settings) + use<> {
    let address = proxy.address.clone();
    move |settings: &mut Settings| {
        settings.registries.plain_http.insert(address);
    }
}

#[tokio::test]
async fn registries_that_stop_answering_in_the_middle_hold_up_no_other_catalog() {
    on_cluster(async |case| {
        // Connections are taken, and nothing is said.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = silent.local_addr()?.to_string();
        let scene = Scene::new(case).await?;
        // More than are looked at at once.
        for number in 0..70 {
            scene
                .catalog_at(&format!("silent-{number}"), &address)
                .await?;
        }
        scene
            .image_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.ready_catalog("hub").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn plans_whose_bundles_take_their_time_hold_up_no_other_plan() {
    on_cluster(async |case| {
        let (mut scene, proxy) = behind_a_proxy(case).await?;
        let names = ["ant", "bee", "cat", "dog", "eel"];
        let operators = names.map(|name| scene.operator(name, "1.0.0"));
        let mut images = Vec::new();
        for operator in &operators {
            let image = scene.shop().push_bundle(operator).await?;
            let registry = case.cluster.registry.clone().unwrap_or_default();
            let name = format!("{}.v1.0.0", operator.package);
            images.push((name, image.replace(&registry, &proxy.address)));
        }
        let content = blobs(&operators.map(|it| stable([it])), &images);
        let image = scene.shop().push_blobs("far", &content).await?;
        scene.catalog_of("far", &image, json!({})).await?;
        scene
            .config_map_catalog("near", &[stable([scene.operator("mole", "1.0.0")])])
            .await?;
        let mut plans = Vec::new();
        for name in names {
            scene.subscribe(name, "far", manual()).await?;
            plans.push(
                scene
                    .plan_of(name, InstallPlanPhase::RequiresApproval)
                    .await?,
            );
        }
        // Another replica takes over, with nothing in its cache, and the network is bad.
        scene.stop().await?;
        let asked = |name: &str| proxy.requests(&format!("{name}-bundle/blobs/")).len();
        let before = BTreeMap::from(names.map(|name| (name, asked(name))));
        let drip = Fault::Drip(1, Duration::from_secs(1));
        proxy.fault("GET", "-bundle/blobs/", drip, 10_000);
        let anew = Running::start_with(case, &[&scene.namespace], plain(&proxy)).await?;
        scene.running = Some(anew);
        for plan in &plans {
            scene.approve(plan).await?;
        }
        case.eventually("at all bundles", async || {
            Ok(names.iter().all(|name| asked(name) > before[name]))
        })
        .await?;
        scene.subscribe("mole", "near", json!({})).await?;
        scene.at_latest("mole", "mole.v1.0.0").await?;
        let first = plans[0].name_any();
        scene
            .until(&first, "fetching", |plan: &InstallPlan| {
                let status = plan.status.clone().unwrap_or_default();
                status.phase == InstallPlanPhase::Installing && status.message.contains("fetching")
            })
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn registries_are_asked_at_the_interval_and_nothing_is_fetched_twice() {
    on_cluster(async |case| {
        let (scene, proxy) = behind_a_proxy(case).await?;
        let registry = case.cluster.registry.clone().unwrap_or_default();
        let interval = |text: &str| json!({"updateStrategy": {"registryPoll": {"interval": text}}});
        for (name, text) in [("often", "1s"), ("rarely", "1h")] {
            let channels = [stable([scene.operator(name, "1.0.0")])];
            let image = scene.shop().push_catalog(name, &channels).await?;
            let image = image.replace(&registry, &proxy.address);
            scene.catalog_of(name, &image, interval(text)).await?;
            scene.ready_catalog(name).await?;
        }
        let asked = |name: &str| {
            let requests = proxy.requests("/manifests/");
            let path = format!("/{name}/");
            requests.iter().filter(|it| it.path.contains(&path)).count()
        };
        let (often, rarely) = (asked("often"), asked("rarely"));
        let fetched = proxy.requests("/blobs/").len();
        ensure!(rarely > 0 && fetched > 0, "{:?}", proxy.requests(""));
        case.eventually("asked again and again", async || {
            Ok(asked("often") >= often + 4)
        })
        .await?;
        ensure!(asked("rarely") == rarely, "{:?}", proxy.requests(""));
        let again = proxy.requests("/blobs/").len();
        ensure!(again == fetched, "{:?}", proxy.requests("/blobs/"));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_olm_needs_for_its_pods_is_accepted() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        let image = scene.shop().push_catalog("hub", &channels).await?;
        let config = json!({"grpcPodConfig": {
            "securityContextConfig": "restricted",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                ]}],
            }}},
            "priorityClassName": "system-cluster-critical",
            "memoryTarget": "30Mi",
        }});
        scene.catalog_of("hub", &image, config).await?;
        let catalog = scene.ready_catalog("hub").await?;
        let said = catalog.spec.grpc_pod_config.unwrap_or_default();
        ensure!(said.priority_class_name.as_deref() == Some("system-cluster-critical"));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_catalog_is_loaded_after_a_restart_without_any_cache() {
    on_cluster(async |case| {
        let mut scene = Scene::new(case).await?;
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        scene.image_catalog("hub", &channels).await?;
        let before = scene.ready_catalog("hub").await?.status.unwrap_or_default();
        scene.stop().await?;
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let after = scene.ready_catalog("hub").await?.status.unwrap_or_default();
        ensure!(before.digest == after.digest, "{before:?} {after:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_config_map_of_two_catalogs_stays_until_both_are_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        scene.config_map_catalog("first", &channels).await?;
        scene.ready_catalog("first").await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": "second"},
                "spec": {"sourceType": "internal", "configMap": "first"},
            }))
            .await?;
        let owners = |map: &ConfigMap| -> BTreeSet<String> {
            let owners = map.owner_references().iter();
            owners.map(|owner| owner.name.clone()).collect()
        };
        let both = BTreeSet::from(["first".to_owned(), "second".to_owned()]);
        scene
            .until("first", "owned by both", |map: &ConfigMap| {
                owners(map) == both
            })
            .await?;
        scene.delete::<CatalogSource>("first").await?;
        // The garbage collector came by, and left it.
        let second = BTreeSet::from(["second".to_owned()]);
        scene
            .until("first", "owned by the second", |map: &ConfigMap| {
                owners(map) == second
            })
            .await?;
        scene.subscribe("gopher", "second", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.delete::<CatalogSource>("second").await?;
        scene.gone::<ConfigMap>("first").await
    })
    .await;
}

#[tokio::test]
async fn a_pull_secret_that_is_missing_keeps_nobody_from_a_public_image() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        let image = scene.shop().push_catalog("hub", &channels).await?;
        let secrets = json!({"secrets": ["forgotten"]});
        scene.catalog_of("hub", &image, secrets).await?;
        let catalog = scene.ready_catalog("hub").await?;
        let secret = format!("pull secret {}/forgotten is not there", scene.namespace);
        ensure!(message(&catalog).contains(&secret), "{}", message(&catalog));
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene
            .patch::<CatalogSource>("hub", json!({"spec": {"secrets": null}}))
            .await?;
        scene
            .until("hub", "without a message", |it: &CatalogSource| {
                message(it).is_empty()
            })
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_spec_that_is_broken_later_serves_nothing_and_one_that_is_mended_serves_again() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        scene.image_catalog("hub", &channels).await?;
        let ready = scene.ready_catalog("hub").await?;
        let broken = [
            (
                json!({"image": "", "address": ""}),
                "image and address unset",
            ),
            (
                json!({"image": "oci:/var/cache/chandler"}),
                "is no image of a registry",
            ),
        ];
        for (spec, words) in broken {
            let whole = json!({"spec": spec});
            scene.patch::<CatalogSource>("hub", whole).await?;
            let invalid = scene
                .until("hub", words, |it: &CatalogSource| {
                    let status = it.status.clone().unwrap_or_default();
                    status.reason == CatalogSourceReason::SpecInvalid
                        && status.message.contains(words)
                })
                .await?;
            ensure!(state(&invalid) == Some(ConnectionState::TransientFailure));
            let status = invalid.status.unwrap_or_default();
            ensure!(status.digest.is_empty(), "{status:?}");
            let mended = json!({"spec": {"image": ready.spec.image}});
            scene.patch::<CatalogSource>("hub", mended).await?;
            let again = scene.ready_catalog("hub").await?;
            let digest = |it: &CatalogSource| it.status.clone().unwrap_or_default().digest;
            ensure!(digest(&again) == digest(&ready), "{again:?}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_depends_on_the_version_of_the_cluster_follows_its_upgrade() {
    on_cluster(async |case| {
        // An older one, which the cluster has no more when it is asked.
        let scene = Scene::with(case, |settings| {
            settings.kube_version = Some(Version::new(1, 20, 0));
            settings.version_rest = Duration::from_millis(500);
        })
        .await?;
        let version = case.client.apiserver_version().await?;
        let name = format!("hub-{}", version.minor);
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        let image = scene.shop().push_catalog(&name, &channels).await?;
        let template = image.replace(&name, "hub-{kube_minor_version}");
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": "hub", "annotations": {"olm.catalogImageTemplate": template}},
                "spec": {"sourceType": "grpc", "image": "example.com/to/be:replaced"},
            }))
            .await?;
        let catalog = scene.ready_catalog("hub").await?;
        ensure!(catalog.spec.image == image, "{}", catalog.spec.image);
        Ok(())
    })
    .await;
}
