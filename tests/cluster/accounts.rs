//! ServiceAccounts: those that operators run as, and those that install them.

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{
    CsvPhase, CsvReason, InstallPlanConditionType, InstallPlanPhase, RequirementState, StepStatus,
};
use chandler::api::install_plan::InstallPlan;
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Event, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::life::{requirement, status};
use crate::support::scene::Scene;
use crate::support::wares::{Operator, stable};

/// Creates an object of a kind that is in no namespace.
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

const RBAC: &str = "rbac.authorization.k8s.io";

#[tokio::test]
async fn a_csv_waits_for_its_service_account_and_for_every_rule() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let rule =
            |resource: &str| json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
        let gopher = scene
            .operator("gopher", "1.0.0")
            .may(&rule("pods"))
            .may_everywhere(&rule("nodes"));
        scene.by_hand(&gopher).await?;
        let csv = gopher.csv_name();
        let of_account = |csv: &ClusterServiceVersion| {
            let told = requirement(csv, "gopher")?;
            let rules = told.dependents.iter();
            let met = rules.filter(|rule| rule.status == RequirementState::Satisfied);
            Some((told.status, met.count()))
        };
        let is_so = async |state: RequirementState, rules: usize| {
            let what = format!("with account {state} and {rules} rules");
            let wanted = (state, rules);
            let holds = |csv: &_| of_account(csv).as_ref() == Some(&wanted);
            scene.until(&csv, &what, holds).await
        };
        is_so(RequirementState::NotPresent, 0).await?;
        let told = scene.told(&csv, "RequirementsNotMet").await?;
        let told = told.message.unwrap_or_default();
        let advice = format!(
            "(create ServiceAccount gopher in namespace {}",
            scene.namespace
        );
        ensure!(
            told.contains("Service account does not exist") && told.contains(&advice),
            "{told}"
        );
        // One that is another operator's is not there for this one.
        let mole = scene.operator("mole", "1.0.0");
        let mole = scene.runs(&mole).await?;
        let managed = json!({"olm.managed": "true"});
        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {
                    "name": "gopher", "labels": managed,
                    "ownerReferences": [mole.owner_ref(&())],
                },
            }))
            .await?;
        let is_moles = |csv: &ClusterServiceVersion| {
            requirement(csv, "gopher").is_some_and(|told| {
                told.message == "Service account is owned by another ClusterServiceVersion"
            })
        };
        scene.until(&csv, "without an account", is_moles).await?;
        // Who else owns it does not matter.
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
        scene.create(owner).await?;
        let owner = scene.api::<ConfigMap>().get("owner").await?;
        let owners = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid(),
        }]);
        scene
            .patch::<ServiceAccount>("gopher", json!({"metadata": {"ownerReferences": owners}}))
            .await?;
        is_so(RequirementState::PresentNotSatisfied, 0).await?;
        let subjects =
            json!([{"kind": "ServiceAccount", "name": "gopher", "namespace": scene.namespace}]);
        let metadata = json!({"name": "gopher", "labels": managed});
        scene
            .create(json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata,
                "rules": [rule("pods")],
            }))
            .await?;
        scene
            .create(json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "gopher"},
                "subjects": subjects,
            }))
            .await?;
        let csv_now = is_so(RequirementState::PresentNotSatisfied, 1).await?;
        let message = status(&csv_now).message;
        let advice = "grant it get nodes in the whole cluster, by a ClusterRole";
        ensure!(
            message.contains(advice) && !message.contains("get pods"),
            "{message}"
        );
        ensure!(scene.names::<Deployment>().await? == ["mole"]);
        // By its labels it belongs to the operator, and goes with it.
        let name = format!("{}-gopher", scene.namespace);
        let metadata = json!({"name": name, "labels": {
            "olm.managed": "true", "olm.owner": csv, "olm.owner.namespace": scene.namespace,
            "olm.owner.kind": "ClusterServiceVersion",
        }});
        create::<ClusterRole>(
            &scene,
            json!({"metadata": metadata, "rules": [rule("nodes")]}),
        )
        .await?;
        create::<ClusterRoleBinding>(
            &scene,
            json!({
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
                "subjects": subjects,
            }),
        )
        .await?;
        is_so(RequirementState::Present, 2).await?;
        scene.in_phase(&csv, CsvPhase::Succeeded).await?;
        scene.delete_csv(&csv).await
    })
    .await;
}

