//! What the `OperatorGroup` of a namespace has to say to a plan.

use kube::ResourceExt;

use super::Situation;
use crate::api::cluster_service_version::install::{InstallMode, InstallModeType};
use crate::api::operator_group::OperatorGroup;
use crate::catalog::index::InstallModes;
use crate::cli::printer;
use crate::lifecycle::targets::{Namespaces, Targets, check_install_modes};
use crate::resolver::{CatalogKey, Component, Install};

/// Adds groups of another file; the same one may be in both.
pub(super) fn add(groups: &mut Vec<OperatorGroup>, more: Vec<OperatorGroup>) {
    for group in more {
        let key = |of: &OperatorGroup| (of.namespace(), of.name_any());
        if !groups.iter().any(|other| key(other) == key(&group)) {
            groups.push(group);
        }
    }
}

impl Situation {
    /// Says what keeps a plan from being carried out although it is one: too many groups, and
    /// operators that cannot serve the namespaces of the only one.
    pub(in crate::cli) fn warn_of_groups(&self, components: &[Component]) {
        let group = match self.groups.as_slice() {
            [] => return,
            [one] => one,
            several => {
                let names: Vec<String> = several.iter().map(ResourceExt::name_any).collect();
                printer::warning(&format!(
                    "found {} operatorGroups, expected 1: nothing is installed until all but one of {} \
                     in namespace {} are deleted",
                    names.len(),
                    names.join(", "),
                    self.namespace
                ));
                return;
            }
        };
        let targets = match targets(group) {
            Ok(Some(targets)) => targets.to_status(),
            Ok(None) => return,
            Err(problem) => {
                let name = group.name_any();
                printer::warning(&format!(
                    "OperatorGroup {}/{name}: {problem}",
                    self.namespace
                ));
                return;
            }
        };
        for component in components {
            let Component::Solved(solution) = component else {
                continue;
            };
            for install in &solution.install {
                let Some(modes) = self.install_modes(install) else {
                    continue;
                };
                if let Err(problem) = check_install_modes(&modes, &self.namespace, &targets) {
                    printer::warning(&format!(
                        "{} would not run under OperatorGroup {}/{}: {problem}",
                        install.bundle,
                        self.namespace,
                        group.name_any()
                    ));
                }
            }
        }
    }

    /// The install modes of a bundle, if its catalog says any.
    fn install_modes(&self, install: &Install) -> Option<Vec<InstallMode>> {
        let key = CatalogKey::new(&install.catalog_namespace, &install.catalog);
        let index = self.catalog(&key)?.contents.as_ref().ok()?;
        let package = index.package(&install.package).ok()??;
        let supported = package.bundle(&install.bundle)?.install_modes;
        (supported != InstallModes::default()).then(|| listed(supported))
    }
}

/// The namespaces of a group, if they are known: those that a selector means only the cluster knows,
/// and it writes them into the status.
fn targets(group: &OperatorGroup) -> Result<Option<Targets>, String> {
    let asked = Targets::of(&group.spec, &Namespaces::new()).map_err(|error| error.to_string())?;
    let by_selector = group.spec.target_namespaces.is_empty() && asked != Targets::All;
    if !by_selector {
        return Ok(Some(asked));
    }
    let status = group.status.as_ref();
    let found = status.map(|status| status.namespaces.as_slice());
    Ok(found
        .filter(|found| !found.is_empty())
        .map(Targets::from_status))
}

fn listed(modes: InstallModes) -> Vec<InstallMode> {
    let all = [
        (InstallModeType::OwnNamespace, modes.own_namespace),
        (InstallModeType::SingleNamespace, modes.single_namespace),
        (InstallModeType::MultiNamespace, modes.multi_namespace),
        (InstallModeType::AllNamespaces, modes.all_namespaces),
    ];
    all.into_iter()
        .map(|(type_, supported)| InstallMode { type_, supported })
        .collect()
}
