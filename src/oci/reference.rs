//! What users write to name an image: references as Docker reads them, and folders.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::{Digest, Error};

/// Docker's own registry, which a reference without a host means.
pub const DOCKER_HUB: &str = "docker.io";

/// An image in a registry.
///
/// Read as Docker does: `nginx` is `docker.io/library/nginx:latest`. A digest wins over a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl ImageReference {
    /// The registry's host, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path of the repository in the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Registry and repository, without tag and digest.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The tag, as it was given.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, as it was given.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// What a registry is asked for: the digest if there is one, otherwise the tag, or `latest`.
    pub fn version(&self) -> &str {
        self.digest
            .as_ref()
            .map(Digest::as_str)
            .or(self.tag.as_deref())
            .unwrap_or("latest")
    }

    /// The same repository at a digest.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        Self {
            tag: None,
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The same version in another repository, `HOST/PATH`.
    pub fn moved_to(&self, name: &str) -> Result<Self, Error> {
        let target: Self = name.parse()?;
        Ok(Self {
            tag: self.tag.clone(),
            digest: self.digest.clone(),
            ..target
        })
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        match (&self.tag, &self.digest) {
            (None, None) => write!(f, ":latest"),
            (tag, digest) => {
                if let Some(tag) = tag {
                    write!(f, ":{tag}")?;
                }
                if let Some(digest) = digest {
                    write!(f, "@{digest}")?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for ImageReference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::Reference {
            reference: text.to_owned(),
            reason,
        };
        if text.is_empty() {
            return Err(bad("it is empty".into()));
        }
        if text.contains("://") {
            return Err(bad("it is a URL; leave the part up to `://` out".into()));
        }
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad("it is a bare hash; write NAME@sha256:HASH".into()));
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => {
                let digest = digest
                    .parse()
                    .map_err(|error: Error| bad(error.to_string()))?;
                (name, Some(digest))
            }
            None => (text, None),
        };
        // A colon before the last slash belongs to the port of the registry.
        let path_start = name.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match name[path_start..].find(':') {
            Some(colon) => (
                &name[..path_start + colon],
                Some(&name[path_start + colon + 1..]),
            ),
            None => (name, None),
        };
        if let Some(tag) = tag
            && !is_tag(tag)
        {
            return Err(bad(format!(
                "`{tag}` is no tag: up to 128 letters, digits, `_`, `.` and `-`, not beginning with the last two"
            )));
        }
        let (registry, path) = split_registry(name);
        if !is_host(&registry) {
            return Err(bad(format!("`{registry}` is no host of a registry")));
        }
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(bad(format!(
                "the repository `{path}` must be in lower case"
            )));
        }
        if !path.split('/').all(is_path_component) {
            return Err(bad(format!(
                "`{path}` is no repository: names of lower-case letters and digits, separated by `/`, with `.`, `_`, `__` or `-` between them"
            )));
        }
        if registry.len() + path.len() > 254 {
            return Err(bad("the name is longer than 255 characters".into()));
        }
        Ok(Self {
            registry,
            repository: path,
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

/// The first part of a name is a host if it looks like one; Docker's rule.
fn split_registry(name: &str) -> (String, String) {
    let (registry, path) = match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (first, rest)
        }
        _ => (DOCKER_HUB, name),
    };
    let registry = match registry {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
        other => other,
    };
    let path = if registry == DOCKER_HUB && !path.contains('/') {
        format!("library/{path}")
    } else {
        path.to_owned()
    };
    (registry.to_owned(), path)
}

fn is_tag(tag: &str) -> bool {
    (1..=128).contains(&tag.len())
        && !tag.starts_with(['.', '-'])
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let v6 = address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
            if !v6 || address.is_empty() {
                return false;
            }
            match rest.strip_prefix(':') {
                Some(port) => ("v6", Some(port)),
                None if rest.is_empty() => ("v6", None),
                None => return false,
            }
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let good_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let good_name = name.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    good_port && good_name
}

/// `[a-z0-9]+` joined by `.`, `_`, `__` or any number of `-`.
fn is_path_component(part: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    alphanumeric(*first)
        && alphanumeric(*last)
        && part
            .split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            .all(|between| {
                matches!(between, "" | "." | "_" | "__") || between.bytes().all(|b| b == b'-')
            })
}

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a registry.
    Registry(ImageReference),
    /// In a folder, as an OCI image layout: `oci:DIR`, `oci:DIR:TAG` or `oci:DIR@DIGEST`.
    Layout(LayoutReference),
}

/// An image in an OCI layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutReference {
    /// The folder.
    pub folder: PathBuf,
    /// Which of the images in it; the only one if nothing is said.
    pub version: LayoutVersion,
}

