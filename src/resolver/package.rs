//! A package as the resolver sees it: versions, ranges and needs are read, channels have an order.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde_json::json;

use super::constraint::{ConstraintError, requirements};
use super::features::{Features, Properties};
use super::predicate::Requirement;
use crate::bundle::property::PACKAGE;
use crate::catalog::fbc;
use crate::catalog::graph::{OrderError, order};
use crate::catalog::index::{BrokenChannel, BundleRecord, PackageRecord};
use crate::version::{Range, Version};

/// A package of a catalog.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The channel a Subscription without one follows first.
    pub default_channel: String,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    /// Its channels: the default channel first, then by name.
    pub channels: Vec<Channel>,
    /// Its bundles.
    pub bundles: Vec<Bundle>,
    by_name: HashMap<String, usize>,
}

impl Package {
    /// A package with its channels in the order in which they are preferred.
    pub fn new(
        name: String,
        default_channel: String,
        mut channels: Vec<Channel>,
        bundles: Vec<Bundle>,
    ) -> Self {
        channels.sort_by(|a, b| {
            let is_other = |channel: &Channel| channel.name() != default_channel;
            (is_other(a), a.name()).cmp(&(is_other(b), b.name()))
        });
        Self {
            name,
            default_channel,
            deprecation: None,
            channels,
            by_name: bundles
                .iter()
                .enumerate()
                .map(|(at, bundle)| (bundle.name.clone(), at))
                .collect(),
            bundles,
        }
    }

    /// The entries of the channel at a position, in order.
    pub(super) fn listing(&self, channel: usize) -> Result<&Listing, &Malformed> {
        // Positions are those of the channels of this package.
        let channel = &self.channels[channel];
        let listing = channel
            .listing
            .get_or_init(|| Listing::new(self, channel).map_err(Clone::clone));
        listing.as_ref()
    }

    /// The positions of the bundles that the channel at a position lists, in whatever order.
    pub(super) fn listed(&self, channel: usize) -> &[usize] {
        // As above.
        let channel = &self.channels[channel];
        channel.bundles.get_or_init(|| {
            let entries = channel.entries().iter();
            entries
                .filter_map(|entry| Some(self.bundle(&entry.name)?.0))
                .collect()
        })
    }

    /// Why nobody can follow the default channel, if that is so.
    pub fn broken_default(&self) -> Option<&Malformed> {
        let first = self.channels.first()?;
        let is_default = first.name() == self.default_channel;
        self.listing(0).err().filter(|_| is_default)
    }

    /// What is wrong with the channels that the catalog leaves out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &Malformed> {
        let channels = self.channels.iter();
        let malformed = channels.filter_map(|channel| channel.order.get()?.as_ref().err());
        malformed.filter(|malformed| matches!(malformed, Malformed::LeftOut { .. }))
    }

    /// A bundle and its position, by its name.
    pub fn bundle(&self, name: &str) -> Option<(usize, &Bundle)> {
        let at = *self.by_name.get(name)?;
        Some((at, self.bundles.get(at)?))
    }
}

impl From<PackageRecord> for Package {
    fn from(record: PackageRecord) -> Self {
        let channels = record.channels.into_iter().map(|channel| {
            let entries = channel.entries.into_iter().filter_map(|entry| {
                let bundle = record.bundles.get(entry.bundle as usize)?;
                Some(fbc::Entry {
                    name: bundle.name.clone(),
                    replaces: entry.replaces,
                    skips: entry.skips,
                    skip_range: entry.skip_range,
                })
            });
            let listed = fbc::Channel {
                package: record.name.clone(),
                name: channel.name,
                entries: entries.collect(),
                properties: Vec::new(),
            };
            Channel::new(listed, channel.deprecation)
        });
        let broken = record.broken_channels.into_iter();
        let broken = broken.map(|broken| Channel::broken(&record.name, broken));
        let channels = channels.chain(broken).collect();
        let mut bundles = record.bundles;
        let mut properties = record.properties;
        for bundle in &mut bundles {
            let own = bundle
                .properties
                .iter()
                .map(|&at| properties.get(at as usize));
            if own.flatten().any(|(kind, _)| kind == PACKAGE) {
                continue;
            }
            // There are never as many properties as that.
            let at = u32::try_from(properties.len()).unwrap_or(u32::MAX);
            bundle.properties.push(at);
            properties.push(own_package(&record.name, &bundle.version));
        }
        let properties = Properties::new(properties);
        let bundles = bundles.into_iter();
        let bundles = bundles.map(|bundle| Bundle::from_record(&record.name, bundle, &properties));
        let bundles = bundles.collect();
        Self {
            deprecation: record.deprecation,
            ..Self::new(record.name, record.default_channel, channels, bundles)
        }
    }
}

