//! Operators as members of their OperatorGroup: which namespaces they serve, and which APIs are
//! theirs.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, SubscriptionConditionType};
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::{phase, reason, status};
use crate::support::scene::Scene;
use crate::support::wares::stable;

impl Scene<'_> {
    async fn change_group(&self, spec: Value) -> anyhow::Result<()> {
        self.patch::<OperatorGroup>("own", json!({"spec": spec}))
            .await
    }

    /// Waits until the annotation of the group says that it has these APIs, and its status where: until
    /// then it is in nobody's way.
    async fn provides(&self, apis: &str) -> anyhow::Result<OperatorGroup> {
        self.until("own", &format!("with {apis:?}"), |it: &OperatorGroup| {
            let said = it.annotations().get("olm.providedAPIs");
            let status = it.status.as_ref();
            let is_somewhere = status.is_some_and(|status| !status.namespaces.is_empty());
            said.map(String::as_str).unwrap_or_default() == apis && is_somewhere
        })
        .await
    }

    /// The namespaces that the Pods of a Deployment are told to serve.
    async fn serves(&self, deployment: &str, namespaces: &str) -> anyhow::Result<()> {
        let what = format!("serving {namespaces}");
        self.until(deployment, &what, |it: &Deployment| {
            let template = it.spec.as_ref().map(|spec| &spec.template);
            let metadata = template.and_then(|template| template.metadata.as_ref());
            let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
            annotations.and_then(|it| it.get("olm.targetNamespaces"))
                == Some(&namespaces.to_owned())
        })
        .await?;
        Ok(())
    }
}

