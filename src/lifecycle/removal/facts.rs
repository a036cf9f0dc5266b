//! What a removal has to know: what is wished, and what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde::Serialize;

use super::{CSV, Estate};
use crate::api::GROUP;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::{RemovalPolicy, Subscription};
use crate::lifecycle::targets::Targets;

/// What whoever deletes a Subscription wants to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// How much of it.
    pub policy: RemovalPolicy,
    /// Dependencies that nobody else needs go as well; `Everything` has it in it.
    pub dependencies: bool,
    /// CRDs that go by name, with all their objects. No other goes that has objects, and none of these
    /// objects. The names of others than the package's own say nothing.
    pub crds: BTreeSet<String>,
    /// Nothing is waited for that somebody else has to do: the namespace goes, and the operator in it.
    pub is_urgent: bool,
}

impl Wish {
    /// The wish that a Subscription carries.
    pub fn of(subscription: &Subscription) -> Self {
        let annotation = |key: &str| subscription.annotations().get(key).map(String::as_str);
        Self::read(
            subscription.spec.removal(),
            annotation(labels::PRUNE_DEPENDENCIES),
            annotation(labels::DELETE_CRDS),
        )
    }

    /// A wish out of a policy and of what annotations say.
    pub(super) fn read(
        policy: RemovalPolicy,
        dependencies: Option<&str>,
        crds: Option<&str>,
    ) -> Self {
        Self {
            policy,
            dependencies: dependencies.is_some_and(|it| it == "true"),
            is_urgent: false,
            crds: crds.map(names).unwrap_or_default(),
        }
    }

    /// Whether something is to go.
    pub fn removes(&self) -> bool {
        matches!(
            self.policy,
            RemovalPolicy::Operator | RemovalPolicy::Everything
        )
    }

    /// What is left of the wish when the whole namespace goes, which says nothing about what is
    /// elsewhere.
    #[must_use]
    pub fn in_namespace_that_goes(&self) -> Self {
        let policy = match self.policy {
            RemovalPolicy::Everything => RemovalPolicy::Operator,
            ref other => other.clone(),
        };
        Self {
            policy,
            is_urgent: true,
            ..Self::default()
        }
    }

    /// What is wished for a dependency that goes by a policy: the same, with those of the CRDs that are
    /// named that are its own.
    pub(super) fn for_dependency(&self, policy: RemovalPolicy, crds: BTreeSet<String>) -> Self {
        Self {
            policy,
            dependencies: self.prunes(),
            crds,
            is_urgent: false,
        }
    }

    /// The same with dependencies.
    pub(super) fn pruning(&self) -> Self {
        Self {
            dependencies: true,
            ..self.clone()
        }
    }

    pub(super) fn prunes(&self) -> bool {
        self.dependencies || self.policy == RemovalPolicy::Everything
    }
}

/// Names that are joined by commas. The admission policy of `deploy/base` reads them in the same way.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let names = text.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// What is in the cluster, as far as a removal has to know.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The Subscription that goes.
    pub subscription: Arc<Subscription>,
    /// All Subscriptions of the cluster.
    pub subscriptions: Vec<Arc<Subscription>>,
    /// All ClusterServiceVersions of the cluster; copies are passed over.
    pub csvs: Vec<Arc<ClusterServiceVersion>>,
    /// ClusterServiceVersions, as `namespace/name`, that are to be taken for gone: those of another
    /// removal that comes first.
    pub leaving: BTreeSet<String>,
    /// The InstallPlans of the namespace.
    pub plans: Vec<Arc<InstallPlan>>,
    /// InstallPlans of other namespaces that may bring a CRD that is to go.
    pub plans_elsewhere: Vec<Arc<InstallPlan>>,
    /// The namespaces that operators of the namespace serve; nothing if there is not one
    /// OperatorGroup that says so.
    pub targets: Option<Targets>,
    /// CRDs that carry the mark of the package, or are wished to go by name.
    pub crds: Vec<Crd>,
    /// All other objects that carry the mark of the package.
    pub marked: Vec<Marked>,
    /// Kinds that cannot be listed: nobody knows which of their objects carry the mark.
    pub unlisted: Vec<Unlisted>,
    /// What the API server said about kinds that may not be listed.
    pub unread: Vec<String>,
    /// Subscriptions and ClusterServiceVersions that are not what they should be: nobody knows what they use.
    pub unreadable: Vec<String>,
    /// Now, where it is known: objects that come back are left for a while.
    pub now: Option<Time>,
}

