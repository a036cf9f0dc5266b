//! What an operator has, and what it needs.

use std::fmt;
use std::sync::Arc;

use kube::ResourceExt as _;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::resolver::{self, Features, Requirement};

/// An operator with what it has and what it needs.
pub(super) struct Party<'a> {
    pub(super) csv: &'a ClusterServiceVersion,
    pub(super) needs: Vec<Need>,
    namespace: String,
    features: Arc<Features>,
}

/// Something that an operator needs.
pub(super) enum Need {
    /// By a property of its bundle.
    Property(Requirement),
    /// A CRD, by its name.
    Definition(String),
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Property(requirement) => requirement.fmt(f),
            Self::Definition(name) => write!(f, "CRD {name}"),
        }
    }
}

impl<'a> Party<'a> {
    pub(super) fn of(csv: &'a ClusterServiceVersion) -> Self {
        // Without Subscriptions the package of a CSV that has no properties is not known, and so nobody
        // can be found to need it by that; its APIs are known all the same.
        let read = resolver::installed(std::slice::from_ref(csv), &[], None);
        let features = read.items.into_iter().next().map(|it| it.features);
        let features = features.unwrap_or_else(|| Arc::new(Features::new(None, None, Vec::new())));
        // What cannot be read was refused when it was to be installed.
        let properties = resolver::requirements(features.properties()).unwrap_or_default();
        let required = &csv.spec.custom_resource_definitions.required;
        let definitions = required.iter().map(|crd| crd.name.clone());
        Self {
            csv,
            needs: (properties.into_iter().map(Need::Property))
                .chain(definitions.map(Need::Definition))
                .collect(),
            namespace: csv.namespace().unwrap_or_default(),
            features,
        }
    }

    /// Whether this one has what another one needs.
    pub(super) fn meets(&self, other: &Party<'_>, need: &Need) -> bool {
        match need {
            Need::Property(requirement) => {
                // An API is everybody's; anything else is a matter of the namespace.
                let counts = requirement.as_api().is_some() || self.namespace == other.namespace;
                counts && requirement.matches(&self.features)
            }
            Need::Definition(name) => {
                let owned = &self.csv.spec.custom_resource_definitions.owned;
                owned.iter().any(|crd| crd.name == *name)
            }
        }
    }
}
