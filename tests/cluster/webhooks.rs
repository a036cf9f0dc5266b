//! Webhooks of operators: which are refused, whom they concern, and what becomes of them.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use chandler::api::operator_group::OperatorGroup;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::expiring;
use crate::support::life::status;
use crate::support::scene::Scene;
use crate::support::stand_in::webhook;
use crate::support::wares::Operator;

/// An operator with a webhook that is asked about Pods that nobody creates.
fn with_hook(scene: &Scene<'_>, version: &str) -> Operator {
    with_rule(scene, version, &json!({}))
}

/// The same, where the rule of the webhook says something else.
fn with_rule(scene: &Scene<'_>, version: &str, rule: &Value) -> Operator {
    let operator = scene.operator("gopher", version);
    let mut hook = webhook(&operator, "validate");
    // Nobody answers here.
    hook["failurePolicy"] = json!("Ignore");
    for (key, value) in rule.as_object().into_iter().flatten() {
        hook["rules"][0][key] = value.clone();
    }
    with_hooks(operator, &[hook])
}

fn with_hooks(operator: Operator, hooks: &[Value]) -> Operator {
    operator.csv_with(json!({"spec": {"webhookdefinitions": hooks}}))
}

/// The webhook configurations of the operators of a namespace.
async fn configurations(
    case: &Case,
    namespace: &str,
) -> anyhow::Result<Vec<ValidatingWebhookConfiguration>> {
    let ours = ListParams::default().labels(&format!("olm.owner.namespace={namespace}"));
    let api = Api::<ValidatingWebhookConfiguration>::all(case.client.clone());
    Ok(api.list(&ours).await?.items)
}

/// The only webhook of the operators of a namespace.
async fn the_webhook(scene: &Scene<'_>) -> anyhow::Result<Value> {
    let found = configurations(scene.case, &scene.namespace).await?;
    let [configuration] = found.as_slice() else {
        anyhow::bail!("{found:?}");
    };
    let webhooks = configuration.webhooks.as_ref().context("no webhook")?;
    Ok(serde_json::to_value(&webhooks[0])?)
}

async fn secret(scene: &Scene<'_>) -> anyhow::Result<Secret> {
    Ok(scene.api::<Secret>().get("gopher-service-cert").await?)
}