/// Which image of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutVersion {
    /// The only one there is.
    Only,
    /// The one of this name.
    Tag(String),
    /// The one of this digest.
    Digest(Digest),
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some(rest) = text.strip_prefix("oci:") else {
            let reference = text.strip_prefix("docker://").unwrap_or(text);
            return Ok(Self::Registry(reference.parse()?));
        };
        let (folder, version) = match rest.split_once('@') {
            Some((folder, digest)) => (folder, LayoutVersion::Digest(digest.parse()?)),
            None => match rest.rsplit_once(':') {
                Some((folder, tag)) if !tag.contains('/') => {
                    (folder, LayoutVersion::Tag(tag.to_owned()))
                }
                _ => (rest, LayoutVersion::Only),
            },
        };
        if folder.is_empty() || version == LayoutVersion::Tag(String::new()) {
            return Err(Error::Reference {
                reference: text.to_owned(),
                reason: "a layout is written `oci:DIR`, `oci:DIR:TAG` or `oci:DIR@DIGEST`".into(),
            });
        }
        Ok(Self::Layout(LayoutReference {
            folder: folder.into(),
            version,
        }))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(reference) => reference.fmt(f),
            Self::Layout(layout) => layout.fmt(f),
        }
    }
}

impl fmt::Display for LayoutReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci:{}", self.folder.display())?;
        match &self.version {
            LayoutVersion::Only => Ok(()),
            LayoutVersion::Tag(tag) => write!(f, ":{tag}"),
            LayoutVersion::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{ImageReference, Location};

    const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[rstest]
    #[case("nginx", "docker.io/library/nginx:latest")]
    #[case("nginx:1.27", "docker.io/library/nginx:1.27")]
    #[case("bitnami/nginx", "docker.io/bitnami/nginx:latest")]
    #[case("index.docker.io/nginx", "docker.io/library/nginx:latest")]
    #[case("quay.io/org/team/app:v1.0", "quay.io/org/team/app:v1.0")]
    #[case("localhost/app", "localhost/app:latest")]
    #[case("localhost:5000/app", "localhost:5000/app:latest")]
    #[case("127.0.0.1:5000/a/b:c", "127.0.0.1:5000/a/b:c")]
    #[case("[::1]:5000/a", "[::1]:5000/a:latest")]
    #[case("Registry/app", "Registry/app:latest")]
    #[case("a__b/c---d/e.f", "docker.io/a__b/c---d/e.f:latest")]
    fn a_reference_is_read_as_docker_reads_it(#[case] text: &str, #[case] full: &str) {
        let reference: ImageReference = text.parse().unwrap();
        assert_eq!(reference.to_string(), full);
        assert_eq!(full.parse::<ImageReference>().unwrap().to_string(), full);
    }

    #[test]
    fn a_digest_wins_over_a_tag_and_both_are_kept() {
        let text = format!("quay.io/a/b:v1@sha256:{HASH}");
        let reference: ImageReference = text.parse().unwrap();
        assert_eq!(reference.tag(), Some("v1"));
        assert_eq!(reference.version(), format!("sha256:{HASH}"));
        assert_eq!(reference.to_string(), text);
    }

    #[rstest]
    #[case("", "empty")]
    #[case("https://quay.io/a/b", "URL")]
    #[case("quay.io/Org/app", "lower case")]
    #[case("quay.io/a/b:", "is no tag")]
    #[case("quay.io/a/b:-x", "is no tag")]
    #[case("quay.io/a//b", "is no repository")]
    #[case("quay.io/a/../b", "is no repository")]
    #[case("quay.io/a/b@sha256:12", "has 64 digits")]
    #[case("quay.io:port/a", "no host")]
    #[case(HASH, "bare hash")]
    fn a_bad_reference_is_refused_with_the_reason(#[case] text: &str, #[case] reason: &str) {
        let error = text.parse::<ImageReference>().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains(text), "{error}");
    }

    #[rstest]
    #[case("oci:some/dir")]
    #[case("oci:/some/dir:v1")]
    #[case("oci:c:/x/dir:v1")]
    #[case("quay.io/a/b:latest")]
    fn a_location_is_printed_as_it_was_written(#[case] text: &str) {
        assert_eq!(text.parse::<Location>().unwrap().to_string(), text);
    }

    #[test]
    fn a_layout_without_a_folder_is_refused() {
        for text in ["oci:", "oci::tag", "oci:dir:"] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_what_is_read_is_stable(text in "\\PC{0,60}") {
            if let Ok(reference) = text.parse::<ImageReference>() {
                let full = reference.to_string();
                prop_assert_eq!(full.parse::<ImageReference>().unwrap().to_string(), full);
                prop_assert!(!reference.repository().contains(".."));
            }
            let _ = text.parse::<Location>();
        }
    }
}
