//! Operators that really run: the stand-in, in an image that the cluster's real node pulls.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use chandler::oci::image::{Compression, File, Image, Start};
use chandler::oci::push::{Transport, push};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::case::{Case, DEADLINE};
use super::controllers::Running;
use super::data::skipped;
use super::scene::Scene;
use super::wares::Operator;

/// The image of the stand-in.
pub struct StandIn {
    pub image: String,
}

impl StandIn {
    /// Pushes the stand-in to the cluster's registry; none where it could not run.
    pub async fn at_hand(case: &Case) -> anyhow::Result<Option<Self>> {
        let image = push_program(case, "stand-in").await?;
        Ok(image.map(|image| Self { image }))
    }

    /// What a Deployment says whose Pods do this. Its readiness is that of the first port, if it has one.
    pub fn doing(&self, arguments: &[&str]) -> Value {
        let mut container = json!({
            "name": "operator", "image": self.image, "args": arguments,
            // So that the API tells how it ended.
            "terminationMessagePolicy": "FallbackToLogsOnError",
        });
        let ports = [("hooks", HOOKS), ("api", API), ("crash", HOOKS)];
        let port = ports.iter().find(|(part, _)| arguments.contains(part));
        if let Some((_, port)) = port {
            container["readinessProbe"] = json!({
                "httpGet": {"path": "/readyz", "port": port, "scheme": "HTTPS"}, "periodSeconds": 1,
            });
        }
        json!({"spec": {"template": {"spec": {"containers": [container]}}}})
    }
}

/// The ports at which the stand-in serves.
pub const HOOKS: u16 = 9443;
pub const API: u16 = 5443;

/// Pushes an example's program to the cluster's registry and gives its image; none where it could not run.
pub async fn push_program(case: &Case, program: &str) -> anyhow::Result<Option<String>> {
    if !case.cluster.runs_pods()? {
        skipped(&case.name, "no real node: that needs root on Linux");
        return Ok(None);
    }
    let Some(registry) = &case.cluster.registry else {
        skipped(
            &case.name,
            "CHANDLER_REGISTRY names no registry that your cluster can pull from",
        );
        return Ok(None);
    };
    let mut pushed = PUSHED.lock().await;
    if let Some(image) = pushed.get(program) {
        return Ok(Some(image.clone()));
    }
    let image = push_image(registry, program).await?;
    pushed.insert(program.to_owned(), image.clone());
    Ok(Some(image))
}

/// The images that were pushed, by their programs: they are large, and many tests want the same one.
static PUSHED: Mutex<BTreeMap<String, String>> = Mutex::const_new(BTreeMap::new());

async fn push_image(registry: &str, program: &str) -> anyhow::Result<String> {
    let content =
        fs_err::read(binary(program)?).context("run `make test-cluster`, which builds it")?;
    ensure!(
        !content.windows(9).any(|window| window == b"/ld-linux"),
        "{program} is not static, and an image holds nothing else: run `make test-cluster`"
    );
    let start = Start {
        entrypoint: vec![format!("/{program}")],
        user: "65532:65532".to_owned(),
        ..Start::default()
    };
    let file = File {
        path: program.to_owned(),
        mode: 0o755,
        content,
    };
    let image = Image::build_layers(vec![vec![file]], &start, Compression::None)?;
    let reference = format!("{registry}/chandler-test/{program}:latest");
    let pushed = push(&image, &reference, Transport::Plain).await?;
    ensure!(pushed.ends_with(&image.manifest.digest), "{pushed}");
    Ok(pushed)
}

/// An example's binary, beside the folder of this test's own.
pub fn binary(program: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let profile = own
        .parent()
        .and_then(|deps| deps.parent())
        .context("no target folder")?;
    Ok(profile.join("examples").join(program))
}

/// A webhook of operator `gopher` that is asked about its kind `Gopher`. What it is called by begins with
/// what it does.
pub fn webhook(operator: &Operator, does: &str) -> Value {
    let type_ = match does {
        "mutate" => "MutatingAdmissionWebhook",
        "convert" => "ConversionWebhook",
        _ => "ValidatingAdmissionWebhook",
    };
    let mut webhook = json!({
        "type": type_, "generateName": format!("{does}.{}", operator.crd_name("Gopher")),
        "deploymentName": operator.package, "containerPort": 443, "targetPort": HOOKS,
        "webhookPath": format!("/{does}"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
    });
    if does == "convert" {
        webhook["conversionCRDs"] = json!([operator.crd_name("Gopher")]);
    } else {
        webhook["failurePolicy"] = json!("Fail");
        webhook["rules"] = json!([{
            "apiGroups": [operator.group], "apiVersions": ["*"], "resources": ["gophers"],
            "operations": ["CREATE", "UPDATE"],
        }]);
    }
    webhook
}

/// The kind `Tunnel` of a group, served by operator `gopher`.
pub fn tunnels(operator: &Operator, group: &str) -> Value {
    json!({
        "name": "tunnels", "group": group, "version": "v1", "kind": "Tunnel",
        "deploymentName": operator.package, "containerPort": API,
        "displayName": "Tunnel", "description": "Tunnel",
    })
}

/// The CRD of `Gopher` in two versions, of which the first says `address` and the second `host` and `port`.
pub fn two_versions(operator: &Operator) -> Value {
    let mut crd = operator.crd("Gopher");
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let version = |name: &str, storage: bool, fields: Value| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": fields},
            }}},
        })
    };
    crd["spec"]["versions"] = json!([
        version(
            "v1",
            true,
            json!({"address": text, "changedBy": text, "forbidden": text})
        ),
        version(
            "v2",
            false,
            json!({"host": text, "port": number, "changedBy": text, "forbidden": text})
        ),
    ]);
    crd
}

impl<'c> Scene<'c> {
    /// A namespace whose Pods really run, cared for, without an OperatorGroup.
    pub async fn on_real_node(case: &'c Case) -> anyhow::Result<Self> {
        let namespace = case.namespace().await?;
        let running = Running::start(case, &[&namespace]).await?;
        Ok(Self {
            case,
            namespace,
            running: Some(running),
        })
    }

    /// Objects of a kind of a group, in a namespace.
    pub fn objects(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        Api::namespaced_with(self.case.client.clone(), &self.namespace, &resource)
    }

    /// The Gophers of the namespace.
    pub fn gophers(&self, operator: &Operator, version: &str) -> Api<DynamicObject> {
        self.objects(&operator.group, version, "Gopher")
    }
}

/// A Gopher with a spec.
pub fn gopher(operator: &Operator, version: &str, name: &str, spec: &Value) -> DynamicObject {
    let api_version = format!("{}/{version}", operator.group);
    let object = json!({
        "apiVersion": api_version, "kind": "Gopher", "metadata": {"name": name}, "spec": spec,
    });
    serde_json::from_value(object).expect("an object")
}

/// Creates an object, if need be again and again until the webhook can be reached: a Service leads nowhere
/// until the API server knows of its Pods.
pub async fn create(
    case: &Case,
    api: &Api<DynamicObject>,
    object: &DynamicObject,
) -> anyhow::Result<Result<DynamicObject, String>> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let outcome = api.create(&PostParams::default(), object).await;
        let error = match outcome {
            Ok(created) => return Ok(Ok(created)),
            Err(kube::Error::Api(status)) => status.message.clone(),
            Err(error) => return Err(error.into()),
        };
        if !error.contains("failed calling webhook") {
            return Ok(Err(error));
        }
        ensure!(
            tokio::time::Instant::now() < deadline,
            "{} is not answered: {error}",
            case.name
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
