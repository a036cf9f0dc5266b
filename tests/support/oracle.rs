//! A resolver that tries everything, one thing after the other: what the real one has to answer.
//!
//! It knows nothing of the resolver but the question, and only the parts of it that
//! `random::input` uses. Nothing in it is clever, so that it can be read and believed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use chandler::version::{Range, UserRange, Version};
use serde_json::Value;

use super::scenario::{
    BundleInput, CatalogInput, ChannelInput, Input, PackageInput, Requires, SubscriptionInput,
};

/// Something that can be part of a solution: positions in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    Installed(usize),
    /// Catalog, package, channel and bundle.
    Offered(usize, usize, usize, usize),
}

#[derive(Clone, Copy)]
enum Need<'a> {
    Subscription(&'a SubscriptionInput),
    /// With the catalog of who has the need, and whether only Subscriptions may meet it.
    Requirement(&'a Requires, Option<usize>, bool),
}

/// What others can ask of an operator, and what it asks of them.
pub struct Operator<'a> {
    pub name: &'a str,
    package: &'a str,
    version: &'a str,
    provides: &'a [String],
    labels: &'a [String],
    pub requires: &'a [Requires],
}

/// Who meets a need of a bundle of a catalog, by the need's address.
type Known = HashMap<(*const Requires, Option<usize>, bool), Rc<[Item]>>;

pub struct Oracle<'a> {
    pub input: &'a Input,
    known: RefCell<Known>,
    /// The names of the Subscriptions that are set aside.
    aside: RefCell<Vec<String>>,
    /// The upgrades of each Subscription that has something, and what they replace.
    upgrades: Vec<(String, Vec<Item>)>,
    /// How often nothing was left to be tried.
    pub dead_ends: Cell<usize>,
}

impl<'a> Oracle<'a> {
    pub fn new(input: &'a Input) -> Self {
        let (known, aside, dead_ends) = Default::default();
        let mut oracle = Self {
            input,
            known,
            aside,
            upgrades: Vec::new(),
            dead_ends,
        };
        for subscription in &input.subscriptions {
            if let Some(current) = oracle.current(subscription) {
                let mut items = oracle.of_subscription(subscription);
                items.retain(|item| *item != Item::Installed(current));
                oracle
                    .upgrades
                    .push((input.installed[current].name.clone(), items));
            }
        }
        oracle
    }

