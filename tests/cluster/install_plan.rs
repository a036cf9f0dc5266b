//! InstallPlans carried out on a real API server. Plans are made by hand, as OLM would have left them,
//! so that each test says exactly what is in its plan.

use std::io::Write as _;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{InstallPlanConditionType, InstallPlanPhase, StepStatus};
use chandler::api::install_plan::{InstallPlan, InstallPlanStatus};
use chandler::api::labels;
use chandler::api::operator_group::OperatorGroup;
use chandler::plan::apply::{Applier, How};
use flate2::Compression;
use flate2::write::GzEncoder;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;

#[tokio::test]
async fn a_plan_without_steps_is_left_alone_and_one_that_waits_for_approval_waits() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        town.create_plan("bare", 1, true).await?;
        town.plan("waiting", 2, false, &[town.step("", &config_map("a"))])
            .await?;
        town.phase("waiting", InstallPlanPhase::RequiresApproval)
            .await?;
        ensure!(town.config_maps().get_opt("a").await?.is_none());
        let approve = Patch::Merge(json!({"spec": {"approved": true}}));
        town.plans()
            .patch("waiting", &PatchParams::default(), &approve)
            .await?;
        let status = town.phase("waiting", InstallPlanPhase::Complete).await?;
        ensure!(status.plan[0].status == StepStatus::Created, "{status:?}");
        ensure!(status.start_time.is_some());
        let bare = town.plans().get("bare").await?;
        ensure!(bare.status.is_none(), "{:?}", bare.status);
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn crd_then_objects_then_csv_and_everything_has_its_owner() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let group = town.group("order");
        let csv = csv("ship.v1");
        let ship = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Ship", "metadata": {"name": "argo"},
        });
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": format!("{}-reader", town.namespace)},
        });
        // The other way round: the order of steps in a plan is not that of their execution.
        let steps = [
            town.step("ship.v1", &csv),
            town.step("ship.v1", &ship),
            town.step("ship.v1", &config_map("settings")),
            town.step("ship.v1", &role),
            town.step("ship.v1", &crd(&group, &json!({}))),
        ];
        town.plan("install", 1, true, &steps).await?;
        let status = town.phase("install", InstallPlanPhase::Complete).await?;
        let created = status
            .plan
            .iter()
            .all(|step| step.status == StepStatus::Created);
        ensure!(created, "{:?}", status.plan);
        let installed = status
            .condition(&InstallPlanConditionType::Installed)
            .context("no condition")?;
        ensure!(installed.status.as_str() == "True", "{installed:?}");

        let uid = town.csvs().get("ship.v1").await?.uid().context("no uid")?;
        let live = town.config_maps().get("settings").await?;
        ensure!(
            live.owner_references().iter().any(|owner| owner.uid == uid),
            "{live:?}"
        );
        ensure!(live.labels()[labels::MANAGED] == "true", "{live:?}");
        let roles = Api::<k8s_openapi::api::rbac::v1::ClusterRole>::all(case.client.clone());
        let live = roles.get(&format!("{}-reader", town.namespace)).await?;
        ensure!(live.labels()[labels::OWNER] == "ship.v1", "{live:?}");
        ensure!(
            live.labels()[labels::OWNER_NAMESPACE] == town.namespace,
            "{live:?}"
        );
        let live = town.crds().get(&format!("ships.{group}")).await?;
        let alongside = labels::installed_alongside(&town.namespace, "ship.v1");
        ensure!(live.annotations()[&alongside] == format!("{}/ship.v1", town.namespace));

        // A second CSV with the same CRD is noted beside the first.
        let steps = [
            town.step("boat.v1", &self::csv("boat.v1")),
            town.step("boat.v1", &crd(&group, &json!({}))),
        ];
        town.plan("second", 2, true, &steps).await?;
        town.phase("second", InstallPlanPhase::Complete).await?;
        let live = town.crds().get(&format!("ships.{group}")).await?;
        let both = live
            .annotations()
            .keys()
            .filter(|key| key.starts_with(labels::INSTALLED_ALONGSIDE_PREFIX));
        ensure!(both.count() == 2, "{:?}", live.annotations());
        town.crds()
            .delete(&format!("ships.{group}"), &DeleteParams::default())
            .await?;
        roles
            .delete(
                &format!("{}-reader", town.namespace),
                &DeleteParams::default(),
            )
            .await?;
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_was_stopped_half_way_is_finished() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        // What a process leaves behind that was killed after it had created the CSV: objects without
        // their owner, and a plan that knows of nothing or of little.
        let applier = Applier::new(case.client.clone());
        let mut half_done = config_map("settings");
        half_done["metadata"]["namespace"] = json!(town.namespace);
        applier.apply(&half_done, How::ServerSideApply).await?;
        let mut half_csv = csv("ship.v1");
        half_csv["metadata"]["namespace"] = json!(town.namespace);
        let uid = applier.apply(&half_csv, How::CreateOnly).await?.uid;
        let mut known = town.step("ship.v1", &config_map("settings"));
        known["status"] = json!("Created");
        let steps = [known, town.step("ship.v1", &csv("ship.v1"))];
        town.plan("install", 1, true, &steps).await?;
        town.phase("install", InstallPlanPhase::Complete).await?;
        let live = town.config_maps().get("settings").await?;
        ensure!(
            live.owner_references().iter().any(|owner| owner.uid == uid),
            "{live:?}"
        );
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn what_a_pass_made_that_did_not_get_to_its_end_is_created_all_the_same() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let steps = [
            town.step("ship.v1", &config_map("settings")),
            town.step("ship.v1", &csv("ship.v1")),
        ];
        town.plan("install", 1, false, &steps).await?;
        let applier = Applier::new(case.client.clone());
        for (mut object, how) in [
            (config_map("settings"), How::ServerSideApply),
            (csv("ship.v1"), How::CreateOnly),
        ] {
            object["metadata"]["namespace"] = json!(town.namespace);
            applier.apply(&object, how).await?;
        }
        let approved = Patch::Merge(json!({"spec": {"approved": true}}));
        town.plans()
            .patch("install", &PatchParams::default(), &approved)
            .await?;
        let status = town.phase("install", InstallPlanPhase::Complete).await?;
        let statuses: Vec<&StepStatus> = status.plan.iter().map(|step| &step.status).collect();
        assert_eq!(statuses, [&StepStatus::Created, &StepStatus::Created]);
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_csv_that_a_user_edited_is_kept() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let mut edited = csv("ship.v1");
        edited["metadata"]["namespace"] = json!(town.namespace);
        edited["spec"]["displayName"] = json!("Edited");
        let edited = serde_json::from_value(edited)?;
        town.csvs().create(&PostParams::default(), &edited).await?;
        town.plan("install", 1, true, &[town.step("ship.v1", &csv("ship.v1"))])
            .await?;
        let status = town.phase("install", InstallPlanPhase::Complete).await?;
        ensure!(status.plan[0].status == StepStatus::Present, "{status:?}");
        ensure!(town.csvs().get("ship.v1").await?.spec.display_name == "Edited");
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn warnings_become_an_event_and_are_counted() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let old = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "old"}});
        let steps = [town.step("ship.v1", &csv("ship.v1")), town.step("ship.v1", &old)];
        town.plan("install", 1, true, &steps).await?;
        town.phase("install", InstallPlanPhase::Complete).await?;
        let events = Api::<Event>::namespaced(case.client.clone(), &town.namespace);
        let events = events.list(&ListParams::default()).await?.items;
        let warning = events
            .iter()
            .find(|event| event.reason.as_deref() == Some("AppliedWithWarnings"))
            .with_context(|| format!("{events:?}"))?;
        let about = &warning.involved_object;
        ensure!(about.kind.as_deref() == Some("InstallPlan"), "{about:?}");
        ensure!(about.field_path.as_deref() == Some("status.plan[1]"), "{about:?}");
        let message = warning.message.clone().unwrap_or_default();
        ensure!(
            message.starts_with("1 warning(s) generated during installation of operator \"ship.v1\" (Endpoints \"old\"): "),
            "{message}"
        );
        ensure!(message.contains("deprecated"), "{message}");
        let metrics = town.running.metrics();
        ensure!(metrics.contains("installplan_warnings_total 1"), "{metrics}");
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_step_whose_owner_comes_later_waits_for_it() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        // As in OLM's plans: neither kind nor group, and the owner by name in the manifest.
        let manifest = json!({"metadata": {"name": "owned", "ownerReferences": [{
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "name": "late", "uid": "",
        }]}});
        let step = json!({
            "resolving": "", "status": "Unknown",
            "resource": {"group": "", "version": "v1", "kind": "ConfigMap", "name": "owned",
                "sourceName": "", "sourceNamespace": "", "manifest": manifest.to_string()},
        });
        town.plan("install", 1, true, &[step]).await?;
        town.wait("install", "waiting for the owner", |status| {
            status.phase == InstallPlanPhase::Installing
                && status.message.contains("ClusterServiceVersion late, which does not exist")
        })
        .await?;
        let mut owner = csv("late");
        owner["metadata"]["namespace"] = json!(town.namespace);
        let uid = Applier::new(case.client.clone()).apply(&owner, How::CreateOnly).await?.uid;
        town.phase("install", InstallPlanPhase::Complete).await?;
        let live = town.config_maps().get("owned").await?;
        ensure!(live.owner_references().iter().any(|owner| owner.uid == uid), "{live:?}");
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_service_account_that_changes_hands_keeps_both_owners() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}});
        for (at, name) in [(1, "ship.v1"), (2, "ship.v2")] {
            let steps = [town.step(name, &csv(name)), town.step(name, &account)];
            town.plan(&format!("install-{at}"), at, true, &steps)
                .await?;
            town.phase(&format!("install-{at}"), InstallPlanPhase::Complete)
                .await?;
        }
        let api = Api::<ServiceAccount>::namespaced(case.client.clone(), &town.namespace);
        let live = api.get("runner").await?;
        let mut owners: Vec<&str> = live
            .owner_references()
            .iter()
            .map(|owner| owner.name.as_str())
            .collect();
        owners.sort_unstable();
        ensure!(owners == ["ship.v1", "ship.v2"], "{owners:?}");
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_service_with_an_address_can_be_updated() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let service = |port: u16| {
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "door"},
                "spec": {"type": "ClusterIP", "ports": [{"port": port}]},
            })
        };
        let api = Api::<Service>::namespaced(case.client.clone(), &town.namespace);
        let created = api
            .create(
                &PostParams::default(),
                &serde_json::from_value(service(12345))?,
            )
            .await?;
        town.plan("install", 1, true, &[town.step("", &service(12345))])
            .await?;
        let status = town.phase("install", InstallPlanPhase::Complete).await?;
        ensure!(status.plan[0].status == StepStatus::Present, "{status:?}");
        let address = |service: Service| service.spec.and_then(|spec| spec.cluster_ip);
        ensure!(address(api.get("door").await?) == address(created));
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_kind_that_the_cluster_does_not_have_fails_the_plan_after_a_while() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let missing = json!({
            "apiVersion": "verticalpodautoscalers.autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": "my.thing", "namespace": "foo"},
        });
        let step = town.step("test-csv", &missing);
        let words = "api-server resource not found installing VerticalPodAutoscaler my.thing: GroupVersionKind verticalpodautoscalers.autoscaling.k8s.io/v1, Kind=VerticalPodAutoscaler not found on the cluster";
        town.plan("young", 1, true, std::slice::from_ref(&step)).await?;
        town.wait("young", "waiting for the kind", |status| {
            status.phase == InstallPlanPhase::Installing && status.message.contains(words)
        })
        .await?;
        town.plan_that_misses("old", 2, words, "2020-01-01T00:00:00Z", &[step]).await?;
        let status = town.phase("old", InstallPlanPhase::Failed).await?;
        ensure!(status.message.contains(words), "{}", status.message);
        let installed = status.condition(&InstallPlanConditionType::Installed).context("no condition")?;
        ensure!(installed.reason.as_str() == "InstallComponentFailed", "{installed:?}");
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn without_exactly_one_operator_group_the_plan_says_so_and_goes_on_when_there_is_one() {
    on_cluster(async |case| {
        let town = Town::without_group(case).await?;
        town.plan("install", 1, true, &[town.step("", &config_map("a"))])
            .await?;
        let check_failed = |words: &'static str| {
            move |status: &InstallPlanStatus| {
                let condition = status.condition(&InstallPlanConditionType::Installed);
                status.phase == InstallPlanPhase::Installing
                    && condition.is_some_and(|condition| {
                        condition.reason.as_str() == "InstallCheckFailed"
                            && condition.status.as_str() == "False"
                            && condition.message.contains(words)
                    })
            }
        };
        town.wait(
            "install",
            "without a group",
            check_failed("no operator group found that is managing this namespace"),
        )
        .await?;
        town.create_group("one", "").await?;
        town.create_group("two", "").await?;
        // It may be done before the second one is seen; a later plan is not.
        town.wait("install", "done or refused", |status| {
            status.phase == InstallPlanPhase::Complete || status.message.contains("count=2")
        })
        .await?;
        town.plan("later", 2, true, &[town.step("", &config_map("b"))])
            .await?;
        town.wait(
            "later",
            "with two groups",
            check_failed("more than one operator group(s) are managing this namespace count=2"),
        )
        .await?;
        town.groups()
            .delete("two", &DeleteParams::default())
            .await?;
        let status = town.phase("later", InstallPlanPhase::Complete).await?;
        let condition = status
            .condition(&InstallPlanConditionType::Installed)
            .context("no condition")?;
        ensure!(
            condition.reason.as_str() != "InstallCheckFailed",
            "{condition:?}"
        );
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn an_account_without_rights_stops_everything_but_crds_until_it_gets_them() {
    on_cluster(async |case| {
        let town = Town::without_group(case).await?;
        town.create_group("scoped", "installer").await?;
        let group = town.group("scoped");
        let crd = crd(&group, &json!({}));
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "door"},
            "spec": {"ports": [{"port": 80}]},
        });
        town.plan("install", 1, true, &[town.step("", &crd), town.step("", &service)]).await?;
        town.wait("install", "without its account", |status| {
            status.message.contains(&format!(
                "please make sure the service account exists. sa=installer operatorgroup={}/scoped",
                town.namespace
            ))
        })
        .await?;
        let accounts = Api::<ServiceAccount>::namespaced(case.client.clone(), &town.namespace);
        let account = json!({"metadata": {"name": "installer"}});
        accounts.create(&PostParams::default(), &serde_json::from_value(account)?).await?;
        let user = format!("system:serviceaccount:{}:installer", town.namespace);
        town.wait("install", "forbidden", |status| {
            status.phase == InstallPlanPhase::Installing
                && status.plan[0].status == StepStatus::Created
                && status.message.contains(&format!("User \"{user}\" cannot patch resource \"services\""))
        })
        .await?;
        let status = town.plans().get("install").await?.status.context("no status")?;
        let reference = status.attenuated_service_account_ref.context("no account")?;
        ensure!(reference.name.as_deref() == Some("installer"), "{reference:?}");

        let applier = Applier::new(case.client.clone());
        for object in [
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": "installer", "namespace": town.namespace},
                "rules": [{"apiGroups": [""], "resources": ["services"], "verbs": ["create", "patch"]}],
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": "installer", "namespace": town.namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "installer"},
                "subjects": [{"kind": "ServiceAccount", "name": "installer", "namespace": town.namespace}],
            }),
        ] {
            applier.apply(&object, How::ServerSideApply).await?;
        }
        town.phase("install", InstallPlanPhase::Complete).await?;
        town.crds().delete(&format!("ships.{group}"), &DeleteParams::default()).await?;
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_crd_that_harms_objects_fails_the_plan_until_they_are_changed() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        let group = town.group("harm");
        let size = |maximum: u32| json!({"size": {"type": "integer", "maximum": maximum}});
        town.plan(
            "first",
            1,
            true,
            &[town.step("", &crd(&group, &size(1000)))],
        )
        .await?;
        town.phase("first", InstallPlanPhase::Complete).await?;
        let applier = Applier::new(case.client.clone());
        let ship = |size: u32| {
            json!({
                "apiVersion": format!("{group}/v1"), "kind": "Ship",
                "metadata": {"name": "ark", "namespace": town.namespace}, "spec": {"size": size},
            })
        };
        applier.apply(&ship(300), How::ServerSideApply).await?;
        town.plan(
            "second",
            2,
            true,
            &[town.step("", &crd(&group, &size(100)))],
        )
        .await?;
        let status = town.phase("second", InstallPlanPhase::Failed).await?;
        ensure!(
            status
                .message
                .contains("error validating existing CRs against new CRD's schema")
                && status.message.contains(&format!("{}/ark", town.namespace))
                && status.message.contains("spec.size"),
            "{}",
            status.message
        );
        let failed = town.plans().get("second").await?.resource_version();
        applier.apply(&ship(99), How::ServerSideApply).await?;
        town.phase("second", InstallPlanPhase::Complete).await?;
        ensure!(town.plans().get("second").await?.resource_version() != failed);
        town.crds()
            .delete(&format!("ships.{group}"), &DeleteParams::default())
            .await?;
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn a_plan_of_olm_finds_its_manifests_in_the_config_map() {
    let data = json!({
        "csv.yaml": csv("ship.v1").to_string(), "settings.yaml": config_map("settings").to_string(),
    });
    a_plan_of_olm_is_carried_out(json!({"data": data})).await;
}