#[tokio::test]
async fn an_operator_serves_the_namespaces_that_its_group_selects() {
    on_cluster(async |case| {
        let (home, [target]) = Scene::with_neighbours(case).await?;
        let label = json!({"metadata": {"labels": {"chandler.test/of": home.namespace}}});
        let namespaces = Api::<Namespace>::all(case.client.clone());
        let parameters = PatchParams::default();
        namespaces
            .patch(&target.namespace, &parameters, &Patch::Merge(label))
            .await?;
        let selector = json!({"matchLabels": {"chandler.test/of": home.namespace}});
        home.group_with(json!({"selector": selector})).await?;
        let gopher = home.operator("gopher", "1.0.0").owns("Gopher");
        home.with_crd(&gopher, "Gopher").await?;
        let csv = home.runs(&gopher).await?;
        for (key, value) in [
            ("olm.operatorGroup", "own"),
            ("olm.operatorNamespace", &home.namespace),
            ("olm.targetNamespaces", &target.namespace),
        ] {
            let said = csv.annotations().get(key).map(String::as_str);
            ensure!(said == Some(value), "{key}: {said:?}");
        }
        home.serves("gopher", &target.namespace).await?;
        let there = |_: &ClusterServiceVersion| true;
        target.until("gopher.v1.0.0", "copied", there).await?;
        let nowhere = home
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .supports(&[]);
        home.change_to(&nowhere).await?;
        let failed = home
            .because("gopher.v1.0.0", CsvReason::UnsupportedOperatorGroup)
            .await?;
        ensure!(phase(&failed) == CsvPhase::Failed, "{failed:?}");
        home.delete_csv("gopher.v1.0.0").await?;
        target.gone::<ClusterServiceVersion>("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn an_operator_runs_as_long_as_its_install_modes_suit_the_group() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours(case).await?;
        let gopher = |modes: &[&str]| home.operator("gopher", "1.0.0").supports(modes);
        let mut both = [home.namespace.clone(), other.namespace.clone()];
        both.sort();
        let choices = [
            (
                json!({"targetNamespaces": [home.namespace]}),
                home.namespace.clone(),
            ),
            (
                json!({"targetNamespaces": [other.namespace]}),
                other.namespace.clone(),
            ),
            (json!({"targetNamespaces": both}), both.join(",")),
            (json!({"targetNamespaces": null}), String::new()),
        ];
        let modes = [
            "OwnNamespace",
            "SingleNamespace",
            "MultiNamespace",
            "AllNamespaces",
        ];
        home.group_with(choices[0].0.clone()).await?;
        home.by_hand(&gopher(&[])).await?;
        for (at, (choice, served)) in choices.into_iter().enumerate() {
            home.change_group(choice).await?;
            let missing = modes[at];
            let failed = home
                .until("gopher.v1.0.0", &format!("without {missing}"), |csv| {
                    reason(csv) == CsvReason::UnsupportedOperatorGroup
                        && status(csv).message.starts_with(missing)
                })
                .await?;
            ensure!(phase(&failed) == CsvPhase::Failed, "{failed:?}");
            home.change_to(&gopher(&modes[..=at])).await?;
            home.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
            home.serves("gopher", &served).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_fails_without_a_group_or_with_two_and_recovers_with_one() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        scene.by_hand(&scene.operator("gopher", "1.0.0")).await?;
        scene
            .because("gopher.v1.0.0", CsvReason::NoOperatorGroup)
            .await?;
        let told = scene.told("gopher.v1.0.0", "NoOperatorGroup").await?;
        ensure!(told.type_.as_deref() == Some("Warning"), "{told:?}");
        scene.group("own").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.group("another").await?;
        let failed = scene
            .because("gopher.v1.0.0", CsvReason::TooManyOperatorGroups)
            .await?;
        let message = status(&failed).message;
        ensure!(message.contains("another, own"), "{message}");
        scene.delete::<OperatorGroup>("another").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_has_one_provider_among_groups_that_share_a_namespace() {
    on_cluster(async |case| {
        let (global, [local]) = Scene::with_neighbours(case).await?;
        let gopher = global.operator("gopher", "1.0.0").owns("Gopher");
        let api = format!("Gopher.v1.{}.example.com", global.namespace);
        global.with_crd(&gopher, "Gopher").await?;
        local.group("own").await?;
        local.runs(&gopher).await?;
        local.provides(&api).await?;
        global.group_with(json!({})).await?;
        global.by_hand(&gopher).await?;
        let refused = global
            .because("gopher.v1.0.0", CsvReason::InterOperatorGroupOwnerConflict)
            .await?;
        ensure!(phase(&refused) == CsvPhase::Failed, "{refused:?}");
        let message = status(&refused).message;
        let owner = format!("{api} belongs to OperatorGroup {}/own", local.namespace);
        ensure!(message.contains(&owner), "{message}");
        global.provides("").await?;
        ensure!(global.names::<Deployment>().await?.is_empty());
        // Another API is nobody's.
        let mole = global.operator("mole", "1.0.0").owns("Mole");
        global.with_crd(&mole, "Mole").await?;
        global.runs(&mole).await?;
        global.provides(&api.replace("Gopher", "Mole")).await?;
        let first = local
            .api::<ClusterServiceVersion>()
            .get("gopher.v1.0.0")
            .await?;
        ensure!(phase(&first) == CsvPhase::Succeeded, "{first:?}");
        local.delete_csv("gopher.v1.0.0").await?;
        local.provides("").await?;
        global
            .in_phase("gopher.v1.0.0", CsvPhase::Succeeded)
            .await?;
        let both = format!("{api},{}", api.replace("Gopher", "Mole"));
        global.provides(&both).await?;
        local.gone::<Deployment>("gopher").await
    })
    .await;
}

#[tokio::test]
async fn what_a_static_group_has_no_other_can_have_where_they_meet() {
    on_cluster(async |case| {
        let (fixed, [global, own, shared]) = Scene::with_neighbours(case).await?;
        let gopher = fixed.operator("gopher", "1.0.0").owns("Gopher");
        let api = format!("Gopher.v1.{}.example.com", fixed.namespace);
        fixed.with_crd(&gopher, "Gopher").await?;
        let targets = json!({"targetNamespaces": [shared.namespace], "staticProvidedAPIs": true});
        fixed.group_with(targets).await?;
        let said = json!({"metadata": {"annotations": {"olm.providedAPIs": api}}});
        fixed.patch::<OperatorGroup>("own", said).await?;
        let group = fixed.provides(&api).await?;
        global.group_with(json!({})).await?;
        global.by_hand(&gopher).await?;
        global
            .because("gopher.v1.0.0", CsvReason::InterOperatorGroupOwnerConflict)
            .await?;
        global.delete_csv("gopher.v1.0.0").await?;
        // Of two groups the older one keeps what both have, and time is told in seconds.
        let created = group.creation_timestamp().unwrap().0.as_second();
        let later = async || Ok(Timestamp::now().as_second() > created);
        case.eventually("later", later).await?;
        own.group("own").await?;
        own.runs(&gopher).await?;
        own.provides(&api).await?;
        let targets = [&own.namespace, &shared.namespace];
        own.change_group(json!({"targetNamespaces": targets}))
            .await?;
        own.because("gopher.v1.0.0", CsvReason::InterOperatorGroupOwnerConflict)
            .await?;
        own.provides("").await?;
        own.gone::<Deployment>("gopher").await?;
        fixed.provides(&api).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn namespaces_that_a_group_cannot_have_are_told_where_they_are_missed() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        let nonsense = json!({"matchExpressions": [{"key": "team", "operator": "In"}]});
        scene.group_with(json!({"selector": nonsense})).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("mole", "1.0.0")])])
            .await?;
        scene.subscribe("mole", "hub", json!({})).await?;
        scene.by_hand(&scene.operator("gopher", "1.0.0")).await?;
        let words = "spec.selector cannot be understood: `team` In needs values";
        let failed = scene
            .said("mole", SubscriptionConditionType::ResolutionFailed)
            .await?;
        ensure!(failed.message.contains(words), "{}", failed.message);
        let failed = scene
            .until("gopher.v1.0.0", "told", |csv| {
                status(csv).message.contains(words)
            })
            .await?;
        ensure!(
            reason(&failed) == CsvReason::NoTargetNamespaces,
            "{failed:?}"
        );

        let later = format!("{}-later", scene.namespace);
        let named = json!({"selector": null, "targetNamespaces": [later]});
        scene.change_group(named).await?;
        let missing = format!("namespace {later} does not exist");
        for csv in ["gopher.v1.0.0", "mole.v1.0.0"] {
            let told = |csv: &_| status(csv).message.contains(&missing);
            let csv = scene.until(csv, "told", told).await?;
            ensure!(phase(&csv) == CsvPhase::Succeeded, "{csv:?}");
        }
        let namespaces = Api::<Namespace>::all(case.client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": later}}))?;
        namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        let completed = "install strategy completed with no errors";
        scene
            .until("gopher.v1.0.0", "content", |csv| {
                status(csv).message == completed
            })
            .await?;
        namespaces.delete(&later, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}
