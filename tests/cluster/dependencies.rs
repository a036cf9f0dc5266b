//! What is installed because something else needs it, and from where.

use anyhow::ensure;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{ConnectionState, InstallPlanPhase, SubscriptionConditionType};
use chandler::api::install_plan::{Approval, InstallPlan};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::scene::{Scene, manual, state};
use crate::support::wares::{channel, stable};

#[tokio::test]
async fn the_catalog_of_greater_priority_provides_a_dependency() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        for name in ["a-low", "z-high"] {
            scene
                .config_map_catalog(name, &[stable([burrow.clone()])])
                .await?;
        }
        scene
            .patch::<CatalogSource>("z-high", json!({"spec": {"priority": 100}}))
            .await?;
        for name in ["hub", "a-low", "z-high"] {
            scene.ready_catalog(name).await?;
        }
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let generated = format!("burrow-stable-z-high-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn of_equal_catalogs_the_first_by_name_provides_a_dependency() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        for name in ["b", "a"] {
            scene
                .config_map_catalog(name, &[stable([burrow.clone()])])
                .await?;
        }
        for name in ["hub", "a", "b"] {
            scene.ready_catalog(name).await?;
        }
        scene.subscribe("gopher", "hub", json!({})).await?;
        let generated = format!("burrow-stable-a-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_own_catalog_provides_a_dependency_before_others() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene
            .config_map_catalog("z-own", &[stable([gopher]), stable([burrow.clone()])])
            .await?;
        scene
            .config_map_catalog("a-other", &[stable([burrow])])
            .await?;
        for name in ["z-own", "a-other"] {
            scene.ready_catalog(name).await?;
        }
        scene.subscribe("gopher", "z-own", json!({})).await?;
        let generated = format!("burrow-stable-z-own-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_generated_subscription_follows_the_default_channel() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        let channels = [
            stable([gopher]),
            channel("zebra", [burrow.clone()]),
            channel("alpha", [burrow]),
        ];
        scene.config_map_catalog("hub", &channels).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let generated = format!("burrow-zebra-hub-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_that_moved_to_another_package_is_not_provided_twice() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene.operator("gopher", "1.0.0").owns("Burrow");
        scene.image_catalog("hub", &[stable([old.clone()])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        // The next version needs what it had, and another package has it now.
        let new = scene
            .operator("gopher", "2.0.0")
            .replaces("1.0.0")
            .requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene
            .shop()
            .push_catalog("hub", &[stable([old, new]), stable([burrow])])
            .await?;
        scene.at_latest("gopher", "gopher.v2.0.0").await?;
        let generated = format!("burrow-stable-hub-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn of_a_channel_the_newest_version_that_provides_an_api_is_taken() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let chain = [
            scene.operator("burrow", "1.0.0").owns("Burrow"),
            scene
                .operator("burrow", "1.1.0")
                .owns("Burrow")
                .replaces("1.0.0"),
            scene.operator("burrow", "1.2.0").replaces("1.1.0"),
        ];
        scene
            .image_catalog("hub", &[stable([gopher]), stable(chain)])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let csvs = &plan.spec.cluster_service_version_names;
        ensure!(*csvs == ["burrow.v1.1.0", "gopher.v1.0.0"], "{csvs:?}");
        scene.approve(&plan).await?;
        // What it keeps up to date later asks as the one who needs it does.
        let generated = format!("burrow-stable-hub-{}", scene.namespace);
        let generated = scene.at_latest(&generated, "burrow.v1.1.0").await?;
        ensure!(
            generated.spec.install_plan_approval == Approval::Manual,
            "{:?}",
            generated.spec
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_catalog_of_the_same_namespace_provides_a_dependency_before_a_global_one() {
    on_cluster(async |case| {
        let global = case.namespace().await?;
        let scene = Scene::with(case, |settings| {
            settings.global_namespaces = vec![global.clone()];
        })
        .await?;
        scene.group("own").await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let right = scene.operator("burrow", "1.0.0").owns("Burrow");
        let wrong = scene.operator("burrow", "9.0.0").owns("Burrow");
        scene
            .config_map_catalog_in(&global, "a-global", &[stable([wrong])])
            .await?;
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene
            .config_map_catalog("z-near", &[stable([right])])
            .await?;
        let catalogs = Api::<CatalogSource>::namespaced(case.client.clone(), &global);
        let is_ready =
            |it: Option<&CatalogSource>| it.and_then(state) == Some(ConnectionState::Ready);
        case.wait(&catalogs, "a-global", "READY", is_ready).await?;
        for name in ["hub", "z-near"] {
            scene.ready_catalog(name).await?;
        }
        scene.subscribe("gopher", "hub", json!({})).await?;
        let generated = format!("burrow-stable-z-near-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_package_does_not_provide_by_one_version_what_another_needs() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .requires("Burrow")
            .requires("Tunnel");
        let all_in_one = scene
            .operator("gopher", "2.0.0")
            .owns("Burrow")
            .owns("Tunnel");
        let channels = [
            stable([gopher]),
            channel("alpha", [all_in_one]),
            stable([scene.operator("burrow", "1.0.0").owns("Burrow")]),
        ];
        scene.config_map_catalog("hub", &channels).await?;
        let elsewhere = [
            // Only one operator of a package can be there, and the first catalog is asked first.
            stable([scene.operator("burrow", "7.0.0").owns("Tunnel")]),
            stable([scene.operator("tunnel", "1.0.0").owns("Tunnel")]),
        ];
        scene.config_map_catalog("other", &elsewhere).await?;
        for name in ["hub", "other"] {
            scene.ready_catalog(name).await?;
        }
        scene
            .subscribe("gopher", "hub", json!({"channel": "stable"}))
            .await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let mut csvs = plan.spec.cluster_service_version_names;
        csvs.sort();
        ensure!(
            csvs == ["burrow.v1.0.0", "gopher.v1.0.0", "tunnel.v1.0.0"],
            "{csvs:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn one_plan_takes_what_it_needs_from_several_catalogs_and_each_goes_on_from_its_own() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene
            .config_map_catalog("main", &[stable([gopher])])
            .await?;
        scene
            .config_map_catalog("deps", &[stable([burrow.clone()])])
            .await?;
        for name in ["main", "deps"] {
            scene.ready_catalog(name).await?;
        }
        scene.subscribe("gopher", "main", json!({})).await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let status = plan.status.clone().unwrap_or_default();
        let mut catalogs = status.catalog_sources.clone();
        catalogs.sort();
        ensure!(catalogs == ["deps", "main"], "{catalogs:?}");
        for step in &status.plan {
            let from = match step.resolving.as_str() {
                "burrow.v1.0.0" => "deps",
                _ => "main",
            };
            // The generated Subscription is a step of what needs it.
            let is_subscription = step.resource.kind == "Subscription";
            ensure!(
                is_subscription || step.resource.source_name == from,
                "{step:?}"
            );
        }
        let generated = format!("burrow-stable-deps-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        let newer = scene
            .operator("burrow", "1.1.0")
            .owns("Burrow")
            .replaces("1.0.0");
        scene.restock("deps", &[stable([burrow, newer])]).await?;
        scene.at_latest(&generated, "burrow.v1.1.0").await?;
        let next = scene.next_plan(&generated, &plan).await?;
        let csvs = &next.spec.cluster_service_version_names;
        ensure!(*csvs == ["burrow.v1.1.0"], "{csvs:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn many_catalogs_with_the_same_make_one_plan_and_no_other() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        // They come while it is thought about.
        for name in ["e", "d", "c", "b", "a"] {
            scene
                .config_map_catalog(name, &[stable([burrow.clone()])])
                .await?;
        }
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        for name in ["a", "b", "c", "d", "e"] {
            scene.ready_catalog(name).await?;
        }
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(plan.spec.generation == 1, "{:?}", plan.spec);
        let plans = scene.names::<InstallPlan>().await?;
        ensure!(plans.len() == 1, "{plans:?}");
        ensure!(
            scene.csvs().await? == ["burrow.v1.0.0", "gopher.v1.0.0"],
            "{:?}",
            scene.csvs().await?
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_dependency_that_is_there_already_is_not_installed_again() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene.operator("burrow", "1.0.0").owns("Burrow");
        let new = scene
            .operator("burrow", "1.1.0")
            .owns("Burrow")
            .replaces("1.0.0");
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .requires("Burrow");
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let crd = serde_json::from_value(new.crd("Burrow"))?;
        crds.create(&PostParams::default(), &crd).await?;
        scene.create(new.csv()).await?;
        let channels = [
            stable([gopher.clone()]),
            stable([old]),
            channel("beta", [new]),
        ];
        scene.config_map_catalog("hub", &channels).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let steps: Vec<(String, String)> = plan
            .status
            .unwrap_or_default()
            .plan
            .iter()
            .map(|step| (step.resource.kind.clone(), step.resource.name.clone()))
            .collect();
        let expected = [
            (
                "ClusterServiceVersion".to_owned(),
                "gopher.v1.0.0".to_owned(),
            ),
            (
                "CustomResourceDefinition".to_owned(),
                gopher.crd_name("Gopher"),
            ),
        ];
        let mut sorted = steps.clone();
        sorted.sort();
        ensure!(sorted == expected, "{steps:?}");
        crds.delete(&gopher.crd_name("Burrow"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_is_known_of_an_installed_package_prevents_a_second_of_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let x = scene.operator("gopher", "1.0.0");
        let y = scene.operator("gopher", "2.0.0");
        scene
            .config_map_catalog("hub", &[channel("x", [x]), channel("y", [y])])
            .await?;
        scene
            .subscribe("gopher", "hub", json!({"channel": "x"}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        // Nothing but the Subscription says now of which package it is.
        let nothing =
            json!({"metadata": {"annotations": {"operatorframework.io/properties": null}}});
        scene
            .patch::<ClusterServiceVersion>("gopher.v1.0.0", nothing)
            .await?;
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "metadata": {"name": "second"},
                "spec": {
                    "name": "gopher", "source": "hub", "sourceNamespace": scene.namespace,
                    "channel": "y",
                },
            }))
            .await?;
        let failed = scene
            .said("second", SubscriptionConditionType::ResolutionFailed)
            .await?;
        ensure!(failed.reason == "ConstraintsNotSatisfiable", "{failed:?}");
        ensure!(scene.csvs().await? == ["gopher.v1.0.0"]);
        Ok(())
    })
    .await;
}
