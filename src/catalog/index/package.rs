//! From the blobs of one package to its record and card.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::record::{
    BrokenChannel, BundleRecord, ChannelRecord, EntryRecord, InstallModes, PackageRecord, Span,
    Summary,
};
use super::spool::Kind;
use crate::api::gvk::GroupVersionKind;
use crate::bundle::{Property, RelatedImage, property};
use crate::catalog::{fbc, text};
use crate::version::Version;

/// A package that is ready to be written.
pub(super) struct Built {
    pub(super) summary: Summary,
    pub(super) record: PackageRecord,
    /// The APIs its bundles provide, also those that are left out with a channel.
    pub(super) provides: BTreeSet<GroupVersionKind>,
    /// What is wrong with the channels that are left out of it.
    pub(super) problems: Vec<String>,
    /// The blobs behind the record: of the package, of the bundles in the record's order, others.
    pub(super) package_blob: Vec<u8>,
    pub(super) bundle_blobs: Vec<Vec<u8>>,
    pub(super) other_blobs: Vec<Vec<u8>>,
}

/// Reads the blobs of a package. The errors say what is wrong with them. A broken channel is left out with
/// the bundles that no other channel lists, as long as there is another channel.
pub(super) fn build(name: &str, blobs: Vec<(Kind, Vec<u8>)>) -> Result<Built, Vec<String>> {
    let mut parts = Parts::default();
    for (kind, blob) in blobs {
        parts.add(kind, blob).map_err(|problem| vec![problem])?;
    }
    let mut refused: Vec<fbc::Problem> = fbc::validate(name, &parts.checked)
        .into_iter()
        .filter(|problem| problem.rule.refuses())
        .collect();
    // The same is said whatever the order of the blobs.
    refused.sort_by(|a, b| (&a.channel, &a.bundle, a.rule).cmp(&(&b.channel, &b.bundle, b.rule)));
    let problems: Vec<String> = refused.iter().map(ToString::to_string).collect();
    let broken_channels = parts.leave_out_channels(&refused);
    let (Some(package), Some(package_blob), Some(broken_channels)) = (
        parts.checked.definitions.pop(),
        parts.package_blob.take(),
        broken_channels,
    ) else {
        return Err(problems);
    };
    let deprecated = Deprecated::new(&parts.checked.deprecations);
    parts.bundles.sort_by(|(a, ..), (b, ..)| a.order(b));
    let positions: BTreeMap<&str, usize> = parts
        .bundles
        .iter()
        .enumerate()
        .map(|(at, (bundle, ..))| (bundle.name.as_str(), at))
        .collect();
    let mut channels: Vec<ChannelRecord> = parts
        .checked
        .channels
        .iter()
        .map(|channel| channel_record(channel, &positions, &deprecated))
        .collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    let head = head(&parts.bundles, &channels, &package.default_channel);
    let summary = summary(&package, &parts.bundles, &channels, head, &deprecated);
    let mut bundles = Vec::with_capacity(parts.bundles.len());
    let mut bundle_blobs = Vec::with_capacity(parts.bundles.len());
    let mut properties = Properties::default();
    let mut provides = parts.not_served;
    for (mut bundle, blob) in parts.bundles {
        let deprecation = deprecated.of("olm.bundle", &bundle.name);
        provides.extend(std::mem::take(&mut bundle.provides));
        bundles.push(bundle.record(deprecation, &mut properties));
        bundle_blobs.push(blob);
    }
    let record = PackageRecord {
        name: package.name,
        default_channel: package.default_channel,
        deprecation: deprecated.of("olm.package", ""),
        channels,
        broken_channels,
        bundles,
        properties: properties.in_order(),
        package_blob: Span::default(),
        other_blobs: Vec::new(),
    };
    Ok(Built {
        summary,
        record,
        provides,
        problems,
        package_blob,
        bundle_blobs,
        other_blobs: parts.others.into_iter().map(|(_, blob)| blob).collect(),
    })
}

#[derive(Default)]
struct Parts {
    /// Everything, for the rules of a sound package; large properties without their values.
    checked: fbc::PackageBlobs,
    package_blob: Option<Vec<u8>>,
    bundles: Vec<(Brief, Vec<u8>)>,
    /// The APIs of bundles that are left out: whoever needs one is told why this package is of no use.
    not_served: BTreeSet<GroupVersionKind>,
    /// All other blobs, those of channels with the name of the channel.
    others: Vec<(Option<String>, Vec<u8>)>,
}

