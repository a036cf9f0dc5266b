//! Keeps the API of packages served with a certificate and registered with the API server.
//!
//! Only the replica that leads does that; all of them serve.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt as _, select_all};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret, Service};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::events::EventType;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::error::Error;
use super::run::MANAGER;
use super::words;
use crate::lifecycle::install::certificates::CertificateError;
use crate::lifecycle::package_api::{API_SERVICE, SECRET, SERVICE, Seen, Step, next};

/// What is removed with Chandler, and takes the registration along: a ClusterRole of its manifests.
const OWNER: &str = "system:controller:chandler";
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// However long all will be well, it is looked at again after this time.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// What is remembered between two looks; it may be lost.
#[derive(Default)]
struct Memory {
    /// Which CAs the API server trusts, and since when that is known.
    trusted: Option<(Option<ByteString>, Instant)>,
    /// Why the API is not registered, as it was told last.
    told: Option<String>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Api(#[from] Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// Keeps it so until it is told to stop.
pub(super) async fn keep(context: Arc<Context>, stop: CancellationToken) {
    let mut changes = changes(&context);
    let mut memory = Memory::default();
    let mut pause = FIRST_PAUSE;
    loop {
        let wait = match step(&context, &mut memory).await {
            Ok(wait) => {
                pause = FIRST_PAUSE;
                wait.min(LONGEST_WAIT)
            }
            Err(error) => {
                tracing::warn!(%error, "the API of packages cannot be registered; it is tried again");
                pause = (pause * 2).min(LONGEST_PAUSE);
                pause
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(wait) => {}
            _ = changes.next() => {}
        }
    }
}

/// Tells whenever one of the objects changed that this is about.
fn changes(context: &Context) -> BoxStream<'static, ()> {
    let home = &context.settings.namespace;
    let client = &context.client;
    let secrets = Api::<PartialObjectMeta<Secret>>::namespaced(client.clone(), home);
    let services = Api::<APIService>::all(client.clone());
    let namespaces = Api::<PartialObjectMeta<Namespace>>::all(client.clone());
    let own = Api::<PartialObjectMeta<Service>>::namespaced(client.clone(), home);
    select_all([
        told(secrets, SECRET),
        told(services, API_SERVICE),
        told(own, SERVICE),
        told(namespaces, home),
    ])
    .boxed()
}

fn told<K>(api: Api<K>, name: &str) -> BoxStream<'static, ()>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default,
{
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api, only).default_backoff();
    events
        .filter_map(|event| async move {
            match event {
                Ok(_) => Some(()),
                Err(error) => {
                    tracing::warn!(
                        error = words::of_watch(&error),
                        "the watch failed and is begun anew"
                    );
                    None
                }
            }
        })
        .boxed()
}

/// Does what is due, and says how long to wait for the next time.
async fn step(context: &Context, memory: &mut Memory) -> Result<Duration, Failure> {
    let home = &context.settings.namespace;
    let seen = look(context, memory).await?;
    let step = next(home, &seen, &context.now())?;
    if matches!(step, Step::Register(_)) {
        memory.told = None;
    }
    let as_manager = PatchParams::apply(MANAGER).force();
    let services = Api::<APIService>::all(context.client.clone());
    match step {
        Step::Write(secret) => {
            let secrets = Api::<Secret>::namespaced(context.client.clone(), home);
            secrets
                .patch(SECRET, &as_manager, &Patch::Apply(&secret))
                .await
                .map_err(Error::while_(format!("writing Secret {home}/{SECRET}")))?;
            tracing::info!("the API of packages has a new certificate");
            Ok(Duration::ZERO)
        }
        Step::Register(service) => {
            services
                .patch(API_SERVICE, &as_manager, &Patch::Apply(&service))
                .await
                .map_err(Error::while_(format!("writing APIService {API_SERVICE}")))?;
            tracing::info!("the API of packages is registered");
            Ok(Duration::ZERO)
        }
        Step::Unregister => {
            match services.delete(API_SERVICE, &DeleteParams::default()).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => {
                    let what = format!("deleting APIService {API_SERVICE}");
                    return Err(Error::while_(what)(error).into());
                }
            }
            tracing::info!("the API of packages is not registered any more");
            Ok(LONGEST_WAIT)
        }
        Step::Await => {
            let why = format!(
                "no Service {home}/{SERVICE} leads to the API of packages, and so it is not registered; \
                 `chandler deploy` prints one"
            );
            if memory.told.as_ref() != Some(&why) {
                tracing::warn!("{why}");
                memory.told = Some(why);
            }
            Ok(LONGEST_WAIT)
        }
        Step::Yield { to, after } => {
            if memory.told.as_ref() != Some(&to) {
                tell(context, &seen, &to).await;
                memory.told = Some(to);
            }
            Ok(after.unwrap_or(LONGEST_WAIT))
        }
        Step::Wait(wait) => Ok(wait),
    }
}

