//! Who carries out a plan: we, or the ServiceAccount of the namespace's OperatorGroup.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use crate::api::operator_group::OperatorGroup;
use crate::controller::context::Context;
use crate::controller::error::Error;

/// Who carries out a plan.
#[derive(Debug)]
pub(in crate::controller) enum Access {
    /// We do.
    Own,
    /// This account does.
    As(Account),
    /// Nobody may, and why.
    None(String),
}

/// A ServiceAccount that exists.
#[derive(Debug, Clone)]
pub(in crate::controller) struct Account {
    pub(in crate::controller) namespace: String,
    pub(in crate::controller) name: String,
    pub(in crate::controller) uid: Option<String>,
}

/// Who carries out the plans of a namespace. The groups are asked for: a cache that is behind would have
/// us write with our own rights where somebody just took them away.
pub(in crate::controller) async fn of(context: &Context, namespace: &str) -> Result<Access, Error> {
    let api = Api::<OperatorGroup>::namespaced(context.client.clone(), namespace);
    let groups = api.list(&ListParams::default()).await;
    let groups = groups.map_err(Error::while_("listing the OperatorGroups"))?;
    let group: &OperatorGroup = match groups.items.as_slice() {
        [group] => group,
        [] => {
            return Ok(Access::None(format!(
                "no operator group found that is managing this namespace: create an OperatorGroup in {namespace}, and the plan goes on by itself"
            )));
        }
        many => {
            let names: Vec<String> = many.iter().map(OperatorGroup::name_any).collect();
            return Ok(Access::None(format!(
                "more than one operator group(s) are managing this namespace count={}: {}; delete all but one, and the plan goes on by itself",
                many.len(),
                names.join(", ")
            )));
        }
    };
    let name = &group.spec.service_account_name;
    if name.is_empty() {
        return Ok(Access::Own);
    }
    let api = Api::<ServiceAccount>::namespaced(context.client.clone(), namespace);
    let found = api.get_metadata_opt(name).await;
    let found = found.map_err(Error::while_(format!("reading ServiceAccount {name}")))?;
    Ok(match found {
        Some(account) => Access::As(Account {
            namespace: namespace.to_owned(),
            name: name.clone(),
            uid: account.uid(),
        }),
        None => Access::None(format!(
            "please make sure the service account exists. sa={name} operatorgroup={namespace}/{}",
            group.name_any()
        )),
    })
}
