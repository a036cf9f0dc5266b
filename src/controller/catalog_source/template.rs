//! Images whose name depends on the version of the cluster (`olm.catalogImageTemplate`).

use crate::version::Version;

/// A template that could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfilled {
    /// As far as it could be.
    pub(super) image: String,
    /// What could not.
    pub(super) missing: Vec<String>,
}

/// Fills in a template.
pub(super) fn fill(template: &str, kubernetes: Option<&Version>) -> Result<String, Unfilled> {
    let mut image = template.to_owned();
    if let Some(version) = kubernetes {
        let values = [
            ("{kube_major_version}", version.major()),
            ("{kube_minor_version}", version.minor()),
            ("{kube_patch_version}", version.patch()),
        ];
        for (name, value) in values {
            image = image.replace(name, &value.to_string());
        }
    }
    let missing = placeholders(&image);
    if missing.is_empty() {
        Ok(image)
    } else {
        Err(Unfilled { image, missing })
    }
}

fn placeholders(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let Some(end) = rest.find('}') else {
            break;
        };
        found.push(rest[..=end].to_owned());
        rest = &rest[end + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_cluster_is_filled_in() {
        let version = Version::new(1, 35, 8);
        let filled = fill(
            "example.com/catalog:v{kube_major_version}.{kube_minor_version}",
            Some(&version),
        );
        assert_eq!(filled, Ok("example.com/catalog:v1.35".to_owned()));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let version = Version::new(1, 35, 8);
        let filled = fill("example.com/c:{kube_minor_version}-{other}", Some(&version));
        let unfilled = filled.unwrap_err();
        assert_eq!(unfilled.missing, ["{other}"]);
        assert_eq!(unfilled.image, "example.com/c:35-{other}");
        assert!(fill("example.com/c:{kube_minor_version}", None).is_err());
    }
}
