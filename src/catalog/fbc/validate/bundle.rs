//! Bundles: names, versions, images.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{At, Findings, Rule, names};
use super::property::{PackageProperty, check_property};
use super::pullspec::check_pull_spec;
use super::release::Release;
use crate::bundle::property;
use crate::catalog::fbc::{Bundle, PackageBlobs};
use crate::version::Version;

pub(super) fn check(package: &str, blobs: &PackageBlobs, findings: &mut Findings) {
    let entries: BTreeSet<&str> = blobs
        .channels
        .iter()
        .flat_map(|channel| &channel.entries)
        .map(|entry| &*entry.name)
        .collect();
    let mut seen = BTreeSet::new();
    let mut by_version: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for bundle in &blobs.bundles {
        let at = At::bundle(&bundle.name);
        if bundle.name.is_empty() {
            let advice = "give it a `name`";
            findings.add(Rule::BundleName, at, "the bundle has no name", advice);
        } else if !entries.contains(&*bundle.name) {
            let advice = "list it in the `entries` of a channel, or remove it";
            findings.add(Rule::BundleInChannel, at, "it is in no channel", advice);
        }
        if !seen.insert(&bundle.name) {
            let words = "there is more than one bundle of this name";
            findings.add(Rule::BundleName, at, words, "keep one of them");
        }
        images(bundle, findings);
        for (index, property) in bundle.properties.iter().enumerate() {
            if let Err(problem) = check_property(property) {
                findings.add(
                    Rule::Property,
                    at,
                    format!("properties[{index}], of type {}: {problem}", property.kind),
                    "correct the property, or remove it",
                );
            }
        }
        if let Some(version) = package_property(package, bundle, findings) {
            by_version.entry(version).or_default().insert(&bundle.name);
        }
    }
    for (version, bundles) in by_version {
        if bundles.len() > 1 {
            let bundles: Vec<&str> = bundles.into_iter().collect();
            findings.add(
                Rule::VersionOnce,
                At::package(),
                format!("{} all have the version {version}", names(&bundles)),
                "give each bundle a version of its own",
            );
        }
    }
}

fn images(bundle: &Bundle, findings: &mut Findings) {
    let at = At::bundle(&bundle.name);
    let has_objects = bundle
        .properties
        .iter()
        .any(|property| property.kind == property::BUNDLE_OBJECT);
    if bundle.image.is_empty() && !has_objects {
        let advice = "name the image with its manifests in `image`";
        findings.add(Rule::Image, at, "it has no image", advice);
    }
    let own = (Rule::Image, String::from("image"), &bundle.image);
    let related = bundle.related_images.iter().enumerate();
    let related = related.map(|(i, related)| {
        (
            Rule::RelatedImage,
            format!("relatedImages[{i}]"),
            &related.image,
        )
    });
    for (rule, field, image) in std::iter::once(own).chain(related) {
        // Real bundles leave related images empty, and opm lets them.
        if image.is_empty() {
            continue;
        }
        if let Err(problem) = check_pull_spec(image) {
            findings.add(
                rule,
                at,
                format!("{field} {image:?} is not the name of an image: {problem}"),
                "write it like registry.example.com/name:tag or name@sha256:…",
            );
        }
    }
}

/// Checks what the `olm.package` property says, and returns version and release in one text.
fn package_property(package: &str, bundle: &Bundle, findings: &mut Findings) -> Option<String> {
    let at = At::bundle(&bundle.name);
    let mut properties = bundle
        .properties
        .iter()
        .filter(|property| property.kind == property::PACKAGE);
    let (first, more) = (properties.next(), properties.count());
    let Some(first) = first.filter(|_| more == 0) else {
        let count = if more == 0 { 0 } else { more + 1 };
        findings.add(
            Rule::PackageProperty,
            at,
            format!("it has {count} properties of type olm.package"),
            "exactly one tells its package and its version",
        );
        return None;
    };
    // What cannot be read was told with the other properties.
    let said = PackageProperty::read(&first.value).ok()?;
    if said.package_name != package {
        findings.add(
            Rule::PackageProperty,
            at,
            format!(
                "its olm.package property names the package {:?}",
                said.package_name
            ),
            format!("write {package:?} there, or move the bundle"),
        );
    }
    let version = match Version::parse(&said.version) {
        Ok(version) => Some(version),
        Err(error) => {
            let advice = "write it like 1.2.3, without a `v`";
            findings.add(Rule::Version, at, error.to_string(), advice);
            None
        }
    };
    let release = match Release::parse(&said.release) {
        Ok(release) => release,
        Err(problem) => {
            findings.add(
                Rule::Release,
                at,
                format!("invalid release {:?}: {problem}", said.release),
                "use up to 20 letters, digits and `-` in parts separated by dots",
            );
            return None;
        }
    };
    let version = version?;
    let Some(release) = release else {
        return Some(version.to_string());
    };
    if !version.build().is_empty() {
        findings.add(
            Rule::Release,
            at,
            format!("version {version} has build metadata although there is a release"),
            "remove what follows the `+`",
        );
    }
    let full = format!("{version}-{release}");
    let expected = format!("{package}-v{full}");
    if bundle.name != expected {
        findings.add(
            Rule::ReleaseName,
            at,
            "the name of a bundle with a release has to tell version and release",
            format!("name it {expected:?}"),
        );
    }
    Some(full)
}