#[tokio::test]
async fn a_plan_of_olm_finds_its_manifests_in_the_config_map_where_they_are_compressed() {
    // What OLM has compressed, it has written as base64, and so does JSON once more.
    let packed = |object: &Value| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(object.to_string().as_bytes()).unwrap();
        STANDARD.encode(STANDARD.encode(encoder.finish().unwrap()))
    };
    let data = json!({
        "csv.yaml": packed(&csv("ship.v1")), "settings.yaml": packed(&config_map("settings")),
    });
    a_plan_of_olm_is_carried_out(json!({"binaryData": data})).await;
}

/// `unpacked` is what the ConfigMap has that OLM unpacked a bundle into.
async fn a_plan_of_olm_is_carried_out(mut unpacked: Value) {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        unpacked["metadata"] = json!({"name": "unpacked"});
        town.config_maps()
            .create(&PostParams::default(), &serde_json::from_value(unpacked)?)
            .await?;
        let reference = json!({
            "kind": "ConfigMap", "name": "unpacked", "namespace": town.namespace,
            "catalogSourceName": "hub", "catalogSourceNamespace": town.namespace,
            "replaces": "ship.v0", "properties": "",
        });
        let step = |object: &Value| {
            let mut step = town.step("ship.v1", object);
            step["resource"]["manifest"] = json!(reference.to_string());
            step
        };
        let steps = [step(&csv("ship.v1")), step(&config_map("settings"))];
        town.plan("install", 1, true, &steps).await?;
        town.phase("install", InstallPlanPhase::Complete).await?;
        ensure!(town.csvs().get("ship.v1").await?.spec.replaces == "ship.v0");
        ensure!(town.config_maps().get_opt("settings").await?.is_some());
        town.leave().await
    })
    .await;
}

