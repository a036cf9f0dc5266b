//! Removals by those who may not do everything, and of what others do not let go.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{DeleteParams, PostParams};
use kube::config::Kubeconfig;
use kube::{Api, Resource as _};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// A kubeconfig of somebody who may do everything with Subscriptions of the namespace and look at what else is in it.
async fn namespace_admin(scene: &Scene<'_>) -> anyhow::Result<NamedTempFile> {
    let rbac = "rbac.authorization.k8s.io";
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "captain"}}),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": "captain"},
            "rules": [
                {"apiGroups": ["operators.coreos.com"], "resources": ["subscriptions"], "verbs": ["*"]},
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": {"name": "captain"},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "captain"},
            "subjects": [{"kind": "ServiceAccount", "name": "captain", "namespace": scene.namespace}],
        }),
    ] {
        scene.create(object).await?;
    }
    let accounts = scene.api::<ServiceAccount>();
    let asked = TokenRequest::default();
    let made = accounts
        .create_token_request("captain", &PostParams::default(), &asked)
        .await?;
    let token = made.status.context("there is no token")?.token;
    let config = Kubeconfig::read_from(scene.case.cluster.kubeconfig())?;
    let mut config = serde_json::to_value(config)?;
    for user in config["users"].as_array_mut().into_iter().flatten() {
        user["user"] = json!({"token": token});
    }
    let file = NamedTempFile::new()?;
    fs_err::write(file.path(), config.to_string())?;
    Ok(file)
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_only_look_at_a_namespace_sees_what_is_known_and_is_told_of_the_rest() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let kubeconfig = namespace_admin(&scene).await?;
        let chandler = async |arguments: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_chandler"))
                .args(["uninstall", "gopher", "-n", &scene.namespace])
                .args(arguments)
                .arg("--kubeconfig")
                .arg(kubeconfig.path())
                .output()
                .await?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (data, said) = (text(&output.stdout), text(&output.stderr));
            anyhow::Ok((output.status.code(), data, said))
        };
        let (code, text, said) = chandler(&["--dry-run"]).await?;
        ensure!(code == Some(0), "{code:?} {text} {said}");
        for words in [
            "goes\tClusterServiceVersion\t",
            "goes\tDeployment\t",
            "cannot list resource \"subscriptions\"",
            "cannot list resource \"clusterserviceversions\"",
            "cannot list resource \"customresourcedefinitions\"",
        ] {
            ensure!(text.contains(words), "no {words} in\n{text}");
        }
        let notes = text.lines().filter(|line| line.starts_with("note: "));
        ensure!(notes.count() <= 6, "too many notes:\n{text}");
        // What goes with a CRD nobody sees here.
        let crd = scene.crd_of("Gopher");
        let (code, _, said) = chandler(&["--delete-crds", &crd, "--yes"]).await?;
        ensure!(
            code == Some(1) && said.contains(&format!("what would go with CRD {crd}")),
            "{code:?} {said}"
        );
        let (code, _, said) = chandler(&["--everything", "--yes"]).await?;
        ensure!(
            code == Some(1) && said.contains("which CRDs would go with gopher"),
            "{code:?} {said}"
        );
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let (code, text, said) = chandler(&["--yes"]).await?;
        ensure!(
            code == Some(0) && text.contains("gopher is removed: at least "),
            "{code:?} {text} {said}"
        );
        ensure!(!said.contains("it is done from here"), "{said}");
        ensure!(scene.csvs().await?.is_empty());
        Ok(())
    })
    .await;
}

/// Refuses the deletion of ConfigMaps of a namespace until it is gone; both go with the namespace.
async fn refuse_deletions(scene: &Scene<'_>) -> anyhow::Result<String> {
    let client = &scene.case.client;
    let namespaces = Api::<Namespace>::all(client.clone());
    let owner = namespaces.get(&scene.namespace).await?.owner_ref(&());
    let name = format!("{}-keep", scene.namespace);
    let metadata = json!({"name": name, "ownerReferences": [owner]});
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                "operations": ["DELETE"], "resourceNames": ["gopher-config"],
            }]},
            "validations": [{"expression": "false", "message": "the harbor master keeps it"}],
        },
    }))?;
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": metadata,
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {
                "kubernetes.io/metadata.name": scene.namespace,
            }}},
        },
    }))?;
    let parameters = PostParams::default();
    let policies = Api::<ValidatingAdmissionPolicy>::all(client.clone());
    policies.create(&parameters, &policy).await?;
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
    bindings.create(&parameters, &binding).await?;
    let maps = scene.api::<ConfigMap>();
    let dry = DeleteParams {
        dry_run: true,
        ..DeleteParams::default()
    };
    let is_refused = async || {
        let refused = maps.delete("gopher-config", &dry).await;
        Ok(refused.is_err_and(|error| error.to_string().contains("harbor master")))
    };
    scene.case.eventually("refused", is_refused).await?;
    Ok(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_refuses_the_deletion_of_an_object_is_told_of_and_waited_for() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let map: Value = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gopher-config"}, "data": {"depth": "3"},
        });
        let gopher = scene.operator("gopher", "1.0.0").with(map);
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        let removal = json!({"policy": {"removal": "Operator"}});
        scene.subscribe("gopher", "hub", removal).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let policy = refuse_deletions(&scene).await?;
        scene.delete::<Subscription>("gopher").await?;
        let is_told = |it: &Subscription| {
            let conditions = it.status.iter().flat_map(|it| &it.conditions);
            let mut said = conditions.map(|it| it.message.as_str());
            said.any(|it| it.contains("gopher-config") && it.contains("the harbor master keeps it"))
        };
        scene
            .until("gopher", "telling who refuses", is_told)
            .await?;
        let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(case.client.clone());
        bindings.delete(&policy, &DeleteParams::default()).await?;
        scene.gone::<Subscription>("gopher").await?;
        scene.gone::<ConfigMap>("gopher-config").await
    })
    .await;
}
