//! From a bundle to what a catalog says of it, as `opm render` has it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::go;
use super::property::{self, Property, RelatedImage};
use super::{Bundle, Csv, Error};
use crate::api::cluster_service_version::install::STRATEGY_DEPLOYMENT;
use crate::api::gvk::GroupVersionKind;

/// What a catalog says of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// Its name.
    pub name: String,
    /// The package it belongs to.
    pub package: String,
    /// Where its manifests are.
    pub image: String,
    /// What it says about itself.
    pub properties: Vec<Property>,
    /// The images it uses.
    pub related_images: Vec<RelatedImage>,
}

/// How a catalog carries the `ClusterServiceVersion`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// What people want to know of it, as `olm.csv.metadata`.
    #[default]
    CsvMetadata,
    /// All manifests, as `olm.bundle.object`: the older form.
    BundleObjects,
}

/// What a catalog says of a bundle whose image has this reference.
pub fn render(bundle: &Bundle, image: &str) -> Result<Rendered, Error> {
    render_as(bundle, image, Form::default())
}

/// Like [`render`], in the form of your choice.
pub fn render_as(bundle: &Bundle, image: &str, form: Form) -> Result<Rendered, Error> {
    let mut properties = properties(bundle)?;
    match form {
        Form::CsvMetadata => properties.push(Property {
            kind: property::CSV_METADATA.to_owned(),
            value: csv_metadata(&bundle.csv)?,
        }),
        Form::BundleObjects => properties.extend(bundle_objects(bundle)),
    }
    Ok(Rendered {
        name: bundle.name.clone(),
        package: bundle.package.clone(),
        image: image.to_owned(),
        properties,
        related_images: related_images(&bundle.csv, image),
    })
}

/// A property with the text by which it is ordered.
struct Written {
    property: Property,
    text: String,
}

impl Written {
    fn new(kind: &str, value: Value) -> Self {
        let text = go::to_plain_json(&value);
        Self {
            property: Property {
                kind: kind.to_owned(),
                value,
            },
            text,
        }
    }

    /// Of a property that was in a YAML file.
    fn of_file(property: &Property) -> Self {
        Self {
            text: go::to_json(&property.value),
            property: property.clone(),
        }
    }
}

fn properties(bundle: &Bundle) -> Result<Vec<Property>, Error> {
    let mut written = Vec::new();
    let mut package = package_property(bundle);
    let mut provided = bundle.provided_apis.clone();
    let mut required = bundle.required_apis.clone();

    for own in stated(bundle) {
        match own.property.kind.as_str() {
            property::GVK => {
                provided.insert(gvk("metadata: property olm.gvk", &own.property.value)?);
            }
            property::PACKAGE => package = own_package(&own.property.value)?,
            _ => written.push(own),
        }
    }
    for dependency in &bundle.dependencies {
        let value = &dependency.value;
        match dependency.kind.as_str() {
            property::GVK => {
                required.insert(gvk("metadata: dependency olm.gvk", value)?);
            }
            property::PACKAGE => {
                let name = text("metadata: dependency olm.package", value, "packageName")?;
                let range = text("metadata: dependency olm.package", value, "version")?;
                written.push(Written::new(
                    property::PACKAGE_REQUIRED,
                    json!({ "packageName": name, "versionRange": range }),
                ));
            }
            _ => written.push(Written::of_file(dependency)),
        }
    }
    written.push(package);
    written.extend(apis(property::GVK, &provided));
    written.extend(apis(property::GVK_REQUIRED, &required));

    written.sort_by(|a, b| (&a.property.kind, &a.text).cmp(&(&b.property.kind, &b.text)));
    // What carries manifests stands at the end, even if somebody else wrote it.
    let (last, first): (Vec<_>, Vec<_>) = written.into_iter().partition(|own| {
        [property::BUNDLE_OBJECT, property::CSV_METADATA].contains(&own.property.kind.as_str())
    });
    let all = first.into_iter().chain(last);
    Ok(all.map(|own| own.property).collect())
}

/// What the bundle states of itself, in its files and in an annotation; nothing twice.
fn stated(bundle: &Bundle) -> Vec<Written> {
    let mut all: Vec<Written> = bundle.properties.iter().map(Written::of_file).collect();
    all.extend(annotated(&bundle.csv));
    let mut seen = BTreeSet::new();
    all.retain(|own| seen.insert((own.property.kind.clone(), own.text.clone())));
    all
}

/// The properties in the annotation `olm.properties`. One that cannot be read counts for nothing.
fn annotated(csv: &Csv) -> Vec<Written> {
    #[derive(Deserialize)]
    struct Annotated<'a> {
        #[serde(rename = "type", default)]
        kind: String,
        #[serde(borrow)]
        value: &'a RawValue,
    }
    let Some(text) = csv.annotations.get("olm.properties") else {
        return Vec::new();
    };
    let list: Vec<Annotated<'_>> = serde_json::from_str(text).unwrap_or_default();
    list.into_iter()
        .filter_map(|own| {
            Some(Written {
                property: Property {
                    kind: own.kind,
                    value: serde_json::from_str(own.value.get()).ok()?,
                },
                text: own.value.get().to_owned(),
            })
        })
        .collect()
}

fn package_property(bundle: &Bundle) -> Written {
    let mut value = json!({ "packageName": bundle.package, "version": bundle.version });
    if !bundle.release.is_empty() {
        value["release"] = Value::from(bundle.release.as_str());
    }
    Written::new(property::PACKAGE, value)
}

