//! Random problems for the resolver: small, full of conflicts, and the same for the same seed.

use chandler::catalog::fbc;
use serde_json::json;

use super::scenario::{
    BundleInput, CatalogInput, ChannelInput, Input, InstalledInput, PackageInput, Requires,
    SubscriptionInput,
};

const PACKAGES: [&str; 5] = ["ant", "bee", "cat", "dog", "elk"];
const CHANNELS: [&str; 3] = ["stable", "beta", "alpha"];
const LABELS: [&str; 2] = ["blue", "red"];
const RANGES: [&str; 8] = [
    ">=1.0.0",
    "<1.2.0",
    ">1.2.0",
    "1.1.0",
    ">=1.1.0 <1.3.0",
    "!1.2.0",
    "<1.1.0 || >1.3.0",
    ">9.0.0",
];

const PINS: [&str; 6] = ["1.0.0", "1.1.0", ">=1.1", "<1.2", "!=1.1", "7"];

/// Which fields a problem may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taste {
    /// All that the resolver knows of.
    Everything,
    /// Only what OLM knows too.
    Olm,
}

/// `splitmix64`: chance that a seed repeats.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Puts things in another order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for at in (1..things.len()).rev() {
            things.swap(at, self.below(at + 1));
        }
    }
}

/// How large a problem may be.
struct Size {
    catalogs: usize,
    packages: usize,
    channels: usize,
    versions: usize,
    subscriptions: usize,
}

/// What goes wrong mostly goes wrong in a few packages of a few versions, and many such problems
/// can be tried in the time of a large one.
const TINY: Size = Size {
    catalogs: 2,
    packages: 2,
    channels: 2,
    versions: 2,
    subscriptions: 2,
};
const SMALL: Size = Size {
    catalogs: 2,
    packages: 3,
    channels: 2,
    versions: 3,
    subscriptions: 3,
};
const LARGE: Size = Size {
    catalogs: 3,
    packages: PACKAGES.len(),
    channels: CHANNELS.len(),
    versions: 5,
    subscriptions: 4,
};
const LARGE_EVERY: u64 = 256;
const SMALL_EVERY: u64 = 16;

/// The problem of a seed.
pub fn input(seed: u64, taste: Taste) -> Input {
    let size = if seed.is_multiple_of(LARGE_EVERY) {
        LARGE
    } else if seed.is_multiple_of(SMALL_EVERY) {
        SMALL
    } else {
        TINY
    };
    let mut chance = Chance::new(seed);
    let packages = chance.between(1, size.packages);
    let names = &PACKAGES[..packages];
    let catalogs = if chance.happens(75) {
        1
    } else {
        chance.between(2, size.catalogs)
    };
    let catalogs: Vec<CatalogInput> = (0..catalogs)
        .map(|at| catalog(&mut chance, at, names, &size, taste))
        .collect();
    let mut input = Input {
        kube_version: (taste == Taste::Everything && chance.happens(50)).then(|| "1.30.0".into()),
        catalogs,
        ..Input::default()
    };
    for at in 0..chance.between(1, size.subscriptions) {
        let mut subscription = subscription(&mut chance, at, names, &input);
        if taste == Taste::Everything {
            wish(&mut chance, &mut subscription);
        }
        input.subscriptions.push(subscription);
    }
    install(&mut chance, &mut input);
    input
}

/// The same problem, told in another order.
pub fn shuffled(input: &Input, seed: u64) -> Input {
    let mut chance = Chance::new(!seed);
    let mut input = input.clone();
    // A Subscription that names no catalog means the first one.
    for subscription in &mut input.subscriptions {
        let first = input.catalogs.first();
        let first = first.map(|catalog| catalog.name.clone());
        subscription.catalog = subscription.catalog.clone().or(first);
    }
    for catalog in &mut input.catalogs {
        for package in &mut catalog.packages {
            for channel in &mut package.channels {
                chance.shuffle(&mut channel.entries);
            }
            chance.shuffle(&mut package.channels);
            chance.shuffle(&mut package.bundles);
        }
        chance.shuffle(&mut catalog.packages);
    }
    chance.shuffle(&mut input.catalogs);
    chance.shuffle(&mut input.installed);
    chance.shuffle(&mut input.subscriptions);
    input
}

