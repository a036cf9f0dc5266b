//! What an operator has that others can ask for.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::Value as Json;

use crate::api::gvk::GroupVersionKind;
use crate::bundle::property::{GVK, PACKAGE};
use crate::version::{Range, Version};

use super::budget::Budget;
use super::cel::Value;
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

/// A property of a bundle or of a CSV: a type and a value in JSON.
#[derive(Debug)]
struct Property {
    kind: String,
    value: String,
    says: Says,
}

/// What a property tells of whoever has it. A value that cannot be read says nothing, as in OLM.
#[derive(Debug)]
enum Says {
    Nothing,
    Provides(Arc<GroupVersionKind>),
    CountsAs(String, Option<Version>),
    IsLabelled(String),
}

impl Property {
    fn new((kind, value): (String, String)) -> Self {
        Self {
            says: Says::read(&kind, &value).unwrap_or(Says::Nothing),
            kind,
            value,
        }
    }

    fn api(&self) -> Option<&Arc<GroupVersionKind>> {
        match &self.says {
            Says::Provides(api) => Some(api),
            _ => None,
        }
    }
}

impl Says {
    fn read(kind: &str, value: &str) -> Option<Self> {
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
            let api = GroupVersionKind::new(group, version, kind);
            return Some(Self::Provides(Arc::new(api)));
        }
        let value: Json = serde_json::from_str(value).ok()?;
        match kind {
            GVK => {
                let fields = Fields::of(&value, &["group", "version", "kind"]).ok()?;
                Some(Self::Provides(Arc::new(fields.api().ok()?)))
            }
            PACKAGE => {
                let fields = Fields::of(&value, &["packageName", "version"]).ok()?;
                let (name, version) = (fields.text(0).ok()?, fields.text(1).ok()?);
                let version = Version::parse(version).ok();
                Some(Self::CountsAs(name.to_owned(), version))
            }
            _ => {
                let fields = Fields::of(&value, &["label"]).ok()?;
                Some(Self::IsLabelled(fields.text(0).ok()?.to_owned()))
            }
        }
    }
}

/// Properties, each read once for all the bundles that have it.
#[derive(Debug)]
pub(super) struct Properties {
    all: Vec<Arc<Property>>,
    /// The APIs among them, sorted and each once.
    apis: Vec<Arc<GroupVersionKind>>,
    /// Where the API of a property is in `apis`.
    ranks: Vec<Option<usize>>,
}

impl Properties {
    /// Reads properties: pairs of a type and a value in JSON.
    pub(super) fn new(properties: Vec<(String, String)>) -> Self {
        let read = properties.into_iter().map(Property::new).map(Arc::new);
        let all: Vec<Arc<Property>> = read.collect();
        let mut apis: Vec<_> = all.iter().filter_map(|it| it.api().cloned()).collect();
        sort(&mut apis);
        let rank = |property: &Arc<Property>| apis.binary_search(property.api()?).ok();
        Self {
            ranks: all.iter().map(rank).collect(),
            all,
            apis,
        }
    }

    /// What the properties at some positions say together.
    ///
    /// Package and version are those of the entry itself; of a CSV they may be unknown.
    pub(super) fn features(
        &self,
        package: Option<&str>,
        version: Option<&Version>,
        positions: impl Iterator<Item = usize>,
    ) -> Features {
        let mut features = Features {
            properties: Vec::with_capacity(positions.size_hint().0),
            apis: Vec::new(),
            packages: package.map(str::to_owned).into_iter().collect(),
            labels: Vec::new(),
            versions: version.cloned().into_iter().collect(),
            values: OnceLock::new(),
        };
        let mut ranks = Vec::with_capacity(positions.size_hint().0);
        for at in positions {
            let Some(property) = self.all.get(at) else {
                continue;
            };
            features.properties.push(property.clone());
            match &property.says {
                Says::Nothing => {}
                Says::Provides(_) => ranks.extend(self.ranks[at]),
                Says::CountsAs(name, version) => {
                    features.packages.push(name.clone());
                    features.versions.extend(version.clone());
                }
                Says::IsLabelled(label) => features.labels.push(label.clone()),
            }
        }
        sort(&mut ranks);
        features.apis = ranks.into_iter().map(|at| self.apis[at].clone()).collect();
        sort(&mut features.packages);
        sort(&mut features.labels);
        sort(&mut features.versions);
        features
    }
}

/// What a bundle or an installed CSV has that others can ask for.
#[derive(Debug)]
pub struct Features {
    properties: Vec<Arc<Property>>,
    /// Sorted, each once, as the ones below.
    apis: Vec<Arc<GroupVersionKind>>,
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
        let positions = 0..properties.len();
        Properties::new(properties).features(package, version, positions)
    }

    /// The APIs it provides, sorted and each once.
    pub fn apis(&self) -> &[Arc<GroupVersionKind>] {
        &self.apis
    }

    /// The packages it counts as: its own, and those that properties name.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().map(String::as_str)
    }

    /// Whether its publisher says that it should not be installed any more.
    pub fn is_deprecated(&self) -> bool {
        self.properties().any(|(kind, _)| kind == DEPRECATED)
    }

    /// The properties, as they were given: types, and values in JSON.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &str)> {
        let properties = self.properties.iter();
        properties.map(|property| (property.kind.as_str(), property.value.as_str()))
    }

    pub(super) fn provides(&self, api: &GroupVersionKind) -> bool {
        self.apis.binary_search_by(|own| (**own).cmp(api)).is_ok()
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
            .get_or_init(|| Value::of_properties(self.properties()))
    }
}

fn sort<T: Ord>(items: &mut Vec<T>) {
    items.sort();
    items.dedup();
}
