//! An InstallPlan that waits for somebody to let it go ahead.

use kube::ResourceExt as _;

use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::InstallPlan;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;

/// Lets a plan go ahead, by its own name or by that of a Subscription.
pub(in crate::cli) async fn approve(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
) -> Result<InstallPlan, Failure> {
    let plan = find(cluster, namespace, name).await?;
    check(&plan)?;
    cluster.approve(namespace, &plan.name_any()).await
}

/// Lets this very plan go ahead, and none that came after it.
pub(in crate::cli) async fn approve_plan(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
) -> Result<InstallPlan, Failure> {
    let plan = cluster.install_plan(namespace, name).await?;
    let plan = plan.ok_or_else(|| gone(name))?;
    check(&plan)?;
    cluster.approve(namespace, name).await
}

/// A plan by its own name, or the one of a Subscription.
async fn find(cluster: &Cluster, namespace: &str, name: &str) -> Result<InstallPlan, Failure> {
    if let Some(plan) = cluster.install_plan(namespace, name).await? {
        return Ok(plan);
    }
    let subscription = cluster.subscription(namespace, name).await?;
    let status = subscription.status.as_ref();
    let reference = status.and_then(|status| status.install_plan_ref.as_ref());
    let Some(plan) = reference.and_then(|reference| reference.name.as_ref()) else {
        return Err(
            Failure::no(anyhow::anyhow!("Subscription {name} has no InstallPlan"))
                .hint(format!("`chandler status {name} -n {namespace}` tells why")),
        );
    };
    let found = cluster.install_plan(namespace, plan).await?;
    found.ok_or_else(|| gone(plan))
}

fn gone(plan: &str) -> Failure {
    Failure::no(anyhow::anyhow!(
        "InstallPlan {plan} is gone; another one follows"
    ))
}

fn check(plan: &InstallPlan) -> Result<(), Failure> {
    let phase = plan
        .status
        .as_ref()
        .map(|status| status.phase.clone())
        .unwrap_or_default();
    if phase == InstallPlanPhase::RequiresApproval && !plan.spec.approved {
        return Ok(());
    }
    let why = if plan.spec.approved {
        "was approved already"
    } else {
        "does not wait for approval"
    };
    Err(Failure::no(anyhow::anyhow!(
        "InstallPlan {} {why}: it is {phase}",
        plan.name_any()
    )))
}
