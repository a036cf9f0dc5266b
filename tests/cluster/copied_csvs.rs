//! Copies of ClusterServiceVersions in the namespaces that they serve.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{ConditionStatus, CsvPhase, CsvReason};
use chandler::api::olm_config::OlmConfig;
use chandler::api::operator_group::OperatorGroup;
use chandler::api::subscription::Subscription;
use chandler::controller::Settings;
use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role, RoleBinding};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::gateway::Gateway;
use crate::support::life::{reason, status};
use crate::support::process::{Process, Role as Part};
use crate::support::scene::Scene;
use crate::support::wares::stable;

/// Whether this is a copy from a namespace as it should be.
fn is_copy(csv: &ClusterServiceVersion, home: &str) -> bool {
    let text = |map: &std::collections::BTreeMap<String, String>, key: &str| {
        map.get(key).cloned().unwrap_or_default()
    };
    text(csv.labels(), "olm.copiedFrom") == home
        && text(csv.annotations(), "olm.operatorNamespace") == home
        && text(csv.annotations(), "olm.operatorGroup") == "own"
        && !csv.annotations().contains_key("olm.targetNamespaces")
        && reason(csv) == CsvReason::Copied
}

impl Scene<'_> {
    async fn copied_from(
        &self,
        home: &str,
        name: &str,
        what: &str,
        holds: impl Fn(&ClusterServiceVersion) -> bool,
    ) -> anyhow::Result<ClusterServiceVersion> {
        self.until(name, &format!("a copy that is {what}"), |csv| {
            is_copy(csv, home) && holds(csv)
        })
        .await
    }
}

#[tokio::test]
async fn a_copy_is_like_its_original_whatever_else_is_written_to_it() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours(case).await?;
        let from = home.namespace.as_str();
        let targets = [&home.namespace, &other.namespace];
        home.group_with(json!({"targetNamespaces": targets}))
            .await?;
        let gopher = home.operator("gopher", "1.0.0");
        let name = gopher.csv_name();
        let original = home.runs(&gopher).await?;
        let is_synchronized = |copy: &ClusterServiceVersion| {
            let (copy, original) = (status(copy), status(&original));
            copy.phase == original.phase && copy.last_update_time == original.last_update_time
        };
        let copy = other
            .copied_from(from, &name, "there", is_synchronized)
            .await?;
        let message = format!("The operator is running in {from} but is managing this namespace");
        ensure!(status(&copy).message == message, "{:?}", status(&copy));
        ensure!(json!(copy.spec) == json!(original.spec));

        let api = other.api::<ClusterServiceVersion>();
        let stale = json!({"status": {"lastUpdateTime": "1970-01-01T00:00:01Z"}});
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(stale))
            .await?;
        other
            .copied_from(from, &name, "as before", is_synchronized)
            .await?;
        // Old releases of OLM wrote this.
        let wrong =
            json!({"metadata": {"annotations": {"olm.operatorNamespace": other.namespace}}});
        other.patch::<ClusterServiceVersion>(&name, wrong).await?;
        other
            .copied_from(from, &name, "put right", is_synchronized)
            .await?;
        let changed = json!({"spec": {"displayName": "Gopher the Second"}});
        home.patch::<ClusterServiceVersion>(&name, changed).await?;
        let renamed = |copy: &ClusterServiceVersion| copy.spec.display_name == "Gopher the Second";
        other.copied_from(from, &name, "renamed", renamed).await?;
        other.delete::<ClusterServiceVersion>(&name).await?;
        other
            .copied_from(from, &name, "made anew", |it| it.uid() != copy.uid())
            .await?;
        home.delete_csv(&name).await?;
        other.gone::<ClusterServiceVersion>(&name).await
    })
    .await;
}