/// A kind whose objects cannot be listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unlisted {
    /// The group of its API.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Why, in the words of the API server.
    pub problem: String,
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, problem) = (&self.kind, &self.problem);
        match self.group.as_str() {
            "" => write!(f, "the objects of kind {kind} cannot be listed ({problem})"),
            group => write!(
                f,
                "the objects of kind {kind} of {group} cannot be listed ({problem})"
            ),
        }
    }
}

/// A CRD, and its objects.
#[derive(Clone, Debug)]
pub struct Crd {
    /// Its name: the plural name of its objects and their group, joined by a dot.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Which of its versions was read.
    pub resource_version: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Whether it is on its way out.
    pub is_going: bool,
    /// What it waits for then.
    pub finalizers: Vec<String>,
    /// API version of its objects, best the one in which they are stored: nobody has to convert them.
    pub api_version: String,
    /// Kind of its objects.
    pub kind: String,
    /// Whether a webhook converts its objects.
    pub is_converted: bool,
    /// Its objects, as many as were to be read, or why nobody knows them.
    pub objects: Result<Vec<CustomResource>, String>,
    /// How many objects it has beside these.
    pub more: usize,
}

impl Crd {
    /// Which object it is.
    pub fn reference(&self) -> Reference {
        Reference::crd(&self.name)
    }

    /// The namespaces of the ClusterServiceVersions that it came with.
    pub fn namespaces(&self) -> BTreeSet<&str> {
        let keys = self.alongside();
        keys.filter_map(|(_, csv)| Some(csv.split_once('/')?.0))
            .collect()
    }

    /// The annotations that tell which ClusterServiceVersions it came with.
    pub(super) fn alongside(&self) -> impl Iterator<Item = (&str, &str)> {
        let annotations = self.annotations.iter();
        let annotations = annotations.map(|(key, value)| (key.as_str(), value.as_str()));
        annotations.filter(|(key, _)| key.starts_with(labels::INSTALLED_ALONGSIDE_PREFIX))
    }

    /// Whether it was there before any plan brought it.
    pub(super) fn is_found(&self) -> bool {
        self.annotations.contains_key(labels::FOUND)
    }

    /// Whether it is one of those that Chandler itself lives by.
    pub(super) fn is_chandlers(&self) -> bool {
        let group = self.name.split_once('.').map(|(_, group)| group);
        group == Some(GROUP)
    }
}

/// How many objects of a CRD have to be known. There may be very many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// None: nothing becomes of them.
    Nothing,
    /// Whether there are any.
    One,
    /// Every one.
    All,
}

impl Listing {
    /// What has to be known of a CRD, by its name and labels.
    ///
    /// Those of a CRD that stays count while the operator runs: it works off those that go already.
    pub fn of(facts: &Facts, wish: &Wish, name: &str, labels: &BTreeMap<String, String>) -> Self {
        let estate = Estate::of(facts);
        if !estate.has_crd(name, labels) {
            Self::Nothing
        } else if wish.crds.contains(name) || estate.is_operated() {
            Self::All
        } else {
            Self::One
        }
    }
}

/// A custom resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomResource {
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// When it was made.
    pub created: Option<Time>,
    /// Who made it, as they call themselves.
    pub made_by: Option<String>,
    /// Whether it is on its way out.
    pub is_going: bool,
    /// What it waits for then.
    pub finalizers: Vec<String>,
}

/// An object with the mark of a package.
#[derive(Clone, Debug, Default)]
pub struct Marked {
    /// Which one.
    pub object: Reference,
    /// Its uid.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The uids of its owners.
    pub owners: BTreeSet<String>,
    /// Whether it was there before any plan brought it.
    pub is_found: bool,
    /// Whether it is on its way out.
    pub is_going: bool,
    /// What it waits for then.
    pub finalizers: Vec<String>,
}

/// Which object is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Reference {
    /// An object of the API of OLM.
    pub(super) fn olm(version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            api_version: format!("{GROUP}/{version}"),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// A Subscription.
    pub fn subscription(of: &Subscription) -> Self {
        let namespace = of.namespace().unwrap_or_default();
        Self::olm("v1alpha1", "Subscription", &namespace, &of.name_any())
    }

    pub(super) fn csv(of: &ClusterServiceVersion) -> Self {
        let namespace = of.namespace().unwrap_or_default();
        Self::olm("v1alpha1", CSV, &namespace, &of.name_any())
    }

    pub(super) fn crd(name: &str) -> Self {
        Self {
            api_version: "apiextensions.k8s.io/v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return write!(f, "{} {}", self.kind, self.name);
        }
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}
