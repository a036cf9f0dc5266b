//! The semver template: channels and upgrades from nothing but versions.
//!
//! Bundles are listed under `candidate`, `fast` and `stable`. Each list gives a channel for each
//! major version (`stable-v1`), for each minor version (`stable-v1.2`), or both. Within a major
//! version the last patch of each minor version replaces the last patch of the minor version
//! before, and skips everything else that is older. Major versions are not linked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Rendered;
use crate::bundle::property;
use crate::catalog::fbc::validate::PackageProperty;
use crate::catalog::fbc::{Bundle, Catalog, Channel, Entry, Fields, Meta, Package};
use crate::version::Version;

pub(super) const SCHEMA: &str = "olm.semver";

/// How stable the bundles of a list are; the last is the most stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// `candidate`
    Candidate,
    /// `fast`
    Fast,
    /// `stable`
    Stable,
}

impl Stability {
    const ALL: [Self; 3] = [Self::Candidate, Self::Fast, Self::Stable];
}

impl fmt::Display for Stability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Candidate => "candidate",
            Self::Fast => "fast",
            Self::Stable => "stable",
        })
    }
}

/// What a channel spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChannelType {
    /// A major version.
    Major,
    /// A minor version.
    Minor,
}

/// A semver template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Semver {
    /// What the channels span; at least one.
    pub channel_types: Vec<ChannelType>,
    /// Which of them the default channel should be.
    pub preferred: ChannelType,
    /// The bundle images of each list.
    pub images: BTreeMap<Stability, Vec<String>>,
}

impl Semver {
    pub(super) fn read(mut fields: Fields) -> Result<Self, String> {
        let major = fields.flag("generateMajorChannels")?;
        let minor = fields.flag("generateMinorChannels")? || !major;
        let mut channel_types = Vec::new();
        channel_types.extend(major.then_some(ChannelType::Major));
        channel_types.extend(minor.then_some(ChannelType::Minor));
        let preferred = match fields.text("defaultChannelTypePreference")?.as_str() {
            "minor" => ChannelType::Minor,
            "" if minor => ChannelType::Minor,
            "" | "major" => ChannelType::Major,
            other => {
                return Err(format!(
                    "defaultChannelTypePreference: expected minor or major, found {other:?}"
                ));
            }
        };
        if !channel_types.contains(&preferred) {
            return Err(
                "defaultChannelTypePreference: there are no such channels: generate them or change it"
                    .to_owned(),
            );
        }
        let mut images = BTreeMap::new();
        for stability in Stability::ALL {
            let key = stability.to_string();
            let list = match fields.object(&key)? {
                None => Vec::new(),
                Some(mut list) => {
                    let read = list
                        .list("bundles", |mut bundle| {
                            let image = bundle.text("image")?;
                            nothing_left(&bundle)?;
                            Ok(image)
                        })
                        .map_err(|problem| format!("{key}.{problem}"))?;
                    nothing_left(&list).map_err(|problem| format!("{key}: {problem}"))?;
                    read
                }
            };
            images.insert(stability, list);
        }
        nothing_left(&fields)?;
        Ok(Self {
            channel_types,
            preferred,
            images,
        })
    }

    pub(super) fn images(&self) -> impl Iterator<Item = &str> {
        self.images.values().flatten().map(String::as_str)
    }

    pub(super) fn expand(&self, rendered: &BTreeMap<String, Rendered>) -> Result<Catalog, String> {
        let versions = self.versions(rendered)?;
        let package = versions.package.ok_or("the template names no bundles")?;
        let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
        let mut best: Option<Candidate> = None;
        for stability in Stability::ALL {
            let Some(bundles) = versions.by_stability.get(&stability) else {
                continue;
            };
            for &channel_type in &self.channel_types {
                for channel in link(&package, stability, channel_type, bundles) {
                    let (first, channel) = channel;
                    let candidate = Candidate {
                        stability,
                        version: first,
                        channel_type,
                        name: channel.name.clone(),
                    };
                    if best
                        .as_ref()
                        .is_none_or(|best| candidate.is_better(best, self.preferred))
                    {
                        best = Some(candidate);
                    }
                    channels.insert(channel.name.clone(), channel);
                }
            }
        }
        let default_channel = best.map(|best| best.name).unwrap_or_default();
        // Bundles are in a channel in the order of their versions: the last is the head.
        let head = channels
            .get(&default_channel)
            .and_then(|channel| channel.entries.last())
            .and_then(|head| {
                rendered
                    .values()
                    .find(|rendered| rendered.bundle.name == head.name)
            });
        let definition = Package {
            name: package,
            default_channel,
            icon: head.and_then(|head| head.icon.clone()),
            description: head
                .map(|head| head.description.clone())
                .unwrap_or_default(),
            properties: Vec::new(),
        };
        // A bundle may be listed here by its tag and there by its digest.
        let mut bundles: Vec<&Bundle> = Vec::new();
        for rendered in rendered.values() {
            if !bundles.contains(&&rendered.bundle) {
                bundles.push(&rendered.bundle);
            }
        }
        Ok(std::iter::once(Meta::Package(definition))
            .chain(channels.into_values().map(Meta::Channel))
            .chain(bundles.into_iter().cloned().map(Meta::Bundle))
            .collect())
    }

