//! Filters, and how many packages each choice would show.

use super::{Counts, PackageQuery};
use crate::catalog::index::Summary;
use crate::server::hub::error::Error;
use crate::server::hub::supply::Catalog;
use crate::server::hub::views::{FacetCount, Facets, InstallModeName, InstalledState};

/// What an operator can do, from the least to the most.
const LEVELS: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

/// A level as everybody writes it; unknown ones as they are.
pub(in crate::server::hub) fn level(text: &str) -> &str {
    let mut known = LEVELS.into_iter();
    known
        .find(|level| level.eq_ignore_ascii_case(text))
        .unwrap_or(text)
}

/// The facets, in the order of the bits of a [`Verdict`].
#[derive(Debug, Clone, Copy)]
enum Facet {
    Category,
    Provider,
    Level,
    Catalog,
    InstallMode,
    Installed,
    Upgradable,
    Deprecated,
}

/// Which filters a package does not pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Verdict(u8);

impl Verdict {
    fn refuse(&mut self, facet: Facet) {
        self.0 |= 1 << facet as u8;
    }

    /// Whether it passes all filters.
    pub(super) fn passes(self) -> bool {
        self.0 == 0
    }

    /// Whether it passes all filters but perhaps this one.
    fn passes_others(self, facet: Facet) -> bool {
        self.0 & !(1 << facet as u8) == 0
    }
}

/// The filters of a query.
pub(super) struct Filter<'q> {
    query: &'q PackageQuery,
    /// The catalogs that are chosen.
    catalogs: Vec<String>,
}

impl<'q> Filter<'q> {
    pub(super) fn new(query: &'q PackageQuery, catalogs: &[Catalog]) -> Result<Self, Error> {
        let mut chosen = Vec::new();
        for name in &query.catalogs {
            let meant = catalogs.iter().filter(|catalog| catalog.is_called(name));
            let before = chosen.len();
            chosen.extend(meant.map(Catalog::id));
            if chosen.len() == before {
                let all: Vec<String> = catalogs.iter().map(Catalog::id).collect();
                return Err(Error::not_found(format!("there is no catalog `{name}`"))
                    .hint(format!("there are {}", all.join(", "))));
            }
        }
        Ok(Self {
            query,
            catalogs: chosen,
        })
    }

    pub(super) fn judge(
        &self,
        catalog: &Catalog,
        summary: &Summary,
        state: Option<&InstalledState>,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        let mut check = |facet: Facet, passes: bool| {
            if !passes {
                verdict.refuse(facet);
            }
        };
        let query = self.query;
        let any = |chosen: &[String], own: &dyn Fn(&str) -> bool| {
            chosen.is_empty() || chosen.iter().any(|choice| own(choice))
        };
        let is_one_of = |choice: &str| summary.categories.iter().any(|own| own == choice);
        check(Facet::Category, any(&query.categories, &is_one_of));
        let is_by = |choice: &str| summary.provider == choice;
        check(Facet::Provider, any(&query.providers, &is_by));
        let own_level = level(&summary.capability_level);
        let is_level = |choice: &str| level(choice) == own_level;
        check(Facet::Level, any(&query.capability_levels, &is_level));
        let is_of = |choice: &str| catalog.id() == choice;
        check(Facet::Catalog, any(&self.catalogs, &is_of));
        let modes = super::install_modes(summary.install_modes);
        let chosen = &query.install_modes;
        let has_mode = chosen.is_empty() || chosen.iter().any(|mode| modes.contains(mode));
        check(Facet::InstallMode, has_mode);
        let fits = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        check(Facet::Installed, fits(query.installed, state.is_some()));
        let is_upgradable = state.is_some_and(|state| state.is_upgradable);
        check(Facet::Upgradable, fits(query.upgradable, is_upgradable));
        let is_deprecated = summary.deprecation.is_some();
        check(Facet::Deprecated, fits(query.deprecated, is_deprecated));
        verdict
    }
}

/// Counts what choices would show.
pub(super) struct Counter {
    has_cluster: bool,
    categories: Counts,
    providers: Counts,
    levels: Counts,
    catalogs: Counts,
    install_modes: Counts,
    states: Counts,
}

