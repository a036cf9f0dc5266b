//! Catalogs that a registry serves by gRPC, somewhere.

use anyhow::ensure;
use chandler::api::catalog_source::CatalogSource;
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::data::skipped;
use crate::support::opm::{Opm, write_catalog};
use crate::support::scene::Scene;
use crate::support::wares::{blobs, stable};

#[tokio::test]
async fn a_registry_behind_a_service_is_found_through_the_api_and_another_one_is_followed() {
    on_cluster(async |case| {
        let folder = tempfile::tempdir()?;
        let scene = Scene::new(case).await?;
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        let old = scene.operator("gopher", "1.0.0").requires("Burrow");
        let new = scene
            .operator("gopher", "1.1.0")
            .replaces("1.0.0")
            .requires("Burrow");
        let first = blobs(&[stable([old.clone()]), stable([burrow.clone()])], &[]);
        let second = blobs(&[stable([old, new]), stable([burrow])], &[]);
        let first = Opm::serve(&write_catalog(folder.path(), "first", &first)?)?;
        let second = Opm::serve(&write_catalog(folder.path(), "second", &second)?)?;
        let (Some(first), Some(second)) = (first, second) else {
            skipped(&case.name, "opm cannot be built here");
            return Ok(());
        };
        // The registries are not in the cluster, and no DNS knows this name.
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "registry"},
                "spec": {"type": "ExternalName", "externalName": "localhost"},
            }))
            .await?;
        let address = |opm: &Opm| format!("registry.{}.svc:{}", scene.namespace, opm.port);
        scene.catalog_at("hub", &address(&first)).await?;
        let catalog = scene.ready_catalog("hub").await?;
        let connection = catalog.status.unwrap_or_default().connection_state;
        let shown = connection.map(|it| it.address).unwrap_or_default();
        ensure!(shown == address(&first), "{shown}");
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let generated = format!("burrow-stable-hub-{}", scene.namespace);
        scene.at_latest(&generated, "burrow.v1.0.0").await?;
        scene
            .patch::<CatalogSource>("hub", json!({"spec": {"address": address(&second)}}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        // Without the Service there is no way to it, and that is said; what was read serves.
        scene.delete::<Service>("registry").await?;
        scene
            .until("hub", "cut off", |catalog: &CatalogSource| {
                let status = catalog.status.clone().unwrap_or_default();
                let service = format!("Service {}/registry", scene.namespace);
                status.message.contains(&service)
            })
            .await?;
        Ok(())
    })
    .await;
}
