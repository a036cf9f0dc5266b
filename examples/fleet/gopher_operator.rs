//! Tells gophers APIs which gophers run in the cluster.
//!
//! A pod with the label `run=random-gopher` that is ready is a gopher, and a `GopherAPI` names an API that is
//! to know all gophers of its namespace. In every round what an API knows is compared with what it should
//! know (`diff`), and only the difference is told (`api`). So it does not matter what happened while
//! the operator, or the API, was away. When a GopherAPI is deleted, its API forgets them first (`farewell`).

mod api;
mod diff;
mod farewell;
mod names;
mod resource;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Parser;
use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::api::GophersApi;
use self::diff::changes;
use self::farewell::Step;
use self::names::Names;
use self::resource::{ApiKey, Fed, GopherApi, Trouble};
use crate::convert::{self, Webhook};
use crate::gopher::Gopher;
use crate::watching::{self, Kind, Objects, Targets};
use crate::{lease, serving};

/// Which pods are gophers.
const GOPHERS: &str = "run=random-gopher";
/// How many APIs are fed at once: one that does not answer keeps no other waiting.
const AT_ONCE: usize = 16;

/// How it is started.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Say in the status of each GopherAPI how it is
    #[arg(long)]
    status: bool,
    /// Have each API forget its gophers before its GopherAPI goes
    #[arg(long)]
    farewell: bool,
    /// The version of GopherAPI to read
    #[arg(long, value_name = "VERSION", default_value = "v1alpha1")]
    api_version: String,
    /// Convert GopherAPIs between their versions, at this address
    #[arg(long, value_name = "ADDRESS")]
    convert: Option<Webhook>,
    /// Where probes are answered
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    probes: SocketAddr,
}

/// What rounds need.
struct Operator {
    client: Client,
    has_status: bool,
    says_farewell: bool,
    kind: Kind,
    apis: Objects<DynamicObject>,
    pods: Objects<Pod>,
    names: Names,
    http: reqwest::Client,
}

pub(crate) async fn run(args: &Args, stop: CancellationToken) -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    let lease = lease::Wanted::new(client.clone(), "gopher-operator")?;
    let feeds = lease.during(&stop, feed(client, args));
    let probes = serving::serve(args.probes, serving::probes(), stop.clone());
    tokio::try_join!(probes, convert::serve(args.convert.clone()), feeds)?;
    Ok(())
}

/// Round after round.
async fn feed(client: Client, args: &Args) -> anyhow::Result<()> {
    let changed = Arc::new(Notify::new());
    let targets = Targets::of_environment();
    let gvk = GroupVersionKind::gvk("lostinbrittany.dev", &args.api_version, "GopherAPI");
    let kind = Kind::served(&client, &gvk).await;
    let gophers = watcher::Config::default().labels(GOPHERS);
    let operator = Operator {
        apis: kind.objects(&client, &targets, &changed).await,
        pods: Objects::follow(targets.apis(&client), &gophers, &changed, Writer::default).await,
        names: Names::default(),
        http: api::client()?,
        kind,
        has_status: args.status,
        says_farewell: args.farewell,
        client,
    };
    loop {
        operator.round().await;
        watching::something(&changed).await;
    }
}

impl Operator {
    async fn round(&self) {
        let pods = self.pods.all();
        self.names.learn(&self.client, &pods).await;
        let apis = self.apis.all();
        stream::iter(&apis)
            .for_each_concurrent(AT_ONCE, async |object| {
                self.look_after(object, &apis, &pods).await;
            })
            .await;
    }