async fn look(context: &Context, memory: &mut Memory) -> Result<Seen, Error> {
    let home = &context.settings.namespace;
    let client = &context.client;
    let secrets = Api::<Secret>::namespaced(client.clone(), home);
    let services = Api::<APIService>::all(client.clone());
    let secret = secrets.get_opt(SECRET).await;
    let api_service = services.get_opt(API_SERVICE).await;
    let api_service =
        api_service.map_err(Error::while_(format!("reading APIService {API_SERVICE}")))?;
    let bundle = api_service.as_ref().map(|it| {
        let spec = it.spec.as_ref();
        spec.and_then(|spec| spec.ca_bundle.clone())
    });
    let now = Instant::now();
    memory.trusted = bundle.map(|bundle| match memory.trusted.take() {
        Some((known, since)) if known == bundle => (known, since),
        _ => (bundle, now),
    });
    let since = memory.trusted.as_ref().map(|(_, since)| *since);
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = namespaces.get_metadata_opt(home).await;
    let namespace = namespace.map_err(Error::while_(format!("reading Namespace {home}")))?;
    let own = Api::<Service>::namespaced(client.clone(), home);
    let own = own.get_metadata_opt(SERVICE).await;
    let own = own.map_err(Error::while_(format!("reading Service {home}/{SERVICE}")))?;
    Ok(Seen {
        has_service: own.is_some(),
        secret: secret.map_err(Error::while_(format!("reading Secret {home}/{SECRET}")))?,
        api_service,
        owner: owner(context).await?,
        is_leaving: namespace.is_some_and(|it| it.metadata.deletion_timestamp.is_some()),
        trusted_for: since.map_or(Duration::ZERO, |since| now.duration_since(since)),
    })
}

/// Nothing where Chandler does not run from its manifests.
async fn owner(context: &Context) -> Result<Option<OwnerReference>, Error> {
    let roles = Api::<ClusterRole>::all(context.client.clone());
    let role = roles.get_metadata_opt(OWNER).await;
    let role = role.map_err(Error::while_(format!("reading ClusterRole {OWNER}")))?;
    Ok(role.and_then(|role| {
        Some(OwnerReference {
            api_version: "rbac.authorization.k8s.io/v1".to_owned(),
            kind: "ClusterRole".to_owned(),
            name: OWNER.to_owned(),
            uid: role.metadata.uid?,
            ..OwnerReference::default()
        })
    }))
}

async fn tell(context: &Context, seen: &Seen, to: &str) {
    let note = format!(
        "{to} serves this API, and Chandler leaves it alone; to have Chandler serve it, remove that \
         server (OLM's is the ClusterServiceVersion packageserver) or delete this APIService"
    );
    tracing::warn!("APIService {API_SERVICE}: {note}");
    let Some(api_service) = &seen.api_service else {
        return;
    };
    let about = api_service.object_ref(&());
    let reason = "ServedByAnother";
    context
        .tell(&about, EventType::Warning, "Register", reason, &note)
        .await;
}