/// Gives the account `gopher` a right of the whole cluster.
async fn grant_everywhere(scene: &Scene<'_>, rule: &Value) -> anyhow::Result<()> {
    // By the labels it goes with the operator.
    let metadata = json!({"name": format!("{}-gopher", scene.namespace), "labels": {
        "olm.managed": "true", "olm.owner": "gopher.v1.0.0",
        "olm.owner.namespace": scene.namespace, "olm.owner.kind": "ClusterServiceVersion",
    }});
    let rights = json!({"metadata": metadata, "rules": [rule]});
    create::<ClusterRole>(scene, rights).await?;
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": metadata["name"]},
        "subjects": [
            {"kind": "ServiceAccount", "name": "gopher", "namespace": scene.namespace},
        ],
    });
    create::<ClusterRoleBinding>(scene, binding).await
}

/// Has an operator whose API is there wait for a right of its account, and then run with it.
async fn waits_for_right(
    scene: &Scene<'_>,
    gopher: &Operator,
    api: &str,
    rule: &Value,
) -> anyhow::Result<()> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "gopher", "labels": {"olm.managed": "true"}},
    });
    scene.create(account).await?;
    scene.by_hand(gopher).await?;
    let name = gopher.csv_name();
    let csv = scene.because(&name, CsvReason::RequirementsNotMet).await?;
    ensure!(status(&csv).phase == CsvPhase::Pending, "{csv:?}");
    let there = requirement(&csv, api).context("the API is not told of")?;
    ensure!(there.status == RequirementState::Present, "{there:?}");
    let lacks = requirement(&csv, "gopher").context("the account is not told of")?;
    let rules: Vec<_> = lacks.dependents.iter().map(|it| &it.status).collect();
    ensure!(
        lacks.status == RequirementState::PresentNotSatisfied
            && rules == [&RequirementState::NotSatisfied],
        "{lacks:?}"
    );
    ensure!(scene.names::<Deployment>().await?.is_empty());
    grant_everywhere(scene, rule).await?;
    let csv = scene.in_phase(&name, CsvPhase::Succeeded).await?;
    let met = requirement(&csv, "gopher").context("the account is not told of")?;
    ensure!(met.status == RequirementState::Present, "{met:?}");
    scene.delete_csv(&name).await
}

#[tokio::test]
async fn a_csv_whose_crd_is_there_waits_for_the_rights_to_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        let rule = json!({
            "apiGroups": [gopher.group], "resources": ["gophers"], "verbs": ["create", "delete"],
        });
        let gopher = gopher.may(&rule);
        scene.with_crd(&gopher, "Gopher").await?;
        waits_for_right(&scene, &gopher, &gopher.crd_name("Gopher"), &rule).await
    })
    .await;
}

#[tokio::test]
async fn a_csv_whose_api_service_answers_waits_for_the_right_to_a_path() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let rule = json!({"nonResourceURLs": ["/osb", "/osb/*"], "verbs": ["put", "get"]});
        let required =
            json!([{"name": "deployments", "group": "apps", "version": "v1", "kind": "Deployment"}]);
        let gopher = scene
            .operator("gopher", "1.0.0")
            .may_everywhere(&rule)
            .csv_with(json!({"spec": {"apiservicedefinitions": {"required": required}}}));
        waits_for_right(&scene, &gopher, "v1.apps", &rule).await
    })
    .await;
}

/// A namespace whose group installs as an account that may do nothing.
async fn with_weak_installer(case: &Case) -> anyhow::Result<Scene<'_>> {
    let scene = Scene::without_group(case).await?;
    scene
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "weak"}}))
        .await?;
    let targets = [&scene.namespace];
    scene
        .group_with(json!({"targetNamespaces": targets, "serviceAccountName": "weak"}))
        .await?;
    Ok(scene)
}

/// Lets that account do everything in its namespace.
async fn strengthen(scene: &Scene<'_>) -> anyhow::Result<()> {
    scene
        .create(json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": {"name": "strong"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        }))
        .await?;
    scene
        .create(json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
            "metadata": {"name": "strong"},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "strong"},
            "subjects": [{"kind": "ServiceAccount", "name": "weak", "namespace": scene.namespace}],
        }))
        .await
}

/// Waits until an operator failed because its installer may not install it.
async fn is_refused(scene: &Scene<'_>, csv: &str) -> anyhow::Result<()> {
    let account = format!("system:serviceaccount:{}:weak", scene.namespace);
    let is_so = |csv: &ClusterServiceVersion| {
        let status = status(csv);
        status.phase == CsvPhase::Failed
            && status.reason == CsvReason::InstallComponentFailedNoRetry
            && status.message.contains("forbidden")
            && status.message.contains(&account)
    };
    scene.until(csv, "refused", is_so).await?;
    Ok(())
}