/// Why nobody can follow a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Its entries have no order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// Something else is wrong with it, and its catalog leaves it out.
    #[error("channel {channel:?} of package {package:?} is broken and left out: {problem}")]
    LeftOut {
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
        /// What is wrong.
        problem: String,
    },
}

/// A channel of a package.
#[derive(Debug)]
pub struct Channel {
    listed: fbc::Channel,
    /// Why it should no longer be used, if that is so.
    pub deprecation: Option<String>,
    order: OnceLock<Result<Vec<usize>, Malformed>>,
    skip_ranges: OnceLock<Vec<Option<Range>>>,
    /// What [`Package::listing`] and [`Package::listed`] found.
    listing: OnceLock<Result<Listing, Malformed>>,
    bundles: OnceLock<Vec<usize>>,
}

/// The entries of a channel whose bundles there are: their positions in the channel, and those of their
/// bundles in the package.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// From the newest to the oldest.
    pub(super) in_order: Vec<(usize, usize)>,
    /// Those that others skip, the newest version first.
    pub(super) skipped: Vec<(usize, usize)>,
    /// The bundles of those.
    pub(super) are_skipped: HashSet<usize>,
}

impl Listing {
    fn new<'p>(package: &Package, channel: &'p Channel) -> Result<Self, &'p Malformed> {
        let position = |entry: usize| {
            let name = &channel.entries().get(entry)?.name;
            Some((entry, package.bundle(name)?.0))
        };
        let order = channel.order()?.iter();
        let in_order: Vec<(usize, usize)> = order.filter_map(|&entry| position(entry)).collect();
        let mut skipped = Vec::new();
        // A channel without a beginning offers nothing.
        if !in_order.is_empty() {
            let known: HashSet<(usize, usize)> = in_order.iter().copied().collect();
            let all = (0..channel.entries().len()).filter_map(position);
            skipped.extend(all.filter(|both| !known.contains(both)));
            let version = |&(_, at): &(usize, usize)| package.bundles.get(at)?.version.as_ref();
            skipped.sort_by(|a, b| version(b).cmp(&version(a)));
        }
        Ok(Self {
            are_skipped: skipped.iter().map(|(_, bundle)| *bundle).collect(),
            in_order,
            skipped,
        })
    }
}

impl Channel {
    /// A channel as the catalog lists it.
    pub fn new(listed: fbc::Channel, deprecation: Option<String>) -> Self {
        Self {
            listed,
            deprecation,
            order: OnceLock::new(),
            skip_ranges: OnceLock::new(),
            listing: OnceLock::new(),
            bundles: OnceLock::new(),
        }
    }

