//! What goes with a Subscription, shown first and then begun.

mod preview;

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use kube::ResourceExt as _;

use crate::api::subscription::{RemovalPolicy, Subscription};
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::controller::removal::{Remover, hand_over, take_back};
use crate::lifecycle::removal::{Wish, own_wish};
use crate::plan::apply::Applier;
pub(in crate::cli) use preview::Preview;

/// What is to go beside the operator.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Extent {
    /// The operator, then its CRDs and dependencies, but for CRDs that have objects.
    pub(in crate::cli) everything: bool,
    /// Dependencies that were installed for it and that nobody else needs.
    pub(in crate::cli) dependencies: bool,
    /// These CRDs, and before the operator all their objects.
    pub(in crate::cli) crds: Vec<String>,
}

/// A removal that was looked at and can be begun.
pub(in crate::cli) struct Uninstall {
    /// What goes and what stays.
    pub(in crate::cli) preview: Preview,
    /// Who does it.
    pub(in crate::cli) remover: Remover,
    wish: Wish,
}

impl Uninstall {
    /// Looks at all that goes with a Subscription, or with the only one to a package, and refuses what
    /// cannot be done.
    pub(in crate::cli) async fn prepare(
        cluster: &Cluster,
        namespace: &str,
        name: &str,
        extent: &Extent,
    ) -> Result<Self, Failure> {
        let subscription = find(cluster, namespace, name).await?;
        let remover = Remover {
            applier: Applier::new(cluster.client()),
            client: cluster.client(),
        };
        let wish = wish(extent, &subscription);
        let preview = Preview::read(&remover, Arc::new(subscription), &wish).await?;
        preview.check(&wish)?;
        if extent.everything {
            preview.check_crds()?;
        }
        Ok(Self {
            preview,
            remover,
            wish,
        })
    }

    /// Writes the wish on the Subscription and deletes it. If that does not succeed, the wish goes: whoever deletes
    /// the Subscription later may not have it.
    pub(in crate::cli) async fn begin(&self, cluster: &Cluster) -> Result<(), Failure> {
        let begun = self.hand_over(cluster).await;
        if begun.is_err() {
            self.take_back(cluster).await;
        }
        begun
    }

    async fn hand_over(&self, cluster: &Cluster) -> Result<(), Failure> {
        let Self {
            preview,
            remover,
            wish,
        } = self;
        let mut subscription = (*preview.subscription).clone();
        for attempt in 1..ATTEMPTS {
            match hand_over(&remover.client, &subscription, wish).await {
                Err(error) if error.is_stale() => {
                    tokio::time::sleep(pause(attempt)).await;
                    match self.found(cluster).await? {
                        Some(found) => subscription = found,
                        // Somebody else was quicker.
                        None => return Ok(()),
                    }
                }
                outcome => return outcome.map_err(outside),
            }
        }
        hand_over(&remover.client, &subscription, wish)
            .await
            .map_err(outside)
    }

    async fn take_back(&self, cluster: &Cluster) {
        for attempt in 1..=ATTEMPTS {
            let problem = match self.found(cluster).await {
                Ok(None) => return,
                Err(failure) => failure.words(),
                Ok(Some(found)) => match take_back(&self.remover.client, &found).await {
                    Ok(()) => return,
                    Err(error) if error.is_stale() => {
                        tokio::time::sleep(pause(attempt)).await;
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
            };
            tracing::warn!(%problem, "the Subscription keeps a wish for its removal, until somebody looks at it");
            return;
        }
    }

    /// The Subscription as it is now, if it is still there.
    async fn found(&self, cluster: &Cluster) -> Result<Option<Subscription>, Failure> {
        let Preview {
            subscription,
            namespace,
            name,
            ..
        } = &self.preview;
        let found = cluster.find_subscription(namespace, name).await?;
        Ok(found.filter(|it| it.uid() == subscription.uid()))
    }
}

/// How often it is tried when somebody else writes the Subscription at the same time.
const ATTEMPTS: u32 = 10;

/// How long whoever writes it is left in peace: an operator that is just being installed has its Subscription written time
/// and again.
fn pause(attempt: u32) -> Duration {
    let longer = Duration::from_millis(50).saturating_mul(2_u32.saturating_pow(attempt));
    longer.min(Duration::from_secs(2))
}

async fn find(cluster: &Cluster, namespace: &str, name: &str) -> Result<Subscription, Failure> {
    if let Some(found) = cluster.find_subscription(namespace, name).await? {
        return Ok(found);
    }
    let failure = Failure::no(anyhow!(
        "there is no Subscription {name} in namespace {namespace}, and none to a package of that name"
    ));
    let csvs = cluster.csvs(namespace).await?;
    let orphan = csvs.iter().find(|csv| {
        let csv_name = csv.name_any();
        !csv.is_copied() && (csv_name == name || csv_name.starts_with(&format!("{name}.")))
    });
    Err(match orphan {
        Some(csv) => failure.hint(format!(
            "an operator without one is there: `kubectl delete csv {} -n {namespace}` removes it",
            csv.name_any()
        )),
        None => failure.hint("`chandler list` tells what runs"),
    })
}

/// What is to go: what was said here, and at least what the Subscription says of its own.
fn wish(extent: &Extent, subscription: &Subscription) -> Wish {
    let mut wish = own_wish(subscription);
    if extent.everything {
        wish.policy = RemovalPolicy::Everything;
    } else if !wish.removes() {
        wish.policy = RemovalPolicy::Operator;
    }
    wish.dependencies |= extent.dependencies;
    wish.crds.extend(extent.crds.iter().cloned());
    wish
}

/// Why a cluster did not do it.
pub(in crate::cli) fn outside(error: crate::controller::removal::Error) -> Failure {
    Failure::outside(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::labels;

    fn subscription(metadata: &serde_json::Value, removal: &str) -> Subscription {
        serde_json::from_value(json!({
            "metadata": metadata,
            "spec": {
                "name": "db", "source": "hub", "sourceNamespace": "olm",
                "policy": {"removal": removal},
            },
        }))
        .unwrap()
    }

    #[test]
    fn what_is_wished_here_comes_on_top_of_what_the_subscription_says_of_its_own() {
        let names = json!({"annotations": {labels::DELETE_CRDS: "a.b"}});
        let its_own = subscription(&names, "Everything");
        let extent = Extent {
            crds: vec!["c.d".to_owned()],
            ..Extent::default()
        };
        let wish = wish(&extent, &its_own);
        assert_eq!(wish.policy, RemovalPolicy::Everything);
        assert_eq!(wish.crds, ["a.b", "c.d"].map(str::to_owned).into());
    }

    #[test]
    fn what_somebody_wished_before_who_was_stopped_is_not_wished_again() {
        let abandoned = json!({"annotations": {
            labels::DELETE_CRDS: "databases.x", labels::PRUNE_DEPENDENCIES: "true",
            labels::BEFORE_REMOVAL: "{}",
        }});
        let abandoned = subscription(&abandoned, "Everything");
        let wish = wish(&Extent::default(), &abandoned);
        assert_eq!(wish.policy, RemovalPolicy::Operator);
        assert!(!wish.dependencies);
        assert!(wish.crds.is_empty(), "{:?}", wish.crds);
    }
}
