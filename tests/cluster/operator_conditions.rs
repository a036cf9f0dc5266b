//! OperatorConditions: what operators say about themselves, and who overrules them.

use std::time::Duration;

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, SubscriptionConditionType};
use chandler::api::operator_condition::OperatorCondition;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt as _;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::command_uninstall::chandler;
use crate::support::case::on_cluster;
use crate::support::expiring;
use crate::support::life::status;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, webhook};
use crate::support::wares::{Operator, stable};

/// A condition `Upgradeable`.
fn upgradeable(status: &str, message: &str) -> Value {
    json!([{
        "type": "Upgradeable", "status": status, "reason": "Test", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }])
}

/// Has an operator say something, and waits until somebody took note of it.
async fn says(scene: &Scene<'_>, csv: &str, state: &str, message: &str) -> anyhow::Result<()> {
    let said = json!({"spec": {"conditions": upgradeable(state, message)}});
    scene.patch::<OperatorCondition>(csv, said).await?;
    scene
        .until(csv, "taken note of", |it: &OperatorCondition| {
            let noted = it.status.as_ref().map(|status| &status.conditions);
            noted.into_iter().flatten().any(|noted| {
                noted.status.as_str() == state
                    && noted.observed_generation == it.metadata.generation
            })
        })
        .await?;
    Ok(())
}

async fn is_held(scene: &Scene<'_>, csv: &str) -> anyhow::Result<String> {
    let held = scene
        .because(csv, CsvReason::OperatorConditionNotUpgradeable)
        .await?;
    let status = status(&held);
    ensure!(status.phase == CsvPhase::Pending, "{status:?}");
    Ok(status.message)
}

#[tokio::test]
async fn an_upgrade_from_a_catalog_waits_for_the_operator_and_then_for_the_administrator() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        let second = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        let third = scene.operator("gopher", "3.0.0").replaces("2.0.0");
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        says(&scene, "gopher.v1.0.0", "False", "digging").await?;
        scene
            .restock("hub", &[stable([first.clone(), second.clone()])])
            .await?;
        let message = is_held(&scene, "gopher.v2.0.0").await?;
        ensure!(
            message.starts_with("operator is not upgradeable: ") && message.contains("digging"),
            "{message}"
        );
        // The one that runs is healthy; it only asks for time.
        let (code, text, said) = chandler(&scene, &["status", "gopher"]).await?;
        ensure!(code == 0, "{code} {text} {said}");
        ensure!(
            text.starts_with("gopher: healthy\n")
                && text.contains("  running    gopher.v1.0.0\n")
                && text.contains("gopher.v2.0.0: held: operator is not upgradeable: ")
                && text.contains("digging"),
            "{text}"
        );
        says(&scene, "gopher.v1.0.0", "True", "done").await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;

        says(&scene, "gopher.v2.0.0", "True", "ready").await?;
        let overruled = json!({"spec": {"overrides": upgradeable("False", "not on a Friday")}});
        scene
            .patch::<OperatorCondition>("gopher.v2.0.0", overruled)
            .await?;
        scene
            .restock("hub", &[stable([first, second, third])])
            .await?;
        let message = is_held(&scene, "gopher.v3.0.0").await?;
        ensure!(message.contains("not on a Friday"), "{message}");
        let go = json!({"spec": {"overrides": upgradeable("True", "go")}});
        scene
            .patch::<OperatorCondition>("gopher.v2.0.0", go)
            .await?;
        scene.in_phase("gopher.v3.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

/// What somebody changes in the Deployment is changed back, to what the Subscription adjusts as well.
async fn is_put_right(scene: &Scene<'_>) -> anyhow::Result<()> {
    let image = |it: &Deployment| {
        let pod = it.spec.as_ref()?.template.spec.as_ref()?;
        pod.containers[0].image.clone()
    };
    let before = scene.api::<Deployment>().get("gopher").await?;
    let other = json!([{"name": "operator", "image": "example.com/other"}]);
    let change = json!({"spec": {"template": {"spec": {"containers": other}}}});
    scene.patch::<Deployment>("gopher", change).await?;
    let as_before = |it: &Deployment| image(it) == image(&before);
    let now = scene.until("gopher", "as before", as_before).await?;
    let pod = serde_json::to_value(&now)?["spec"]["template"]["spec"].take();
    let env = pod["containers"][0]["env"].as_array().cloned();
    ensure!(
        env.unwrap_or_default()
            .iter()
            .any(|it| it["name"] == "BURROW"),
        "what the Subscription adjusts was lost: {pod}"
    );
    Ok(())
}

/// A certificate that is about to expire is made anew.
async fn is_renewed(scene: &Scene<'_>) -> anyhow::Result<()> {
    let hour = Duration::from_hours(1);
    let expiring = expiring::secret(&scene.namespace, "gopher-service", hour)?;
    let data = expiring["data"].clone();
    let name = "gopher-service-cert";
    scene.patch::<Secret>(name, json!({"data": data})).await?;
    let is_another = |secret: &Secret| {
        serde_json::to_value(&secret.data).is_ok_and(|now| now["tls.crt"] != data["tls.crt"])
    };
    scene.until(name, "renewed", is_another).await?;
    scene
        .until(
            "gopher.v1.0.0",
            "certain when it is renewed next",
            |csv: &ClusterServiceVersion| status(csv).certs_last_updated.is_some(),
        )
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_version_whose_upgrade_is_held_is_put_right_and_its_certificate_renewed() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let with_hook = |operator: Operator| {
            let mut hook = webhook(&operator, "validate");
            // Nobody answers here.
            hook["failurePolicy"] = json!("Ignore");
            operator.csv_with(json!({"spec": {"webhookdefinitions": [hook]}}))
        };
        let first = with_hook(scene.operator("gopher", "1.0.0"));
        let second = with_hook(scene.operator("gopher", "2.0.0").replaces("1.0.0"));
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        let config = json!({"config": {"env": [{"name": "BURROW", "value": "deep"}]}});
        scene.subscribe("gopher", "hub", config).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        says(&scene, "gopher.v1.0.0", "False", "digging").await?;
        scene.restock("hub", &[stable([first, second])]).await?;
        is_held(&scene, "gopher.v2.0.0").await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Replacing).await?;

        is_put_right(&scene).await?;
        is_renewed(&scene).await?;

        let older = scene
            .api::<ClusterServiceVersion>()
            .get("gopher.v1.0.0")
            .await?;
        let told = status(&older);
        let history: Vec<_> = told.conditions.iter().map(|it| &it.phase).collect();
        ensure!(
            told.phase == CsvPhase::Replacing && history.last() == Some(&&CsvPhase::Replacing),
            "{told:?}"
        );
        let is_new = |it: &&&CsvPhase| ***it == CsvPhase::Replacing;
        ensure!(history.iter().filter(is_new).count() == 1, "{told:?}");
        says(&scene, "gopher.v1.0.0", "True", "done").await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        scene.delete_csv("gopher.v2.0.0").await
    })
    .await;
}

