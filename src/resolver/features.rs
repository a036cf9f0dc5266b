//! What an operator has that others can ask for.

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::api::gvk::GroupVersionKind;
use crate::bundle::property::{GVK, PACKAGE};
use crate::version::{Range, Version};

use super::cel::{Budget, Value};
use super::constraint::{Fields, LABEL};

/// Marks a bundle whose version nobody should install any more.
const DEPRECATED: &str = "olm.deprecated";

/// An API as it is usually written. Whatever is written otherwise is read with more care.
#[derive(Deserialize)]
struct Plain<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

/// What a bundle or an installed CSV has that others can ask for.
#[derive(Debug)]
pub struct Features {
    properties: Vec<(String, String)>,
    /// Sorted, each once, as the ones below.
    apis: Vec<GroupVersionKind>,
    packages: Vec<String>,
    labels: Vec<String>,
    versions: Vec<Version>,
    /// The properties as rules see them, made when the first one asks.
    values: OnceLock<Value>,
}

impl Features {
    /// Reads the properties of a catalog's entry or of a CSV: pairs of a type and a value in JSON.
    ///
    /// Package and version are those of the entry itself; of a CSV they may be unknown. A value that
    /// cannot be read says nothing, as in OLM.
    pub fn new(
        package: Option<&str>,
        version: Option<&Version>,
        properties: Vec<(String, String)>,
    ) -> Self {
        let mut features = Self {
            apis: Vec::new(),
            packages: package.map(str::to_owned).into_iter().collect(),
            labels: Vec::new(),
            versions: version.cloned().into_iter().collect(),
            values: OnceLock::new(),
            properties: Vec::new(),
        };
        for (kind, value) in &properties {
            features.read(kind, value);
        }
        features.properties = properties;
        sort(&mut features.apis);
        sort(&mut features.packages);
        sort(&mut features.labels);
        sort(&mut features.versions);
        features
    }

    fn read(&mut self, kind: &str, value: &str) -> Option<()> {
        if ![GVK, PACKAGE, LABEL].contains(&kind) {
            return None;
        }
        // Bundles with a hundred APIs are common, and most write them plainly.
        if kind == GVK
            && let Ok(Plain {
                group,
                version,
                kind,
            }) = serde_json::from_str(value)
        {
            self.apis.push(GroupVersionKind::new(group, version, kind));
            return Some(());
        }
        let value: Json = serde_json::from_str(value).ok()?;
        match kind {
            GVK => {
                let fields = Fields::of(&value, &["group", "version", "kind"]).ok()?;
                self.apis.push(fields.api().ok()?);
            }
            PACKAGE => {
                let fields = Fields::of(&value, &["packageName", "version"]).ok()?;
                let (name, version) = (fields.text(0).ok()?, fields.text(1).ok()?);
                self.packages.push(name.to_owned());
                self.versions.extend(Version::parse(version).ok());
            }
            _ => {
                let fields = Fields::of(&value, &["label"]).ok()?;
                self.labels.push(fields.text(0).ok()?.to_owned());
            }
        }
        Some(())
    }

    /// The APIs it provides, sorted and each once.
    pub fn apis(&self) -> &[GroupVersionKind] {
        &self.apis
    }

    /// The packages it counts as: its own, and those that properties name.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().map(String::as_str)
    }

    /// Whether its publisher says that it should not be installed any more.
    pub fn is_deprecated(&self) -> bool {
        self.properties.iter().any(|(kind, _)| kind == DEPRECATED)
    }

    /// The properties, as they were given.
    pub fn properties(&self) -> &[(String, String)] {
        &self.properties
    }

    pub(super) fn provides(&self, api: &GroupVersionKind) -> bool {
        self.apis.binary_search(api).is_ok()
    }

    pub(super) fn is_labelled(&self, label: &str) -> bool {
        self.labels
            .binary_search_by(|own| own.as_str().cmp(label))
            .is_ok()
    }

    /// Whether it counts as the package, in one of the versions. As in OLM, name and version may
    /// come from different properties.
    pub(super) fn is_package(&self, name: &str, range: &Range, budget: &Budget) -> bool {
        self.packages
            .binary_search_by(|own| own.as_str().cmp(name))
            .is_ok()
            && budget.spend(self.versions.len())
            && self.versions.iter().any(|version| range.contains(version))
    }

    pub(super) fn values(&self) -> &Value {
        self.values
            .get_or_init(|| Value::of_properties(&self.properties))
    }
}

fn sort<T: Ord>(items: &mut Vec<T>) {
    items.sort();
    items.dedup();
}