fn catalog(
    chance: &mut Chance,
    at: usize,
    names: &[&str],
    size: &Size,
    taste: Taste,
) -> CatalogInput {
    let mut packages = Vec::new();
    for number in 0..names.len() {
        if at == 0 || chance.happens(50) {
            packages.push(package(chance, number, names, size, taste));
        }
    }
    CatalogInput {
        name: ["one", "two", "three"][at].into(),
        namespace: chance.happens(20).then(|| "operators".into()),
        priority: [0, 0, 0, 1, -1][chance.below(5)],
        packages,
        ..CatalogInput::default()
    }
}

fn package(
    chance: &mut Chance,
    number: usize,
    names: &[&str],
    size: &Size,
    taste: Taste,
) -> PackageInput {
    let name = names[number];
    let versions = chance.between(1, size.versions);
    let bundles: Vec<BundleInput> = (0..versions)
        .map(|minor| bundle(chance, number, name, minor, names, taste))
        .collect();
    let count = chance.between(1, size.channels);
    let channels = CHANNELS[..count]
        .iter()
        .map(|channel| self::channel(chance, channel, &bundles))
        .collect();
    PackageInput {
        name: name.into(),
        default_channel: CHANNELS[chance.below(count)].into(),
        channels,
        bundles,
        ..PackageInput::default()
    }
}

fn channel(chance: &mut Chance, name: &str, bundles: &[BundleInput]) -> ChannelInput {
    let mut entries: Vec<fbc::Entry> = Vec::new();
    let mut tail = String::new();
    for (minor, bundle) in bundles.iter().enumerate() {
        let is_last = minor + 1 == bundles.len() && entries.is_empty();
        if !is_last && chance.happens(25) {
            // Sometimes what is replaced is in another channel.
            tail.clone_from(&bundle.name);
            continue;
        }
        let mut entry = fbc::Entry {
            name: bundle.name.clone(),
            ..fbc::Entry::default()
        };
        match entries.last() {
            Some(before) if !before.replaces.is_empty() && chance.happens(20) => {
                entry.replaces.clone_from(&before.replaces);
                entry.skips = vec![before.name.clone()];
            }
            Some(before) => entry.replaces.clone_from(&before.name),
            None => entry.replaces.clone_from(&tail),
        }
        if chance.happens(15) {
            let from = chance.below(minor + 1);
            entry.skip_range = format!(">=1.{from}.0 <1.{minor}.0");
        }
        entries.push(entry);
    }
    if chance.happens(1) {
        // A channel that has no order.
        for entry in &mut entries {
            entry.replaces.clear();
        }
    }
    ChannelInput {
        name: name.into(),
        entries,
        ..ChannelInput::default()
    }
}

fn bundle(
    chance: &mut Chance,
    number: usize,
    package: &str,
    minor: usize,
    names: &[&str],
    taste: Taste,
) -> BundleInput {
    let mut provides = Vec::new();
    if chance.happens(75) {
        provides.push(api(number));
    }
    if chance.happens(12) {
        let other = chance.below(names.len());
        provides.push(api(other));
        provides.dedup();
    }
    let count = [0, 0, 1, 1, 2][chance.below(5)];
    let requires = (0..count).map(|_| need(chance, names)).collect();
    let old = taste == Taste::Everything && chance.happens(10);
    BundleInput {
        name: format!("{package}.v1.{minor}.0"),
        version: format!("1.{minor}.0"),
        provides,
        requires,
        labels: LABELS
            .iter()
            .filter(|_| chance.happens(20))
            .map(|&label| label.to_owned())
            .collect(),
        min_kube_version: old.then(|| ["1.20.0", "1.99.0"][chance.below(2)].into()),
        deprecated: chance.happens(4),
        ..BundleInput::default()
    }
}

fn api(number: usize) -> String {
    format!("zoo.example.com/v1/Kind{number}")
}

fn need(chance: &mut Chance, names: &[&str]) -> Requires {
    match chance.below(20) {
        0..8 => Requires::Api {
            api: if chance.happens(3) {
                api(9)
            } else {
                api(chance.below(names.len()))
            },
        },
        8..15 => Requires::Package {
            package: chance.one(names).to_owned(),
            range: chance.one(&RANGES).to_owned(),
        },
        15..17 => Requires::Label {
            label: chance.one(&LABELS).to_owned(),
        },
        _ => {
            let kind = ["all", "any", "not"][chance.below(3)];
            let api = format!("Kind{}", chance.below(names.len()));
            let (package, range) = (chance.one(names), chance.one(&RANGES));
            let gvk = json!({"gvk": {"group": "zoo.example.com", "version": "v1", "kind": api}});
            let package = json!({"package": {"packageName": package, "versionRange": range}});
            let constraint = if kind == "not" {
                json!({"all": {"constraints": [package, {"not": {"constraints": [gvk]}}]}})
            } else {
                json!({kind: {"constraints": [gvk, package]}})
            };
            Requires::Constraint { constraint }
        }
    }
}

