//! What a bundle of a catalog tells of its ClusterServiceVersion.
//!
//! Catalogs carry it in one of two forms: `olm.csv.metadata` with what people want to know, or
//! whole manifests as `olm.bundle.object`. Catalogs are anybody's: what cannot be read is left out,
//! field by field, so that one odd list does not hide a package.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::catalog_source::Icon;
use crate::api::package_manifest::CsvDescription;
use crate::bundle::property;
use crate::version::Version;

/// What a bundle tells of its ClusterServiceVersion.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Csv {
    /// Its labels.
    pub(super) labels: BTreeMap<String, String>,
    /// What people read about it, without its picture.
    pub(super) description: CsvDescription,
    /// Its picture, if the bundle carries one.
    pub(super) icon: Option<Icon>,
}

impl Csv {
    /// Reads the blob `olm.bundle`. Whatever it does not tell stays empty.
    pub(super) fn read(blob: &[u8], version: &str) -> Self {
        let Ok(bundle) = serde_json::from_slice::<Bundle<'_>>(blob) else {
            return Self::default();
        };
        let of_kind = |kind: &'static str| {
            let properties = bundle.properties.iter();
            properties.filter(move |it| it.kind == kind)
        };
        let described = of_kind(property::CSV_METADATA).find_map(|it| Self::described(it.value));
        let whole = || of_kind(property::BUNDLE_OBJECT).find_map(|it| Self::whole(it.value));
        let mut csv = described.or_else(whole).unwrap_or_default();
        // Go reads nothing else as a version, and refuses the whole list of packages with it.
        let number = Version::parse_tolerant(version).map(|number| number.to_string());
        csv.description.version = number.unwrap_or_default();
        if csv.description.related_images.is_empty() {
            let images: Vec<Image> = part(bundle.related_images);
            csv.description.related_images = names(images);
        }
        csv
    }

    /// From `olm.csv.metadata`.
    fn described(value: &RawValue) -> Option<Self> {
        let about: About<'_> = serde_json::from_str(value.get()).ok()?;
        let metadata: Metadata<'_> = serde_json::from_str(value.get()).ok()?;
        let mut csv = about.read();
        csv.labels = texts(metadata.labels);
        let description = &mut csv.description;
        description.annotations = texts(metadata.annotations);
        description.custom_resource_definitions = part(metadata.crd_descriptions);
        description.api_service_definitions = part(metadata.api_service_definitions);
        description.native_apis = part(metadata.native_apis);
        Some(csv)
    }

    /// From `olm.bundle.object`, if that is a ClusterServiceVersion.
    fn whole(value: &RawValue) -> Option<Self> {
        let object: Object = serde_json::from_str(value.get()).ok()?;
        let manifest = STANDARD.decode(object.data).ok()?;
        let manifest: Manifest<'_> = serde_json::from_slice(&manifest).ok()?;
        if manifest.kind != "ClusterServiceVersion" {
            return None;
        }
        let spec = manifest.spec?.get();
        let about: About<'_> = serde_json::from_str(spec).ok()?;
        let spec: Spec<'_> = serde_json::from_str(spec).ok()?;
        let mut csv = about.read();
        let metadata = manifest.metadata.map(|it| serde_json::from_str(it.get()));
        if let Some(Ok(ObjectMeta {
            labels,
            annotations,
        })) = metadata
        {
            csv.labels = texts(labels);
            csv.description.annotations = texts(annotations);
        }
        let description = &mut csv.description;
        description.custom_resource_definitions = part(spec.custom_resource_definitions);
        description.api_service_definitions = part(spec.api_service_definitions);
        description.native_apis = part(spec.native_apis);
        description.related_images = names(part(spec.related_images));
        csv.icon = part::<Vec<Icon>>(spec.icon).into_iter().next();
        Some(csv)
    }
}

/// A field that is read on its own.
type Part<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle<'a> {
    #[serde(borrow, default)]
    properties: Vec<Property<'a>>,
    #[serde(borrow, default)]
    related_images: Part<'a>,
}

