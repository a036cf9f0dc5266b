//! The APIServices of operators: whose they are, who may use them, and what becomes of them. Those that are
//! really served are in `serving`.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::life::status;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, tunnels};
use crate::support::wares::Operator;

/// An operator that is to serve the kind `Tunnel` of a group.
fn serving(scene: &Scene<'_>, group: &str) -> Operator {
    let operator = scene.operator("gopher", "1.0.0");
    let owned = [tunnels(&operator, group)];
    operator.csv_with(json!({"spec": {"apiservicedefinitions": {"owned": owned}}}))
}

fn group_of(scene: &Scene<'_>, name: &str) -> String {
    format!("{name}.{}.example.com", scene.namespace)
}

/// An APIService that nobody serves, with the labels of a ClusterServiceVersion if one is named.
async fn left_behind(
    scene: &Scene<'_>,
    group: &str,
    owner: Option<(&str, &str)>,
) -> anyhow::Result<()> {
    let labels = owner.map(|(namespace, name)| {
        json!({
            "olm.managed": "true", "olm.owner.kind": "ClusterServiceVersion",
            "olm.owner": name, "olm.owner.namespace": namespace,
        })
    });
    let api: APIService = serde_json::from_value(json!({
        "metadata": {"name": format!("v1.{group}"), "labels": labels.unwrap_or(Value::Null)},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 15},
    }))?;
    apis(scene).create(&PostParams::default(), &api).await?;
    Ok(())
}

fn apis(scene: &Scene<'_>) -> Api<APIService> {
    Api::all(scene.case.client.clone())
}

async fn is_there(scene: &Scene<'_>, group: &str) -> anyhow::Result<bool> {
    let found = apis(scene).get_opt(&format!("v1.{group}")).await?;
    Ok(found.is_some())
}

