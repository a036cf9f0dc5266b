//! Properties whose form is known.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::package::decode_base64;
use crate::api::cluster_service_version::about::{Link, Maintainer};
use crate::api::cluster_service_version::apis::{ApiServiceDefinitions, CustomResourceDefinitions};
use crate::bundle::{Property, property};
use crate::catalog::fbc::Fields;
use crate::yaml;

/// The value of an `olm.package` property.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageProperty {
    /// The package that the bundle belongs to.
    pub package_name: String,
    /// The version of the bundle.
    pub version: String,
    /// Which build of that version it is; may be empty.
    pub release: String,
}

impl PackageProperty {
    /// Reads the value of the property, keys without regard to case.
    pub fn read(value: &Value) -> Result<Self, String> {
        let mut fields = fields(value)?;
        Ok(Self {
            package_name: fields.text("packageName")?,
            version: fields.text("version")?,
            release: fields.text("release")?,
        })
    }
}

/// Whether the value has the form that the type demands. Types that are not known may hold anything.
pub(super) fn check_property(property: &Property) -> Result<(), String> {
    let value = &property.value;
    match property.kind.as_str() {
        property::PACKAGE => PackageProperty::read(value).map(|_| ()),
        property::PACKAGE_REQUIRED => texts(value, &["packageName", "versionRange"]),
        property::GVK | property::GVK_REQUIRED => texts(value, &["group", "kind", "version"]),
        "olm.channel" => channel(value),
        property::BUNDLE_OBJECT => bundle_object(value),
        property::CSV_METADATA => csv_metadata(value),
        _ => Ok(()),
    }
}

fn fields(value: &Value) -> Result<Fields, String> {
    match value {
        Value::Null => Ok(Fields::new(Map::new())),
        Value::Object(map) => Ok(Fields::new(map.clone())),
        _ => Err("expected an object as its value".to_owned()),
    }
}

fn texts(value: &Value, keys: &[&str]) -> Result<(), String> {
    let mut fields = fields(value)?;
    keys.iter().try_for_each(|key| fields.text(key).map(|_| ()))
}

fn channel(value: &Value) -> Result<(), String> {
    let mut fields = fields(value)?;
    fields.text("channelName")?;
    match fields.take("priority") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Number(number)) if number.is_i64() => Ok(()),
        Some(_) => Err("priority: expected a whole number".to_owned()),
    }
}

/// The object is looked at without being kept: some are megabytes long.
fn bundle_object(value: &Value) -> Result<(), String> {
    let data = match value {
        Value::Null => "",
        Value::Object(map) => match map.iter().find(|(key, _)| key.eq_ignore_ascii_case("data")) {
            None | Some((_, Value::Null)) => "",
            Some((_, Value::String(data))) => data,
            Some(_) => return Err("data: expected a manifest in base64".to_owned()),
        },
        _ => return Err("expected an object with `data`".to_owned()),
    };
    let manifest = decode_base64(data).map_err(|error| format!("data is not base64: {error}"))?;
    if serde_json::from_slice::<IgnoredAny>(&manifest).is_ok() {
        return Ok(());
    }
    let text = String::from_utf8(manifest).map_err(|_| "data is not a manifest in UTF-8")?;
    match yaml::documents("data", &text).next() {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(format!("data is not a manifest: {error}")),
    }
}

/// What opm reads from the property, with what Go lets pass.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(dead_code, reason = "only whether it can be read is of interest")]
struct CsvMetadata {
    annotations: Option<BTreeMap<String, Option<String>>>,
    api_service_definitions: Option<ApiServiceDefinitions>,
    crd_descriptions: Option<CustomResourceDefinitions>,
    description: Option<String>,
    display_name: Option<String>,
    install_modes: Option<Vec<Option<InstallMode>>>,
    keywords: Option<Vec<Option<String>>>,
    labels: Option<BTreeMap<String, Option<String>>>,
    links: Option<Vec<Option<Link>>>,
    maintainers: Option<Vec<Option<Maintainer>>>,
    maturity: Option<String>,
    min_kube_version: Option<String>,
    #[serde(rename = "nativeAPIs")]
    native_apis: Option<Vec<Option<NativeApi>>>,
    provider: Option<Link>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only whether it can be read is of interest")]
struct InstallMode {
    #[serde(rename = "type")]
    kind: Option<String>,
    supported: Option<bool>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only whether it can be read is of interest")]
struct NativeApi {
    group: Option<String>,
    version: Option<String>,
    kind: Option<String>,
}

fn csv_metadata(value: &Value) -> Result<(), String> {
    Option::<CsvMetadata>::deserialize(value)
        .map(|_| ())
        .map_err(|error| error.to_string())
}
