//! Operators to install: small bundles and catalogs, made on the spot.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chandler::bundle::FileTree;
use chandler::oci::auth::AuthConfig;
use chandler::oci::client::{Registry, Settings};
use chandler::publish::{bundle_image, catalog_image};
use serde_json::{Value, json};

/// One version of an operator.
#[derive(Debug, Clone)]
pub struct Operator {
    pub package: String,
    pub version: String,
    /// The group of its APIs: different in each test, because CRDs are for the whole cluster.
    pub group: String,
    replaces: Option<String>,
    skip_range: Option<String>,
    skips: Vec<String>,
    modes: Vec<String>,
    owned: Vec<String>,
    required: Vec<String>,
    needs: Vec<(String, String)>,
    objects: Vec<Value>,
    permissions: Vec<Value>,
    cluster_permissions: Vec<Value>,
    csv_changes: Value,
    deployment_changes: Value,
}

/// What an operator supports unless it says otherwise.
const ALL_MODES: [&str; 4] = [
    "OwnNamespace",
    "SingleNamespace",
    "MultiNamespace",
    "AllNamespaces",
];

impl Operator {
    pub fn new(group: &str, package: &str, version: &str) -> Self {
        Self {
            package: package.to_owned(),
            version: version.to_owned(),
            group: group.to_owned(),
            replaces: None,
            skip_range: None,
            skips: Vec::new(),
            modes: ALL_MODES.map(ToOwned::to_owned).to_vec(),
            owned: Vec::new(),
            required: Vec::new(),
            needs: Vec::new(),
            objects: Vec::new(),
            permissions: Vec::new(),
            cluster_permissions: Vec::new(),
            csv_changes: json!({}),
            deployment_changes: json!({}),
        }
    }

    /// It follows another version.
    pub fn replaces(mut self, version: &str) -> Self {
        self.replaces = Some(format!("{}.v{version}", self.package));
        self
    }

    /// It follows another CSV, of whatever package.
    pub fn replaces_csv(mut self, csv: &str) -> Self {
        self.replaces = Some(csv.to_owned());
        self
    }

    pub fn skip_range(mut self, range: &str) -> Self {
        self.skip_range = Some(range.to_owned());
        self
    }

    /// It may be taken instead of another version.
    pub fn skips(mut self, version: &str) -> Self {
        self.skips.push(format!("{}.v{version}", self.package));
        self
    }

    /// It supports these install modes and no others.
    pub fn supports(mut self, modes: &[&str]) -> Self {
        self.modes = modes.iter().map(ToString::to_string).collect();
        self
    }

    /// It provides an API.
    pub fn owns(mut self, kind: &str) -> Self {
        self.owned.push(kind.to_owned());
        self
    }

    /// It needs an API.
    pub fn requires(mut self, kind: &str) -> Self {
        self.required.push(kind.to_owned());
        self
    }

    /// It needs a package.
    pub fn needs(mut self, package: &str, range: &str) -> Self {
        self.needs.push((package.to_owned(), range.to_owned()));
        self
    }

    /// Its bundle has something else as well.
    pub fn with(mut self, object: Value) -> Self {
        self.objects.push(object);
        self
    }

    /// Its ServiceAccount may do this in the namespace.
    pub fn may(mut self, rule: &Value) -> Self {
        self.permissions
            .push(json!({"serviceAccountName": self.package, "rules": [rule]}));
        self
    }

    /// Its ServiceAccount may do this everywhere.
    pub fn may_everywhere(mut self, rule: &Value) -> Self {
        self.cluster_permissions
            .push(json!({"serviceAccountName": self.package, "rules": [rule]}));
        self
    }

    /// Its CSV differs in this (a merge patch).
    pub fn csv_with(mut self, changes: Value) -> Self {
        self.csv_changes = changes;
        self
    }

    /// Its Deployment differs in this (a merge patch): `name`, `label`, `spec`.
    pub fn deployment_with(mut self, changes: Value) -> Self {
        self.deployment_changes = changes;
        self
    }

    /// The name of its CSV.
    pub fn csv_name(&self) -> String {
        format!("{}.v{}", self.package, self.version)
    }

