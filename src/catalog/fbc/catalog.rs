//! All blobs of a catalog, by package.

use std::collections::BTreeMap;

use super::blob::{Bundle, Channel, Deprecations, Meta, Other, Package};
use crate::bundle::property;
use crate::version::Version;

/// The blobs of a catalog.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    /// By name of the package. Blobs that should name a package but do not are under the empty
    /// name.
    pub packages: BTreeMap<String, PackageBlobs>,
    /// Blobs of other schemas that belong to no package.
    pub others: Vec<Other>,
}

/// The blobs of one package, each kind in the order in which it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PackageBlobs {
    /// `olm.package`; a sound package has exactly one.
    pub definitions: Vec<Package>,
    /// `olm.channel`
    pub channels: Vec<Channel>,
    /// `olm.bundle`
    pub bundles: Vec<Bundle>,
    /// `olm.deprecations`; a sound package has at most one.
    pub deprecations: Vec<Deprecations>,
    /// Anything else.
    pub others: Vec<Other>,
}

impl Catalog {
    /// Puts a blob where it belongs.
    pub fn add(&mut self, meta: Meta) {
        if let Meta::Other(other) = &meta
            && other.package.is_empty()
        {
            let Meta::Other(other) = meta else { return };
            self.others.push(other);
            return;
        }
        let blobs = self.packages.entry(meta.package().to_owned()).or_default();
        match meta {
            Meta::Package(package) => blobs.definitions.push(package),
            Meta::Channel(channel) => blobs.channels.push(channel),
            Meta::Bundle(bundle) => blobs.bundles.push(bundle),
            Meta::Deprecations(deprecations) => blobs.deprecations.push(deprecations),
            Meta::Other(other) => blobs.others.push(other),
        }
    }

    /// Brings every bundle into the order of `opm render`: related images by image, and the great
    /// properties behind the small ones.
    pub fn tidy(&mut self) {
        let bundles = self
            .packages
            .values_mut()
            .flat_map(|blobs| &mut blobs.bundles);
        for bundle in bundles {
            bundle.related_images.sort_by(|a, b| a.image.cmp(&b.image));
            bundle.properties.sort_by_key(|property| {
                matches!(
                    property.kind.as_str(),
                    property::CSV_METADATA | property::BUNDLE_OBJECT
                )
            });
        }
    }

    /// Every blob, in the order in which a catalog is written: by name of the package, and in each
    /// the package, its channels and bundles by name, other blobs by schema, its deprecations; last
    /// what belongs to no package.
    pub fn into_blobs(self) -> impl Iterator<Item = Meta> {
        let mut packages = self.packages;
        let nameless = packages.remove("");
        packages
            .into_values()
            .chain(nameless)
            .flat_map(PackageBlobs::into_blobs)
            .chain(self.others.into_iter().map(Meta::Other))
    }
}

impl FromIterator<Meta> for Catalog {
    fn from_iter<I: IntoIterator<Item = Meta>>(blobs: I) -> Self {
        let mut catalog = Self::default();
        catalog.extend(blobs);
        catalog
    }
}

impl Extend<Meta> for Catalog {
    fn extend<I: IntoIterator<Item = Meta>>(&mut self, blobs: I) {
        for blob in blobs {
            self.add(blob);
        }
    }
}

impl PackageBlobs {
    /// The package itself, the first one if there are several.
    pub fn definition(&self) -> Option<&Package> {
        self.definitions.first()
    }

    /// The channel of this name.
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// The bundle of this name.
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.name == name)
    }

    /// The versions of the bundles that have one, by name of the bundle.
    pub fn versions(&self) -> BTreeMap<String, Version> {
        self.bundles
            .iter()
            .filter_map(|bundle| Some((bundle.name.clone(), bundle.version()?)))
            .collect()
    }

    /// Every blob in the order in which it is written.
    pub fn into_blobs(mut self) -> impl Iterator<Item = Meta> {
        self.channels.sort_by(|a, b| a.name.cmp(&b.name));
        self.bundles.sort_by(|a, b| a.name.cmp(&b.name));
        self.others.sort_by(|a, b| a.schema.cmp(&b.schema));
        self.definitions
            .into_iter()
            .map(Meta::Package)
            .chain(self.channels.into_iter().map(Meta::Channel))
            .chain(self.bundles.into_iter().map(Meta::Bundle))
            .chain(self.others.into_iter().map(Meta::Other))
            .chain(self.deprecations.into_iter().map(Meta::Deprecations))
    }
}