/// A property `olm.package` that the bundle states itself overrides the one we derive.
fn own_package(value: &Value) -> Result<Written, Error> {
    let what = "metadata: property olm.package";
    let mut package = Map::new();
    for key in ["packageName", "version"] {
        package.insert(key.to_owned(), text(what, value, key)?.into());
    }
    let release = text(what, value, "release")?;
    if !release.is_empty() {
        package.insert("release".to_owned(), release.into());
    }
    Ok(Written::new(property::PACKAGE, Value::Object(package)))
}

fn apis(kind: &str, apis: &BTreeSet<GroupVersionKind>) -> Vec<Written> {
    apis.iter()
        .map(|api| {
            let value = json!({ "group": api.group, "kind": api.kind, "version": api.version });
            Written::new(kind, value)
        })
        .collect()
}

fn gvk(what: &str, value: &Value) -> Result<GroupVersionKind, Error> {
    Ok(GroupVersionKind::new(
        text(what, value, "group")?,
        text(what, value, "version")?,
        text(what, value, "kind")?,
    ))
}

fn text(what: &str, value: &Value, key: &str) -> Result<String, Error> {
    let problem = match (value, go::get(value, key)) {
        (Value::Object(_), None | Some(Value::Null)) => return Ok(String::new()),
        (Value::Object(_), Some(Value::String(text))) => return Ok(text.clone()),
        (Value::Object(_), Some(other)) => format!("{key}: expected a text, found `{other}`"),
        (other, _) => format!("expected an object, found `{other}`"),
    };
    Err(Error::Property {
        what: what.to_owned(),
        problem,
    })
}

fn csv_metadata(csv: &Csv) -> Result<Value, Error> {
    let spec = &csv.spec;
    let mut metadata = Map::new();
    let mut put = |key: &str, value: serde_json::Result<Value>| -> Result<(), Error> {
        let value = value.map_err(|error| Error::Object {
            file: csv.file.clone(),
            path: "spec".to_owned(),
            problem: error.to_string(),
        })?;
        // These three are there even if they are empty.
        let always = ["apiServiceDefinitions", "crdDescriptions", "provider"].contains(&key);
        let empty = match &value {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if always || !empty {
            metadata.insert(key.to_owned(), value);
        }
        Ok(())
    };
    put("annotations", serde_json::to_value(&csv.annotations))?;
    put(
        "apiServiceDefinitions",
        serde_json::to_value(&spec.api_service_definitions),
    )?;
    put(
        "crdDescriptions",
        serde_json::to_value(&spec.custom_resource_definitions),
    )?;
    put("description", Ok(spec.description.clone().into()))?;
    put("displayName", Ok(spec.display_name.clone().into()))?;
    put("installModes", serde_json::to_value(&spec.install_modes))?;
    put("keywords", serde_json::to_value(&spec.keywords))?;
    put("labels", serde_json::to_value(&csv.labels))?;
    put("links", serde_json::to_value(&spec.links))?;
    put("maintainers", serde_json::to_value(&spec.maintainers))?;
    put("maturity", Ok(spec.maturity.clone().into()))?;
    put("minKubeVersion", Ok(spec.min_kube_version.clone().into()))?;
    put("nativeAPIs", serde_json::to_value(&spec.native_apis))?;
    put("provider", serde_json::to_value(&spec.provider))?;
    Ok(Value::Object(metadata))
}

fn bundle_objects(bundle: &Bundle) -> Vec<Property> {
    let values =
        std::iter::once(&bundle.csv.value).chain(bundle.objects.iter().map(|object| &object.value));
    let mut data: Vec<String> = values
        .map(|value| STANDARD.encode(go::to_json(value)))
        .collect();
    data.sort();
    data.into_iter()
        .map(|data| Property {
            kind: property::BUNDLE_OBJECT.to_owned(),
            value: json!({ "data": data }),
        })
        .collect()
}

/// The images that the operator names, that of the bundle, and those of its Deployments.
fn related_images(csv: &Csv, image: &str) -> Vec<RelatedImage> {
    let mut images: Vec<RelatedImage> = csv
        .spec
        .related_images
        .iter()
        .map(|related| RelatedImage {
            name: related.name.clone(),
            image: related.image.clone(),
        })
        .collect();
    let named: BTreeSet<String> = images.iter().map(|related| related.image.clone()).collect();
    let mut add = |image: &str| {
        if !named.contains(image) {
            images.push(RelatedImage {
                name: String::new(),
                image: image.to_owned(),
            });
        }
    };
    if !image.is_empty() {
        add(image);
    }
    for image in operator_images(csv) {
        add(image);
    }
    images.sort_by(|a, b| a.image.cmp(&b.image));
    images
}

/// The images in the Deployments of the operator, each once.
pub(super) fn operator_images(csv: &Csv) -> BTreeSet<&str> {
    let mut images = BTreeSet::new();
    if csv.spec.install.strategy != STRATEGY_DEPLOYMENT {
        return images;
    }
    for deployment in &csv.spec.install.spec.deployments {
        let Some(pod) = deployment
            .spec
            .get("template")
            .and_then(|template| go::get(template, "spec"))
        else {
            continue;
        };
        for list in ["containers", "initContainers"] {
            let containers = go::get(pod, list).and_then(Value::as_array);
            for container in containers.into_iter().flatten() {
                let image = go::get(container, "image").and_then(Value::as_str);
                images.extend(image.filter(|image| !image.is_empty()));
            }
        }
    }
    images
}
