//! From a solution to a graph of who needs what.

use std::collections::{BTreeSet, HashMap};

use super::{Edge, Kind, Node, Picturesque};
use crate::cli::command::explain::package_of;
use crate::cli::outcome;
use crate::cli::situation::Situation;
use crate::resolver::{
    Bundle, Features, Install, Installed, Requirement, Solution, Subscription, requirements,
};

/// What a Subscription gets or has, and all that is needed for it.
pub(super) fn graph<'a>(
    situation: &Situation,
    wanted: &'a Subscription,
    solution: &Solution,
) -> Picturesque<'a> {
    let scene = Scene::new(situation, solution);
    let root = of_subscription(wanted);
    let mut edges = scene.asked(wanted, &root.id);
    let mut reached: BTreeSet<String> = BTreeSet::from([root.id.clone()]);
    let mut open: Vec<String> = edges.iter().map(|edge| edge.to.clone()).collect();
    while let Some(name) = open.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        let needed = scene.needed(&name);
        open.extend(needed.iter().map(|edge| edge.to.clone()));
        edges.extend(needed);
    }
    edges.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    let is_reached = |name: &String| reached.contains(name);
    let new = solution.install.iter();
    let new = new.filter(|install| is_reached(&install.bundle));
    let there = scene.present.iter().filter(|csv| is_reached(&csv.name));
    let nodes = std::iter::once(root)
        .chain(new.map(of_install))
        .chain(there.map(|csv| of_installed(csv)));
    Picturesque {
        package: &wanted.package,
        nodes: nodes.collect(),
        edges,
    }
}

/// What will be there.
struct Scene<'s> {
    situation: &'s Situation,
    solution: &'s Solution,
    /// What is installed new, by name.
    new: HashMap<&'s str, &'s Install>,
    /// Whom each of those is for: bundles and Subscriptions, by name.
    for_whom: HashMap<&'s str, Vec<&'s Install>>,
    /// What is installed and stays, by name.
    present: Vec<&'s Installed>,
}

impl<'s> Scene<'s> {
    fn new(situation: &'s Situation, solution: &'s Solution) -> Self {
        let installs = solution.install.iter();
        let new: HashMap<&str, &Install> = installs.map(|it| (it.bundle.as_str(), it)).collect();
        let mut for_whom: HashMap<&str, Vec<&Install>> = HashMap::new();
        for install in &solution.install {
            for name in &install.requested_by {
                for_whom.entry(name).or_default().push(install);
            }
        }
        let installs = solution.install.iter();
        let by_new = installs.map(|install| install.replaces.as_str());
        let installed = situation.installed.iter();
        let by_others = installed.filter(|csv| csv.replaces != csv.name);
        let by_others = by_others.map(|csv| csv.replaces.as_str());
        let gone: BTreeSet<&str> = by_new.chain(by_others).collect();
        let installed = situation.installed.iter();
        let mut present: Vec<&Installed> = installed
            .filter(|csv| !gone.contains(csv.name.as_str()) && !new.contains_key(csv.name.as_str()))
            .collect();
        present.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            situation,
            solution,
            new,
            for_whom,
            present,
        }
    }

    /// What a Subscription gets, or has and keeps.
    fn asked(&self, wanted: &Subscription, from: &str) -> Vec<Edge> {
        let new = self.for_whom.get(wanted.name.as_str()).into_iter();
        let new = new.flatten().map(|install| install.bundle.clone());
        let kept = self.solution.kept.iter();
        let kept = kept.filter(|kept| kept.subscription == wanted.name);
        let kept = kept.map(|kept| kept.csv.clone());
        new.chain(kept)
            .map(|to| Edge {
                from: from.to_owned(),
                to,
                needs: Vec::new(),
            })
            .collect()
    }

    /// What a bundle needs of others, installed new or there already.
    fn needed(&self, name: &str) -> Vec<Edge> {
        let mut open = self.needs(name);
        let mut edges = Vec::new();
        let edge = |to: &str, needs: &[Requirement]| Edge {
            from: name.to_owned(),
            to: to.to_owned(),
            needs: needs.iter().map(ToString::to_string).collect(),
        };
        let providers = self.for_whom.get(name).into_iter().flatten();
        let mut met_by_new: Vec<Requirement> = Vec::new();
        for provider in providers {
            let mut met = open.clone();
            self.with(provider, |bundle| {
                met.retain(|need| need.matches(&bundle.features));
            });
            edges.push(edge(&provider.bundle, &met));
            met_by_new.extend(met);
        }
        open.retain(|need| !met_by_new.contains(need));
        for csv in &self.present {
            let (met, left) = open
                .into_iter()
                .partition(|need| need.matches(&csv.features));
            let met: Vec<Requirement> = met;
            open = left;
            if !met.is_empty() {
                edges.push(edge(&csv.name, &met));
            }
        }
        edges
    }

    /// What a bundle needs and does not have itself.
    fn needs(&self, name: &str) -> Vec<Requirement> {
        let others = |needs: &[Requirement], own: &Features| -> Vec<Requirement> {
            let others = needs.iter().filter(|need| !need.matches(own));
            others.cloned().collect()
        };
        if let Some(install) = self.new.get(name) {
            let needs = self.with(install, |bundle| {
                let needs = bundle.requirements().ok()?;
                Some(others(needs, &bundle.features))
            });
            return needs.flatten().unwrap_or_default();
        }
        let csv = self.situation.installed(name);
        let needs = csv.and_then(|csv| {
            let needs = requirements(csv.features.properties()).ok()?;
            Some(others(&needs, &csv.features))
        });
        needs.unwrap_or_default()
    }

    /// Looks at a bundle that is installed new.
    fn with<T>(&self, install: &Install, look: impl FnOnce(&Bundle) -> T) -> Option<T> {
        let package = package_of(self.situation, install)?;
        let (_, bundle) = package.bundle(&install.bundle)?;
        Some(look(bundle))
    }
}

fn of_subscription(wanted: &Subscription) -> Node {
    Node {
        id: format!("subscription/{}", wanted.name),
        kind: Kind::Subscription,
        name: wanted.name.clone(),
        package: wanted.package.clone(),
        version: String::new(),
        channel: wanted.channel.clone(),
        catalog: String::new(),
        replaces: String::new(),
        installed: false,
    }
}

fn of_install(install: &Install) -> Node {
    Node {
        id: install.bundle.clone(),
        kind: Kind::Bundle,
        name: install.bundle.clone(),
        package: install.package.clone(),
        version: install.version.clone(),
        channel: install.channel.clone(),
        catalog: outcome::place(&install.catalog_namespace, &install.catalog),
        replaces: install.replaces.clone(),
        installed: false,
    }
}

fn of_installed(csv: &Installed) -> Node {
    Node {
        id: csv.name.clone(),
        kind: Kind::Bundle,
        name: csv.name.clone(),
        package: csv.package.clone().unwrap_or_default(),
        version: csv
            .version
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        channel: String::new(),
        catalog: String::new(),
        replaces: String::new(),
        installed: true,
    }
}
