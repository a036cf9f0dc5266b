//! Subscriptions on a real API server: what they get, and what they say when they do not.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{
    ConditionStatus, CsvPhase, InstallPlanPhase, SubscriptionConditionType as Type,
    SubscriptionState,
};
use chandler::api::install_plan::InstallPlan;
use chandler::api::operator_group::OperatorGroup;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::scene::Scene;
use crate::support::wares::{blobs, stable};

#[tokio::test]
async fn a_subscription_installs_from_images_with_its_dependencies() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let needed = scene.operator("burrow", "0.3.0").owns("Burrow");
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .requires("Burrow");
        scene
            .image_catalog("hub", &[stable([gopher]), stable([needed])])
            .await?;
        scene
            .subscribe("gopher", "hub", json!({"channel": "stable"}))
            .await?;
        let subscription = scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(
            scene.csvs().await? == ["burrow.v0.3.0", "gopher.v1.0.0"],
            "{:?}",
            scene.csvs().await?
        );
        let generated = format!("burrow-stable-hub-{}", scene.namespace);
        let generated = scene.at_latest(&generated, "burrow.v0.3.0").await?;
        ensure!(
            generated.spec.starting_csv == "burrow.v0.3.0",
            "{:?}",
            generated.spec
        );
        ensure!(
            generated.annotations().contains_key("olm.generated-by"),
            "{:?}",
            generated.metadata
        );
        let status = subscription.status.unwrap_or_default();
        let health = &status.catalog_health;
        ensure!(health.len() == 1 && health[0].healthy, "{health:?}");
        let resolved = status.condition(&Type::Resolved);
        ensure!(
            resolved.is_some_and(|it| it.status == ConditionStatus::True),
            "{status:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_subscription_installs_from_a_config_map() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene
            .subscribe("gopher", "hub", json!({"channel": "stable"}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let csv = scene
            .api::<ClusterServiceVersion>()
            .get("gopher.v1.0.0")
            .await?;
        let properties = csv.annotations().get("operatorframework.io/properties");
        ensure!(
            properties.is_some_and(|it| it.contains("\"olm.package\"")),
            "{properties:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_csv_that_is_there_already_is_taken_for_installed() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.create(gopher.csv()).await?;
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene
            .subscribe("gopher", "hub", json!({"channel": "stable"}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        ensure!(
            scene.names::<InstallPlan>().await?.is_empty(),
            "there was nothing to install"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_follows_the_channel_as_the_catalog_grows() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0").owns("Gopher");
        let second = scene
            .operator("gopher", "1.1.0")
            .owns("Gopher")
            .replaces("1.0.0");
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene
            .shop()
            .push_catalog("hub", &[stable([first, second])])
            .await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        let csv = scene
            .api::<ClusterServiceVersion>()
            .get("gopher.v1.1.0")
            .await?;
        ensure!(
            csv.spec.replaces == "gopher.v1.0.0",
            "{}",
            csv.spec.replaces
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn intermediate_versions_are_installed_one_after_the_other() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let chain = [
            scene.operator("gopher", "1.0.0"),
            scene.operator("gopher", "1.1.0").replaces("1.0.0"),
            scene.operator("gopher", "1.2.0").replaces("1.1.0"),
        ];
        scene.config_map_catalog("hub", &[stable(chain)]).await?;
        let start = json!({"startingCSV": "gopher.v1.0.0"});
        scene.subscribe("gopher", "hub", start).await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        // What was replaced goes; the next version waits for that.
        let api = scene.api::<ClusterServiceVersion>();
        api.delete("gopher.v1.0.0", &DeleteParams::default())
            .await?;
        scene.at_latest("gopher", "gopher.v1.2.0").await?;
        let csv = api.get("gopher.v1.2.0").await?;
        ensure!(
            csv.spec.replaces == "gopher.v1.1.0",
            "{}",
            csv.spec.replaces
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_starting_csv_is_where_it_begins() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let chain = [
            scene.operator("gopher", "1.0.0"),
            scene.operator("gopher", "1.1.0").replaces("1.0.0"),
        ];
        scene.config_map_catalog("hub", &[stable(chain)]).await?;
        let start = json!({"startingCSV": "gopher.v1.0.0", "installPlanApproval": "Manual"});
        scene.subscribe("gopher", "hub", start).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        let csvs = &plan.spec.cluster_service_version_names;
        ensure!(*csvs == ["gopher.v1.0.0"], "{csvs:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_skip_range_jumps_over_what_lies_between() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        scene.config_map_catalog("hub", &[stable([first])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let newest = scene
            .operator("gopher", "3.0.0")
            .skip_range(">=1.0.0 <3.0.0");
        scene.restock("hub", &[stable([newest])]).await?;
        scene.at_latest("gopher", "gopher.v3.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_met_is_explained_and_the_explanation_goes_when_it_can() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").requires("Burrow");
        scene
            .config_map_catalog("hub", &[stable([gopher.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::ResolutionFailed).await?;
        ensure!(failed.reason == "ConstraintsNotSatisfiable", "{failed:?}");
        ensure!(failed.message.contains("Burrow"), "{failed:?}");
        let burrow = scene.operator("burrow", "1.0.0").owns("Burrow");
        scene
            .restock("hub", &[stable([gopher]), stable([burrow])])
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.unsaid("gopher", Type::ResolutionFailed).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_impossible_subscription_stops_no_other() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("no-such-package", "hub", json!({})).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let failed = scene
            .said("no-such-package", Type::ResolutionFailed)
            .await?;
        ensure!(failed.message.contains("no-such-package"), "{failed:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_broken_catalog_stops_only_those_who_need_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene
            .catalog_of("broken", "127.0.0.1:1/gone/catalog:latest", json!({}))
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.subscribe("mole", "broken", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let unhealthy = scene.said("mole", Type::CatalogSourcesUnhealthy).await?;
        ensure!(
            unhealthy.reason == "UnhealthyCatalogSourceFound",
            "{unhealthy:?}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_missing_catalog_is_said() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "nowhere", json!({})).await?;
        let unhealthy = scene.said("gopher", Type::CatalogSourcesUnhealthy).await?;
        let words = format!("targeted catalogsource {}/nowhere missing", scene.namespace);
        ensure!(unhealthy.message == words, "{unhealthy:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn no_operator_group_and_two_are_said_at_once_and_one_mends_it() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let none = scene.said("gopher", Type::ResolutionFailed).await?;
        ensure!(
            none.message.contains("found 0 operatorGroups, expected 1"),
            "{none:?}"
        );
        scene.group("one").await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.group("two").await?;
        let two = scene.said("gopher", Type::ResolutionFailed).await?;
        ensure!(
            two.message.contains("found 2 operatorGroups, expected 1"),
            "{two:?}"
        );
        scene.delete::<OperatorGroup>("two").await?;
        scene.unsaid("gopher", Type::ResolutionFailed).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_subscription_can_switch_to_a_package_that_takes_over() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let old = scene.operator("gopher", "1.0.0");
        let new = scene
            .operator("super-gopher", "2.0.0")
            .replaces_csv("gopher.v1.0.0");
        scene
            .image_catalog("hub", &[stable([old]), stable([new])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene
            .patch::<Subscription>("gopher", json!({"spec": {"name": "super-gopher"}}))
            .await?;
        scene.at_latest("gopher", "super-gopher.v2.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_that_is_pinned_is_held() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let chain = [
            scene.operator("gopher", "1.0.0"),
            scene.operator("gopher", "1.1.0").replaces("1.0.0"),
            scene.operator("gopher", "2.0.0").replaces("1.1.0"),
        ];
        scene.image_catalog("hub", &[stable(chain)]).await?;
        scene
            .subscribe("gopher", "hub", json!({"version": "~1.1"}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_that_makes_no_sense_is_said() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene
            .subscribe("gopher", "hub", json!({"version": "one or two"}))
            .await?;
        let failed = scene.said("gopher", Type::ResolutionFailed).await?;
        ensure!(failed.message.contains("spec.version"), "{failed:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_bundle_image_that_is_not_there_is_said_and_fetched_once_it_is() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let mole = scene.operator("mole", "1.0.0");
        let shop = scene.shop();
        let image = format!("{}/{}/gopher-bundle:v1.0.0", shop.registry, shop.prefix);
        let images = [
            ("gopher.v1.0.0".to_owned(), image),
            ("mole.v1.0.0".to_owned(), shop.push_bundle(&mole).await?),
        ];
        let content = blobs(&[stable([gopher.clone()]), stable([mole])], &images);
        let catalog = shop.push_blobs("hub", &content).await?;
        scene.catalog_of("hub", &catalog, json!({})).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.subscribe("mole", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::BundleUnpackFailed).await?;
        ensure!(failed.message.contains("gopher.v1.0.0"), "{failed:?}");
        // Its neighbour has nothing to do with it.
        scene.at_latest("mole", "mole.v1.0.0").await?;
        shop.push_bundle(&gopher).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.unsaid("gopher", Type::BundleUnpackFailed).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_bundle_whose_csv_has_no_api_version_is_refused_in_words() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .csv_with(json!({"apiVersion": null}));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.said("gopher", Type::BundleUnpackFailed).await?;
        ensure!(failed.message.contains("missing APIVersion"), "{failed:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn deprecations_of_package_channel_and_bundle_are_said_and_unsaid() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let shop = scene.shop();
        let channels = [stable([scene.operator("gopher", "1.0.0")])];
        let image = shop.push_bundle(&channels[0].operators[0]).await?;
        let images = [("gopher.v1.0.0".to_owned(), image)];
        let plain = blobs(&channels, &images);
        let deprecated = |entries: &[Value]| {
            let mut blobs = plain.clone();
            blobs.push(
                json!({"schema": "olm.deprecations", "package": "gopher", "entries": entries}),
            );
            blobs
        };
        let entries = [
            json!({"reference": {"schema": "olm.package"}, "message": "no more gophers"}),
            json!({
                "reference": {"schema": "olm.channel", "name": "stable"}, "message": "not stable",
            }),
            json!({
                "reference": {"schema": "olm.bundle", "name": "gopher.v1.0.0"}, "message": "too old",
            }),
        ];
        let catalog = shop.push_blobs("hub", &plain).await?;
        scene.catalog_of("hub", &catalog, json!({})).await?;
        scene
            .subscribe("gopher", "hub", json!({"channel": "stable"}))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        // What is installed becomes deprecated later.
        shop.push_blobs("hub", &deprecated(&entries)).await?;
        let package = scene.said("gopher", Type::PackageDeprecated).await?;
        ensure!(
            package.message == "olm.package/gopher: no more gophers",
            "{package:?}"
        );
        let channel = scene.said("gopher", Type::ChannelDeprecated).await?;
        ensure!(
            channel.message == "olm.channel/stable: not stable",
            "{channel:?}"
        );
        let bundle = scene.said("gopher", Type::BundleDeprecated).await?;
        ensure!(
            bundle.message == "olm.bundle/gopher.v1.0.0: too old",
            "{bundle:?}"
        );
        let all = scene.said("gopher", Type::Deprecated).await?;
        for part in [&package, &channel, &bundle] {
            ensure!(all.message.contains(&part.message), "{all:?}");
        }
        shop.push_blobs("hub", &deprecated(&entries[..2])).await?;
        scene.unsaid("gopher", Type::BundleDeprecated).await?;
        scene.said("gopher", Type::PackageDeprecated).await?;
        scene.said("gopher", Type::ChannelDeprecated).await?;
        shop.push_blobs("hub", &plain).await?;
        scene.unsaid("gopher", Type::Deprecated).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_status_is_not_written_again_when_nothing_changed() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .image_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene.said("gopher", Type::Healthy).await?;
        let api = scene.api::<Subscription>();
        let before = api.get("gopher").await?;
        // A look at the namespace, caused by something that says nothing new.
        scene
            .patch::<OperatorGroup>("own", json!({"metadata": {"labels": {"a": "b"}}}))
            .await?;
        // A second Subscription is written after the first was looked at in the same pass.
        scene.subscribe("no-such-package", "hub", json!({})).await?;
        scene
            .said("no-such-package", Type::ResolutionFailed)
            .await?;
        let after = api.get("gopher").await?;
        ensure!(
            before.resource_version() == after.resource_version(),
            "{:?}",
            after.status
        );
        ensure!(after.status.unwrap_or_default().state == SubscriptionState::AtLatestKnown);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_quota_holds_a_plan_up_until_there_is_room() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight"},
                "spec": {"hard": {"count/clusterserviceversions.operators.coreos.com": "0"}},
            }))
            .await?;
        scene
            .until("tight", "counted", |quota: &ResourceQuota| {
                quota
                    .status
                    .as_ref()
                    .is_some_and(|status| status.used.is_some())
            })
            .await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::Installing)
            .await?;
        scene
            .until(
                &plan.name_any(),
                "held up by the quota",
                |plan: &InstallPlan| {
                    let status = plan.status.clone().unwrap_or_default();
                    status.message.contains("exceeded quota")
                        && status.phase == InstallPlanPhase::Installing
                },
            )
            .await?;
        scene.delete::<ResourceQuota>("tight").await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        Ok(())
    })
    .await;
}

/// A scene whose group has an account without any rights, and a plan that stands still for that.
async fn held_up_by_an_account(case: &Case) -> anyhow::Result<Scene<'_>> {
    let scene = Scene::without_group(case).await?;
    scene
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "weak"}}))
        .await?;
    scene
        .create(json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "own"},
            "spec": {"targetNamespaces": [scene.namespace], "serviceAccountName": "weak"},
        }))
        .await?;
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let gopher = scene.operator("gopher", "1.0.0").may(&rule);
    scene.config_map_catalog("hub", &[stable([gopher])]).await?;
    scene.subscribe("gopher", "hub", json!({})).await?;
    let plan = scene
        .plan_of("gopher", InstallPlanPhase::Installing)
        .await?;
    scene
        .until(&plan.name_any(), "refused", |plan: &InstallPlan| {
            let message = plan.status.clone().unwrap_or_default().message;
            let account = format!("system:serviceaccount:{}:weak", scene.namespace);
            message.contains("forbidden") && message.contains(&account)
        })
        .await?;
    Ok(scene)
}

#[tokio::test]
async fn an_account_of_the_group_that_may_not_install_is_told_what_it_lacks() {
    on_cluster(async |case| {
        let scene = held_up_by_an_account(case).await?;
        let rbac = "rbac.authorization.k8s.io";
        scene
            .create(json!({
                "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": "strong"},
                "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
            }))
            .await?;
        scene
            .create(json!({
                "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
                "metadata": {"name": "strong"},
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "strong"},
                "subjects": [
                    {"kind": "ServiceAccount", "name": "weak", "namespace": scene.namespace},
                ],
            }))
            .await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_group_that_gives_its_account_up_lets_its_plans_go_on() {
    on_cluster(async |case| {
        let scene = held_up_by_an_account(case).await?;
        let nobody = json!({"spec": {"serviceAccountName": null}});
        scene.patch::<OperatorGroup>("own", nobody).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let account = plan
            .status
            .unwrap_or_default()
            .attenuated_service_account_ref;
        ensure!(account.is_none(), "{account:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_else_a_bundle_brings_is_installed_too() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene
            .operator("gopher", "1.0.0")
            .with(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tunnels"},
                "data": {"depth": "3"},
            }))
            .with(json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "gopher"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "gopher"}}},
            }))
            .with(json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": format!("gopher-{}", scene.namespace)}, "value": 7,
            }));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let tunnels = scene.api::<ConfigMap>().get("tunnels").await?;
        let owners = tunnels.owner_references();
        ensure!(owners.iter().any(|owner| owner.name == "gopher.v1.0.0"), "{owners:?}");
        let budget = scene.api::<PodDisruptionBudget>().get("gopher").await?;
        let least = json!(budget.spec)["minAvailable"].clone();
        ensure!(least == 1, "{least}");
        let classes = Api::<PriorityClass>::all(case.client.clone());
        let class = classes.get(&format!("gopher-{}", scene.namespace)).await?;
        ensure!(class.value == 7, "{class:?}");
        classes.delete(&class.name_any(), &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}
