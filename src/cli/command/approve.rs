//! `chandler approve`

use kube::ResourceExt as _;
use serde_json::json;

use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::InstallPlan;
use crate::cli::args::operate::Approve as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::wait;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let plan = wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let plan = find(&cluster, &namespace, &args.name).await?;
        check(&plan)?;
        cluster.approve(&namespace, &plan.name_any()).await
    })?;
    let csvs = &plan.spec.cluster_service_version_names;
    match args.output {
        Output::Text => printer::data(&format!(
            "approved {}: {}\n",
            plan.name_any(),
            csvs.join(", ")
        )),
        structured => printer::structured(
            &json!({"installPlan": plan.name_any(), "clusterServiceVersionNames": csvs}),
            structured,
        ),
    }
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
    found.ok_or_else(|| {
        Failure::no(anyhow::anyhow!(
            "InstallPlan {plan} is gone; another one follows"
        ))
    })
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