    /// The first solution in the order of preference; Subscriptions that are set aside keep what
    /// they have.
    pub fn solve(
        &self,
        subscriptions: &[&'a SubscriptionInput],
        set_aside: &[&'a SubscriptionInput],
    ) -> Option<Vec<Item>> {
        let aside: Vec<String> = set_aside.iter().map(|one| one.name.clone()).collect();
        if aside != self.aside.replace(aside.clone()) {
            self.known.borrow_mut().clear();
        }
        let mut by_name = subscriptions.to_vec();
        by_name.sort_by_key(|subscription| &subscription.name);
        let mut queue: Vec<Need<'a>> = by_name.into_iter().map(Need::Subscription).collect();
        let facts = self.facts(set_aside);
        for &fact in &facts {
            queue.extend(self.needs(fact));
        }
        self.search(&queue, &facts)
    }

    fn search(&self, queue: &[Need<'a>], chosen: &[Item]) -> Option<Vec<Item>> {
        let Some((need, rest)) = queue.split_first() else {
            return Some(chosen.to_vec());
        };
        let candidates = self.candidates(*need);
        if candidates.iter().any(|item| chosen.contains(item)) {
            return self.search(rest, chosen);
        }
        for &item in candidates.iter() {
            let slots = self.slots(item);
            if chosen
                .iter()
                .all(|&other| self.slots(other).is_disjoint(&slots))
            {
                let queue: Vec<Need<'a>> = rest.iter().copied().chain(self.needs(item)).collect();
                let solution = self.search(&queue, &[chosen, &[item]].concat());
                if solution.is_some() {
                    return solution;
                }
            }
        }
        self.dead_ends.set(self.dead_ends.get() + 1);
        None
    }

    pub fn operator(&self, item: Item) -> Operator<'a> {
        match item {
            Item::Installed(at) => {
                let csv = &self.input.installed[at];
                let package = csv.package.as_deref().unwrap();
                Operator {
                    name: &csv.name,
                    package,
                    version: &csv.version,
                    provides: &csv.provides,
                    labels: &csv.labels,
                    requires: &csv.requires,
                }
            }
            Item::Offered(catalog, package, _, bundle) => {
                let package = &self.input.catalogs[catalog].packages[package];
                let bundle = &package.bundles[bundle];
                Operator {
                    name: &bundle.name,
                    package: &package.name,
                    version: &bundle.version,
                    provides: &bundle.provides,
                    labels: &bundle.labels,
                    requires: &bundle.requires,
                }
            }
        }
    }

    fn needs(&self, item: Item) -> Vec<Need<'a>> {
        let catalog = match item {
            Item::Installed(_) => None,
            Item::Offered(catalog, ..) => Some(catalog),
        };
        let operator = self.operator(item);
        let checks = self.only_checks(operator.package);
        let all = operator.requires.iter();
        let mut needs: Vec<Need<'a>> = all
            .map(|need| Need::Requirement(need, catalog, checks))
            .collect();
        // What is installed may lack what can never be had.
        needs.retain(|need| catalog.is_some() || !self.is_never_met(*need, &mut Vec::new()));
        needs
    }

    /// Whether all who could meet a need lack something themselves, whatever is installed.
    fn is_never_met(&self, need: Need<'a>, asked: &mut Vec<*const Requires>) -> bool {
        let Need::Requirement(one, ..) = need else {
            return false;
        };
        // What needs each other can be had together.
        if asked.contains(&std::ptr::from_ref(one)) {
            return false;
        }
        asked.push(one);
        let never = self.candidates(need).iter().all(|&item| {
            let Item::Offered(catalog, ..) = item else {
                return false;
            };
            let operator = self.operator(item);
            let checks = self.only_checks(operator.package);
            let mut needs = operator.requires.iter();
            needs.any(|need| {
                self.is_never_met(Need::Requirement(need, Some(catalog), checks), asked)
            })
        });
        asked.pop();
        never
    }

    /// What only one item can have. Whatever upgrades an installed CSV takes its place.
    pub fn slots(&self, item: Item) -> BTreeSet<String> {
        let operator = self.operator(item);
        let mut slots: BTreeSet<String> = operator
            .provides
            .iter()
            .map(|api| format!("api {api}"))
            .collect();
        slots.insert(format!("package {}", operator.package));
        slots.insert(format!("csv {}", operator.name));
        let replaced = self
            .upgrades
            .iter()
            .filter(|(_, items)| items.contains(&item));
        slots.extend(replaced.map(|(current, _)| format!("csv {current}")));
        slots
    }

    /// What nobody replaces.
    pub fn counting(&self) -> Vec<usize> {
        (0..self.input.installed.len())
            .filter(|&at| self.successor(at).is_none())
            .collect()
    }

    fn successor(&self, at: usize) -> Option<usize> {
        let name = &self.input.installed[at].name;
        self.input
            .installed
            .iter()
            .position(|csv| csv.replaces == *name)
    }

    /// What a Subscription has, or takes over from nobody: the newest of its package.
    pub fn current(&self, subscription: &SubscriptionInput) -> Option<usize> {
        let has = |subscription: &SubscriptionInput| {
            let all = self.input.installed.iter();
            let own = all
                .clone()
                .position(|csv| csv.name == subscription.installed_csv)?;
            Some(self.successor(own).unwrap_or(own))
        };
        has(subscription).or_else(|| {
            let owned: Vec<usize> = self.input.subscriptions.iter().filter_map(has).collect();
            let mut orphans = self.counting();
            orphans.retain(|at| {
                !owned.contains(at) && self.input.installed[*at].package == subscription.package
            });
            orphans
                .into_iter()
                .max_by_key(|&at| version(&self.input.installed[at].version))
        })
    }

    fn facts(&self, set_aside: &[&SubscriptionInput]) -> Vec<Item> {
        let has = |subscription: &&SubscriptionInput| self.current(subscription);
        let owned: Vec<usize> = self
            .input
            .subscriptions
            .iter()
            .filter_map(|one| has(&one))
            .collect();
        let kept: Vec<usize> = set_aside.iter().filter_map(has).collect();
        let mut facts = self.counting();
        facts.retain(|at| !owned.contains(at) || kept.contains(at));
        facts.sort_by_key(|&at| &self.input.installed[at].name);
        facts.into_iter().map(Item::Installed).collect()
    }

    fn candidates(&self, need: Need<'a>) -> Rc<[Item]> {
        match need {
            Need::Subscription(subscription) => self.of_subscription(subscription).into(),
            Need::Requirement(need, parent, checks) => {
                let key = (std::ptr::from_ref(need), parent, checks);
                if let Some(known) = self.known.borrow().get(&key) {
                    return known.clone();
                }
                let found: Rc<[Item]> = self.of_requirement(need, parent, checks).into();
                self.known.borrow_mut().insert(key, found.clone());
                found
            }
        }
    }

    fn of_subscription(&self, subscription: &SubscriptionInput) -> Vec<Item> {
        let current = self.current(subscription);
        let kept = current.map(Item::Installed);
        let goes_on = |at: &usize| {
            let csv = &self.input.installed[*at];
            csv.phase.as_deref() == Some("Installing") && !csv.replaces.is_empty()
        };
        if current.as_ref().is_some_and(goes_on) {
            return kept.into_iter().collect();
        }
        let mut found = Vec::new();
        let begins_with = current.is_none() && !subscription.starting_csv.is_empty();
        let is_asked_for = |package: &PackageInput, channel: &ChannelInput| {
            // Who names no channel does not go to another while the default has no order.
            let waits = !begins_with && lacks_default(package);
            Some(&package.name) == subscription.package.as_ref()
                && match subscription.channel.as_str() {
                    "" => !waits || channel.name == package.default_channel,
                    named => named == channel.name,
                }
        };
        let mut exists = false;
        let mut older = Vec::new();
        for catalog in self.catalogs_of(subscription) {
            for (package, channel) in self.channels(catalog, &is_asked_for) {
                exists = true;
                let (names, back) = self.wanted(subscription, current, catalog, package, channel);
                found.extend(self.offers(catalog, package, channel, &names));
                older.extend(self.offers(catalog, package, channel, &back));
            }
        }
        // Nobody goes back who can go on.
        if found.is_empty() {
            found = older;
        }
        let fits = |at: &usize| wants(subscription, &self.input.installed[*at].version);
        found.extend(kept.filter(|_| exists && current.as_ref().is_some_and(fits)));
        found
    }

    fn catalogs_of(&self, subscription: &SubscriptionInput) -> Vec<usize> {
        let named = subscription.catalog.as_deref().unwrap();
        let mut catalogs = self.by_preference(None);
        catalogs.retain(|&at| named.is_empty() || self.input.catalogs[at].name == named);
        catalogs
    }

    /// The bundles of a channel that a Subscription may get, the preferred first, and those that are the
    /// way back.
    fn wanted(
        &self,
        subscription: &SubscriptionInput,
        current: Option<usize>,
        catalog: usize,
        package: usize,
        channel: usize,
    ) -> (Vec<&'a String>, Vec<&'a String>) {
        let package = &self.input.catalogs[catalog].packages[package];
        let listed = &package.channels[channel];
        let version_of = |name: &String| -> &'a String {
            let mut bundles = package.bundles.iter();
            &bundles.find(|bundle| bundle.name == *name).unwrap().version
        };
        let wanted = |name: &&'a String| wants(subscription, version_of(name));
        let begins = !subscription.starting_csv.is_empty();
        let mut all = order(listed);
        let is_pinned = subscription.version.is_some();
        if is_pinned && !all.is_empty() {
            all.extend(skipped(package, listed));
        }
        let Some(at) = current else {
            if begins {
                let names = listed.entries.iter().map(|entry| &entry.name);
                let mut names: Vec<&String> = names.collect();
                names.retain(|name| **name == subscription.starting_csv && wanted(name));
                return (names, Vec::new());
            }
            return (all.into_iter().filter(wanted).collect(), Vec::new());
        };
        let csv = &self.input.installed[at];
        let successors = upgrades(listed, &csv.name, &csv.version);
        let direct: Vec<&String> = successors.iter().copied().filter(wanted).collect();
        let offered = |names: &[&String]| {
            let mut bundles = package.bundles.iter();
            bundles.any(|bundle| names.contains(&&bundle.name) && self.runs(bundle))
        };
        if wants(subscription, &csv.version) || offered(&direct) {
            return (direct, Vec::new());
        }
        // Where a step leads to in the end.
        let leads = |name: &&'a String| {
            let mut reached = vec![*name];
            let mut next = 0;
            while let Some(name) = reached.get(next).copied() {
                for further in upgrades(listed, name, version_of(name)) {
                    if !reached.contains(&further) {
                        reached.push(further);
                    }
                }
                next += 1;
            }
            reached[1..].iter().any(wanted)
        };
        let steps: Vec<&String> = successors.into_iter().filter(leads).collect();
        if offered(&steps) {
            return (steps, Vec::new());
        }
        let back: Vec<&String> = all.into_iter().filter(wanted).collect();
        let is_older = |name: &&String| version(version_of(name)) < version(&csv.version);
        if back.iter().all(is_older) {
            (Vec::new(), back)
        } else {
            (Vec::new(), Vec::new())
        }
    }

    /// Whether the needs of a package's bundles are met by Subscriptions only. Whoever would have them installed and gets
    /// nothing does not count beside one that forbids it, and has something or gets it.
    fn only_checks(&self, package: &str) -> bool {
        let own: Vec<_> = self.subscriptions_to(package).collect();
        let requires = |one: &SubscriptionInput| one.dependencies.as_deref() == Some("Require");
        let aside = |one: &SubscriptionInput| self.aside.borrow().contains(&one.name);
        let forbids = own
            .iter()
            .any(|one| requires(one) && (!aside(one) || self.current(one).is_some()));
        let counts = |one: &SubscriptionInput| {
            !(self.of_subscription(one).is_empty() || forbids && aside(one))
        };
        let mut installing = own.iter().filter(|one| !requires(one));
        own.iter().any(|one| requires(one)) && !installing.any(|one| counts(one))
    }

    fn gets_nothing(&self, one: &SubscriptionInput) -> bool {
        self.aside.borrow().contains(&one.name) || self.of_subscription(one).is_empty()
    }

    fn subscriptions_to(&self, package: &str) -> impl Iterator<Item = &'a SubscriptionInput> {
        let all = self.input.subscriptions.iter();
        let package = package.to_owned();
        all.filter(move |one| one.package.as_ref() == Some(&package))
    }

    fn of_requirement(&self, need: &Requires, parent: Option<usize>, checks: bool) -> Vec<Item> {
        let mut here = self.counting();
        here.sort_by_key(|&at| {
            let csv = &self.input.installed[at];
            (
                &csv.package,
                std::cmp::Reverse(version(&csv.version)),
                &csv.name,
            )
        });
        let mut found: Vec<Item> = here.into_iter().map(Item::Installed).collect();
        for catalog in self.by_preference(parent) {
            // Nor does who needs something, as long as no Subscription says that it wants the channel.
            let is_open = |package: &PackageInput, channel: &ChannelInput| {
                !lacks_default(package)
                    || channel.name == package.default_channel
                    || self.is_named(catalog, package, channel)
            };
            for (package, channel) in self.channels(catalog, &is_open) {
                let listed = &self.input.catalogs[catalog].packages[package].channels[channel];
                found.extend(self.offers(catalog, package, channel, &order(listed)));
            }
        }
        let gotten = self.gotten();
        found.retain(|&item| match item {
            Item::Installed(_) => true,
            // A version that somebody pins holds for all.
            Item::Offered(..) => {
                let operator = self.operator(item);
                let mut own = self.subscriptions_to(operator.package);
                own.all(|one| wants(one, operator.version)) && (!checks || gotten.contains(&item))
            }
        });
        // But not for what somebody gets, if whoever pins it gets nothing at all.
        let is_held = |item: &Item| {
            let operator = self.operator(*item);
            let own = self.subscriptions_to(operator.package);
            let mut pinning = own.filter(|one| !wants(one, operator.version)).peekable();
            pinning.peek().is_some() && pinning.all(|one| self.gets_nothing(one))
        };
        // What others skip comes only if somebody asks for it, and then serves all.
        let is_skipped = |item: &Item| match *item {
            Item::Installed(_) => false,
            Item::Offered(catalog, package, channel, _) => {
                let package = &self.input.catalogs[catalog].packages[package];
                let name = self.operator(*item).name;
                let skipped = skipped(package, &package.channels[channel]);
                skipped.iter().any(|one| *one == name)
            }
        };
        let exceptional = gotten
            .iter()
            .filter(|item| is_skipped(item) || is_held(item));
        let exceptional: Vec<Item> = exceptional.copied().collect();
        found.retain(|item| !exceptional.contains(item));
        found.extend(exceptional);
        found.retain(|&item| matches(need, &self.operator(item)));
        found
    }

    /// Whether a Subscription names a channel, or begins with something of it.
    fn is_named(&self, catalog: usize, package: &PackageInput, channel: &ChannelInput) -> bool {
        let mut own = self.subscriptions_to(&package.name);
        own.any(|one| {
            let mut entries = channel.entries.iter();
            let is_named = match one.channel.as_str() {
                "" => entries.any(|entry| entry.name == one.starting_csv),
                named => named == channel.name,
            };
            let named = one.catalog.as_deref().unwrap();
            is_named && (named.is_empty() || named == self.input.catalogs[catalog].name)
        })
    }

    /// What Subscriptions that are not set aside may get, in the order in which they come.
    fn gotten(&self) -> Vec<Item> {
        let mut subscriptions: Vec<&SubscriptionInput> = self.input.subscriptions.iter().collect();
        subscriptions.sort_by_key(|one| &one.name);
        let mut gotten: Vec<Item> = Vec::new();
        for subscription in subscriptions {
            if self.aside.borrow().contains(&subscription.name) {
                continue;
            }
            for item in self.of_subscription(subscription) {
                if matches!(item, Item::Offered(..)) && !gotten.contains(&item) {
                    gotten.push(item);
                }
            }
        }
        gotten
    }

    fn by_preference(&self, parent: Option<usize>) -> Vec<usize> {
        let mut catalogs: Vec<usize> = (0..self.input.catalogs.len()).collect();
        catalogs.sort_by_key(|&at| {
            let CatalogInput {
                name,
                namespace,
                priority,
                ..
            } = &self.input.catalogs[at];
            (parent != Some(at), -priority, namespace.is_none(), name)
        });
        catalogs
    }

    /// Default channels first, then by the names of packages and channels.
    fn channels(
        &self,
        catalog: usize,
        wanted: &dyn Fn(&PackageInput, &ChannelInput) -> bool,
    ) -> Vec<(usize, usize)> {
        let packages = &self.input.catalogs[catalog].packages;
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (at, package) in packages.iter().enumerate() {
            let channels = package.channels.iter().enumerate();
            found.extend(
                channels
                    .filter(|(_, channel)| wanted(package, channel))
                    .map(|(channel, _)| (at, channel)),
            );
        }
        found.sort_by_key(|&(package, channel)| {
            let package = &packages[package];
            let channel = &package.channels[channel].name;
            (*channel != package.default_channel, &package.name, channel)
        });
        found
    }

    fn offers(
        &self,
        catalog: usize,
        package: usize,
        channel: usize,
        names: &[&String],
    ) -> Vec<Item> {
        let bundles = &self.input.catalogs[catalog].packages[package].bundles;
        let mut found = Vec::new();
        for name in names {
            let at = bundles
                .iter()
                .position(|bundle| bundle.name == **name)
                .unwrap();
            if self.runs(&bundles[at]) {
                found.push(Item::Offered(catalog, package, channel, at));
            }
        }
        found
    }

    /// Whether a bundle can be installed at all.
    fn runs(&self, bundle: &BundleInput) -> bool {
        let runs = match (&bundle.min_kube_version, &self.input.kube_version) {
            (Some(needed), Some(has)) => version(has) >= version(needed),
            _ => true,
        };
        runs && !bundle.deprecated
    }
}