#[tokio::test]
async fn an_api_service_whose_operator_is_gone_is_swept_up_and_others_are_not() {
    on_cluster(async |case| {
        let mut scene = Scene::new(case).await?;
        scene.runs(&scene.operator("mole", "1.0.0")).await?;
        let [orphan, foreign, own, nobodys] =
            ["orphan", "foreign", "own", "nobodys"].map(|name| group_of(&scene, name));
        let here = scene.namespace.clone();
        left_behind(&scene, &own, Some((&here, "mole.v1.0.0"))).await?;
        // Controllers that care for another namespace will see to that.
        left_behind(&scene, &foreign, Some(("elsewhere", "gone.v1.0.0"))).await?;
        left_behind(&scene, &nobodys, None).await?;
        left_behind(&scene, &orphan, Some((&here, "gone.v1.0.0"))).await?;
        let is_gone = async || Ok(!is_there(&scene, &orphan).await?);
        case.eventually("swept up", is_gone).await?;
        for group in [&foreign, &nobodys] {
            ensure!(is_there(&scene, group).await?, "{group}");
        }
        // Also what was left while nobody ran.
        scene.stop().await?;
        left_behind(&scene, &orphan, Some((&here, "gone.v1.0.0"))).await?;
        let running = crate::support::controllers::Running::start(case, &[&here]).await?;
        let is_gone = async || Ok(!is_there(&scene, &orphan).await?);
        case.eventually("swept up", is_gone).await?;
        running.stop().await?;
        for group in [foreign, nobodys, own] {
            // One of an operator that does not ask for it may be gone.
            let _ = apis(&scene)
                .delete(&format!("v1.{group}"), &DeleteParams::default())
                .await;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_api_service_is_taken_over_from_an_operator_that_is_gone_and_from_nobody_else() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let group = group_of(&scene, "api");
        left_behind(&scene, &group, None).await?;
        let before = apis(&scene).get(&format!("v1.{group}")).await?;
        scene.by_hand(&serving(&scene, &group)).await?;
        let failed = scene
            .because("gopher.v1.0.0", CsvReason::OwnerConflict)
            .await?;
        let status = status(&failed);
        ensure!(
            status.phase == CsvPhase::Failed
                && status.message.contains("unable to adopt APIService")
                && status.message.contains("no ClusterServiceVersion"),
            "{status:?}"
        );
        let name = format!("v1.{group}");
        let after = apis(&scene).get(&name).await?;
        ensure!(after.resource_version() == before.resource_version());
        apis(&scene).delete(&name, &DeleteParams::default()).await?;
        let is_owned = async || {
            let found = apis(&scene).get_opt(&name).await?;
            Ok(found.is_some_and(|it| {
                it.labels().get("olm.owner").map(String::as_str) == Some("gopher.v1.0.0")
            }))
        };
        case.eventually("the operator's", &is_owned).await?;
        scene.delete_csv("gopher.v1.0.0").await?;
        ensure!(!is_there(&scene, &group).await?);

        left_behind(&scene, &group, Some(("elsewhere", "gone.v1.0.0"))).await?;
        scene.by_hand(&serving(&scene, &group)).await?;
        case.eventually("the operator's", &is_owned).await?;
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

/// What old releases of OLM had beside an API, with the labels of a ClusterServiceVersion if one is named.
async fn had_before(
    scene: &Scene<'_>,
    group: &str,
    owner: Option<&str>,
) -> anyhow::Result<Vec<(Api<DynamicObject>, String)>> {
    let labels = owner.map(|owner| {
        json!({
            "olm.owner.kind": "ClusterServiceVersion", "olm.owner": owner,
            "olm.owner.namespace": scene.namespace,
        })
    });
    let rbac = "rbac.authorization.k8s.io";
    let role =
        |kind: &str, name: &str| json!({"roleRef": {"apiGroup": rbac, "kind": kind, "name": name}});
    let api = format!("v1.{group}");
    let secret = format!("{api}-cert");
    let here = scene.namespace.as_str();
    let ports = json!({"spec": {"ports": [{"port": 433, "targetPort": 443}]}});
    let authentication = "extension-apiserver-authentication-reader";
    let delegation = "system:auth-delegator";
    let all = [
        ("", "Service", here, api.replace('.', "-"), ports),
        ("", "Secret", here, secret.clone(), json!({})),
        (rbac, "Role", here, secret.clone(), json!({"rules": []})),
        (
            rbac,
            "RoleBinding",
            here,
            secret.clone(),
            role("Role", &secret),
        ),
        (
            rbac,
            "ClusterRoleBinding",
            "",
            format!("{api}-{delegation}"),
            role("ClusterRole", delegation),
        ),
        (
            rbac,
            "RoleBinding",
            "kube-system",
            format!("{api}-auth-reader"),
            role("Role", authentication),
        ),
    ];
    let mut made = Vec::new();
    for (group, kind, namespace, name, mut object) in all {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let client = scene.case.client.clone();
        let api: Api<DynamicObject> = match namespace {
            "" => Api::all_with(client, &resource),
            namespace => Api::namespaced_with(client, namespace, &resource),
        };
        object["apiVersion"] = json!(resource.api_version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": name, "labels": labels});
        let object = serde_json::from_value(object)?;
        api.create(&PostParams::default(), &object).await?;
        made.push((api, name));
    }
    Ok(made)
}

#[tokio::test]
async fn what_an_old_olm_had_for_an_api_under_other_names_goes_unless_it_is_not_the_operators() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        // In the order in which they are looked at.
        // The names of Services are short.
        let (_, unique) = scene.namespace.rsplit_once('-').context("no name")?;
        let [foreign, own] = ["foreign", "own"].map(|name| format!("{name}-{unique}.example.com"));
        let others = had_before(&scene, &foreign, None).await?;
        let ours = had_before(&scene, &own, Some("gopher.v1.0.0")).await?;
        let operator = scene.operator("gopher", "1.0.0");
        let owned = [&foreign, &own].map(|group| tunnels(&operator, group));
        let operator =
            operator.csv_with(json!({"spec": {"apiservicedefinitions": {"owned": owned}}}));
        scene.by_hand(&operator).await?;
        for (api, name) in &ours {
            let is_gone = async || Ok(api.get_opt(name).await?.is_none());
            case.eventually(&format!("{name} gone"), is_gone).await?;
        }
        for (api, name) in &others {
            ensure!(api.get_opt(name).await?.is_some(), "{name} is gone");
        }
        for group in [&foreign, &own] {
            let api = apis(&scene).get(&format!("v1.{group}")).await?;
            let service = api.spec.and_then(|spec| spec.service?.name);
            ensure!(service.as_deref() == Some("gopher-service"), "{service:?}");
        }
        for (api, name) in &others {
            api.delete(name, &DeleteParams::default()).await?;
        }
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn users_of_a_namespace_may_use_the_apis_that_an_operator_serves() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group("own").await?;
        let group = group_of(&scene, "api");
        let operator = serving(&scene, &group);
        let doing = stand_in.doing(&["operate", "gopher", "api"]);
        scene.runs(&operator.deployment_with(doing)).await?;
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let grants = |role: &ClusterRole, verbs: &[&str]| {
            let mut granted = role.rules.iter().flatten();
            granted.any(|rule| {
                rule.api_groups.as_deref() == Some(std::slice::from_ref(&group))
                    && rule.resources == Some(vec!["tunnels".to_owned()])
                    && rule.verbs == verbs
            })
        };
        for (name, verbs) in [
            ("admin", &["*"][..]),
            ("edit", &["create", "update", "patch", "delete"]),
            ("view", &["get", "list", "watch"]),
        ] {
            // Kubernetes collects them for the users of all namespaces.
            for role in [format!("tunnels.{group}-v1-{name}"), name.to_owned()] {
                let is_filled_in = async || {
                    let role = roles.get_opt(&role).await?;
                    Ok(role.is_some_and(|role| grants(&role, verbs)))
                };
                case.eventually(&format!("{role} for {group}"), is_filled_in)
                    .await?;
            }
        }
        scene.delete_csv("gopher.v1.0.0").await?;
        let name = format!("tunnels.{group}-v1-view");
        let is_gone = async || Ok(roles.get_opt(&name).await?.is_none());
        case.eventually("gone with the API", is_gone).await
    })
    .await;
}