#[derive(Deserialize)]
struct Property<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Deserialize)]
struct Object {
    data: String,
}

#[derive(Deserialize)]
struct Manifest<'a> {
    #[serde(default)]
    kind: String,
    #[serde(borrow, default)]
    metadata: Part<'a>,
    #[serde(borrow, default)]
    spec: Part<'a>,
}

#[derive(Deserialize)]
struct ObjectMeta<'a> {
    #[serde(borrow, default)]
    labels: Part<'a>,
    #[serde(borrow, default)]
    annotations: Part<'a>,
}

/// What only `olm.csv.metadata` calls so.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    labels: Part<'a>,
    #[serde(borrow, default)]
    annotations: Part<'a>,
    #[serde(borrow, default)]
    crd_descriptions: Part<'a>,
    #[serde(borrow, default)]
    api_service_definitions: Part<'a>,
    #[serde(borrow, default, rename = "nativeAPIs")]
    native_apis: Part<'a>,
}

/// What only a manifest calls so.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow, default, rename = "customresourcedefinitions")]
    custom_resource_definitions: Part<'a>,
    #[serde(borrow, default, rename = "apiservicedefinitions")]
    api_service_definitions: Part<'a>,
    #[serde(borrow, default, rename = "nativeAPIs")]
    native_apis: Part<'a>,
    #[serde(borrow, default)]
    related_images: Part<'a>,
    #[serde(borrow, default)]
    icon: Part<'a>,
}

/// What both forms call the same.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About<'a> {
    #[serde(borrow, default)]
    display_name: Part<'a>,
    #[serde(borrow, default)]
    provider: Part<'a>,
    #[serde(borrow, default)]
    keywords: Part<'a>,
    #[serde(borrow, default)]
    links: Part<'a>,
    #[serde(borrow, default)]
    maintainers: Part<'a>,
    #[serde(borrow, default)]
    maturity: Part<'a>,
    #[serde(borrow, default)]
    description: Part<'a>,
    #[serde(borrow, default)]
    install_modes: Part<'a>,
    #[serde(borrow, default)]
    min_kube_version: Part<'a>,
}

impl About<'_> {
    fn read(&self) -> Csv {
        Csv {
            description: CsvDescription {
                display_name: part(self.display_name),
                provider: part(self.provider),
                keywords: part(self.keywords),
                links: part(self.links),
                maintainers: part(self.maintainers),
                maturity: part(self.maturity),
                description: part(self.description),
                install_modes: part(self.install_modes),
                min_kube_version: part(self.min_kube_version),
                ..CsvDescription::default()
            },
            ..Csv::default()
        }
    }
}

#[derive(Deserialize)]
struct Image {
    #[serde(default)]
    image: String,
}

fn names(images: Vec<Image>) -> Vec<String> {
    let names = images.into_iter().map(|image| image.image);
    names.filter(|name| !name.is_empty()).collect()
}

/// A field, or nothing if it is missing or of another form.
fn part<T: DeserializeOwned + Default>(part: Part<'_>) -> T {
    let value = part.and_then(|part| serde_json::from_str(part.get()).ok());
    value.unwrap_or_default()
}

