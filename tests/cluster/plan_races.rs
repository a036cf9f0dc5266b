//! Plans of a process that hears of things late, or was stopped half-way, and plans that come back.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, InstallPlanPhase};
use chandler::api::install_plan::{Approval, InstallPlan};
use chandler::api::operator_group::OperatorGroup;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::controllers::Running;
use crate::support::gateway::Gateway;
use crate::support::killing::{last, role};
use crate::support::process::Process;
use crate::support::scene::{Scene, manual};
use crate::support::wares::stable;

const RBAC: &str = "rbac.authorization.k8s.io";

async fn account(scene: &Scene<'_>) -> anyhow::Result<()> {
    scene
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "weak"}}))
        .await
}

/// Lets that account do everything in its namespace.
async fn strengthen(scene: &Scene<'_>) -> anyhow::Result<()> {
    let metadata = json!({"name": "strong"});
    scene
        .create(json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata,
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        }))
        .await?;
    scene
        .create(json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "strong"},
            "subjects": [{"kind": "ServiceAccount", "name": "weak", "namespace": scene.namespace}],
        }))
        .await
}

/// Waits until a plan is refused because that account may not do what it takes.
async fn is_refused(scene: &Scene<'_>, plan: &str) -> anyhow::Result<InstallPlan> {
    let user = format!("system:serviceaccount:{}:weak", scene.namespace);
    let is_refused = |plan: &InstallPlan| {
        let status = plan.status.as_ref();
        status.is_some_and(|it| it.message.contains(&format!("User \"{user}\" cannot")))
    };
    scene.until(plan, "refused", is_refused).await
}

fn watches(path: &str, kind: &str) -> bool {
    path.contains(&format!("/{kind}?")) && path.contains("watch=")
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_rights_are_used_is_asked_for_and_not_taken_from_a_watch_that_is_behind() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        account(&scene).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let held = gateway.hold(|_, path| watches(path, "operatorgroups"));
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("deaf", &kubeconfig, &namespaces))?;
        held.is_reached().await;
        let weak = json!({"spec": {"serviceAccountName": "weak"}});
        scene.patch::<OperatorGroup>("own", weak).await?;
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = scene.operator("gopher", "1.0.0").may(&rule);
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::Installing)
            .await?;
        is_refused(&scene, &plan.name_any()).await?;
        let roles = scene.names::<Role>().await?;
        ensure!(
            !roles.iter().any(|it| it.starts_with("gopher")),
            "{roles:?}"
        );
        ensure!(scene.csvs().await?.is_empty());
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_everywhere_are_not_given_for_a_group_that_a_watch_does_not_tell_of_any_more() {
    on_cluster(async |case| {
        let mut scene = Scene::for_all(case).await?;
        // Somebody says which namespaces the group covers.
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        scene
            .until("all", "for all namespaces", |it: &OperatorGroup| {
                let status = it.status.as_ref();
                status.is_some_and(|status| status.namespaces == [""])
            })
            .await?;
        scene.stop().await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let held = gateway.hold(|_, path| watches(path, "operatorgroups"));
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("deaf", &kubeconfig, &namespaces))?;
        held.is_reached().await;
        let narrow = json!({"spec": {"targetNamespaces": [scene.namespace]}});
        scene.patch::<OperatorGroup>("all", narrow).await?;
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = scene.operator("gopher", "1.0.0").may(&rule);
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        // It has its rights before it begins to run.
        let runs = |csv: &ClusterServiceVersion| {
            let phase = csv.status.as_ref().map(|status| &status.phase);
            matches!(phase, Some(CsvPhase::Installing | CsvPhase::Succeeded))
        };
        scene.until("gopher.v1.0.0", "about to run", runs).await?;
        let ours = ListParams::default().labels(&format!(
            "olm.owner.namespace={},olm.owner.kind=ClusterServiceVersion",
            scene.namespace
        ));
        let roles = Api::<ClusterRole>::all(case.client.clone());
        let given = roles.list(&ours).await?.items;
        ensure!(given.is_empty(), "{given:?}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_was_left_approved_and_without_steps_does_not_pass_for_one_that_waits() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        gateway.shut_after(last("POST", "installplans"));
        let gopher = scene.operator("gopher", "1.0.0");
        scene.config_map_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let kubeconfig = gateway.kubeconfig();
        let first = Process::start(case, &role("first", &kubeconfig, &namespaces))?;
        gateway.is_shut().await;
        first.kill().await?;
        let left = scene.names::<InstallPlan>().await?;
        let [name] = left.as_slice() else {
            anyhow::bail!("{left:?}");
        };
        let left = scene.api::<InstallPlan>().get(name).await?;
        ensure!(left.spec.approved && left.status.is_none(), "{left:?}");
        let asked = json!({"spec": manual()});
        scene.patch::<Subscription>("gopher", asked).await?;
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let kubeconfig = gateway.kubeconfig();
        let _second = Process::start(case, &role("second", &kubeconfig, &namespaces))?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::RequiresApproval)
            .await?;
        ensure!(
            plan.spec.approval == Approval::Manual && !plan.spec.approved,
            "{plan:?}"
        );
        ensure!(scene.names::<InstallPlan>().await?.len() == 1);
        ensure!(scene.csvs().await?.is_empty());
        scene.approve(&plan).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        ensure!(scene.names::<InstallPlan>().await?.len() == 1);
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_the_watch_does_not_tell_of_is_not_installed_again() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let held = gateway.hold(|_, path| watches(path, "clusterserviceversions"));
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("deaf", &kubeconfig, &namespaces))?;
        held.is_reached().await;
        let gopher = scene.operator("gopher", "1.0.0");
        let mole = scene.operator("mole", "1.0.0");
        scene
            .config_map_catalog("hub", &[stable([gopher]), stable([mole])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        // Whoever makes a plan for this one looks at the other again.
        scene.subscribe("mole", "hub", json!({})).await?;
        scene.plan_of("mole", InstallPlanPhase::Complete).await?;
        let plans = scene.names::<InstallPlan>().await?;
        ensure!(plans.len() == 2, "{plans:?}");
        held.release();
        for csv in ["gopher.v1.0.0", "mole.v1.0.0"] {
            scene
                .until(csv, "running", |it: &ClusterServiceVersion| {
                    it.status
                        .as_ref()
                        .is_some_and(|status| status.phase == CsvPhase::Succeeded)
                })
                .await?;
        }
        let plans = scene.names::<InstallPlan>().await?;
        ensure!(plans.len() == 2, "{plans:?}");
        Ok(())
    })
    .await;
}