/// Whether the default channel of a package has no order.
fn lacks_default(package: &PackageInput) -> bool {
    let mut channels = package.channels.iter();
    let default = channels.find(|one| one.name == package.default_channel);
    default.is_some_and(|one| !one.entries.is_empty() && order(one).is_empty())
}

/// Whether a Subscription wants a version.
fn wants(subscription: &SubscriptionInput, version: &str) -> bool {
    let pin = subscription.version.as_deref();
    pin.is_none_or(|pin| {
        let pin = UserRange::parse(pin).unwrap();
        pin.contains(&self::version(version))
    })
}

/// The entries of a channel that upgrade a bundle, the newest first.
fn upgrades<'a>(channel: &'a ChannelInput, name: &str, version: &str) -> Vec<&'a String> {
    let upgrades = |newer: &&String| {
        let mut entries = channel.entries.iter();
        let entry = entries.find(|entry| entry.name == **newer).unwrap();
        let range = Range::parse(&entry.skip_range);
        entry.replaces == name
            || entry.skips.iter().any(|skipped| skipped == name)
            || range.is_ok_and(|range| range.contains(&self::version(version)))
    };
    order(channel).into_iter().filter(upgrades).collect()
}

/// The entries of a channel that others skip, the newest first.
fn skipped<'a>(package: &'a PackageInput, channel: &'a ChannelInput) -> Vec<&'a String> {
    let in_order = order(channel);
    if in_order.is_empty() {
        return in_order;
    }
    let entries = channel.entries.iter().map(|entry| &entry.name);
    let mut skipped: Vec<&String> = entries.filter(|name| !in_order.contains(name)).collect();
    skipped.sort_by_key(|name| {
        let mut bundles = package.bundles.iter();
        let bundle = bundles.find(|bundle| bundle.name == **name).unwrap();
        std::cmp::Reverse(version(&bundle.version))
    });
    skipped
}

