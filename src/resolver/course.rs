//! How a Subscription goes on, one upgrade after the other.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::features::Features;
use super::package::{Bundle, Package};
use super::request::{CatalogKey, Installed, Progress, Request, Subscription};
use super::resolve::{How, resolve_with};
use super::solution::{Component, Install, Resolution, Solution};

/// The upgrades that a Subscription gets if nothing changes but what they change themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// What it gets, one after the other.
    pub steps: Vec<Install>,
    /// What becomes of it after the last of them; nothing if there may be more.
    pub end: Option<Component>,
}

/// Follows the Subscription of this name, over at most so many resolutions: each time as if what the one
/// before says was done. Upgrades that are under way are taken for done as well.
pub fn course(request: &Request<'_>, subscription: &str, most: usize) -> Course {
    let mut request = request.clone();
    for csv in &mut request.installed {
        if csv.progress == Progress::Underway {
            csv.progress = Progress::Succeeded;
        }
    }
    let mut asked = request.subscriptions.iter();
    let asked = asked.find(|asked| asked.name == subscription);
    let package = asked.map_or_else(String::new, |asked| asked.package.clone());
    let mut steps = Vec::new();
    // The catalogs stay as they are.
    let cache = Rc::default();
    for _ in 0..most {
        let next = resolve_with(&request, &cache, How::Solving);
        let Some(Component::Solved(solution)) = own(next, subscription) else {
            break;
        };
        if solution.install.is_empty() || carry_out(&mut request, &solution).is_none() {
            break;
        }
        // Others that it hangs together with may have to go first.
        let mut installs = solution.install.into_iter();
        steps.extend(installs.find(|install| {
            install.package == package && install.requested_by.iter().any(|by| by == subscription)
        }));
    }
    // Only here it matters why.
    let end = own(
        resolve_with(&request, &cache, How::Explaining),
        subscription,
    );
    let is_over = |component: &Component| match component {
        Component::Solved(solution) => solution.install.is_empty(),
        Component::Unsolvable(_) => true,
    };
    Course {
        steps,
        end: end.filter(is_over),
    }
}

/// What becomes of a Subscription. Where it is part of a contradiction, but not the one that yields to it,
/// it has both.
fn own(resolution: Resolution, subscription: &str) -> Option<Component> {
    let has = |component: &Component| {
        let mut names = component.subscriptions().iter();
        names.any(|name| name == subscription)
    };
    let mut own: Vec<Component> = resolution.components.into_iter().filter(has).collect();
    own.sort_by_key(|component| matches!(component, Component::Unsolvable(_)));
    own.into_iter().next()
}

/// Changes a request to what it is when a solution was carried out; nothing if that cannot be told.
fn carry_out(request: &mut Request<'_>, solution: &Solution) -> Option<()> {
    let installs = solution.install.iter();
    let new: Option<Vec<Installed>> = installs
        .map(|install| installed(request, install))
        .collect();
    for (install, csv) in solution.install.iter().zip(new?) {
        let gone = replaced(request, &install.replaces);
        request.installed.retain(|csv| !gone.contains(&csv.name));
        request.installed.push(csv);
        for subscription in &mut request.subscriptions {
            let asked = subscription.package == install.package
                && install.requested_by.contains(&subscription.name);
            if asked || gone.contains(&subscription.installed_csv) {
                subscription.installed_csv.clone_from(&install.bundle);
            }
        }
    }
    for new in &solution.subscriptions {
        let mut names = request.subscriptions.iter().map(|known| &known.name);
        if !names.any(|name| *name == new.name) {
            request.subscriptions.push(Subscription {
                name: new.name.clone(),
                package: new.package.clone(),
                channel: new.channel.clone(),
                catalog: CatalogKey::new(&new.catalog_namespace, &new.catalog),
                starting_csv: new.starting_csv.clone(),
                installed_csv: new.starting_csv.clone(),
                ..Subscription::default()
            });
        }
    }
    Some(())
}

/// A CSV, and those that it was to replace itself.
fn replaced(request: &Request<'_>, name: &str) -> BTreeSet<String> {
    let mut gone = BTreeSet::new();
    let mut next = name;
    while let Some(csv) = request.installed.iter().find(|csv| csv.name == next) {
        if !gone.insert(csv.name.clone()) {
            break;
        }
        next = &csv.replaces;
    }
    gone
}

/// The CSV that a bundle becomes.
fn installed(request: &Request<'_>, install: &Install) -> Option<Installed> {
    let package = package(request, install)?;
    let (_, bundle) = package.bundle(&install.bundle)?;
    Some(Installed {
        name: bundle.name.clone(),
        package: Some(package.name.clone()),
        version: bundle.version.clone(),
        features: Arc::new(features(&package, bundle)),
        replaces: String::new(),
        progress: Progress::Succeeded,
    })
}

fn package(request: &Request<'_>, install: &Install) -> Option<Arc<Package>> {
    let key = CatalogKey::new(&install.catalog_namespace, &install.catalog);
    let mut catalogs = request.catalogs.iter();
    let catalog = catalogs.find(|catalog| catalog.key == key)?;
    let snapshot = catalog.contents.snapshot()?;
    snapshot.package(&install.package).ok().flatten()
}

fn features(package: &Package, bundle: &Bundle) -> Features {
    let properties = bundle.features.properties();
    let properties = properties.map(|(kind, value)| (kind.to_owned(), value.to_owned()));
    Features::new(
        Some(&package.name),
        bundle.version.as_ref(),
        properties.collect(),
    )
}
