//! What can be seen from outside: metrics and events.

use anyhow::ensure;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::conditions::SubscriptionConditionType as Type;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::scene::{Scene, manual};
use crate::support::wares::stable;

/// The value of a metric, if it is there.
fn metric(scene: &Scene<'_>, name_and_labels: &str) -> Option<f64> {
    let text = scene.running.as_ref()?.metrics();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name_and_labels)?.strip_prefix(' '));
    value?.parse().ok()
}

#[tokio::test]
async fn catalogs_are_counted_while_they_are_there() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .image_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene
            .catalog_of("broken", "127.0.0.1:1/gone/catalog:latest", json!({}))
            .await?;
        let labels = |name: &str| format!("{{namespace=\"{}\",name=\"{name}\"}}", scene.namespace);
        let ready = |name: &str| metric(&scene, &format!("catalogsource_ready{}", labels(name)));
        let read = format!("catalog_source_snapshots_total{}", labels("hub"));
        case.eventually("one ready and one not", async || {
            Ok(ready("hub") == Some(1.0) && ready("broken") == Some(0.0))
        })
        .await?;
        ensure!(metric(&scene, &read) == Some(1.0));
        ensure!(metric(&scene, "catalog_source_count") == Some(2.0));
        scene.delete::<CatalogSource>("hub").await?;
        case.eventually("forgotten", async || {
            Ok(ready("hub").is_none() && metric(&scene, &read).is_none())
        })
        .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn subscriptions_and_their_resolutions_are_counted() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene
            .subscribe("gopher", "hub", json!({"channel": "stable"}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let synced = |csv: &str, approval: &str| {
            let labels = format!(
                "name=\"gopher\",installed=\"{csv}\",channel=\"stable\",package=\"gopher\",\
                 approval=\"{approval}\""
            );
            metric(&scene, &format!("subscription_sync_total{{{labels}}}"))
        };
        let unset = "";
        case.eventually("counted with what it has", async || {
            let counted = synced("gopher.v1.0.0", unset).is_some();
            Ok(counted && synced("", unset).is_none())
        })
        .await?;
        scene
            .patch::<Subscription>("gopher", json!({"spec": manual()}))
            .await?;
        case.eventually("counted as it is now", async || {
            let counted = synced("gopher.v1.0.0", "Manual").is_some();
            Ok(counted && synced("gopher.v1.0.0", unset).is_none())
        })
        .await?;
        let resolved = |outcome: &str| {
            let name = "olm_resolution_duration_seconds_count";
            metric(&scene, &format!("{name}{{outcome=\"{outcome}\"}}"))
        };
        ensure!(resolved("succeeded").is_some() && resolved("failed").is_none());
        scene.subscribe("no-such-package", "hub", json!({})).await?;
        scene
            .said("no-such-package", Type::ResolutionFailed)
            .await?;
        ensure!(resolved("failed").is_some());
        scene.delete::<Subscription>("gopher").await?;
        case.eventually("forgotten", async || {
            Ok(synced("gopher.v1.0.0", "Manual").is_none())
        })
        .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_resolved_is_an_event_of_the_subscription_and_of_its_namespace() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::ResolutionFailed).await?;
        let events = Api::<Event>::all(case.client.clone());
        for (kind, name) in [("Subscription", "gopher"), ("Namespace", &scene.namespace)] {
            let of = ListParams::default().fields(&format!(
                "reason=ResolutionFailed,involvedObject.kind={kind},involvedObject.name={name}"
            ));
            case.eventually(&format!("told to the {kind}"), async || {
                let found = events.list(&of).await?.items;
                let is_it = |event: &Event| {
                    event.message.as_ref() == Some(&failed.message)
                        && event.type_.as_deref() == Some("Warning")
                };
                Ok(found.iter().any(is_it))
            })
            .await?;
        }
        Ok(())
    })
    .await;
}
