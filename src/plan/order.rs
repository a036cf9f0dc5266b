//! In which order the steps of a plan are carried out.

use super::step::{BUNDLE_SECRET, CSV_KIND};
use crate::api::GROUP;
use crate::api::install_plan::{Step, StepResource};

/// What has to be there before what: an earlier rank comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// CRDs: others may be of their kinds.
    Crd,
    /// Service accounts: bindings name them.
    ServiceAccount,
    /// Roles: bindings name them.
    Role,
    /// Bindings of roles.
    RoleBinding,
    /// Cluster roles: bindings name them.
    ClusterRole,
    /// Bindings of cluster roles.
    ClusterRoleBinding,
    /// Secrets: Pods use them.
    Secret,
    /// ConfigMaps: Pods use them.
    ConfigMap,
    /// Services.
    Service,
    /// Everything else.
    Other,
    /// CSVs: the operator starts, and finds all of the above.
    ClusterServiceVersion,
    /// Generated Subscriptions: they are about CSVs that exist.
    Subscription,
}

impl Rank {
    /// The rank of a step.
    pub fn of(resource: &StepResource) -> Self {
        match (resource.group.as_str(), resource.kind.as_str()) {
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Crd,
            ("", "ServiceAccount") => Self::ServiceAccount,
            ("rbac.authorization.k8s.io", "Role") => Self::Role,
            ("rbac.authorization.k8s.io", "RoleBinding") => Self::RoleBinding,
            ("rbac.authorization.k8s.io", "ClusterRole") => Self::ClusterRole,
            ("rbac.authorization.k8s.io", "ClusterRoleBinding") => Self::ClusterRoleBinding,
            ("", "Secret" | BUNDLE_SECRET) => Self::Secret,
            ("", "ConfigMap") => Self::ConfigMap,
            ("", "Service") => Self::Service,
            (GROUP, CSV_KIND) => Self::ClusterServiceVersion,
            (GROUP, "Subscription") => Self::Subscription,
            _ => Self::Other,
        }
    }
}

/// The positions of steps in the order in which they are carried out. Steps of the same rank keep the
/// plan's order, in which what is needed comes before who needs it.
pub fn order(steps: &[Step]) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..steps.len()).collect();
    positions.sort_by_key(|&at| steps.get(at).map(|step| Rank::of(&step.resource)));
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Group and kind, in the order of execution.
    const KINDS: [(&str, &str); 12] = [
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "ServiceAccount"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("", "BundleSecret"),
        ("", "ConfigMap"),
        ("", "Service"),
        ("serving.knative.dev", "Service"),
        ("operators.coreos.com", "ClusterServiceVersion"),
        ("operators.coreos.com", "Subscription"),
    ];

    fn step(at: usize) -> Step {
        let (group, kind) = KINDS[at];
        let mut step = Step::default();
        step.resource.group = group.to_owned();
        step.resource.kind = kind.to_owned();
        step
    }

    #[test]
    fn what_is_used_comes_before_who_uses_it() {
        let steps: Vec<Step> = (0..KINDS.len()).rev().map(step).collect();
        let expected: Vec<usize> = (0..KINDS.len()).rev().collect();
        assert_eq!(order(&steps), expected);
    }

    proptest! {
        #[test]
        fn every_step_has_its_turn_and_equals_keep_their_order(
            kinds in prop::collection::vec(0..KINDS.len(), 0..40)
        ) {
            let steps: Vec<Step> = kinds.iter().map(|&at| step(at)).collect();
            let order = order(&steps);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..steps.len()).collect::<Vec<_>>());
            for pair in order.windows(2) {
                prop_assert!((kinds[pair[0]], pair[0]) < (kinds[pair[1]], pair[1]));
            }
        }
    }
}
