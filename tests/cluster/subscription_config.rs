//! What a Subscription adjusts about the Pods of its operator (`spec.config`).

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// What the Pods of a Deployment have of a configuration, in its own words. The variable by which an operator
/// finds its OperatorCondition is not asked for.
fn configuration(deployment: &Deployment) -> Value {
    let deployment = json!(deployment);
    let template = &deployment["spec"]["template"];
    let pod = &template["spec"];
    let container = &pod["containers"][0];
    let named = |list: &Value, name: &str| {
        let mut items = list.as_array().into_iter().flatten();
        items.find(|item| item["name"] == name).cloned()
    };
    json!({
        "annotations": {"team": template["metadata"]["annotations"]["team"]},
        "env": named(&container["env"], "COLOUR"),
        "envFrom": container["envFrom"],
        "volumes": named(&pod["volumes"], "names"),
        "volumeMounts": named(&container["volumeMounts"], "names"),
        "resources": container["resources"],
        "tolerations": pod["tolerations"],
        "nodeSelector": pod["nodeSelector"],
        "affinity": pod["affinity"],
    })
}

#[tokio::test]
async fn the_config_of_a_subscription_reaches_the_pods_of_its_operator_and_can_be_withdrawn() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        let plain = scene
            .until("gopher", "there", |_: &Deployment| true)
            .await?;
        let plain = configuration(&plain);

        let colour = json!({"name": "COLOUR", "value": "blue"});
        let settings = json!([{"configMapRef": {"name": "settings", "optional": true}}]);
        let volume = json!({"name": "names", "emptyDir": {}});
        let mount = json!({"name": "names", "mountPath": "/names"});
        let resources = json!({"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}});
        let tolerations = json!([{"key": "den", "operator": "Exists", "effect": "NoSchedule"}]);
        let node_selector = json!({"kubernetes.io/os": "linux"});
        let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}],
        }}});
        let config = json!({
            "annotations": {"team": "diggers"}, "env": [colour], "envFrom": settings, "volumes": [volume],
            "volumeMounts": [mount], "resources": resources, "tolerations": tolerations,
            "nodeSelector": node_selector, "affinity": affinity,
        });
        let mut whole = config.clone();
        for list in ["env", "volumes", "volumeMounts"] {
            whole[list] = config[list][0].clone();
        }
        let given = json!({"spec": {"config": config}});
        scene.patch::<Subscription>("gopher", given).await?;
        let has = async |what: &str, expected: &Value| {
            let has = |it: &Deployment| configuration(it) == *expected;
            scene.until("gopher", what, has).await
        };
        has("configured", &whole).await?;

        // Labels that no Pod of the operator has: the configuration is meant for others.
        let selector = json!({"matchLabels": {"part-of": "something-else"}});
        let others = json!({"spec": {"config": {"selector": selector}}});
        scene.patch::<Subscription>("gopher", others).await?;
        has("as if without configuration", &plain).await?;

        let all = json!({"spec": {"config": {"selector": null}}});
        scene.patch::<Subscription>("gopher", all).await?;
        has("configured again", &whole).await?;

        let none = json!({"spec": {"config": null}});
        scene.patch::<Subscription>("gopher", none).await?;
        has("without configuration", &plain).await?;
        let subscription = scene.at_latest("gopher", "gopher.v1.0.0").await?;
        ensure!(subscription.spec.config.is_none(), "{subscription:?}");
        Ok(())
    })
    .await;
}

/// The colour that Pods get.
fn colour(template: &PodTemplateSpec) -> Option<String> {
    let container = template.spec.as_ref()?.containers.first()?;
    let mut variables = container.env.iter().flatten();
    let colour = variables.find(|variable| variable.name == "COLOUR")?;
    colour.value.clone()
}

#[tokio::test]
async fn the_config_of_a_subscription_is_there_from_the_first_pod_of_each_version_on() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let first = scene.operator("gopher", "1.0.0");
        scene
            .config_map_catalog("hub", &[stable([first.clone()])])
            .await?;
        let config = json!({"env": [{"name": "COLOUR", "value": "blue"}]});
        scene
            .subscribe("gopher", "hub", json!({"config": config}))
            .await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let deployment = scene.api::<Deployment>().get("gopher").await?;
        let spec = deployment.spec.context("no spec")?;
        ensure!(colour(&spec.template).as_deref() == Some("blue"));
        let generation = deployment.metadata.generation;
        ensure!(generation == Some(1), "written again: {generation:?}");

        let containers = json!([{"name": "operator", "image": "example.com/operator:v2"}]);
        let doing = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let second = scene.operator("gopher", "2.0.0").replaces("1.0.0");
        let second = second.deployment_with(doing);
        scene.restock("hub", &[stable([first, second])]).await?;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Succeeded).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        // One for each template that there ever was.
        let sets = scene.api::<ReplicaSet>();
        let sets = sets.list(&ListParams::default()).await?;
        let templates = sets
            .items
            .iter()
            .filter_map(|it| it.spec.as_ref()?.template.as_ref());
        let colours: Vec<_> = templates.map(colour).collect();
        let blue = Some("blue".to_owned());
        ensure!(colours == [blue.clone(), blue], "{colours:?}");
        Ok(())
    })
    .await;
}
