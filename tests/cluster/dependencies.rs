//! What is installed because something else needs it, and from where.

use anyhow::ensure;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::conditions::InstallPlanPhase;
use chandler::api::install_plan::Approval;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::scene::{Scene, manual};
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