    async fn look_after(
        &self,
        object: &DynamicObject,
        all: &[Arc<DynamicObject>],
        pods: &[Arc<Pod>],
    ) {
        match farewell::step(object) {
            Step::Hold(patch) if self.says_farewell => self.write(object, &patch).await,
            Step::Leave(patch) if self.says_farewell => {
                return self.leave(object, all, &patch).await;
            }
            _ => {}
        }
        if object.metadata.deletion_timestamp.is_some() {
            return;
        }
        let outcome = self.feed(object, pods).await;
        let name = object.name_any();
        let namespace = object.namespace().unwrap_or_default();
        match &outcome {
            Ok(Fed { told: 0, .. }) => {}
            Ok(fed) => tracing::info!(
                namespace,
                name,
                told = fed.told,
                gophers = fed.gophers,
                "fed"
            ),
            Err(trouble) => tracing::warn!(namespace, name, "{trouble}"),
        }
        if !self.has_status {
            return;
        }
        let Some(status) = resource::status(object, &outcome, Timestamp::now()) else {
            return;
        };
        let api = self.kind.api_of(&self.client, object);
        let patch = Patch::Merge(json!({"status": status}));
        if let Err(error) = api
            .patch_status(&name, &PatchParams::default(), &patch)
            .await
        {
            tracing::warn!(namespace, name, "status not written: {error}");
        }
    }

    /// Lets a GopherAPI go, when its API has forgotten the gophers or is not to be had.
    async fn leave(&self, object: &DynamicObject, all: &[Arc<DynamicObject>], patch: &Value) {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        if let Err(trouble) = self.forget(object, all).await {
            tracing::warn!(namespace, name, "its gophers are not forgotten: {trouble}");
            if !farewell::is_given_up(object, Timestamp::now()) {
                return;
            }
        }
        self.write(object, patch).await;
    }

    /// Has an API forget the gophers of a namespace, unless it is to know them by another GopherAPI.
    async fn forget(
        &self,
        object: &DynamicObject,
        all: &[Arc<DynamicObject>],
    ) -> Result<(), Trouble> {
        let namespace = object.namespace().unwrap_or_default();
        let spec = GopherApi::read(object)?;
        let is_known_by = |other: &&Arc<DynamicObject>| {
            other.metadata.deletion_timestamp.is_none()
                && other.namespace() == object.namespace()
                && GopherApi::read(other).is_ok_and(|it| it.endpoint == spec.endpoint)
        };
        if all.iter().any(|other| is_known_by(&other)) {
            return Ok(());
        }
        let key = self.key(&namespace, &spec.api_key).await?;
        let api = GophersApi::new(&self.http, &spec.endpoint, &key);
        api.tell_all(&changes(&namespace, &[], &api.list().await?))
            .await
    }

    async fn write(&self, object: &DynamicObject, patch: &Value) {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let api = self.kind.api_of(&self.client, object);
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        if let Err(error) = api.patch(&name, &parameters, &patch).await {
            tracing::warn!(namespace, name, "not written: {error}");
        }
    }

    /// Makes what an API knows what it should know.
    async fn feed(&self, object: &DynamicObject, pods: &[Arc<Pod>]) -> Result<Fed, Trouble> {
        let namespace = object.namespace().unwrap_or_default();
        let spec = GopherApi::read(object)?;
        let key = self.key(&namespace, &spec.api_key).await?;
        let api = GophersApi::new(&self.http, &spec.endpoint, &key);
        let wanted = self.names.gophers(&namespace, pods);
        let changes = changes(&namespace, &wanted, &api.list().await?);
        let told = changes.len();
        api.tell_all(&changes).await?;
        let known: Vec<Gopher> = wanted.iter().filter_map(|it| it.gopher.clone()).collect();
        match wanted.len() - known.len() {
            0 => Ok(Fed {
                told,
                gophers: known.len(),
            }),
            silent => Err(Trouble::Silent(silent)),
        }
    }

    /// The key of an API, out of its Secret if it is in one.
    async fn key(&self, namespace: &str, key: &ApiKey) -> Result<String, Trouble> {
        let (name, field) = match key {
            ApiKey::Value(value) => return Ok(value.trim().to_owned()),
            ApiKey::Secret { name, key } => (name, key),
        };
        let secrets = Api::<Secret>::namespaced(self.client.clone(), namespace);
        let secret = secrets.get_opt(name).await;
        let secret = secret.map_err(|error| Trouble::NoKey(error.to_string()))?;
        let data = secret.and_then(|it| it.data).unwrap_or_default();
        let words = || format!("there is no key {field} in Secret {name}");
        resource::key_in(&data, field).ok_or_else(|| Trouble::NoKey(words()))
    }
}
