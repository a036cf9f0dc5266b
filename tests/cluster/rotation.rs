//! Certificates of webhooks and APIs are renewed while requests go on.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::json;
use tokio::time::Instant;

use crate::support::case::{Case, on_cluster};
use crate::support::expiring;
use crate::support::gateway::{Gateway, lines};
use crate::support::killing::role;
use crate::support::life::{phase, status};
use crate::support::load::Load;
use crate::support::process::Process;
use crate::support::scene::Scene;
use crate::support::stand_in::{StandIn, create, gopher, tunnels, two_versions, webhook};
use crate::support::wares::Operator;

/// The Secret of the certificate of operator `gopher`.
const CERTIFICATE: &str = "gopher-service-cert";
/// How long before its end a certificate is renewed.
const DAY: Duration = Duration::from_hours(24);
/// How long the first certificate is to be used at first: until then the operator has to run, on a real node that others
/// use. What is left of it then has to be enough to begin with requests.
const SOON: Duration = Duration::from_secs(90);
const LEFT: Duration = Duration::from_secs(20);

/// Has an operator run whose certificate is about to be due, and gives its Secret and when that is. Nobody knows how long it
/// takes to run: one whose certificate is due by then begins anew with another that has more time.
async fn run_until_due(
    scene: &Scene<'_>,
    operator: &Operator,
) -> anyhow::Result<(Secret, Instant)> {
    let mut soon = SOON;
    loop {
        let due = Instant::now() + soon;
        let expiring = expiring::secret(&scene.namespace, "gopher-service", DAY + soon)?;
        scene.create(expiring).await?;
        let before = scene.api::<Secret>().get(CERTIFICATE).await?;
        let csv = scene.runs(operator).await?;
        if Instant::now() + LEFT < due {
            ensure!(status(&csv).certs_rotate_at.is_some(), "{csv:?}");
            let used = scene.api::<Secret>().get(CERTIFICATE).await?;
            ensure!(used.data == before.data, "a good certificate was not used");
            return Ok((before, due));
        }
        scene.delete_csv(&operator.csv_name()).await?;
        let is_gone = async || {
            // The garbage collector may be at it as well.
            let _ = scene.delete::<Secret>(CERTIFICATE).await;
            Ok(scene.api::<Secret>().get_opt(CERTIFICATE).await?.is_none())
        };
        scene.case.eventually("without a Secret", is_gone).await?;
        soon *= 2;
    }
}

#[tokio::test]
async fn certificates_are_renewed_under_load_without_a_failed_request() {
    on_cluster(async |case| {
        let Some(stand_in) = StandIn::at_hand(case).await? else {
            return Ok(());
        };
        let scene = Scene::on_real_node(case).await?;
        scene.group_with(json!({})).await?;
        let group = format!("api.{}.example.com", scene.namespace);
        let operator = scene.operator("gopher", "1.0.0").owns("Gopher");
        let hooks = ["validate", "mutate", "convert"].map(|does| webhook(&operator, does));
        let api = tunnels(&operator, &group);
        scene.crd(two_versions(&operator)).await?;
        let mut doing = stand_in.doing(&["operate", "gopher", "hooks", "api"]);
        doing["spec"]["replicas"] = json!(2);
        let operator = operator
            .supports(&["AllNamespaces"])
            .deployment_with(doing)
            .csv_with(json!({"spec": {
                "webhookdefinitions": hooks,
                "apiservicedefinitions": {"owned": [api]},
            }}));
        let (before, due) = run_until_due(&scene, &operator).await?;
        let pods = pods(&scene).await?;

        let gophers = scene.gophers(&operator, "v1");
        let stored = gopher(
            &operator,
            "v1",
            "stored",
            &json!({"address": "burrow:8080"}),
        );
        create(case, &gophers, &stored)
            .await?
            .map_err(anyhow::Error::msg)?;
        let mut load = Load::start(&scene, &operator).await?;
        // It is not yet time for it to be looked at by itself: that is done once in a minute at most.
        tokio::time::sleep_until(due).await;
        scene
            .patch::<ClusterServiceVersion>(
                "gopher.v1.0.0",
                json!({"metadata": {"labels": {"looked": "at"}}}),
            )
            .await?;
        scene
            .until(CERTIFICATE, "renewed", |secret: &Secret| {
                secret.data != before.data
            })
            .await?;
        let csv = scene
            .until(
                "gopher.v1.0.0",
                "as before",
                |csv: &ClusterServiceVersion| {
                    let has_rotated = status(csv)
                        .conditions
                        .iter()
                        .any(|it| it.reason == CsvReason::NeedsCertRotation);
                    has_rotated && phase(csv) == CsvPhase::Succeeded
                },
            )
            .await?;
        ensure!(status(&csv).certs_last_updated.is_some(), "{csv:?}");
        let are_new = async || {
            let now = self::pods(&scene).await?;
            Ok(now.len() == 2 && now.iter().all(|pod| !pods.contains(pod)))
        };
        case.eventually("other Pods", are_new).await?;
        load.at_least(500).await?;
        load.stop(&case.name).await?;

        // The former CA stays, for whoever still serves with its certificate.
        let renewed = scene.api::<Secret>().get(CERTIFICATE).await?;
        let renewed = renewed.data.context("no data")?;
        let former = &before.data.context("no data")?["olmCAKey"];
        let kept = renewed.values().filter(|it| *it == former).count();
        ensure!(kept == 1 && &renewed["olmCAKey"] != former);
        scene.delete_csv("gopher.v1.0.0").await
    })
    .await;
}

