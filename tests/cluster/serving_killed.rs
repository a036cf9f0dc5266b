//! A process that is killed with `kill -9` after any single write of what others call: webhooks, a conversion,
//! their certificate. The next one finishes the job, nobody can tell in the end, and at no moment somebody is called
//! whose certificate is not trusted.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::CsvPhase;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::killed::{Snapshot, same};
use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;
use crate::support::data::skipped;
use crate::support::expiring;
use crate::support::gateway::{Gateway, Write, lines};
use crate::support::killing::{self, QUIET, last, role, walk};
use crate::support::process::Process;
use crate::support::scene::Scene;
use crate::support::snapshot;
use crate::support::stand_in::webhook;
use crate::support::wares::Operator;

const SECRET: &str = "gopher-service-cert";

/// What a process has to do.
#[derive(Clone, Copy, PartialEq)]
enum Job {
    Install,
    /// The certificate is due.
    Renew,
    /// From one version to the next.
    Upgrade,
}

impl Job {
    /// What runs in the end.
    fn outcome(self) -> &'static str {
        match self {
            Self::Install | Self::Renew => "gopher.v1.0.0",
            Self::Upgrade => "gopher.v2.0.0",
        }
    }
}

/// A version of an operator that validates and converts.
fn version(scene: &Scene<'_>, version: &str) -> Operator {
    let operator = scene
        .operator("gopher", version)
        .owns("Gopher")
        .supports(&["AllNamespaces"]);
    let mut hooks = ["validate", "convert"].map(|does| webhook(&operator, does));
    // Nobody answers here.
    hooks[0]["failurePolicy"] = json!("Ignore");
    operator.csv_with(json!({"spec": {"webhookdefinitions": hooks}}))
}

/// What is there before the process begins.
async fn prepared(case: &Case, job: Job) -> anyhow::Result<Scene<'_>> {
    let mut scene = Scene::for_all(case).await?;
    let first = version(&scene, "1.0.0");
    scene.with_crd(&first, "Gopher").await?;
    if job != Job::Install {
        scene.running = Some(Running::start(case, &[&scene.namespace]).await?);
        scene.runs(&first).await?;
        scene.stop().await?;
    }
    Ok(scene)
}

async fn begin(scene: &Scene<'_>, job: Job) -> anyhow::Result<()> {
    match job {
        Job::Install => scene.by_hand(&version(scene, "1.0.0")).await,
        Job::Renew => expire(scene).await,
        Job::Upgrade => {
            let next = version(scene, "2.0.0").replaces("1.0.0");
            scene.by_hand(&next).await
        }
    }
}

async fn done(scene: &Scene<'_>, job: Job) -> anyhow::Result<()> {
    trusted(scene, job != Job::Install).await?;
    if job == Job::Renew {
        // By the former CA, which is kept.
        let is_renewed = |secret: &Secret| secret.data.as_ref().is_some_and(|it| it.len() > 3);
        scene.until(SECRET, "renewed", is_renewed).await?;
    }
    scene.in_phase(job.outcome(), CsvPhase::Succeeded).await?;
    if job == Job::Upgrade {
        scene.gone::<ClusterServiceVersion>("gopher.v1.0.0").await?;
    }
    trusted(scene, true).await
}

/// Who calls the operator: its CRD, and its webhook configurations.
async fn callers(
    scene: &Scene<'_>,
) -> anyhow::Result<(
    CustomResourceDefinition,
    Vec<ValidatingWebhookConfiguration>,
)> {
    let crds = Api::<CustomResourceDefinition>::all(scene.case.client.clone());
    let crd = crds
        .get(&version(scene, "1.0.0").crd_name("Gopher"))
        .await?;
    let ours = ListParams::default().labels(&format!("olm.owner.namespace={}", scene.namespace));
    let api = Api::<ValidatingWebhookConfiguration>::all(scene.case.client.clone());
    Ok((crd, api.list(&ours).await?.items))
}

/// Has the certificate expire in an hour, which all who call trust.
async fn expire(scene: &Scene<'_>) -> anyhow::Result<()> {
    let hour = Duration::from_hours(1);
    let expiring = expiring::secret(&scene.namespace, "gopher-service", hour)?;
    let data = &expiring["data"];
    scene.patch::<Secret>(SECRET, json!({"data": data})).await?;
    let bundle = &data["olmCAKey"];
    let (crd, configurations) = callers(scene).await?;
    let place = json!([{
        "op": "replace", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": bundle,
    }]);
    let patch = Patch::Json::<()>(serde_json::from_value(place)?);
    Api::<CustomResourceDefinition>::all(scene.case.client.clone())
        .patch(&crd.name_any(), &PatchParams::default(), &patch)
        .await?;
    let place = json!([{
        "op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle,
    }]);
    let patch = Patch::Json::<()>(serde_json::from_value(place)?);
    let api = Api::<ValidatingWebhookConfiguration>::all(scene.case.client.clone());
    for configuration in configurations {
        api.patch(&configuration.name_any(), &PatchParams::default(), &patch)
            .await?;
    }
    trusted(scene, true).await
}

