//! What has to be known of a cluster to tell whether an operator has what it needs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Resource as _, ResourceExt as _};

use super::authorizer::Rbac;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::gvk::GroupVersionKind;
use crate::api::labels;
use crate::lifecycle::replacement::Lineage;

/// What the requirements of one ClusterServiceVersion are checked against.
#[derive(Clone, Debug, Default)]
pub struct Facts<'a> {
    /// What the API server calls itself, such as `v1.33.2-eks-1`. Nothing if it did not say.
    pub server_version: Option<String>,
    /// CRDs by name; at least those that the operator names.
    pub crds: BTreeMap<String, CrdFact>,
    /// APIServices by name; at least those that the operator names.
    pub api_services: BTreeMap<String, ApiServiceFact>,
    /// The APIs that the server offers, by discovery; at least those that the operator names.
    pub served: BTreeSet<GroupVersionKind>,
    /// ServiceAccounts of the operator's namespace by name; at least those that it names.
    pub accounts: BTreeMap<String, AccountFact>,
    /// Roles and bindings: those of the namespace, and those of the cluster. Those that belong to
    /// operators are enough at first, see [`Requirements::only_rules_unmet`].
    ///
    /// [`Requirements::only_rules_unmet`]: super::Requirements::only_rules_unmet
    pub rbac: Rbac<'a>,
    /// The ClusterServiceVersions of the namespace.
    pub lineage: Lineage<'a>,
}

/// What of a CRD matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrdFact {
    /// Its uid.
    pub uid: String,
    /// The versions that it serves.
    pub served: BTreeSet<String>,
    /// Whether the API server has taken it up: Established and NamesAccepted.
    pub available: bool,
    /// Namespaces and names of the ClusterServiceVersions that it was installed with.
    pub alongside: BTreeSet<(String, String)>,
}

impl CrdFact {
    /// What matters of a CRD.
    pub fn of(crd: &CustomResourceDefinition) -> Self {
        let served = crd.spec.versions.iter().filter(|version| version.served);
        let conditions = crd
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_deref());
        let holds = |type_: &str| {
            let mut conditions = conditions.unwrap_or_default().iter();
            conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
        };
        let alongside = crd.annotations().iter().filter_map(|(key, value)| {
            key.strip_prefix(labels::INSTALLED_ALONGSIDE_PREFIX)?;
            let (namespace, name) = value.split_once('/')?;
            Some((namespace.to_owned(), name.to_owned()))
        });
        Self {
            uid: crd.uid().unwrap_or_default(),
            served: served.map(|version| version.name.clone()).collect(),
            available: holds("Established") && holds("NamesAccepted"),
            alongside: alongside.collect(),
        }
    }
}

/// What of an APIService matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiServiceFact {
    /// Its uid.
    pub uid: String,
    /// Whether the API server reaches it.
    pub available: bool,
    /// The ClusterServiceVersion that its labels name.
    pub owner: Option<ApiServiceOwner>,
}

/// The ClusterServiceVersion that an APIService belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiServiceOwner {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How far it is; nothing if it is gone.
    pub phase: Option<CsvPhase>,
}

impl ApiServiceFact {
    /// What matters of an APIService. The phase of its owner is looked up by namespace and name.
    pub fn of(
        api_service: &APIService,
        phase_of: impl FnOnce(&str, &str) -> Option<CsvPhase>,
    ) -> Self {
        let status = api_service.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let available = conditions
            .unwrap_or_default()
            .iter()
            .any(|condition| condition.type_ == "Available" && condition.status == "True");
        let labels = api_service.labels();
        let label = |key: &str| labels.get(key).filter(|value| !value.is_empty()).cloned();
        let is_csv =
            label(labels::OWNER_KIND).is_some_and(|kind| kind == ClusterServiceVersion::kind(&()));
        let owner = label(labels::OWNER_NAMESPACE)
            .zip(label(labels::OWNER))
            .filter(|_| is_csv)
            .map(|(namespace, name)| ApiServiceOwner {
                phase: phase_of(&namespace, &name),
                namespace,
                name,
            });
        Self {
            uid: api_service.uid().unwrap_or_default(),
            available,
            owner,
        }
    }
}

/// What of a ServiceAccount matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountFact {
    /// Who owns it.
    pub owners: Vec<OwnerReference>,
}

impl AccountFact {
    /// What matters of a ServiceAccount.
    pub fn of(account: &ServiceAccount) -> Self {
        Self {
            owners: account.owner_references().to_vec(),
        }
    }
}

/// Whether an object belongs to ClusterServiceVersions, and this is none of them. Owners of other
/// kinds do not count.
pub(super) fn belongs_to_another(csv: &ClusterServiceVersion, owners: &[OwnerReference]) -> bool {
    let mut csvs = owners
        .iter()
        .filter(|owner| owner.kind == ClusterServiceVersion::kind(&()))
        .peekable();
    csvs.peek().is_some() && csvs.all(|owner| Some(&owner.uid) != csv.metadata.uid.as_ref())
}