/// The Pods of the operator.
async fn pods(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let ours = ListParams::default().labels("app=gopher");
    let pods = scene.api::<Pod>().list(&ours).await?;
    let names = pods.items.into_iter().filter_map(|pod| pod.metadata.name);
    Ok(names.collect())
}

/// The hash of the CA that Pods of a Deployment carry, and their image.
fn template(deployment: &Deployment) -> (Option<String>, Option<String>) {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let annotations = template.and_then(|it| it.metadata.as_ref()?.annotations.as_ref());
    let hash = annotations.and_then(|all| all.get("olmcahash").cloned());
    let pod = template.and_then(|it| it.spec.as_ref());
    let image = pod.and_then(|pod| pod.containers.first()?.image.clone());
    (hash, image)
}

/// Who asks the webhook of the operator.
async fn caller(scene: &Scene<'_>) -> anyhow::Result<ValidatingWebhookConfiguration> {
    let hooks = Api::<ValidatingWebhookConfiguration>::all(scene.case.client.clone());
    let ours = ListParams::default().labels(&format!("olm.owner.namespace={}", scene.namespace));
    let mut found = hooks.list(&ours).await?.items;
    found.pop().context("no webhook configuration")
}

// Pods that are started anew would wait for the Secret for ever, and what their webhooks are asked about be refused.
async fn lose_secret(case: &Case) -> anyhow::Result<()> {
    let scene = Scene::new(case).await?;
    let plain = scene
        .operator("gopher", "1.0.0")
        .owns("Gopher")
        .requires("Burrow");
    scene.with_crd(&plain, "Gopher").await?;
    scene.with_crd(&plain, "Burrow").await?;
    let hooks = [webhook(&plain, "validate")];
    let gopher = plain.csv_with(json!({"spec": {"webhookdefinitions": hooks}}));
    let csv = gopher.csv_name();
    scene.runs(&gopher).await?;
    let secret = CERTIFICATE;
    let before = scene.api::<Secret>().get(secret).await?;
    let (old_hash, image) = template(&scene.api::<Deployment>().get("gopher").await?);

    let crds = Api::<CustomResourceDefinition>::all(case.client.clone());
    let burrow = gopher.crd_name("Burrow");
    crds.delete(&burrow, &DeleteParams::default()).await?;
    let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
    case.wait(&crds, &burrow, "gone", is_gone).await?;
    // What it asks for now waits for what it lacks.
    let edited = gopher
        .clone()
        .deployment_with(json!({"spec": {"template": {"spec": {
            "containers": [{"name": "operator", "image": "example.com/operator:v2"}],
        }}}}));
    scene.change_to(&edited).await?;
    let lacks = |csv: &ClusterServiceVersion| {
        let status = status(csv);
        status.phase == CsvPhase::Pending && status.reason == CsvReason::RequirementsNotMet
    };
    scene.until(&csv, "lacking something", lacks).await?;
    scene.delete::<Secret>(secret).await?;
    let uid = before.metadata.uid.clone();
    let after = scene
        .until(secret, "made anew", |it: &Secret| it.metadata.uid != uid)
        .await?;
    let hash = |secret: &Secret| secret.annotations().get("olmcahash").cloned();
    let marked = scene
        .until("gopher", "marked", |it: &Deployment| {
            template(it).0 == hash(&after)
        })
        .await?;
    ensure!(hash(&before) == old_hash && hash(&after) != old_hash);
    ensure!(
        template(&marked).1 == image,
        "it was rolled out: {marked:?}"
    );
    // Pods that are not replaced yet are trusted as well.
    let hook = caller(&scene).await?;
    let hook = hook.webhooks.unwrap_or_default().remove(0);
    let bundle = hook.client_config.ca_bundle.context("nobody is trusted")?;
    let bundle = String::from_utf8(bundle.0)?;
    for secret in [&before, &after] {
        let data = secret.data.as_ref().context("no data")?;
        let authority = String::from_utf8(data["olmCAKey"].0.clone())?;
        ensure!(bundle.contains(&authority), "{bundle}");
    }
    ensure!(lacks(
        &scene.api::<ClusterServiceVersion>().get(&csv).await?
    ));

    scene.with_crd(&gopher, "Burrow").await?;
    scene.in_phase(&csv, CsvPhase::Succeeded).await?;
    let newer = |it: &Deployment| template(it).1.as_deref() == Some("example.com/operator:v2");
    scene.until("gopher", "rolled out", newer).await?;
    let data = scene.api::<Secret>().get(secret).await?.data;
    ensure!(data == after.data, "it was made anew once more");
    scene.delete_csv(&csv).await
}

