//! What can be seen from outside: metrics and events.

use anyhow::ensure;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::conditions::{CsvPhase, SubscriptionConditionType as Type};
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::controllers::Running;
use crate::support::scene::{Scene, manual};
use crate::support::wares::stable;

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
        let ready = |name: &str| scene.metric(&format!("catalogsource_ready{}", labels(name)));
        let read = format!("catalog_source_snapshots_total{}", labels("hub"));
        case.eventually("one ready and one not", async || {
            Ok(ready("hub") == Some(1.0) && ready("broken") == Some(0.0))
        })
        .await?;
        ensure!(scene.metric(&read) == Some(1.0));
        ensure!(scene.metric("catalog_source_count") == Some(2.0));
        scene.delete::<CatalogSource>("hub").await?;
        case.eventually("forgotten", async || {
            Ok(ready("hub").is_none() && scene.metric(&read).is_none())
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
            scene.metric(&format!("subscription_sync_total{{{labels}}}"))
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
            scene.metric(&format!("{name}{{outcome=\"{outcome}\"}}"))
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

#[tokio::test]
async fn csvs_are_told_as_they_are_also_after_a_restart_and_not_when_they_are_gone() {
    on_cluster(async |case| {
        let mut scene = Scene::new(case).await?;
        let labels = |name: &str| {
            let namespace = &scene.namespace;
            format!("namespace=\"{namespace}\",name=\"{name}.v1.0.0\",version=\"1.0.0\"")
        };
        let good = format!("csv_succeeded{{{}}}", labels("good"));
        let bad = format!("csv_succeeded{{{}}}", labels("bad"));
        let abnormal = format!(
            "csv_abnormal{{{},phase=\"Failed\",reason=\"UnsupportedOperatorGroup\"}}",
            labels("bad")
        );
        scene.runs(&scene.operator("good", "1.0.0")).await?;
        scene
            .by_hand(&scene.operator("bad", "1.0.0").supports(&[]))
            .await?;
        scene.in_phase("bad.v1.0.0", CsvPhase::Failed).await?;
        for is_restarted in [false, true] {
            if is_restarted {
                scene.stop().await?;
                scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
            }
            case.eventually("told", async || {
                Ok(scene.metric(&good) == Some(1.0)
                    && scene.metric(&bad) == Some(0.0)
                    && scene.metric(&abnormal) == Some(1.0)
                    && scene.metric("csv_count") == Some(2.0))
            })
            .await?;
        }
        scene.delete_csv("bad.v1.0.0").await?;
        case.eventually("forgotten", async || {
            Ok(scene.metric(&bad).is_none() && scene.metric(&abnormal).is_none())
        })
        .await?;
        ensure!(scene.metric("csv_upgrade_count") == Some(0.0));
        scene
            .runs(&scene.operator("good", "2.0.0").replaces("1.0.0"))
            .await?;
        ensure!(scene.metric("csv_upgrade_count") == Some(1.0));
        Ok(())
    })
    .await;
}