/// OperatorConditions in their first version: what operators wrote there is in the status.
fn in_v1(scene: &Scene<'_>) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("operators.coreos.com", "v1", "OperatorCondition");
    let resource = ApiResource::from_gvk(&gvk);
    Api::namespaced_with(scene.case.client.clone(), &scene.namespace, &resource)
}

#[tokio::test]
async fn what_an_operator_says_of_an_older_state_holds_its_upgrade_until_it_is_overruled() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&scene.operator("gopher", "1.0.0")).await?;
        let api = in_v1(&scene);
        let generation = api.get("gopher.v1.0.0").await?.metadata.generation;
        let mut said = upgradeable("True", "ready");
        said[0]["observedGeneration"] = json!(generation.unwrap_or_default() + 1);
        let patch = Patch::Merge(json!({"status": {"conditions": said}}));
        api.patch_status("gopher.v1.0.0", &PatchParams::default(), &patch)
            .await?;
        scene
            .by_hand(&scene.operator("gopher", "2.0.0").replaces("1.0.0"))
            .await?;
        let message = is_held(&scene, "gopher.v2.0.0").await?;
        ensure!(message.contains("is outdated"), "{message}");
        let go = json!({"spec": {"overrides": upgradeable("True", "go")}});
        scene
            .patch::<OperatorCondition>("gopher.v1.0.0", go)
            .await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_may_write_its_own_condition_and_no_other() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let allowed = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = scene.operator("gopher", "1.0.0").may(&allowed);
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let csv = scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let condition = scene
            .api::<OperatorCondition>()
            .get("gopher.v1.0.0")
            .await?;
        let owners = condition.owner_references();
        ensure!(
            matches!(owners, [owner] if Some(&owner.uid) == csv.uid().as_ref()
                && owner.controller == Some(true)),
            "{owners:?}"
        );
        ensure!(condition.spec.service_accounts == ["gopher"]);
        ensure!(condition.spec.deployments == ["gopher"]);
        let role = scene.api::<Role>().get("gopher.v1.0.0").await?;
        let rules = json!(role.rules);
        let expected = json!([{
            "apiGroups": ["operators.coreos.com"], "resources": ["operatorconditions"],
            "resourceNames": ["gopher.v1.0.0"], "verbs": ["get", "update", "patch"],
        }]);
        ensure!(rules == expected, "{rules}");
        let binding = scene.api::<RoleBinding>().get("gopher.v1.0.0").await?;
        let subjects = json!(binding.subjects);
        ensure!(subjects[0]["name"] == "gopher", "{subjects}");
        scene.runs(&scene.operator("mole", "1.0.0")).await?;
        let account = format!("system:serviceaccount:{}:gopher", scene.namespace);
        let client = case.cluster.client_as(&account).await?;
        let conditions = Api::<OperatorCondition>::namespaced(client, &scene.namespace);
        let says = Patch::Merge(json!({"spec": {"conditions": upgradeable("False", "busy")}}));
        let parameters = PatchParams::default();
        // Kubernetes takes a moment to know of a binding.
        case.eventually("allowed to write", async || {
            let written = conditions.patch("gopher.v1.0.0", &parameters, &says);
            Ok(written.await.is_ok())
        })
        .await?;
        let refused = conditions.patch("mole.v1.0.0", &parameters, &says).await;
        ensure!(
            matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403),
            "{refused:?}"
        );
        scene.delete_csv("gopher.v1.0.0").await?;
        scene.gone::<OperatorCondition>("gopher.v1.0.0").await?;
        scene.gone::<Role>("gopher.v1.0.0").await
    })
    .await;
}

