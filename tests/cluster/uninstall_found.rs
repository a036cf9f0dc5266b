//! What was there before an operator, under the names of what its bundle brings: it stays when the operator goes.

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::CsvPhase;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::PostParams;
use kube::{Api, Resource as _};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::scene::Scene;
use crate::support::wares::{Operator, stable};

/// What an admin has in no namespace, by the names that a bundle uses as well. It goes with the namespace of the test.
struct Admins {
    classes: Api<PriorityClass>,
    roles: Api<ClusterRole>,
    name: String,
}

impl Admins {
    async fn make(scene: &Scene<'_>) -> anyhow::Result<Self> {
        let client = &scene.case.client;
        let namespaces = Api::<Namespace>::all(client.clone());
        let owner = namespaces.get(&scene.namespace).await?.owner_ref(&());
        let name = format!("{}-first", scene.namespace);
        let metadata = json!({
            "name": name, "labels": {"team": "harbor"}, "ownerReferences": [owner],
        });
        let classes = Api::<PriorityClass>::all(client.clone());
        let class = json!({"metadata": metadata, "value": 1000});
        let class = serde_json::from_value(class)?;
        classes.create(&PostParams::default(), &class).await?;
        let roles = Api::<ClusterRole>::all(client.clone());
        let role = serde_json::from_value(json!({"metadata": metadata, "rules": []}))?;
        roles.create(&PostParams::default(), &role).await?;
        Ok(Self {
            classes,
            roles,
            name,
        })
    }

    /// The metadata of all that was there before.
    async fn look(&self, scene: &Scene<'_>) -> anyhow::Result<Vec<Value>> {
        let map = scene.api::<ConfigMap>().get("gopher-config").await?;
        let account = scene.api::<ServiceAccount>().get("gopher").await?;
        let class = self.classes.get(&self.name).await?;
        let role = self.roles.get(&self.name).await?;
        let all = [
            map.metadata,
            account.metadata,
            class.metadata,
            role.metadata,
        ];
        all.into_iter()
            .map(|it| {
                Ok(json!({
                    "uid": it.uid, "labels": it.labels.unwrap_or_default(),
                    "annotations": it.annotations.unwrap_or_default(),
                    "owners": it.owner_references.unwrap_or_default(),
                    "isGoing": it.deletion_timestamp.is_some(),
                }))
            })
            .collect()
    }
}

fn gopher(scene: &Scene<'_>, version: &str) -> Operator {
    let name = format!("{}-first", scene.namespace);
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    scene
        .operator("gopher", version)
        .may(&rule)
        .with(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gopher-config"}, "data": {"depth": "3"},
        }))
        .with(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "gopher-own"}, "data": {"depth": "3"},
        }))
        .with(json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": 1000,
        }))
        .with(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name}, "rules": [],
        }))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_an_operator_stays_as_it_was_but_for_what_the_bundle_says() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let admins = Admins::make(&scene).await?;
        for (kind, name) in [("ConfigMap", "gopher-config"), ("ServiceAccount", "gopher")] {
            let metadata = json!({"name": name, "labels": {"team": "harbor"}});
            scene
                .create(json!({"apiVersion": "v1", "kind": kind, "metadata": metadata}))
                .await?;
        }
        let before = admins.look(&scene).await?;
        let old = gopher(&scene, "1.0.0");
        let new = gopher(&scene, "1.1.0").replaces("1.0.0");
        scene.image_catalog("hub", &[stable([old.clone()])]).await?;
        let removal = json!({"policy": {"removal": "Operator"}});
        for operator in [&old, &new] {
            let catalog = [stable([old.clone(), new.clone()])];
            if operator.version == "1.1.0" {
                scene.shop().push_catalog("hub", &catalog).await?;
            } else {
                scene.subscribe("gopher", "hub", removal.clone()).await?;
            }
            scene
                .in_phase(&operator.csv_name(), CsvPhase::Succeeded)
                .await?;
            for seen in admins.look(&scene).await? {
                ensure!(seen["annotations"]["chandler.found"] == "true", "{seen}");
            }
        }
        let map = scene.api::<ConfigMap>().get("gopher-config").await?;
        ensure!(map.data.unwrap_or_default()["depth"] == "3");
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        // The second time it has been brought and left once.
        for _ in 0..2 {
            scene.delete::<Subscription>("gopher").await?;
            scene.gone::<Subscription>("gopher").await?;
            scene.gone::<ConfigMap>("gopher-own").await?;
            let mut after = admins.look(&scene).await?;
            // For those who bring it again.
            for it in &mut after {
                let annotations = it["annotations"].as_object_mut();
                let note = annotations.and_then(|it| it.remove("chandler.found"));
                ensure!(note.is_some(), "{it} has no note");
            }
            ensure!(after == before, "{after:#?}\nwas before\n{before:#?}");
            scene.subscribe("gopher", "hub", removal.clone()).await?;
            scene.in_phase("gopher.v1.1.0", CsvPhase::Succeeded).await?;
        }
        Ok(())
    })
    .await;
}