fn subscription(
    chance: &mut Chance,
    at: usize,
    names: &[&str],
    input: &Input,
) -> SubscriptionInput {
    let catalog = &input.catalogs[chance.below(input.catalogs.len())];
    let offered: Vec<&PackageInput> = catalog.packages.iter().collect();
    let mut subscription = SubscriptionInput {
        name: format!("{}-{at}", ["s", "m", "a"][chance.below(3)]),
        catalog: Some(catalog.name.clone()),
        package: Some(chance.one(names).into()),
        ..SubscriptionInput::default()
    };
    if offered.is_empty() || chance.happens(2) {
        return subscription;
    }
    // Two Subscriptions to one package rarely go together.
    let is_new = |package: &&PackageInput| {
        let mut others = input.subscriptions.iter();
        !others.any(|other| other.package.as_ref() == Some(&package.name))
    };
    let unasked: Vec<&PackageInput> = offered.iter().copied().filter(is_new).collect();
    let package = if unasked.is_empty() || chance.happens(20) {
        chance.one(&offered)
    } else {
        chance.one(&unasked)
    };
    subscription.package = Some(package.name.clone());
    match chance.below(50) {
        0..20 => {}
        20..49 => {
            let channels: Vec<&ChannelInput> = package.channels.iter().collect();
            let channel = chance.one(&channels);
            subscription.channel.clone_from(&channel.name);
        }
        _ => "gone".clone_into(&mut subscription.channel),
    }
    if chance.happens(10) {
        let bundles: Vec<&BundleInput> = package.bundles.iter().collect();
        let first = &chance.one(&bundles).name;
        subscription.starting_csv.clone_from(first);
    }
    subscription
}

/// What OLM's Subscriptions cannot say.
fn wish(chance: &mut Chance, subscription: &mut SubscriptionInput) {
    if chance.happens(15) {
        subscription.version = Some(chance.one(&PINS).to_owned());
    }
    if chance.happens(15) {
        subscription.dependencies = Some("Require".into());
    }
    if chance.happens(10) {
        // Any catalog.
        subscription.catalog = Some(String::new());
    }
}

/// Installs operators, some of them with a Subscription, some in the middle of an upgrade.
fn install(chance: &mut Chance, input: &mut Input) {
    if chance.happens(45) {
        return;
    }
    let mut installed: Vec<InstalledInput> = Vec::new();
    for catalog in &input.catalogs {
        for package in &catalog.packages {
            let is_there = installed
                .iter()
                .any(|csv| csv.package.as_ref() == Some(&package.name));
            if is_there || !chance.happens(35) {
                continue;
            }
            let bundles: Vec<&BundleInput> = package.bundles.iter().collect();
            let bundle = chance.one(&bundles);
            let mut csv = csv(package, bundle);
            let owner = input
                .subscriptions
                .iter_mut()
                .find(|subscription| subscription.package.as_ref() == Some(&package.name));
            match owner {
                Some(owner) if chance.happens(85) => owner.installed_csv.clone_from(&csv.name),
                // Strangers contradict each other quickly.
                _ if chance.happens(60) => continue,
                _ => {}
            }
            if bundle.name != bundles[0].name && chance.happens(8) {
                let before = self::csv(package, bundles[0]);
                csv.replaces.clone_from(&before.name);
                csv.phase = Some(["Succeeded", "Failed", "Installing"][chance.below(3)].into());
                installed.push(InstalledInput {
                    phase: Some("Replacing".into()),
                    ..before
                });
            }
            installed.push(csv);
        }
    }
    input.installed = installed;
}

fn csv(package: &PackageInput, bundle: &BundleInput) -> InstalledInput {
    InstalledInput {
        name: bundle.name.clone(),
        version: bundle.version.clone(),
        package: Some(package.name.clone()),
        provides: bundle.provides.clone(),
        requires: bundle.requires.clone(),
        labels: bundle.labels.clone(),
        ..InstalledInput::default()
    }
}