/// A group that installs as that account.
async fn group_with_account(scene: &Scene<'_>) -> anyhow::Result<()> {
    let targets = [&scene.namespace];
    scene
        .group_with(json!({"targetNamespaces": targets, "serviceAccountName": "weak"}))
        .await
}

#[tokio::test]
async fn a_plan_that_failed_comes_back_although_another_package_has_a_newer_one() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        account(&scene).await?;
        group_with_account(&scene).await?;
        strengthen(&scene).await?;
        // What one has, no other can have.
        let service = |name: &str, address: Option<&str>| {
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"clusterIP": address, "ports": [{"port": 80}], "selector": {"a": "b"}},
            })
        };
        scene.create(service("first", None)).await?;
        let first = scene.api::<Service>().get("first").await?;
        let address = first.spec.and_then(|spec| spec.cluster_ip);
        let gopher = scene
            .operator("gopher", "1.0.0")
            .with(service("second", address.as_deref()));
        let mole = scene.operator("mole", "1.0.0");
        scene
            .image_catalog("hub", &[stable([gopher]), stable([mole])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let failed = scene.plan_of("gopher", InstallPlanPhase::Failed).await?;
        scene.subscribe("mole", "hub", json!({})).await?;
        let newer = scene.plan_of("mole", InstallPlanPhase::Complete).await?;
        ensure!(newer.spec.generation > failed.spec.generation, "{newer:?}");
        scene.delete::<Service>("first").await?;
        let done = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        ensure!(done.uid() == failed.uid(), "{done:?}");
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_kind_that_an_old_plan_misses_for_the_first_time_may_still_come() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        group_with_account(&scene).await?;
        let other = scene.operator("mole", "1.0.0");
        let group = format!("{}.example.com", scene.namespace);
        let gopher = scene.operator("gopher", "1.0.0").with(json!({
            "apiVersion": format!("{group}/v1"), "kind": "Mole", "metadata": {"name": "digger"},
            "spec": {},
        }));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene
            .plan_of("gopher", InstallPlanPhase::Installing)
            .await?
            .name_any();
        // It has nobody who could carry it out, for longer than a kind may be missing.
        let waits = |plan: &InstallPlan| {
            let status = plan.status.as_ref();
            status.is_some_and(|it| it.message.contains("make sure the service account exists"))
        };
        let waiting = scene.until(&plan, "without its account", waits).await?;
        let begun = waiting.status.and_then(|it| it.start_time);
        let begun = begun.context("it has not begun")?.0;
        let is_old = async || {
            let age = Timestamp::now().duration_since(begun).unsigned_abs();
            Ok(age > Duration::from_secs(61))
        };
        case.within(Duration::from_secs(90), "old", is_old).await?;
        strengthen(&scene).await?;
        account(&scene).await?;
        let api = scene.api::<InstallPlan>();
        let message = async || {
            let plan = api.get(&plan).await?;
            anyhow::Ok(plan.status.map(|it| it.message).unwrap_or_default())
        };
        let misses = async || Ok(message().await?.contains("api-server resource not found"));
        case.within(Duration::from_secs(90), "missing the kind", misses)
            .await?;
        let looked_at = api.get(&plan).await?;
        let phase = looked_at.status.map(|it| it.phase);
        ensure!(phase == Some(InstallPlanPhase::Installing), "{phase:?}");
        scene.with_crd(&other, "Mole").await?;
        scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        scene.resources("Mole").get("digger").await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        crds.delete(&other.crd_name("Mole"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_plan_for_an_image_refers_to_it_and_stays_small() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let description = "long ".repeat(40_000);
        let gopher = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .csv_with(json!({"spec": {"description": description}}));
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let plan = scene.plan_of("gopher", InstallPlanPhase::Complete).await?;
        let size = serde_json::to_vec(&plan)?.len();
        ensure!(size < 20_000, "{size}");
        let status = plan.status.context("no status")?;
        let crd_and_csv = status.plan.iter().filter(|step| {
            let kind = step.resource.kind.as_str();
            kind == "CustomResourceDefinition" || kind == "ClusterServiceVersion"
        });
        let mut found = 0;
        for step in crd_and_csv {
            let reference: Value = serde_json::from_str(&step.resource.manifest)?;
            ensure!(reference.to_string().contains("@sha256:"), "{reference}");
            found += 1;
        }
        ensure!(found == 2, "{status:?}");
        Ok(())
    })
    .await;
}
