//! From the answers of a remote registry to the blobs of a file-based catalog.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use serde_json::{Value, json};

use super::wire;
use crate::bundle::{Property, property};
use crate::catalog::fbc::{
    Bundle, Channel, DeprecatedReference, Deprecation, Deprecations, Entry, Meta, Package,
};

/// What was received so far. A registry lists a bundle once for each of its channels.
#[derive(Default)]
pub(super) struct Collected(BTreeMap<String, Parts>);

#[derive(Default)]
struct Parts {
    package: Package,
    channels: BTreeMap<String, Vec<Entry>>,
    bundles: BTreeMap<String, Bundle>,
    deprecations: Vec<Deprecation>,
}

impl Collected {
    /// Adds a bundle in one of its channels, and says how many bytes that takes.
    pub(super) fn bundle(&mut self, bundle: wire::Bundle) -> usize {
        let size = bundle.encoded_len();
        let parts = self.0.entry(bundle.package.clone()).or_default();
        parts
            .channels
            .entry(bundle.channel.clone())
            .or_default()
            .push(Entry {
                name: bundle.name.clone(),
                replaces: bundle.replaces.clone(),
                skips: bundle.skips.clone(),
                skip_range: bundle.skip_range.clone(),
            });
        if parts.bundles.contains_key(&bundle.name) {
            let skips: usize = bundle.skips.iter().map(String::len).sum();
            let names = bundle.name.len() + bundle.replaces.len() + bundle.skip_range.len();
            return size_of::<Entry>() + names + skips;
        }
        if let Some(deprecation) = &bundle.deprecation {
            parts.deprecated("olm.bundle", &bundle.name, deprecation);
        }
        let properties = properties(&bundle);
        parts.bundles.insert(
            bundle.name.clone(),
            Bundle {
                name: bundle.name,
                package: bundle.package,
                image: bundle.image,
                properties,
                related_images: Vec::new(),
            },
        );
        size
    }

    /// Adds what is known of a package as a whole, and the `ClusterServiceVersion`s of its heads.
    pub(super) fn package(&mut self, package: wire::Package, heads: &[wire::Bundle]) {
        let parts = self.0.entry(package.name.clone()).or_default();
        if let Some(deprecation) = &package.deprecation {
            parts.deprecated("olm.package", "", deprecation);
        }
        for channel in &package.channels {
            if let Some(deprecation) = &channel.deprecation {
                parts.deprecated("olm.channel", &channel.name, deprecation);
            }
        }
        parts.package = Package {
            name: package.name,
            default_channel: package.default_channel,
            ..Package::default()
        };
        for head in heads.iter().filter(|head| !head.csv.is_empty()) {
            let Some(bundle) = parts.bundles.get_mut(&head.name) else {
                continue;
            };
            let carried = bundle
                .properties
                .iter()
                .any(|p| p.kind == property::CSV_METADATA || p.kind == property::BUNDLE_OBJECT);
            if !carried {
                bundle.properties.push(object(&head.csv));
            }
        }
    }

    pub(super) fn into_blobs(self) -> Vec<Meta> {
        let mut blobs = Vec::new();
        for (name, parts) in self.0 {
            blobs.push(Meta::Package(parts.package));
            for (channel, entries) in parts.channels {
                blobs.push(Meta::Channel(Channel {
                    package: name.clone(),
                    name: channel,
                    entries,
                    properties: Vec::new(),
                }));
            }
            blobs.extend(parts.bundles.into_values().map(Meta::Bundle));
            if !parts.deprecations.is_empty() {
                blobs.push(Meta::Deprecations(Deprecations {
                    package: name,
                    entries: parts.deprecations,
                }));
            }
        }
        blobs
    }
}

/// The channels to ask for all heads of a package, each head once: the default one, then others.
pub(super) fn channels_with_heads(package: &wire::Package) -> Vec<String> {
    let is_default = |channel: &&wire::Channel| channel.name == package.default_channel;
    let default = package.channels.iter().find(is_default);
    let mut known: BTreeSet<&str> = default.iter().map(|it| it.head.as_str()).collect();
    let mut channels = vec![package.default_channel.clone()];
    for channel in &package.channels {
        // Registries that do not tell their heads have them looked at in the default channel only.
        if !channel.head.is_empty() && known.insert(&channel.head) {
            channels.push(channel.name.clone());
        }
    }
    channels
}