#[tokio::test]
async fn only_the_five_newest_plans_are_kept() {
    on_cluster(async |case| {
        let town = Town::new(case).await?;
        for at in 1..=7 {
            let name = format!("install-{at}");
            town.plan(&name, at, true, &[town.step("", &config_map("a"))])
                .await?;
            town.phase(&name, InstallPlanPhase::Complete).await?;
        }
        let newest = (3..=7).map(|at| format!("install-{at}"));
        let newest: Vec<String> = newest.collect();
        let are_kept = async || {
            let plans = town.plans().list(&ListParams::default()).await?.items;
            let mut names: Vec<String> = plans.iter().map(ResourceExt::name_any).collect();
            names.sort();
            Ok(names == newest)
        };
        case.eventually("only the newest", are_kept).await?;
        town.leave().await
    })
    .await;
}

/// A namespace with controllers that care for it alone.
struct Town<'a> {
    case: &'a Case,
    namespace: String,
    running: Running,
}

impl<'a> Town<'a> {
    async fn new(case: &'a Case) -> anyhow::Result<Self> {
        let town = Self::without_group(case).await?;
        town.create_group("group", "").await?;
        Ok(town)
    }

    async fn without_group(case: &'a Case) -> anyhow::Result<Self> {
        let namespace = case.namespace().await?;
        let running = Running::start(case, &[&namespace]).await?;
        Ok(Self {
            case,
            namespace,
            running,
        })
    }

