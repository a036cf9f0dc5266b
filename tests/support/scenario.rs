//! Problems for the resolver, as `tests/fixtures/resolver/README.md` describes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chandler::catalog::fbc;
use chandler::resolver::{
    Bundle, Catalog, CatalogKey, Channel, Contents, Curation, Dependencies, Features, Held,
    Installed, Package, Packages, Progress, Request, Subscription,
};
use chandler::version::{UserRange, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Input {
    pub namespace: Option<String>,
    pub global_namespaces: Option<Vec<String>>,
    pub kube_version: Option<String>,
    pub operator_group: OperatorGroup,
    pub catalogs: Vec<CatalogInput>,
    pub installed: Vec<InstalledInput>,
    pub subscriptions: Vec<SubscriptionInput>,
    /// Subscriptions that cannot be understood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HeldInput {
    pub package: String,
    pub subscription: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OperatorGroup {
    /// Ours is the same with and without; OLM's is not.
    pub fail_forward: bool,
    pub exclude_global: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CatalogInput {
    pub name: String,
    pub namespace: Option<String>,
    pub priority: i32,
    pub problem: Option<String>,
    pub stale: Option<String>,
    pub only: Vec<String>,
    pub packages: Vec<PackageInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PackageInput {
    pub name: String,
    pub default_channel: String,
    pub deprecation: Option<String>,
    pub channels: Vec<ChannelInput>,
    pub bundles: Vec<BundleInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ChannelInput {
    pub name: String,
    pub deprecation: Option<String>,
    pub entries: Vec<fbc::Entry>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BundleInput {
    pub name: String,
    pub version: String,
    pub provides: Vec<String>,
    pub requires: Vec<Requires>,
    pub labels: Vec<String>,
    pub properties: Vec<PropertyInput>,
    pub min_kube_version: Option<String>,
    pub deprecated: bool,
    pub deprecation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Requires {
    Api { api: String },
    Package { package: String, range: String },
    Label { label: String },
    Constraint { constraint: Value },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyInput {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InstalledInput {
    pub name: String,
    pub version: String,
    pub package: Option<String>,
    pub provides: Vec<String>,
    pub requires: Vec<Requires>,
    pub labels: Vec<String>,
    pub properties: Vec<PropertyInput>,
    pub replaces: String,
    pub phase: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SubscriptionInput {
    pub name: String,
    pub package: Option<String>,
    pub channel: String,
    pub catalog: Option<String>,
    pub catalog_namespace: Option<String>,
    #[serde(rename = "startingCSV")]
    pub starting_csv: String,
    #[serde(rename = "installedCSV")]
    pub installed_csv: String,
    #[serde(rename = "currentCSV")]
    pub current_csv: Option<String>,
    pub version: Option<String>,
    pub dependencies: Option<String>,
}

const DEFAULT_CATALOG_NAMESPACE: &str = "olm";

/// The snapshots of an input's catalogs, which a request borrows.
pub struct World {
    snapshots: Vec<Packages>,
    input: Input,
}

impl World {
    pub fn new(input: Input) -> Self {
        let catalogs = input.catalogs.iter();
        let snapshots = catalogs.map(|catalog| catalog.packages.iter().map(package).collect());
        Self {
            snapshots: snapshots.collect(),
            input,
        }
    }

    pub fn input(&self) -> &Input {
        &self.input
    }

    pub fn request(&self) -> Request<'_> {
        let input = &self.input;
        let catalogs = input.catalogs.iter().zip(&self.snapshots);
        Request {
            namespace: input
                .namespace
                .clone()
                .unwrap_or_else(|| "operators".into()),
            global_namespaces: input
                .global_namespaces
                .clone()
                .unwrap_or_else(|| vec![DEFAULT_CATALOG_NAMESPACE.into()]),
            exclude_global: input.operator_group.exclude_global,
            kube_version: input
                .kube_version
                .as_ref()
                .map(|version| Version::parse(version).unwrap()),
            catalogs: catalogs
                .map(|(catalog, snapshot)| Catalog {
                    key: catalog_key(catalog),
                    priority: catalog.priority,
                    contents: match (&catalog.problem, &catalog.stale) {
                        (Some(problem), _) => Contents::Missing(problem),
                        (None, Some(problem)) => Contents::Stale(snapshot, problem),
                        (None, None) => Contents::Current(snapshot),
                    },
                    curation: Curation::new(&catalog.only).unwrap(),
                })
                .collect(),
            installed: input
                .installed
                .iter()
                .map(|csv| installed(csv, &input.subscriptions))
                .collect(),
            subscriptions: input
                .subscriptions
                .iter()
                .map(|subscription| self.subscription(subscription))
                .collect(),
            held: input
                .held
                .iter()
                .map(|held| Held {
                    package: held.package.clone(),
                    subscription: held.subscription.clone(),
                })
                .collect(),
        }
    }

    fn subscription(&self, input: &SubscriptionInput) -> Subscription {
        let named = self.input.catalogs.iter().find(|catalog| {
            input
                .catalog
                .as_ref()
                .is_none_or(|name| *name == catalog.name)
        });
        let namespace = input
            .catalog_namespace
            .clone()
            .or_else(|| named.map(|catalog| catalog_key(catalog).namespace))
            .unwrap_or_else(|| DEFAULT_CATALOG_NAMESPACE.into());
        let name = input
            .catalog
            .clone()
            .or_else(|| named.map(|catalog| catalog.name.clone()));
        Subscription {
            name: input.name.clone(),
            package: input.package.clone().unwrap_or_else(|| input.name.clone()),
            channel: input.channel.clone(),
            catalog: match name {
                Some(name) if name.is_empty() => CatalogKey::default(),
                name => CatalogKey::new(namespace, name.unwrap_or_default()),
            },
            starting_csv: input.starting_csv.clone(),
            installed_csv: input.installed_csv.clone(),
            version: input
                .version
                .as_ref()
                .map(|version| UserRange::parse(version).unwrap()),
            dependencies: match input.dependencies.as_deref() {
                None | Some("Install") => Dependencies::Install,
                Some("Require") => Dependencies::Require,
                Some(other) => panic!("dependencies: {other}"),
            },
        }
    }
}

fn catalog_key(catalog: &CatalogInput) -> CatalogKey {
    let namespace = catalog.namespace.as_deref();
    CatalogKey::new(
        namespace.unwrap_or(DEFAULT_CATALOG_NAMESPACE),
        &catalog.name,
    )
}

fn package(input: &PackageInput) -> Package {
    let channels = input.channels.iter().map(|channel| {
        let listed = fbc::Channel {
            package: input.name.clone(),
            name: channel.name.clone(),
            entries: channel.entries.clone(),
            properties: Vec::new(),
        };
        Channel::new(listed, channel.deprecation.clone())
    });
    let bundles = input.bundles.iter().map(|bundle| {
        let mut properties = properties(
            &bundle.provides,
            &bundle.requires,
            &bundle.labels,
            &bundle.properties,
        );
        if bundle.deprecated {
            properties.push(("olm.deprecated".into(), "{}".into()));
        }
        let min_kube_version = bundle.min_kube_version.as_ref();
        let name = bundle.name.clone();
        let mut made = Bundle::new(&input.name, name, &bundle.version, properties);
        made.asks_for_kubernetes(min_kube_version.map_or("", String::as_str));
        made.deprecation.clone_from(&bundle.deprecation);
        made
    });
    let mut package = Package::new(
        input.name.clone(),
        input.default_channel.clone(),
        channels.collect(),
        bundles.collect(),
    );
    package.deprecation.clone_from(&input.deprecation);
    package
}

fn properties(
    provides: &[String],
    requires: &[Requires],
    labels: &[String],
    others: &[PropertyInput],
) -> Vec<(String, String)> {
    let mut properties: Vec<(String, Value)> = Vec::new();
    for api in provides {
        properties.push(("olm.gvk".into(), gvk(api)));
    }
    for need in requires {
        properties.push(match need {
            Requires::Api { api } => ("olm.gvk.required".into(), gvk(api)),
            Requires::Package { package, range } => (
                "olm.package.required".into(),
                json!({"packageName": package, "versionRange": range}),
            ),
            Requires::Label { label } => ("olm.label.required".into(), json!({"label": label})),
            Requires::Constraint { constraint } => ("olm.constraint".into(), constraint.clone()),
        });
    }
    for label in labels {
        properties.push(("olm.label".into(), json!({"label": label})));
    }
    for property in others {
        properties.push((property.kind.clone(), property.value.clone()));
    }
    properties
        .into_iter()
        .map(|(kind, value)| (kind, value.to_string()))
        .collect()
}

fn gvk(api: &str) -> Value {
    let parts: Vec<&str> = api.split('/').collect();
    let [group, version, kind] = parts[..] else {
        panic!("{api} is not group/version/Kind")
    };
    json!({"group": group, "version": version, "kind": kind})
}

fn installed(input: &InstalledInput, subscriptions: &[SubscriptionInput]) -> Installed {
    let version = Version::parse(&input.version).ok();
    let mut owners: Vec<&String> = subscriptions
        .iter()
        .filter(|subscription| subscription.installed_csv == input.name)
        .map(|subscription| subscription.package.as_ref().unwrap_or(&subscription.name))
        .collect();
    owners.dedup();
    let inferred = match owners[..] {
        [one] => Some(one.clone()),
        _ => None,
    };
    let package = input.package.clone().or(inferred);
    let properties = properties(
        &input.provides,
        &input.requires,
        &input.labels,
        &input.properties,
    );
    Installed {
        name: input.name.clone(),
        features: Arc::new(Features::new(
            package.as_deref(),
            version.as_ref(),
            properties,
        )),
        package,
        version,
        replaces: input.replaces.clone(),
        progress: match input.phase.as_deref() {
            None | Some("Succeeded") => Progress::Succeeded,
            Some("Failed") => Progress::Failed,
            Some(_) => Progress::Underway,
        },
    }
}

/// The files of all scenarios, by path.
pub fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder()];
    while let Some(folder) = open.pop() {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Where the scenarios are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/resolver")
}
