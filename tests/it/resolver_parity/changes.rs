//! The differences on purpose, each as the change of an input after which OLM answers as we do.

use std::collections::BTreeSet;

use chandler::resolver::{Component, Curation, Resolution, requirements};
use chandler::version::{Range, Version};
use serde_json::json;

use crate::support::scenario::{BundleInput, Input, InstalledInput, Requires, SubscriptionInput};

/// A difference on purpose: how the input has to change for OLM to see what we see.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) name: &'static str,
    /// Where OLM answers without the change, the change is no reason to answer something else.
    pub(super) only_if_refused: bool,
    pub(super) make: fn(&mut Input, &Resolution),
}

/// A change for what stops OLM.
const fn refused(name: &'static str, make: fn(&mut Input, &Resolution)) -> Change {
    Change {
        name,
        only_if_refused: true,
        make,
    }
}

/// A change for what OLM answers in another way.
const fn answered(name: &'static str, make: fn(&mut Input, &Resolution)) -> Change {
    Change {
        name,
        only_if_refused: false,
        make,
    }
}

pub(super) const CHANGES: [Change; 14] = [
    refused(
        "isolation: Subscriptions that cannot be met are set aside",
        set_aside,
    ),
    refused(
        "what is installed may contradict itself",
        without_needs_of_facts,
    ),
    refused(
        "a failing catalog concerns only those who need it",
        without_failing_catalogs,
    ),
    refused(
        "a channel without order, an unreadable need concern only those who need them",
        without_malformed,
    ),
    refused(
        "installed CSVs may lack what nobody can give them",
        without_lacks,
    ),
    answered("a CSV without Subscription is adopted", adopted),
    answered("an upgrade waits for the one under way", without_underway),
    answered("replaced CSVs are no facts", without_replaced),
    // After those: what is replaced provides nothing any more.
    refused(
        "installed CSVs may provide the same API",
        without_shared_apis,
    ),
    answered("minKubeVersion is a constraint", without_too_new),
    answered(
        "what a Subscription gets meets needs although others skip it",
        met_by_what_is_skipped,
    ),
    answered(
        "a Subscription without a channel does not go back",
        without_steps_back,
    ),
    answered("curation: spec.packages", curated),
    answered(
        "constraints nest only so deep",
        without_constraints_that_nest_deeply,
    ),
];

fn set_aside(input: &mut Input, resolution: &Resolution) {
    let package = |of: &SubscriptionInput| of.package.clone().unwrap_or_else(|| of.name.clone());
    let mut gone: Vec<SubscriptionInput> = Vec::new();
    for component in &resolution.components {
        if let Component::Unsolvable(explanation) = component {
            let aside = |one: &SubscriptionInput| explanation.requests.contains(&one.name);
            gone.extend(input.subscriptions.iter().filter(|one| aside(one)).cloned());
            input.subscriptions.retain(|one| !aside(one));
        }
    }
    for csv in &mut input.installed {
        // A CSV stays where it was installed from, which its Subscription told.
        let mut owners = gone.iter().filter(|one| one.installed_csv == csv.name);
        csv.package = csv.package.clone().or(owners.next().map(package));
        // It stays for good, also for another Subscription that has it or adopts it.
        let mut all = input.subscriptions.iter().chain(&gone);
        let is_orphan = !all.any(|one| one.installed_csv == csv.name);
        let has = |one: &SubscriptionInput| {
            let adopts = one.installed_csv.is_empty() && csv.package == Some(package(one));
            one.installed_csv == csv.name || (is_orphan && adopts)
        };
        let is_kept = |one: &SubscriptionInput| {
            let mut solved = resolution.components.iter().filter_map(|it| match it {
                Component::Solved(solution) => Some(&solution.kept),
                Component::Unsolvable(_) => None,
            });
            solved.any(|kept| {
                let mut kept = kept.iter();
                kept.any(|kept| kept.subscription == one.name && kept.csv == csv.name)
            })
        };
        if gone.iter().any(has) {
            input.subscriptions.retain(|one| !is_kept(one));
        }
    }
}

