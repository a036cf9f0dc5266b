//! Images that want a login: whoever has it keeps what it opened, and nobody else gets that from the cache.

use std::path::Path;

use anyhow::ensure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::conditions::{
    ConnectionState, InstallPlanPhase, SubscriptionConditionType as Type,
};
use chandler::api::install_plan::InstallPlan;
use chandler::controller::Settings;
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::registry::{PASSWORD, Registry, USER};
use crate::support::scene::{Scene, manual, state};
use crate::support::wares::{Shop, blobs, stable};

/// Controllers for all these namespaces, with one cache.
async fn run(
    case: &Case,
    namespaces: &[&Scene<'_>],
    cache: &Path,
    registry: &str,
) -> anyhow::Result<Running> {
    let names: Vec<&str> = namespaces.iter().map(|it| it.namespace.as_str()).collect();
    let settings = |settings: &mut Settings| {
        cache.clone_into(&mut settings.cache);
        settings.registries.plain_http.insert(registry.to_owned());
    };
    Running::start_with(case, &names, settings).await
}

async fn login(scene: &Scene<'_>, registry: &str) -> anyhow::Result<()> {
    let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let config = json!({"auths": {registry: {"auth": auth}}}).to_string();
    scene
        .create(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": config},
        }))
        .await
}

/// The bundle of a plan, by digest.
fn image_of(plan: &InstallPlan) -> String {
    let status = plan.status.clone().unwrap_or_default();
    let manifest = &status.plan[0].resource.manifest;
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    manifest["image"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_a_login_opened_is_for_those_who_have_it_and_also_when_the_registry_is_gone() {
    on_cluster(async |case| {
        let registry = Registry::start_with_login()?;
        let address = registry.address.clone();
        let cache = tempfile::tempdir()?;
        let mut rich = Scene::uncared(case).await?;
        let poor = Scene::uncared(case).await?;
        let running = run(case, &[&rich, &poor], cache.path(), &address).await?;
        let shop = Shop {
            registry: address.clone(),
            prefix: "private".to_owned(),
            login: Some((USER.to_owned(), PASSWORD.to_owned())),
        };
        let channels = [
            stable([rich.operator("gopher", "1.0.0")]),
            stable([rich.operator("mole", "1.0.0")]),
        ];
        let image = shop.push_catalog("hub", &channels).await?;
        login(&rich, &address).await?;
        let secrets = json!({"secrets": ["login"]});
        rich.catalog_of("hub", &image, secrets).await?;
        let hub = rich.ready_catalog("hub").await?;
        let digest = hub.status.unwrap_or_default().digest;
        rich.subscribe("gopher", "hub", manual()).await?;
        let plan = rich
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;

        // All of it is in the cache now, and its digests are known to somebody without a login.
        let (repository, _) = image.rsplit_once(':').unwrap_or_default();
        let stolen = format!("{repository}@{digest}");
        poor.catalog_of("stolen", &stolen, json!({})).await?;
        let refused = poor
            .until("stolen", "refused", |catalog: &CatalogSource| {
                state(catalog) == Some(ConnectionState::TransientFailure)
            })
            .await?;
        let status = refused.status.unwrap_or_default();
        ensure!(status.digest.is_empty(), "it serves: {status:?}");
        ensure!(status.message.contains("refused access"), "{status:?}");
        let bundle = image_of(&plan);
        ensure!(bundle.contains("@sha256:"), "{bundle}");
        let own = [stable([poor.operator("gopher", "1.0.0")])];
        let named = blobs(&own, &[("gopher.v1.0.0".to_owned(), bundle)]);
        let catalog = poor.shop().push_blobs("own", &named).await?;
        poor.catalog_of("own", &catalog, json!({})).await?;
        poor.subscribe("gopher", "own", manual()).await?;
        let failed = poor.said("gopher", Type::BundleUnpackFailed).await?;
        ensure!(failed.message.contains("refused access"), "{failed:?}");
        ensure!(poor.names::<InstallPlan>().await?.is_empty());

        // Whoever has the login does not need the registry for what it had before, nor the catalog.
        drop(registry);
        running.stop().await?;
        fs_err::remove_dir_all(cache.path().join("catalogs"))?;
        let anew = run(case, &[&rich, &poor], cache.path(), &address).await?;
        rich.running = Some(anew);
        rich.subscribe("mole", "hub", manual()).await?;
        rich.said("mole", Type::Resolved).await?;
        rich.delete::<CatalogSource>("hub").await?;
        rich.said("gopher", Type::CatalogSourcesUnhealthy).await?;
        rich.approve(&plan).await?;
        rich.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(rich.csvs().await? == ["gopher.v1.0.0"]);
        Ok(())
    })
    .await;
}