    fn versions(&self, rendered: &BTreeMap<String, Rendered>) -> Result<Versions, String> {
        let mut versions = Versions::default();
        for (stability, images) in &self.images {
            let mut bundles: Vec<(Version, String)> = Vec::new();
            let mut names = BTreeSet::new();
            for image in images {
                let bundle = match rendered.get(image) {
                    Some(rendered) => &rendered.bundle,
                    None => return Err(format!("bundle image {image:?} was not rendered")),
                };
                let (package, version) = package_and_version(bundle)?;
                match &versions.package {
                    None => versions.package = Some(package),
                    Some(known) if *known == package => {}
                    Some(known) => {
                        return Err(format!(
                            "bundle {:?} is of the package {package:?}, others are of {known:?}: \
                             a template is for one package",
                            bundle.name
                        ));
                    }
                }
                if !names.insert(&bundle.name) {
                    return Err(format!(
                        "bundle {:?} is twice in {stability}: remove one of them",
                        bundle.name
                    ));
                }
                bundles.push((version, bundle.name.clone()));
            }
            bundles.sort_by(|(a, _), (b, _)| a.precedence(b));
            for pair in bundles.windows(2) {
                if let [(first, _), (second, _)] = pair
                    && first.precedence(second).is_eq()
                {
                    return Err(format!(
                        "versions {first} and {second} in {stability} differ at most in build \
                         metadata, so neither is newer: remove one of them"
                    ));
                }
            }
            if !bundles.is_empty() {
                versions.by_stability.insert(*stability, bundles);
            }
        }
        Ok(versions)
    }
}

#[derive(Default)]
struct Versions {
    package: Option<String>,
    /// In ascending order, without two that are equal.
    by_stability: BTreeMap<Stability, Vec<(Version, String)>>,
}

fn package_and_version(bundle: &Bundle) -> Result<(String, Version), String> {
    let mut properties = bundle
        .properties
        .iter()
        .filter(|property| property.kind == property::PACKAGE);
    let (Some(property), None) = (properties.next(), properties.next()) else {
        return Err(format!(
            "bundle {:?} must have exactly one olm.package property",
            bundle.name
        ));
    };
    let wrong = |problem: String| format!("bundle {:?}: {problem}", bundle.name);
    let said = PackageProperty::read(&property.value).map_err(wrong)?;
    let version = Version::parse(&said.version).map_err(|error| wrong(error.to_string()))?;
    Ok((said.package_name, version))
}

/// The channels of one list and one type, each with its lowest version.
fn link(
    package: &str,
    stability: Stability,
    channel_type: ChannelType,
    bundles: &[(Version, String)],
) -> Vec<(Version, Channel)> {
    let mut channels: Vec<(Version, Channel)> = Vec::new();
    for major in bundles.chunk_by(|(a, _), (b, _)| a.major() == b.major()) {
        let mut older: BTreeSet<&str> = BTreeSet::new();
        let mut replaces = "";
        for minor in major.chunk_by(|(a, _), (b, _)| a.minor() == b.minor()) {
            for (index, (version, bundle)) in minor.iter().enumerate() {
                let mut entry = Entry {
                    name: bundle.clone(),
                    ..Entry::default()
                };
                if index + 1 == minor.len() {
                    replaces.clone_into(&mut entry.replaces);
                    let skips = older.iter().filter(|name| **name != replaces);
                    entry.skips = skips.map(|name| (*name).to_owned()).collect();
                    replaces = bundle;
                }
                older.insert(bundle);
                let name = match channel_type {
                    ChannelType::Major => format!("{stability}-v{}", version.major()),
                    ChannelType::Minor => {
                        format!("{stability}-v{}.{}", version.major(), version.minor())
                    }
                };
                match channels.last_mut() {
                    Some((_, channel)) if channel.name == name => channel.entries.push(entry),
                    _ => channels.push((
                        version.clone(),
                        Channel {
                            package: package.to_owned(),
                            name,
                            entries: vec![entry],
                            properties: Vec::new(),
                        },
                    )),
                }
            }
        }
    }
    channels
}

/// A channel that may become the default.
struct Candidate {
    stability: Stability,
    /// The lowest in the channel.
    version: Version,
    channel_type: ChannelType,
    name: String,
}

impl Candidate {
    /// The more stable one is better, then the one with the higher version, then the preferred type.
    fn is_better(&self, other: &Self, preferred: ChannelType) -> bool {
        self.stability
            .cmp(&other.stability)
            .then_with(|| self.version.precedence(&other.version))
            .then_with(|| {
                let preference = |candidate: &Self| candidate.channel_type == preferred;
                preference(self).cmp(&preference(other))
            })
            .then_with(|| self.channel_type.cmp(&other.channel_type))
            .is_gt()
    }
}

fn nothing_left(fields: &Fields) -> Result<(), String> {
    match fields.left().next() {
        None => Ok(()),
        Some(key) => Err(format!(
            "the field {key:?} is not known: remove or correct it"
        )),
    }
}
