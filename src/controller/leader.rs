//! Of several replicas, the one that writes.
//!
//! A Lease says which: its holder renews it every two seconds. Whoever wants it waits until it was
//! not renewed for its whole duration, by a clock of their own, or until it was given back. A holder that could not
//! renew for ten seconds ends: somebody else may already be writing.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::settings::Settings;
use super::words;
use crate::api::labels;

/// The timings of Kubernetes' own components.
const DURATION: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const PERIOD: Duration = Duration::from_secs(2);

/// A lease that is to be had.
pub(crate) struct Candidate {
    api: Api<Lease>,
    namespaces: Api<Namespace>,
    namespace: String,
    name: String,
    identity: String,
    /// The namespaces that are cared for; all if there are none.
    watched_namespaces: Vec<String>,
}

/// A lease that is held.
pub(crate) struct Held {
    candidate: Candidate,
    lease: Lease,
}

/// The lease got lost: somebody else has it, or it could not be renewed in time.
#[derive(Debug, thiserror::Error)]
#[error("the lease {lease} was lost: {why}")]
pub(crate) struct Lost {
    lease: String,
    why: String,
}

/// The last change of the lease that was seen, and when.
struct Observed {
    version: Option<String>,
    at: Instant,
}

impl Candidate {
    /// One for what settings say.
    pub(crate) fn new(client: Client, settings: &Settings) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &settings.namespace),
            namespaces: Api::all(client),
            namespace: settings.namespace.clone(),
            name: settings.lease.clone(),
            identity: settings.identity.clone(),
            watched_namespaces: settings.watched_namespaces.clone(),
        }
    }

    /// Waits until the lease is ours. Nothing if it is to stop before.
    ///
    /// `tell` hears why it cannot be had, and when that is over.
    pub(crate) async fn acquire(
        self,
        stop: &CancellationToken,
        tell: impl Fn(Option<String>),
    ) -> Option<Held> {
        let mut said = None;
        let mut observed = Observed {
            version: None,
            at: Instant::now(),
        };
        loop {
            let problem = match self.try_acquire(&mut observed).await {
                Ok(Some(lease)) => {
                    tracing::info!(identity = self.identity, "this replica leads");
                    tell(None);
                    return Some(Held {
                        candidate: self,
                        lease,
                    });
                }
                Ok(None) => None,
                Err(error) => Some(self.problem(&error)),
            };
            if problem != said {
                if let Some(problem) = &problem {
                    tracing::warn!("{problem}");
                } else {
                    tracing::info!(lease = self.name, "another replica leads");
                }
                tell(problem.clone());
                said = problem;
            }
            tokio::select! {
                () = stop.cancelled() => return None,
                () = sleep(PERIOD) => {}
            }
        }
    }

    async fn try_acquire(&self, observed: &mut Observed) -> Result<Option<Lease>, kube::Error> {
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            let mut lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.name.clone()),
                    namespace: Some(self.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.spec(0)),
            };
            self.sign(&mut lease);
            let created = self.api.create(&PostParams::default(), &lease).await;
            if !created.as_ref().is_err_and(is_without_namespace) {
                return taken(created);
            }
            self.create_namespace().await?;
            return taken(self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        if observed.version != lease.metadata.resource_version {
            observed
                .version
                .clone_from(&lease.metadata.resource_version);
            observed.at = Instant::now();
        }
        let seconds = spec
            .lease_duration_seconds
            .and_then(|it| u64::try_from(it).ok());
        let duration = seconds.map_or(DURATION, Duration::from_secs);
        let is_free =
            holder.is_empty() || holder == self.identity || observed.at.elapsed() > duration;
        if !is_free {
            return Ok(None);
        }
        let changes = spec.lease_transitions.unwrap_or_default();
        lease.spec = Some(self.spec(changes.saturating_add(1)));
        self.sign(&mut lease);
        taken(
            self.api
                .replace(&self.name, &PostParams::default(), &lease)
                .await,
        )
    }

    /// In a cluster the namespace is there before the process; in a terminal nobody may have made it.
    async fn create_namespace(&self) -> Result<(), kube::Error> {
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let parameters = PostParams::default();
        match self.namespaces.create(&parameters, &namespace).await {
            Ok(_) => {
                let namespace = &self.namespace;
                tracing::info!(namespace, "made the namespace, because there was none");
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Why the lease cannot be had, and what to do.
    fn problem(&self, error: &kube::Error) -> String {
        let Self {
            namespace, name, ..
        } = self;
        let advice = match error {
            kube::Error::Api(status) if status.code == 403 || status.code == 404 => format!(
                "make sure that namespace {namespace} exists (`kubectl create namespace {namespace}`) and that \
                 Leases in it may be read, created and updated, or name another one with --namespace"
            ),
            _ => "it is tried again".to_owned(),
        };
        let why = words::of_api(error);
        format!(
            "nobody leads, and so nothing is installed: Lease {namespace}/{name} cannot be had: {why}; {advice}"
        )
    }

    /// Says what the lease is for, so that others see whether somebody cares for a namespace.
    fn sign(&self, lease: &mut Lease) {
        let labels = lease.metadata.labels.get_or_insert_default();
        labels.insert(labels::LEASE.to_owned(), String::new());
        let annotations = lease.metadata.annotations.get_or_insert_default();
        match self.watched_namespaces.join(",") {
            all if all.is_empty() => annotations.remove(labels::WATCHED_NAMESPACES),
            some => annotations.insert(labels::WATCHED_NAMESPACES.to_owned(), some),
        };
    }

    fn spec(&self, transitions: i32) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}

fn is_without_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let details = status.details.as_ref();
    status.code == 404 && details.is_some_and(|details| details.kind == "namespaces")
}

/// Somebody else was faster: no failure.
fn taken(result: Result<Lease, kube::Error>) -> Result<Option<Lease>, kube::Error> {
    match result {
        Ok(lease) => Ok(Some(lease)),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(error) => Err(error),
    }
}

impl Held {
    /// Renews the lease until it is to stop, and then gives it back. The error is that it was lost.
    pub(crate) async fn keep(mut self, stop: &CancellationToken) -> Result<(), Lost> {
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => {
                    self.release().await;
                    return Ok(());
                }
                () = sleep(PERIOD) => {}
            }
            let left = RENEW_DEADLINE.saturating_sub(renewed.elapsed());
            match timeout(left, self.renew()).await {
                Ok(Ok(())) => renewed = Instant::now(),
                Ok(Err(Renewal::Taken(holder))) => {
                    return Err(self.lost(format!("{holder} has it")));
                }
                Ok(Err(Renewal::Failed(error))) if renewed.elapsed() < RENEW_DEADLINE => {
                    let error = words::of_api(&error);
                    tracing::warn!(error, "the lease could not be renewed");
                }
                Ok(Err(Renewal::Failed(error))) => return Err(self.lost(words::of_api(&error))),
                Err(_) => return Err(self.lost("the API server does not answer".to_owned())),
            }
        }
    }

    async fn renew(&mut self) -> Result<(), Renewal> {
        let candidate = &self.candidate;
        let mut lease = self.lease.clone();
        if let Some(spec) = &mut lease.spec {
            spec.renew_time = Some(MicroTime(Timestamp::now()));
        }
        let replaced = candidate
            .api
            .replace(&candidate.name, &PostParams::default(), &lease)
            .await;
        match replaced {
            Ok(lease) => self.lease = lease,
            Err(kube::Error::Api(status)) if status.code == 409 || status.code == 404 => {
                // Somebody changed it: that may be anybody's label, or a new holder.
                let Some(found) = candidate.api.get_opt(&candidate.name).await? else {
                    return Err(Renewal::Taken("nobody (it was deleted)".to_owned()));
                };
                let spec = found.spec.as_ref();
                let holder = spec.and_then(|spec| spec.holder_identity.clone());
                let holder = holder.unwrap_or_default();
                if holder != candidate.identity {
                    return Err(Renewal::Taken(holder));
                }
                self.lease = found;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Lets others have it at once.
    async fn release(mut self) {
        let now = MicroTime(Timestamp::now());
        if let Some(spec) = &mut self.lease.spec {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(now);
        }
        let Candidate { api, name, .. } = &self.candidate;
        let parameters = PostParams::default();
        let released = api.replace(name, &parameters, &self.lease);
        if let Ok(Ok(_)) = timeout(PERIOD, released).await {
            tracing::info!("the lease was given back");
        } else {
            tracing::warn!("the lease could not be given back; it expires by itself");
        }
    }

    fn lost(&self, why: String) -> Lost {
        Lost {
            lease: format!("{}/{}", self.candidate.namespace, self.candidate.name),
            why,
        }
    }
}

enum Renewal {
    Taken(String),
    Failed(kube::Error),
}

impl From<kube::Error> for Renewal {
    fn from(error: kube::Error) -> Self {
        Self::Failed(error)
    }
}