impl Counter {
    pub(super) fn new(has_cluster: bool) -> Self {
        Self {
            has_cluster,
            categories: Counts::new(),
            providers: Counts::new(),
            levels: Counts::new(),
            catalogs: Counts::new(),
            install_modes: Counts::new(),
            states: Counts::new(),
        }
    }

    pub(super) fn count(
        &mut self,
        catalog: &Catalog,
        summary: &Summary,
        state: Option<&InstalledState>,
        verdict: Verdict,
    ) {
        // A choice is offered even if it would show nothing, so that lists do not jump.
        let tally = |counts: &mut Counts, facet: Facet, value: &str| {
            if value.is_empty() {
                return;
            }
            let by = usize::from(verdict.passes_others(facet));
            match counts.get_mut(value) {
                Some(count) => *count += by,
                None => {
                    counts.insert(value.to_owned(), by);
                }
            }
        };
        let mut seen: Vec<&str> = Vec::new();
        for category in &summary.categories {
            if !seen.contains(&category.as_str()) {
                tally(&mut self.categories, Facet::Category, category);
                seen.push(category);
            }
        }
        tally(&mut self.providers, Facet::Provider, &summary.provider);
        let own_level = level(&summary.capability_level);
        tally(&mut self.levels, Facet::Level, own_level);
        tally(&mut self.catalogs, Facet::Catalog, &catalog.id());
        for mode in super::install_modes(summary.install_modes) {
            tally(&mut self.install_modes, Facet::InstallMode, mode.as_str());
        }
        if state.is_some() {
            tally(&mut self.states, Facet::Installed, "installed");
        }
        if state.is_some_and(|state| state.is_upgradable) {
            tally(&mut self.states, Facet::Upgradable, "upgradable");
        }
        if summary.deprecation.is_some() {
            tally(&mut self.states, Facet::Deprecated, "deprecated");
        }
    }

    pub(super) fn facets(self, filter: &Filter<'_>, catalogs: &[Catalog]) -> Facets {
        let query = filter.query;
        let is_level = |value: &str| {
            let mut chosen = query.capability_levels.iter();
            chosen.any(|choice| level(choice) == value)
        };
        let mut levels = counted(self.levels, is_level);
        levels.sort_by_key(|facet| {
            let place = LEVELS.iter().position(|level| *level == facet.value);
            place.unwrap_or(LEVELS.len())
        });
        let mut by_catalog = counted(self.catalogs, |value| {
            filter.catalogs.iter().any(|id| id == value)
        });
        by_catalog.sort_by_key(|facet| {
            catalogs
                .iter()
                .position(|catalog| catalog.id() == facet.value)
        });
        let mut modes = counted(self.install_modes, |value| {
            query
                .install_modes
                .iter()
                .any(|mode| mode.as_str() == value)
        });
        modes.sort_by_key(|facet| {
            InstallModeName::ALL
                .iter()
                .position(|mode| mode.as_str() == facet.value)
        });
        let states = [
            ("installed", query.installed, self.has_cluster),
            ("upgradable", query.upgradable, self.has_cluster),
            ("deprecated", query.deprecated, true),
        ];
        let states = states.into_iter().filter(|(_, _, is_offered)| *is_offered);
        let states = states.map(|(value, wanted, _)| FacetCount {
            value: value.to_owned(),
            count: self.states.get(value).copied().unwrap_or(0),
            selected: wanted == Some(true),
        });
        Facets {
            categories: counted(self.categories, |value| {
                query.categories.iter().any(|choice| choice == value)
            }),
            providers: counted(self.providers, |value| {
                query.providers.iter().any(|choice| choice == value)
            }),
            capability_levels: levels,
            catalogs: by_catalog,
            install_modes: modes,
            states: states.collect(),
        }
    }
}

/// Counts in the order of their names, without regard to case.
fn counted(counts: Counts, is_selected: impl Fn(&str) -> bool) -> Vec<FacetCount> {
    let mut all: Vec<FacetCount> = counts
        .into_iter()
        .map(|(value, count)| FacetCount {
            selected: is_selected(&value),
            value,
            count,
        })
        .collect();
    all.sort_by_cached_key(|facet| (facet.value.to_lowercase(), facet.value.clone()));
    all
}