impl Parts {
    fn add(&mut self, kind: Kind, blob: Vec<u8>) -> Result<(), String> {
        if kind == Kind::Bundle {
            let (brief, checked) = Brief::read(&blob)
                .map_err(|error| format!("a blob `olm.bundle` cannot be read: {error}"))?;
            self.checked.bundles.push(checked);
            self.bundles.push((brief, blob));
            return Ok(());
        }
        let value = serde_json::from_slice(&blob).map_err(|error| error.to_string())?;
        let mut channel_name = None;
        match fbc::decode(value)? {
            fbc::Meta::Package(package) => {
                self.checked.definitions.push(package);
                self.package_blob = Some(blob);
                return Ok(());
            }
            fbc::Meta::Channel(channel) => {
                channel_name = Some(channel.name.clone());
                self.checked.channels.push(channel);
            }
            fbc::Meta::Deprecations(deprecations) => self.checked.deprecations.push(deprecations),
            fbc::Meta::Other(other) => self.checked.others.push(other),
            fbc::Meta::Bundle(bundle) => self.checked.bundles.push(bundle),
        }
        self.others.push((channel_name, blob));
        Ok(())
    }

    /// Leaves out the channels that break rules, and the bundles that no other channel lists. Nothing comes
    /// back if that would not help: the package itself is broken, or has no other channel.
    fn leave_out_channels(&mut self, refused: &[fbc::Problem]) -> Option<Vec<BrokenChannel>> {
        let mut broken: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        // Whom no channel lists, a broken one was likely to: its name is misspelled there, or nothing is listed.
        let (unlisted, others): (Vec<_>, Vec<_>) = refused
            .iter()
            .partition(|problem| problem.rule == fbc::Rule::BundleInChannel);
        for problem in others {
            let channel = problem.channel.as_deref();
            let channel = channel.filter(|_| problem.rule.is_of_one_channel())?;
            broken
                .entry(channel)
                .or_default()
                .push(problem.in_channel());
        }
        if broken.is_empty() {
            return unlisted.is_empty().then(Vec::new);
        }
        let is_sound = |channel: &str| !broken.contains_key(channel);
        let channels = &mut self.checked.channels;
        channels.retain(|channel| is_sound(&channel.name));
        let entries = channels.iter().flat_map(|channel| &channel.entries);
        let listed: BTreeSet<&str> = entries.map(|entry| entry.name.as_str()).collect();
        if listed.is_empty() {
            return None;
        }
        let all = std::mem::take(&mut self.bundles).into_iter();
        let (stay, gone): (Vec<_>, Vec<_>) =
            all.partition(|(brief, _)| listed.contains(&*brief.name));
        self.bundles = stay;
        self.not_served = gone.into_iter().flat_map(|(it, _)| it.provides).collect();
        self.others
            .retain(|(channel, _)| channel.as_deref().is_none_or(is_sound));
        let broken = broken.into_iter().map(|(name, problems)| BrokenChannel {
            name: name.to_owned(),
            problem: problems.join("; "),
        });
        Some(broken.collect())
    }
}

/// What the index needs of a bundle, without its large properties.
struct Brief {
    name: String,
    image: String,
    version: String,
    number: Option<Version>,
    provides: Vec<GroupVersionKind>,
    properties: Vec<(String, String)>,
    csv: CsvBrief,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBundle<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    image: Cow<'a, str>,
    #[serde(borrow, default)]
    package: Cow<'a, str>,
    #[serde(borrow, default)]
    properties: Vec<RawProperty<'a>>,
    #[serde(default, deserialize_with = "null_is_default")]
    related_images: Vec<RelatedImage>,
}

#[derive(Deserialize)]
struct RawProperty<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageProperty {
    version: String,
}

#[derive(Deserialize)]
struct BundleObject {
    data: String,
}

impl Brief {
    /// Reads a bundle: what the index holds of it, and what the rules look at.
    fn read(blob: &[u8]) -> Result<(Self, fbc::Bundle), serde_json::Error> {
        let raw: RawBundle<'_> = serde_json::from_slice(blob)?;
        let mut checked = fbc::Bundle {
            name: raw.name.clone().into_owned(),
            package: raw.package.into_owned(),
            image: raw.image.clone().into_owned(),
            properties: Vec::with_capacity(raw.properties.len()),
            related_images: raw.related_images,
        };
        let mut brief = Self {
            name: raw.name.into_owned(),
            image: raw.image.into_owned(),
            version: String::new(),
            number: None,
            provides: Vec::new(),
            properties: Vec::new(),
            csv: CsvBrief::default(),
        };
        for raw in raw.properties {
            let value = raw.value.get();
            let large =
                [property::CSV_METADATA, property::BUNDLE_OBJECT].contains(&raw.kind.as_ref());
            checked.properties.push(Property {
                kind: raw.kind.clone().into_owned(),
                value: if large {
                    Value::Null
                } else {
                    serde_json::from_str(value)?
                },
            });
            match raw.kind.as_ref() {
                property::CSV_METADATA => brief.csv = serde_json::from_str(value)?,
                property::BUNDLE_OBJECT => {
                    if let Some(csv) = csv_of_object(value)? {
                        brief.csv = csv;
                    }
                }
                kind => {
                    if kind == property::PACKAGE {
                        brief.version = serde_json::from_str::<PackageProperty>(value)?.version;
                        brief.number = Version::parse_tolerant(&brief.version).ok();
                    } else if kind == property::GVK {
                        brief.provides.push(serde_json::from_str(value)?);
                    }
                    brief
                        .properties
                        .push((raw.kind.into_owned(), value.to_owned()));
                }
            }
        }
        Ok((brief, checked))
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.number
            .cmp(&other.number)
            .then_with(|| self.name.cmp(&other.name))
    }