    pub fn csv(&self) -> Value {
        let described = |kind: &String| {
            json!({
                "name": self.crd_name(kind), "kind": kind, "version": "v1",
                "displayName": kind, "description": kind,
            })
        };
        let labels = json!({"app": self.package});
        let modes = ALL_MODES.map(|mode| {
            let supported = self.modes.iter().any(|it| it == mode);
            json!({"type": mode, "supported": supported})
        });
        let mut deployment = json!({
            "name": self.package,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "operator", "image": "example.com/operator:v1"}]},
                },
            },
        });
        merge(&mut deployment, &self.deployment_changes);
        let mut csv = json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {"name": self.csv_name(), "annotations": {}},
            "spec": {
                "displayName": self.package,
                "version": self.version,
                "installModes": modes,
                "customresourcedefinitions": {
                    "owned": self.owned.iter().map(described).collect::<Vec<_>>(),
                    "required": self.required.iter().map(described).collect::<Vec<_>>(),
                },
                "install": {
                    "strategy": "deployment",
                    "spec": {
                        "permissions": self.permissions,
                        "clusterPermissions": self.cluster_permissions,
                        "deployments": [deployment],
                    },
                },
            },
        });
        if let Some(replaces) = &self.replaces {
            csv["spec"]["replaces"] = json!(replaces);
        }
        if let Some(range) = &self.skip_range {
            csv["metadata"]["annotations"]["olm.skipRange"] = json!(range);
        }
        if !self.skips.is_empty() {
            csv["spec"]["skips"] = json!(self.skips);
        }
        merge(&mut csv, &self.csv_changes);
        csv
    }

    pub fn crd_name(&self, kind: &str) -> String {
        format!("{}s.{}", kind.to_lowercase(), self.group)
    }

    /// The CRD of an API of its group.
    pub fn crd(&self, kind: &str) -> Value {
        let lower = kind.to_lowercase();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.crd_name(kind)},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    }},
                }],
            },
        })
    }

    fn manifests(&self) -> Vec<Value> {
        let crds = self.owned.iter().map(|kind| self.crd(kind));
        let mut manifests = vec![self.csv()];
        // A CRD of its own making takes the place of the usual one.
        let crds = crds.filter(|crd| {
            let name = &crd["metadata"]["name"];
            self.objects
                .iter()
                .all(|object| object["metadata"]["name"] != *name)
        });
        manifests.extend(crds);
        manifests.extend(self.objects.iter().cloned());
        manifests
    }

    /// The files of its bundle.
    pub fn files(&self) -> FileTree {
        let mut files = FileTree::new();
        for (at, manifest) in self.manifests().iter().enumerate() {
            files.insert(
                format!("manifests/{at:02}.yaml"),
                manifest.to_string().into_bytes(),
            );
        }
        let annotations = json!({"annotations": {
            "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
            "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
            "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
            "operators.operatorframework.io.bundle.package.v1": self.package,
            "operators.operatorframework.io.bundle.channels.v1": "stable",
            "operators.operatorframework.io.bundle.channel.default.v1": "stable",
        }});
        files.insert(
            "metadata/annotations.yaml".to_owned(),
            annotations.to_string().into_bytes(),
        );
        files
    }

    fn properties(&self) -> Vec<Value> {
        let api = |kind: &String| json!({"group": self.group, "version": "v1", "kind": kind});
        let property = |kind: &str, value: Value| json!({"type": kind, "value": value});
        let own = json!({"packageName": self.package, "version": self.version});
        let mut properties = vec![property("olm.package", own)];
        properties.extend(self.owned.iter().map(|kind| property("olm.gvk", api(kind))));
        properties.extend(
            self.required
                .iter()
                .map(|kind| property("olm.gvk.required", api(kind))),
        );
        properties.extend(self.needs.iter().map(|(package, range)| {
            property(
                "olm.package.required",
                json!({"packageName": package, "versionRange": range}),
            )
        }));
        properties
    }

    fn entry(&self) -> Value {
        let mut entry = json!({"name": self.csv_name()});
        if let Some(replaces) = &self.replaces {
            entry["replaces"] = json!(replaces);
        }
        if let Some(range) = &self.skip_range {
            entry["skipRange"] = json!(range);
        }
        if !self.skips.is_empty() {
            entry["skips"] = json!(self.skips);
        }
        entry
    }
}

fn merge(target: &mut Value, changes: &Value) {
    let (Some(fields), Some(target)) = (changes.as_object(), target.as_object_mut()) else {
        *target = changes.clone();
        return;
    };
    for (key, value) in fields {
        if value.is_null() {
            target.shift_remove(key);
        } else {
            merge(target.entry(key).or_insert(json!({})), value);
        }
    }
}

/// A channel with its operators, the oldest first. The first channel of a package is its default.
#[derive(Debug, Clone)]
pub struct Channel {
    pub name: String,
    pub operators: Vec<Operator>,
}

/// A channel `stable`.
pub fn stable(operators: impl IntoIterator<Item = Operator>) -> Channel {
    channel("stable", operators)
}

pub fn channel(name: &str, operators: impl IntoIterator<Item = Operator>) -> Channel {
    Channel {
        name: name.to_owned(),
        operators: operators.into_iter().collect(),
    }
}

