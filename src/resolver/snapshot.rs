//! Where the resolver reads packages from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::package::Package;
use crate::api::gvk::GroupVersionKind;
use crate::catalog::index::Index;

/// The contents of a catalog at one moment.
pub trait Snapshot {
    /// A package. The error says why it cannot be read.
    fn package(&self, name: &str) -> Result<Option<Arc<Package>>, String>;
    /// The packages with a bundle that provides an API, by name.
    fn providers(&self, api: &GroupVersionKind) -> Vec<String>;
    /// All packages, by name.
    fn names(&self) -> Vec<String>;
    /// Why a package that the catalog has is not served, if that is so.
    fn left_out(&self, name: &str) -> Option<String>;
}

impl Snapshot for Index {
    fn package(&self, name: &str) -> Result<Option<Arc<Package>>, String> {
        let record = Self::package(self, name).map_err(|error| error.to_string())?;
        Ok(record.map(|record| Arc::new(Package::from(record))))
    }

    fn providers(&self, api: &GroupVersionKind) -> Vec<String> {
        let providers = Self::providers(self, api);
        providers.map(|summary| summary.name.clone()).collect()
    }

    fn names(&self) -> Vec<String> {
        let packages = self.packages().iter();
        packages.map(|summary| summary.name.clone()).collect()
    }

    fn left_out(&self, name: &str) -> Option<String> {
        if self.summary(name).is_some() {
            // Only channels of it are left out, and the package tells of them.
            return None;
        }
        // An index that cannot be read was noticed when the package was looked for.
        let problems = self.problems().ok()?.into_iter();
        let of_package = problems.filter(|problem| problem.package == name);
        let messages: Vec<String> = of_package.map(|problem| problem.message).collect();
        (!messages.is_empty()).then(|| messages.join("; "))
    }
}

/// A snapshot that is in memory as a whole.
#[derive(Debug, Default, Clone)]
pub struct Packages {
    packages: BTreeMap<String, Arc<Package>>,
    providers: BTreeMap<GroupVersionKind, BTreeSet<String>>,
}

impl FromIterator<Package> for Packages {
    fn from_iter<I: IntoIterator<Item = Package>>(packages: I) -> Self {
        let mut all = Self::default();
        for package in packages {
            for bundle in &package.bundles {
                for api in bundle.features.apis() {
                    let names = all
                        .providers
                        .entry(GroupVersionKind::clone(api))
                        .or_default();
                    names.insert(package.name.clone());
                }
            }
            all.packages.insert(package.name.clone(), Arc::new(package));
        }
        all
    }
}

impl Snapshot for Packages {
    fn package(&self, name: &str) -> Result<Option<Arc<Package>>, String> {
        Ok(self.packages.get(name).cloned())
    }

    fn providers(&self, api: &GroupVersionKind) -> Vec<String> {
        let names = self.providers.get(api).into_iter().flatten();
        names.cloned().collect()
    }

    fn names(&self) -> Vec<String> {
        self.packages.keys().cloned().collect()
    }

    fn left_out(&self, _: &str) -> Option<String> {
        None
    }
}
