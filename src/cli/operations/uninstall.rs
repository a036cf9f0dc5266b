//! What goes with a Subscription, shown first and then begun.

mod preview;

use std::sync::Arc;

use anyhow::anyhow;
use kube::ResourceExt as _;

use crate::api::subscription::{RemovalPolicy, Subscription};
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::controller::removal::{Remover, hand_over};
use crate::lifecycle::removal::Wish;
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
        Ok(Self {
            preview,
            remover,
            wish,
        })
    }

    /// Writes the wish on the Subscription and deletes it.
    pub(in crate::cli) async fn begin(&self, cluster: &Cluster) -> Result<(), Failure> {
        let Self {
            preview,
            remover,
            wish,
        } = self;
        let mut subscription = (*preview.subscription).clone();
        for _ in 1..ATTEMPTS {
            match hand_over(&remover.client, &subscription, wish).await {
                Err(error) if error.is_stale() => {
                    let found = cluster.find_subscription(&preview.namespace, &preview.name);
                    match found.await?.filter(|it| it.uid() == subscription.uid()) {
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
}

/// How often it is tried when somebody else writes the Subscription at the same time.
const ATTEMPTS: usize = 5;

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

/// What is to go: what was said here, and at least what the Subscription says.
fn wish(extent: &Extent, subscription: &Subscription) -> Wish {
    let mut wish = Wish::of(subscription);
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
