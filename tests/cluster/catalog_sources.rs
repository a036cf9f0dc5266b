//! `CatalogSource`s on a real API server: read without a pod, kept current, and said how they are.

use anyhow::ensure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{
    CatalogSourceReason, ConnectionState, CsvPhase, InstallPlanPhase, SubscriptionConditionType,
};
use chandler::api::subscription::Subscription;
use chandler::controller::Settings;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::controllers::Running;
use crate::support::life::phase;
use crate::support::registry::{PASSWORD, Registry, USER};
use crate::support::scene::{Scene, manual, state};
use crate::support::wares::{Shop, blobs, config_map_data, stable};

fn message(catalog: &CatalogSource) -> (CatalogSourceReason, String) {
    let status = catalog.status.clone().unwrap_or_default();
    (status.reason, status.message)
}

#[tokio::test]
async fn a_catalog_image_is_served_without_any_pod() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .image_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        let catalog = scene.ready_catalog("hub").await?;
        let status = catalog.status.unwrap_or_default();
        ensure!(status.digest.starts_with("sha256:"), "{status:?}");
        ensure!(status.registry_service.is_some(), "{status:?}");
        ensure!(scene.names::<Pod>().await?.is_empty(), "a pod serves");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_catalog_says_what_its_spec_lacks() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let specs = [
            (
                "nothing",
                json!({"sourceType": "grpc"}),
                "image and address unset",
            ),
            (
                "internal",
                json!({"sourceType": "internal"}),
                "configmap name unset: must be set for sourcetype: internal",
            ),
            (
                "configmap",
                json!({"sourceType": "configmap"}),
                "configmap name unset: must be set for sourcetype: configmap",
            ),
            (
                "unknown",
                json!({"sourceType": "nope"}),
                "unknown sourcetype: nope",
            ),
        ];
        for (name, spec, words) in specs {
            scene
                .create(json!({
                    "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                    "metadata": {"name": name}, "spec": spec,
                }))
                .await?;
            scene
                .until(name, words, |catalog: &CatalogSource| {
                    let (reason, message) = message(catalog);
                    reason == CatalogSourceReason::SpecInvalid && message.contains(words)
                })
                .await?;
            // Whoever wants something from it is told so.
            let subscription = format!("to-{name}");
            scene
                .subscribe(&subscription, name, json!({"name": "gopher"}))
                .await?;
            let said = scene
                .said(
                    &subscription,
                    SubscriptionConditionType::CatalogSourcesUnhealthy,
                )
                .await?;
            let targeted = format!(
                "targeted catalogsource {}/{name} unhealthy",
                scene.namespace
            );
            ensure!(said.message == targeted, "{said:?}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_new_image_under_the_same_tag_is_noticed_and_served() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        let before = scene
            .ready_catalog("hub")
            .await?
            .status
            .unwrap_or_default()
            .digest;
        let second = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        scene
            .shop()
            .push_catalog("hub", &[stable([first, second])])
            .await?;
        scene
            .until("hub", "another digest", |catalog: &CatalogSource| {
                let status = catalog.status.clone().unwrap_or_default();
                status.digest != before && state(catalog) == Some(ConnectionState::Ready)
            })
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_bad_polling_interval_is_said_and_the_message_goes_when_it_is_mended() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let image = scene
            .shop()
            .push_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        let interval = |text: &str| json!({"updateStrategy": {"registryPoll": {"interval": text}}});
        scene
            .catalog_of("hub", &image, interval("45mError.code"))
            .await?;
        scene
            .until(
                "hub",
                "polled at the default interval",
                |catalog: &CatalogSource| {
                    let (reason, message) = message(catalog);
                    reason == CatalogSourceReason::InvalidInterval
                        && message.contains("Using the default value of 15m0s instead")
                },
            )
            .await?;
        scene
            .patch::<CatalogSource>("hub", json!({"spec": interval("45m")}))
            .await?;
        scene
            .until("hub", "without a message", |catalog: &CatalogSource| {
                message(catalog) == (CatalogSourceReason::default(), String::new())
            })
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_template_in_the_annotation_decides_the_image() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let version = case.client.apiserver_version().await?;
        let name = format!("hub-{}", version.minor);
        let image = scene
            .shop()
            .push_catalog(&name, &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
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
        let conditions = catalog.status.unwrap_or_default().conditions;
        ensure!(conditions.len() == 2, "{conditions:?}");
        ensure!(
            conditions.iter().any(|it| it.message == image),
            "{conditions:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_changed_config_map_is_a_changed_catalog() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.ready_catalog("hub").await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let second = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        scene.restock("hub", &[stable([first, second])]).await?;
        scene
            .until("gopher", "offered the new version", |it: &Subscription| {
                it.status
                    .as_ref()
                    .is_some_and(|status| status.current_csv == "gopher.v1.1.0")
            })
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn another_config_map_is_another_catalog() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        let before = scene.ready_catalog("hub").await?;
        let data = config_map_data(&[stable([scene.operator("mole", "1.0.0")])]);
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": data,
            }))
            .await?;
        scene
            .patch::<CatalogSource>("hub", json!({"spec": {"configMap": "other"}}))
            .await?;
        scene.subscribe("mole", "hub", json!({})).await?;
        scene.at_latest("mole", "mole.v1.0.0").await?;
        let after = scene
            .until("hub", "with the other ConfigMap", |it: &CatalogSource| {
                let reference = it.status.as_ref().map(|it| it.config_map_reference.as_ref());
                reference.flatten().is_some_and(|it| it.name == "other")
            })
            .await?;
        let digest = |it: CatalogSource| it.status.unwrap_or_default().digest;
        ensure!(digest(before) != digest(after));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_catalog_whose_config_map_is_missing_says_so_and_recovers() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": "hub"}, "spec": {"sourceType": "internal", "configMap": "hub"},
            }))
            .await?;
        scene
            .until("hub", "without a ConfigMap", |catalog: &CatalogSource| {
                let (reason, message) = message(catalog);
                reason == CatalogSourceReason::ConfigMap && message.contains("is not there")
            })
            .await?;
        let data = config_map_data(&[stable([scene.operator("gopher", "1.0.0")])]);
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hub"}, "data": data,
            }))
            .await?;
        scene.ready_catalog("hub").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_catalog_goes_on_serving_through_an_outage_and_a_restart() {
    on_cluster(async |case| {
        let cache = tempfile::tempdir()?;
        let same_cache = |settings: &mut Settings| settings.cache = cache.path().to_owned();
        let mut scene = Scene::with(case, same_cache).await?;
        scene.group("own").await?;
        let channels = [
            stable([scene.operator("gopher", "1.0.0")]),
            stable([scene.operator("mole", "1.0.0")]),
        ];
        scene.image_catalog("hub", &channels).await?;
        let before = scene
            .ready_catalog("hub")
            .await?
            .status
            .unwrap_or_default()
            .digest;
        // Nobody listens there, and so the registry cannot be asked any more.
        let image = "127.0.0.1:1/gone/catalog:latest";
        scene
            .patch::<CatalogSource>("hub", json!({"spec": {"image": image}}))
            .await?;
        let stale = scene
            .until("hub", "stale", |catalog: &CatalogSource| {
                state(catalog) == Some(ConnectionState::TransientFailure)
            })
            .await?;
        let status = stale.status.unwrap_or_default();
        ensure!(status.digest == before, "{status:?}");
        ensure!(
            status.message.contains("goes on serving"),
            "{}",
            status.message
        );
        let wish = manual();
        scene.subscribe("gopher", "hub", wish.clone()).await?;
        scene
            .said("gopher", SubscriptionConditionType::Resolved)
            .await?;
        scene.stop().await?;
        let anew = Running::start_with(case, &[&scene.namespace], same_cache).await?;
        scene.running = Some(anew);
        scene.subscribe("mole", "hub", wish).await?;
        scene
            .said("mole", SubscriptionConditionType::Resolved)
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_folder_of_the_image_can_be_named_by_extract_content() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        let image = scene.shop().push_catalog("hub", &channels).await?;
        let content = |folder: &str| {
            json!({"grpcPodConfig": {"extractContent": {"catalogDir": folder, "cacheDir": "/tmp/cache"}}})
        };
        scene.catalog_of("right", &image, content("/configs")).await?;
        scene.catalog_of("wrong", &image, content("/elsewhere")).await?;
        scene.ready_catalog("right").await?;
        let wrong = scene
            .until("wrong", "empty", |catalog: &CatalogSource| {
                state(catalog) == Some(ConnectionState::TransientFailure)
            })
            .await?;
        let (_, message) = message(&wrong);
        ensure!(message.contains("is no catalog"), "{message}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_broken_package_is_left_out_and_said_and_the_rest_serves() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let mut content = blobs(&[stable([scene.operator("gopher", "1.0.0")])], &[]);
        content
            .push(json!({"schema": "olm.package", "name": "broken", "defaultChannel": "nowhere"}));
        let image = scene.shop().push_blobs("hub", &content).await?;
        scene.catalog_of("hub", &image, json!({})).await?;
        let catalog = scene.ready_catalog("hub").await?;
        let (reason, message) = message(&catalog);
        ensure!(reason == CatalogSourceReason::default(), "{reason:?}");
        ensure!(message.contains("broken"), "{message}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_deleted_catalog_is_missed_by_its_subscriptions_and_what_runs_stays() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let running = scene.api::<Deployment>().get("gopher").await?;
        scene
            .api::<CatalogSource>()
            .delete("hub", &DeleteParams::default())
            .await?;
        let said = scene
            .said("gopher", SubscriptionConditionType::CatalogSourcesUnhealthy)
            .await?;
        ensure!(!said.message.is_empty(), "{said:?}");
        let csv = scene
            .api::<ClusterServiceVersion>()
            .get("gopher.v1.0.0")
            .await?;
        ensure!(phase(&csv) == CsvPhase::Succeeded, "{csv:?}");
        let still = scene.api::<Deployment>().get("gopher").await?;
        ensure!(still.metadata.generation == running.metadata.generation);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_global_catalog_serves_other_namespaces_and_its_news_reach_them() {
    on_cluster(async |case| {
        let global = case.namespace().await?;
        let scene = Scene::with(case, |settings| {
            settings.global_namespaces = vec![global.clone()];
        })
        .await?;
        scene.group("own").await?;
        let first = scene.operator("gopher", "1.0.0");
        scene
            .config_map_catalog_in(&global, "hub", &[stable([first.clone()])])
            .await?;
        scene
            .subscribe("gopher", "hub", json!({"sourceNamespace": global}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let second = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        let data = config_map_data(&[stable([first, second])]);
        let maps = Api::<ConfigMap>::namespaced(case.client.clone(), &global);
        maps.patch(
            "hub",
            &PatchParams::default(),
            &Patch::Merge(json!({"data": data})),
        )
        .await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_group_can_keep_a_broken_global_catalog_out() {
    on_cluster(async |case| {
        let global = case.namespace().await?;
        let scene = Scene::with(case, |settings| {
            settings.global_namespaces = vec![global.clone()];
        })
        .await?;
        scene
            .create_in(
                &global,
                json!({
                    "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                    "metadata": {"name": "broken"},
                    "spec": {"sourceType": "grpc", "image": "127.0.0.1:1/gone/catalog:latest"},
                }),
            )
            .await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
                "metadata": {"name": "own", "annotations": {
                    "olm.operatorframework.io/exclude-global-namespace-resolution": "true",
                }},
                "spec": {"targetNamespaces": [scene.namespace]},
            }))
            .await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let subscription = scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let health = subscription.status.unwrap_or_default().catalog_health;
        ensure!(
            health.len() == 1,
            "the global one is none of its business: {health:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn pull_secrets_open_a_registry_that_wants_a_login() {
    on_cluster(async |case| {
        let registry = Registry::start_with_login()?;
        let address = registry.address.clone();
        let scene = Scene::with(case, |settings| {
            settings.registries.plain_http.insert(address.clone());
        })
        .await?;
        scene.group("own").await?;
        let shop = Shop {
            registry: address.clone(),
            prefix: "private".to_owned(),
            login: Some((USER.to_owned(), PASSWORD.to_owned())),
        };
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        let image = shop.push_catalog("hub", &channels).await?;
        scene
            .catalog_of("hub", &image, json!({"secrets": ["login"]}))
            .await?;
        let refused = scene
            .until("hub", "refused", |catalog: &CatalogSource| {
                state(catalog) == Some(ConnectionState::TransientFailure)
            })
            .await?;
        ensure!(
            message(&refused).1.contains("login"),
            "{:?}",
            message(&refused)
        );
        let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let config = json!({"auths": {address: {"auth": auth}}}).to_string();
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
                "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": config},
            }))
            .await?;
        scene.ready_catalog("hub").await?;
        // The bundles are behind the same login.
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn registries_that_never_answer_hold_up_no_other_catalog() {
    on_cluster(async |case| {
        // Connections are taken, and nothing is said: the listener is never asked for them.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = silent.local_addr()?.to_string();
        let host = address.clone();
        let scene = Scene::with(case, |settings| {
            settings.registries.plain_http.insert(host);
        })
        .await?;
        scene.group("own").await?;
        for number in 0..8 {
            let image = format!("{address}/silent/{number}:v1");
            let name = format!("silent-{number}");
            scene.catalog_of(&name, &image, json!({})).await?;
        }
        scene
            .image_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.ready_catalog("hub").await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        Ok(())
    })
    .await;
}