impl Parts {
    fn deprecated(&mut self, schema: &str, name: &str, deprecation: &wire::Deprecation) {
        self.deprecations.push(Deprecation {
            reference: DeprecatedReference {
                schema: schema.to_owned(),
                name: name.to_owned(),
            },
            message: deprecation.message.clone(),
        });
    }
}

/// A manifest in line.
fn object(manifest: &str) -> Property {
    Property {
        kind: property::BUNDLE_OBJECT.to_owned(),
        value: json!({ "data": STANDARD.encode(manifest) }),
    }
}

/// The properties of a bundle. Older registries send none, but provided and required APIs instead;
/// dependencies say with other words what properties of type `….required` say.
fn properties(bundle: &wire::Bundle) -> Vec<Property> {
    let mut properties: Vec<Property> = bundle
        .properties
        .iter()
        .filter_map(|p| parsed(&p.kind, &p.value))
        .collect();
    if properties.is_empty() {
        properties.extend(
            bundle
                .provided_apis
                .iter()
                .map(|api| gvk(property::GVK, api)),
        );
    }
    let dependencies: Vec<Property> = bundle.dependencies.iter().filter_map(dependency).collect();
    if dependencies.is_empty() && !properties.iter().any(|p| p.kind == property::GVK_REQUIRED) {
        properties.extend(
            bundle
                .required_apis
                .iter()
                .map(|api| gvk(property::GVK_REQUIRED, api)),
        );
    }
    for dependency in dependencies {
        if !properties.contains(&dependency) {
            properties.push(dependency);
        }
    }
    if !properties.iter().any(|p| p.kind == property::PACKAGE) {
        let value = json!({ "packageName": bundle.package, "version": bundle.version });
        properties.insert(
            0,
            Property {
                kind: property::PACKAGE.to_owned(),
                value,
            },
        );
    }
    if bundle.image.is_empty() {
        properties.extend(bundle.objects.iter().map(|manifest| object(manifest)));
    }
    properties
}

fn gvk(kind: &str, api: &wire::Api) -> Property {
    let value = json!({ "group": api.group, "kind": api.kind, "version": api.version });
    Property {
        kind: kind.to_owned(),
        value,
    }
}

fn parsed(kind: &str, value: &str) -> Option<Property> {
    // What is no JSON means nothing to anybody.
    let value = serde_json::from_str(value).ok()?;
    Some(Property {
        kind: kind.to_owned(),
        value,
    })
}