    async fn leave(self) -> anyhow::Result<()> {
        self.running.stop().await
    }

    async fn create_group(&self, name: &str, account: &str) -> anyhow::Result<()> {
        let mut group = json!({
            "metadata": {"name": name}, "spec": {"targetNamespaces": [self.namespace]},
        });
        if !account.is_empty() {
            group["spec"]["serviceAccountName"] = json!(account);
        }
        let group: OperatorGroup = serde_json::from_value(group)?;
        self.groups().create(&PostParams::default(), &group).await?;
        Ok(())
    }

    /// An API group of its own, so that tests do not meet.
    fn group(&self, test: &str) -> String {
        format!("{test}.{}.test", self.namespace)
    }

    fn step(&self, csv: &str, object: &Value) -> Value {
        let api_version = object["apiVersion"].as_str().unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        json!({
            "resolving": csv, "status": "Unknown",
            "resource": {
                "group": group, "version": version, "kind": object["kind"],
                "name": object["metadata"]["name"], "manifest": object.to_string(),
                "sourceName": "hub", "sourceNamespace": self.namespace,
            },
        })
    }

    async fn create_plan(
        &self,
        name: &str,
        generation: i64,
        approved: bool,
    ) -> anyhow::Result<InstallPlan> {
        let plan = json!({
            "metadata": {"name": name},
            "spec": {
                "approval": if approved { "Automatic" } else { "Manual" }, "approved": approved,
                "clusterServiceVersionNames": [], "generation": generation,
            },
        });
        Ok(self
            .plans()
            .create(&PostParams::default(), &serde_json::from_value(plan)?)
            .await?)
    }