#[tokio::test]
async fn copies_and_rights_come_and_go_with_the_namespaces_of_the_group() {
    on_cluster(async |case| {
        let (home, [one, two]) = Scene::with_neighbours(case).await?;
        let from = home.namespace.as_str();
        home.group_with(json!({"targetNamespaces": [one.namespace]}))
            .await?;
        let allowed = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let gopher = home.operator("gopher", "1.0.0").may(&allowed);
        home.config_map_catalog("hub", &[stable([gopher])]).await?;
        home.subscribe("gopher", "hub", json!({})).await?;
        home.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let copied = async |scene: &Scene<'_>| -> anyhow::Result<()> {
            let there = |_: &ClusterServiceVersion| true;
            let copy = scene
                .copied_from(from, "gopher.v1.0.0", "there", there)
                .await?;
            let roles = async || scene.names::<Role>().await;
            case.eventually("with a Role", async || Ok(!roles().await?.is_empty()))
                .await?;
            for role in roles().await? {
                let role = scene.api::<Role>().get(&role).await?;
                let owners = role.owner_references();
                ensure!(owners.iter().any(|it| Some(&it.uid) == copy.uid().as_ref()));
                ensure!(json!(role.rules) == json!([allowed]), "{:?}", role.rules);
            }
            case.eventually("with a RoleBinding", async || {
                Ok(!scene.names::<RoleBinding>().await?.is_empty())
            })
            .await
        };
        copied(&one).await?;
        // What somebody takes away or changes of them is put right. Of the original only that is copied which the
        // operator asks for: whoever may write Roles in one namespace gets nothing by that in another.
        let of_one = async || -> anyhow::Result<Role> {
            let names = one.names::<Role>().await?;
            let name = names.first().context("no Role")?;
            Ok(one.api::<Role>().get(name).await?)
        };
        let role = of_one().await?;
        let name = role.name_any();
        one.delete::<Role>(&name).await?;
        let is_another = |it: &Role| it.uid() != role.uid();
        one.until(&name, "made anew", is_another).await?;
        let more = |verb: &str| json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]});
        one.patch::<Role>(&name, more("delete")).await?;
        let as_asked = |it: &Role| json!(it.rules) == json!([allowed]);
        one.until(&name, "as it was", as_asked).await?;
        home.patch::<Role>(&name, more("list")).await?;
        one.gone::<Role>(&name).await?;
        home.patch::<Role>(&name, json!({"rules": [allowed]})).await?;
        one.until(&name, "as it was", as_asked).await?;
        let moved = json!({"spec": {"targetNamespaces": [two.namespace]}});
        home.patch::<OperatorGroup>("own", moved).await?;
        copied(&two).await?;
        one.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        case.eventually("without the rights", async || {
            Ok(one.names::<Role>().await?.is_empty())
        })
        .await
    })
    .await;
}

