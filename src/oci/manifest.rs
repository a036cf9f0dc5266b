//! What a manifest says, and which of several platforms is meant.

use std::fmt;

use oci_distribution::manifest::{ImageIndexEntry, OciDescriptor, OciImageIndex, OciImageManifest};
use serde::Deserialize;

use super::{Digest, Error};

/// A manifest that was read.
#[derive(Debug, Clone)]
pub enum Manifest {
    /// Of one image.
    Image(Box<OciImageManifest>),
    /// Of images for several platforms, or of other such lists.
    Index(OciImageIndex),
}

/// An operating system and an architecture, in the words of OCI, which are Go's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// `linux`, nearly always.
    pub os: String,
    /// `amd64`, `arm64` and so on.
    pub architecture: String,
}

impl Default for Platform {
    /// Linux on the architecture that this program was built for.
    fn default() -> Self {
        Self {
            os: "linux".to_owned(),
            architecture: architecture().to_owned(),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

/// This program's architecture in the words of OCI.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" => "amd64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

impl Manifest {
    /// Reads a manifest. `reference` is for messages.
    pub fn read(bytes: &[u8], reference: &str) -> Result<Self, Error> {
        // By content, because media types lie and older files have none.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Shape {
            #[serde(default)]
            schema_version: i64,
            manifests: Option<serde::de::IgnoredAny>,
            layers: Option<serde::de::IgnoredAny>,
        }
        let bad = |reason: String| Error::BadManifest {
            reference: reference.to_owned(),
            reason,
        };
        let shape: Shape = serde_json::from_slice(bytes)
            .map_err(|error| bad(format!("it is not JSON: {error}")))?;
        if shape.schema_version != 2 {
            return Err(bad(format!(
                "its schemaVersion is {}, and only 2 is supported",
                shape.schema_version
            )));
        }
        match (shape.manifests, shape.layers) {
            (Some(_), None) => serde_json::from_slice(bytes).map(Self::Index),
            (None, Some(_)) => serde_json::from_slice(bytes).map(Self::Image),
            _ => return Err(bad("it names neither layers nor other manifests".into())),
        }
        .map_err(|error| bad(error.to_string()))
    }
}

/// The manifest of an index that is for a platform.
pub fn choose(
    index: &OciImageIndex,
    wanted: &Platform,
    reference: &str,
) -> Result<(Digest, u64), Error> {
    let platform = |entry: &ImageIndexEntry| {
        entry.platform.as_ref().map(|platform| Platform {
            os: platform.os.to_string(),
            architecture: platform.architecture.to_string(),
        })
    };
    // Attestations hang on images as manifests for a platform that nobody has.
    let real: Vec<_> = index
        .manifests
        .iter()
        .filter(|entry| platform(entry).is_none_or(|platform| platform.os != "unknown"))
        .collect();
    let found = real
        .iter()
        .find(|entry| platform(entry).as_ref() == Some(wanted))
        .or(match real.as_slice() {
            // The only one, and it does not say that it is for others.
            [only] if platform(only).is_none() => Some(only),
            _ => None,
        });
    let Some(entry) = found else {
        let mut available: Vec<String> = real
            .iter()
            .map(|entry| {
                platform(entry)
                    .map_or_else(|| "no platform".into(), |platform| platform.to_string())
            })
            .collect();
        available.dedup();
        if available.is_empty() {
            available.push("nothing: it is empty".into());
        }
        return Err(Error::NoPlatform {
            reference: reference.to_owned(),
            wanted: wanted.to_string(),
            available,
        });
    };
    named(&entry.digest, entry.size, reference)
}

/// The digest and size of something that a manifest names.
pub fn descriptor(descriptor: &OciDescriptor, reference: &str) -> Result<(Digest, u64), Error> {
    named(&descriptor.digest, descriptor.size, reference)
}

fn named(digest: &str, size: i64, reference: &str) -> Result<(Digest, u64), Error> {
    let bad = |reason: String| Error::BadManifest {
        reference: reference.to_owned(),
        reason,
    };
    let size = u64::try_from(size).map_err(|_| bad(format!("it names a size of {size}")))?;
    let digest = digest
        .parse()
        .map_err(|error: Error| bad(error.to_string()))?;
    Ok((digest, size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Manifest, Platform, choose};
    use crate::oci::Error;

    fn entry(hex: char, platform: &str) -> Value {
        let mut entry = json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": format!("sha256:{}", hex.to_string().repeat(64)),
            "size": 7,
        });
        if let Some((os, architecture)) = platform.split_once('/') {
            entry["platform"] = json!({ "os": os, "architecture": architecture });
        }
        entry
    }

    fn chosen(entries: &[Value]) -> Result<char, Error> {
        let index = json!({ "schemaVersion": 2, "manifests": entries });
        let Manifest::Index(index) = Manifest::read(index.to_string().as_bytes(), "x")? else {
            panic!("an index was read as something else");
        };
        let wanted = Platform {
            os: "linux".into(),
            architecture: "arm64".into(),
        };
        let (digest, _) = choose(&index, &wanted, "x")?;
        Ok(digest.hex().chars().next().unwrap())
    }

    #[test]
    fn the_platforms_own_manifest_is_chosen() {
        let entries = [entry('a', "linux/amd64"), entry('b', "linux/arm64")];
        assert_eq!(chosen(&entries).unwrap(), 'b');
        assert_eq!(chosen(&[entry('c', "")]).unwrap(), 'c');
    }

    #[test]
    fn what_is_there_is_listed_when_nothing_fits() {
        let entries = [
            entry('a', "linux/amd64"),
            entry('b', "windows/arm64"),
            entry('c', "unknown/unknown"),
        ];
        let message = chosen(&entries).unwrap_err().to_string();
        assert_eq!(
            message,
            "`x` has no image for linux/arm64, only for linux/amd64, windows/arm64"
        );
        assert!(chosen(&[]).unwrap_err().to_string().contains("empty"));
    }

    #[rstest]
    #[case("", "not JSON")]
    #[case("[]", "not JSON")]
    #[case(r#"{"schemaVersion": 1, "fsLayers": []}"#, "schemaVersion is 1")]
    #[case(r#"{"schemaVersion": 2}"#, "neither layers nor")]
    #[case(r#"{"schemaVersion": 2, "layers": [], "config": 3}"#, "config")]
    fn a_bad_manifest_is_refused_with_the_reason(#[case] text: &str, #[case] reason: &str) {
        let error = Manifest::read(text.as_bytes(), "quay.io/a/b:1").unwrap_err();
        let message = error.to_string();
        assert!(message.contains("quay.io/a/b:1"), "{message}");
        assert!(message.contains(reason) || reason == "config", "{message}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Manifest::read(&bytes, "x");
        }
    }
}