/// The reason that an operator gives in its own words.
fn upgradeable_of(condition: &OperatorCondition) -> Option<String> {
    let said = condition.spec.conditions.first()?;
    Some(said.reason.clone())
}

/// What the stand-in is to say, in the ConfigMap that it looks at.
async fn has_it_say(scene: &Scene<'_>, upgradeable: &str, message: &str) -> anyhow::Result<()> {
    let data = json!({"upgradeable": upgradeable, "message": message});
    if scene.api::<ConfigMap>().get_opt("wishes").await?.is_some() {
        let changed = json!({"data": data});
        return scene.patch::<ConfigMap>("wishes", changed).await;
    }
    scene
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wishes"}, "data": data,
        }))
        .await
}

#[tokio::test]
async fn what_the_pod_of_an_operator_says_holds_its_upgrade_and_lets_it_go() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group("own").await?;
        let mut doing = stand_in.doing(&["operate", "gopher", "condition=wishes"]);
        doing["spec"]["template"]["spec"]["serviceAccountName"] = json!("gopher");
        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]});
        let version = |version: &str| {
            let operator = scene.operator("gopher", version);
            operator.may(&rule).deployment_with(doing.clone())
        };
        let first = version("1.0.0");
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        has_it_say(&scene, "False", "a gopher sleeps").await?;
        let said = scene
            .until("gopher.v1.0.0", "said", |it: &OperatorCondition| {
                let noted = it.status.as_ref().map(|status| &status.conditions);
                let mut noted = noted.into_iter().flatten();
                noted.any(|it| it.message == "a gopher sleeps")
            })
            .await?;
        ensure!(
            upgradeable_of(&said).as_deref() == Some("AsToldToSay"),
            "{said:?}"
        );

        let second = version("2.0.0").replaces("1.0.0");
        let content = [stable([first, second])];
        scene.shop().push_catalog("hub", &content).await?;
        let message = is_held(&scene, "gopher.v2.0.0").await?;
        ensure!(message.contains("a gopher sleeps"), "{message}");
        scene
            .until("gopher", "telling why", |it: &Subscription| {
                let status = it.status.clone().unwrap_or_default();
                let healthy = status.condition(&SubscriptionConditionType::Healthy);
                healthy.is_some_and(|healthy| healthy.message.contains("a gopher sleeps"))
            })
            .await?;
        let deployment = scene.api::<Deployment>().get("gopher").await?;
        ensure!(deployment.labels()["olm.owner"] == "gopher.v1.0.0");

        has_it_say(&scene, "True", "it is awake").await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn an_operator_whose_condition_has_no_room_runs_and_says_so_until_it_has() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-roles"},
                "spec": {"hard": {"count/roles.rbac.authorization.k8s.io": "0"}},
            }))
            .await?;
        scene
            .until("no-roles", "in force", |it: &ResourceQuota| {
                it.status.as_ref().is_some_and(|it| it.hard.is_some())
            })
            .await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.by_hand(&gopher).await?;
        let csv = gopher.csv_name();
        let says = |csv: &ClusterServiceVersion, words: &str| {
            let status = status(csv);
            status.phase == CsvPhase::Succeeded && status.message.contains(words)
        };
        let told = scene
            .until(&csv, "running and telling", |it| {
                says(it, "OperatorCondition")
            })
            .await?;
        let message = status(&told).message;
        ensure!(
            message.contains("exceeded quota") && message.contains("raise the ResourceQuota"),
            "{message}"
        );
        // It stays as it is: nothing is written each time that it is tried.
        let version = scene.api::<ClusterServiceVersion>().get(&csv).await?;
        scene.delete::<ResourceQuota>("no-roles").await?;
        let settled = scene
            .until(&csv, "telling nothing", |it| {
                says(it, "") && !says(it, "OperatorCondition")
            })
            .await?;
        ensure!(status(&settled).conditions == status(&version).conditions);
        ensure!(scene.names::<Role>().await? == [csv]);
        Ok(())
    })
    .await;
}