/// Nobody asks for what a bundle gives that is there because a Subscription begins with it.
fn met_by_what_is_skipped(input: &mut Input, resolution: &Resolution) {
    let gotten = |bundle: &BundleInput| {
        let mut components = resolution.components.iter();
        components.any(|component| match component {
            Component::Solved(solution) => {
                let mut installs = solution.install.iter();
                installs.any(|install| install.bundle == bundle.name)
            }
            Component::Unsolvable(_) => false,
        })
    };
    let begins = |bundle: &BundleInput| {
        let mut subscriptions = input.subscriptions.iter();
        subscriptions.any(|one| one.starting_csv == bundle.name)
    };
    let mut given: Vec<(String, BundleInput)> = Vec::new();
    for package in input.catalogs.iter().flat_map(|catalog| &catalog.packages) {
        let entries = package.channels.iter().flat_map(|channel| &channel.entries);
        let skipped: BTreeSet<&String> = entries.flat_map(|entry| &entry.skips).collect();
        let bundles = package
            .bundles
            .iter()
            .filter(|bundle| skipped.contains(&bundle.name) && begins(bundle) && gotten(bundle));
        given.extend(bundles.map(|bundle| (package.name.clone(), bundle.clone())));
    }
    let is_given = |need: &Requires| {
        given.iter().any(|(name, bundle)| match need {
            Requires::Api { api } => bundle.provides.contains(api),
            Requires::Package { package, range } => {
                let version = Version::parse(&bundle.version);
                let range = Range::parse(range);
                package == name
                    && version.is_ok_and(|it| range.is_ok_and(|range| range.contains(&it)))
            }
            Requires::Label { label } => bundle.labels.contains(label),
            Requires::Constraint { .. } => false,
        })
    };
    let packages = input.catalogs.iter_mut();
    for package in packages.flat_map(|catalog| &mut catalog.packages) {
        for bundle in &mut package.bundles {
            bundle.requires.retain(|need| !is_given(need));
        }
    }
}

/// Nothing older upgrades what a Subscription has that says no channel.
fn without_steps_back(input: &mut Input, _: &Resolution) {
    for subscription in &input.subscriptions {
        let name = subscription.package.as_ref();
        let name = name.unwrap_or(&subscription.name);
        let mut installed = input.installed.iter();
        let current = installed.find(|csv| csv.name == subscription.installed_csv);
        let (Some(current), true) = (current, subscription.channel.is_empty()) else {
            continue;
        };
        let packages = input.catalogs.iter_mut();
        let packages = packages.flat_map(|catalog| &mut catalog.packages);
        for package in packages.filter(|package| package.name == *name) {
            let newer = |name: &String| {
                let mut bundles = package.bundles.iter();
                let bundle = bundles.find(|bundle| bundle.name == *name);
                let versions = bundle.map(|it| [&it.version, &current.version]);
                let [new, old] = versions?.map(|text| Version::parse(text).ok());
                Some(new? >= old?)
            };
            let entries = package.channels.iter_mut();
            for entry in entries.flat_map(|channel| &mut channel.entries) {
                if newer(&entry.name) == Some(false) {
                    entry.skip_range.clear();
                    entry.skips.retain(|skipped| *skipped != current.name);
                    if entry.replaces == current.name {
                        entry.replaces.clear();
                    }
                }
            }
        }
    }
}

/// What no Subscription has is there, whatever it needs.
fn without_needs_of_facts(input: &mut Input, _: &Resolution) {
    for csv in &mut input.installed {
        let mut owners = input.subscriptions.iter();
        if !owners.any(|one| one.installed_csv == csv.name) {
            csv.requires.clear();
        }
    }
}

/// What no Subscription has may provide what another one provides: the first by name has it.
fn without_shared_apis(input: &mut Input, _: &Resolution) {
    let subscriptions = &input.subscriptions;
    let is_fact = |csv: &&mut InstalledInput| {
        let mut owners = subscriptions.iter();
        !owners.any(|one| one.installed_csv == csv.name)
    };
    let mut facts: Vec<&mut InstalledInput> = input.installed.iter_mut().filter(is_fact).collect();
    facts.sort_by(|a, b| a.name.cmp(&b.name));
    let mut provided = BTreeSet::new();
    for csv in facts {
        csv.provides.retain(|api| provided.insert(api.clone()));
    }
}

fn without_failing_catalogs(input: &mut Input, _: &Resolution) {
    for catalog in &mut input.catalogs {
        if catalog.problem.take().is_some() {
            catalog.packages.clear();
            // Whoever has something of it keeps that.
            input.subscriptions.retain(|one| {
                one.installed_csv.is_empty() || one.catalog.as_ref() != Some(&catalog.name)
            });
        }
    }
}

