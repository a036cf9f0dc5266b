//! One more bundle in a channel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Error;
use super::edit::CatalogFile;
use crate::bundle;
use crate::catalog::fbc::{self, Catalog, Channel, Entry, Meta, PackageBlobs};
use crate::catalog::graph::Chain;
use crate::version::Version;

/// A bundle that is to be added.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBundle {
    /// What the catalog will say of it.
    pub blob: fbc::Bundle,
    /// What its author wants it to skip.
    pub skips: Vec<String>,
    /// The versions from which its author wants it to be reached.
    pub skip_range: String,
}

impl NewBundle {
    /// A bundle, and what the catalog will say of it.
    pub fn new(bundle: &bundle::Bundle, blob: fbc::Bundle) -> Self {
        Self {
            blob,
            skips: bundle.csv.spec.skips.clone(),
            skip_range: bundle.csv.skip_range().to_owned(),
        }
    }
}

/// Where it is to be added. What is not said follows from the channel and from the bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The channels.
    pub channels: Vec<String>,
    /// The bundle that it replaces: by default the head of the channel. Empty for none.
    pub replaces: Option<String>,
    /// The bundles that it skips: by default those that its `ClusterServiceVersion` names.
    pub skips: Option<Vec<String>>,
    /// The versions from which it is reached: by default what its `ClusterServiceVersion` says.
    pub skip_range: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// The new entries, by channel; none if everything was there.
    pub entries: BTreeMap<String, Entry>,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// Why a bundle is not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The package is not in the catalog.
    #[error("the catalog has no package `{package}`")]
    NoPackage {
        /// The package of the bundle.
        package: String,
    },
    /// Another bundle has the name.
    #[error("`{bundle}` is already in the catalog, and it is another one: {difference}")]
    OtherBundle {
        /// The name.
        bundle: String,
        /// What is different.
        difference: String,
    },
    /// The bundle is in the channel, but not as it was asked for.
    #[error("`{bundle}` is already in channel `{channel}`, with other upgrades: {difference}")]
    OtherEntry {
        /// The bundle.
        bundle: String,
        /// The channel.
        channel: String,
        /// What is different.
        difference: String,
    },
    /// The bundle is not newer than the head.
    #[error(
        "{version} is not newer than {head_version}, which `{head}` at the head of channel `{channel}` has"
    )]
    NotNewer {
        /// The version of the bundle.
        version: String,
        /// The channel.
        channel: String,
        /// Its head.
        head: String,
        /// The version of the head.
        head_version: String,
    },
    /// The package would be broken.
    #[error("package `{package}` would be broken:{}", list(problems))]
    Broken {
        /// The package.
        package: String,
        /// What would be wrong with it.
        problems: Vec<fbc::Problem>,
    },
}

/// Adds a bundle to channels of a catalog's folder. Files of other packages stay as they are, and
/// so does what the files of this package say about anything else. What is there already is not
/// added again; what would break the package is refused, and nothing is written.
pub fn add(folder: &Path, new: &NewBundle, placement: &Placement) -> Result<Added, Error> {
    let new = &NewBundle {
        blob: as_written(&new.blob)?,
        ..new.clone()
    };
    let package = &new.blob.package;
    let found = Found::read(folder, package)?;
    let Some(definition) = found.blobs.definition() else {
        let package = package.clone();
        return Err(Refusal::NoPackage { package }.into());
    };
    let home = found.home(&definition.name);

    let is_there = match found.blobs.bundle(&new.blob.name) {
        None => false,
        Some(old) => match bundle_difference(old, &new.blob) {
            None => true,
            Some(difference) => {
                let bundle = new.blob.name.clone();
                return Err(Refusal::OtherBundle { bundle, difference }.into());
            }
        },
    };
    let mut blobs = found.blobs.clone();
    if !is_there {
        blobs.bundles.push(new.blob.clone());
    }
    let mut entries = BTreeMap::new();
    for channel in placement.channels.iter().collect::<BTreeSet<_>>() {
        if let Some(entry) = entry(&found.blobs, channel, new, placement)? {
            put(&mut blobs, channel, package, entry.clone());
            entries.insert(channel.clone(), entry);
        }
    }
    if entries.is_empty() && is_there {
        return Ok(Added::default());
    }
    let mut problems = fbc::validate(package, &blobs);
    problems.retain(|problem| problem.rule.refuses());
    if !problems.is_empty() {
        let package = package.clone();
        return Err(Refusal::Broken { package, problems }.into());
    }

    let mut files: BTreeMap<PathBuf, CatalogFile> = BTreeMap::new();
    let mut file_of = |path: &Path| -> Result<(), Error> {
        if !files.contains_key(path) {
            files.insert(path.to_owned(), CatalogFile::open(path)?);
        }
        Ok(())
    };
    file_of(&home)?;
    for channel in entries.keys() {
        if let Some(path) = found.channels.get(channel) {
            file_of(path)?;
        }
    }
    for (channel, entry) in &entries {
        let there = found.channels.get(channel);
        let Some(file) = files.get_mut(there.unwrap_or(&home)) else {
            continue;
        };
        if there.is_some() {
            file.add_entry(package, channel, entry)?;
        } else if let Some(channel) = blobs.channel(channel) {
            file.append(&Meta::Channel(channel.clone()))?;
        }
    }
    // Beside its channel, if that has a file of its own, and else beside its package.
    let beside = entries.keys().find_map(|name| found.channels.get(name));
    let beside = beside.unwrap_or(&home);
    if !is_there && let Some(file) = files.get_mut(beside) {
        file.append(&Meta::Bundle(new.blob.clone()))?;
    }
    check(&files, &found, &blobs)?;
    // The file with the bundle first: a channel must not name what is not there.
    let mut order: Vec<&CatalogFile> = files.values().collect();
    order.sort_by_key(|file| file.path() != beside);
    for file in &order {
        file.save()?;
    }
    Ok(Added {
        entries,
        files: order.iter().map(|file| file.path().to_owned()).collect(),
    })
}

