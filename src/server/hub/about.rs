//! What a bundle says of itself, out of what a catalog has of it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::views::{About, ApiView, ImageView, LinkView, MaintainerView};
use super::words::{cut, safe_url};
use crate::api::cluster_service_version::about::{Link, Maintainer};
use crate::api::cluster_service_version::apis::CustomResourceDefinitions;
use crate::bundle::property::{BUNDLE_OBJECT, CSV_METADATA, GVK};
use crate::catalog::text;
use crate::yaml;

/// How long a description may be that is passed on. The longest real one has 50 KB.
const LONGEST_DESCRIPTION: usize = 200_000;
const LONGEST_SUMMARY: usize = 500;
const LONGEST_IMAGE: usize = 500;
/// How many images, links and the like are passed on.
const MOST: usize = 500;

/// What people want to know of a ClusterServiceVersion, in one of the forms in which a catalog
/// carries it.
#[derive(Debug, Default)]
pub(super) struct CsvFacts {
    /// The annotations.
    pub(super) annotations: BTreeMap<String, String>,
    /// `olm.csv.metadata`, or the spec of the CSV: their fields have the same names but for CRDs.
    spec: Value,
}

impl CsvFacts {
    /// Out of the blob `olm.bundle`.
    pub(super) fn of_blob(blob: &Value) -> Self {
        if let Some(metadata) = properties(blob, CSV_METADATA).next() {
            return Self {
                annotations: texts(metadata.get("annotations")),
                spec: metadata.clone(),
            };
        }
        let objects = manifests(blob);
        let csv = objects.into_iter().find(|object| {
            object.get("kind").and_then(Value::as_str) == Some("ClusterServiceVersion")
        });
        csv.map(Self::of_csv).unwrap_or_default()
    }

    /// Out of the CSV itself.
    pub(super) fn of_csv(mut csv: Value) -> Self {
        Self {
            annotations: texts(csv.pointer("/metadata/annotations")),
            spec: csv.get_mut("spec").map(Value::take).unwrap_or_default(),
        }
    }

    /// A field, or nothing if it is not what it should be: one bad field hides no other.
    fn field<T: DeserializeOwned + Default>(&self, name: &str) -> T {
        let value = self.spec.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value).unwrap_or_default()
    }

    fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", String::as_str).trim()
    }

    /// An annotation that is a name or the like.
    fn label(&self, name: &str) -> String {
        text::name(self.annotation(name))
    }

    /// The custom resources that the CSV describes.
    pub(super) fn crds(&self) -> CustomResourceDefinitions {
        let key = if self.spec.get("crdDescriptions").is_some() {
            "crdDescriptions"
        } else {
            "customresourcedefinitions"
        };
        self.field(key)
    }

    /// The examples of custom resources.
    pub(super) fn examples(&self) -> Vec<Value> {
        match serde_json::from_str(self.annotation("alm-examples")) {
            Ok(Value::Array(examples)) => examples,
            _ => Vec::new(),
        }
    }

    /// What it says of itself.
    pub(super) fn about(&self) -> About {
        let provider: Link = self.field("provider");
        let links: Vec<Link> = self.field("links");
        let maintainers: Vec<Maintainer> = self.field("maintainers");
        let description: String = self.field("description");
        About {
            display_name: text::name(&self.field::<String>("displayName")),
            description: cut(&description, LONGEST_DESCRIPTION),
            summary: text::label(self.annotation("description"), LONGEST_SUMMARY),
            provider: link(&provider),
            links: links.iter().take(MOST).map(link).collect(),
            maintainers: maintainers.iter().take(MOST).map(maintainer).collect(),
            keywords: text::keywords(&self.field::<Vec<String>>("keywords")),
            categories: text::categories(self.annotation("categories")),
            capability_level: super::list::level(&self.label("capabilities")).to_owned(),
            maturity: text::name(&self.field::<String>("maturity")),
            repository: safe_url(self.annotation("repository")),
            container_image: text::label(self.annotation("containerImage"), LONGEST_IMAGE),
            support: self.label("support"),
            license: self.label("artifacthub.io/license"),
            created_at: self.label("createdAt"),
            certified: self.annotation("certified") == "true",
            suggested_namespace: self
                .annotation("operatorframework.io/suggested-namespace")
                .to_owned(),
        }
    }
}

fn link(link: &Link) -> LinkView {
    LinkView {
        name: text::name(&link.name),
        url: safe_url(&link.url),
    }
}

fn maintainer(maintainer: &Maintainer) -> MaintainerView {
    MaintainerView {
        name: text::name(&maintainer.name),
        email: text::name(&maintainer.email),
    }
}

/// The values of a bundle's properties of a type.
pub(super) fn properties<'b>(blob: &'b Value, kind: &str) -> impl Iterator<Item = &'b Value> {
    let all = blob.get("properties").and_then(Value::as_array);
    let of_kind = all
        .into_iter()
        .flatten()
        .filter(move |property| property.get("type").and_then(Value::as_str) == Some(kind));
    of_kind.filter_map(|property| property.get("value"))
}

/// The manifests that a catalog of the older form carries. What cannot be read is left out.
pub(super) fn manifests(blob: &Value) -> Vec<Value> {
    let data = properties(blob, BUNDLE_OBJECT).filter_map(|value| value.get("data")?.as_str());
    data.filter_map(|data| {
        let bytes = STANDARD.decode(data).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        if text.trim_start().starts_with('{') {
            return serde_json::from_str(&text).ok();
        }
        let document = yaml::documents("manifest", &text).next()?.ok()?;
        Some(document.into_value())
    })
    .collect()
}

/// The APIs that a bundle brings, with what its CSV says of them.
pub(super) fn provides(blob: &Value, facts: &CsvFacts) -> Vec<ApiView> {
    let described = facts.crds().owned;
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let mut apis: Vec<ApiView> = properties(blob, GVK)
        .map(|value| {
            let (group, kind) = (text(value, "group"), text(value, "kind"));
            let mut all = described.iter();
            let crd = all.find(|crd| crd.kind == kind && crd.group() == group);
            ApiView {
                version: text(value, "version"),
                crd: crd.map(|crd| crd.name.clone()).unwrap_or_default(),
                display_name: crd.map(|crd| crd.display_name.clone()).unwrap_or_default(),
                description: crd.map(|crd| crd.description.clone()).unwrap_or_default(),
                group,
                kind,
            }
        })
        .collect();
    apis.sort();
    apis.dedup();
    apis
}

/// The images that a bundle uses, by name.
pub(super) fn related_images(blob: &Value) -> Vec<ImageView> {
    let all = blob.get("relatedImages").and_then(Value::as_array);
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let mut images: Vec<ImageView> = all
        .into_iter()
        .flatten()
        .take(MOST)
        .map(|related| image(text(related, "name"), text(related, "image")))
        .filter(|related| !related.image.is_empty())
        .collect();
    images.sort();
    images.dedup();
    images
}

fn image(name: String, image: String) -> ImageView {
    ImageView {
        is_pinned: image.contains("@sha256:"),
        name,
        image,
    }
}

/// A map of texts; what is none is left out.
fn texts(map: Option<&Value>) -> BTreeMap<String, String> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