fn without_malformed(input: &mut Input, _: &Resolution) {
    let mut without_default = Vec::new();
    for package in input
        .catalogs
        .iter_mut()
        .flat_map(|catalog| &mut catalog.packages)
    {
        let is_readable = |bundle: &BundleInput| {
            let needs: Vec<_> = bundle.requires.iter().map(property).collect();
            read(&needs).is_some()
        };
        for bundle in &mut package.bundles {
            // As a candidate that nobody can take, so that the channel keeps its order.
            bundle.deprecated |= !is_readable(bundle);
            if !is_readable(bundle) {
                bundle.requires.clear();
            }
        }
        for channel in &mut package.channels {
            let listed = chandler::catalog::fbc::Channel {
                package: package.name.clone(),
                name: channel.name.clone(),
                entries: channel.entries.clone(),
                properties: Vec::new(),
            };
            if chandler::catalog::graph::order(&listed).is_err() {
                if channel.name == package.default_channel {
                    without_default.push((package.name.clone(), channel.name.clone()));
                }
                // Its bundles are there, but nobody can take them.
                let kept: Vec<_> = channel.entries.iter().take(1).cloned().collect();
                channel.entries = kept;
                for entry in &mut channel.entries {
                    *entry = chandler::catalog::fbc::Entry {
                        name: "nothing.v0.0.0".into(),
                        ..Default::default()
                    };
                }
                let nothing = BundleInput {
                    name: "nothing.v0.0.0".into(),
                    version: "0.0.0".into(),
                    deprecated: true,
                    ..Default::default()
                };
                package.bundles.push(nothing);
            }
        }
        package.bundles.dedup_by(|a, b| a.name == b.name);
    }
    // Who names no channel is not moved to another one.
    for subscription in &mut input.subscriptions {
        let package = subscription.package.as_ref().unwrap_or(&subscription.name);
        let default = without_default.iter().find(|(name, _)| name == package);
        if let Some((_, default)) = default.filter(|_| subscription.channel.is_empty()) {
            subscription.channel.clone_from(default);
        }
    }
}

/// A need as a property of a bundle.
fn property(need: &Requires) -> (&'static str, String) {
    let (kind, value) = match need {
        Requires::Api { api } => {
            let parts: Vec<&str> = api.split('/').collect();
            let [group, version, kind] = parts.as_slice() else {
                panic!("{api} is no API")
            };
            let value = json!({"group": group, "version": version, "kind": kind});
            ("olm.gvk.required", value)
        }
        Requires::Package { package, range } => (
            "olm.package.required",
            json!({"packageName": package, "versionRange": range}),
        ),
        Requires::Label { label } => ("olm.label.required", json!({"label": label})),
        Requires::Constraint { constraint } => ("olm.constraint", constraint.clone()),
    };
    (kind, value.to_string())
}

