//! What the requirements of a ClusterServiceVersion are checked against, read from the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::gvk::GroupVersionKind;
use crate::api::labels;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::lifecycle::replacement::Lineage;
use crate::lifecycle::requirements::{
    self, AccountFact, ApiServiceFact, CrdFact, Facts, InvalidStrategy, Rbac, Requirements,
};
use crate::plan::apply;

/// What came of it.
pub(super) struct Checked {
    pub(super) requirements: Result<Requirements, InvalidStrategy>,
    pub(super) api_services: BTreeMap<String, ApiServiceFact>,
    pub(super) served: BTreeSet<GroupVersionKind>,
}

/// Roles and bindings, as they were listed.
#[derive(Default)]
struct Listed {
    roles: Vec<Role>,
    role_bindings: Vec<RoleBinding>,
    cluster_roles: Vec<ClusterRole>,
    cluster_role_bindings: Vec<ClusterRoleBinding>,
}

impl Listed {
    fn view(&self) -> Rbac<'_> {
        Rbac {
            roles: self.roles.iter().collect(),
            role_bindings: self.role_bindings.iter().collect(),
            cluster_roles: self.cluster_roles.iter().collect(),
            cluster_role_bindings: self.cluster_role_bindings.iter().collect(),
        }
    }
}

/// Reads what has to be known, and checks.
pub(super) async fn read(
    context: &Context,
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
) -> Result<Checked, Error> {
    let apis = &csv.spec.api_service_definitions;
    let descriptions = apis.owned.iter().chain(&apis.required);
    let gvks = descriptions.map(|it| GroupVersionKind::new(&it.group, &it.version, &it.kind));
    let gvks: BTreeSet<_> = gvks.chain(csv.spec.native_apis.iter().cloned()).collect();
    let names = gvks.iter().filter(|gvk| requirements::can_be_served(gvk));
    let api_services = api_services(context, names.map(api_service_name)).await?;
    let mut served = BTreeSet::new();
    for gvk in gvks {
        // One that nobody answers for is not there. To ask for it would only take long, and keep from being looked at
        // whoever needs it, and whoever would bring it back.
        let is_silent = api_services
            .get(&api_service_name(&gvk))
            .is_some_and(|it| !it.available);
        if !is_silent && serves(context, &gvk).await? {
            served.insert(gvk);
        }
    }
    let crds = crds(context, csv).await?;
    let accounts = accounts(context, csv).await?;
    let version = context.kube_version();
    let check = |roles: &Listed| {
        let facts = Facts {
            server_version: version.as_ref().map(ToString::to_string),
            crds: crds.clone(),
            api_services: api_services.clone(),
            served: served.clone(),
            accounts: accounts.clone(),
            rbac: roles.view(),
            lineage: lineage.clone(),
        };
        requirements::check(csv, &facts)
    };
    let mut requirements = check(&roles(context, csv, Reach::OfOperator).await?);
    if matches!(&requirements, Ok(it) if it.only_rules_unmet) {
        requirements = check(&roles(context, csv, Reach::All).await?);
    }
    Ok(Checked {
        requirements,
        api_services,
        served,
    })
}

/// The name of the APIService of an API.
fn api_service_name(gvk: &GroupVersionKind) -> String {
    format!("{}.{}", gvk.version, gvk.group)
}

/// Whether the cluster has an API now, as far as we are told.
async fn serves(context: &Context, gvk: &GroupVersionKind) -> Result<bool, Error> {
    match context.applier.serves(gvk).await {
        // Whoever serves it beside the API server decides whom to answer.
        Err(apply::Error::Forbidden { .. }) => Ok(false),
        outcome => Ok(outcome?),
    }
}

async fn crds(
    context: &Context,
    csv: &ClusterServiceVersion,
) -> Result<BTreeMap<String, CrdFact>, Error> {
    let api = Api::<CustomResourceDefinition>::all(context.client.clone());
    let crds = &csv.spec.custom_resource_definitions;
    let names: BTreeSet<&String> = crds
        .owned
        .iter()
        .chain(&crds.required)
        .map(|it| &it.name)
        .collect();
    let mut facts = BTreeMap::new();
    for name in names.into_iter().filter(|name| requirements::is_name(name)) {
        let found = api.get_opt(name).await;
        if let Some(crd) = found.map_err(Error::while_(format!("reading CRD {name}")))? {
            facts.insert(name.clone(), CrdFact::of(&crd));
        }
    }
    Ok(facts)
}