/// How often a ClusterServiceVersion went round through its phases because something changed.
async fn rounds(scene: &Scene<'_>, csv: &str) -> anyhow::Result<usize> {
    let of = ListParams::default().fields(&format!(
        "reason=DetectedClusterChange,involvedObject.name={csv}"
    ));
    Ok(scene.api::<Event>().list(&of).await?.items.len())
}

#[tokio::test]
async fn rights_of_others_are_no_reason_to_begin_an_install_anew() {
    on_cluster(async |case| {
        let scene = with_weak_installer(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        let csv = gopher.csv_name();
        scene.by_hand(&gopher).await?;
        is_refused(&scene, &csv).await?;
        let before = scene.api::<ClusterServiceVersion>().get(&csv).await?;
        let name = format!("{}-strangers", scene.namespace);
        create::<ClusterRole>(&scene, json!({"metadata": {"name": name}, "rules": []})).await?;
        create::<ClusterRoleBinding>(
            &scene,
            json!({
                "metadata": {"name": name},
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "User", "name": "stranger", "apiGroup": RBAC}],
            }),
        )
        .await?;
        // Another one that comes later is looked at later, and by then this one was, too: both are called for.
        for package in ["mole", "vole", "shrew"] {
            let label = json!({"metadata": {"labels": {"beside": package}}});
            scene.patch::<ClusterServiceVersion>(&csv, label).await?;
            let other = scene.operator(package, "1.0.0");
            scene.by_hand(&other).await?;
            is_refused(&scene, &other.csv_name()).await?;
        }
        let after = scene.api::<ClusterServiceVersion>().get(&csv).await?;
        let (before, after) = (status(&before), status(&after));
        ensure!(before.conditions == after.conditions, "{after:?}");
        ensure!(rounds(&scene, &csv).await? == 0);
        let bindings = Api::<ClusterRoleBinding>::all(case.client.clone());
        bindings.delete(&name, &DeleteParams::default()).await?;
        let roles = Api::<ClusterRole>::all(case.client.clone());
        roles.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_its_installer_may_not_install_goes_on_when_it_may() {
    on_cluster(async |case| {
        let scene = with_weak_installer(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.by_hand(&gopher).await?;
        is_refused(&scene, &gopher.csv_name()).await?;
        strengthen(&scene).await?;
        scene
            .in_phase(&gopher.csv_name(), CsvPhase::Succeeded)
            .await?;
        scene
            .told(&gopher.csv_name(), "DetectedClusterChange")
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_its_installer_may_not_install_goes_on_without_the_installer() {
    on_cluster(async |case| {
        let scene = with_weak_installer(case).await?;
        let gopher = scene.operator("gopher", "1.0.0");
        scene.by_hand(&gopher).await?;
        is_refused(&scene, &gopher.csv_name()).await?;
        let nobody = json!({"spec": {"serviceAccountName": null}});
        scene.patch::<OperatorGroup>("own", nobody).await?;
        scene
            .in_phase(&gopher.csv_name(), CsvPhase::Succeeded)
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_installer_with_the_rights_it_needs_installs_all_steps_and_the_operator_runs() {
    on_cluster(async |case| {
        let scene = with_weak_installer(case).await?;
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher").may(&rule);
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        // We ourselves could do all of it: that it is refused shows who does it.
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::Installing)
            .await?
            .name_any();
        let user = format!("system:serviceaccount:{}:weak", scene.namespace);
        let is_refused = |plan: &InstallPlan| {
            let status = plan.status.as_ref();
            status.is_some_and(|it| it.message.contains(&format!("User \"{user}\" cannot")))
        };
        scene.until(&plan, "refused", is_refused).await?;
        ensure!(
            !scene
                .names::<Role>()
                .await?
                .iter()
                .any(|it| it.starts_with("gopher"))
        );
        strengthen(&scene).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let status = plan.status.unwrap_or_default();
        let account = status.attenuated_service_account_ref.clone();
        let account = account.and_then(|account| account.name);
        ensure!(account.as_deref() == Some("weak"), "{account:?}");
        let installed = status.condition(&InstallPlanConditionType::Installed);
        ensure!(
            installed.is_some_and(|it| it.message.is_empty()),
            "{installed:?}"
        );
        let is_done = |it: &StepStatus| matches!(it, StepStatus::Created | StepStatus::Present);
        ensure!(
            status.plan.iter().all(|step| is_done(&step.status)),
            "{status:?}"
        );
        Ok(())
    })
    .await;
}
