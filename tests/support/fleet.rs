//! The operators of `bundles/`, which really run: their image, bundles and catalog in the cluster's registry.
//!
//! They are published once for the whole run. Their APIs are there once for the whole cluster, and so the
//! tests of a package take turns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex as Blocking};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, InstallPlanPhase};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use chandler::bundle::{self, FileTree};
use chandler::oci::push::{Transport, push};
use chandler::publish::{bundle_image, catalog_image};
use chandler::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::pinned_kind;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};

use super::case::Case;
use super::cluster::repository;
use super::life::phase;
use super::scene::Scene;
use super::stand_in::push_program;

/// What the bundles and the catalog are called after, and what their image is called, wherever they are not
/// published yet.
const NAMED: &str = "registry.example.com/fleet";
const IMAGE: &str = "registry.example.com/fleet/operators:v1";
/// How long an operator may take: several of them start at once.
const PATIENCE: Duration = Duration::from_mins(3);

/// What is in the registry.
pub struct Fleet {
    /// The image of all operators, by digest.
    pub image: String,
    /// The image of the catalog.
    pub catalog: String,
}

static FLEET: OnceCell<Option<Fleet>> = OnceCell::const_new();

impl Fleet {
    /// Publishes it, unless another test did; none where it could not run.
    pub async fn published(case: &Case) -> anyhow::Result<Option<&'static Self>> {
        let fleet = FLEET.get_or_try_init(async || publish(case).await).await?;
        Ok(fleet.as_ref())
    }

    /// A text of this repository, with the names that things have in the registry.
    pub fn renamed(&self, text: &str) -> String {
        let base = self.catalog.trim_end_matches("/catalog:latest");
        text.replace(IMAGE, &self.image).replace(NAMED, base)
    }
}

async fn publish(case: &Case) -> anyhow::Result<Option<Fleet>> {
    let Some(image) = push_program(case, "fleet").await? else {
        return Ok(None);
    };
    let registry = case.cluster.registry.as_ref().context("no registry")?;
    let base = format!("{registry}/fleet");
    let fleet = Fleet {
        image,
        catalog: format!("{base}/catalog:latest"),
    };
    for (package, version) in bundles()? {
        let tree = fleet.tree(&folder("bundles").join(&package).join(&version))?;
        let image = bundle_image(&package, &tree)?;
        let reference = format!("{base}/{package}-bundle:v{version}");
        push(&image, &reference, Transport::Plain).await?;
    }
    let copy = tempfile::tempdir()?;
    for (path, content) in fleet.tree(&folder("catalog"))? {
        let path = copy.path().join(path);
        fs_err::create_dir_all(path.parent().context("no folder")?)?;
        fs_err::write(path, content)?;
    }
    // It is no part of the catalog.
    fs_err::remove_file(copy.path().join("README.md"))?;
    let image = catalog_image(copy.path())?;
    push(&image, &fleet.catalog, Transport::Plain).await?;
    Ok(Some(fleet))
}

impl Fleet {
    /// The files of a folder, renamed.
    fn tree(&self, folder: &Path) -> anyhow::Result<FileTree> {
        let tree = bundle::read_dir(folder)?;
        let renamed = tree.into_iter().map(|(path, content)| {
            let text = String::from_utf8(content)?;
            Ok((path, self.renamed(&text).into_bytes()))
        });
        renamed.collect()
    }
}

/// A folder of this repository.
fn folder(name: &str) -> std::path::PathBuf {
    repository().join(name)
}

/// Package and version of all bundles.
pub fn bundles() -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for package in folders(&folder("bundles"))? {
        for version in folders(&folder("bundles").join(&package))? {
            found.push((package.clone(), version));
        }
    }
    Ok(found)
}