/// A field of texts by name, without those that are no texts.
fn texts(field: Part<'_>) -> BTreeMap<String, String> {
    let values: BTreeMap<String, Value> = part(field);
    let texts = values.into_iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn csv(properties: &Value, images: &Value) -> Csv {
        let blob = json!({
            "schema": "olm.bundle", "name": "gopher.v1.0.0", "package": "gopher",
            "properties": properties, "relatedImages": images,
        });
        Csv::read(blob.to_string().as_bytes(), "1.0.0")
    }

    fn manifest(manifest: &Value) -> Value {
        json!({ "type": "olm.bundle.object", "value": { "data": STANDARD.encode(manifest.to_string()) } })
    }

    #[test]
    fn both_forms_of_a_catalog_tell_the_same() {
        let owned =
            json!({ "owned": [{ "name": "gophers.io", "kind": "Gopher", "version": "v1" }] });
        let about = json!({
            "displayName": "Gopher", "keywords": ["dig"], "maturity": "alpha", "description": "Digs.",
            "provider": { "name": "Burrow Inc." }, "minKubeVersion": "1.30.0",
            "installModes": [{ "type": "AllNamespaces", "supported": true }],
            "links": [{ "name": "home", "url": "https://example.com" }],
            "maintainers": [{ "name": "A", "email": "a@example.com" }],
        });
        let with = |more: Value| {
            let mut all = about.clone();
            let more = more.as_object().cloned().unwrap_or_default();
            all.as_object_mut().unwrap().extend(more);
            all
        };
        let metadata = with(json!({
            "annotations": { "capabilities": "Deep Insights" }, "labels": { "a": "b" },
            "crdDescriptions": owned, "apiServiceDefinitions": {},
            "nativeAPIs": [{ "group": "g", "version": "v1", "kind": "K" }],
        }));
        let described = csv(
            &json!([{ "type": "olm.csv.metadata", "value": metadata }]),
            &json!([{ "name": "x", "image": "example.com/x:1" }]),
        );
        let spec = with(json!({
            "customresourcedefinitions": owned,
            "nativeAPIs": [{ "group": "g", "version": "v1", "kind": "K" }],
            "relatedImages": [{ "name": "x", "image": "example.com/x:1" }],
        }));
        let whole = csv(
            &json!([
                manifest(&json!({ "kind": "ConfigMap", "metadata": { "name": "x" } })),
                manifest(&json!({
                    "kind": "ClusterServiceVersion", "spec": spec,
                    "metadata": { "annotations": { "capabilities": "Deep Insights" }, "labels": { "a": "b" } },
                })),
            ]),
            &json!([]),
        );
        assert_eq!(described, whole);
        assert_eq!(whole.description.display_name, "Gopher");
        assert_eq!(whole.description.version, "1.0.0");
        assert_eq!(whole.description.related_images, ["example.com/x:1"]);
        assert_eq!(whole.description.custom_resource_definitions.owned.len(), 1);
        assert_eq!(whole.labels["a"], "b");
    }

    #[test]
    fn a_field_of_another_form_is_left_out_and_the_rest_is_read() {
        let read = csv(
            &json!([{ "type": "olm.csv.metadata", "value": {
                "displayName": ["no", "text"], "keywords": "no list", "description": "Digs.",
                "annotations": { "capabilities": "Deep Insights", "number": 7 }, "provider": null,
            } }]),
            &json!("no list"),
        );
        assert_eq!(read.description.display_name, "");
        assert_eq!(read.description.description, "Digs.");
        assert_eq!(read.description.annotations.len(), 1);
        for properties in [
            json!([{ "type": "olm.csv.metadata", "value": [1, 2] }]),
            json!([{ "type": "olm.bundle.object", "value": { "data": "no base64" } }]),
            json!([manifest(
                &json!({ "kind": "ClusterServiceVersion", "spec": "none" })
            )]),
            json!([manifest(&json!({ "kind": "ClusterServiceVersion" }))]),
            json!("no list"),
        ] {
            assert_eq!(csv(&properties, &json!([])).labels, BTreeMap::new());
        }
        assert_eq!(Csv::read(b"no JSON", "1.0.0"), Csv::default());
    }

    #[test]
    fn a_version_that_go_would_refuse_is_left_out() {
        let version = |text: &str| Csv::read(b"{}", text).description.version;
        assert_eq!(version("v1.2"), "1.2.0");
        assert_eq!(version("latest"), "");
    }

    #[test]
    fn the_first_picture_of_a_manifest_counts() {
        let spec = json!({ "icon": [
            { "base64data": "AAAA", "mediatype": "image/png" },
            { "base64data": "BBBB", "mediatype": "image/gif" },
        ] });
        let whole = json!({ "kind": "ClusterServiceVersion", "metadata": {}, "spec": spec });
        let read = csv(&json!([manifest(&whole)]), &json!([]));
        assert_eq!(read.icon.unwrap().base64data, "AAAA");
        assert!(read.description.icon.is_empty());
    }
}
