//! CRDs that are named for a removal: whose they are, and who may name them.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::CsvPhase;
use chandler::api::labels;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::cluster::repository;
use crate::support::scene::Scene;
use crate::support::wares::stable;

#[tokio::test(flavor = "multi_thread")]
async fn the_crd_of_others_stays_with_its_objects_whoever_names_it() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let somebody = scene.operator("somebody", "1.0.0");
        scene.with_crd(&somebody, "Treasure").await?;
        scene.make("Treasure", "chest", &[]).await?;
        let gopher = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.image_catalog("hub", &[stable([gopher])]).await?;
        let everything = json!({"policy": {"removal": "Everything"}});
        scene.subscribe("gopher", "hub", everything).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        scene.make("Gopher", "digger", &[]).await?;
        let names = ["Gopher", "Treasure"].map(|kind| scene.crd_of(kind));
        scene.give_up("gopher", &names).await?;
        scene.delete::<Subscription>("gopher").await?;
        scene.gone::<Subscription>("gopher").await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
        case.wait(&crds, &scene.crd_of("Gopher"), "gone", is_gone)
            .await?;
        let kept = crds.get(&scene.crd_of("Treasure")).await?;
        ensure!(kept.metadata.deletion_timestamp.is_none(), "it goes");
        let chest = scene.resources("Treasure").get("chest").await?;
        ensure!(
            chest.metadata.deletion_timestamp.is_none(),
            "the chest goes"
        );
        let events = scene.api::<Event>();
        let of = ListParams::default().fields("reason=Removed,involvedObject.name=gopher");
        let is_told = async || {
            let told = events.list(&of).await?;
            let mut notes = told.iter().filter_map(|it| it.message.as_deref());
            Ok(notes.any(|it| it.contains("it is not of this package")))
        };
        case.eventually("told what stays", is_told).await?;
        crds.delete(&scene.crd_of("Treasure"), &DeleteParams::default())
            .await?;
        Ok(())
    })
    .await;
}

/// What kubectl says to somebody who does something to the Subscription.
async fn says(case: &Case, who: &str, arguments: &[&str]) -> Result<String, String> {
    let arguments = [&["--as", who], arguments].concat();
    let said = case.cluster.kubectl(&arguments).await;
    said.map_err(|error| format!("{error:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_is_named_by_those_only_who_may_delete_it() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let policy = repository().join("deploy/base/admission.yaml");
        let policy = policy.to_str().context("a path that is text")?;
        let apply = ["apply", "--server-side", "--force-conflicts", "-f", policy];
        case.cluster.kubectl(&apply).await?;
        // Who may delete two CRDs and no other.
        let namespace = scene.namespace.as_str();
        let (editor, keeper) = (format!("editor-{namespace}"), format!("keeper-{namespace}"));
        for (object, who) in [("edit", &editor), ("keep", &keeper)] {
            let name = format!("{object}-{namespace}");
            let role = format!("--role={name}");
            let user = format!("--user={who}");
            let rights = [
                "-n",
                namespace,
                "create",
                "role",
                &name,
                "--verb=get,list,create,update,patch,delete",
                "--resource=subscriptions.operators.coreos.com",
            ];
            case.cluster.kubectl(&rights).await?;
            let binding = [
                "-n",
                namespace,
                "create",
                "rolebinding",
                &name,
                &role,
                &user,
            ];
            case.cluster.kubectl(&binding).await?;
        }
        let name = format!("keep-crds-{namespace}");
        let role = format!("--clusterrole={name}");
        let user = format!("--user={keeper}");
        let rights = [
            "create",
            "clusterrole",
            &name,
            "--verb=delete",
            "--resource=customresourcedefinitions",
            "--resource-name=ants.example.com",
            "--resource-name=bees.example.com",
        ];
        case.cluster.kubectl(&rights).await?;
        let binding = ["create", "clusterrolebinding", &name, &role, &user];
        case.cluster.kubectl(&binding).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        let names = async |who: &str, names: &str| {
            let annotation = format!("{}={names}", labels::DELETE_CRDS);
            let annotate = [
                "-n",
                namespace,
                "annotate",
                "subscription",
                "gopher",
                "--overwrite",
            ];
            says(case, who, &[&annotate[..], &[&annotation]].concat()).await
        };
        // With all rights.
        let set = async |names: &str| {
            let annotation = format!("{}={names}", labels::DELETE_CRDS);
            let annotate = [
                "-n",
                namespace,
                "annotate",
                "subscription",
                "gopher",
                "--overwrite",
            ];
            case.cluster
                .kubectl(&[&annotate[..], &[&annotation]].concat())
                .await
        };
        // A policy takes a moment to count, and is then for everybody.
        let is_refused = async || {
            let outcome = names(&editor, "ants.example.com").await;
            if outcome.is_ok() {
                set("").await?;
            }
            let said = outcome.err().unwrap_or_default();
            Ok(said.contains("only those who may delete a CRD may name it"))
        };
        case.eventually("refused", is_refused).await?;
        let refused = names(&keeper, "ants.example.com, crabs.example.com").await;
        ensure!(refused.is_err(), "{refused:?}");
        let two = " bees.example.com , ants.example.com,";
        names(&keeper, two).await.map_err(anyhow::Error::msg)?;
        // What is there passes whoever writes, and may be taken off.
        let change = r#"{"spec":{"channel":"stable"}}"#;
        let unchanged = [
            "-n",
            namespace,
            "patch",
            "subscription",
            "gopher",
            "--type=merge",
            "-p",
            change,
        ];
        says(case, &editor, &unchanged)
            .await
            .map_err(anyhow::Error::msg)?;
        names(&editor, "bees.example.com")
            .await
            .map_err(anyhow::Error::msg)?;
        let refused = names(&editor, "bees.example.com,ants.example.com").await;
        ensure!(refused.is_err(), "{refused:?}");
        // Whoever may delete any names as many as they want.
        let many: Vec<String> = (0..20).map(|at| format!("c{at}.example.com")).collect();
        set(&many.join(",")).await?;
        // And it cannot be made with a name either.
        let made = serde_json::to_string(&json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {
                "name": "mole", "namespace": namespace,
                "annotations": {labels::DELETE_CRDS: "ants.example.com"},
            },
            "spec": {"name": "mole", "source": "hub", "sourceNamespace": namespace},
        }))?;
        let file = tempfile::NamedTempFile::new()?;
        fs_err::write(file.path(), made)?;
        let path = file.path().to_string_lossy().into_owned();
        let refused = says(case, &editor, &["create", "-f", &path]).await;
        ensure!(refused.is_err(), "{refused:?}");
        says(case, &keeper, &["create", "-f", &path])
            .await
            .map_err(anyhow::Error::msg)?;
        for kind in ["clusterrolebinding", "clusterrole"] {
            case.cluster.kubectl(&["delete", kind, &name]).await?;
        }
        Ok(())
    })
    .await;
}