fn folders(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// The names of the CRDs in all versions of a package.
fn crds(package: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let home = folder("bundles").join(package);
    for version in folders(&home)? {
        for (file, content) in bundle::read_dir(&home.join(version).join("manifests"))? {
            let manifest: Value = yaml::from_str(&file, &String::from_utf8(content)?)?;
            if manifest["kind"] == "CustomResourceDefinition" {
                let name = manifest["metadata"]["name"].as_str().context("no name")?;
                names.insert(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// The turn of a test with some packages.
struct Turn {
    _guards: Vec<OwnedMutexGuard<()>>,
}

impl Turn {
    /// Waits for all of them, in an order that is the same for everybody, and takes away what an earlier test
    /// may have left.
    async fn take(case: &Case, packages: &BTreeSet<&str>) -> anyhow::Result<Self> {
        static TURNS: Blocking<BTreeMap<String, Arc<Mutex<()>>>> = Blocking::new(BTreeMap::new());
        let mut guards = Vec::new();
        for package in packages {
            let turn = {
                let mut turns = TURNS.lock().unwrap();
                Arc::clone(turns.entry((*package).to_owned()).or_default())
            };
            guards.push(turn.lock_owned().await);
        }
        for package in packages {
            for crd in crds(package)? {
                clear(case, &crd).await?;
            }
        }
        Ok(Self { _guards: guards })
    }
}

/// Deletes a CRD, whose webhook may be gone already.
async fn clear(case: &Case, name: &str) -> anyhow::Result<()> {
    let api = Api::<CustomResourceDefinition>::all(case.client.clone());
    if api.get_opt(name).await?.is_none() {
        return Ok(());
    }
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(none))
        .await?;
    release(case, name).await?;
    api.delete(name, &DeleteParams::default()).await?;
    let is_gone = |crd: Option<&CustomResourceDefinition>| crd.is_none();
    case.wait(&api, name, "gone", is_gone).await
}

/// Lets go of objects that wait for an operator which is gone.
async fn release(case: &Case, crd: &str) -> anyhow::Result<()> {
    let line = "{range .items[*]}{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}";
    let list = ["get", crd, "-A", "-o", &format!("jsonpath={line}")];
    let free = r#"{"metadata": {"finalizers": null}}"#;
    for object in case.cluster.kubectl(&list).await?.lines() {
        if let Some((namespace, name)) = object.split_once(' ') {
            let patch = ["patch", crd, name, "--type", "merge", "-p", free];
            let patch = [&patch[..], &["-n", namespace]].concat();
            case.cluster.kubectl(&patch).await?;
        }
    }
    Ok(())
}

/// A namespace with an OperatorGroup and the catalog, where operators really run.
pub struct Stage<'c> {
    pub scene: Scene<'c>,
    pub fleet: &'static Fleet,
    packages: BTreeSet<&'static str>,
    _turn: Turn,
}

/// Which namespaces operators are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    All,
    Own,
}

impl<'c> Stage<'c> {
    /// None where pods do not run.
    pub async fn set(
        case: &'c Case,
        packages: &[&'static str],
        whom: For,
    ) -> anyhow::Result<Option<Self>> {
        let Some(fleet) = Fleet::published(case).await? else {
            return Ok(None);
        };
        let packages = packages.iter().copied().collect();
        let turn = Turn::take(case, &packages).await?;
        let scene = Scene::on_real_node(case).await?;
        let namespaces = match whom {
            For::All => json!({}),
            For::Own => json!({"targetNamespaces": [scene.namespace]}),
        };
        scene.group_with(namespaces).await?;
        scene.catalog_of("fleet", &fleet.catalog, json!({})).await?;
        scene.ready_catalog("fleet").await?;
        Ok(Some(Self {
            scene,
            fleet,
            packages,
            _turn: turn,
        }))
    }

    /// Subscribes to a package from a version on. Upgrades wait to be approved.
    pub async fn install(&self, package: &str, channel: &str, csv: &str) -> anyhow::Result<()> {
        let wishes = json!({
            "channel": channel, "startingCSV": csv, "installPlanApproval": "Manual",
            "policy": {"removal": "Everything"},
        });
        self.scene.subscribe(package, "fleet", wishes).await?;
        self.next(package, csv).await
    }

    /// Approves what is offered, until a CSV of a package is there and runs.
    pub async fn next(&self, package: &str, csv: &str) -> anyhow::Result<()> {
        let scene = &self.scene;
        let case = scene.case;
        case.within(PATIENCE, &format!("installed {csv}"), async || {
            for plan in scene.names::<InstallPlan>().await? {
                let plan = scene.api::<InstallPlan>().get(&plan).await?;
                let phase = plan.status.as_ref().map(|it| it.phase.clone());
                let is_meant = plan
                    .spec
                    .cluster_service_version_names
                    .iter()
                    .any(|it| it == csv);
                if is_meant && phase == Some(InstallPlanPhase::RequiresApproval) {
                    scene.approve(&plan).await?;
                }
            }
            let subscription = scene.api::<Subscription>().get(package).await?;
            let installed = subscription.status.map(|it| it.installed_csv);
            Ok(installed.as_deref() == Some(csv) && self.all_run().await?)
        })
        .await
    }

    /// Whether everything that is installed has succeeded.
    async fn all_run(&self) -> anyhow::Result<bool> {
        let csvs = self.scene.api::<ClusterServiceVersion>();
        let csvs = csvs.list(&ListParams::default()).await?;
        Ok(csvs.iter().all(|csv| phase(csv) == CsvPhase::Succeeded))
    }

    /// Creates a custom resource, and gives the API of its kind in the namespace. An API is served a moment after
    /// its CRD is there, and so is a webhook.
    pub async fn create(&self, object: &Value) -> anyhow::Result<Api<DynamicObject>> {
        let case = self.scene.case;
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        let types = object.types.clone().context("no kind")?;
        let gvk = GroupVersionKind::try_from(&types)?;
        case.eventually(&format!("served {}", types.kind), async || {
            Ok(pinned_kind(&case.client, &gvk).await.is_ok())
        })
        .await?;
        let (resource, _) = pinned_kind(&case.client, &gvk).await?;
        let namespace = &self.scene.namespace;
        let api = Api::namespaced_with(case.client.clone(), namespace, &resource);
        case.eventually(&format!("taken {}", types.kind), async || {
            match api.create(&PostParams::default(), &object).await {
                Ok(_) => Ok(true),
                Err(kube::Error::Api(status)) if is_passing(&status.message) => Ok(false),
                Err(error) => Err(error.into()),
            }
        })
        .await?;
        Ok(api)
    }

    /// Waits until the status of an object says something.
    pub async fn says(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        pointer: &str,
        value: &Value,
    ) -> anyhow::Result<()> {
        let case = self.scene.case;
        let says = |it: Option<&DynamicObject>| {
            it.is_some_and(|it| it.data.pointer(pointer) == Some(value))
        };
        let what = format!("saying {value} at {pointer}");
        case.wait(api, name, &what, says).await
    }

    /// Deletes the Subscription, and waits until nothing of the packages is left.
    pub async fn remove(&self, package: &str) -> anyhow::Result<()> {
        let scene = &self.scene;
        let mut names = Vec::new();
        for package in &self.packages {
            names.extend(crds(package)?);
        }
        scene.give_up(package, &names).await?;
        scene.delete::<Subscription>(package).await?;
        let case = scene.case;
        case.within(PATIENCE, "removed", async || {
            Ok(scene.names::<Subscription>().await?.is_empty())
        })
        .await?;
        ensure!(scene.csvs().await?.is_empty(), "{:?}", scene.csvs().await?);
        let left = Api::<CustomResourceDefinition>::all(case.client.clone());
        for package in &self.packages {
            for name in crds(package)? {
                let crd = left.get_opt(&name).await?;
                ensure!(
                    crd.is_none(),
                    "{} is left",
                    crd.map(|it| it.name_any()).unwrap_or_default()
                );
            }
        }
        Ok(())
    }
}

/// Whether something fails that works in a moment.
fn is_passing(message: &str) -> bool {
    message.contains("conversion webhook") || message.contains("failed calling webhook")
}
