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

/// Who carries out the plans of a namespace.
pub(in crate::controller) async fn of(context: &Context, namespace: &str) -> Result<Access, Error> {
    match group(context, namespace).await? {
        Ok(group) => of_group(context, &group).await,
        Err(why) => Ok(Access::None(why)),
    }
}

/// The one OperatorGroup of a namespace, or why there is none. It is asked for: a cache that is behind would
/// have us write with our own rights, or for namespaces, where somebody just took them away.
pub(in crate::controller) async fn group(
    context: &Context,
    namespace: &str,
) -> Result<Result<OperatorGroup, String>, Error> {
    let api = Api::<OperatorGroup>::namespaced(context.client.clone(), namespace);
    let groups = api.list(&ListParams::default()).await;
    let mut groups = groups.map_err(Error::while_("listing the OperatorGroups"))?;
    let names: Vec<String> = groups.items.iter().map(OperatorGroup::name_any).collect();
    Ok(match (groups.items.pop(), names.len()) {
        (Some(group), 1) => Ok(group),
        (None, _) => Err(format!(
            "no operator group found that is managing this namespace: create an OperatorGroup in {namespace}, and the plan goes on by itself"
        )),
        (Some(_), many) => Err(format!(
            "more than one operator group(s) are managing this namespace count={many}: {}; delete all but one, and the plan goes on by itself",
            names.join(", ")
        )),
    })
}

/// Who carries out what is done for a group.
pub(in crate::controller) async fn of_group(
    context: &Context,
    group: &OperatorGroup,
) -> Result<Access, Error> {
    let name = &group.spec.service_account_name;
    if name.is_empty() {
        return Ok(Access::Own);
    }
    let namespace = group.namespace().unwrap_or_default();
    let api = Api::<ServiceAccount>::namespaced(context.client.clone(), &namespace);
    let found = api.get_metadata_opt(name).await;
    let found = found.map_err(Error::while_(format!("reading ServiceAccount {name}")))?;
    Ok(match found {
        Some(account) => Access::As(Account {
            name: name.clone(),
            uid: account.uid(),
            namespace,
        }),
        None => Access::None(format!(
            "please make sure the service account exists. sa={name} operatorgroup={namespace}/{}",
            group.name_any()
        )),
    })
}