fn dependency(dependency: &wire::TypedValue) -> Option<Property> {
    let Property { kind, value } = parsed(&dependency.kind, &dependency.value)?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(match kind.as_str() {
        property::GVK => Property {
            kind: property::GVK_REQUIRED.to_owned(),
            value: json!({ "group": text("group"), "kind": text("kind"), "version": text("version") }),
        },
        property::PACKAGE => Property {
            kind: property::PACKAGE_REQUIRED.to_owned(),
            value: json!({ "packageName": text("packageName"), "versionRange": text("version") }),
        },
        "olm.label" => Property {
            kind: "olm.label.required".to_owned(),
            value,
        },
        _ => Property { kind, value },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Collected, channels_with_heads, wire};
    use crate::catalog::fbc::meta_to_value;

    fn blobs(collected: Collected) -> Vec<Value> {
        collected.into_blobs().iter().map(meta_to_value).collect()
    }

    fn bundle(channel: &str) -> wire::Bundle {
        wire::Bundle {
            name: "gopher.v1.0.0".to_owned(),
            package: "gopher".to_owned(),
            channel: channel.to_owned(),
            image: "example.com/gopher:1".to_owned(),
            version: "1.0.0".to_owned(),
            replaces: "gopher.v0.9.0".to_owned(),
            ..wire::Bundle::default()
        }
    }

    fn typed(kind: &str, value: &str) -> wire::TypedValue {
        wire::TypedValue {
            kind: kind.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn a_bundle_in_two_channels_is_one_blob_and_two_entries() {
        let mut collected = Collected::default();
        collected.bundle(bundle("alpha"));
        collected.bundle(bundle("stable"));
        let package = wire::Package {
            name: "gopher".to_owned(),
            default_channel: "stable".to_owned(),
            deprecation: Some(wire::Deprecation {
                message: "use marmot".to_owned(),
            }),
            ..wire::Package::default()
        };
        collected.package(package, &[]);
        let blobs = blobs(collected);
        let schemas: Vec<_> = blobs
            .iter()
            .map(|blob| blob["schema"].as_str().unwrap())
            .collect();
        assert_eq!(
            schemas,
            [
                "olm.package",
                "olm.channel",
                "olm.channel",
                "olm.bundle",
                "olm.deprecations"
            ]
        );
        assert_eq!(
            blobs[1]["entries"],
            json!([{ "name": "gopher.v1.0.0", "replaces": "gopher.v0.9.0" }])
        );
        assert_eq!(
            blobs[3]["properties"][0]["value"],
            json!({ "packageName": "gopher", "version": "1.0.0" })
        );
        assert_eq!(blobs[4]["entries"][0]["message"], "use marmot");
    }

    #[test]
    fn each_head_of_a_package_is_asked_for_once_and_keeps_what_it_tells() {
        let channel = |name: &str, head: &str| wire::Channel {
            name: name.to_owned(),
            head: head.to_owned(),
            deprecation: None,
        };
        let package = wire::Package {
            name: "gopher".to_owned(),
            default_channel: "stable".to_owned(),
            channels: vec![
                channel("alpha", "gopher.v2.0.0"),
                channel("beta", "gopher.v1.0.0"),
                channel("candidate", "gopher.v2.0.0"),
                channel("stable", "gopher.v1.0.0"),
                channel("unknown", ""),
            ],
            ..wire::Package::default()
        };
        assert_eq!(channels_with_heads(&package), ["stable", "alpha"]);
        let newer = wire::Bundle {
            name: "gopher.v2.0.0".to_owned(),
            ..bundle("alpha")
        };
        let mut collected = Collected::default();
        collected.bundle(bundle("stable"));
        collected.bundle(newer.clone());
        let with_csv = |bundle: wire::Bundle| wire::Bundle {
            csv: r#"{"kind":"ClusterServiceVersion"}"#.to_owned(),
            ..bundle
        };
        collected.package(package, &[with_csv(bundle("stable")), with_csv(newer)]);
        let blobs = blobs(collected);
        let bundles = blobs.iter().filter(|blob| blob["schema"] == "olm.bundle");
        for bundle in bundles {
            let properties = bundle["properties"].as_array().unwrap();
            assert!(
                properties
                    .iter()
                    .any(|it| it["type"] == "olm.bundle.object")
            );
        }
    }

    #[test]
    fn dependencies_become_the_properties_that_say_the_same_and_are_not_said_twice() {
        let mut collected = Collected::default();
        collected.bundle(wire::Bundle {
            properties: vec![
                typed(
                    "olm.package",
                    r#"{"packageName":"gopher","version":"1.0.0"}"#,
                ),
                typed(
                    "olm.gvk.required",
                    r#"{"group":"g","kind":"K","version":"v1"}"#,
                ),
                typed("broken", "{"),
            ],
            dependencies: vec![
                typed("olm.gvk", r#"{"version":"v1","group":"g","kind":"K"}"#),
                typed(
                    "olm.package",
                    r#"{"packageName":"etcd","version":">=1.0.0"}"#,
                ),
            ],
            ..bundle("stable")
        });
        let blobs = blobs(collected);
        let properties = blobs
            .iter()
            .find(|blob| blob["schema"] == "olm.bundle")
            .unwrap()["properties"]
            .clone();
        assert_eq!(
            properties,
            json!([
                { "type": "olm.package", "value": { "packageName": "gopher", "version": "1.0.0" } },
                { "type": "olm.gvk.required", "value": { "group": "g", "kind": "K", "version": "v1" } },
                { "type": "olm.package.required", "value": { "packageName": "etcd", "versionRange": ">=1.0.0" } },
            ])
        );
    }

    #[test]
    fn an_old_registry_that_sends_apis_only_is_understood() {
        let api = |kind: &str| wire::Api {
            group: "g".to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        };
        let mut collected = Collected::default();
        collected.bundle(wire::Bundle {
            provided_apis: vec![api("Mine")],
            required_apis: vec![api("Theirs")],
            image: String::new(),
            objects: vec!["{}".to_owned()],
            ..bundle("stable")
        });
        let blobs = blobs(collected);
        let kinds: Vec<_> = blobs[2]["properties"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["type"].as_str().unwrap())
            .collect();
        assert_eq!(
            kinds,
            [
                "olm.package",
                "olm.gvk",
                "olm.gvk.required",
                "olm.bundle.object"
            ]
        );
    }
}
