//! OperatorCondition: one for each ClusterServiceVersion, with the right to write it.

use kube::{Api, ResourceExt as _};

use super::cluster_service_version::bring_to;
use super::context::Context;
use super::error::Error;
use super::run::as_manager;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::operator_condition::OperatorCondition;
use crate::lifecycle::operator_conditions;

/// Makes sure of the OperatorCondition of an operator, and takes note of what it says.
pub(super) async fn ensure(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    bring_to(context, [operator_conditions::wanted(csv)]).await?;
    let namespace = csv.namespace().unwrap_or_default();
    let name = csv.name_any();
    let api = Api::<OperatorCondition>::namespaced(context.client.clone(), &namespace);
    let found = api.get_opt(&name).await;
    let Some(mut condition) = found.map_err(Error::while_("reading the OperatorCondition"))? else {
        return Ok(());
    };
    bring_to(context, operator_conditions::rights(&condition)).await?;
    if let Some(status) = operator_conditions::status(&condition, &context.now()) {
        condition.status = Some(status);
        let written = api.replace_status(&name, &as_manager(), &condition).await;
        written.map_err(Error::while_("writing the status of the OperatorCondition"))?;
    }
    Ok(())
}