    fn record(self, deprecation: Option<String>, properties: &mut Properties) -> BundleRecord {
        let own = self.properties.into_iter();
        BundleRecord {
            name: self.name,
            version: self.version,
            image: self.image,
            min_kube_version: self.csv.min_kube_version,
            install_modes: install_modes(&self.csv.install_modes),
            deprecation,
            properties: own.map(|property| properties.position(property)).collect(),
            blob: Span::default(),
        }
    }
}

/// The properties of a package's bundles, each with its position.
#[derive(Default)]
struct Properties(HashMap<(String, String), u32>);

impl Properties {
    fn position(&mut self, property: (String, String)) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(property).or_insert(next)
    }

    fn in_order(self) -> Vec<(String, String)> {
        let mut properties: Vec<_> = self.0.into_iter().collect();
        properties.sort_unstable_by_key(|(_, position)| *position);
        properties
            .into_iter()
            .map(|(property, _)| property)
            .collect()
    }
}

/// What cards and the resolver need of a `ClusterServiceVersion`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CsvBrief {
    #[serde(deserialize_with = "null_is_default")]
    annotations: BTreeMap<String, serde_json::Value>,
    #[serde(deserialize_with = "null_is_default")]
    display_name: String,
    #[serde(deserialize_with = "null_is_default")]
    description: String,
    #[serde(deserialize_with = "null_is_default")]
    keywords: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    install_modes: Vec<RawInstallMode>,
    #[serde(deserialize_with = "null_is_default")]
    min_kube_version: String,
    #[serde(deserialize_with = "null_is_default")]
    provider: Provider,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawInstallMode {
    r#type: String,
    supported: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Provider {
    #[serde(deserialize_with = "null_is_default")]
    name: String,
}

fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// The `ClusterServiceVersion` in a property of the older form, if that is what it holds.
fn csv_of_object(value: &str) -> Result<Option<CsvBrief>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Object {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        metadata: Metadata,
        #[serde(default)]
        spec: CsvBrief,
    }
    #[derive(Default, Deserialize)]
    struct Metadata {
        #[serde(default, deserialize_with = "null_is_default")]
        annotations: BTreeMap<String, serde_json::Value>,
    }
    #[derive(Deserialize)]
    struct Kind {
        #[serde(default)]
        kind: String,
    }
    let object: BundleObject = serde_json::from_str(value)?;
    let Ok(manifest) = STANDARD.decode(object.data) else {
        return Ok(None);
    };
    // Only looked at: a manifest that is no JSON, or of another kind, is none of our business here.
    match serde_json::from_slice::<Kind>(&manifest) {
        Ok(Kind { kind }) if kind == "ClusterServiceVersion" => {}
        _ => return Ok(None),
    }
    let object: Object = serde_json::from_slice(&manifest)?;
    debug_assert_eq!(object.kind, "ClusterServiceVersion");
    Ok(Some(CsvBrief {
        annotations: object.metadata.annotations,
        ..object.spec
    }))
}

fn install_modes(raw: &[RawInstallMode]) -> InstallModes {
    let supports = |name: &str| raw.iter().any(|mode| mode.r#type == name && mode.supported);
    InstallModes {
        own_namespace: supports("OwnNamespace"),
        single_namespace: supports("SingleNamespace"),
        multi_namespace: supports("MultiNamespace"),
        all_namespaces: supports("AllNamespaces"),
    }
}

/// What should no longer be used, by schema and name.
struct Deprecated<'a>(BTreeMap<(&'a str, &'a str), &'a str>);