/// From the head along the replacements, without what is skipped; nothing if there are two heads.
fn order(channel: &ChannelInput) -> Vec<&String> {
    let skipped: Vec<&String> = channel
        .entries
        .iter()
        .flat_map(|entry| &entry.skips)
        .collect();
    let replaced: Vec<&String> = channel
        .entries
        .iter()
        .map(|entry| &entry.replaces)
        .collect();
    let mut heads = channel
        .entries
        .iter()
        .filter(|entry| !skipped.contains(&&entry.name) && !replaced.contains(&&entry.name));
    let mut next = heads.next().filter(|_| heads.next().is_none());
    let mut order = Vec::new();
    while let Some(entry) = next {
        order.push(&entry.name);
        next = channel
            .entries
            .iter()
            .find(|other| other.name == entry.replaces);
    }
    order.retain(|name| !skipped.contains(name));
    order
}

/// Whether an operator meets a need.
pub fn matches(need: &Requires, operator: &Operator<'_>) -> bool {
    let provides = |api: &str| operator.provides.iter().any(|own| own == api);
    let is_package = |name: &str, range: &str| {
        operator.package == name
            && Range::parse(range)
                .unwrap()
                .contains(&version(operator.version))
    };
    match need {
        Requires::Api { api } => provides(api),
        Requires::Package { package, range } => is_package(package, range),
        Requires::Label { label } => operator.labels.contains(label),
        Requires::Constraint { constraint } => {
            let parts = |kind: &str| {
                constraint[kind]["constraints"].as_array().map(|parts| {
                    let meets = |part: &Value| {
                        matches(
                            &Requires::Constraint {
                                constraint: part.clone(),
                            },
                            operator,
                        )
                    };
                    parts.iter().map(meets).collect::<Vec<bool>>()
                })
            };
            let text = |kind: &str, field: &str| {
                constraint[kind][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            if let Some(all) = parts("all") {
                all.iter().all(|part| *part)
            } else if let Some(any) = parts("any") {
                any.iter().any(|part| *part)
            } else if let Some(not) = parts("not") {
                !not.iter().any(|part| *part)
            } else if constraint.get("gvk").is_some() {
                provides(
                    &["group", "version", "kind"]
                        .map(|field| text("gvk", field))
                        .join("/"),
                )
            } else {
                is_package(
                    &text("package", "packageName"),
                    &text("package", "versionRange"),
                )
            }
        }
    }
}

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}
