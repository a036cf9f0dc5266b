//! The proxy of the cluster, where it tells of one as OpenShift does.

use chandler::api::subscription::Subscription;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// OpenShift's kind of object, or what matters of it. It stays: others of this cluster that run may
/// watch it.
async fn as_on_openshift(case: &Case) -> anyhow::Result<()> {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "proxies.config.openshift.io"},
        "spec": {
            "group": "config.openshift.io", "scope": "Cluster",
            "names": {"kind": "Proxy", "plural": "proxies", "singular": "proxy"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": open},
            }],
        },
    });
    let name = "proxies.config.openshift.io";
    let api = Api::<CustomResourceDefinition>::all(case.client.clone());
    api.patch(
        name,
        &PatchParams::apply("test").force(),
        &Patch::Apply(crd),
    )
    .await?;
    let is_served = |crd: Option<&CustomResourceDefinition>| {
        let status = crd.and_then(|crd| crd.status.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|it| it.type_ == "Established" && it.status == "True")
    };
    case.wait(&api, name, "established", is_served).await?;
    // Discovery lags behind.
    case.eventually("served", async || {
        let list = case
            .client
            .list_api_group_resources("config.openshift.io/v1");
        Ok(list.await.is_ok_and(|list| !list.resources.is_empty()))
    })
    .await
}

fn proxies(case: &Case) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("config.openshift.io", "v1", "Proxy");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "proxies");
    Api::all_with(case.client.clone(), &resource)
}

async fn say(scene: &Scene<'_>, status: Value) -> anyhow::Result<()> {
    let api = proxies(scene.case);
    // One for each test, so that none disturbs another.
    let name = &scene.namespace;
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Proxy",
        "metadata": {"name": name}, "spec": {}, "status": status,
    });
    api.patch(
        name,
        &PatchParams::apply("test").force(),
        &Patch::Apply(object),
    )
    .await?;
    Ok(())
}

/// The variables of the first container, but for that of the OperatorCondition.
fn variables(deployment: &Deployment) -> Vec<(String, String)> {
    let template = &deployment.spec.as_ref().unwrap().template;
    let container = &template.spec.as_ref().unwrap().containers[0];
    let variables = container.env.iter().flatten();
    variables
        .filter(|it| it.name != "OPERATOR_CONDITION_NAME")
        .map(|it| (it.name.clone(), it.value.clone().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn operators_learn_of_the_proxy_of_the_cluster_unless_their_subscription_has_its_own() {
    on_cluster(async |case| {
        as_on_openshift(case).await?;
        let mut scene = Scene::uncared(case).await?;
        say(
            &scene,
            json!({"httpProxy": "http://proxy:3128", "noProxy": ".svc"}),
        )
        .await?;
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        scene
            .config_map_catalog("hub", &[stable([scene.operator("gopher", "1.0.0")])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let has = async |expected: &[(&str, &str)]| {
            let what = format!("with {expected:?}");
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let expected: Vec<_> = expected.iter().map(owned).collect();
            let has = |it: &Deployment| variables(it) == expected;
            scene.until("gopher", &what, has).await
        };
        has(&[("HTTP_PROXY", "http://proxy:3128"), ("NO_PROXY", ".svc")]).await?;
        say(&scene, json!({"httpsProxy": "http://proxy:3129"})).await?;
        has(&[("HTTPS_PROXY", "http://proxy:3129")]).await?;
        let own = json!([{"name": "HTTP_PROXY", "value": "http://mine:1"}]);
        let config = json!({"spec": {"config": {"env": own}}});
        scene.patch::<Subscription>("gopher", config).await?;
        has(&[("HTTP_PROXY", "http://mine:1")]).await?;
        let api = proxies(case);
        api.delete(&scene.namespace, &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}