/// The data of a ConfigMap that is a catalog.
pub fn config_map_data(channels: &[Channel]) -> Value {
    let all = || channels.iter().flat_map(|channel| &channel.operators);
    let mut crds: Vec<Value> = Vec::new();
    for crd in all().flat_map(|operator| operator.manifests().split_off(1)) {
        let is_crd = crd["kind"] == "CustomResourceDefinition";
        crds.retain(|known| known["metadata"]["name"] != crd["metadata"]["name"]);
        crds.extend(is_crd.then_some(crd));
    }
    let mut csvs: Vec<Value> = Vec::new();
    for csv in all().map(Operator::csv) {
        if !csvs.contains(&csv) {
            csvs.push(csv);
        }
    }
    let packages: Vec<Value> = packages(channels)
        .into_iter()
        .map(|(name, channels)| {
            let heads = channels.iter().map(|channel| {
                let head = channel.operators.last().map(Operator::csv_name);
                json!({"name": channel.name, "currentCSV": head})
            });
            json!({
                "packageName": name,
                "defaultChannel": channels[0].name,
                "channels": heads.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "customResourceDefinitions": json!(crds).to_string(),
        "clusterServiceVersions": json!(csvs).to_string(),
        "packages": json!(packages).to_string(),
    })
}

fn packages(channels: &[Channel]) -> Vec<(String, Vec<&Channel>)> {
    let mut packages: Vec<(String, Vec<&Channel>)> = Vec::new();
    for channel in channels {
        let name = &channel.operators[0].package;
        match packages.iter_mut().find(|(known, _)| known == name) {
            Some((_, channels)) => channels.push(channel),
            None => packages.push((name.clone(), vec![channel])),
        }
    }
    packages
}

/// Where images are pushed to.
pub struct Shop {
    /// `HOST:PORT`
    pub registry: String,
    /// The beginning of the names of all repositories of a test.
    pub prefix: String,
    /// User and password, if the registry wants them.
    pub login: Option<(String, String)>,
}

impl Shop {
    fn client(&self) -> Registry {
        let mut settings = Settings::default();
        settings.plain_http.insert(self.registry.clone());
        if let Some((user, password)) = &self.login {
            let login = AuthConfig::from_login(&self.registry, user, password, "the test");
            settings.keychain = settings.keychain.with(login);
        }
        Registry::new(settings)
    }

    /// Pushes a bundle and gives its image.
    pub async fn push_bundle(&self, operator: &Operator) -> anyhow::Result<String> {
        let image = bundle_image(&operator.csv_name(), &operator.files())?;
        self.push(
            &image,
            &format!("{}-bundle:v{}", operator.package, operator.version),
        )
        .await
    }

    /// Pushes a catalog with all its bundles and gives its image.
    pub async fn push_catalog(&self, name: &str, channels: &[Channel]) -> anyhow::Result<String> {
        let mut images = Vec::new();
        for operator in channels.iter().flat_map(|channel| &channel.operators) {
            images.push((operator.csv_name(), self.push_bundle(operator).await?));
        }
        self.push_blobs(name, &blobs(channels, &images)).await
    }

    /// Pushes a catalog of these blobs and gives its image.
    pub async fn push_blobs(&self, name: &str, blobs: &[Value]) -> anyhow::Result<String> {
        let folder = tempfile::tempdir()?;
        let lines: Vec<String> = blobs.iter().map(ToString::to_string).collect();
        let text = lines.join("\n");
        fs_err::create_dir(folder.path().join("all"))?;
        fs_err::write(folder.path().join("all/catalog.json"), text)?;
        let image = catalog_image(folder.path())?;
        self.push(&image, &format!("{name}:latest")).await
    }

    async fn push(
        &self,
        image: &chandler::oci::image::Image,
        name: &str,
    ) -> anyhow::Result<String> {
        let reference = format!("{}/{}/{name}", self.registry, self.prefix);
        let target = reference.parse().context("no reference")?;
        self.client().push_image(image, &target).await?;
        Ok(reference)
    }
}

/// The blobs of a file-based catalog. A bundle without an image is in it with all its manifests.
pub fn blobs(channels: &[Channel], images: &[(String, String)]) -> Vec<Value> {
    let mut blobs = Vec::new();
    for (package, channels) in packages(channels) {
        blobs.push(
            json!({"schema": "olm.package", "name": package, "defaultChannel": channels[0].name}),
        );
        let mut seen = Vec::new();
        for channel in channels {
            let entries: Vec<Value> = channel.operators.iter().map(Operator::entry).collect();
            blobs.push(json!({
                "schema": "olm.channel", "package": package, "name": channel.name, "entries": entries,
            }));
            for operator in &channel.operators {
                let name = operator.csv_name();
                if seen.contains(&name) {
                    continue;
                }
                let image = images.iter().find(|(known, _)| *known == name);
                let image = image.map(|(_, image)| image.as_str()).unwrap_or_default();
                let mut properties = operator.properties();
                if image.is_empty() {
                    properties.extend(operator.manifests().iter().map(|manifest| {
                        let data = STANDARD.encode(manifest.to_string());
                        json!({"type": "olm.bundle.object", "value": {"data": data}})
                    }));
                }
                blobs.push(json!({
                    "schema": "olm.bundle", "package": package, "name": name, "image": image,
                    "properties": properties,
                }));
                seen.push(name);
            }
        }
    }
    blobs
}
