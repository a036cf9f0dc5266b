//! How packages stand in the cluster.

use std::collections::HashMap;

use super::views::{Installation, InstalledState};
use crate::version::Version;

/// What is installed, by package.
pub(super) struct States<'a>(HashMap<&'a str, Vec<&'a Installation>>);

impl<'a> States<'a> {
    pub(super) fn new(installations: Option<&'a [Installation]>) -> Self {
        let mut by_package: HashMap<&str, Vec<&Installation>> = HashMap::new();
        for installation in installations.unwrap_or_default() {
            let package = installation.package.as_str();
            by_package.entry(package).or_default().push(installation);
        }
        Self(by_package)
    }

    /// How a package of a catalog stands.
    pub(super) fn of(&self, package: &str, catalog: &str) -> Option<InstalledState> {
        let places: Vec<&Installation> = self.of_package(package, catalog).collect();
        let health = places.iter().map(|place| place.health).min()?;
        let mut versions: Vec<&str> = places
            .iter()
            .map(|place| place.version.as_str())
            .filter(|version| !version.is_empty())
            .collect();
        versions.sort_by_key(|version| std::cmp::Reverse(Version::parse_tolerant(version).ok()));
        versions.dedup();
        Some(InstalledState {
            health,
            is_upgradable: places.iter().any(|place| !place.next.is_empty()),
            versions: versions.into_iter().map(str::to_owned).collect(),
            places: places.len(),
        })
    }

    /// Where a package of a catalog is installed.
    pub(super) fn of_package(
        &self,
        package: &str,
        catalog: &str,
    ) -> impl Iterator<Item = &'a Installation> {
        let places = self.0.get(package).into_iter().flatten().copied();
        let is_of =
            move |place: &&Installation| place.catalog.is_empty() || place.catalog == catalog;
        places.filter(is_of)
    }
}
