//! From the deletion of a Subscription to the end of what goes with it.
//!
//! Whoever looks after the namespace does it, and here is only told how far it is. Where nobody does, by the Leases,
//! it is done from here, in the same way. Whoever gave a Lease back or let it expire writes no more: no plan of
//! theirs is at work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use tokio::time::Instant;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::SubscriptionConditionType;
use crate::api::labels;
use crate::api::operator::Operator;
use crate::api::subscription::Subscription;
use crate::cli::args::operate::Uninstall as Args;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::operations::uninstall::{Preview, outside};
use crate::cli::printer;
use crate::controller::removal::{Error, Remover, Surroundings, clean_up, set_finalizer};
use crate::lifecycle::removal::{Move, cleanup, plan};

/// How often is looked.
const PERIOD: Duration = Duration::from_millis(300);
/// How often is looked whether anybody still does it.
const SILENCE: Duration = Duration::from_secs(5);

/// Tells what changes until everything is gone, or time is up.
pub(super) async fn follow(
    args: &Args,
    cluster: &Cluster,
    remover: &Remover,
    preview: &Preview,
) -> Result<(), Failure> {
    let mut looked = Instant::now();
    let deadline = looked + args.timeout;
    let mut is_ours = cluster.is_deserted(&preview.namespace).await;
    if is_ours {
        printer::say("no Chandler looks after the namespace: it is done from here");
    }
    let mut said = String::new();
    loop {
        let left = left(cluster, preview).await?;
        if left.is_empty() {
            break;
        }
        if !is_ours && looked.elapsed() > SILENCE {
            looked = Instant::now();
            is_ours = cluster.is_deserted(&preview.namespace).await;
            if is_ours {
                printer::say("no Chandler does it any more: it is done from here");
            }
        }
        let mut line = left.first().and_then(|it| told(it)).unwrap_or_default();
        if is_ours {
            for (at, subscription) in left.iter().enumerate() {
                let step = match from_here(remover, subscription.clone()).await {
                    // Somebody does it after all, and was quicker: the next look tells.
                    Err(error) if error.is_stale() => continue,
                    Err(error) if error.refusal().is_some() => {
                        return Err(outside(error).hint(
                            "you lack rights to do it from here: start Chandler, which goes on with it, or have \
                             somebody run the command again who may look at the whole cluster",
                        ));
                    }
                    step => step.map_err(outside)?,
                };
                if at == 0 {
                    line = step.unwrap_or(line);
                }
            }
        }
        if !line.is_empty() && line != said {
            printer::say(&line);
            said = line;
        }
        if Instant::now() >= deadline {
            let names: Vec<String> = left.iter().map(|it| it.name_any()).collect();
            return Err(Failure::no(anyhow!(
                "{} is not removed after {:?}: {said}",
                names.join(", "),
                args.timeout
            ))
            .hint(if is_ours {
                "run the command again to go on".to_owned()
            } else {
                format!(
                    "the removal goes on; `chandler status {} -n {}` tells how far it is",
                    preview.name, preview.namespace
                )
            }));
        }
        tokio::time::sleep(PERIOD).await;
    }
    if is_ours {
        tidy(remover, preview).await.map_err(outside)?;
    }
    Ok(())
}

/// The Subscriptions of the removal that are not gone.
async fn left(cluster: &Cluster, preview: &Preview) -> Result<Vec<Arc<Subscription>>, Failure> {
    let all = cluster.subscriptions(&preview.namespace).await?;
    let is_left = |it: &Subscription| {
        let is_meant = preview
            .removals
            .iter()
            .any(|part| part.subscription == it.name_any());
        // One of that name that came after it is not meant; neither is a dependency that stays.
        is_meant && it.metadata.deletion_timestamp.is_some()
    };
    let mut left: Vec<Arc<Subscription>> = all.into_iter().filter(is_left).map(Arc::new).collect();
    // Dependencies wait for it.
    left.sort_by_key(|it| it.name_any() != preview.name);
    Ok(left)
}

fn told(subscription: &Subscription) -> Option<String> {
    let status = subscription.status.as_ref()?;
    let condition = status.condition(&SubscriptionConditionType::Removing)?;
    Some(format!(
        "{}: {}",
        subscription.name_any(),
        condition.message
    ))
}

/// Does what comes next, and says what that is.
async fn from_here(
    remover: &Remover,
    subscription: Arc<Subscription>,
) -> Result<Option<String>, Error> {
    let namespace = subscription.namespace().unwrap_or_default();
    let wish = remover.wish(&subscription).await?;
    let surroundings = Surroundings::list(&remover.client, &namespace).await?;
    let facts = remover
        .facts(subscription.clone(), &surroundings, &wish)
        .await?;
    let removal = plan(&facts, &wish);
    match removal.next() {
        Move::LetGo => {
            set_finalizer(&remover.client, &subscription, false).await?;
            return Ok(None);
        }
        Move::Act(stage) => remover.act(&facts, &wish, stage).await?,
        Move::Wait(_) | Move::Blocked => {}
    }
    // What a ClusterServiceVersion has elsewhere goes before it does, and not before it was deleted: until then it
    // may have custom resources to work off, with those very rights.
    let mut held = String::new();
    let csvs: Vec<&ClusterServiceVersion> = surroundings.csvs.iter().map(|it| &**it).collect();
    for stage in &removal.stages {
        for goes in stage.objects.iter().filter(|it| it.is_going) {
            let mut deleted = csvs
                .iter()
                .filter(|csv| csv.metadata.deletion_timestamp.is_some());
            if let Some(csv) = deleted.find(|csv| csv.uid().is_some_and(|uid| uid == goes.uid)) {
                let now = Timestamp::now();
                let left = clean_up(&remover.client, &remover.applier, csv, &csvs, now).await?;
                if cleanup::is_held(&left) {
                    held = format!("; {}", cleanup::words(&left));
                }
            }
        }
    }
    let name = subscription.name_any();
    Ok(removal
        .told()
        .map(|(_, message)| format!("{name}: {message}{held}")))
}

/// What goes by itself where somebody looks after the cluster.
async fn tidy(remover: &Remover, preview: &Preview) -> Result<(), Error> {
    let csvs = Api::<ClusterServiceVersion>::all(remover.client.clone());
    let copies = format!("{}={}", labels::COPIED_FROM, preview.namespace);
    let copies = csvs
        .list_metadata(&ListParams::default().labels(&copies))
        .await
        .map_err(Error::while_("listing copies of ClusterServiceVersions"))?;
    let gone: BTreeSet<&str> = preview.operators().collect();
    for copy in copies {
        if !gone.contains(copy.name_any().as_str()) {
            continue;
        }
        let namespace = copy.namespace().unwrap_or_default();
        let api = Api::<ClusterServiceVersion>::namespaced(remover.client.clone(), &namespace);
        deleted(api.delete(&copy.name_any(), &DeleteParams::default()).await)?;
    }
    let operators = Api::<Operator>::all(remover.client.clone());
    for part in &preview.removals {
        let name = labels::operator_name(&part.package, &preview.namespace);
        deleted(operators.delete(&name, &DeleteParams::default()).await)?;
    }
    Ok(())
}

fn deleted<T>(outcome: Result<T, kube::Error>) -> Result<(), Error> {
    match outcome {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Error::while_("deleting what is left")(error)),
    }
}