/// The blob as it is when it was written and read again: `1.0` is 1 by then.
fn as_written(blob: &fbc::Bundle) -> Result<fbc::Bundle, Error> {
    let text = fbc::meta_to_json(&Meta::Bundle(blob.clone()))?;
    match fbc::read("the bundle", text.as_bytes()).next() {
        Some(Ok(fbc::Blob {
            meta: Meta::Bundle(bundle),
            ..
        })) => Ok(bundle),
        Some(Err(error)) => Err(Error::Unreadable {
            what: blob.name.clone(),
            errors: vec![error],
        }),
        _ => Ok(blob.clone()),
    }
}

/// What a catalog has of a package, and where.
#[derive(Debug, Default)]
struct Found {
    blobs: PackageBlobs,
    definition: Option<PathBuf>,
    channels: BTreeMap<String, PathBuf>,
    /// Files with something of the package.
    files: BTreeMap<PathBuf, Vec<Meta>>,
}

impl Found {
    fn read(folder: &Path, package: &str) -> Result<Self, Error> {
        let mut found = Self::default();
        let mut errors = Vec::new();
        let mut catalog = Catalog::default();
        for inside in fbc::walk(folder)? {
            let path = folder.join(&inside);
            let file = fbc::open(&path)?;
            for blob in fbc::read(&inside.to_string_lossy(), file) {
                match blob {
                    Ok(blob) if blob.meta.package() == package => {
                        match &blob.meta {
                            Meta::Package(_) => found.definition = Some(path.clone()),
                            Meta::Channel(channel) => {
                                let name = channel.name.clone();
                                found.channels.insert(name, path.clone());
                            }
                            _ => {}
                        }
                        catalog.add(blob.meta.clone());
                        let of_file = found.files.entry(path.clone()).or_default();
                        of_file.push(blob.meta);
                    }
                    Ok(_) => {}
                    // What belongs to another package is not our business.
                    Err(error) if error.package().is_some_and(|other| other != package) => {}
                    Err(error) => errors.push(error),
                }
            }
        }
        if !errors.is_empty() {
            return Err(Error::Unreadable {
                what: folder.display().to_string(),
                errors,
            });
        }
        found.blobs = catalog.packages.remove(package).unwrap_or_default();
        Ok(found)
    }

    /// The file of the package itself.
    fn home(&self, package: &str) -> PathBuf {
        let named = || PathBuf::from(package).join("catalog.yaml");
        self.definition.clone().unwrap_or_else(named)
    }
}

/// The entry that the bundle needs in a channel; none if it is there.
fn entry(
    blobs: &PackageBlobs,
    channel: &str,
    new: &NewBundle,
    placement: &Placement,
) -> Result<Option<Entry>, Error> {
    let name = &new.blob.name;
    let existing = blobs.channel(channel);
    let there = existing.and_then(|c| c.entries.iter().find(|entry| entry.name == *name));
    if let Some(there) = there {
        return match entry_difference(there, placement) {
            None => Ok(None),
            Some(difference) => Err(Refusal::OtherEntry {
                bundle: name.clone(),
                channel: channel.to_owned(),
                difference,
            }
            .into()),
        };
    }
    let skips = placement.skips.clone();
    let skips = skips.unwrap_or_else(|| new.skips.clone());
    let replaces = match (&placement.replaces, existing) {
        (Some(replaces), _) => replaces.clone(),
        (None, Some(existing)) => follow(blobs, existing, new, &skips)?,
        (None, None) => String::new(),
    };
    let skip_range = placement.skip_range.clone();
    Ok(Some(Entry {
        name: name.clone(),
        replaces,
        skips,
        skip_range: skip_range.unwrap_or_else(|| new.skip_range.clone()),
    }))
}