async fn api_services(
    context: &Context,
    names: impl Iterator<Item = String>,
) -> Result<BTreeMap<String, ApiServiceFact>, Error> {
    let api = Api::<APIService>::all(context.client.clone());
    let mut facts = BTreeMap::new();
    for name in names.collect::<BTreeSet<_>>() {
        let found = api.get_opt(&name).await;
        if let Some(it) = found.map_err(Error::while_(format!("reading APIService {name}")))? {
            let phase = phase_of_owner(context, &it).await?;
            let phase_of = |_: &str, _: &str| phase;
            facts.insert(name, ApiServiceFact::of(&it, phase_of));
        }
    }
    Ok(facts)
}

/// How far the ClusterServiceVersion is that the labels of an APIService name; nothing if it is gone. Labels
/// have no room for a long name, and of namespaces that others care for nothing is known here without asking.
async fn phase_of_owner(
    context: &Context,
    api_service: &APIService,
) -> Result<Option<CsvPhase>, Error> {
    let label = |key: &str| api_service.labels().get(key).cloned();
    let (Some(namespace), Some(owner)) = (label(labels::OWNER_NAMESPACE), label(labels::OWNER))
    else {
        return Ok(None);
    };
    let is_owner = |csv: &ClusterServiceVersion| {
        !csv.is_copied() && labels::owner_value(&csv.name_any()) == owner
    };
    let phase = |csv: &ClusterServiceVersion| {
        let status = csv.status.as_ref();
        status.map(|it| it.phase.clone()).unwrap_or_default()
    };
    if context.settings.cares_for(&namespace) {
        let csvs = context.caches.csvs.in_namespace(&namespace);
        return Ok(csvs.iter().find(|csv| is_owner(csv)).map(|csv| phase(csv)));
    }
    let api = Api::<ClusterServiceVersion>::namespaced(context.client.clone(), &namespace);
    match api.list(&ListParams::default()).await {
        Ok(csvs) => Ok(csvs.items.iter().find(|csv| is_owner(csv)).map(phase)),
        // Who may not look takes nothing away.
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Some(CsvPhase::Unknown)),
        Err(error) => Err(Error::while_("looking for the owner of an APIService")(
            error,
        )),
    }
}

async fn accounts(
    context: &Context,
    csv: &ClusterServiceVersion,
) -> Result<BTreeMap<String, AccountFact>, Error> {
    let namespace = csv.namespace().unwrap_or_default();
    let api = Api::<ServiceAccount>::namespaced(context.client.clone(), &namespace);
    let mut facts = BTreeMap::new();
    for name in account_names(csv) {
        let found = api.get_opt(name).await;
        if let Some(it) = found.map_err(Error::while_(format!("reading ServiceAccount {name}")))? {
            facts.insert(name.to_owned(), AccountFact::of(&it));
        }
    }
    Ok(facts)
}

fn account_names(csv: &ClusterServiceVersion) -> BTreeSet<&str> {
    let strategy = &csv.spec.install.spec;
    let rights = strategy.permissions.iter();
    rights
        .chain(&strategy.cluster_permissions)
        .map(|right| right.service_account_name.as_str())
        .filter(|name| requirements::is_name(name))
        .collect()
}

/// Which roles are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Those that were made for this operator.
    OfOperator,
    /// All that there are: somebody may have granted by hand what is needed.
    All,
}

async fn roles(
    context: &Context,
    csv: &ClusterServiceVersion,
    reach: Reach,
) -> Result<Listed, Error> {
    if account_names(csv).is_empty() {
        return Ok(Listed::default());
    }
    let namespace = csv.namespace().unwrap_or_default();
    let parameters = match reach {
        Reach::All => ListParams::default(),
        Reach::OfOperator => ListParams::default().labels(&format!(
            "{}={},{}={namespace}",
            labels::OWNER,
            labels::owner_value(&csv.name_any()),
            labels::OWNER_NAMESPACE,
        )),
    };
    Ok(Listed {
        roles: list_here(context, &namespace).await?,
        role_bindings: list_here(context, &namespace).await?,
        cluster_roles: list(Api::all(context.client.clone()), &parameters).await?,
        cluster_role_bindings: list(Api::all(context.client.clone()), &parameters).await?,
    })
}

/// Those of a namespace are few.
async fn list_here<K>(context: &Context, namespace: &str) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug,
{
    let api = Api::namespaced(context.client.clone(), namespace);
    list(api, &ListParams::default()).await
}

async fn list<K>(api: Api<K>, parameters: &ListParams) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let kind = K::kind(&());
    let list = api.list(parameters).await;
    Ok(list
        .map_err(Error::while_(format!("listing {kind}s")))?
        .items)
}