/// Needs in words, unless one of them cannot be read.
fn read(needs: &[(&'static str, String)]) -> Option<Vec<String>> {
    let needs = needs.iter().map(|(kind, value)| (*kind, value.as_str()));
    let read = requirements(needs).ok()?;
    Some(read.iter().map(ToString::to_string).collect())
}

/// Takes out the needs of installed CSVs that notes tell as unmet.
fn without_lacks(input: &mut Input, resolution: &Resolution) {
    let notes: Vec<&String> = resolution
        .components
        .iter()
        .filter_map(|component| match component {
            Component::Solved(solution) => Some(&solution.notes),
            Component::Unsolvable(_) => None,
        })
        .flatten()
        .collect();
    for csv in &mut input.installed {
        let name = csv.name.clone();
        let is_told = |need: &Requires| {
            let words = read(&[property(need)]).unwrap_or_default();
            words.iter().any(|words| {
                let begins = format!("installed {name} needs {words}, which ");
                notes.iter().any(|note| note.starts_with(&begins))
            })
        };
        let needs: Vec<_> = csv.requires.iter().map(property).collect();
        let is_readable = read(&needs).is_some();
        csv.requires.retain(|need| is_readable && !is_told(need));
    }
}

fn adopted(input: &mut Input, resolution: &Resolution) {
    for component in &resolution.components {
        let Component::Solved(solution) = component else {
            continue;
        };
        let mut taken: Vec<(String, String)> = Vec::new();
        taken.extend(
            solution
                .kept
                .iter()
                .map(|kept| (kept.subscription.clone(), kept.csv.clone())),
        );
        for install in solution
            .install
            .iter()
            .filter(|install| !install.replaces.is_empty())
        {
            let by = install.requested_by.iter();
            taken.extend(by.map(|by| (by.clone(), install.replaces.clone())));
        }
        for (subscription, csv) in taken {
            let mut own = input.subscriptions.iter_mut();
            let own = own.find(|one| one.name == subscription && one.installed_csv.is_empty());
            if let Some(own) = own {
                own.installed_csv = csv;
            }
        }
    }
}

fn without_replaced(input: &mut Input, _: &Resolution) {
    // In a circle nothing is the newest, and everything is there.
    let replaced_by = |name: &String| input.installed.iter().find(|csv| csv.replaces == *name);
    let circular: Vec<String> = input
        .installed
        .iter()
        .filter(|csv| {
            let mut next = Some(*csv);
            for _ in 0..=input.installed.len() {
                next = next.and_then(|csv| replaced_by(&csv.name));
            }
            next.is_some()
        })
        .map(|csv| csv.name.clone())
        .collect();
    for csv in &mut input.installed {
        if circular.contains(&csv.name) {
            csv.replaces.clear();
        }
    }
    let replaced: Vec<(String, String)> = input
        .installed
        .iter()
        .map(|csv| (csv.replaces.clone(), csv.name.clone()))
        .filter(|(replaced, _)| input.installed.iter().any(|csv| csv.name == *replaced))
        .collect();
    for _ in 0..replaced.len() {
        for subscription in &mut input.subscriptions {
            if let Some((_, by)) = replaced
                .iter()
                .find(|(old, _)| *old == subscription.installed_csv)
            {
                subscription.installed_csv.clone_from(by);
                subscription.current_csv = None;
            }
        }
    }
    input
        .installed
        .retain(|csv| !replaced.iter().any(|(old, _)| *old == csv.name));
}

fn without_underway(input: &mut Input, _: &Resolution) {
    let goes_on = |csv: &&InstalledInput| {
        let phase = csv.phase.as_deref().unwrap_or("Succeeded");
        !csv.replaces.is_empty() && !["Succeeded", "Failed"].contains(&phase)
    };
    let waiting: Vec<(String, String)> = input
        .installed
        .iter()
        .filter(goes_on)
        .map(|csv| (csv.name.clone(), csv.replaces.clone()))
        .collect();
    let waits = |one: &SubscriptionInput| {
        waiting
            .iter()
            .any(|(new, old)| one.installed_csv == *new || one.installed_csv == *old)
    };
    input.subscriptions.retain(|one| !waits(one));
}

fn without_too_new(input: &mut Input, _: &Resolution) {
    let has = input.kube_version.as_ref();
    let has = has.and_then(|version| Version::parse_tolerant(version).ok());
    let packages = input
        .catalogs
        .iter_mut()
        .flat_map(|catalog| &mut catalog.packages);
    for bundle in packages.flat_map(|package| &mut package.bundles) {
        let Some(needed) = &bundle.min_kube_version else {
            continue;
        };
        bundle.deprecated |= match (Version::parse(needed), &has) {
            (Ok(needed), Some(has)) => {
                (has.major(), has.minor(), has.patch())
                    < (needed.major(), needed.minor(), needed.patch())
            }
            (Ok(_), None) => false,
            // What cannot be read would be installed, and never run.
            (Err(_), _) => true,
        };
    }
}

/// OLM reads any depth.
fn without_constraints_that_nest_deeply(input: &mut Input, _: &Resolution) {
    const DEEPEST: usize = 24;
    fn depth(constraint: &serde_json::Value) -> usize {
        let compounds = ["all", "any", "not"].iter();
        let lists = compounds.filter_map(|kind| constraint.get(kind)?.get("constraints"));
        let inner = lists.filter_map(serde_json::Value::as_array).flatten();
        inner.map(|one| depth(one) + 1).max().unwrap_or_default()
    }
    let is_too_deep = |need: &Requires| match need {
        Requires::Constraint { constraint } => depth(constraint) > DEEPEST,
        _ => false,
    };
    let catalogs = input.catalogs.iter_mut();
    let packages = catalogs.flat_map(|catalog| &mut catalog.packages);
    for bundle in packages.flat_map(|package| &mut package.bundles) {
        bundle.deprecated |= bundle.requires.iter().any(is_too_deep);
    }
}

fn curated(input: &mut Input, _: &Resolution) {
    for catalog in &mut input.catalogs {
        let curation = Curation::new(&catalog.only).unwrap();
        for package in &mut catalog.packages {
            for bundle in &mut package.bundles {
                bundle.deprecated |= !curation.allows(&package.name);
            }
        }
    }
}
