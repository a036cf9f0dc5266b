//! `chandler approve`

use kube::ResourceExt as _;
use serde_json::json;

use crate::cli::args::operate::Approve as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::operations::approve::approve;
use crate::cli::printer;
use crate::cli::session::wait;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let plan = wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        approve(&cluster, &namespace, &args.name).await
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
