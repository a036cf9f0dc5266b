//! The package itself, its deprecations, and blobs of unknown schemas.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::problem::{At, Findings, Rule};
use crate::catalog::fbc::PackageBlobs;

/// Blobs that belong to a package but do not say to which.
pub(super) fn nameless(blobs: &PackageBlobs, findings: &mut Findings) {
    let mut find = |at: At<'_>, what: &str, advice: &str| {
        findings.add(
            Rule::PackageName,
            at,
            format!("{what} names no package"),
            advice,
        );
    };
    for _ in &blobs.definitions {
        find(At::package(), "an olm.package", "give it a `name`");
    }
    for channel in &blobs.channels {
        let at = At::channel(&channel.name);
        find(at, "the channel", "name its package in `package`");
    }
    for bundle in &blobs.bundles {
        let at = At::bundle(&bundle.name);
        find(at, "the bundle", "name its package in `package`");
    }
    for _ in &blobs.deprecations {
        let advice = "name its package in `package`";
        find(At::package(), "an olm.deprecations", advice);
    }
}

pub(super) fn check(name: &str, blobs: &PackageBlobs, findings: &mut Findings) {
    if !is_dns_label(name) {
        findings.add(
            Rule::PackageName,
            At::package(),
            "its name is not a DNS label",
            "use at most 63 small letters, digits and `-`, with a letter or digit at both ends",
        );
    }
    let Some(package) = blobs.definition() else {
        findings.add(
            Rule::PackageOnce,
            At::package(),
            "there are blobs of it but no olm.package",
            format!("add an olm.package with the name {name:?}"),
        );
        return;
    };
    if blobs.definitions.len() > 1 {
        findings.add(
            Rule::PackageOnce,
            At::package(),
            format!(
                "there are {} olm.package blobs of it",
                blobs.definitions.len()
            ),
            "keep one of them",
        );
    }
    for icon in blobs
        .definitions
        .iter()
        .filter_map(|package| package.icon.as_ref())
    {
        if let Err(problem) = decode_base64(&icon.base64data) {
            findings.add(
                Rule::Icon,
                At::package(),
                format!("its icon is not base64: {problem}"),
                "encode the bytes of the picture in standard base64",
            );
        }
    }
    if blobs.channels.is_empty() {
        let advice = "add an olm.channel";
        findings.add(
            Rule::HasChannels,
            At::package(),
            "it has no channels",
            advice,
        );
    }
    let default = package.default_channel.as_str();
    if default.is_empty() {
        findings.add(
            Rule::DefaultChannel,
            At::package(),
            "it has no default channel",
            "name one of its channels in `defaultChannel`",
        );
    } else if blobs.channel(default).is_none() {
        findings.add(
            Rule::DefaultChannel,
            At::package(),
            format!("its default channel {default:?} does not exist"),
            "name one of its channels in `defaultChannel`, or add that channel",
        );
    }
}

pub(super) fn deprecations(blobs: &PackageBlobs, findings: &mut Findings) {
    if blobs.deprecations.len() > 1 {
        findings.add(
            Rule::DeprecationOnce,
            At::package(),
            format!(
                "there are {} olm.deprecations blobs of it",
                blobs.deprecations.len()
            ),
            "put all entries into one of them",
        );
    }
    for deprecations in &blobs.deprecations {
        let mut seen = BTreeSet::new();
        for (index, entry) in deprecations.entries.iter().enumerate() {
            let (schema, name) = (&entry.reference.schema, &entry.reference.name);
            let known = match schema.as_str() {
                "olm.package" => name.is_empty(),
                "olm.channel" => blobs.channel(name).is_some(),
                "olm.bundle" => blobs.bundle(name).is_some(),
                _ => false,
            };
            let words = format!("deprecation {index}, of {schema} {name:?},");
            if !known {
                let advice = match schema.as_str() {
                    "olm.package" => "leave `name` out: it can only be the package at hand",
                    "olm.channel" | "olm.bundle" => "correct `name`, or remove the entry",
                    _ => "set `schema` to olm.package, olm.channel or olm.bundle",
                };
                findings.add(
                    Rule::DeprecationReference,
                    At::package(),
                    format!("{words} is of nothing that is there"),
                    advice,
                );
            }
            if !seen.insert((schema, name)) {
                findings.add(
                    Rule::DeprecationOnce,
                    At::package(),
                    format!("{words} is there twice"),
                    "remove one of them",
                );
            }
            if entry.message.is_empty() {
                findings.add(
                    Rule::DeprecationMessage,
                    At::package(),
                    format!("{words} has no message"),
                    "say in `message` what to use instead",
                );
            }
        }
    }
}

pub(super) fn others(blobs: &PackageBlobs, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for other in &blobs.others {
        if !seen.insert((&other.schema, &other.name)) {
            findings.add(
                Rule::OtherOnce,
                At::package(),
                format!(
                    "there are several {} blobs named {:?}",
                    other.schema, other.name
                ),
                "give them different names",
            );
        }
    }
}

fn is_dns_label(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 63
        && !name.is_empty()
        && name.bytes().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Go lets line breaks pass inside of base64.
pub(super) fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    if text.contains(['\n', '\r']) {
        return STANDARD.decode(text.replace(['\n', '\r'], ""));
    }
    STANDARD.decode(text)
}