/// What the bundle replaces when nothing is said: the head of the channel, or what that replaces if
/// the head is skipped.
fn follow(
    blobs: &PackageBlobs,
    channel: &Channel,
    new: &NewBundle,
    skips: &[String],
) -> Result<String, Error> {
    let heads = Chain::of(channel).heads;
    let [head] = heads.as_slice() else {
        // Without one head there is nothing to follow; the check of the package says so.
        return Ok(String::new());
    };
    let head_version = blobs.bundle(head).and_then(fbc::Bundle::version);
    let version = new.blob.version();
    if let (Some(version), Some(head_version)) = (&version, &head_version)
        && version <= head_version
    {
        let text = |version: &Version| version.to_string();
        return Err(Refusal::NotNewer {
            version: text(version),
            channel: channel.name.clone(),
            head: (*head).to_owned(),
            head_version: text(head_version),
        }
        .into());
    }
    if skips.iter().any(|skip| skip == head) {
        let entry = channel.entries.iter().find(|entry| entry.name == *head);
        return Ok(entry.map_or_else(String::new, |entry| entry.replaces.clone()));
    }
    Ok((*head).to_owned())
}

fn put(blobs: &mut PackageBlobs, name: &str, package: &str, entry: Entry) {
    let channel = blobs.channels.iter_mut().find(|c| c.name == name);
    match channel {
        Some(channel) => channel.entries.push(entry),
        None => blobs.channels.push(Channel {
            package: package.to_owned(),
            name: name.to_owned(),
            entries: vec![entry],
            properties: Vec::new(),
        }),
    }
}

/// Reads the changed files once more, before anything is written: they have to say what they said,
/// and what is new.
fn check(
    files: &BTreeMap<PathBuf, CatalogFile>,
    found: &Found,
    expected: &PackageBlobs,
) -> Result<(), Error> {
    let package = expected.definition().map_or("", |p| p.name.as_str());
    let mut read = Catalog::default();
    for (path, blobs) in &found.files {
        match files.get(path) {
            None => read.extend(blobs.iter().cloned()),
            Some(changed) => read.extend(
                changed
                    .check()?
                    .into_iter()
                    .filter(|blob| blob.package() == package),
            ),
        }
    }
    let sorted = |blobs: PackageBlobs| -> Catalog { blobs.into_blobs().collect() };
    let read = read.packages.remove(package).unwrap_or_default();
    if sorted(read) == sorted(expected.clone()) {
        return Ok(());
    }
    Err(Error::Input(format!(
        "the files of package `{package}` cannot be changed without changing what else they say: \
         separate their blobs by lines with `---`"
    )))
}

/// How two bundles of the same name are different, if they are.
fn bundle_difference(old: &fbc::Bundle, new: &fbc::Bundle) -> Option<String> {
    if old.image != new.image {
        return Some(format!("its image is `{}`, not `{}`", old.image, new.image));
    }
    let tidy = |bundle: &fbc::Bundle| {
        let mut catalog: Catalog = std::iter::once(Meta::Bundle(bundle.clone())).collect();
        catalog.tidy();
        catalog
    };
    (tidy(old) != tidy(new)).then(|| "its properties or related images are others".to_owned())
}

/// How an entry is different from what was explicitly asked for, if it is.
fn entry_difference(there: &Entry, asked: &Placement) -> Option<String> {
    let mut parts = Vec::new();
    let mut compare = |what: &str, there: &str, asked: Option<&str>| {
        if asked.is_some_and(|asked| asked != there) {
            let there = if there.is_empty() { "nothing" } else { there };
            parts.push(format!("{what} is {there}"));
        }
    };
    compare("replaces", &there.replaces, asked.replaces.as_deref());
    let skips = asked.skips.as_ref().map(|skips| skips.join(", "));
    compare("skips", &there.skips.join(", "), skips.as_deref());
    compare("skipRange", &there.skip_range, asked.skip_range.as_deref());
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn list(problems: &[fbc::Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    lines.concat()
}