#[tokio::test]
async fn a_secret_that_is_lost_while_an_operator_lacks_something_is_made_anew_and_nothing_else() {
    on_cluster(async |case| Box::pin(lose_secret(case)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_told_once_of_a_certificate_that_cannot_be_written_yet() {
    on_cluster(async |case| {
        let scene = Scene::uncared(case).await?;
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
        let kubeconfig = gateway.kubeconfig();
        let _process = Process::start(case, &role("first", &kubeconfig, &namespaces))?;
        let plain = scene.operator("gopher", "1.0.0").owns("Gopher");
        scene.with_crd(&plain, "Gopher").await?;
        let hooks = [webhook(&plain, "validate")];
        let gopher = plain.csv_with(json!({"spec": {"webhookdefinitions": hooks}}));
        let csv = gopher.csv_name();
        scene.runs(&gopher).await?;
        let before = caller(&scene).await?;

        scene
            .create(json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-secrets"},
                "spec": {"hard": {"count/secrets": "0"}},
            }))
            .await?;
        scene
            .until("no-secrets", "in force", |it: &ResourceQuota| {
                it.status.as_ref().is_some_and(|it| it.hard.is_some())
            })
            .await?;
        scene.delete::<Secret>(CERTIFICATE).await?;
        let times = |kind: &str, is_done: bool| {
            let writes = gateway.writes().into_iter();
            writes
                .filter(|it| it.is("PATCH", kind) && it.is_done() == is_done)
                .count()
        };
        let told = times("validatingwebhookconfigurations", true);
        let tried = async || Ok(times("secrets", false) >= 3);
        case.eventually("refused a Secret three times", tried)
            .await?;
        let told = times("validatingwebhookconfigurations", true) - told;
        ensure!(
            told <= 1,
            "told {told} times:\n{}",
            lines(&gateway.writes())
        );
        let says = scene.api::<ClusterServiceVersion>().get(&csv).await?;
        let says = status(&says).message;
        ensure!(says.contains("raise the ResourceQuota"), "{says}");

        scene.delete::<ResourceQuota>("no-secrets").await?;
        scene
            .until(CERTIFICATE, "made anew", |_: &Secret| true)
            .await?;
        scene.in_phase(&csv, CsvPhase::Succeeded).await?;
        ensure!(caller(&scene).await?.webhooks != before.webhooks);
        scene.delete_csv(&csv).await
    })
    .await;
}
