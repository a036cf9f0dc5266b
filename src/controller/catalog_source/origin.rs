//! What the spec of a CatalogSource names.

use std::fmt;
use std::time::Duration;

use crate::api::catalog_source::{CatalogSourceSpec, SourceType};
use crate::api::duration;
use crate::oci::Location;

/// How often is looked for something new if the spec says nonsense.
const DEFAULT_INTERVAL: Duration = Duration::from_mins(15);

/// Where the content comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// An image, and the folder in it if the spec names one.
    Image {
        image: String,
        folder: Option<String>,
    },
    /// A registry that speaks gRPC.
    Address(String),
    /// A ConfigMap in the same namespace.
    ConfigMap(String),
}

impl Origin {
    /// Reads the spec. The errors are OLM's words.
    pub(super) fn of(spec: &CatalogSourceSpec) -> Result<Self, String> {
        match &spec.source_type {
            SourceType::Grpc if is_local(&spec.image) => Err(format!(
                "`{}` is no image of a registry: folders and OCI layouts are Chandler's own, and are not read for a CatalogSource; push the image, and name it as HOST/REPOSITORY:TAG",
                spec.image
            )),
            SourceType::Grpc if !spec.image.is_empty() => {
                let content = spec.grpc_pod_config.as_ref();
                let content = content.and_then(|config| config.extract_content.as_ref());
                let folder = content.map(|content| content.catalog_dir.clone());
                Ok(Self::Image {
                    image: spec.image.clone(),
                    folder: folder.filter(|folder| !folder.is_empty()),
                })
            }
            SourceType::Grpc if !spec.address.is_empty() => Ok(Self::Address(spec.address.clone())),
            SourceType::Grpc => Err(
                "image and address unset: at least one must be set for sourcetype: grpc".to_owned(),
            ),
            kind @ (SourceType::ConfigMap | SourceType::Internal) if spec.config_map.is_empty() => {
                Err(format!(
                    "configmap name unset: must be set for sourcetype: {kind}"
                ))
            }
            SourceType::ConfigMap | SourceType::Internal => {
                Ok(Self::ConfigMap(spec.config_map.clone()))
            }
            other => Err(format!("unknown sourcetype: {other}")),
        }
    }

    /// Whether a watch says when to look again, so that looking costs little.
    pub(super) fn is_watched(&self) -> bool {
        matches!(self, Self::ConfigMap(_))
    }
}

/// Whether an image would be looked for where this process runs.
fn is_local(image: &str) -> bool {
    matches!(image.parse(), Ok(Location::Layout(_)))
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image {
                image,
                folder: None,
            } => f.write_str(image),
            Self::Image {
                image,
                folder: Some(folder),
            } => write!(f, "{image} {folder}"),
            Self::Address(address) => write!(f, "grpc://{address}"),
            Self::ConfigMap(name) => write!(f, "ConfigMap {name}"),
        }
    }
}

/// How often is looked for something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Polling {
    /// Never if nothing is said.
    interval: Option<Duration>,
    /// What is wrong with what is said.
    pub(super) problem: Option<String>,
}

/// A remote registry does not say when it has something new, and asking it is reading it.
const REMOTE_INTERVAL: Duration = Duration::from_mins(15);

impl Polling {
    pub(super) fn of(spec: &CatalogSourceSpec) -> Self {
        let poll = spec.update_strategy.as_ref();
        let poll = poll.and_then(|strategy| strategy.registry_poll.as_ref());
        let text = poll.map(|poll| poll.interval.as_str());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Self {
                interval: None,
                problem: None,
            };
        };
        match duration::parse(text) {
            Ok(interval) => Self {
                // A registry that is asked without any pause would ask back.
                interval: Some(interval.max(Duration::from_secs(1))),
                problem: None,
            },
            Err(error) => Self {
                interval: Some(DEFAULT_INTERVAL),
                problem: Some(format!(
                    "error parsing spec.updateStrategy.registryPoll.interval. Using the default \
                     value of 15m0s instead. Error: {error}"
                )),
            },
        }
    }

    fn interval(&self, origin: &Origin) -> Option<Duration> {
        match origin {
            Origin::Image { image, .. } if image.contains("@sha256:") => None,
            Origin::Image { .. } => self.interval,
            Origin::Address(_) => Some(self.interval.unwrap_or(REMOTE_INTERVAL)),
            Origin::ConfigMap(_) => None,
        }
    }

    /// Whether it is time to look again.
    pub(super) fn is_due(&self, origin: &Origin, age: Duration) -> bool {
        self.interval(origin)
            .is_some_and(|interval| age >= interval)
    }

    /// How long it is until then.
    pub(super) fn pause(&self, origin: &Origin, age: Duration) -> Option<Duration> {
        let interval = self.interval(origin)?;
        Some(interval.saturating_sub(age).max(Duration::from_millis(10)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::api::catalog_source::{RegistryPoll, UpdateStrategy};

    fn spec(source_type: &str) -> CatalogSourceSpec {
        CatalogSourceSpec {
            source_type: source_type.into(),
            ..CatalogSourceSpec::default()
        }
    }

    #[rstest]
    #[case(
        "grpc",
        "image and address unset: at least one must be set for sourcetype: grpc"
    )]
    #[case(
        "internal",
        "configmap name unset: must be set for sourcetype: internal"
    )]
    #[case(
        "configmap",
        "configmap name unset: must be set for sourcetype: configmap"
    )]
    #[case("nope", "unknown sourcetype: nope")]
    fn a_spec_that_names_nothing_is_refused_in_olms_words(
        #[case] source_type: &str,
        #[case] words: &str,
    ) {
        assert_eq!(Origin::of(&spec(source_type)), Err(words.to_owned()));
    }

    #[test]
    fn nothing_is_read_from_where_chandler_runs() {
        let mut spec = spec("grpc");
        spec.image = "oci:/var/cache/chandler".into();
        let refused = Origin::of(&spec).unwrap_err();
        assert!(
            refused.starts_with("`oci:/var/cache/chandler` is no image of a registry"),
            "{refused}"
        );
    }

    #[test]
    fn an_image_beats_an_address() {
        let mut spec = spec("grpc");
        spec.image = "example.com/catalog:v1".into();
        spec.address = "example.com:50051".into();
        assert!(matches!(
            Origin::of(&spec),
            Ok(Origin::Image { folder: None, .. })
        ));
    }

    #[test]
    fn a_bad_interval_is_said_and_the_default_used() {
        let mut spec = spec("grpc");
        spec.image = "example.com/catalog:v1".into();
        spec.update_strategy = Some(UpdateStrategy {
            registry_poll: Some(RegistryPoll {
                interval: "45mError.code".into(),
            }),
        });
        let polling = Polling::of(&spec);
        let problem = polling.problem.clone().unwrap();
        assert!(
            problem.contains("Using the default value of 15m0s instead"),
            "{problem}"
        );
        let origin = Origin::of(&spec).unwrap();
        assert!(polling.is_due(&origin, Duration::from_mins(15)));
        assert!(!polling.is_due(&origin, Duration::from_mins(14)));
    }

    #[test]
    fn an_image_that_is_named_by_its_digest_never_changes() {
        let mut spec = spec("grpc");
        spec.image = format!("example.com/catalog@sha256:{}", "0".repeat(64));
        spec.update_strategy = Some(UpdateStrategy {
            registry_poll: Some(RegistryPoll {
                interval: "1s".into(),
            }),
        });
        let origin = Origin::of(&spec).unwrap();
        assert_eq!(Polling::of(&spec).pause(&origin, Duration::ZERO), None);
    }
}