    async fn plan(
        &self,
        name: &str,
        generation: i64,
        approved: bool,
        steps: &[Value],
    ) -> anyhow::Result<()> {
        let phase = if approved {
            "Installing"
        } else {
            "RequiresApproval"
        };
        let status = json!({"phase": phase, "catalogSources": [], "plan": steps});
        self.plan_of(name, generation, approved, status).await
    }

    /// A plan that has said for some time that a kind is missing.
    async fn plan_that_misses(
        &self,
        name: &str,
        generation: i64,
        words: &str,
        since: &str,
        steps: &[Value],
    ) -> anyhow::Result<()> {
        let status = json!({
            "phase": "Installing", "catalogSources": [], "plan": steps, "startTime": since,
            "conditions": [{
                "type": "Installed", "status": "False", "reason": "InstallComponentFailed",
                "message": words, "lastUpdateTime": since, "lastTransitionTime": since,
            }],
        });
        self.plan_of(name, generation, true, status).await
    }

    async fn plan_of(
        &self,
        name: &str,
        generation: i64,
        approved: bool,
        status: Value,
    ) -> anyhow::Result<()> {
        let mut plan = self.create_plan(name, generation, approved).await?;
        plan.status = Some(serde_json::from_value(status)?);
        self.plans()
            .replace_status(name, &PostParams::default(), &plan)
            .await?;
        Ok(())
    }