    /// A channel that the catalog has and does not serve.
    fn broken(package: &str, broken: BrokenChannel) -> Self {
        let listed = fbc::Channel {
            package: package.to_owned(),
            name: broken.name.clone(),
            entries: Vec::new(),
            properties: Vec::new(),
        };
        let malformed = Malformed::LeftOut {
            channel: broken.name,
            package: package.to_owned(),
            problem: broken.problem,
        };
        Self {
            order: OnceLock::from(Err(malformed)),
            ..Self::new(listed, None)
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.listed.name
    }

    /// Its entries as they are listed.
    pub fn entries(&self) -> &[fbc::Entry] {
        &self.listed.entries
    }

    /// The positions of its entries from the newest to the oldest, without those that others skip.
    pub fn order(&self) -> Result<&[usize], &Malformed> {
        let order = self.order.get_or_init(|| {
            let names = order(&self.listed)?;
            let mut positions = HashMap::new();
            for (at, entry) in self.listed.entries.iter().enumerate() {
                positions.entry(entry.name.as_str()).or_insert(at);
            }
            let positions = names.into_iter().filter_map(|name| positions.get(name));
            Ok(positions.copied().collect())
        });
        order.as_deref()
    }

    /// Whether an entry is an upgrade of an installed CSV.
    pub fn upgrades(&self, entry: usize, name: &str, version: Option<&Version>) -> bool {
        let Some(listed) = self.listed.entries.get(entry) else {
            return false;
        };
        if listed.replaces == name || listed.skips.iter().any(|skipped| skipped == name) {
            return true;
        }
        let ranges = self.skip_ranges.get_or_init(|| {
            let entries = self.listed.entries.iter();
            // OLM ignores ranges that it cannot read; `catalog lint` reports them.
            entries
                .map(|entry| Range::parse(&entry.skip_range).ok())
                .collect()
        });
        let range = ranges.get(entry).and_then(Option::as_ref);
        range
            .zip(version)
            .is_some_and(|(range, version)| range.contains(version))
    }
}

/// A bundle of a package.
#[derive(Debug)]
pub struct Bundle {
    /// Its name, which is that of its CSV.
    pub name: String,
    /// Its version, if it has one that can be read.
    pub version: Option<Version>,
    /// The image with its manifests.
    pub image: String,
    /// What it provides, and everything else others can ask for.
    pub features: Features,
    /// The oldest Kubernetes it runs on.
    pub min_kube_version: Option<Version>,
    /// What it says instead of that, where it is no version. It runs nowhere then.
    pub unreadable_kube_version: Option<String>,
    /// Why it should no longer be used, if that is so. It can be installed all the same.
    pub deprecation: Option<String>,
    requirements: OnceLock<Result<Vec<Requirement>, ConstraintError>>,
}

impl Bundle {
    /// A bundle of a package, with properties as type and JSON.
    pub fn new(
        package: &str,
        name: String,
        version: &str,
        mut properties: Vec<(String, String)>,
    ) -> Self {
        // Rules can ask for the package of a bundle that does not say it.
        if properties.iter().all(|(kind, _)| kind != PACKAGE) {
            properties.push(own_package(package, version));
        }
        let version = Version::parse_tolerant(version).ok();
        Self {
            features: Features::new(Some(package), version.as_ref(), properties),
            name,
            version,
            image: String::new(),
            min_kube_version: None,
            unreadable_kube_version: None,
            deprecation: None,
            requirements: OnceLock::new(),
        }
    }

    /// Reads the oldest Kubernetes it runs on, as it is checked again when the bundle is installed.
    pub fn asks_for_kubernetes(&mut self, text: &str) {
        let least = Version::of_kubernetes(text);
        self.unreadable_kube_version = least.is_err().then(|| text.to_owned());
        self.min_kube_version = least.ok().flatten();
    }

    fn from_record(package: &str, record: BundleRecord, properties: &Properties) -> Self {
        let version = Version::parse_tolerant(&record.version).ok();
        let own = record.properties.iter().map(|&at| at as usize);
        let mut bundle = Self {
            features: properties.features(Some(package), version.as_ref(), own),
            name: record.name,
            version,
            image: record.image,
            min_kube_version: None,
            unreadable_kube_version: None,
            deprecation: record.deprecation,
            requirements: OnceLock::new(),
        };
        bundle.asks_for_kubernetes(&record.min_kube_version);
        bundle
    }

    /// Whether it runs on this Kubernetes. Vendors mark their builds (`1.33.4-gke.1200`), which does not
    /// make them older than what they are built of.
    pub fn runs_on(&self, kubernetes: &Version) -> bool {
        let release = |version: &Version| (version.major(), version.minor(), version.patch());
        let needed = self.min_kube_version.as_ref();
        needed.is_none_or(|needed| release(kubernetes) >= release(needed))
    }

    /// What it needs of other operators.
    pub fn requirements(&self) -> Result<&[Requirement], &ConstraintError> {
        let requirements = self
            .requirements
            .get_or_init(|| requirements(self.features.properties()));
        requirements.as_deref()
    }
}

/// The property that says of which package and version a bundle is.
fn own_package(package: &str, version: &str) -> (String, String) {
    let value = json!({"packageName": package, "version": version});
    (PACKAGE.to_owned(), value.to_string())
}