#[tokio::test]
async fn a_webhook_is_asked_about_the_namespaces_of_the_group() {
    on_cluster(async |case| {
        let (own, [selecting, global]) = Scene::with_neighbours::<2>(case).await?;
        own.group("own").await?;
        own.runs(&with_hook(&own, "1.0.0")).await?;
        let group = own.api::<OperatorGroup>().get("own").await?;
        let label = format!("olm.operatorgroup.uid/{}", group.uid().unwrap_or_default());
        let selector = the_webhook(&own).await?["namespaceSelector"].clone();
        ensure!(
            selector == json!({"matchLabels": {label: ""}}),
            "{selector}"
        );

        let label = "chandler-test/burrows";
        let wanted = json!({"matchLabels": {label: "yes"}});
        let patch = Patch::Merge(json!({"metadata": {"labels": {label: "yes"}}}));
        Api::<Namespace>::all(case.client.clone())
            .patch(&selecting.namespace, &PatchParams::default(), &patch)
            .await?;
        selecting.group_with(json!({"selector": wanted})).await?;
        selecting.by_hand(&with_hook(&selecting, "1.0.0")).await?;
        selecting
            .in_phase("gopher.v1.0.0", CsvPhase::Succeeded)
            .await?;
        let selector = the_webhook(&selecting).await?["namespaceSelector"].clone();
        ensure!(selector == wanted, "{selector}");

        global.group_with(json!({})).await?;
        global.runs(&with_hook(&global, "1.0.0")).await?;
        let selector = the_webhook(&global).await?["namespaceSelector"].clone();
        ensure!(selector == json!({}), "{selector}");
        for scene in [&own, &selecting, &global] {
            scene.delete_csv("gopher.v1.0.0").await?;
            ensure!(configurations(case, &scene.namespace).await?.is_empty());
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_same_webhook_can_be_installed_in_two_namespaces() {
    on_cluster(async |case| {
        let (first, [second]) = Scene::with_neighbours::<1>(case).await?;
        let operator = with_hook(&first, "1.0.0");
        for scene in [&first, &second] {
            scene.group("own").await?;
            scene.runs(&operator).await?;
        }
        for scene in [&first, &second] {
            let service = the_webhook(scene).await?["clientConfig"]["service"].clone();
            ensure!(service["namespace"] == scene.namespace, "{service}");
        }
        // One that goes takes only its own with it.
        first.delete_csv("gopher.v1.0.0").await?;
        ensure!(configurations(case, &first.namespace).await?.is_empty());
        the_webhook(&second).await?;
        second.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn webhooks_by_which_an_operator_could_lock_others_out_are_refused() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        let twice = || {
            let operator = scene.operator("gopher", "1.0.0");
            let hook = webhook(&operator, "validate");
            with_hooks(operator, &[hook.clone(), hook])
        };
        let with = |rule: Value| with_rule(&scene, "1.0.0", &rule);
        let admission = json!({
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["validatingwebhookconfigurations"],
        });
        for (operator, words) in [
            (twice(), "repeated WebhookDescription name"),
            (with(json!({"apiGroups": ["*"]})), "cannot include all groups"),
            (
                with(json!({"apiGroups": ["operators.coreos.com"]})),
                "cannot include the OLM group",
            ),
            (with(admission), "cannot include MutatingWebhookConfiguration"),
        ] {
            scene.by_hand(&operator).await?;
            let failed = scene
                .because("gopher.v1.0.0", CsvReason::InvalidWebhookDescription)
                .await?;
            let status = status(&failed);
            ensure!(
                status.phase == CsvPhase::Failed && status.message.contains(words),
                "{status:?}"
            );
            ensure!(configurations(case, &scene.namespace).await?.is_empty());
            scene.delete_csv("gopher.v1.0.0").await?;
        }
        // Other kinds of that group are not in its way.
        let policies = json!({
            "apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingadmissionpolicies"],
            "apiVersions": ["v1"], "operations": ["DELETE"],
        });
        scene.runs(&with(policies)).await?;
        the_webhook(&scene).await?;
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_certificate_is_used_again_as_long_as_it_is_good_also_by_the_next_version() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&with_hook(&scene, "1.0.0")).await?;
        let before = secret(&scene).await?;
        let found = configurations(case, &scene.namespace).await?;
        let first = found[0].name_any();
        let api = Api::<ValidatingWebhookConfiguration>::all(case.client.clone());
        api.delete(&first, &DeleteParams::default()).await?;
        let is_back = async || Ok(!configurations(case, &scene.namespace).await?.is_empty());
        case.eventually("back", is_back).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        ensure!(secret(&scene).await?.data == before.data);

        let next = with_hook(&scene, "2.0.0").replaces("1.0.0");
        let csv = scene.runs(&next).await?;
        ensure!(secret(&scene).await?.data == before.data);
        // It is this one's to renew now.
        ensure!(status(&csv).certs_rotate_at.is_some(), "{csv:?}");
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let found = configurations(case, &scene.namespace).await?;
        ensure!(
            found.len() == 1 && found[0].name_any() != first,
            "{found:?}"
        );
        ensure!(found[0].labels()["olm.owner"] == "gopher.v2.0.0");
        scene.delete_csv("gopher.v2.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_certificate_that_is_about_to_expire_is_renewed_and_trusted() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&with_hook(&scene, "1.0.0")).await?;
        let trusted = the_webhook(&scene).await?["clientConfig"]["caBundle"].clone();
        let hour = Duration::from_hours(1);
        let expiring = expiring::secret(&scene.namespace, "gopher-service", hour)?;
        let data = expiring["data"].clone();
        scene
            .patch::<Secret>("gopher-service-cert", json!({"data": data}))
            .await?;
        let is_renewed = |secret: &Secret| {
            serde_json::to_value(&secret.data).is_ok_and(|now| now["tls.crt"] != data["tls.crt"])
        };
        scene
            .until("gopher-service-cert", "renewed", is_renewed)
            .await?;
        scene
            .until(
                "gopher.v1.0.0",
                "as before",
                |csv: &ClusterServiceVersion| {
                    let status = status(csv);
                    let mut told = status.conditions.iter();
                    told.any(|it| it.reason == CsvReason::NeedsCertRotation)
                        && status.phase == CsvPhase::Succeeded
                },
            )
            .await?;
        let now = the_webhook(&scene).await?["clientConfig"]["caBundle"].clone();
        ensure!(now.is_string() && now != trusted);
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_conversion_webhook_needs_a_crd_of_its_own_and_an_operator_for_all_namespaces() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        scene.group_with(json!({})).await?;
        let modes = scene.operator("gopher", "1.0.0").owns("Gopher");
        let hook = webhook(&modes, "convert");
        scene.with_crd(&modes, "Gopher").await?;
        let stranger = scene
            .operator("gopher", "1.0.0")
            .supports(&["AllNamespaces"]);
        let right = modes.clone().supports(&["AllNamespaces"]);
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let name = modes.crd_name("Gopher");
        let conversion = async || {
            let conversion = crds.get(&name).await?.spec.conversion;
            anyhow::Ok(conversion.map_or_else(String::new, |it| it.strategy))
        };
        for (operator, words) in [
            (modes, "must support only AllNamespaces"),
            (stranger, "csv gopher.v1.0.0 does not own CRD"),
        ] {
            let operator = with_hooks(operator, std::slice::from_ref(&hook));
            scene.by_hand(&operator).await?;
            let failed = scene.in_phase("gopher.v1.0.0", CsvPhase::Failed).await?;
            let message = status(&failed).message;
            ensure!(message.contains(words), "{message}");
            ensure!(scene.names::<Deployment>().await?.is_empty());
            ensure!(conversion().await? == "None");
            scene.delete_csv("gopher.v1.0.0").await?;
        }
        // With both, it is asked, and not any more once the operator is gone.
        let right = with_hooks(right, std::slice::from_ref(&hook));
        scene.runs(&right).await?;
        ensure!(conversion().await? == "Webhook");
        scene.delete_csv("gopher.v1.0.0").await?;
        ensure!(conversion().await? == "None");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn nobody_stops_converting_before_whoever_does_is_gone() {
    on_cluster(async |case| {
        let scene = Scene::without_group(case).await?;
        scene.group_with(json!({})).await?;
        let operator = scene
            .operator("gopher", "1.0.0")
            .owns("Gopher")
            .supports(&["AllNamespaces"]);
        let hooks = ["convert", "validate"].map(|it| webhook(&operator, it));
        scene.with_crd(&operator, "Gopher").await?;
        let operator = with_hooks(operator, &hooks);
        scene.runs(&operator).await?;
        let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
        let crd = operator.crd_name("Gopher");
        let conversion = async || {
            let conversion = crds.get(&crd).await?.spec.conversion;
            anyhow::Ok(conversion.map_or_else(String::new, |it| it.strategy))
        };
        ensure!(conversion().await? == "Webhook");
        let [deployment] = &*scene.names::<Deployment>().await? else {
            anyhow::bail!("not one Deployment");
        };
        let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
        scene.patch::<Deployment>(deployment, held).await?;
        scene
            .delete::<ClusterServiceVersion>("gopher.v1.0.0")
            .await?;
        let is_going = |it: &Deployment| it.metadata.deletion_timestamp.is_some();
        scene.until(deployment, "on its way out", is_going).await?;
        // What it could do elsewhere is over by then, and what it converts is not.
        let left = configurations(case, &scene.namespace).await?;
        ensure!(left.is_empty(), "{left:?}");
        ensure!(conversion().await? == "Webhook");
        let free = json!({"metadata": {"finalizers": null}});
        scene.patch::<Deployment>(deployment, free).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        ensure!(conversion().await? == "None");
        Ok(())
    })
    .await;
}

/// An operator for all namespaces that converts `Gopher`.
fn converting(scene: &Scene<'_>) -> Operator {
    let operator = scene
        .operator("gopher", "1.0.0")
        .owns("Gopher")
        .supports(&["AllNamespaces"]);
    let hook = webhook(&operator, "convert");
    with_hooks(operator, &[hook])
}

/// What the CRD of `Gopher` says about its conversion.
async fn conversion_of(case: &Case, operator: &Operator) -> anyhow::Result<Value> {
    let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
    let crd = crds.get(&operator.crd_name("Gopher")).await?;
    Ok(serde_json::to_value(crd.spec.conversion)?)
}

#[tokio::test]
async fn a_crd_asks_nobody_any_more_whoever_else_would_like_to_convert_it() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours::<1>(case).await?;
        home.group_with(json!({})).await?;
        let operator = converting(&home);
        home.with_crd(&operator, "Gopher").await?;
        home.runs(&operator).await?;
        // It has no OperatorGroup, and does not run.
        other.by_hand(&operator).await?;
        other
            .because("gopher.v1.0.0", CsvReason::NoOperatorGroup)
            .await?;
        let asked = conversion_of(case, &operator).await?;
        ensure!(asked["strategy"] == "Webhook", "{asked}");
        home.delete_csv("gopher.v1.0.0").await?;
        let asked = conversion_of(case, &operator).await?;
        ensure!(asked["strategy"] == "None", "{asked}");
        // It can come instead.
        home.delete::<OperatorGroup>("own").await?;
        other.group_with(json!({})).await?;
        other.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        let asked = conversion_of(case, &operator).await?;
        let service = &asked["webhook"]["clientConfig"]["service"];
        ensure!(service["namespace"] == other.namespace, "{asked}");
        other.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_crd_that_asks_a_service_that_is_gone_asks_an_operator_before_it_is_up() {
    on_cluster(async |case| {
        let (home, [other]) = Scene::with_neighbours::<1>(case).await?;
        home.group_with(json!({})).await?;
        let nowhere =
            json!({"spec": {"template": {"spec": {"nodeSelector": {"there-is": "none"}}}}});
        let operator = converting(&home).deployment_with(nowhere);
        let mut crd = operator.crd("Gopher");
        crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": {
                "namespace": other.namespace, "name": "gopher-service", "path": "/convert",
            }},
        }});
        home.crd(crd).await?;
        home.by_hand(&operator).await?;
        let is_asked = async || {
            let asked = conversion_of(case, &operator).await?;
            Ok(asked["webhook"]["clientConfig"]["service"]["namespace"] == home.namespace)
        };
        case.eventually("asked", is_asked).await?;
        home.in_phase("gopher.v1.0.0", CsvPhase::Installing).await?;
        home.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_deleted_operator_says_what_it_waits_for_if_that_takes_long() {
    on_cluster(async |case| {
        let scene = Scene::new(case).await?;
        scene.runs(&with_hook(&scene, "1.0.0")).await?;
        let found = configurations(case, &scene.namespace).await?;
        let name = found[0].name_any();
        let api = Api::<ValidatingWebhookConfiguration>::all(case.client.clone());
        let hold = async |finalizers: Value| {
            let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
            api.patch(&name, &PatchParams::default(), &patch).await
        };
        hold(json!(["example.com/hold"])).await?;
        scene
            .delete::<ClusterServiceVersion>("gopher.v1.0.0")
            .await?;
        let waits = scene
            .because("gopher.v1.0.0", CsvReason::WaitingOnCleanup)
            .await?;
        let status = status(&waits);
        let words = format!("ValidatingWebhookConfiguration {name} (held by example.com/hold)");
        ensure!(status.message.contains(&words), "{status:?}");
        ensure!(status.phase == CsvPhase::Succeeded, "{status:?}");
        let told = scene.told("gopher.v1.0.0", "WaitingOnCleanup").await?;
        ensure!(told.type_.as_deref() == Some("Warning"), "{told:?}");
        hold(Value::Null).await?;
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
        let times = scene
            .times_told("gopher.v1.0.0", "WaitingOnCleanup")
            .await?;
        ensure!(times == 1, "told {times} times");
        Ok(())
    })
    .await;
}