    async fn phase(
        &self,
        plan: &str,
        phase: InstallPlanPhase,
    ) -> anyhow::Result<InstallPlanStatus> {
        let wanted = phase.clone();
        self.wait(plan, phase.as_str(), move |status| status.phase == wanted)
            .await?;
        self.plans().get(plan).await?.status.context("no status")
    }

    async fn wait(
        &self,
        plan: &str,
        what: &str,
        holds: impl Fn(&InstallPlanStatus) -> bool,
    ) -> anyhow::Result<()> {
        let condition = |plan: Option<&InstallPlan>| {
            plan.and_then(|plan| plan.status.as_ref())
                .is_some_and(&holds)
        };
        self.case.wait(&self.plans(), plan, what, condition).await
    }

    fn plans(&self) -> Api<InstallPlan> {
        Api::namespaced(self.case.client.clone(), &self.namespace)
    }

    fn csvs(&self) -> Api<ClusterServiceVersion> {
        Api::namespaced(self.case.client.clone(), &self.namespace)
    }

    fn groups(&self) -> Api<OperatorGroup> {
        Api::namespaced(self.case.client.clone(), &self.namespace)
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.case.client.clone(), &self.namespace)
    }

    fn crds(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.case.client.clone())
    }
}

fn csv(name: &str) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": name},
        "spec": {"displayName": "Ship", "version": "1.0.0", "install": {"strategy": "deployment"}},
    })
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

/// A CRD of one version, whose `spec` has these fields.
fn crd(group: &str, fields: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("ships.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": "Ship", "plural": "ships"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": fields},
                }}},
            }],
        },
    })
}
