//! Real bundles of OperatorHub.io, for those who have them.

use std::sync::Arc;

use chandler::catalog::source::{Source, Sources};
use chandler::oci::client::{Registry, Settings};
use chandler::oci::pull::PullOptions;
use chandler::resolver::CatalogKey;
use chandler::server::hub::{Hub, Standalone};

use crate::stage::{PHONE, with_router};
use crate::support::data;

/// Few of them, because a test is not built for speed: with many versions, many channels, large APIs.
const PACKAGES: [&str; 6] = [
    "cert-manager",
    "etcd",
    "grafana-operator",
    "infinispan",
    "kiali",
    "shipwright-operator",
];

#[tokio::test]
async fn real_operators_look_well() {
    let folder = tempfile::tempdir().unwrap();
    let is_there = data::each_yaml_file("real_operators_look_well", |file| {
        let package = file
            .path
            .strip_prefix("community/operators/")
            .and_then(|path| path.split('/').next());
        if package.is_some_and(|package| PACKAGES.contains(&package)) {
            let target = folder.path().join(&file.path);
            fs_err::create_dir_all(target.parent().unwrap()).unwrap();
            fs_err::write(target, file.text).unwrap();
        }
    });
    if !is_there.unwrap() {
        return;
    }
    let operators =
        Source::parse(&folder.path().join("community/operators").to_string_lossy()).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let options = PullOptions::new(Registry::new(Settings::default()));
    let sources = Sources::new(cache.path(), options).unwrap();
    let supply = Standalone::new(sources, vec![(CatalogKey::new("", "hub"), operators)]);
    for (_, outcome) in supply.refresh().await {
        outcome.unwrap();
    }
    let router = chandler::server::site(Arc::new(Hub::new(Arc::new(supply))));
    with_router(router, async |stage| {
        stage.visit("/").await?;
        stage.picture("home").await?;
        for page in [
            "/packages/cert-manager",
            "/packages/cert-manager/versions",
            "/packages/infinispan/versions",
            "/packages/grafana-operator/apis",
            "/packages/kiali/permissions",
        ] {
            stage.visit(page).await?;
            let name = page.trim_start_matches("/packages/").replace('/', "-");
            stage.picture(&name).await?;
            stage.is_accessible().await?;
        }
        stage.resize(PHONE).await?;
        stage.visit("/packages/cert-manager").await?;
        stage.picture("phone").await
    })
    .await;
}
