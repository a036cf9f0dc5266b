//! Of all the pods of an operator, the one that acts.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// For how long a Lease is taken; one that was not renewed for longer is free.
const DURATION: Duration = Duration::from_secs(6);
/// How often it is renewed, or looked at by those who wait for it.
const PERIOD: Duration = Duration::from_secs(1);
/// Who could not renew it for this long has lost it, or soon will.
const DEADLINE: Duration = Duration::from_secs(5);

/// A Lease that is wanted.
pub(crate) struct Wanted {
    api: Api<Lease>,
    name: String,
    identity: String,
}

impl Wanted {
    /// The Lease of this name, for this pod.
    pub(crate) fn new(client: Client, name: &str) -> anyhow::Result<Self> {
        let variable =
            |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
        Ok(Self {
            api: Api::namespaced(client, &variable("POD_NAMESPACE")?),
            name: name.to_owned(),
            identity: variable("POD_NAME")?,
        })
    }

    /// Does something while it has the Lease, and gives that back at the end. It is an error if the Lease is
    /// lost: somebody else may be doing the same.
    pub(crate) async fn during(
        self,
        stop: &CancellationToken,
        work: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = self.acquire() => {}
        }
        tracing::info!(lease = self.name, "this pod acts");
        let outcome = tokio::select! {
            () = stop.cancelled() => Ok(()),
            done = work => done,
            lost = self.renew() => lost,
        };
        self.give_back().await;
        outcome
    }

    async fn acquire(&self) {
        let mut seen = (None, Instant::now());
        loop {
            match timeout(DEADLINE, self.try_acquire(&mut seen)).await {
                Ok(Ok(true)) => return,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::warn!(lease = self.name, "{error}"),
                Err(_) => tracing::warn!(lease = self.name, "the API server does not answer"),
            }
            sleep(PERIOD).await;
        }
    }

    /// Takes it if it is free. By a clock of our own: those of others may be wrong.
    async fn try_acquire(&self, seen: &mut (Option<String>, Instant)) -> kube::Result<bool> {
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.spec(0)),
            };
            return taken(self.api.create(&PostParams::default(), &lease).await);
        };
        if seen.0 != lease.metadata.resource_version {
            *seen = (lease.metadata.resource_version.clone(), Instant::now());
        }
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        // One that has our name was ours before this container was started again.
        if !holder.is_empty() && holder != self.identity && seen.1.elapsed() < DURATION {
            return Ok(false);
        }
        lease.spec = Some(self.spec(spec.lease_transitions.unwrap_or_default().saturating_add(1)));
        taken(self.replace(&lease).await)
    }

    /// Ends only when it is lost.
    async fn renew(&self) -> anyhow::Result<()> {
        let mut renewed = Instant::now();
        loop {
            sleep(PERIOD).await;
            // Others count from when it was written, which may be long before we hear of that, if we ever do.
            let asked = Instant::now();
            match timeout_at(renewed + DEADLINE, self.try_renew()).await {
                Ok(Ok(true)) => renewed = asked,
                Ok(Ok(false)) => bail!("somebody else has the Lease {}", self.name),
                Ok(Err(error)) => tracing::warn!(lease = self.name, "{error}"),
                Err(_) => bail!("the Lease {} could not be renewed in time", self.name),
            }
        }
    }

    async fn try_renew(&self) -> kube::Result<bool> {
        let mut lease = self.api.get(&self.name).await?;
        let spec = lease.spec.clone().unwrap_or_default();
        if spec.holder_identity.as_ref() != Some(&self.identity) {
            return Ok(false);
        }
        lease.spec = Some(self.spec(spec.lease_transitions.unwrap_or_default()));
        self.replace(&lease).await?;
        Ok(true)
    }

    async fn give_back(&self) {
        let given = async {
            let mut lease = self.api.get(&self.name).await?;
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_ref() == Some(&self.identity) {
                spec.holder_identity = None;
                self.replace(&lease).await?;
            }
            Ok::<_, kube::Error>(())
        };
        match timeout(DEADLINE, given).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(lease = self.name, "not given back: {error}"),
            Err(_) => tracing::warn!(lease = self.name, "not given back: nobody answers"),
        }
    }

    async fn replace(&self, lease: &Lease) -> kube::Result<Lease> {
        let parameters = PostParams::default();
        self.api.replace(&self.name, &parameters, lease).await
    }

    fn spec(&self, transitions: i32) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            lease_transitions: Some(transitions),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            ..LeaseSpec::default()
        }
    }
}

/// Whoever was faster has it.
fn taken(outcome: kube::Result<Lease>) -> kube::Result<bool> {
    match outcome {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A Lease in a cluster whose API server takes requests and never answers.
    fn unanswered() -> Wanted {
        let service = tower::service_fn(|_| {
            std::future::pending::<Result<axum::response::Response, Infallible>>()
        });
        Wanted {
            api: Api::namespaced(Client::new(service, "default"), "default"),
            name: "one".to_owned(),
            identity: "us".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_lost_before_others_may_have_it_although_nobody_answers() {
        let start = Instant::now();
        unanswered().renew().await.expect_err("it is lost");
        assert!(start.elapsed() < DURATION, "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_a_lease_back_does_not_wait_for_ever() {
        let start = Instant::now();
        unanswered().give_back().await;
        assert!(start.elapsed() <= DEADLINE);
    }
}
