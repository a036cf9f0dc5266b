//! Policies of the cluster that are in the way of what Chandler does.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvReason, InstallPlanPhase};
use chandler::api::install_plan::InstallPlan;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::status;
use crate::support::scene::{Scene, manual};
use crate::support::stand_in::webhook;
use crate::support::wares::stable;

async fn create<K>(scene: &Scene<'_>, object: Value) -> anyhow::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug,
    K: serde::Serialize + serde::de::DeserializeOwned,
{
    let api = Api::<K>::all(scene.case.client.clone());
    let object = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Denies something in the namespace, as soon as the API server has heard of it.
async fn deny(scene: &Scene<'_>, rule: Value, unless: &str) -> anyhow::Result<()> {
    let name = &scene.namespace;
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": {
            "matchLabels": {"kubernetes.io/metadata.name": name},
        }},
        "validations": [{"expression": unless, "message": "the house rules say no"}],
    });
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    create::<ValidatingAdmissionPolicy>(scene, policy).await?;
    let binding = json!({
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    create::<ValidatingAdmissionPolicyBinding>(scene, binding).await
}

async fn allow(scene: &Scene<'_>) -> anyhow::Result<()> {
    let (client, name) = (&scene.case.client, &scene.namespace);
    let parameters = DeleteParams::default();
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
    bindings.delete(name, &parameters).await?;
    let policies = Api::<ValidatingAdmissionPolicy>::all(client.clone());
    policies.delete(name, &parameters).await?;
    Ok(())
}

#[tokio::test]
async fn a_plan_that_a_policy_denies_goes_on_when_the_policy_is_gone() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let tunnels = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tunnels"},
        });
        let rule = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            "operations": ["CREATE", "UPDATE"],
        });
        deny(&scene, rule, "object.metadata.name != 'tunnels'").await?;
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let config_maps = scene.api::<ConfigMap>();
        let object: ConfigMap = serde_json::from_value(tunnels.clone())?;
        let is_denied = async || Ok(config_maps.create(&dry, &object).await.is_err());
        case.eventually("denied", is_denied).await?;
        let gopher = scene.operator("gopher", "1.0.0").with(tunnels);
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::Installing)
            .await?
            .name_any();
        let is_told = |plan: &InstallPlan| {
            let status = plan.status.as_ref();
            status.is_some_and(|it| it.message.contains("the house rules say no"))
        };
        let told = scene
            .until(&plan, "told what is in the way", is_told)
            .await?;
        let phase = told.status.map(|it| it.phase);
        ensure!(phase == Some(InstallPlanPhase::Installing), "{phase:?}");
        allow(&scene).await?;
        let done = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(done.name_any() == plan, "{done:?}");
        config_maps.get("tunnels").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_done_for_one_subscription_is_in_the_way_of_no_other() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene
            .config_map_catalog("hub", &[stable([gopher.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", manual()).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?
            .name_any();
        let rule = json!({
            "apiGroups": ["operators.coreos.com"], "apiVersions": ["v1alpha1"],
            "resources": ["installplans"], "operations": ["DELETE"],
        });
        deny(&scene, rule, "false").await?;
        let dry = DeleteParams {
            dry_run: true,
            ..DeleteParams::default()
        };
        let plans = scene.api::<InstallPlan>();
        let is_denied = async || Ok(plans.delete(&plan, &dry).await.is_err());
        case.eventually("denied", is_denied).await?;
        // The plan that waits is not wanted any more, and cannot be deleted. Who sees one sees the other.
        let newer = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        let mole = scene.operator("mole", "1.0.0");
        let stock = [stable([gopher, newer]), stable([mole])];
        scene.restock("hub", &stock).await?;
        scene.subscribe("mole", "hub", json!({})).await?;
        scene.at_latest("mole", "mole.v1.0.0").await?;
        ensure!(
            plans
                .get(&plan)
                .await?
                .metadata
                .deletion_timestamp
                .is_none()
        );
        allow(&scene).await?;
        scene.gone::<InstallPlan>(&plan).await
    })
    .await;
}

#[tokio::test]
async fn a_deleted_operator_says_that_a_policy_keeps_what_it_leaves_behind_and_goes_without_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let mut hook = webhook(&gopher, "validate");
        // Nobody answers here.
        hook["failurePolicy"] = json!("Ignore");
        let gopher = gopher.csv_with(json!({"spec": {"webhookdefinitions": [hook]}}));
        scene.runs(&gopher).await?;
        let rule = json!({
            "apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"],
            "resources": ["clusterrolebindings"], "operations": ["DELETE"],
        });
        let name = format!("{}:gopher-service-system:auth-delegator", scene.namespace);
        let unless = format!("oldObject.metadata.name != '{name}'");
        deny(&scene, rule, &unless).await?;
        let bindings = Api::<ClusterRoleBinding>::all(case.client.clone());
        let dry = DeleteParams::default().dry_run();
        let is_denied = async || Ok(bindings.delete(&name, &dry).await.is_err());
        case.eventually("the policy in force", is_denied).await?;

        let csv = gopher.csv_name();
        scene.delete::<ClusterServiceVersion>(&csv).await?;
        let says = |it: &ClusterServiceVersion| {
            let status = status(it);
            status.reason == CsvReason::WaitingOnCleanup
                && status.message.contains("the house rules say no")
        };
        scene.until(&csv, "telling", says).await?;
        scene.told(&csv, "WaitingOnCleanup").await?;
        allow(&scene).await?;
        scene.gone::<ClusterServiceVersion>(&csv).await?;
        ensure!(bindings.get_opt(&name).await?.is_none());
        Ok(())
    })
    .await;
}