/// Whether all who call trust the certificate in use, and, if they have to be there, the CRD and somebody else do call.
async fn trusted(scene: &Scene<'_>, have_to_be: bool) -> anyhow::Result<()> {
    // Whoever calls is told before: so the Secret is looked at first.
    let secret = scene.api::<Secret>().get_opt(SECRET).await?;
    let (crd, configurations) = callers(scene).await?;
    let mut bundles = Vec::new();
    let conversion: Value = serde_json::to_value(&crd.spec.conversion)?;
    let of_crd = &conversion["webhook"]["clientConfig"]["caBundle"];
    ensure!(
        of_crd.is_string() || !have_to_be,
        "nobody converts: {conversion}"
    );
    ensure!(
        !configurations.is_empty() || !have_to_be,
        "nobody validates"
    );
    bundles.extend(of_crd.as_str().map(ToOwned::to_owned));
    for configuration in configurations {
        let webhooks = serde_json::to_value(configuration.webhooks)?;
        let bundle = webhooks[0]["clientConfig"]["caBundle"].as_str();
        bundles.push(bundle.context("no bundle")?.to_owned());
    }
    let Some(secret) = secret else {
        ensure!(!have_to_be, "no certificate");
        return Ok(());
    };
    let data = secret.data.context("no data")?;
    let authority = &data.get("olmCAKey").context("no CA")?.0;
    for bundle in bundles {
        let bundle = STANDARD.decode(bundle)?;
        let is_in = bundle
            .windows(authority.len())
            .any(|part| part == authority.as_slice());
        ensure!(is_in, "the certificate in use is not trusted");
    }
    Ok(())
}

async fn undisturbed(case: &Case, job: Job) -> anyhow::Result<(Vec<Write>, Snapshot)> {
    let scene = prepared(case, job).await?;
    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    begin(&scene, job).await?;
    let kubeconfig = gateway.kubeconfig();
    let _process = Process::start(case, &role("undisturbed", &kubeconfig, &namespaces))?;
    done(&scene, job).await?;
    gateway.quiet(QUIET).await;
    let left = snapshot::of(&case.client, &scene.namespace).await?;
    Ok((gateway.writes(), left))
}

/// One job whose process is killed at a certain moment.
async fn killed(
    case: &Case,
    job: Job,
    moment: impl Fn(&[Write]) -> bool + Send + 'static,
    expected: &Snapshot,
) -> anyhow::Result<Option<String>> {
    let scene = prepared(case, job).await?;
    let is_done = async || {
        done(&scene, job).await?;
        same(case, &scene.namespace, expected).await
    };
    killing::killed(&scene, moment, begin(&scene, job), is_done).await
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_calls_trusts_whoever_answers_wherever_the_process_is_killed() {
    on_cluster(async |case| {
        let (renewed, upgraded) = tokio::try_join!(
            Box::pin(undisturbed(case, Job::Renew)),
            Box::pin(undisturbed(case, Job::Upgrade)),
        )?;
        let (renewed, upgraded) = (renewed.1, upgraded.1);
        let renewing = |method, kind| {
            let moment = last(method, kind);
            Box::pin(killed(case, Job::Renew, moment, &renewed))
        };
        let upgrading = |method, kind| {
            let moment = last(method, kind);
            Box::pin(killed(case, Job::Upgrade, moment, &upgraded))
        };
        // Those who call know of the next certificate, and nobody serves with it.
        let told = renewing("PATCH", "validatingwebhookconfigurations");
        // It is in use, and Pods are not told.
        let secret = renewing("PATCH", "secrets");
        let deployment = upgrading("PATCH", "deployments");
        // The version before is on its way out.
        let old = upgrading("DELETE", "validatingwebhookconfigurations");
        let (told, secret, deployment, old) = tokio::try_join!(told, secret, deployment, old)?;
        for moment in [told, secret, deployment, old] {
            ensure!(moment.is_some(), "a moment did not come");
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_call_ends_the_same_whichever_write_was_the_last() {
    if std::env::var_os("CHANDLER_SOAK").is_none() {
        skipped(
            "what_others_call_ends_the_same_whichever_write_was_the_last",
            "it takes long; `make soak` runs it",
        );
        return;
    }
    on_cluster(async |case| {
        for job in [Job::Install, Job::Renew, Job::Upgrade] {
            let (writes, left) = undisturbed(case, job).await?;
            println!("undisturbed:\n{}", lines(&writes));
            let moments =
                walk(|count| killed(case, job, move |writes| writes.len() == count, &left));
            let moments = moments.await?;
            ensure!(moments > writes.len() / 2, "only {moments} moments came");
        }
        Ok(())
    })
    .await;
}
