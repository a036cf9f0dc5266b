//! Plans that OLM left, with steps that only OLM writes.

use anyhow::ensure;
use chandler::api::conditions::{InstallPlanPhase, StepStatus};
use chandler::api::install_plan::InstallPlan;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::Scene;

/// A plan that is under way.
async fn plan(scene: &Scene<'_>, name: &str, steps: &[Value]) -> anyhow::Result<()> {
    let plan = json!({
        "metadata": {"name": name},
        "spec": {
            "approval": "Automatic", "approved": true, "clusterServiceVersionNames": ["ship.v1"],
            "generation": 1,
        },
    });
    let plans = scene.api::<InstallPlan>();
    let plan = serde_json::from_value(plan)?;
    let mut made = plans.create(&PostParams::default(), &plan).await?;
    let status = json!({"phase": "Installing", "catalogSources": ["hub"], "plan": steps});
    made.status = Some(serde_json::from_value(status)?);
    plans
        .replace_status(name, &PostParams::default(), &made)
        .await?;
    Ok(())
}

fn step(kind: &str, name: &str, source_namespace: &str, manifest: &str) -> Value {
    let (group, version) = match kind {
        "ClusterServiceVersion" => ("operators.coreos.com", "v1alpha1"),
        _ => ("", "v1"),
    };
    json!({
        "resolving": "ship.v1", "status": "Unknown",
        "resource": {
            "group": group, "version": version, "kind": kind, "name": name, "manifest": manifest,
            "sourceName": "hub", "sourceNamespace": source_namespace,
        },
    })
}

fn secret(name: &str, word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "type": "example.com/login", "stringData": {"word": word},
    })
}

fn word(secret: &Secret) -> Option<Vec<u8>> {
    Some(secret.data.as_ref()?.get("word")?.0.clone())
}

#[tokio::test]
async fn pull_secrets_that_a_plan_names_are_copied_from_its_catalog_and_nothing_else_is() {
    on_cluster(async |case| {
        let (global, other) = (case.namespace().await?, case.namespace().await?);
        let scene = Scene::with(case, |settings| {
            settings.global_namespaces = vec![global.clone()];
        })
        .await?;
        scene.group("own").await?;
        for namespace in [&global, &other] {
            scene.create_in(namespace, secret("login", "open sesame")).await?;
            scene.create_in(namespace, secret("crown", "jewels")).await?;
            scene
                .create_in(
                    namespace,
                    json!({
                        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                        "metadata": {"name": "hub"},
                        "spec": {"sourceType": "internal", "configMap": "hub", "secrets": ["login"]},
                    }),
                )
                .await?;
        }
        let csv = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "ship.v1"},
            "spec": {"displayName": "Ship", "install": {"strategy": "deployment"}},
        });
        let steps = [
            step("Secret", "login", &global, ""),
            step("ClusterServiceVersion", "ship.v1", &global, &csv.to_string()),
        ];
        plan(&scene, "install-one", &steps).await?;
        let is_complete = |plan: &InstallPlan| {
            let status = plan.status.as_ref();
            status.is_some_and(|status| status.phase == InstallPlanPhase::Complete)
        };
        let done = scene.until("install-one", "done", is_complete).await?;
        let statuses = done.status.unwrap_or_default().plan;
        ensure!(statuses.iter().all(|it| it.status == StepStatus::Created), "{statuses:?}");
        let secrets = scene.api::<Secret>();
        let copy = secrets.get("login").await?;
        ensure!(word(&copy).as_deref() == Some(b"open sesame"), "{copy:?}");
        ensure!(copy.type_.as_deref() == Some("example.com/login"), "{copy:?}");
        ensure!(copy.owner_references().is_empty(), "{copy:?}");

        // Neither what the catalog does not name, nor what a catalog names that is not for this namespace.
        for (name, secret_name, from) in [
            ("install-two", "crown", &global),
            ("install-three", "crown", &other),
        ] {
            plan(&scene, name, &[step("Secret", secret_name, from, "")]).await?;
            let is_told = |plan: &InstallPlan| {
                let status = plan.status.as_ref();
                status.is_some_and(|it| {
                    it.phase == InstallPlanPhase::Installing
                        && it.message.contains(&format!("CatalogSource {from}/hub"))
                        && it.message.contains("spec.secrets")
                })
            };
            scene.until(name, "told what is wrong", is_told).await?;
            ensure!(secrets.get_opt("crown").await?.is_none());
        }
        // One of their own is theirs.
        scene.create(secret("crown", "paper")).await?;
        for name in ["install-two", "install-three"] {
            let done = scene.until(name, "done", is_complete).await?;
            let statuses = done.status.unwrap_or_default().plan;
            ensure!(statuses[0].status == StepStatus::Present, "{statuses:?}");
        }
        let own = secrets.get("crown").await?;
        ensure!(word(&own).as_deref() == Some(b"paper"), "{own:?}");
        Ok(())
    })
    .await;
}