#[tokio::test]
async fn a_copy_that_does_not_say_what_it_is_a_copy_of_is_deleted() {
    on_cluster(async |case| {
        let (home, [one]) = Scene::with_neighbours(case).await?;
        let annotations = json!({"olm.operatorNamespace": home.namespace});
        // What one takes from one namespace to another by kubectl has the finalizer of the original.
        let finalizers = json!(["operators.coreos.com/csv-cleanup"]);
        let labels = json!({"olm.copiedFrom": home.namespace});
        for metadata in [
            json!({"annotations": annotations}),
            json!({"annotations": annotations, "finalizers": finalizers}),
            json!({"annotations": annotations, "finalizers": finalizers, "labels": labels}),
        ] {
            let stray = home.operator("gopher", "1.0.0");
            let stray = stray.csv_with(json!({"metadata": metadata}));
            one.by_hand(&stray).await?;
            one.gone::<ClusterServiceVersion>("gopher.v1.0.0")
                .await
                .with_context(|| metadata.to_string())?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_somebody_marks_as_a_copy_leaves_nothing_behind() {
    on_cluster(async |case| {
        let (home, [one]) = Scene::with_neighbours(case).await?;
        home.group("own").await?;
        let rule = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
        let gopher = home.operator("gopher", "1.0.0").may_everywhere(&rule);
        home.config_map_catalog("hub", &[stable([gopher])]).await?;
        home.subscribe("gopher", "hub", json!({})).await?;
        home.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let of = format!(
            "olm.owner=gopher.v1.0.0,olm.owner.namespace={}",
            home.namespace
        );
        let of = ListParams::default().labels(&of);
        let roles = Api::<ClusterRole>::all(case.client.clone());
        ensure!(!roles.list(&of).await?.items.is_empty());
        home.delete::<Subscription>("gopher").await?;
        let wrong = json!({"metadata": {"annotations": {"olm.operatorNamespace": one.namespace}}});
        home.patch::<ClusterServiceVersion>("gopher.v1.0.0", wrong)
            .await?;
        home.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let left = roles.list(&of).await?.items;
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_namespace_that_refuses_its_copy_keeps_no_other_from_having_one() {
    on_cluster(async |case| {
        let (home, mut others) = Scene::with_neighbours::<2>(case).await?;
        // The one that refuses is the first that is written to.
        others.sort_by_key(|it| it.namespace.clone());
        let [full, other] = others;
        full.create(json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"},
            "spec": {"hard": {"count/clusterserviceversions.operators.coreos.com": "0"}},
        }))
        .await?;
        full.until("full", "in force", |quota: &ResourceQuota| {
            let status = quota.status.clone().unwrap_or_default();
            status.hard.is_some_and(|hard| !hard.is_empty())
        })
        .await?;
        home.group_with(json!({"targetNamespaces": [full.namespace, other.namespace]}))
            .await?;
        let gopher = home.operator("gopher", "1.0.0");
        home.runs(&gopher.supports(&["MultiNamespace"])).await?;
        let there = |_: &ClusterServiceVersion| true;
        other.until("gopher.v1.0.0", "copied", there).await?;
        let told = home.told("gopher.v1.0.0", "CopyFailed").await?;
        let message = told.message.unwrap_or_default();
        ensure!(message.contains(&full.namespace), "{message}");
        full.delete::<ResourceQuota>("full").await?;
        full.until("gopher.v1.0.0", "copied", there).await?;
        Ok(())
    })
    .await;
}

/// Says whether the copies of operators for all namespaces are wanted, and waits for the answer.
async fn want_copies(case: &Case, are_wanted: bool) -> anyhow::Result<()> {
    let config = json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig",
        "metadata": {"name": "cluster"},
        "spec": {"features": {"disableCopiedCSVs": !are_wanted}},
    });
    let api = Api::<OlmConfig>::all(case.client.clone());
    let parameters = PatchParams::apply("test").force();
    api.patch("cluster", &parameters, &Patch::Apply(config))
        .await?;
    let (state, reason) = if are_wanted {
        (ConditionStatus::False, "CopiedCSVsEnabled")
    } else {
        (ConditionStatus::True, "CopiedCSVsDisabled")
    };
    let says = |config: Option<&OlmConfig>| {
        let status = config.and_then(|config| config.status.as_ref());
        let conditions = status.map(|it| it.conditions.as_slice());
        conditions
            .unwrap_or_default()
            .iter()
            .any(|it| it.type_ == "DisabledCopiedCSVs" && it.status == state && it.reason == reason)
    };
    case.wait(&api, "cluster", reason, says).await
}

/// The only test that changes it: it is for the whole cluster.
#[tokio::test]
async fn an_operator_for_all_namespaces_is_copied_if_and_only_if_the_olm_config_wants_it() {
    on_cluster(async |case| {
        let (home, [one, two]) = Scene::with_neighbours(case).await?;
        want_copies(case, false).await?;
        home.group_with(json!({})).await?;
        let gopher = home.operator("gopher", "1.0.0");
        let name = gopher.csv_name();
        home.runs(&gopher).await?;
        for times in 1..=2 {
            let told = home.told(&name, "DisabledCopiedCSVs").await?;
            ensure!(told.type_.as_deref() == Some("Warning"), "{told:?}");
            // When there are none from the start, and when they go.
            let again = async || Ok(home.times_told(&name, "DisabledCopiedCSVs").await? >= times);
            case.eventually(&format!("told {times} times"), again)
                .await?;
            ensure!(one.csvs().await?.is_empty() && two.csvs().await?.is_empty());
            want_copies(case, true).await?;
            for other in [&one, &two] {
                let from = &home.namespace;
                other.copied_from(from, &name, "there", |_| true).await?;
            }
            want_copies(case, false).await?;
            for other in [&one, &two] {
                other.gone::<ClusterServiceVersion>(&name).await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_protected_namespace_has_its_copies_whatever_the_olm_config_wants() {
    on_cluster(async |case| {
        let (mut home, [protected]) = Scene::with_neighbours(case).await?;
        home.stop().await?;
        let namespaces = [home.namespace.as_str(), &protected.namespace];
        let differ = |settings: &mut Settings| {
            settings.protected_copies = BTreeSet::from([protected.namespace.clone()]);
        };
        home.running = Some(Running::start_with(case, &namespaces, differ).await?);
        home.group_with(json!({})).await?;
        let gopher = home.operator("gopher", "1.0.0");
        let name = gopher.csv_name();
        home.runs(&gopher).await?;
        let copy = protected
            .copied_from(&home.namespace, &name, "there", |_| true)
            .await?;
        protected.delete::<ClusterServiceVersion>(&name).await?;
        protected
            .copied_from(&home.namespace, &name, "made anew", |it| {
                it.uid() != copy.uid()
            })
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_somebody_made_another_at_the_same_moment_is_no_failure() {
    on_cluster(async |case| {
        let (mut home, [other]) = Scene::with_neighbours(case).await?;
        home.stop().await?;
        let namespaces = [home.namespace.as_str(), &other.namespace];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let _process = Process::start(
            case,
            &Part {
                name: "copies",
                kubeconfig: &gateway.kubeconfig(),
                namespaces: &namespaces,
                cares_for_all: false,
                lease: "copies",
                plain_http: &[],
            },
        )?;
        let status = format!(
            "{}/clusterserviceversions/gopher.v1.0.0/status",
            other.namespace
        );
        let held = gateway.hold(move |_, path| path.contains(&status));
        home.group_with(json!({"targetNamespaces": [other.namespace]}))
            .await?;
        let gopher = home.operator("gopher", "1.0.0");
        home.runs(&gopher.supports(&["SingleNamespace"])).await?;
        held.is_reached().await;
        let elsewhere = json!({"metadata": {"labels": {"olm.copiedFrom": "elsewhere"}}});
        other
            .patch::<ClusterServiceVersion>("gopher.v1.0.0", elsewhere)
            .await?;
        held.release();
        other
            .copied_from(&home.namespace, "gopher.v1.0.0", "put right", |_| true)
            .await?;
        let told = home.times_told("gopher.v1.0.0", "CopyFailed").await?;
        ensure!(told == 0, "told {told} times that it failed");
        Ok(())
    })
    .await;
}