impl<'a> Deprecated<'a> {
    fn new(blobs: &'a [fbc::Deprecations]) -> Self {
        let entries = blobs.iter().flat_map(|blob| &blob.entries);
        Self(
            entries
                .map(|entry| {
                    let reference = &entry.reference;
                    (
                        (reference.schema.as_str(), reference.name.as_str()),
                        entry.message.as_str(),
                    )
                })
                .collect(),
        )
    }

    fn of(&self, schema: &str, name: &str) -> Option<String> {
        self.0
            .get(&(schema, name))
            .map(|message| (*message).to_owned())
    }
}

fn channel_record(
    channel: &fbc::Channel,
    positions: &BTreeMap<&str, usize>,
    deprecated: &Deprecated<'_>,
) -> ChannelRecord {
    // A sound package has a bundle for every entry.
    let entries = channel.entries.iter().filter_map(|entry| {
        Some(EntryRecord {
            bundle: u32::try_from(*positions.get(entry.name.as_str())?).ok()?,
            replaces: entry.replaces.clone(),
            skips: entry.skips.clone(),
            skip_range: entry.skip_range.clone(),
        })
    });
    ChannelRecord {
        name: channel.name.clone(),
        deprecation: deprecated.of("olm.channel", &channel.name),
        entries: entries.collect(),
    }
}

/// The bundle that stands for the package: the head of its default channel, or, where that is left out,
/// the newest of all heads.
fn head<'a>(
    bundles: &'a [(Brief, Vec<u8>)],
    channels: &[ChannelRecord],
    default_channel: &str,
) -> Option<&'a Brief> {
    let default = channels
        .iter()
        .find(|channel| channel.name == default_channel);
    let heads = || {
        channels
            .iter()
            .filter_map(|channel| head_of(bundles, channel))
    };
    match default {
        Some(default) => head_of(bundles, default),
        None => heads().max_by(|a, b| a.order(b)),
    }
}

/// The bundle of a channel that no other replaces or skips; the newest if there are more.
fn head_of<'a>(bundles: &'a [(Brief, Vec<u8>)], channel: &ChannelRecord) -> Option<&'a Brief> {
    let left: BTreeSet<&str> = channel
        .entries
        .iter()
        .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]))
        .map(String::as_str)
        .collect();
    let members = channel
        .entries
        .iter()
        .filter_map(|entry| bundles.get(entry.bundle as usize));
    members
        .map(|(brief, _)| brief)
        .filter(|brief| !left.contains(brief.name.as_str()))
        .max_by(|a, b| a.order(b))
}

fn summary(
    package: &fbc::Package,
    bundles: &[(Brief, Vec<u8>)],
    channels: &[ChannelRecord],
    head: Option<&Brief>,
    deprecated: &Deprecated<'_>,
) -> Summary {
    let nothing = CsvBrief::default();
    let csv = head.map_or(&nothing, |head| &head.csv);
    let annotation = |name: &str| {
        csv.annotations
            .get(name)
            .and_then(|value| value.as_str())
            .unwrap_or_default()
    };
    let display_name = if text::name(&csv.display_name).is_empty() {
        &package.name
    } else {
        &csv.display_name
    };
    let description = [
        annotation("description"),
        &csv.description,
        &package.description,
    ]
    .into_iter()
    .find(|description| !description.trim().is_empty())
    .unwrap_or_default();
    Summary {
        name: package.name.clone(),
        display_name: text::name(display_name),
        provider: text::name(&csv.provider.name),
        description: shortened(description),
        keywords: text::keywords(&csv.keywords),
        categories: text::categories(annotation("categories")),
        capability_level: text::name(annotation("capabilities")),
        default_channel: package.default_channel.clone(),
        channels: channels
            .iter()
            .map(|channel| channel.name.clone())
            .collect(),
        head: head.map(|head| head.name.clone()).unwrap_or_default(),
        version: head.map(|head| head.version.clone()).unwrap_or_default(),
        created_at: text::name(annotation("createdAt")),
        install_modes: install_modes(&csv.install_modes),
        deprecation: deprecated
            .of("olm.package", "")
            .map(|message| text::cut(&message, DEPRECATION)),
        bundles: u32::try_from(bundles.len()).unwrap_or(u32::MAX),
        has_icon: package
            .icon
            .as_ref()
            .is_some_and(|icon| !icon.base64data.is_empty()),
        record: Span::default(),
    }
}

/// The first paragraph, at most this long: a card has no room for more.
const DESCRIPTION: usize = 300;
/// How much of a deprecation lists show; the page of the package has all of it.
const DEPRECATION: usize = 1000;

fn shortened(description: &str) -> String {
    let paragraph = description.trim().split("\n\n").next();
    text::label(paragraph.unwrap_or_default(), DESCRIPTION)
}
