//! What versions need, and who needs what.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::Found;
use super::error::Error;
use super::supply::{Catalog, Content};
use super::views::{
    ApiName, Dependency, DependencyGraph, DependencyKind, Dependent, PackageReference,
};
use crate::api::gvk::GroupVersionKind;
use crate::bundle::property::GVK;
use crate::catalog::index::{BundleRecord, PackageRecord};
use crate::resolver::{Reach, Requirement, requirements};

/// How many catalogs' needs are kept.
const KEPT: usize = 16;
/// How many dependencies and dependents are told.
const MOST: usize = 500;

/// What the packages of catalogs need, by digest. Few packages need anything, so it is little; but
/// to know it, all have to be read.
#[derive(Default)]
pub(super) struct Needs(Mutex<HashMap<String, Arc<Vec<Need>>>>);

/// What the head of a package needs.
struct Need {
    package: String,
    bundle: String,
    requirement: Requirement,
}

impl Needs {
    fn of(&self, content: &Content) -> Result<Arc<Vec<Need>>, Error> {
        if let Some(known) = self.lock().get(&content.digest) {
            return Ok(known.clone());
        }
        let mut needs = Vec::new();
        for summary in content.index.packages() {
            let Some(record) = content.index.package(&summary.name)? else {
                continue;
            };
            let Some(head) = record.bundle(&summary.head) else {
                continue;
            };
            needs.extend(
                of_bundle(&record, head)
                    .into_iter()
                    .map(|requirement| Need {
                        package: summary.name.clone(),
                        bundle: head.name.clone(),
                        requirement,
                    }),
            );
        }
        let needs = Arc::new(needs);
        let mut known = self.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(content.digest.clone(), needs.clone());
        Ok(needs)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Vec<Need>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a bundle needs; nothing if its needs cannot be understood.
fn of_bundle(record: &PackageRecord, bundle: &BundleRecord) -> Vec<Requirement> {
    let properties = record.properties_of(bundle);
    let pairs = properties.map(|(kind, value)| (kind.as_str(), value.as_str()));
    requirements(pairs).unwrap_or_default()
}

/// What a bundle needs, in words.
pub(super) fn in_words(record: &PackageRecord, bundle: &BundleRecord) -> Vec<String> {
    let needs = of_bundle(record, bundle);
    needs.iter().map(ToString::to_string).collect()
}

/// What a bundle needs, and who needs its package.
pub(super) fn graph(
    found: &Found,
    bundle: &BundleRecord,
    catalogs: &[Catalog],
    known: &Needs,
) -> Result<DependencyGraph, Error> {
    let needs = of_bundle(&found.record, bundle);
    let dependencies = needs
        .iter()
        .take(MOST)
        .map(|requirement| dependency(requirement, catalogs))
        .collect();
    let own_apis = apis(&found.record, bundle);
    let mut dependents = BTreeSet::new();
    for catalog in catalogs {
        let Some(content) = &catalog.content else {
            continue;
        };
        for need in known.of(content)?.iter() {
            let may_meet = match need.requirement.reach() {
                Reach::Everything => false,
                Reach::Some { packages, apis } => {
                    packages.contains(&found.record.name) || !apis.is_disjoint(&own_apis)
                }
            };
            let is_other = need.package != found.record.name;
            if is_other && may_meet && catalog.curation.allows(&need.package) {
                dependents.insert(Dependent {
                    package: need.package.clone(),
                    catalog: catalog.id(),
                    bundle: need.bundle.clone(),
                    needs: need.requirement.to_string(),
                });
            }
        }
    }
    Ok(DependencyGraph {
        package: found.record.name.clone(),
        bundle: bundle.name.clone(),
        dependencies,
        dependents: dependents.into_iter().take(MOST).collect(),
    })
}

fn dependency(requirement: &Requirement, catalogs: &[Catalog]) -> Dependency {
    let package = requirement.as_package();
    let api = requirement.as_api();
    let reach = requirement.reach();
    let mut met_by = BTreeSet::new();
    for catalog in catalogs {
        let Some(content) = &catalog.content else {
            continue;
        };
        let index = &content.index;
        let mut names: Vec<&str> = Vec::new();
        if let Reach::Some { packages, apis } = &reach {
            let summaries = packages.iter().filter_map(|name| index.summary(name));
            names.extend(summaries.map(|summary| summary.name.as_str()));
            let providers = apis.iter().flat_map(|api| index.providers(api));
            names.extend(providers.map(|summary| summary.name.as_str()));
        }
        let offered = names
            .into_iter()
            .filter(|name| catalog.curation.allows(name));
        met_by.extend(offered.map(|name| PackageReference {
            package: name.to_owned(),
            catalog: catalog.id(),
        }));
    }
    let kind = match (package, api) {
        (Some(_), _) => DependencyKind::Package,
        (None, Some(_)) => DependencyKind::Api,
        (None, None) => DependencyKind::Constraint,
    };
    Dependency {
        needs: requirement.to_string(),
        kind,
        package: package.map(|(name, _)| name.to_owned()).unwrap_or_default(),
        range: package
            .map(|(_, range)| range.to_string())
            .unwrap_or_default(),
        api: api.map(|api| ApiName {
            group: api.group.clone(),
            version: api.version.clone(),
            kind: api.kind.clone(),
        }),
        met_by: met_by.into_iter().take(MOST).collect(),
    }
}

/// The APIs that a bundle provides.
fn apis(record: &PackageRecord, bundle: &BundleRecord) -> BTreeSet<GroupVersionKind> {
    let provided = record.properties_of(bundle).filter(|(kind, _)| kind == GVK);
    provided
        .filter_map(|(_, value)| serde_json::from_str(value).ok())
        .collect()
}
